/* Backward kernels against finite differences, on the cases that backends are
 * tested with (tests/backend/op_cases.txt).
 *
 * Inputs move along a direction v. The change of the outputs is measured at
 * five points, which is exact to the fourth order, and weighted with random dy.
 * The sum must equal <dx, v>. Outputs with a kink on the way are skipped. */
#include "base/random.h"
#include "op_step.h"
#include "ops/ops.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    points = 5,           /* -2h, -h, 0, h, 2h */
    small_work = 20000,   /* MACs or elements; checked element by element */
    large_work = 2000000, /* larger cases are skipped: they test nothing new */
    single_elements = 16  /* per input, in small cases */
};

static const float step_size = 0x1p-6F;

struct checker {
    struct op_context context;
    struct random random;
    const char *line; /* of the file */
    int n_wrong, n_checks;
    bool *seen; /* by index in op_classes */
    const struct op_step *step;
    uint64_t moved;                    /* bit i: input i has a direction */
    struct tensor v[OP_STEP_MAX];      /* directions */
    struct op_step at[points];         /* the node at each point */
    struct tensor places[OP_STEP_MAX]; /* inputs of a point */
    struct tensor dy[OP_STEP_MAX];
    const struct tensor *dys[OP_STEP_MAX];
};

/* A measured sum, its magnitude, and the rounding error it may have. */
struct answer {
    double sum, size, noise;
    size_t n, n_kinks;
};

static struct error err;

/* Whether a loss may depend on this output. */
static bool carries_gradient(const struct node *node, size_t output)
{
    return output == 0 || node->op == &op_split || node->op == &op_rpn_loss;
}

/* Whether an input is a setting or is not trained, so that it has no gradient.
 */
static bool is_setting(const struct node *node, size_t input)
{
    static const struct {
        const struct op_class *op;
        size_t input;
    } settings[] = {{&op_dropout_training, 1},
                    {&op_resize, 1},
                    {&op_roi_align, 0},
                    {&op_softmax_cross_entropy_loss, 2},
                    {&op_negative_log_likelihood_loss, 2},
                    {&op_box_loss, 2},
                    {&op_mask_loss, 2},
                    {&op_rpn_loss, 1},
                    {&op_rpn_loss, 2}};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (settings[i].op == node->op && settings[i].input == input)
            return true;
    }
    return false;
}

static struct tensor zeros(struct checker *checker, const struct shape *shape)
{
    struct tensor tensor;

    CHECK_STATUS(
        tensor_new(checker->context.pool, DTYPE_F32, shape, &tensor, &err),
        ASSAY_OK, &err);
    memset(tensor_data(&tensor), 0, tensor_bytes(&tensor));
    return tensor;
}

/* ---- five points along the direction ---------------------------------- */

static void run_point(struct checker *checker, int point)
{
    struct op_step *to = &checker->at[point];
    float distance = (float)(point - points / 2) * step_size;
    enum assay_status st;

    *to = (struct op_step){.node = checker->step->node};
    for (size_t i = 0; i < to->node->n_inputs; i++) {
        const struct tensor *x = checker->step->inputs[i];

        to->inputs[i] = x;
        if (!(checker->moved >> i & 1))
            continue;
        checker->places[i] = zeros(checker, &x->shape);
        for (size_t k = 0; k < tensor_elements(x); k++)
            tensor_f32(&checker->places[i])[k] =
                tensor_f32(x)[k] + distance * tensor_f32(&checker->v[i])[k];
        to->inputs[i] = &checker->places[i];
    }
    st = op_step_forward(to, &checker->context, false, &err);
    CHECK_STATUS(st, ASSAY_OK, &err);
    for (size_t i = 0; i < to->node->n_inputs; i++)
        tensor_release(&checker->places[i]);
    memset(checker->places, 0, sizeof checker->places);
}

/* Whether a part of the way is flat, as behind the limit of a ReLU: a kink that
 * may be too small to show in the differences. */
static bool is_partly_flat(const double f[points])
{
    int n_equal = 0;

    for (int p = 0; p + 1 < points; p++)
        n_equal += f[p] == f[p + 1];
    return n_equal > 0 && n_equal < points - 1;
}

/* One element of an output: its share of the sum, and its dy. */
static void weigh(struct checker *checker, size_t output, size_t i,
                  double largest, struct answer *answer)
{
    double f[points], slope, bend, twist, most;
    float *dy = &tensor_f32(&checker->dy[output])[i];

    for (int p = 0; p < points; p++)
        f[p] = (double)tensor_f32(&checker->at[p].outputs[output])[i];
    slope = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * (double)step_size);
    bend = fabs(f[0] - 4 * f[1] + 6 * f[2] - 4 * f[3] + f[4]);
    twist = fabs(f[0] - 2 * f[1] + 2 * f[3] - f[4]);
    most = 1e-5 * (largest + fabs(f[2]));
    answer->n++;
    *dy = (float)random_normal(&checker->random);
    /* Uses both, because each misses a kink at one distance. */
    if (!(bend <= most && twist <= 10 * most) || is_partly_flat(f)) {
        *dy = 0;
        answer->n_kinks++;
        return;
    }
    answer->sum += (double)*dy * slope;
    answer->size += pow((double)*dy * slope, 2);
    /* A change that is too small is lost in the last digit. */
    answer->noise += f[0] != f[2] || f[4] != f[2]
                         ? pow((double)*dy * largest, 2)
                         : pow((double)*dy * f[2] / 8, 2);
}

static struct answer measure(struct checker *checker)
{
    const struct node *node = checker->step->node;
    struct answer answer = {0};

    for (int p = 0; p < points; p++)
        run_point(checker, p);
    for (size_t o = 0; o < node->n_outputs; o++) {
        const struct tensor *y = &checker->at[points / 2].outputs[o];
        double largest = 0;

        checker->dys[o] = NULL;
        if (y->dtype != DTYPE_F32 || !carries_gradient(node, o))
            continue;
        checker->dy[o] = zeros(checker, &y->shape);
        checker->dys[o] = &checker->dy[o];
        for (size_t i = 0; i < tensor_elements(y); i++)
            largest = fmax(largest, fabs((double)tensor_f32(y)[i]));
        for (size_t i = 0; i < tensor_elements(y); i++)
            weigh(checker, o, i, largest, &answer);
    }
    for (int p = 0; p < points; p++)
        op_step_release(&checker->at[p]);
    return answer;
}

/* ---- one direction ----------------------------------------------------- */

static double product(const struct tensor *a, const struct tensor *b)
{
    double sum = 0;

    for (size_t i = 0; i < tensor_elements(a); i++)
        sum += (double)tensor_f32(a)[i] * (double)tensor_f32(b)[i];
    return sum;
}

static void complain(struct checker *checker, const char *what, double got,
                     double want)
{
    checker->n_wrong++;
    printf("%s, %s of inputs %#llx: %.7g, %.7g measured: %s\n",
           checker->step->node->op->name, what,
           (unsigned long long)checker->moved, got, want, checker->line);
}

/* The gradients on one thread; two threads must give the same bits. */
static void run_backward(struct checker *checker, struct tensor *dx)
{
    struct op_context two = checker->context;
    struct tensor other[OP_STEP_MAX];

    two.n_threads = 2;
    CHECK_STATUS(op_step_backward(checker->step, &checker->context,
                                  checker->dys, checker->moved, dx, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(op_step_backward(checker->step, &two, checker->dys,
                                  checker->moved, other, &err),
                 ASSAY_OK, &err);
    for (size_t i = 0; i < OP_STEP_MAX; i++) {
        if (dx[i].buffer && memcmp(tensor_data(&dx[i]), tensor_data(&other[i]),
                                   tensor_bytes(&dx[i])))
            complain(checker, "two threads", 2, 1);
        tensor_release(&other[i]);
    }
}

static void check_direction(struct checker *checker, const char *what)
{
    struct answer answer = measure(checker);
    struct tensor dx[OP_STEP_MAX];
    double got = 0, allowed;

    run_backward(checker, dx);
    for (size_t i = 0; i < OP_STEP_MAX; i++) {
        if (checker->moved >> i & 1)
            got += product(&dx[i], &checker->v[i]);
        tensor_release(&dx[i]);
    }
    for (size_t i = 0; i < OP_STEP_MAX; i++)
        tensor_release(&checker->dy[i]);
    memset(checker->dy, 0, sizeof checker->dy);
    allowed = 1e-3 * sqrt(answer.size) +
              5e-7 / (double)step_size * sqrt(answer.noise);
    checker->n_checks++;
    if (!(fabs(got - answer.sum) <= allowed))
        complain(checker, what, got, answer.sum);
    /* A single element may sit on a kink. */
    if (strcmp(what, "element") && answer.n_kinks > answer.n / 2)
        complain(checker, "kinks", (double)answer.n_kinks, (double)answer.n);
}

static void start_directions(struct checker *checker, uint64_t moved)
{
    checker->moved = moved;
    for (size_t i = 0; i < OP_STEP_MAX; i++) {
        if (moved >> i & 1)
            checker->v[i] = zeros(checker, &checker->step->inputs[i]->shape);
    }
}

static void end_directions(struct checker *checker)
{
    for (size_t i = 0; i < OP_STEP_MAX; i++)
        tensor_release(&checker->v[i]);
    memset(checker->v, 0, sizeof checker->v);
}

/* All elements of these inputs at once. */
static void check_together(struct checker *checker, uint64_t moved)
{
    start_directions(checker, moved);
    for (size_t i = 0; i < OP_STEP_MAX; i++) {
        for (size_t k = 0;
             checker->v[i].buffer && k < tensor_elements(&checker->v[i]); k++)
            tensor_f32(&checker->v[i])[k] =
                (float)(2 * random_unit(&checker->random) - 1);
    }
    check_direction(checker, "sum");
    end_directions(checker);
}

/* Some elements of one input, one at a time; all of a small one. */
static void check_elements(struct checker *checker, size_t input)
{
    size_t n = tensor_elements(checker->step->inputs[input]);
    size_t tries = n < single_elements ? n : single_elements;

    start_directions(checker, (uint64_t)1 << input);
    for (size_t i = 0; i < tries; i++) {
        size_t at = tries == n ? i : random_below(&checker->random, n);

        tensor_f32(&checker->v[input])[at] = 1;
        check_direction(checker, "element");
        tensor_f32(&checker->v[input])[at] = 0;
    }
    end_directions(checker);
}

/* ---- a node, a case, the file ------------------------------------------ */

/* Recomputes dropped outputs from the saved tensor. */
static void check_again(struct checker *checker)
{
    const struct op_step *step = checker->step;
    struct op_step again = *step;

    memset(again.outputs, 0, sizeof again.outputs);
    CHECK_STATUS(op_step_again(&again, &checker->context, &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < step->node->n_outputs; i++) {
        if (memcmp(tensor_data(&again.outputs[i]),
                   tensor_data(&step->outputs[i]),
                   tensor_bytes(&step->outputs[i])))
            complain(checker, "a second pass", 2, 1);
        tensor_release(&again.outputs[i]);
    }
    CHECK(again.saved.buffer == step->saved.buffer);
}

static uint64_t work_of(const struct op_step *step)
{
    struct cost cost = {0};

    if (step->node->op->cost)
        step->node->op->cost(step->node, step->inputs, step->outputs, &cost);
    return cost.macs + tensor_elements(&step->outputs[0]);
}

static enum assay_status check_node(struct op_step *step, void *data,
                                    struct error *unused)
{
    struct checker *checker = data;
    uint64_t all = op_step_differentiable(step);
    uint64_t work = work_of(step);
    bool is_small = work < small_work;

    (void)unused;
    if (!step->node->op->backward || work > large_work)
        return ASSAY_OK;
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        if (is_setting(step->node, i))
            all &= ~((uint64_t)1 << i);
    }
    for (size_t i = 0; op_classes[i]; i++)
        checker->seen[i] |= op_classes[i] == step->node->op;
    checker->step = step;
    check_again(checker);
    check_together(checker, all);
    for (size_t i = 0; is_small && i < step->node->n_inputs; i++) {
        if (!(all >> i & 1))
            continue;
        if (all != (uint64_t)1 << i)
            check_together(checker, (uint64_t)1 << i);
        check_elements(checker, i);
    }
    return ASSAY_OK;
}

static void check_line(struct checker *checker, const char *line)
{
    struct op_graph made = {0};
    struct op_case op_case;
    const char *problem;
    enum assay_status st;

    checker->line = line;
    CHECK(op_case_parse(line, &op_case, &problem));
    if (op_case.large || op_case.a)
        return;
    op_case.blocked = false; /* layouts concern backends only */
    CHECK_STATUS(op_case_build(&op_case, checker->context.pool, &made, &err),
                 ASSAY_OK, &err);
    st = op_steps(&made, &checker->context, check_node, checker, &err);
    CHECK_STATUS(st, ASSAY_OK, &err);
    op_graph_release(&made);
}

TEST(backward_kernels_agree_with_finite_differences)
{
    bool seen[512] = {false};
    struct checker checker = {
        .random = random_seed(3), .context = {.n_threads = 1}, .seen = seen};
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/backend/op_cases.txt", "r");
    char line[256];

    CHECK(file);
    CHECK_STATUS(pool_new(&checker.context.pool, &err), ASSAY_OK, &err);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0')
            check_line(&checker, line);
    }
    fclose(file);
    for (size_t i = 0; op_classes[i]; i++) {
        if (op_classes[i]->backward && !seen[i]) {
            printf("%s has a backward and no case\n", op_classes[i]->name);
            checker.n_wrong++;
        }
    }
    pool_free(checker.context.pool);
    CHECK(checker.n_checks > 1000);
    CHECK_INT(checker.n_wrong, 0);
}

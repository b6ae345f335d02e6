/* ops/sequence/recurrent.c - see recurrent.h.
 *
 * Each sequence runs through each direction by itself: first the products with
 * its inputs, all at once, then step by step. */
#include "ops/sequence/recurrent.h"

#include "base/mem.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/product/matrix_internal.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

enum recurrent_input {
    RECURRENT_X,
    RECURRENT_W,
    RECURRENT_R,
    RECURRENT_B,
    RECURRENT_LENGTHS,
    RECURRENT_STATE,
    RECURRENT_CELL,
    RECURRENT_PEEPHOLES
};

struct sizes {
    int64_t time, batch, in, hidden, gates;
    int dirs;
    bool is_batch_first;
};

/* One sequence in one direction. */
struct sequence {
    const struct node *node;
    const struct sizes *sizes;
    const struct recurrent_activation *activations;
    const float *r;              /* [gates*hidden, hidden] */
    const float *r_bias;         /* [gates*hidden], or NULL */
    const float *peepholes;      /* [3*hidden], or NULL */
    float *from_x;               /* [time, gates*hidden], with w's bias */
    float *from_h;               /* [gates*hidden] */
    float *state, *cell, *reset; /* [hidden] */
};

/* ---- shapes ----------------------------------------------------------- */

static struct sizes recurrent_get_sizes(const struct node *node,
                                        const struct shape *x)
{
    const struct recurrent_attrs *attrs = node->attrs;
    bool is_batch_first = attrs->is_batch_first;

    return (struct sizes){.time = x->dims[is_batch_first ? 1 : 0],
                          .batch = x->dims[is_batch_first ? 0 : 1],
                          .in = x->dims[2],
                          .hidden = attrs->hidden,
                          .gates = node->op == &op_lstm  ? 4
                                   : node->op == &op_gru ? 3
                                                         : 1,
                          .dirs = attrs->directions,
                          .is_batch_first = is_batch_first};
}

static enum assay_status
recurrent_check_inputs(const struct node *node,
                       const struct tensor *const *inputs,
                       const struct sizes *sizes, struct error *err)
{
    int64_t rows = sizes->dirs * sizes->gates * sizes->hidden;
    int64_t state = sizes->dirs * sizes->batch * sizes->hidden;
    const int64_t wanted[] = {[RECURRENT_W] = rows * sizes->in,
                              [RECURRENT_R] = rows * sizes->hidden,
                              [RECURRENT_B] = 2 * rows,
                              [RECURRENT_LENGTHS] = sizes->batch,
                              [RECURRENT_STATE] = state,
                              [RECURRENT_CELL] = state,
                              [RECURRENT_PEEPHOLES] =
                                  3 * sizes->dirs * sizes->hidden};
    enum assay_status st = ASSAY_OK;

    for (size_t i = RECURRENT_W; !st && i < node->n_inputs; i++) {
        if (!inputs[i])
            continue;
        st = i == RECURRENT_LENGTHS ? indices_check(inputs, i, err)
                                    : rule_dtype(inputs, i, DTYPE_F32, err);
        if (!st && (int64_t)tensor_elements(inputs[i]) != wanted[i])
            st = error_set(err, ASSAY_BAD_INPUT,
                           "input %zu has %zu elements; expected %lld", i,
                           tensor_elements(inputs[i]), (long long)wanted[i]);
    }
    return st;
}

static enum assay_status recurrent_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    struct sizes sizes;
    struct shape all, last;
    enum assay_status st = rule_rank(inputs, RECURRENT_X, 3, err);

    if (!st)
        st = rule_dtype(inputs, RECURRENT_X, DTYPE_F32, err);
    if (st)
        return st;
    sizes = recurrent_get_sizes(node, &inputs[RECURRENT_X]->shape);
    st = recurrent_check_inputs(node, inputs, &sizes, err);
    if (st)
        return st;
    if (sizes.is_batch_first) {
        all = shape_of(4, sizes.batch, sizes.time, (int64_t)sizes.dirs,
                       sizes.hidden);
        last = shape_of(3, sizes.batch, (int64_t)sizes.dirs, sizes.hidden);
    } else {
        all = shape_of(4, sizes.time, (int64_t)sizes.dirs, sizes.batch,
                       sizes.hidden);
        last = shape_of(3, (int64_t)sizes.dirs, sizes.batch, sizes.hidden);
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        rule_set(&outputs[i], DTYPE_F32, i ? &last : &all);
    return ASSAY_OK;
}

/* Where the last state of a sequence begins, or that after a step. */
static int64_t state_at(const struct sizes *sizes, int dir, int64_t batch)
{
    int64_t row = sizes->is_batch_first ? batch * sizes->dirs + dir
                                        : dir * sizes->batch + batch;

    return row * sizes->hidden;
}

static int64_t recurrent_step_at(const struct sizes *sizes, int dir,
                                 int64_t batch, int64_t time)
{
    int64_t row = sizes->is_batch_first
                      ? (batch * sizes->time + time) * sizes->dirs + dir
                      : (time * sizes->dirs + dir) * sizes->batch + batch;

    return row * sizes->hidden;
}

/* ---- steps ------------------------------------------------------------ */

static float recurrent_apply(const struct recurrent_activation *activation,
                             float x)
{
    float a = activation->alpha, b = activation->beta;

    switch (activation->function) {
    case RECURRENT_SIGMOID:
        return 1 / (1 + expf(-x));
    case RECURRENT_TANH:
        return tanhf(x);
    case RECURRENT_RELU:
        return x > 0 ? x : 0;
    case RECURRENT_AFFINE:
        return a * x + b;
    case RECURRENT_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case RECURRENT_THRESHOLDED_RELU:
        return x >= a ? x : 0;
    case RECURRENT_SCALED_TANH:
        return a * tanhf(b * x);
    case RECURRENT_HARD_SIGMOID:
        return fminf(fmaxf(a * x + b, 0), 1);
    case RECURRENT_ELU:
        return x > 0 ? x : a * expm1f(x);
    case RECURRENT_SOFTSIGN:
        return x / (1 + fabsf(x));
    case RECURRENT_SOFTPLUS:
        return log1pf(expf(x));
    case RECURRENT_FUNCTIONS:
        break;
    }
    return x;
}

/* Function i of the direction, with its argument clipped. */
static float recurrent_activate(const struct sequence *sequence, int i, float x)
{
    const struct recurrent_attrs *attrs = sequence->node->attrs;

    if (attrs->clip > 0)
        x = fminf(fmaxf(x, -attrs->clip), attrs->clip);
    return recurrent_apply(&sequence->activations[i], x);
}

/* Rows [first, first + n) of r times a vector, with r's bias. */
static void recurrent_multiply(const struct sequence *sequence,
                               const float *vector, int64_t first, int64_t n)
{
    int64_t hidden = sequence->sizes->hidden;

    for (int64_t i = first; i < first + n; i++) {
        const float *row = sequence->r + i * hidden;
        float sum = sequence->r_bias ? sequence->r_bias[i] : 0;

        for (int64_t k = 0; k < hidden; k++)
            sum += row[k] * vector[k];
        sequence->from_h[i] = sum;
    }
}

static void step_rnn(const struct sequence *sequence, const float *x)
{
    int64_t n = sequence->sizes->hidden;

    recurrent_multiply(sequence, sequence->state, 0, n);
    for (int64_t i = 0; i < n; i++)
        sequence->state[i] =
            recurrent_activate(sequence, 0, x[i] + sequence->from_h[i]);
}

/* Gates: in, out, forget, new. */
static void step_lstm(const struct sequence *sequence, const float *x)
{
    const struct recurrent_attrs *attrs = sequence->node->attrs;
    const float *h = sequence->from_h, *peep = sequence->peepholes;
    int64_t n = sequence->sizes->hidden;

    recurrent_multiply(sequence, sequence->state, 0, 4 * n);
    for (int64_t i = 0; i < n; i++) {
        float cell = sequence->cell[i], out;
        float in = recurrent_activate(
            sequence, 0, x[i] + h[i] + (peep ? peep[i] * cell : 0));
        float forget = recurrent_activate(
            sequence, 0,
            x[2 * n + i] + h[2 * n + i] + (peep ? peep[2 * n + i] * cell : 0));
        float fresh =
            recurrent_activate(sequence, 1, x[3 * n + i] + h[3 * n + i]);

        if (attrs->couples_forget)
            forget = 1 - in;
        cell = forget * cell + in * fresh;
        out = recurrent_activate(
            sequence, 0, x[n + i] + h[n + i] + (peep ? peep[n + i] * cell : 0));
        sequence->cell[i] = cell;
        sequence->state[i] =
            out * recurrent_apply(&sequence->activations[2], cell);
    }
}

/* Gates: update, reset, new. */
static void step_gru(const struct sequence *sequence, const float *x)
{
    const struct recurrent_attrs *attrs = sequence->node->attrs;
    float *h = sequence->from_h, *reset = sequence->reset;
    int64_t n = sequence->sizes->hidden;

    recurrent_multiply(sequence, sequence->state, 0, 2 * n);
    for (int64_t i = 0; i < n; i++) {
        float r = recurrent_activate(sequence, 0, x[n + i] + h[n + i]);

        reset[i] = attrs->resets_after ? r : r * sequence->state[i];
    }
    recurrent_multiply(sequence, attrs->resets_after ? sequence->state : reset,
                       2 * n, n);
    for (int64_t i = 0; i < n; i++) {
        float update = recurrent_activate(sequence, 0, x[i] + h[i]);
        float kept =
            attrs->resets_after ? reset[i] * h[2 * n + i] : h[2 * n + i];
        float fresh = recurrent_activate(sequence, 1, x[2 * n + i] + kept);

        sequence->state[i] = (1 - update) * fresh + update * sequence->state[i];
    }
}

/* ---- sequences -------------------------------------------------------- */

/* All products with the inputs of a sequence, and w's bias. */
static void multiply_inputs(const struct op_context *context,
                            const struct sequence *sequence,
                            const struct tensor *const *inputs, int dir,
                            int64_t batch)
{
    const struct sizes *sizes = sequence->sizes;
    int64_t rows = sizes->gates * sizes->hidden;
    int64_t first = sizes->is_batch_first ? batch * sizes->time : batch;
    const struct tensor *bias = op_input(sequence->node, inputs, RECURRENT_B);
    struct matrix x = {
        tensor_f32(inputs[RECURRENT_X]) + first * sizes->in,
        sizes->is_batch_first ? sizes->in : sizes->batch * sizes->in, 1};
    struct matrix w = {tensor_f32(inputs[RECURRENT_W]) + dir * rows * sizes->in,
                       1, sizes->in};

    matrix_multiply(context, DTYPE_F32, sizes->time, rows, sizes->in, &x, &w,
                    sequence->from_x);
    for (int64_t i = 0; bias && i < sizes->time * rows; i++)
        sequence->from_x[i] += tensor_f32(bias)[dir * 2 * rows + i % rows];
}

/* An input from an element on; NULL if it is left out. */
static const float *recurrent_part_of(const struct tensor *tensor,
                                      int64_t first)
{
    return tensor ? tensor_f32(tensor) + first : NULL;
}

static void recurrent_load_state(const struct tensor *tensor, int64_t first,
                                 int64_t n, float *state)
{
    if (tensor)
        memcpy(state, tensor_f32(tensor) + first, (size_t)n * sizeof *state);
    else
        memset(state, 0, (size_t)n * sizeof *state);
}

static void run_steps(const struct sequence *sequence, int dir, int64_t batch,
                      int64_t length, bool is_reverse, const struct tensor *y)
{
    const struct sizes *sizes = sequence->sizes;
    int64_t rows = sizes->gates * sizes->hidden;
    size_t bytes = (size_t)sizes->hidden * sizeof(float);

    for (int64_t i = 0; i < sizes->time; i++) {
        int64_t time = is_reverse && i < length ? length - 1 - i : i;
        float *to = tensor_f32(y) + recurrent_step_at(sizes, dir, batch, time);
        const float *x = sequence->from_x + time * rows;

        if (i >= length) {
            memset(to, 0, bytes);
            continue;
        }
        if (sequence->node->op == &op_lstm)
            step_lstm(sequence, x);
        else if (sequence->node->op == &op_gru)
            step_gru(sequence, x);
        else
            step_rnn(sequence, x);
        memcpy(to, sequence->state, bytes);
    }
}

static void run_sequence(const struct op_context *context,
                         struct sequence *sequence,
                         const struct tensor *const *inputs, int dir,
                         int64_t batch, struct tensor *outputs)
{
    const struct node *node = sequence->node;
    const struct recurrent_attrs *attrs = node->attrs;
    const struct sizes *sizes = sequence->sizes;
    int64_t n = sizes->hidden, rows = sizes->gates * n;
    int64_t at = state_at(sizes, dir, batch), length = sizes->time;
    const struct tensor *lengths = op_input(node, inputs, RECURRENT_LENGTHS);

    if (lengths) {
        length = int_at(lengths, (size_t)batch);
        length = length < 0 ? 0 : length > sizes->time ? sizes->time : length;
    }
    sequence->activations = attrs->activations[dir];
    sequence->r = tensor_f32(inputs[RECURRENT_R]) + dir * rows * n;
    sequence->r_bias = recurrent_part_of(op_input(node, inputs, RECURRENT_B),
                                         dir * 2 * rows + rows);
    sequence->peepholes = recurrent_part_of(
        op_input(node, inputs, RECURRENT_PEEPHOLES), dir * 3 * n);
    recurrent_load_state(op_input(node, inputs, RECURRENT_STATE), at, n,
                         sequence->state);
    recurrent_load_state(op_input(node, inputs, RECURRENT_CELL), at, n,
                         sequence->cell);
    multiply_inputs(context, sequence, inputs, dir, batch);
    run_steps(sequence, dir, batch, length, dir == 1 || attrs->is_reverse,
              &outputs[0]);
    if (node->n_outputs > 1)
        memcpy(tensor_f32(&outputs[1]) + at, sequence->state,
               (size_t)n * sizeof(float));
    if (node->n_outputs > 2)
        memcpy(tensor_f32(&outputs[2]) + at, sequence->cell,
               (size_t)n * sizeof(float));
}

static enum assay_status recurrent_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    struct sizes sizes = recurrent_get_sizes(node, &inputs[RECURRENT_X]->shape);
    struct sequence sequence = {.node = node, .sizes = &sizes};
    size_t n = (size_t)sizes.hidden, rows = n * (size_t)sizes.gates;
    float *memory =
        mem_array((size_t)sizes.time * rows + rows + 3 * n, sizeof *memory);

    if (!memory)
        return error_nomem(err, (size_t)sizes.time * rows * sizeof *memory,
                           "a recurrent layer");
    sequence.state = memory;
    sequence.cell = sequence.state + n;
    sequence.reset = sequence.cell + n;
    sequence.from_h = sequence.reset + n;
    sequence.from_x = sequence.from_h + rows;
    for (int dir = 0; dir < sizes.dirs; dir++) {
        for (int64_t batch = 0; batch < sizes.batch; batch++)
            run_sequence(context, &sequence, inputs, dir, batch, outputs);
    }
    mem_free(memory);
    return ASSAY_OK;
}

static void recurrent_count_cost(const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct tensor *outputs,
                                 struct cost *cost)
{
    struct sizes sizes = recurrent_get_sizes(node, &inputs[RECURRENT_X]->shape);

    (void)outputs;
    cost->macs +=
        (uint64_t)(sizes.time * sizes.batch * sizes.dirs * sizes.gates *
                   sizes.hidden * (sizes.in + sizes.hidden));
}

#define CLASS(symbol, text, inputs, made)                                      \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct recurrent_attrs),                         \
        OP_TAKES(3, inputs),                                                   \
        OP_MAKES(1, made),                                                     \
        .infer = recurrent_infer,                                              \
        .forward = recurrent_forward,                                          \
        .cost = recurrent_count_cost,                                          \
    };
CLASS(rnn, "RNN", 6, 2)
CLASS(gru, "GRU", 6, 2)
CLASS(lstm, "LSTM", 8, 3)

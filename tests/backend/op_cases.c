/* Op cases from a text file, against the portable kernels or for speed.
 *
 *     op_cases test FILE [WORD]     compares; exits with 1 if a case is off
 *     op_cases bf16 FILE [WORD]     the same in bf16; 77: this processor has
 * none op_cases perf FILE [WORD]     prints GFLOP/s and GB/s
 *
 * WORD: only lines that contain it. */
#include "op_case.h"

#include "base/clock.h"
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct pool *pool;

/* The transforms of Winograd 4x3 cost two digits. */
static const struct mode {
    const char *name;
    bool is_plain;
    const char *algorithm;
    size_t scratch_bytes;
    double tolerance; /* of the largest value */
    bool has_one_thread;
    enum precision precision;
} modes[] = {
    {"plain", true, NULL, 0, 1e-5, false, PRECISION_FP32},
    {"direct", false, "direct", 0, 1e-5, false, PRECISION_FP32},
    /* Some kernels are taken with one thread alone. */
    {"one thread", false, "direct", 0, 1e-5, true, PRECISION_FP32},
    {"our direct", false, "direct assay", 0, 1e-5, false, PRECISION_FP32},
    {"winograd", false, "winograd", 0, 2e-4, false, PRECISION_FP32},
    {"our 4x3", false, "winograd assay_4x3", 0, 1e-4, false, PRECISION_FP32},
    {"our 2x3", false, "winograd assay_2x3", 0, 1e-5, false, PRECISION_FP32},
    {"our 2x5", false, "winograd assay_2x5", 0, 1e-4, false, PRECISION_FP32},
    {"winograd, in parts", false, "winograd", 1, 2e-4, false, PRECISION_FP32},
    {"fastest", false, NULL, 0, 2e-4, false, PRECISION_AUTO}};

/* Factors and results of 8 bits. */
static const struct mode bf16_modes[] = {
    {"bf16", false, NULL, 0, 1.5e-2, false, PRECISION_BF16},
    {"bf16, plain", true, NULL, 0, 1.5e-2, true, PRECISION_BF16}};

enum {
    n_modes = sizeof modes / sizeof *modes,
    n_bf16_modes = sizeof bf16_modes / sizeof *bf16_modes
};

enum what { WHAT_TEST, WHAT_BF16, WHAT_PERF, N_WHATS };

static const char *const what_words[N_WHATS] = {"test", "bf16", "perf"};

static struct engine_options options_of(const struct mode *mode)
{
    return (struct engine_options){
        .device = device_cpu(),
        .backend_options = {.n_threads = mode->has_one_thread ? 1 : 2,
                            .precision = mode->precision,
                            .is_plain = mode->is_plain,
                            .tuning_seconds = 0.1,
                            .algorithm = mode->algorithm,
                            .scratch_bytes = mode->scratch_bytes}};
}

static enum assay_status run(const struct op_graph *made,
                             const struct engine_options *options,
                             struct tensor *y, struct error *err)
{
    struct engine *engine;
    enum assay_status st = engine_new(made->graph, pool, options, &engine, err);

    /* Runs twice, to use what the first run set up. */
    if (!st)
        st = engine_run(engine, made->inputs, y, err);
    if (!st) {
        tensor_release(y);
        st = engine_run(engine, made->inputs, y, err);
    }
    engine_free(engine);
    return st;
}

/* The largest difference relative to the largest value. */
static double difference(const struct tensor *got, const struct tensor *want)
{
    double largest = 0, worst = 0;

    if (!shape_equal(&got->shape, &want->shape))
        return INFINITY;
    for (size_t i = 0; i < tensor_elements(want); i++) {
        double w = tensor_f32(want)[i], off = fabs(tensor_f32(got)[i] - w);

        largest = fmax(largest, fabs(w));
        worst = off > worst || isnan(off) ? off : worst;
    }
    return largest > 0 ? worst / largest : worst;
}

/* Of sums of up to ten that end at 1. */
static double case_tolerance(const struct mode *mode, const char *line)
{
    bool is_cut = strstr(line, "relu6") || strstr(line, "a=2") ||
                  strncmp(line, "clip", 4) == 0;

    return mode->precision == PRECISION_BF16 && is_cut ? 10 * mode->tolerance
                                                       : mode->tolerance;
}

static enum assay_status compare(const struct op_graph *made, const char *line,
                                 const struct mode *list, size_t n,
                                 bool is_large, int *n_wrong, struct error *err)
{
    struct engine_options portable = {.device = &device_portable};
    struct engine_options direct = options_of(&modes[0]);
    struct tensor want, got;
    enum assay_status st =
        run(made, is_large ? &direct : &portable, &want, err);

    for (size_t i = 0; !st && i < n; i++) {
        struct engine_options options = options_of(&list[i]);
        double most = case_tolerance(&list[i], line), off;

        st = run(made, &options, &got, err);
        if (st)
            break;
        off = difference(&got, &want);
        tensor_release(&got);
        if (!(off <= most)) {
            printf("off by %.2g, at most %.2g (%s): %s\n", off, most,
                   list[i].name, line);
            ++*n_wrong;
        }
    }
    tensor_release(&want);
    return st;
}

/* The best time of a few runs, in seconds. */
static enum assay_status measure(const struct op_graph *made,
                                 struct engine *engine, double *best,
                                 struct error *err)
{
    enum { runs = 5 };
    enum assay_status st = ASSAY_OK;

    *best = INFINITY;
    for (int i = 0; !st && i < runs; i++) {
        int64_t since = clock_monotonic_ns();
        struct tensor y;

        st = engine_run(engine, made->inputs, &y, err);
        if (!st)
            tensor_release(&y);
        *best = fmin(*best, (double)(clock_monotonic_ns() - since) / 1e9);
    }
    return st;
}

static enum assay_status print_speed(const struct op_graph *made,
                                     const char *line, struct error *err)
{
    for (size_t i = 0; i < n_modes; i++) {
        struct engine_options options = options_of(&modes[i]);
        size_t last = graph_node_count(made->graph) - 1;
        struct engine *engine;
        double seconds;
        enum assay_status st =
            engine_new(made->graph, pool, &options, &engine, err);

        if (!st)
            st = measure(made, engine, &seconds, err);
        if (!st) {
            const struct cost *cost = engine_cost(engine, last);

            printf(
                "%-9s %8.3f ms %7.1f GFLOP/s %6.1f GB/s  %s\n", modes[i].name,
                seconds * 1e3, 2e-9 * (double)cost->macs / seconds,
                1e-9 * (double)(cost->read_bytes + cost->write_bytes) / seconds,
                line);
        }
        engine_free(engine);
        if (st)
            return st;
    }
    return ASSAY_OK;
}

static enum assay_status do_line(const char *line, enum what what, int *n_wrong,
                                 struct error *err)
{
    struct op_graph made = {0};
    struct op_case op_case;
    const char *problem;
    enum assay_status st;

    if (!op_case_parse(line, &op_case, &problem))
        return error_set(err, ASSAY_BAD_INPUT, "%s", problem);
    st = op_case_build(&op_case, pool, &made, err);
    if (!st && what == WHAT_PERF)
        st = print_speed(&made, line, err);
    else if (!st && what == WHAT_BF16)
        st = compare(&made, line, bf16_modes, n_bf16_modes, op_case.large,
                     n_wrong, err);
    else if (!st)
        st = compare(&made, line, modes, n_modes, op_case.large, n_wrong, err);
    op_graph_release(&made);
    return st;
}

/* Whether this processor has bf16. */
static bool has_bf16(struct error *err)
{
    struct engine_options options = options_of(&bf16_modes[0]);
    struct op_case op_case;
    struct op_graph made = {0};
    struct engine *engine = NULL;
    const char *problem;
    enum assay_status st = op_case_parse("conv2d", &op_case, &problem)
                               ? op_case_build(&op_case, pool, &made, err)
                               : error_set(err, ASSAY_BAD_INPUT, "%s", problem);

    if (!st)
        st = engine_new(made.graph, pool, &options, &engine, err);
    engine_free(engine);
    op_graph_release(&made);
    return !st;
}

static int do_file(FILE *file, enum what what, const char *word)
{
    int n_wrong = 0, n_cases = 0;
    char line[256];

    while (fgets(line, sizeof line, file)) {
        struct error err = {0};

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0' || (word && !strstr(line, word)))
            continue;
        n_cases++;
        if (do_line(line, what, &n_wrong, &err)) {
            printf("%s: %s\n", err.text, line);
            n_wrong++;
        }
    }
    printf("%d cases, %d wrong\n", n_cases, n_wrong);
    return n_wrong || n_cases == 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    enum { skipped = 77 };
    struct error err = {0};
    enum what what = WHAT_TEST;
    FILE *file;
    int result;

    while (argc > 1 && what < N_WHATS && strcmp(argv[1], what_words[what]) != 0)
        what++;
    if (argc < 3 || what == N_WHATS) {
        fprintf(stderr, "usage: op_cases test|bf16|perf FILE [WORD]\n");
        return 2;
    }
    file = fopen(argv[2], "r");
    if (!file || pool_new(&pool, &err)) {
        perror(argv[2]);
        return 2;
    }
    if (what == WHAT_BF16 && !has_bf16(&err)) {
        printf("skipped: %s\n", err.text);
        result = skipped;
    } else {
        result = do_file(file, what, argc > 3 ? argv[3] : NULL);
    }
    pool_free(pool);
    fclose(file);
    return result;
}

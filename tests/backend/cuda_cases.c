/* Op cases from a text file on a GPU, against the host's kernels.
 *
 *     cuda_cases FILE [WORD]
 *
 * WORD: only lines that contain it. Exits with 1 if a case is off in one of the
 * precisions, and with 77 where there is no GPU. A case that the GPU has no
 * kernel for runs on the host; those are counted. */
#include "op_case.h"

#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct pool *pool;
static const struct device *gpu;

/* Tolerances are relative to the largest value before a ReLU's limit; products
 * of up to 4,608 terms. */
static const struct mode {
    const char *name;
    enum precision precision;
    double tolerance;
} modes[] = {{"fp32", PRECISION_FP32, 2e-5},
             {"tf32", PRECISION_TF32, 8e-3},
             {"fp16", PRECISION_FP16, 1e-2},
             {"bf16", PRECISION_BF16, 8e-2}};

enum { n_modes = sizeof modes / sizeof *modes };

struct tally {
    int n_cases, n_wrong, n_on_host;
};

static enum assay_status run(const struct op_graph *made,
                             const struct engine_options *options,
                             struct tensor *y, bool *is_on_host,
                             struct error *err)
{
    struct engine *engine;
    struct str moves = {0};
    struct sink sink = sink_to_str(&moves);
    enum assay_status st = engine_new(made->graph, pool, options, &engine, err);

    /* Runs twice, to use what the first run set up. */
    for (int i = 0; !st && i < 2; i++) {
        if (i)
            tensor_release(y);
        st = engine_run(engine, made->inputs, y, err);
    }
    if (!st) {
        engine_explain_moves(engine, &sink);
        *is_on_host = !strstr(str_text(&moves), "for the outputs");
    }
    str_release(&moves);
    engine_free(engine);
    return st;
}

static double largest_of(const struct tensor *x)
{
    double largest = 0;

    for (size_t i = 0; i < tensor_elements(x); i++)
        largest = fmax(largest, fabs((double)tensor_f32(x)[i]));
    return largest;
}

/* The largest difference relative to the largest value. */
static double difference(const struct tensor *got, const struct tensor *want,
                         double largest)
{
    double worst = 0;

    if (!shape_equal(&got->shape, &want->shape))
        return INFINITY;
    for (size_t i = 0; i < tensor_elements(want); i++) {
        double w = tensor_f32(want)[i], off = fabs(tensor_f32(got)[i] - w);

        worst = off > worst || isnan(off) ? off : worst;
    }
    return largest > 0 ? worst / largest : worst;
}

/* What the case makes without the limit of its ReLU: sums are as far off as
 * they are large, whatever of them is cut away then. */
static enum assay_status largest_unlimited(const struct op_case *op_case,
                                           const struct engine_options *host,
                                           double *largest, struct error *err)
{
    struct op_case unlimited = *op_case;
    struct op_graph made = {0};
    struct tensor y;
    bool is_on_host;
    enum assay_status st;

    unlimited.relu6 = false;
    st = op_case_build(&unlimited, pool, &made, err);
    if (!st)
        st = run(&made, host, &y, &is_on_host, err);
    if (!st) {
        *largest = largest_of(&y);
        tensor_release(&y);
    }
    op_graph_release(&made);
    return st;
}

/* The case on the GPU; by rule: without measuring kernels. */
static enum assay_status compare_mode(const struct op_graph *made,
                                      const struct mode *mode, bool by_rule,
                                      const struct tensor *want, double largest,
                                      const char *line, struct tally *tally,
                                      bool *is_on_host, struct error *err)
{
    struct engine_options options = {
        .device = gpu,
        .backend_options = {.precision = mode->precision,
                            .is_plain = by_rule,
                            .tuning_seconds = 0.05,
                            .n_threads = 2}};
    struct tensor got;
    enum assay_status st = run(made, &options, &got, is_on_host, err);
    double off;

    if (st)
        return st;
    off = difference(&got, want, largest);
    tensor_release(&got);
    if (!(off <= mode->tolerance)) {
        printf("off by %.2g, at most %.2g (%s%s): %s\n", off, mode->tolerance,
               mode->name, by_rule ? ", by rule" : "", line);
        tally->n_wrong++;
    }
    return ASSAY_OK;
}

static enum assay_status compare(const struct op_case *op_case,
                                 const struct op_graph *made, const char *line,
                                 struct tally *tally, struct error *err)
{
    struct engine_options host = {
        .device = op_case->large ? device_cpu() : &device_portable,
        .backend_options = {.is_plain = true, .n_threads = 2}};
    struct tensor want;
    bool is_on_host = false;
    double largest = 0;
    enum assay_status st = run(made, &host, &want, &is_on_host, err);

    if (!st && op_case->relu6)
        st = largest_unlimited(op_case, &host, &largest, err);
    else if (!st)
        largest = largest_of(&want);
    for (size_t i = 0; !st && i < n_modes; i++) {
        st = compare_mode(made, &modes[i], false, &want, largest, line, tally,
                          &is_on_host, err);
        /* Grouped ones also by rule: by our own kernels, which others may
         * beat. */
        if (!st && op_case->g > 1)
            st = compare_mode(made, &modes[i], true, &want, largest, line,
                              tally, &is_on_host, err);
    }
    if (!st && is_on_host) {
        tally->n_on_host++;
        printf("on the host: %s\n", line);
    }
    tensor_release(&want);
    return st;
}

static void do_line(const char *line, struct tally *tally)
{
    struct error err = {0};
    struct op_graph made = {0};
    struct op_case op_case;
    const char *problem;
    enum assay_status st;

    tally->n_cases++;
    if (!op_case_parse(line, &op_case, &problem)) {
        printf("%s: %s\n", problem, line);
        tally->n_wrong++;
        return;
    }
    st = op_case_build(&op_case, pool, &made, &err);
    if (!st)
        st = compare(&op_case, &made, line, tally, &err);
    if (st) {
        printf("%s: %s\n", err.text, line);
        tally->n_wrong++;
    }
    op_graph_release(&made);
}

static int do_file(FILE *file, const char *word)
{
    struct tally tally = {0};
    char line[256];

    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0' && (!word || strstr(line, word)))
            do_line(line, &tally);
    }
    printf("%d cases, %d wrong, %d on the host\n", tally.n_cases, tally.n_wrong,
           tally.n_on_host);
    return tally.n_wrong || tally.n_cases == 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    FILE *file;
    int result;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2) {
        fprintf(stderr, "usage: cuda_cases FILE [WORD]\n");
        return 2;
    }
    if (device_find("cuda:0", &gpu, &err)) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    file = fopen(argv[1], "r");
    if (!file || pool_new(&pool, &err)) {
        perror(argv[1]);
        return 2;
    }
    result = do_file(file, argc > 2 ? argv[2] : NULL);
    pool_free(pool);
    fclose(file);
    return result;
}

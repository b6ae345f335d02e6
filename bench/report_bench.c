/* bench/report_bench.c - what making an HTML report of a large run takes:
 * reading the run file and writing the page. Each scope is called in 50
 * iterations, of which four are kept in full. */
#include "bench.h"

#include "base/clock.h"
#include "base/file.h"
#include "store/store.h"
#include "views/report.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { n_iterations = 50, n_kept = 4 };

struct shape {
    const char *label;
    uint32_t n_scopes, scopes_a_layer;
    int n_rounds;
    double most_seconds, most_megabytes;
};

static const char run_path[] = "report_bench.assay";
static const char page_path[] = "report_bench.html";

static enum assay_status add_scopes(struct run *run, const struct shape *shape,
                                    struct error *err)
{
    uint32_t layer = RUN_ROOT;
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 1; !st && i < shape->n_scopes; i++) {
        bool is_layer = i % shape->scopes_a_layer == 1 % shape->scopes_a_layer;
        uint32_t id;
        char name[32];

        snprintf(name, sizeof name, is_layer ? "layer%u" : "conv%u", i);
        st = run_scope_add(run, is_layer ? RUN_ROOT : layer, name,
                           is_layer ? "Sequential" : "Conv2d", &id, err);
        if (is_layer)
            layer = id;
    }
    return st;
}

static enum assay_status add_iteration(struct run *run, uint32_t n,
                                       uint32_t iteration, struct error *err)
{
    int64_t begin = (int64_t)iteration * n * 1000;
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = n; !st && i-- > 0;) {
        struct sample sample = {.scope = i,
                                .iteration = iteration,
                                .start_ns = begin + (int64_t)i * 1000,
                                .duration_ns = 900 + i % 50,
                                .self_ns = 900,
                                .bytes = 4096,
                                .peak_bytes = 1 << 20};

        if (i == RUN_ROOT)
            sample.duration_ns = (int64_t)n * 1000;
        st = run_count(run, &sample, err);
        if (!st && iteration < n_kept)
            st = run_keep(run, &sample, err);
    }
    return st;
}

static enum assay_status make_run(const struct shape *shape, struct error *err)
{
    struct run *run = NULL;
    uint32_t thread;
    enum assay_status st = run_new(&run, err);

    if (!st)
        st = run_thread_add(run, "main", THREAD_CPU, &thread, err);
    if (!st)
        st = add_scopes(run, shape, err);
    for (uint32_t i = 0; !st && i < n_iterations; i++)
        st = add_iteration(run, shape->n_scopes, i, err);
    if (!st)
        st = run_seal(run, err);
    if (!st)
        st = store_save(run, run_path, err);
    run_free(run);
    return st;
}

static enum assay_status make_report(uint64_t *bytes, struct error *err)
{
    struct output *output = NULL;
    struct run *run = NULL;
    struct report report = {0};
    enum assay_status st = output_open(page_path, &output, err);

    if (!st)
        st = store_load(run_path, &run, err);
    if (!st) {
        report.sides[0] = (struct report_side){run, run_path};
        st = view_html(&report, output_sink(output), err);
    }
    run_free(run);
    if (st) {
        output_discard(output);
        return st;
    }
    *bytes = output_sink(output)->written;
    return output_commit(output, err);
}

static enum assay_status bench_shape(const struct shape *shape,
                                     struct error *err)
{
    double best = 1e9;
    uint64_t bytes = 0;
    enum assay_status st = make_run(shape, err);

    for (int i = 0; !st && i < shape->n_rounds; i++) {
        int64_t begin = clock_monotonic_ns();

        st = make_report(&bytes, err);
        best = fmin(best, (double)(clock_monotonic_ns() - begin) / 1e9);
    }
    unlink(run_path);
    unlink(page_path);
    if (st)
        return st;
    bench_at_most(shape->label, best, shape->most_seconds, "s");
    bench_at_most("its size without pictures", (double)bytes / 1e6,
                  shape->most_megabytes, "MB");
    return ASSAY_OK;
}

int main(void)
{
    /* The second has no layers: what looks for a scope among its siblings takes
     * minutes there. */
    static const struct shape shapes[] = {
        {"report of 2000 scopes", 2000, 20, 5, 0.2, 1},
        {"report of 100,000 siblings", 100000, 1, 1, 10, 40},
    };
    struct error err = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof shapes / sizeof *shapes; i++)
        st = bench_shape(&shapes[i], &err);
    if (st) {
        fprintf(stderr, "report_bench: %s\n", err.text);
        return 1;
    }
    return bench_end();
}

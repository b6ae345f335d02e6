/* slowest.c - prints the scopes of a run with the most self time.
 *
 *     slowest run.assay
 *
 * SPDX-License-Identifier: MIT */
#include <assay.h>

#include <stdio.h>
#include <stdlib.h>

struct line {
    const char *path;
    double self_ms, device_ms;
};

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;

    return (a->self_ms < b->self_ms) - (a->self_ms > b->self_ms);
}

/* Self time per iteration; 0 if unknown. */
static double self_ms(const struct assay_run *run, uint32_t scope,
                      enum assay_lane_kind side)
{
    struct assay_run_stats stats;

    if (assay_run_stats_of(run, scope, NULL, side, &stats, NULL) ||
        stats.calls == 0 || stats.is_outside)
        return 0;
    return stats.mean_self_ns / 1e6;
}

int main(int argc, char **argv)
{
    struct assay_error error = {0};
    struct assay_run *run;
    struct line *lines;
    size_t n;

    if (argc != 2 || assay_run_open(argv[1], &run, &error)) {
        fprintf(stderr, "slowest: %s\n",
                argc == 2 ? error.text : "needs the path of a run file");
        return argc == 2 ? 3 : 2;
    }
    n = assay_run_scope_count(run);
    lines = calloc(n, sizeof *lines);
    if (!lines)
        return 4;
    for (uint32_t i = 0; i < n; i++)
        lines[i] = (struct line){assay_run_path(run, i),
                                 self_ms(run, i, ASSAY_LANE_THREAD),
                                 self_ms(run, i, ASSAY_LANE_DEVICE)};
    qsort(lines, n, sizeof *lines, compare_lines);
    printf("%10s %10s  scope\n", "host ms", "device ms");
    for (size_t i = 0; i < n && i < 10; i++)
        printf("%10.3f %10.3f  %s\n", lines[i].self_ms, lines[i].device_ms,
               lines[i].path ? lines[i].path : "");
    free(lines);
    assay_run_close(run);
    return 0;
}

/* bench/metrics_bench.c - how long until the figures of a graph are on the
 * screen: nothing runs, and no weights are made. */
#include "bench.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { n_rounds = 15 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(void)
{
    static const char command[] =
        BENCH_ASSAY " metrics resnet50 --no-weights >/dev/null";
    double times_ms[n_rounds];

    for (int i = 0; i < n_rounds; i++) {
        int64_t began_ns = clock_monotonic_ns();

        if (system(command) != 0) {
            fprintf(stderr, "metrics_bench: %s failed\n", command);
            return 1;
        }
        times_ms[i] = (double)(clock_monotonic_ns() - began_ns) / 1e6;
    }
    qsort(times_ms, n_rounds, sizeof *times_ms, ascending);
    bench_at_most("graph-only metrics of resnet50, the command",
                  times_ms[n_rounds / 2], 50, "ms");
    return bench_end();
}

/* bench/bench.c - see bench.h. */
#include "bench.h"

#include <stdbool.h>
#include <stdio.h>

static int n_missed;

static void print_row(const char *what, double value, const char *relation,
                      double bar, const char *unit, bool is_met)
{
    printf("%-44s %10.4g %-8s %s %g %s  %s\n", what, value, unit, relation, bar,
           unit, is_met ? "ok" : "MISSED");
    fflush(stdout);
    n_missed += !is_met;
}

void bench_at_most(const char *what, double value, double bar, const char *unit)
{
    print_row(what, value, "at most", bar, unit, value <= bar);
}

void bench_at_least(const char *what, double value, double bar,
                    const char *unit)
{
    print_row(what, value, "at least", bar, unit, value >= bar);
}

void bench_note(const char *what, double value, const char *unit)
{
    printf("%-44s %10.4g %s\n", what, value, unit);
    fflush(stdout);
}

int bench_end(void)
{
    return n_missed ? 1 : 0;
}

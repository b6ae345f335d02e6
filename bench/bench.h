/* bench/bench.h - the rows of a benchmark, each with its bar.
 *
 * A benchmark measures, calls one of these per measure and ends with `return
 * bench_end();`. `make bench` runs them all.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

/* "span on / two time stamps      1.91 x   at most 2.5 x   ok" */
void bench_at_most(const char *what, double value, double bar,
                   const char *unit);
void bench_at_least(const char *what, double value, double bar,
                    const char *unit);

/* A number without a bar, to put the others into context. */
void bench_note(const char *what, double value, const char *unit);

/* The result of main(): 0, or 1 if a bar was missed. */
int bench_end(void);

#endif

/* base/processor.h - what the processor is called, how wide it computes, and
 * how many there are.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>

/* As Linux tells it in proc/cpuinfo below root ("": this machine); false where
 * it does not. */
bool processor_name(const char *root, char *name, size_t size);

/* The widest vectors that this one computes with: "AVX-512"; NULL: plain. */
const char *processor_simd(void);

/* How many this process may use: fewer than the machine has where taskset or a
 * container says so; of one and a half, two. At least 1. */
int processor_count(void);
/* The same with a container's limit read below another root folder. */
int processor_count_below(const char *root);

#endif

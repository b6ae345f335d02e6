/* base/processor.h - what the processor is called, and how wide it computes.
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

#endif

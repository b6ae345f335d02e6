/* base/processor.h - what the processor is called, how wide it computes, and
 * how many there are.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* As Linux tells it in proc/cpuinfo below root ("": this machine); false where
 * it does not. */
bool processor_name(const char *root, char *name, size_t size);

/* Instruction sets that kernels exist for; each has those before it. */
enum processor_level {
    PROCESSOR_PLAIN, /* none of them, or not an x86 */
    PROCESSOR_SSE41,
    PROCESSOR_AVX2,
    PROCESSOR_AVX512,
    PROCESSOR_AMX
};

/* What each of them allows; PROCESSOR_AMX where it says nothing. */
struct processor_limits {
    enum processor_level hardware;
    enum processor_level assay_cpu; /* ASSAY_CPU */
    enum processor_level onednn;    /* ONEDNN_MAX_CPU_ISA */
    const char *onednn_word;        /* its value; NULL: it says nothing */
};

struct processor_limits processor_limits(void);

/* What kernels may use: the least of the limits. ONEDNN_MAX_CPU_ISA is meant
 * for oneDNN alone; our own kernels follow it, so that one word describes them
 * all. The environment is read once. Any thread. */
enum processor_level processor_level(void);

/* ASSAY_BAD_USAGE where ASSAY_CPU is set to a word that is not a level; it
 * does not limit anything then. */
enum assay_status processor_check(struct error *err);

/* For tests: from now on the level is this one, or that of the hardware where
 * it has less. oneDNN does not follow. */
void processor_limit(enum processor_level most);

/* What the level of kernels is called: "AVX-512"; NULL: plain. */
const char *processor_simd(void);

/* How many this process may use: fewer than the machine has where taskset or a
 * container says so; of one and a half, two. At least 1. */
int processor_count(void);
/* The same with a container's limit read below another root folder. */
int processor_count_below(const char *root);

#endif

/* base/processor.h - the processor's name, its instruction sets, and how many
 * processors there are.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* From /proc/cpuinfo below root ("": this machine); false if it is missing. */
bool processor_name(const char *root, char *name, size_t size);

/* Instruction sets that we have kernels for; each includes those before it. */
enum processor_level {
    PROCESSOR_PLAIN, /* none of them, or not an x86 */
    PROCESSOR_SSE41,
    PROCESSOR_AVX2,
    PROCESSOR_AVX512,
    PROCESSOR_AMX
};

/* The limit from each source; PROCESSOR_AMX: no limit. */
struct processor_limits {
    enum processor_level hardware;
    enum processor_level assay_cpu; /* ASSAY_CPU */
    enum processor_level onednn;    /* ONEDNN_MAX_CPU_ISA */
    const char *onednn_word;        /* its value; NULL: no limit */
};

struct processor_limits processor_limits(void);

/* What kernels may use: the least of the limits. ONEDNN_MAX_CPU_ISA is meant
 * for oneDNN alone, but our own kernels follow it, so that one word describes
 * them all. The environment is read once. Thread-safe. */
enum processor_level processor_level(void);

/* ASSAY_BAD_USAGE if ASSAY_CPU is set to something that is not a level; it then
 * limits nothing. */
enum assay_status processor_check(struct error *err);

/* For tests: from now on use this level, or the hardware's if that is lower.
 * oneDNN does not follow. */
void processor_limit(enum processor_level most);

/* The level's name: "AVX-512"; NULL: plain. */
const char *processor_simd(void);

/* Takes this memory out of the processor's caches, where it can be asked to:
 * the next read comes from memory. The contents stay. */
void processor_evict(const void *data, size_t bytes);

/* How many processors this process may use: fewer than the machine has if
 * taskset or a container limits it; a limit of 1.5 counts as 2. At least 1. */
int processor_count(void);
/* The same with the container's limit read below another root folder. */
int processor_count_below(const char *root);

#endif

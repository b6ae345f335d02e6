/* assay/memory.h - who holds how much memory, and where.
 *
 *     assay_memory("cuda:0", ASSAY_MEMORY_WEIGHTS, 167772160);
 *     ...
 *     assay_memory("cuda:0", ASSAY_MEMORY_WEIGHTS, -167772160);
 *
 * A run then has the live bytes and their peak for each memory space and each
 * category in it, and what each category held when its space was at its peak.
 * assay_bytes() of assay/span.h is a separate count: how much the calling
 * thread takes, by span. Call both if you want both.
 *
 * May be called from any thread and in a signal handler, under the conditions
 * of assay/span.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_MEMORY_H
#define ASSAY_MEMORY_H

#include <assay/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This list generates the constants and their texts. */
#define ASSAY_MEMORY_LIST(X)                                                   \
    X(ASSAY_MEMORY_WEIGHTS, "weights")                                         \
    X(ASSAY_MEMORY_ACTIVATIONS, "activations")                                 \
    X(ASSAY_MEMORY_GRADIENTS, "gradients")                                     \
    X(ASSAY_MEMORY_OPTIMIZER, "optimizer")                                     \
    X(ASSAY_MEMORY_SCRATCH, "scratch")                                         \
    X(ASSAY_MEMORY_OTHER, "other")

enum assay_memory_category {
#define ASSAY_MEMORY_ENUM(name, text) name,
    ASSAY_MEMORY_LIST(ASSAY_MEMORY_ENUM)
#undef ASSAY_MEMORY_ENUM
};

#ifndef ASSAY_OFF

/* Private: called by the inline function below. */
ASSAY_API void assay_memory_(const char *space,
                             enum assay_memory_category category,
                             int64_t delta);

/* Bytes taken (positive) or given back (negative) in a memory space: "host",
 * "cuda:0". The space's name is copied when first seen; NULL means "host". */
static inline void assay_memory(const char *space,
                                enum assay_memory_category category,
                                int64_t delta)
{
    if (assay_is_recording())
        assay_memory_(space, category, delta);
}

#else

static inline void assay_memory(const char *space,
                                enum assay_memory_category category,
                                int64_t delta)
{
    (void)space, (void)category, (void)delta;
}

#endif /* ASSAY_OFF */

#ifdef __cplusplus
}
#endif
#endif

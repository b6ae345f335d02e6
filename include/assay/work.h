/* assay/work.h - the work a span has to do: its arithmetic and its traffic.
 *
 *     assay_begin_class("conv1", "Conv2d");
 *     assay_work(&(struct assay_work){.macs = 118013952,
 *                                     .bytes_read = 3249664,
 *                                     .bytes_written = 3211264,
 *                                     .parameters = 9408,
 *                                     .shapes = "1x3x224x224 -> 1x64x112x112",
 *                                     .kernel = "implicit gemm"});
 *     ...
 *     assay_end();
 *
 * With it `assay show` prints GFLOP/s next to the times, and what limits a
 * module. It costs about as much as a span. May be called from any thread and
 * in a signal handler, under the conditions of assay/span.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_WORK_H
#define ASSAY_WORK_H

#include <assay/lane.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The work of one call, without that of the spans inside it. 0 and NULL: none,
 * or unknown; if bytes are given, arithmetic of 0 is none. */
struct assay_work {
    double macs;  /* multiply-adds of convolutions and matrix products, as
                     counted for the direct algorithm */
    double flops; /* other arithmetic */
    double bytes_read, bytes_written; /* inputs and parameters; outputs */
    double done_flops, done_bytes;    /* executed and moved by the kernel that
                                         ran, if it knows: for the roofline */
    double kept_bytes;                /* of the results, for a backward pass */
    double parameters;  /* of the scope; not added up over calls */
    const char *shapes; /* "1x3x224x224 -> 1x64x112x112" */
    const char *kernel; /* the kernel that ran: "implicit gemm" */
};

#ifndef ASSAY_OFF

/* Private: called by the inline functions below. */
ASSAY_API void assay_work_(const struct assay_work *work);
ASSAY_API void assay_scope_work_(assay_scope_t scope,
                                 const struct assay_work *work);
ASSAY_API void assay_fused_(assay_scope_t scope, assay_scope_t into);

/* Adds the work of one call to the scope of the innermost open span. A run has
 * the mean per iteration, or per call if no iterations are marked; the texts
 * are those of the last call. Work reported while no span is open, and values
 * that are negative or not finite, are counted as lost.
 *
 * Texts are kept for the life of the process: use at most some ten thousand
 * different ones. Beyond 65536 they are left out, and the fact
 * "recorder.texts_left_out" counts how often. */
static inline void assay_work(const struct assay_work *work)
{
    if (assay_is_recording())
        assay_work_(work);
}

/* The same for a scope given by its handle, whatever is open. */
static inline void assay_scope_work(assay_scope_t scope,
                                    const struct assay_work *work)
{
    if (assay_is_recording())
        assay_scope_work_(scope, work);
}

/* Says that a module has no time of its own because the kernel of another one,
 * which is not fused into a third, does its work. It is shown in its place,
 * marked as fused. A pair of handles that cannot be is counted as lost. */
static inline void assay_fused(assay_scope_t scope, assay_scope_t into)
{
    if (assay_is_recording())
        assay_fused_(scope, into);
}

#else

static inline void assay_work(const struct assay_work *work)
{
    (void)work;
}

static inline void assay_scope_work(assay_scope_t scope,
                                    const struct assay_work *work)
{
    (void)scope, (void)work;
}

static inline void assay_fused(assay_scope_t scope, assay_scope_t into)
{
    (void)scope, (void)into;
}

#endif /* ASSAY_OFF */

#ifdef __cplusplus
}
#endif
#endif

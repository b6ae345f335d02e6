/* assay/work.h - what a span has to do: its arithmetic and its traffic.
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
 * With it `assay show` tells GFLOP/s beside the times, and what bounds a
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

/* The work of one call, without what the spans inside it do. 0 and NULL: none,
 * or not known. */
struct assay_work {
    double macs;  /* multiply-adds of convolutions and matrix products, as the
                     direct algorithm has them */
    double flops; /* other arithmetic */
    double bytes_read, bytes_written; /* inputs and parameters, and outputs */
    double parameters;  /* of the scope; not added up over calls */
    const char *shapes; /* "1x3x224x224 -> 1x64x112x112" */
    const char *kernel; /* what ran: "implicit gemm" */
};

#ifndef ASSAY_OFF

/* Not for use: what the inline functions below stand on. */
ASSAY_API void assay_work_(const struct assay_work *work);
ASSAY_API void assay_scope_work_(assay_scope_t scope,
                                 const struct assay_work *work);

/* Adds the work of a call to the innermost open span's scope. A run has the
 * mean over its iterations, or over the calls where none are marked; the texts
 * are those of the last call. Work where no span is open, and values that are
 * negative or not finite, are counted as lost.
 *
 * Texts are kept for the life of the process: tell no more than some ten
 * thousand different ones. Beyond 65536 they are left out, and the fact
 * "recorder.texts_left_out" says how often. */
static inline void assay_work(const struct assay_work *work)
{
    if (assay_is_recording())
        assay_work_(work);
}

/* The same for a scope by its handle, whatever is open. */
static inline void assay_scope_work(assay_scope_t scope,
                                    const struct assay_work *work)
{
    if (assay_is_recording())
        assay_scope_work_(scope, work);
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

#endif /* ASSAY_OFF */

#ifdef __cplusplus
}
#endif
#endif

/* backend/dnnl/denormals.c - numbers next to 0 in training.
 *
 * A loss that has become small sends gradients back that fade away below the
 * smallest normal number. Processors take ten times as long for those; in
 * training they count as 0. How a thread takes them is its own setting, which
 * threads that it starts inherit. */
#include "backend/dnnl/dnnl_internal.h"

#ifdef __x86_64__
#include <xmmintrin.h>

static const unsigned flushed = 0x8040; /* results (FTZ) and operands (DAZ) */

void denormals_flush(struct onednn *dn)
{
    if (dn->flushes || !dn->options.is_training)
        return;
    dn->flushes = true;
    dn->float_settings = _mm_getcsr();
    /* Before the others too: LLVM's OpenMP gives all of them, and the caller
     * itself when it is back, what the caller had. */
    _mm_setcsr(_mm_getcsr() | flushed);
#pragma omp parallel
    _mm_setcsr(_mm_getcsr() | flushed);
}

void denormals_restore(struct onednn *dn)
{
    unsigned settings = dn->float_settings;

    if (!dn->flushes)
        return;
    dn->flushes = false;
    _mm_setcsr(settings);
#pragma omp parallel
    _mm_setcsr(settings);
}
#else
void denormals_flush(struct onednn *dn)
{
    (void)dn;
}

void denormals_restore(struct onednn *dn)
{
    (void)dn;
}
#endif

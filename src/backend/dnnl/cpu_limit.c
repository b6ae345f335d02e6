/* backend/dnnl/cpu_limit.c - how wide oneDNN may compute.
 *
 * Our own kernels follow processor_level(); here oneDNN's are told to. It can
 * be told once in a process, before it makes anything. ONEDNN_MAX_CPU_ISA it
 * reads by itself. */
#include "backend/dnnl/native_internal.h"

#include "base/processor.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static dnnl_status_t limit_status; /* of limit_once(), which sets it */

static dnnl_cpu_isa_t limit_isa(enum processor_level level)
{
    switch (level) {
    case PROCESSOR_PLAIN:
    case PROCESSOR_SSE41:
        return dnnl_cpu_isa_sse41;
    case PROCESSOR_AVX2:
        return dnnl_cpu_isa_avx2;
    case PROCESSOR_AVX512:
        return native_isa_avx512;
    case PROCESSOR_AMX:
        break;
    }
    return native_isa_all;
}

/* ONEDNN_MAX_CPU_ISA tells finer levels apart: of those that are one to us it
 * has the last word, except for the lowest. */
static bool is_onednn_limit(const struct processor_limits *limits)
{
    return limits->onednn_word && limits->onednn <= limits->hardware &&
           (limits->onednn < limits->assay_cpu ||
            (limits->onednn == limits->assay_cpu &&
             limits->onednn > PROCESSOR_SSE41));
}

/* A process has to ask for the registers of AMX, or its first instruction on
 * them ends it: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
static bool limit_ask_tiles(void)
{
#ifdef SYS_arch_prctl
    enum { request = 0x1023, tile_data = 18 };

    return syscall(SYS_arch_prctl, request, tile_data) == 0;
#else
    return false;
#endif
}

static void limit_once(void)
{
    struct processor_limits limits = processor_limits();

    if (limits.assay_cpu < limits.hardware && !is_onednn_limit(&limits))
        limit_status = dnnl_set_max_cpu_isa(limit_isa(limits.assay_cpu));
    else if (limits.hardware == PROCESSOR_AMX &&
             limits.onednn == PROCESSOR_AMX && !limit_ask_tiles())
        limit_status = dnnl_set_max_cpu_isa(limit_isa(PROCESSOR_AVX512));
}

enum assay_status onednn_limit(struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum assay_status st = processor_check(err);

    if (st)
        return st;
    pthread_once(&once, limit_once);
    return onednn_status(limit_status, "be limited by ASSAY_CPU", err);
}

const char *onednn_limit_word(void)
{
    struct processor_limits limits = processor_limits();

    return is_onednn_limit(&limits) ? limits.onednn_word : NULL;
}

bool onednn_has_bf16(void)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core_bf16) ==
           dnnl_cpu_isa_avx512_core_bf16;
}

bool onednn_sums_exactly(void)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core_vnni) ==
               dnnl_cpu_isa_avx512_core_vnni ||
           (isa & dnnl_cpu_isa_avx2_vnni) == dnnl_cpu_isa_avx2_vnni;
}

/* passes/fuse_host.c - see fuse_host.h. */
#include "passes/fuse_host.h"

#include "base/processor.h"
#include "passes/channel_picks.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_dense.h"
#include "passes/integers.h"
#include "passes/merge_heads.h"
#include "passes/pick_convolutions.h"

enum assay_status fuse_for_host(struct graph *graph, struct pool *pool,
                                bool is_narrow, struct error *err)
{
    /* Below that no processor has kernels for an Attention or a PickConv2d, and
     * the ops that these stand for are faster one by one. */
    bool has_kernels = !is_narrow && processor_level() >= PROCESSOR_AVX2;
    enum assay_status st = integers_fuse(graph, pool, err);

    if (!st)
        st = fuse_dense(graph, err);
    if (!st && has_kernels)
        st = fuse_attention(graph, err);
    if (!st)
        st = merge_heads(graph, pool, err);
    if (!st)
        st = channel_picks_fuse(graph, pool, err);
    if (!st && has_kernels)
        st = pick_convolutions(graph, pool, err);
    return st;
}

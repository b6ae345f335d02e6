/* backend/cuda/cuda_select.c - launches kernels/select.cu: the best of lists.
 */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/detection/rpn_top_k.h"
#include "ops/math/top_k.h"
#include "ops/ops.h"

/* kernels/select.cu. */
enum { max_lists = 8, digits = 1 << 11, passes = 6, most_chosen = 4096 };

struct score_list {
    struct cuda_view scores;
    int64_t ratios, columns, length;
    int64_t k, first_index, to, to_step;
    int is_smallest;
};

struct score_lists {
    struct score_list of[max_lists];
    int n;
};

/* What the kernel knows before a pass, see there. */
struct known {
    uint64_t bits;
    int left;
};

/* Where the results go; counts may be 0. */
struct chosen {
    struct cuda_view values;
    cu_pointer indices, counts;
};

/* Scratch: counts of digits, what is taken, what is known, ranks. */
struct select_memory {
    cu_pointer counts, n_taken, found, ranks;
    size_t cleared_bytes;
};

static enum assay_status select_count(struct cuda_call *call,
                                      const struct score_lists *given,
                                      const struct select_memory *memory,
                                      struct cuda_grid grid, int64_t room)
{
    struct score_lists lists = *given;
    cu_pointer counts = memory->counts, n_taken = memory->n_taken;
    cu_pointer found = memory->found, ranks = memory->ranks;
    enum assay_status st = ASSAY_OK;

    for (int pass = 0; !st && pass < passes; pass++)
        st = CUDA_LAUNCH(call, "select", "rank_count", grid, lists, pass,
                         counts, found);
    if (!st)
        st = CUDA_LAUNCH(call, "select", "rank_collect", grid, lists, counts,
                         found, n_taken, ranks, room);
    return st;
}

/* The best of each of lists.n lists of n_images images. */
static enum assay_status select_best(struct cuda_call *call,
                                     const struct score_lists *given,
                                     int64_t n_images, struct chosen chosen)
{
    struct cuda_device *device = call->cuda->device;
    struct score_lists lists = *given;
    size_t n = (size_t)n_images * (size_t)lists.n, counts_bytes, ranks_bytes;
    int64_t room = 1, longest = 1;
    struct cuda_grid grid;
    struct buffer *scratch = NULL;
    struct select_memory memory;
    enum assay_status st;

    for (int i = 0; i < lists.n; i++) {
        while (room < lists.of[i].k)
            room *= 2;
        longest = longest > lists.of[i].length ? longest : lists.of[i].length;
    }
    counts_bytes = n * passes * digits * sizeof(uint32_t);
    ranks_bytes = n * (size_t)room * sizeof(uint64_t);
    st = cuda_scratch(call,
                      counts_bytes + n * 16 +
                          n * passes * sizeof(struct known) + ranks_bytes,
                      &scratch);
    if (st)
        return st;
    memory.counts = (cu_pointer)(uintptr_t)buffer_data(scratch);
    memory.n_taken = memory.counts + counts_bytes;
    memory.found = memory.n_taken + n * 16;
    memory.ranks = memory.found + n * passes * sizeof(struct known);
    memory.cleared_bytes = counts_bytes + n * 16;
    st = device->space.clear(&device->space, buffer_data(scratch),
                             memory.cleared_bytes, call->err);
    grid = cuda_grid_for(device, (size_t)longest, 4);
    grid.y = (unsigned)lists.n;
    grid.z = (unsigned)n_images;
    if (!st)
        st = select_count(call, &lists, &memory, grid, room);
    grid = (struct cuda_grid){(unsigned)lists.n, (unsigned)n_images, 1, 512,
                              (unsigned)room * (unsigned)sizeof(uint64_t)};
    if (!st)
        st =
            CUDA_LAUNCH(call, "select", "rank_write", grid, lists, memory.ranks,
                        room, chosen.values, chosen.indices, chosen.counts);
    buffer_release(scratch);
    return st;
}

/* ---- RpnTopK ------------------------------------------------------------- */

bool cuda_can_rpn_top_k(const struct cuda *cuda, const struct node *node,
                        const struct tensor *const *inputs)
{
    const struct rpn_top_k_attrs *attrs = node->attrs;

    (void)cuda;
    return node->n_inputs <= max_lists && attrs->k <= most_chosen &&
           inputs[0]->shape.rank == 4 && inputs[0]->shape.dims[0] < 65536;
}

enum assay_status cuda_run_rpn_top_k(struct cuda_call *call)
{
    const struct rpn_top_k_attrs *attrs = call->node->attrs;
    struct score_lists lists = {.n = (int)call->node->n_inputs};
    int64_t n_chosen = 0, n_scores = 0;
    enum assay_status st = ASSAY_OK;
    struct chosen chosen;

    for (size_t i = 0; !st && i < RPN_TOP_K_OUTPUTS; i++)
        st = cuda_output(call, i, NULL);
    if (st)
        return st;
    for (int i = 0; i < lists.n; i++) {
        const int64_t *dims = call->inputs[i]->shape.dims;
        int64_t length = dims[1] * dims[2] * dims[3];
        struct score_list *list = &lists.of[i];

        *list = (struct score_list){.scores = cuda_view_of(call->inputs[i]),
                                    .ratios = dims[1],
                                    .columns = dims[3],
                                    .length = length,
                                    .k = length < attrs->k ? length : attrs->k,
                                    .first_index = n_scores,
                                    .to = n_chosen};
        n_chosen += list->k;
        n_scores += length;
    }
    for (int i = 0; i < lists.n; i++)
        lists.of[i].to_step = n_chosen;
    chosen = (struct chosen){cuda_view_of(&call->outputs[RPN_TOP_K_LOGITS]),
                             cuda_at(&call->outputs[RPN_TOP_K_ANCHORS]),
                             cuda_at(&call->outputs[RPN_TOP_K_COUNTS])};
    return call->inputs[0]->shape.dims[0]
               ? select_best(call, &lists, call->inputs[0]->shape.dims[0],
                             chosen)
               : ASSAY_OK;
}

/* ---- TopK ---------------------------------------------------------------- */

/* Rows that one block can sort as a whole. */
bool cuda_can_top_k(const struct cuda *cuda, const struct node *node,
                    const struct tensor *const *inputs)
{
    const struct top_k_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    int axis = cuda_axis(attrs->axis, x->rank);

    (void)cuda;
    return inputs[0]->dtype == DTYPE_F32 && x->rank > 0 &&
           axis == x->rank - 1 && x->dims[axis] <= most_chosen &&
           x->dims[axis] > 0 && cuda_span(x, 0, axis) < 65536;
}

enum assay_status cuda_run_top_k(struct cuda_call *call)
{
    const struct top_k_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->inputs[0]->shape;
    int64_t length = shape->dims[shape->rank - 1];
    int64_t n = cuda_span(shape, 0, shape->rank - 1), room = 1;
    int64_t k = call->outputs[0].shape.dims[shape->rank - 1];
    int is_smallest = attrs->is_smallest;
    cu_pointer x = cuda_at(call->inputs[0]), values, indices;
    struct cuda_grid grid = {(unsigned)n, 1, 1, 512, 0};
    enum assay_status st = cuda_output(call, 0, NULL);

    if (!st)
        st = cuda_output(call, 1, NULL);
    if (st || !n || !k)
        return st;
    while (room < length)
        room *= 2;
    grid.shared_bytes = (unsigned)room * (unsigned)sizeof(uint64_t);
    values = cuda_at(&call->outputs[0]);
    indices = cuda_at(&call->outputs[1]);
    return CUDA_LAUNCH(call, "select", "rows_best", grid, x, length, room, k,
                       is_smallest, values, indices);
}

/* backend/cuda/cuda_gate.c - launches kernels/gate.cu: maps and one value per
 * image and channel. */
#include "backend/cuda/cuda_gate.h"

#include <limits.h>
#include <stdio.h>

/* ---- what fits ----------------------------------------------------------- */

bool cuda_is_gate(const struct tensor *map, const struct tensor *gate)
{
    const int64_t *of = map->shape.dims, *by = gate->shape.dims;

    return map->shape.rank == 4 && gate->shape.rank == 4 && of[0] == by[0] &&
           of[1] == by[1] && by[2] == 1 && by[3] == 1 &&
           map->dtype == DTYPE_F32 && gate->dtype == DTYPE_F32 &&
           cuda_order(map) == CUDA_CHANNELS_LAST &&
           cuda_stored(map) == cuda_stored(gate) &&
           of[2] * of[3] < INT_MAX / 2 && of[1] < INT_MAX / 2 &&
           of[0] <= 65535 && of[0] * of[2] * of[3] <= UINT_MAX;
}

/* The channels that a thread has. */
static int gate_channels(const struct tensor *map)
{
    int wide = (int)(16 / dtype_bytes(cuda_stored(map)));

    return map->shape.dims[1] % wide ? 1 : wide;
}

static const char *gate_name(char text[CUDA_NAME], const char *what,
                             const struct tensor *map)
{
    char name[32];

    snprintf(name, sizeof name, "%s_%s", what,
             gate_channels(map) > 1 ? "wide" : "one");
    return cuda_kernel_name(text, name, cuda_stored(map));
}

/* ---- kernels ------------------------------------------------------------- */

enum assay_status cuda_gate(struct cuda_call *call, const struct tensor *map,
                            const struct tensor *by, float factor,
                            const struct tensor *to)
{
    const int64_t *dims = to->shape.dims;
    unsigned places = (unsigned)(dims[2] * dims[3]), c = (unsigned)dims[1];
    int64_t n = (int64_t)tensor_elements(to);
    size_t each = 2 * (size_t)gate_channels(to);
    cu_pointer x = map ? cuda_at(map) : 0, gate = cuda_at(by), y = cuda_at(to);
    char name[CUDA_NAME];

    return CUDA_LAUNCH(call, "gate", gate_name(name, "gate", to),
                       cuda_grid_for(call->cuda->device, (size_t)n, each), x,
                       gate, y, places, c, n, factor);
}

enum assay_status cuda_image_sums(struct cuda_call *call,
                                  const struct tensor *map,
                                  const struct tensor *times, float factor,
                                  const struct tensor *to)
{
    enum { most_threads = 512, most_lanes = 16 };
    const int64_t *dims = map->shape.dims;
    int places = (int)(dims[2] * dims[3]), c = (int)dims[1];
    int channels = gate_channels(map), packs = c / channels;
    int lanes = packs < most_lanes ? packs : most_lanes;
    int rows = most_threads / lanes;
    cu_pointer x = cuda_at(map), by = times ? cuda_at(times) : 0;
    cu_pointer y = cuda_at(to);
    struct cuda_grid grid = {.x = (unsigned)((packs + lanes - 1) / lanes),
                             .y = (unsigned)dims[0],
                             .z = 1};
    char name[CUDA_NAME];

    rows = rows < places ? rows : places;
    grid.threads = (unsigned)(lanes * rows);
    grid.shared_bytes = grid.threads * (unsigned)channels * sizeof(float);
    return CUDA_LAUNCH(call, "gate", gate_name(name, "image_sums", map), grid,
                       x, by, y, places, c, lanes, factor);
}

/* to = the sums of a * b where `to` would be repeated; a has the whole shape.
 * Any layouts. */
static enum assay_status cuda_product_sums(struct cuda_call *call,
                                           const struct tensor *a,
                                           const struct tensor *b,
                                           const struct tensor *to)
{
    const struct shape *all = &a->shape;
    int rank = all->rank, more = rank - to->shape.rank;
    struct cuda_view outer_a = cuda_view_of(a), inner_a = outer_a;
    struct cuda_view outer_b = cuda_view_repeated(b, all), inner_b = outer_b;
    struct cuda_view y = cuda_view_repeated(to, all);
    struct cuda_walk outer, inner;
    int64_t kept[CUDA_WALK_RANK], summed[CUDA_WALK_RANK];
    size_t n;

    for (int i = 0; i < rank; i++) {
        kept[i] = i < more ? 1 : to->shape.dims[i - more];
        summed[i] = kept[i] == all->dims[i] ? 1 : all->dims[i];
    }
    outer = cuda_walk_dims(rank, kept,
                           (struct cuda_view *[]){&outer_a, &outer_b, &y}, 3);
    inner = cuda_walk_dims(rank, summed,
                           (struct cuda_view *[]){&inner_b, &inner_a}, 2);
    n = (size_t)outer.n;
    return CUDA_LAUNCH(call, "gate", "product_sums",
                       cuda_grid_for(call->cuda->device, n * 256, 1), outer,
                       outer_a, outer_b, y, inner, inner_a, inner_b);
}

/* ---- gradients of products ----------------------------------------------- */

/* Parameters have gradients of float32. */
static const struct layout *factor_layout(const struct cuda_call *call,
                                          size_t i, int rank)
{
    const struct value *of =
        graph_value(call->cuda->graph, call->node->inputs[i]);

    return of->kind == VALUE_PARAMETER ? NULL
                                       : cuda_own_layout(call->cuda, rank);
}

/* The gradient of a factor: dy times the other one, summed where the factor was
 * repeated. */
static enum assay_status back_factor(struct cuda_call *call,
                                     const struct tensor *dy,
                                     const struct tensor *other,
                                     struct tensor *dx)
{
    bool is_map =
        other->layout == dy->layout && shape_equal(&other->shape, &dy->shape);

    if (shape_equal(&dx->shape, &dy->shape))
        return cuda_multiply(call, dy, other, dx);
    if (is_map && cuda_is_gate(dy, dx))
        return cuda_image_sums(call, dy, other, 1, dx);
    return cuda_product_sums(call, dy, other, dx);
}

enum assay_status cuda_back_mul(struct cuda_call *call,
                                const struct op_backward *pass)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < 2; i++) {
        const struct shape *shape = &pass->inputs[i]->shape;

        if (!op_wants(pass, i))
            continue;
        st = cuda_tensor_new(call, shape, factor_layout(call, i, shape->rank),
                             &pass->dx[i]);
        if (!st && tensor_elements(&pass->dx[i]))
            st = back_factor(call, pass->dy[0], pass->inputs[1 - i],
                             &pass->dx[i]);
    }
    return st;
}

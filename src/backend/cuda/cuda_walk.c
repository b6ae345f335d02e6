/* backend/cuda/cuda_walk.c - see cuda_walk.h. */
#include "backend/cuda/cuda_walk.h"

#include <stdio.h>
#include <string.h>

/* With a share of a block, 16 elements for each of 256 threads, below 2^16. */
enum { longest_row = 1 << 15 };

/* ---- views --------------------------------------------------------------- */

struct cuda_view cuda_view_of(const struct tensor *x)
{
    enum dtype stored = cuda_stored(x);
    /* Types that kernels do not know are bytes that they move. */
    struct cuda_view view = {
        .data = cuda_at(x),
        .type = (int)(stored > DTYPE_BOOL ? DTYPE_U8 : stored)};
    const int64_t *dims = x->shape.dims;
    int64_t step = 1;

    if (cuda_order(x) != CUDA_ROWS) {
        int64_t c = cuda_is_padded(x) ? cuda_padded(dims[1], stored) : dims[1];

        view.strides[0] = c * dims[2] * dims[3];
        view.strides[1] = 1;
        view.strides[2] = c * dims[3];
        view.strides[3] = c;
        return view;
    }
    for (int i = x->shape.rank - 1; i >= 0; i--) {
        view.strides[i] = step;
        step *= dims[i];
    }
    return view;
}

struct cuda_view cuda_view_repeated(const struct tensor *x,
                                    const struct shape *to)
{
    struct cuda_view own = cuda_view_of(x), view = own;
    int more = to->rank - x->shape.rank;

    for (int i = 0; i < to->rank; i++) {
        bool is_repeated = i < more || x->shape.dims[i - more] == 1;

        view.strides[i] = is_repeated ? 0 : own.strides[i - more];
    }
    return view;
}

/* ---- walks --------------------------------------------------------------- */

static void swap_dims(struct cuda_walk *walk, struct cuda_view *const *views,
                      int n_views, int a, int b)
{
    int64_t size = walk->dims[a];

    walk->dims[a] = walk->dims[b];
    walk->dims[b] = size;
    for (int k = 0; k < n_views; k++) {
        int64_t stride = views[k]->strides[a];

        views[k]->strides[a] = views[k]->strides[b];
        views[k]->strides[b] = stride;
    }
}

/* The largest strides of the last view first. */
static void sort_dims(struct cuda_walk *walk, struct cuda_view *const *views,
                      int n_views)
{
    const int64_t *by = views[n_views - 1]->strides;

    for (int i = 1; i < walk->rank; i++) {
        for (int k = i; k > 0 && by[k - 1] < by[k]; k--)
            swap_dims(walk, views, n_views, k - 1, k);
    }
}

static bool is_one_row(const struct cuda_walk *walk,
                       struct cuda_view *const *views, int n_views, int outer,
                       int inner)
{
    for (int k = 0; k < n_views; k++) {
        const int64_t *strides = views[k]->strides;

        if (strides[outer] != strides[inner] * walk->dims[inner])
            return false;
    }
    return true;
}

static void put_dim(struct cuda_walk *walk, struct cuda_view *const *views,
                    int n_views, int from, int to)
{
    walk->dims[to] = walk->dims[from];
    for (int k = 0; k < n_views; k++)
        views[k]->strides[to] = views[k]->strides[from];
}

struct cuda_walk cuda_walk_dims(int rank, const int64_t *dims,
                                struct cuda_view *const *views, int n_views)
{
    struct cuda_walk walk = {.n = 1};
    int made = 0;

    for (int i = 0; i < rank; i++) {
        walk.n *= dims[i];
        if (dims[i] == 1)
            continue;
        walk.dims[walk.rank] = dims[i];
        for (int k = 0; k < n_views; k++)
            views[k]->strides[walk.rank] = views[k]->strides[i];
        walk.rank++;
    }
    sort_dims(&walk, views, n_views);
    for (int i = 1; i < walk.rank; i++) {
        if (is_one_row(&walk, views, n_views, made, i)) {
            int64_t size = walk.dims[made] * walk.dims[i];

            put_dim(&walk, views, n_views, i, made);
            walk.dims[made] = size;
        } else {
            put_dim(&walk, views, n_views, i, ++made);
        }
    }
    walk.rank = walk.rank ? made + 1 : 0;
    return walk;
}

struct cuda_walk cuda_walk_over(const struct shape *shape,
                                struct cuda_view *const *views, int n_views)
{
    return cuda_walk_dims(shape->rank, shape->dims, views, n_views);
}

/* ---- types --------------------------------------------------------------- */

const char *cuda_computed_in(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32:
    case DTYPE_F16:
    case DTYPE_BF16:
        return "float";
    case DTYPE_F64:
        return "double";
    case DTYPE_BOOL:
        return "bool";
    case DTYPE_U8:
    case DTYPE_U16:
    case DTYPE_U32:
    case DTYPE_U64:
        return "uint64";
    default:
        return "int64";
    }
}

/* ---- copies -------------------------------------------------------------- */

bool cuda_are_short_rows(const struct cuda_rows *rows, size_t bytes)
{
    return rows->wide > 1 && rows->wide <= longest_row &&
           (bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
}

enum assay_status cuda_copy_rows(struct cuda_call *call,
                                 const struct cuda_rows *rows, size_t bytes,
                                 cu_pointer x, cu_pointer y)
{
    struct {
        int64_t n;
        uint32_t c, wide, reciprocal;
        int64_t in_x, in_y;
    } given = {.n = rows->rows * rows->wide,
               .c = (uint32_t)rows->c,
               .wide = (uint32_t)rows->wide,
               .in_x = rows->in_x,
               .in_y = rows->in_y};
    char name[CUDA_NAME];

    if (!given.n)
        return ASSAY_OK;
    given.reciprocal = (uint32_t)((0x100000000 + given.wide - 1) / given.wide);
    snprintf(name, sizeof name, "copy_rows_%zu", bytes);
    return CUDA_LAUNCH(call, "move", name,
                       cuda_grid_for(call->cuda->device, (size_t)given.n, 16),
                       given, x, y);
}

/* How many neighbouring elements can be moved as one: all strides but the last
 * ones, the length of rows and the addresses are multiples of it. */
static int together(const struct cuda_walk *walk, const struct cuda_view *from,
                    const struct cuda_view *to, int bytes)
{
    int last = walk->rank - 1, n = 16 / bytes;

    if (last < 0 || from->strides[last] != 1 || to->strides[last] != 1)
        return 1;
    for (; n > 1; n /= 2) {
        bool fits = walk->dims[last] % n == 0 &&
                    from->data % (unsigned)(n * bytes) == 0 &&
                    to->data % (unsigned)(n * bytes) == 0;

        for (int i = 0; i < last; i++)
            fits = fits && from->strides[i] % n == 0 && to->strides[i] % n == 0;
        if (fits)
            return n;
    }
    return 1;
}

enum assay_status cuda_copy_view(struct cuda_call *call, int rank,
                                 const int64_t *dims, struct cuda_view from,
                                 struct cuda_view to)
{
    struct cuda_device *device = call->cuda->device;
    struct cuda_walk walk =
        cuda_walk_dims(rank, dims, (struct cuda_view *[]){&from, &to}, 2);
    int bytes = (int)dtype_bytes((enum dtype)to.type), n;

    if (!walk.n)
        return ASSAY_OK;
    if (from.type != to.type)
        return CUDA_LAUNCH(call, "move", "copy_converted",
                           cuda_grid_for(device, (size_t)walk.n, 2), walk, from,
                           to);
    n = together(&walk, &from, &to, bytes);
    if (n > 1) {
        walk.n /= n;
        walk.dims[walk.rank - 1] /= n;
        for (int i = 0; i < walk.rank - 1; i++) {
            from.strides[i] /= n;
            to.strides[i] /= n;
        }
        bytes *= n;
    }
    if (walk.rank == 2 && from.strides[1] == 1 && to.strides[1] == 1) {
        struct cuda_rows rows = {walk.dims[0], walk.dims[1], walk.dims[1],
                                 from.strides[0], to.strides[0]};

        if (cuda_are_short_rows(&rows, (size_t)bytes))
            return cuda_copy_rows(call, &rows, (size_t)bytes, from.data,
                                  to.data);
    }
    return CUDA_LAUNCH(call, "move", "copy",
                       cuda_grid_for(device, (size_t)walk.n, 2), walk, from, to,
                       bytes);
}

enum assay_status cuda_put_numbers(struct cuda_call *call,
                                   const int64_t *numbers, size_t n,
                                   const struct tensor *to)
{
    struct {
        int64_t of[32];
    } some;
    enum { most = sizeof some.of / sizeof *some.of };
    enum assay_status st = ASSAY_OK;

    for (size_t done = 0; !st && done < n; done += most) {
        int count = (int)(n - done < most ? n - done : most);
        cu_pointer y = cuda_at(to) + done * sizeof *numbers;
        struct cuda_grid grid = {1, 1, 1, 32, 0};

        memcpy(some.of, numbers + done, (size_t)count * sizeof *numbers);
        st = CUDA_LAUNCH(call, "move", "put_numbers", grid, some, count, y);
    }
    return st;
}

enum assay_status cuda_read_back(struct cuda_call *call, cu_pointer from,
                                 void *to, size_t bytes)
{
    struct space *space = &call->cuda->device->space;

    if (call->node)
        call->cuda->launched[call->at].read_back_bytes += bytes;
    return space->copy_out(space, to, (const void *)(uintptr_t)from, bytes,
                           call->err);
}

/* ---- settings ------------------------------------------------------------ */

int64_t cuda_host_number(const struct tensor *x, size_t i)
{
    const void *data = tensor_data(x);

    switch (x->dtype) {
    case DTYPE_I32:
        return ((const int32_t *)data)[i];
    case DTYPE_I64:
    case DTYPE_U64:
        return ((const int64_t *)data)[i];
    case DTYPE_U32:
        return ((const uint32_t *)data)[i];
    case DTYPE_I16:
        return ((const int16_t *)data)[i];
    case DTYPE_U16:
        return ((const uint16_t *)data)[i];
    case DTYPE_I8:
        return ((const int8_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

int cuda_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

int64_t cuda_span(const struct shape *shape, int first, int last)
{
    int64_t n = 1;

    for (int i = first; i < last; i++)
        n *= shape->dims[i];
    return n;
}

/* backend/cuda/cuda_norm_training.c - launches kernels/channels.cu: norms with
 * statistics of the batch, and the gradients of both kinds. */
#include "backend/cuda/cuda_backward.h"

#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/cuda_plan.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>

/* ---- how the work is divided --------------------------------------------- */

enum { lanes = 32, lines = 8, finish_threads = 1024 };

/* As kernels/channels.cu has it. */
struct rows_of {
    int64_t rows;
    int c, real;
};

struct division {
    struct rows_of map;
    struct cuda_grid grid, finish;
    int width, n_blocks; /* channels of a thread; blocks along the rows */
    enum dtype stored;
};

/* Sixteen bytes for each thread, where that leaves work for all lanes. */
static int channels_together(enum dtype stored, int64_t c)
{
    if (stored != DTYPE_F32 && c % 8 == 0 && c > 128)
        return 8;
    return c % 4 == 0 && c > 64 ? 4 : c % 2 == 0 ? 2 : 1;
}

/* As many blocks as run at once: none comes late, and goes along the map after
 * the others. */
static struct division divide_rows(const struct cuda_call *call,
                                   enum dtype stored, struct rows_of map)
{
    enum { blocks_at_once = 4 }; /* on a multiprocessor */
    struct division by = {.map = map, .stored = stored};
    const struct cuda_device *device = call->cuda->device;
    int64_t most = blocks_at_once * (int64_t)device->n_multiprocessors;
    int64_t across, down, c = map.c;

    by.width = channels_together(stored, c);
    across = (c + (int64_t)lanes * by.width - 1) / ((int64_t)lanes * by.width);
    down = (map.rows + lines - 1) / lines;
    if (down > (most + across - 1) / across)
        down = (most + across - 1) / across;
    by.n_blocks = (int)down;
    by.grid = (struct cuda_grid){(unsigned)across, (unsigned)by.n_blocks, 1,
                                 lanes * lines, 0};
    by.finish = (struct cuda_grid){(unsigned)((c + lanes - 1) / lanes), 1, 1,
                                   finish_threads, 0};
    return by;
}

static const char *wide_name(char text[CUDA_NAME], const char *name,
                             const struct division *by)
{
    char wide[CUDA_NAME];

    snprintf(wide, sizeof wide, "%.40s_%d", name, by->width);
    return cuda_kernel_name(text, wide, by->stored);
}

/* Two sums for each block and channel. */
static enum assay_status take_sums(struct cuda_call *call,
                                   const struct division *by,
                                   struct buffer **out, cu_pointer *at)
{
    size_t n = 2 * (size_t)by->n_blocks * (size_t)by->map.c;
    enum assay_status st = cuda_scratch(call, n * sizeof(float), out);

    *at = st ? 0 : (cu_pointer)(uintptr_t)buffer_data(*out);
    return st;
}

enum assay_status cuda_channel_sums(struct cuda_call *call, cu_pointer x,
                                    enum dtype stored, int64_t rows, int64_t c,
                                    int64_t real, struct tensor *out)
{
    struct rows_of map = {rows, (int)c, (int)real};
    struct division by = divide_rows(call, stored, map);
    struct shape shape = shape_of(1, real);
    struct buffer *scratch = NULL;
    cu_pointer sums, y;
    char name[CUDA_NAME];
    enum assay_status st = cuda_tensor_new(call, &shape, NULL, out);

    y = cuda_at(out);
    if (!st)
        st = take_sums(call, &by, &scratch, &sums);
    if (!st)
        st = CUDA_LAUNCH(call, "channels", wide_name(name, "plain_sums", &by),
                         by.grid, by.map, x, sums);
    if (!st)
        st = CUDA_LAUNCH(call, "channels", "plain_finish", by.finish, sums,
                         by.n_blocks, by.map.c, by.map.real, y);
    buffer_release(scratch);
    return st;
}

/* ---- maps ---------------------------------------------------------------- */

/* Any rank as [n,c,places,1]. */
static struct shape map_shape(const struct shape *x)
{
    size_t n = 0;
    int64_t heads = x->dims[0] * x->dims[1];

    (void)shape_elements(x, &n);
    return shape_of(4, x->dims[0], x->dims[1], heads ? (int64_t)n / heads : 0,
                    (int64_t)1);
}

/* How all maps of a norm are stored: as its output is to be. */
static const struct layout *norm_layout(const struct cuda_call *call,
                                        const struct shape *shape)
{
    const struct layout *own = cuda_own_layout(call->cuda, 4);
    struct tensor y = {.dtype = DTYPE_F32, .shape = *shape, .layout = own};

    return call->node->op == &op_batch_norm_training && cuda_pads_map(call, &y)
               ? cuda_layout(CUDA_CHANNELS_PADDED, own->stored)
               : own;
}

/* As [n,h,w,c]; to be released. */
static enum assay_status as_map(struct cuda_call *call, const struct tensor *x,
                                struct tensor *out)
{
    struct shape shape = map_shape(&x->shape);
    const struct layout *layout = norm_layout(call, &x->shape);
    struct tensor dense, flat;
    enum assay_status st;

    if (x->shape.rank == 4)
        return cuda_in_layout(call, x, layout, out);
    st = cuda_in_layout(call, x, NULL, &dense);
    if (st)
        return st;
    flat = tensor_reshape(&dense, &shape);
    tensor_release(&dense);
    st = cuda_in_layout(call, &flat, layout, out);
    tensor_release(&flat);
    return st;
}

/* Memory for one; back_to_shape() follows once it is written. */
static enum assay_status new_map(struct cuda_call *call, const struct shape *of,
                                 struct tensor *out)
{
    struct shape shape = of->rank == 4 ? *of : map_shape(of);

    return cuda_tensor_new(call, &shape, norm_layout(call, of), out);
}

/* Takes the map over, also on failure. */
static enum assay_status back_to_shape(struct cuda_call *call,
                                       struct tensor map,
                                       const struct shape *shape,
                                       struct tensor *out)
{
    struct tensor rows;
    enum assay_status st;

    if (shape->rank == 4) {
        *out = map;
        return ASSAY_OK;
    }
    st = cuda_in_layout(call, &map, NULL, &rows);
    tensor_release(&map);
    if (st)
        return st;
    *out = tensor_reshape(&rows, shape);
    tensor_release(&rows);
    return ASSAY_OK;
}

static int64_t rows_in(const struct shape *x)
{
    struct shape shape = map_shape(x);

    return shape.dims[0] * shape.dims[2];
}

static struct division norm_divide(const struct cuda_call *call,
                                   const struct tensor *map)
{
    struct tensor all = cuda_as_stored(map);
    struct rows_of rows = {rows_in(&map->shape), (int)all.shape.dims[1],
                           (int)map->shape.dims[1]};

    return divide_rows(call, cuda_stored(map), rows);
}

/* ---- forward ------------------------------------------------------------- */

static enum assay_status norm_find_moments(struct cuda_call *call,
                                           const struct tensor *map,
                                           const struct tensor *saved)
{
    const struct normalize_attrs *attrs = call->node->attrs;
    struct division by = norm_divide(call, map);
    struct buffer *scratch = NULL;
    cu_pointer x = cuda_at(map), to = cuda_at(saved), sums;
    double n = (double)by.map.rows;
    float eps = attrs->eps;
    char name[CUDA_NAME];
    enum assay_status st = take_sums(call, &by, &scratch, &sums);

    if (!st)
        st = CUDA_LAUNCH(call, "channels", wide_name(name, "moments", &by),
                         by.grid, by.map, x, sums);
    if (!st)
        st = CUDA_LAUNCH(call, "channels",
                         cuda_kernel_name(name, "moments_finish", by.stored),
                         by.finish, sums, by.n_blocks, by.map.c, by.map.real, n,
                         x, eps, to);
    buffer_release(scratch);
    return st;
}

/* [3,c]: from the batch, or from when the node ran before. */
static enum assay_status get_moments(struct cuda_call *call,
                                     const struct tensor *map,
                                     struct tensor *saved)
{
    const struct op_context *context = call->context;
    struct shape shape = shape_of(2, (int64_t)3, map->shape.dims[1]);
    enum assay_status st;

    if (context->saved && context->is_again) {
        *saved = tensor_share(context->saved);
        return ASSAY_OK;
    }
    st = cuda_tensor_new(call, &shape, NULL, saved);
    if (!st)
        st = norm_find_moments(call, map, saved);
    if (!st && context->saved)
        *context->saved = tensor_share(saved);
    return st;
}

static enum assay_status run_on(struct cuda_call *call,
                                const struct tensor *kept)
{
    const struct normalize_attrs *attrs = call->node->attrs;
    double n = (double)rows_in(&call->outputs[0].shape);
    int c = (int)kept->shape.dims[1];
    cu_pointer saved = cuda_at(kept), made[3] = {0};
    cu_pointer old_mean = cuda_at(call->inputs[BATCH_NORM_MEAN]);
    cu_pointer old_variance = cuda_at(call->inputs[BATCH_NORM_VARIANCE]);
    float keep = attrs->momentum;
    float unbiased = attrs->is_unbiased && n > 1 ? (float)(n / (n - 1)) : 1;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 1; !st && i < call->node->n_outputs; i++) {
        st = cuda_output(call, i, NULL);
        made[i] = cuda_at(&call->outputs[i]);
    }
    if (st || call->node->n_outputs == 1)
        return st;
    return CUDA_LAUNCH(call, "channels", "run_on",
                       cuda_grid_for(call->cuda->device, (size_t)c, 1), saved,
                       c, keep, unbiased, old_mean, old_variance, made[1],
                       made[2]);
}

static float relu_limit(const struct normalize_attrs *attrs)
{
    return attrs->relu_limit > 0 ? attrs->relu_limit : INFINITY;
}

static enum assay_status write_norm(struct cuda_call *call,
                                    const struct tensor *map,
                                    const struct tensor *plus,
                                    const struct tensor *kept,
                                    const struct tensor *to)
{
    const struct normalize_attrs *attrs = call->node->attrs;
    struct division by = norm_divide(call, map);
    cu_pointer x = cuda_at(map), residual = cuda_at(plus), y = cuda_at(to);
    cu_pointer saved = cuda_at(kept);
    cu_pointer weight = cuda_at(call->inputs[BATCH_NORM_WEIGHT]);
    cu_pointer bias = cuda_at(call->inputs[BATCH_NORM_BIAS]);
    int has_relu = attrs->has_relu;
    float limit = relu_limit(attrs);
    char name[CUDA_NAME];

    return CUDA_LAUNCH(call, "channels", wide_name(name, "norm", &by), by.grid,
                       by.map, x, residual, y, saved, weight, bias, has_relu,
                       limit);
}

/* An empty batch has no statistics. */
bool cuda_can_batch_norm_training(const struct cuda *cuda,
                                  const struct node *node,
                                  const struct tensor *const *inputs)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype != DTYPE_F32)
            return false;
    }
    (void)cuda;
    return tensor_elements(inputs[BATCH_NORM_X]) > 0;
}

enum assay_status cuda_run_batch_norm_training(struct cuda_call *call)
{
    struct shape shape = call->outputs[0].shape;
    struct tensor x = {0}, residual = {0}, saved = {0}, y = {0};
    enum assay_status st = as_map(call, call->inputs[BATCH_NORM_X], &x);

    if (!st)
        st = get_moments(call, &x, &saved);
    if (!st)
        st = run_on(call, &saved);
    if (!st && norm_has_residual(call->node))
        st = as_map(call, call->inputs[BATCH_NORM_RESIDUAL], &residual);
    if (!st)
        st = new_map(call, &shape, &y);
    if (!st)
        st = write_norm(call, &x, &residual, &saved, &y);
    if (!st)
        st = back_to_shape(call, y, &shape, &call->outputs[0]);
    else
        tensor_release(&y);
    tensor_release(&residual);
    tensor_release(&saved);
    tensor_release(&x);
    return st;
}

/* ---- backward ------------------------------------------------------------ */

enum gate_by { GATE_NONE, GATE_BY_Y, GATE_BY_X };

struct gate {
    int by;
    float limit;
};

/* One backward step of either norm. */
struct norm_step {
    struct cuda_call *call;
    const struct op_backward *pass;
    struct tensor x, y, dy; /* maps; without data where they are not read */
    struct tensor saved, means;
    struct gate gate;
    bool is_given;       /* the statistics */
    bool wants_residual; /* its gradient is what passes the ReLU */
};

static void norm_step_release(struct norm_step *step)
{
    tensor_release(&step->x);
    tensor_release(&step->y);
    tensor_release(&step->dy);
    tensor_release(&step->saved);
    tensor_release(&step->means);
}

static enum assay_status step_bring(struct norm_step *step)
{
    struct cuda_call *call = step->call;
    const struct op_backward *pass = step->pass;
    const struct tensor *x = pass->inputs[BATCH_NORM_X];
    enum assay_status st = as_map(call, pass->dy[0], &step->dy);

    if (!st && x->buffer)
        st = as_map(call, x, &step->x);
    if (!st && step->gate.by == GATE_BY_Y)
        st = as_map(call, &pass->outputs[0], &step->y);
    return st;
}

/* Where what passes the ReLU goes: over dy, or into memory of its own. */
static enum assay_status step_place_gated(struct norm_step *step,
                                          struct tensor *gated)
{
    if (!step->wants_residual || step->gate.by == GATE_NONE)
        return ASSAY_OK;
    if (!cuda_is_ours(&step->dy, step->pass->dy[0]))
        return cuda_tensor_new(step->call, &step->dy.shape, step->dy.layout,
                               gated);
    *gated = tensor_share(&step->dy);
    return ASSAY_OK;
}

/* Gradients of weight and bias. */
static enum assay_status step_make_lists(struct norm_step *step,
                                         cu_pointer of[2])
{
    const struct op_backward *pass = step->pass;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < 2; i++) {
        size_t input = BATCH_NORM_WEIGHT + i;

        if (op_wants(pass, input))
            st = cuda_tensor_new(step->call, &pass->inputs[input]->shape, NULL,
                                 &pass->dx[input]);
        of[i] = cuda_at(&pass->dx[input]);
    }
    return st;
}

/* Gradients of weight and bias, the means for that of x, and what passes the
 * ReLU in place of dy where it is asked for: then nobody has to look at the
 * output again. */
static enum assay_status step_sums(struct norm_step *step)
{
    struct cuda_call *call = step->call;
    const struct op_backward *pass = step->pass;
    struct division by = norm_divide(call, &step->dy);
    struct shape shape = shape_of(2, (int64_t)2, step->dy.shape.dims[1]);
    cu_pointer x = cuda_at(&step->x), y = cuda_at(&step->y);
    cu_pointer dy = cuda_at(&step->dy), saved = cuda_at(&step->saved);
    cu_pointer weight = cuda_at(pass->inputs[BATCH_NORM_WEIGHT]);
    cu_pointer bias = cuda_at(pass->inputs[BATCH_NORM_BIAS]);
    cu_pointer sums, means, passed, of[2] = {0};
    double n = (double)by.map.rows;
    struct tensor gated = {0};
    struct buffer *scratch = NULL;
    char name[CUDA_NAME];
    enum assay_status st = take_sums(call, &by, &scratch, &sums);

    if (!st)
        st = step_make_lists(step, of);
    if (!st)
        st = cuda_tensor_new(call, &shape, NULL, &step->means);
    if (!st)
        st = step_place_gated(step, &gated);
    means = cuda_at(&step->means);
    passed = cuda_at(&gated);
    if (!st)
        st = CUDA_LAUNCH(call, "channels", wide_name(name, "slopes", &by),
                         by.grid, by.map, step->gate, x, y, dy, saved, weight,
                         bias, sums, passed);
    if (!st)
        st = CUDA_LAUNCH(call, "channels", "slopes_finish", by.finish, sums,
                         by.n_blocks, by.map.c, by.map.real, n, saved, of[0],
                         of[1], means);
    buffer_release(scratch);
    if (!st && gated.buffer) {
        tensor_release(&step->dy);
        step->dy = gated;
        step->gate.by = GATE_NONE;
        return ASSAY_OK;
    }
    tensor_release(&gated);
    return st;
}

static enum assay_status step_spread(struct norm_step *step,
                                     const struct tensor *of_x)
{
    struct cuda_call *call = step->call;
    const struct op_backward *pass = step->pass;
    struct division by = norm_divide(call, &step->dy);
    cu_pointer x = cuda_at(&step->x), y = cuda_at(&step->y);
    cu_pointer dy = cuda_at(&step->dy), saved = cuda_at(&step->saved);
    cu_pointer weight = cuda_at(pass->inputs[BATCH_NORM_WEIGHT]);
    cu_pointer bias = cuda_at(pass->inputs[BATCH_NORM_BIAS]);
    cu_pointer means = step->is_given ? 0 : cuda_at(&step->means);
    cu_pointer dx = cuda_at(of_x);
    char name[CUDA_NAME];

    return CUDA_LAUNCH(call, "channels", wide_name(name, "norm_back", &by),
                       by.grid, by.map, step->gate, x, y, dy, saved, weight,
                       bias, means, dx);
}

static enum assay_status step_input(struct norm_step *step)
{
    struct cuda_call *call = step->call;
    const struct op_backward *pass = step->pass;
    const struct shape *shape = &pass->inputs[BATCH_NORM_X]->shape;
    struct tensor x = {0};
    enum assay_status st = ASSAY_OK;

    if (!op_wants(pass, BATCH_NORM_X))
        return ASSAY_OK;
    if (!step->wants_residual && cuda_is_ours(&step->dy, pass->dy[0]))
        x = tensor_share(&step->dy);
    else
        st = new_map(call, shape, &x);
    if (!st)
        st = step_spread(step, &x);
    if (!st)
        return back_to_shape(call, x, shape, &pass->dx[BATCH_NORM_X]);
    tensor_release(&x);
    return st;
}

static enum assay_status step_residual(struct norm_step *step)
{
    const struct op_backward *pass = step->pass;

    if (!step->wants_residual)
        return ASSAY_OK;
    return back_to_shape(step->call, tensor_share(&step->dy),
                         &pass->inputs[BATCH_NORM_X]->shape,
                         &pass->dx[BATCH_NORM_RESIDUAL]);
}

enum assay_status cuda_back_batch_norm_training(struct cuda_call *call,
                                                const struct op_backward *pass)
{
    const struct normalize_attrs *attrs = call->node->attrs;
    struct norm_step step = {.call = call, .pass = pass};
    enum assay_status st;

    step.gate.limit = relu_limit(attrs);
    if (attrs->has_relu)
        step.gate.by = norm_has_residual(call->node) ? GATE_BY_Y : GATE_BY_X;
    step.saved = tensor_share(pass->saved);
    step.wants_residual = op_wants(pass, BATCH_NORM_RESIDUAL);
    st = step_bring(&step);
    if (!st)
        st = step_sums(&step);
    if (!st)
        st = step_input(&step);
    if (!st)
        st = step_residual(&step);
    norm_step_release(&step);
    return st;
}

static enum assay_status save_given(struct norm_step *step)
{
    struct cuda_call *call = step->call;
    const struct tensor *const *inputs = step->pass->inputs;
    int c = (int)inputs[BATCH_NORM_X]->shape.dims[1];
    struct shape shape = shape_of(2, (int64_t)3, (int64_t)c);
    cu_pointer mean = cuda_at(inputs[BATCH_NORM_MEAN]);
    cu_pointer variance = cuda_at(inputs[BATCH_NORM_VARIANCE]), saved;
    float eps = batch_norm_attrs(call->node)->eps;
    enum assay_status st = cuda_tensor_new(call, &shape, NULL, &step->saved);

    saved = cuda_at(&step->saved);
    if (st)
        return st;
    return CUDA_LAUNCH(call, "channels", "save_given",
                       cuda_grid_for(call->cuda->device, (size_t)c, 1), mean,
                       variance, eps, c, saved);
}

/* Mean and variance are given, and have no gradient here. */
enum assay_status cuda_back_batch_norm(struct cuda_call *call,
                                       const struct op_backward *pass)
{
    struct norm_step step = {.call = call, .pass = pass, .is_given = true};
    bool wants_lists =
        op_wants(pass, BATCH_NORM_WEIGHT) || op_wants(pass, BATCH_NORM_BIAS);
    enum assay_status st = save_given(&step);

    if (!st)
        st = step_bring(&step);
    if (!st && wants_lists)
        st = step_sums(&step);
    if (!st)
        st = step_input(&step);
    norm_step_release(&step);
    return st;
}

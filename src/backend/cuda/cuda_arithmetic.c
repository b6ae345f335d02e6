/* backend/cuda/cuda_arithmetic.c - see backend/host_math.h: the engine's own
 * arithmetic, on a GPU. */
#include "backend/cuda/cuda_internal.h"

/* Who calls has no node: only what launching needs is set. */
static struct cuda_call call_of(struct backend *backend,
                                const struct op_context *context,
                                struct error *err)
{
    return (struct cuda_call){
        .cuda = (struct cuda *)backend, .context = context, .err = err};
}

static struct cuda_grid grid_of(const struct cuda_call *call, int64_t n)
{
    return cuda_grid_for(call->cuda->device, (size_t)n, 4);
}

static enum assay_status cuda_fill(struct backend *backend,
                                   const struct op_context *context,
                                   const struct tensor *tensor, float value,
                                   struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    cu_pointer x = cuda_at(tensor);
    int64_t n = (int64_t)tensor_elements(tensor);

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(&call, "arithmetic", "fill", grid_of(&call, n), x, value,
                       n);
}

static enum assay_status cuda_convert(struct backend *backend,
                                      const struct op_context *context,
                                      const struct tensor *from,
                                      const struct tensor *to,
                                      struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    cu_pointer x = cuda_at(from), y = cuda_at(to);
    int from_type = (int)from->dtype, to_type = (int)to->dtype;
    int64_t n = (int64_t)tensor_elements(from);

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(&call, "arithmetic", "convert", grid_of(&call, n), x,
                       from_type, y, to_type, n);
}

static enum assay_status cuda_add(struct backend *backend,
                                  const struct op_context *context,
                                  const struct tensor *sum,
                                  const struct tensor *term, struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    cu_pointer y = cuda_at(sum), x = cuda_at(term);
    int64_t n = (int64_t)tensor_elements(sum);

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(&call, "arithmetic", "add_to", grid_of(&call, n), y, x,
                       n);
}

static enum assay_status cuda_spread(struct backend *backend,
                                     const struct op_context *context,
                                     const struct tensor *from,
                                     const struct tensor *to, struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    cu_pointer pixels = cuda_at(from), planes = cuda_at(to);
    int64_t n = (int64_t)tensor_elements(from) / 3;

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(&call, "photo", "spread_pixels", grid_of(&call, n),
                       pixels, planes, n);
}

/* ---- optimizers ---------------------------------------------------------- */

static enum assay_status cuda_sgd(struct backend *backend,
                                  const struct op_context *context,
                                  const struct sgd_factors *factors,
                                  const struct optimizer_tensors *tensors,
                                  struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    cu_pointer parameter = cuda_at(tensors->parameter);
    cu_pointer gradient = cuda_at(tensors->gradient);
    cu_pointer velocity = cuda_at(tensors->states[0]);
    float rate = factors->learning_rate, momentum = factors->momentum;
    float decay = factors->weight_decay;
    float unscale = factors->unscale;
    int is_nesterov = factors->is_nesterov;
    int64_t n = (int64_t)tensor_elements(tensors->parameter);

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(&call, "arithmetic", "sgd", grid_of(&call, n), parameter,
                       gradient, velocity, rate, momentum, decay, is_nesterov,
                       unscale, n);
}

/* As kernels/arithmetic.cu has them. */
enum { most_parameters = 96, sgd_blocks = 96 };

struct sgd_items {
    cu_pointer parameter[most_parameters], velocity[most_parameters];
    cu_pointer gradient[most_parameters];
    int64_t n[most_parameters];
};

struct sgd_by {
    float rate, momentum, decay, unscale;
    int is_nesterov;
};

static enum assay_status cuda_sgd_list(struct backend *backend,
                                       const struct op_context *context,
                                       const struct sgd_factors *factors,
                                       const struct optimizer_tensors *tensors,
                                       size_t n, struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    struct sgd_by by = {factors->learning_rate, factors->momentum,
                        factors->weight_decay, factors->unscale,
                        factors->is_nesterov};
    enum assay_status st = ASSAY_OK;

    for (size_t done = 0; !st && done < n; done += most_parameters) {
        size_t now = n - done < most_parameters ? n - done : most_parameters;
        struct cuda_grid grid = {sgd_blocks, (unsigned)now, 1, 256, 0};
        struct sgd_items items = {.n = {0}};

        for (size_t i = 0; i < now; i++) {
            const struct optimizer_tensors *one = &tensors[done + i];

            items.parameter[i] = cuda_at(one->parameter);
            items.velocity[i] = cuda_at(one->states[0]);
            items.gradient[i] = cuda_at(one->gradient);
            items.n[i] = (int64_t)tensor_elements(one->parameter);
        }
        st = CUDA_LAUNCH(&call, "arithmetic", "sgd_list", grid, items, by);
    }
    return st;
}

static enum assay_status cuda_adamw(struct backend *backend,
                                    const struct op_context *context,
                                    const struct adamw_factors *factors,
                                    const struct optimizer_tensors *tensors,
                                    struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    struct adamw_factors f = *factors;
    cu_pointer parameter = cuda_at(tensors->parameter);
    cu_pointer gradient = cuda_at(tensors->gradient);
    cu_pointer first = cuda_at(tensors->states[0]);
    cu_pointer second = cuda_at(tensors->states[1]);
    int64_t n = (int64_t)tensor_elements(tensors->parameter);

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(&call, "arithmetic", "adamw", grid_of(&call, n),
                       parameter, gradient, first, second, f.keep, f.beta1,
                       f.beta2, f.rest1, f.rest2, f.step_size,
                       f.root_correction2, f.eps, f.unscale, n);
}

/* ---- what the host gets to know ------------------------------------------ */

/* As kernels/arithmetic.cu has it: tensors of one launch. */
enum { square_blocks = 32, square_tensors = 128 };

struct square_list {
    cu_pointer x[square_tensors];
    int64_t n[square_tensors];
};

/* One sum of each block of each tensor. */
static enum assay_status square_sums(struct cuda_call *call,
                                     const struct tensor *const *tensors,
                                     size_t n, cu_pointer sums)
{
    enum assay_status st = ASSAY_OK;

    for (size_t done = 0; !st && done < n; done += square_tensors) {
        size_t now = n - done < square_tensors ? n - done : square_tensors;
        struct cuda_grid grid = {square_blocks, (unsigned)now, 1, 256, 0};
        struct square_list list = {.x = {0}};

        for (size_t i = 0; i < now; i++) {
            list.x[i] = cuda_at(tensors[done + i]);
            list.n[i] = (int64_t)tensor_elements(tensors[done + i]);
        }
        st = CUDA_LAUNCH(call, "arithmetic", "square_sums", grid, list, sums);
        sums += now * square_blocks * sizeof(double);
    }
    return st;
}

/* The device is waited for once. */
static enum assay_status cuda_square_sum(struct backend *backend,
                                         const struct op_context *context,
                                         const struct tensor *const *tensors,
                                         size_t n, double *sum,
                                         struct error *err)
{
    static const struct cuda_grid one_block = {1, 1, 1, 256, 0};
    struct cuda_call call = call_of(backend, context, err);
    int64_t n_sums = (int64_t)n * square_blocks;
    size_t bytes = ((size_t)n_sums + 1) * sizeof(double);
    struct buffer *scratch = NULL;
    struct space *space;
    cu_pointer sums, all;
    enum assay_status st = cuda_scratch(&call, bytes, &scratch);

    *sum = 0;
    if (st)
        return st;
    space = buffer_space(scratch);
    all = (cu_pointer)(uintptr_t)buffer_data(scratch);
    sums = all + sizeof(double);
    st = square_sums(&call, tensors, n, sums);
    if (!st)
        st = CUDA_LAUNCH(&call, "arithmetic", "add_sums", one_block, sums,
                         n_sums, all);
    if (!st)
        st =
            space->copy_out(space, sum, buffer_data(scratch), sizeof *sum, err);
    buffer_release(scratch);
    return st;
}

static enum assay_status cuda_is_finite(struct backend *backend,
                                        const struct op_context *context,
                                        const struct tensor *tensor,
                                        bool *is_finite, struct error *err)
{
    struct cuda_call call = call_of(backend, context, err);
    enum dtype stored = cuda_stored(tensor);
    const char *name = stored == DTYPE_F16    ? "find_not_finite_f16"
                       : stored == DTYPE_BF16 ? "find_not_finite_bf16"
                                              : "find_not_finite";
    int64_t n = (int64_t)tensor_elements(tensor);
    struct buffer *scratch = NULL;
    struct space *space;
    cu_pointer x = cuda_at(tensor), found;
    int is_not = 0;
    enum assay_status st = cuda_scratch(&call, sizeof is_not, &scratch);

    *is_finite = true;
    if (st)
        return st;
    space = buffer_space(scratch);
    found = (cu_pointer)(uintptr_t)buffer_data(scratch);
    st = space->clear(space, buffer_data(scratch), sizeof is_not, err);
    if (!st && n)
        st = CUDA_LAUNCH(&call, "arithmetic", name, grid_of(&call, n), x, n,
                         found);
    if (!st)
        st = space->copy_out(space, &is_not, buffer_data(scratch),
                             sizeof is_not, err);
    buffer_release(scratch);
    *is_finite = !is_not;
    return st;
}

const struct backend_math cuda_math = {
    .fill = cuda_fill,
    .convert = cuda_convert,
    .spread = cuda_spread,
    .add = cuda_add,
    .sgd = cuda_sgd,
    .sgd_list = cuda_sgd_list,
    .adamw = cuda_adamw,
    .square_sum = cuda_square_sum,
    .is_finite = cuda_is_finite,
};

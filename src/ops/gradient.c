/* ops/gradient.c - see gradient_internal.h. */
#include "ops/gradient_internal.h"

#include "ops/int_list_internal.h"
#include "ops/op_threads.h"
#include "ops/strided_internal.h"

#include <string.h>

enum { parallel_elements = 1 << 14 };

struct op_reads gradient_reads_input(const struct node *node, uint64_t wanted)
{
    (void)node;
    return (struct op_reads){.inputs = wanted & 1};
}

struct op_reads gradient_reads_output(const struct node *node, uint64_t wanted)
{
    (void)node;
    return (struct op_reads){.outputs = wanted & 1};
}

struct op_reads gradient_reads_factors(const struct node *node, uint64_t wanted)
{
    (void)node;
    return (struct op_reads){.inputs = (wanted & 1) << 1 | (wanted >> 1 & 1)};
}

struct op_reads gradient_reads_settings(const struct node *node,
                                        uint64_t wanted)
{
    uint64_t all = ((uint64_t)1 << node->n_inputs) - 1;

    (void)wanted;
    return (struct op_reads){.inputs = all & ~(uint64_t)1};
}

int gradient_parts(const struct op_context *context, size_t n)
{
    return n < parallel_elements ? 1 : op_threads(context);
}

void gradient_scale(const struct op_context *context, float factor,
                    const struct tensor *dy, const struct tensor *dx)
{
    const float *from = tensor_f32(dy);
    float *to = tensor_f32(dx);
    size_t n = tensor_elements(dx);
    int parts = gradient_parts(context, n);

#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] * factor;
}

/* ---- sums over broadcast dimensions -------------------------------------- */

/* The dimensions of y, split into those x has and those to sum over. */
struct split {
    struct shape kept, summed;
    struct strides in_x, in_y; /* of the kept ones */
    struct strides along;      /* of the summed ones, in y */
};

static struct split gradient_split(const struct shape *x, const struct shape *y)
{
    struct strides dense = strides_dense(y), repeat = strides_repeat(x, y);
    int missing = y->rank - x->rank;
    struct split split = {0};

    for (int i = 0; i < y->rank; i++) {
        bool is_kept = i >= missing && x->dims[i - missing] == y->dims[i];
        struct shape *to = is_kept ? &split.kept : &split.summed;
        int at = to->rank++;

        to->dims[at] = y->dims[i];
        if (is_kept) {
            split.in_x.of[at] = repeat.of[i];
            split.in_y.of[at] = dense.of[i];
        } else {
            split.along.of[at] = dense.of[i];
        }
    }
    return split;
}

/* The sum that one element of x gets, starting at `dy`. */
static double gradient_sum_from(const struct walk *start, const float *dy)
{
    struct walk walk = *start;
    double sum = 0;

    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        const float *from = dy + walk.at[0];
        int64_t step = walk.steps[0];

        for (int64_t i = 0; i < walk.length; i++)
            sum += (double)from[i * step];
    }
    return sum;
}

/* For neighbours in x that are neighbours in y too: adds whole rows of dy. */
static void gradient_add_rows(const struct walk *start, const float *dy,
                              float *dx, int64_t n)
{
    struct walk walk = *start;

    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        for (int64_t i = 0; i < walk.length; i++) {
            const float *from = dy + walk.at[0] + i * walk.steps[0];

            for (int64_t k = 0; k < n; k++)
                dx[k] += from[k];
        }
    }
}

static void gradient_sum_rows(const struct walk *kept,
                              const struct walk *summed, const float *dy,
                              float *dx, int64_t first, int64_t last)
{
    struct walk now = *kept;
    bool by_row = now.steps[0] == 1 && now.steps[1] == 1;

    walk_seek(&now, first);
    for (int64_t row = first; row < last; row++, walk_next(&now)) {
        float *to = dx + now.at[0];
        const float *from = dy + now.at[1];

        if (by_row && now.length > 1)
            gradient_add_rows(summed, from, to, now.length);
        for (int64_t i = 0; (!by_row || now.length == 1) && i < now.length; i++)
            to[i * now.steps[0]] +=
                (float)gradient_sum_from(summed, from + i * now.steps[1]);
    }
}

void gradient_sum_to(const struct op_context *context, const struct tensor *dy,
                     const struct tensor *dx)
{
    struct split split = gradient_split(&dx->shape, &dy->shape);
    struct strides both[] = {split.in_x, split.in_y};
    struct walk kept = walk_start(&split.kept, both, 2);
    struct walk summed = walk_start(&split.summed, &split.along, 1);
    int parts = gradient_parts(context, tensor_elements(dy));

#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int i = 0; i < parts; i++)
        gradient_sum_rows(&kept, &summed, tensor_f32(dy), tensor_f32(dx),
                          kept.n_rows * i / parts,
                          kept.n_rows * (i + 1) / parts);
}

void gradient_channel_sums(const struct op_context *context,
                           const struct tensor *a, const struct tensor *sums)
{
    int64_t images = a->shape.dims[0], channels = a->shape.dims[1];
    int64_t plane = shape_span(&a->shape, 2, a->shape.rank);
    int parts = gradient_parts(context, tensor_elements(a));

#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;

        for (int64_t n = 0; n < images; n++) {
            const float *from = tensor_f32(a) + (n * channels + c) * plane;

            for (int64_t i = 0; i < plane; i++)
                sum += (double)from[i];
        }
        tensor_f32(sums)[c] = (float)sum;
    }
}

enum assay_status gradient_rectify(const struct op_context *context,
                                   bool has_relu, float limit,
                                   const struct tensor *y,
                                   const struct tensor *dy, struct tensor *out,
                                   struct error *err)
{
    const float *made, *from = tensor_f32(dy);
    size_t n = tensor_elements(dy);
    int parts = gradient_parts(context, n);
    enum assay_status st;
    float *to;

    *out = (struct tensor){0};
    if (!has_relu) {
        *out = tensor_share(dy);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, DTYPE_F32, &dy->shape, out, err);
    if (st)
        return st;
    made = tensor_f32(y);
    to = tensor_f32(out);
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (size_t i = 0; i < n; i++) {
        bool is_cut = made[i] <= 0 || (limit > 0 && made[i] >= limit);

        to[i] = is_cut ? 0 : from[i];
    }
    return ASSAY_OK;
}

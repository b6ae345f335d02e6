/* ops/movement/grid_sample.c - see grid_sample.h. */
#include "ops/movement/grid_sample.h"

#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

enum { max_taps = 4 };

static enum assay_status grid_sample_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct shape *x = &inputs[0]->shape, *grid = &inputs[1]->shape;
    struct shape y;
    enum assay_status st = rule_ranks(inputs, 2, 4, err);

    (void)node;
    if (st)
        return st;
    if (x->dims[0] != grid->dims[0] || grid->dims[3] != 2 || x->dims[2] < 1 ||
        x->dims[3] < 1)
        return rule_misfit("x", x, "places", grid, err);
    y = shape_of(4, x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* Mirrors a place at the outermost centres or edges. */
static float grid_reflect(float at, int64_t size, bool aligns_corners)
{
    float low = aligns_corners ? 0 : -0.5F;
    float span = aligns_corners ? (float)(size - 1) : (float)size, away;

    if (span <= 0)
        return 0;
    away = fmodf(fabsf(at - low), 2 * span);
    return low + (away > span ? 2 * span - away : away);
}

static float grid_sample_clamp(float at, int64_t size)
{
    return at < 0 ? 0 : at > (float)(size - 1) ? (float)(size - 1) : at;
}

/* The place in x to read instead of one that may be outside. */
static float grid_padded(const struct grid_sample_attrs *attrs, float at,
                         int64_t size)
{
    if (attrs->padding == GRID_REFLECTION)
        at = grid_reflect(at, size, attrs->aligns_corners);
    return attrs->padding == GRID_ZEROS ? at : grid_sample_clamp(at, size);
}

/* The elements along one side that make up a value; -1: a zero. */
struct taps {
    int n;
    int64_t at[max_taps];
    float weights[max_taps];
};

/* Keys's cubic with a = -0.75, as in PyTorch. */
static float grid_sample_cubic_weight(float distance)
{
    static const float a = -0.75F;
    float d = fabsf(distance);

    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static struct taps grid_make_taps(const struct grid_sample_attrs *attrs,
                                  float place, int64_t size)
{
    struct taps taps = {.n = attrs->mode == GRID_BICUBIC   ? 4
                             : attrs->mode == GRID_NEAREST ? 1
                                                           : 2};
    float at = attrs->aligns_corners ? (place + 1) / 2 * (float)(size - 1)
                                     : ((place + 1) * (float)size - 1) / 2;
    float base;

    /* For cubics, each tap is padded by itself. */
    if (attrs->mode != GRID_BICUBIC)
        at = grid_padded(attrs, at, size);
    base = attrs->mode == GRID_NEAREST ? rintf(at) : floorf(at);
    for (int i = 0; i < taps.n; i++) {
        float tap = base + (float)(taps.n == 4 ? i - 1 : i);

        taps.weights[i] = taps.n == 4   ? grid_sample_cubic_weight(at - tap)
                          : taps.n == 2 ? 1 - fabsf(at - tap)
                                        : 1;
        tap = grid_padded(attrs, tap, size);
        taps.at[i] = tap >= 0 && tap < (float)size ? (int64_t)tap : -1;
    }
    return taps;
}

static float grid_sample(const float *plane, int64_t width,
                         const struct taps *down, const struct taps *across)
{
    float sum = 0;

    for (int i = 0; i < down->n; i++) {
        float row = 0;

        if (down->at[i] < 0)
            continue;
        for (int j = 0; j < across->n; j++) {
            if (across->at[j] >= 0)
                row += across->weights[j] *
                       plane[down->at[i] * width + across->at[j]];
        }
        sum += down->weights[i] * row;
    }
    return sum;
}

static enum assay_status grid_sample_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const int64_t *x = inputs[0]->shape.dims, *y = outputs[0].shape.dims;
    int64_t places = y[2] * y[3], from = x[2] * x[3];

    (void)err;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < y[0] * places; i++) {
        const float *place = tensor_f32(inputs[1]) + 2 * i;
        struct taps across = grid_make_taps(node->attrs, place[0], x[3]);
        struct taps down = grid_make_taps(node->attrs, place[1], x[2]);
        int64_t image = i / places;

        for (int64_t c = 0; c < y[1]; c++)
            tensor_f32(&outputs[0])[(image * y[1] + c) * places + i % places] =
                grid_sample(tensor_f32(inputs[0]) + (image * x[1] + c) * from,
                            x[3], &down, &across);
    }
    return ASSAY_OK;
}

const struct op_class op_grid_sample = {
    .name = "GridSample",
    .attrs_bytes = sizeof(struct grid_sample_attrs),
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = grid_sample_infer,
    .forward = grid_sample_forward,
    .is_f32 = true,
};

/* tests/backend/op_case_moves.c - cases of ops that move elements. */
#include "op_case_internal.h"
#include "ops/convolution/pick_conv2d.h"
#include "ops/detection/roi_align.h"
#include "ops/math/cast.h"
#include "ops/math/reduce.h"
#include "ops/movement/gather.h"
#include "ops/movement/pad.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/resize.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"

#include <string.h>

/* A node whose other inputs are lists of settings. */
static enum assay_status add_told(struct case_builder *b,
                                  const struct op_class *op, const void *attrs,
                                  uint32_t x, const int64_t (*lists)[4],
                                  const int64_t *lengths, size_t n_lists,
                                  uint32_t *y)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t inputs[5] = {x};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n_lists; i++)
        st = case_integers(b, names[i], lists[i], lengths[i], &inputs[1 + i]);
    return st ? st : case_append(b, op, attrs, inputs, 1 + n_lists, y);
}

/* k=1: a part; k=2: every second column, backwards. */
static enum assay_status add_slice(struct case_builder *b,
                                   const struct op_case *c, uint32_t x,
                                   struct tensor *second, uint32_t *y)
{
    static const int64_t part[][4] = {{1, 0}, {3, -1}, {2, 3}, {1, 1}};
    static const int64_t back[][4] = {
        {0, -1}, {INT64_MAX, INT64_MIN}, {1, 3}, {1, -2}};
    static const int64_t lengths[] = {2, 2, 2, 2};

    (void)second;
    return add_told(b, &op_slice, NULL, x, c->k == 2 ? back : part, lengths, 4,
                    y);
}

static enum assay_status add_split(struct case_builder *b,
                                   const struct op_case *c, uint32_t x,
                                   struct tensor *second, uint32_t *y)
{
    struct split_attrs attrs = {.axis = c->k};
    uint32_t parts[3];
    enum assay_status st =
        case_append_outputs(b, &op_split, &attrs, &x, 1, parts, 3);

    (void)second;
    *y = parts[1];
    return st;
}

static enum assay_status add_transpose(struct case_builder *b,
                                       const struct op_case *c, uint32_t x,
                                       struct tensor *second, uint32_t *y)
{
    struct transpose_attrs attrs = {.rank = c->k > 1 ? 4 : 0,
                                    .order = {2, 0, 3, 1}};

    (void)second;
    if (c->k == 3) {
        attrs.order[0] = 0;
        attrs.order[1] = 2;
    }
    return case_append(b, &op_transpose, &attrs, &x, 1, y);
}

/* k: the mode, from 1; p: the padding before, and s less after. */
static enum assay_status add_pad(struct case_builder *b,
                                 const struct op_case *c, uint32_t x,
                                 struct tensor *second, uint32_t *y)
{
    struct pad_attrs attrs = {.mode = (enum pad_mode)(c->k - 1)};
    int64_t pads[] = {0, 0, c->p, c->p, 0, 0, c->p - c->s, 1};
    struct shape one = shape_of(0);
    uint32_t inputs[3] = {x};
    enum assay_status st = case_integers(b, "pads", pads, 8, &inputs[1]);

    (void)second;
    if (!st)
        st = case_parameter(b, "value", &one, 0.5F, 0.5F, &inputs[2]);
    return st ? st : case_append(b, &op_pad, &attrs, inputs, 3, y);
}

/* Along the third axis, one index twice and one from the end. */
static enum assay_status add_gather(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    static const int64_t indices[][4] = {{1, 0, -1, 1}};
    static const int64_t lengths[] = {4};
    struct gather_attrs attrs = {.axis = c->k};

    (void)second;
    return add_told(b, &op_gather, &attrs, x, indices, lengths, 1, y);
}

/* Of x and of a map of o channels, every k-th channel of both from s on, and
 * then the first ones. */
static enum assay_status add_pick(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    enum { most = 256 };
    struct shape other = shape_of(4, c->n, c->o, c->h, c->w);
    int64_t channels = c->c + c->o, list[most];
    uint32_t inputs[3] = {x};
    enum assay_status st = case_input(b, "other", &other, second, &inputs[1]);

    for (int64_t i = 0; i < channels; i++)
        list[i] = (c->s + i * c->k) % channels;
    if (!st)
        st = case_integers(b, "list", list, channels, &inputs[2]);
    return st ? st : case_append(b, &op_pick_channels, NULL, inputs, 3, y);
}

/* A convolution of 1x1 of d channels, every k-th from s on, of x and of a map
 * of e channels, which may be none; a residual only then. */
static enum assay_status add_pick_conv(struct case_builder *b,
                                       const struct op_case *c, uint32_t x,
                                       struct tensor *second, uint32_t *y)
{
    enum { most = 512 };
    struct shape other = shape_of(4, c->n, c->e, c->h, c->w);
    struct shape w = shape_of(4, c->o, c->d / c->g, (int64_t)1, (int64_t)1);
    struct shape channels = shape_of(1, c->o);
    struct shape y_shape = shape_of(4, c->n, c->o, c->h, c->w);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[PICK_CONV2D_MAPS + 1];
    int64_t list[most];
    enum assay_status st;

    attrs.groups = c->g;
    attrs.has_relu = c->relu;
    attrs.activation = (enum conv2d_activation)c->a;
    for (size_t i = 0; i <= PICK_CONV2D_MAPS; i++)
        inputs[i] = GRAPH_NONE;
    inputs[CONV2D_X] = x;
    for (int64_t i = 0; i < c->d; i++)
        list[i] = (c->s + i * c->k) % (c->c + c->e);
    st = case_parameter(b, "weight", &w, -1, 1, &inputs[CONV2D_WEIGHT]);
    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &channels, -1, 1, &inputs[CONV2D_BIAS]);
    if (!st)
        st =
            case_integers(b, "list", list, c->d, &inputs[PICK_CONV2D_CHANNELS]);
    if (!st && c->e)
        st = case_input(b, "other", &other, second, &inputs[PICK_CONV2D_MAPS]);
    else if (!st && c->residual)
        st = case_input(b, "residual", &y_shape, second,
                        &inputs[CONV2D_RESIDUAL]);
    return st ? st
              : case_append(b, &op_pick_conv2d, &attrs, inputs,
                            PICK_CONV2D_MAPS + (c->e ? 1 : 0), y);
}

/* By a condition of the same shape or (k=2) a broadcast one. */
static enum assay_status add_where(struct case_builder *b,
                                   const struct op_case *c, uint32_t x,
                                   struct tensor *second, uint32_t *y)
{
    struct shape other = shape_of(4, c->n, (int64_t)1, c->h, c->w);
    struct shape shape = c->k == 2 ? shape_of(1, c->w) : other;
    uint32_t inputs[] = {GRAPH_NONE, x, GRAPH_NONE};
    struct tensor condition;
    enum assay_status st =
        tensor_new(b->pool, DTYPE_BOOL, &shape, &condition, b->err);

    for (size_t i = 0; !st && i < tensor_elements(&condition); i++)
        ((uint8_t *)tensor_data(&condition))[i] =
            (uint8_t)random_below(&b->random, 2);
    if (!st)
        st = graph_constant(b->graph, "condition", condition, &inputs[0],
                            b->err);
    if (!st)
        st = case_input(b, "other", &other, second, &inputs[2]);
    return st ? st : case_append(b, &op_where, NULL, inputs, 3, y);
}

static enum assay_status add_repeat(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    bool is_tile = strcmp(c->op, "tile") == 0;
    int64_t sizes[][4] = {{c->n, c->c, 5, c->w}}, times[][4] = {{1, 2, 3, 2}};
    static const int64_t lengths[] = {4};

    (void)second;
    return add_told(b, is_tile ? &op_tile : &op_expand, NULL, x,
                    is_tile ? (const int64_t(*)[4])times
                            : (const int64_t(*)[4])sizes,
                    lengths, 1, y);
}

/* k=1: rows and columns, kept with size 1; k=2: the channels; k=3: everything;
 * k=4: rows and columns, not kept; k=5: the channels and the rows. */
static enum assay_status add_reduce(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    static const struct {
        const char *name;
        const struct op_class *op;
    } ops[] = {{"reduce_sum", &op_reduce_sum},
               {"reduce_mean", &op_reduce_mean},
               {"reduce_max", &op_reduce_max},
               {"reduce_min", &op_reduce_min},
               {"reduce_l1", &op_reduce_l1},
               {"reduce_l2", &op_reduce_l2},
               {"reduce_log_sum", &op_reduce_log_sum},
               {"reduce_log_sum_exp", &op_reduce_log_sum_exp},
               {"reduce_sum_square", &op_reduce_sum_square}};
    static const int64_t axes[][1][4] = {
        {{2, 3}}, {{1}}, {{0}}, {{3, -2}}, {{1, 2}}};
    static const int64_t lengths[] = {2, 1, 0, 2, 2};
    struct reduce_attrs attrs = {.keeps_dims = c->k == 1};
    size_t i = 0;

    (void)second;
    while (strcmp(ops[i].name, c->op))
        i++;
    return add_told(b, ops[i].op, &attrs, x, axes[c->k - 1], &lengths[c->k - 1],
                    c->k == 3 ? 0 : 1, y);
}

/* To o rows and k columns; s: the mode, from 1; g: the place, from 1. */
static enum assay_status add_resize_any(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct resize_attrs attrs = {.mode = (enum resize_mode)(c->s - 1),
                                 .place = (enum resize_place)(c->g - 1),
                                 .cubic = -0.75F,
                                 .excludes_outside = c->counted};
    int64_t sizes[] = {c->n, c->c, c->o, c->k};
    struct shape region = shape_of(1, (int64_t)8);
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct tensor roi;
    enum assay_status st = case_integers(b, "sizes", sizes, 4, &inputs[3]);

    (void)second;
    if (!st && attrs.place == RESIZE_CROP) {
        static const float shares[] = {0, 0, -0.2F, 0.3F, 1, 1, 0.8F, 1.1F};

        st = tensor_new(b->pool, DTYPE_F32, &region, &roi, b->err);
        if (!st) {
            memcpy(tensor_data(&roi), shares, sizeof shares);
            st = graph_constant(b->graph, "roi", roi, &inputs[1], b->err);
        }
    }
    return st ? st : case_append(b, &op_resize, &attrs, inputs, 4, y);
}

/* ---- RoiAlign -------------------------------------------------------------
 */

/* k boxes per image, of all sizes, some beyond the edge. */
static enum assay_status add_boxes(struct case_builder *b,
                                   const struct op_case *c, uint32_t *value)
{
    struct shape shape = shape_of(2, c->n * c->k, (int64_t)4);
    float width = (float)c->w * 4, height = (float)c->h * 4;
    struct tensor boxes;
    enum assay_status st =
        tensor_new(b->pool, DTYPE_F32, &shape, &boxes, b->err);

    for (int64_t i = 0; !st && i < c->n * c->k; i++) {
        float *box = tensor_f32(&boxes) + 4 * i;

        box[0] = width * (float)(1.1 * random_unit(&b->random) - 0.1);
        box[1] = height * (float)(1.1 * random_unit(&b->random) - 0.1);
        box[2] = box[0] + width * (float)random_unit(&b->random);
        box[3] = box[1] + height * (float)random_unit(&b->random);
    }
    return st ? st : graph_constant(b->graph, "boxes", boxes, value, b->err);
}

/* Two levels; o: the size of the output. */
static enum assay_status add_roi_align(struct case_builder *b,
                                       const struct op_case *c, uint32_t x,
                                       struct tensor *second, uint32_t *y)
{
    struct roi_align_attrs attrs = {.size = c->o,
                                    .sampling_ratio = 2,
                                    .canonical_size = 40,
                                    .canonical_level = 3};
    struct shape coarse = shape_of(4, c->n, c->c, c->h / 2, c->w / 2);
    struct shape pairs = shape_of(2, c->n, (int64_t)2);
    uint32_t inputs[ROI_ALIGN_MAPS + 2] = {[ROI_ALIGN_MAPS] = x};
    struct tensor sizes;
    int64_t counts[8];
    enum assay_status st = add_boxes(b, c, &inputs[ROI_ALIGN_BOXES]);

    for (int64_t i = 0; i < c->n; i++)
        counts[i] = c->k;
    if (!st)
        st =
            case_integers(b, "counts", counts, c->n, &inputs[ROI_ALIGN_COUNTS]);
    if (!st)
        st = tensor_new(b->pool, DTYPE_I64, &pairs, &sizes, b->err);
    for (int64_t i = 0; !st && i < c->n; i++) {
        tensor_i64(&sizes)[2 * i] = c->h * 4;
        tensor_i64(&sizes)[2 * i + 1] = c->w * 4;
    }
    if (!st)
        st = graph_constant(b->graph, "sizes", sizes, &inputs[ROI_ALIGN_SIZES],
                            b->err);
    if (!st)
        st = case_input(b, "coarse", &coarse, second,
                        &inputs[ROI_ALIGN_MAPS + 1]);
    return st ? st
              : case_append(b, &op_roi_align, &attrs, inputs,
                            ROI_ALIGN_MAPS + 2, y);
}

/* Blocks of k; s=2: depth first. */
static enum assay_status add_depth(struct case_builder *b,
                                   const struct op_case *c, uint32_t x,
                                   struct tensor *second, uint32_t *y)
{
    bool to_space = strcmp(c->op, "depth_to_space") == 0;
    struct depth_attrs attrs = {.block = c->k, .is_depth_first = c->s == 2};

    (void)second;
    return case_append(b, to_space ? &op_depth_to_space : &op_space_to_depth,
                       &attrs, &x, 1, y);
}

static enum assay_status add_cast(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    struct cast_attrs attrs = {.dtype = DTYPE_F32};

    (void)c, (void)second;
    return case_append(b, &op_cast, &attrs, &x, 1, y);
}

const struct case_maker case_moves[] = {
    {"slice", add_slice},
    {"split", add_split},
    {"transpose", add_transpose},
    {"pad", add_pad},
    {"gather", add_gather},
    {"pick_channels", add_pick},
    {"pick_conv2d", add_pick_conv},
    {"where", add_where},
    {"expand", add_repeat},
    {"tile", add_repeat},
    {"reduce_sum", add_reduce},
    {"reduce_mean", add_reduce},
    {"reduce_max", add_reduce},
    {"reduce_min", add_reduce},
    {"reduce_l1", add_reduce},
    {"reduce_l2", add_reduce},
    {"reduce_log_sum", add_reduce},
    {"reduce_log_sum_exp", add_reduce},
    {"reduce_sum_square", add_reduce},
    {"resize_any", add_resize_any},
    {"depth_to_space", add_depth},
    {"space_to_depth", add_depth},
    {"cast", add_cast},
    {"roi_align", add_roi_align},
    {NULL, NULL},
};

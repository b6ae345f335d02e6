/* ops/detection/rpn_top_k.c - see rpn_top_k.h. */
#include "ops/detection/rpn_top_k.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/math/score_rank_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

/* Scores of one image. */
static int64_t level_scores(const struct tensor *map)
{
    const int64_t *dims = map->shape.dims;

    return dims[1] * dims[2] * dims[3];
}

static int64_t level_count(const struct node *node, const struct tensor *map)
{
    const struct rpn_top_k_attrs *attrs = node->attrs;
    int64_t n = level_scores(map);

    return n < attrs->k ? n : attrs->k;
}

static enum assay_status rpn_top_k_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct rpn_top_k_attrs *attrs = node->attrs;
    int64_t n_images = inputs[0]->shape.dims[0], chosen = 0;
    struct shape list, counts;

    if (attrs->k < 0)
        return error_set(err, ASSAY_BAD_INPUT, "k is %lld; expected 0 or more",
                         (long long)attrs->k);
    for (size_t i = 0; i < node->n_inputs; i++) {
        enum assay_status st = rule_rank(inputs, i, 4, err);
        char text[64];

        if (!st)
            st = rule_dtype(inputs, i, DTYPE_F32, err);
        if (st)
            return st;
        if (inputs[i]->shape.dims[0] != n_images ||
            level_scores(inputs[i]) > INT32_MAX)
            return error_set(err, ASSAY_BAD_INPUT,
                             "level %zu is %s, which does not fit %lld images",
                             i,
                             shape_text(&inputs[i]->shape, text, sizeof text),
                             (long long)n_images);
        chosen += n_images * level_count(node, inputs[i]);
    }
    list = shape_of(1, chosen);
    counts = shape_of(2, n_images, (int64_t)node->n_inputs);
    rule_set(&outputs[RPN_TOP_K_LOGITS], DTYPE_F32, &list);
    rule_set(&outputs[RPN_TOP_K_ANCHORS], DTYPE_I64, &list);
    rule_set(&outputs[RPN_TOP_K_COUNTS], DTYPE_I64, &counts);
    return ASSAY_OK;
}

/* The scores of one level of one image, and where its best ones go. */
struct level {
    const float *scores; /* one plane per ratio */
    int64_t n_ratios, n_places;
    int64_t first_anchor;
    size_t k;
    uint32_t *keys;            /* one per score */
    uint64_t *ranks, *scratch; /* room for k */
    float *logits;
    int64_t *anchors;
};

static float score_at(const struct level *level, uint32_t index)
{
    int64_t place = index / level->n_ratios, ratio = index % level->n_ratios;

    return level->scores[ratio * level->n_places + place];
}

static void write_chosen(const struct level *level)
{
    for (size_t i = 0; i < level->k; i++) {
        uint32_t index = rank_index(level->ranks[i]);

        level->logits[i] = score_at(level, index);
        level->anchors[i] = level->first_anchor + index;
    }
}

/* The rule in plain form: inserts each score among the best so far. */
static void choose_reference(const struct level *level)
{
    size_t n_chosen = 0;

    for (uint32_t i = 0; i < level->n_ratios * level->n_places; i++) {
        uint64_t rank = rank_of(score_at(level, i), i);
        size_t at = n_chosen < level->k ? n_chosen++ : level->k;

        for (; at > 0 && level->ranks[at - 1] > rank; at--) {
            if (at < level->k)
                level->ranks[at] = level->ranks[at - 1];
        }
        if (at < level->k)
            level->ranks[at] = rank;
    }
}

VARIANTS(void, write_keys, (const float *scores, uint32_t *keys, int64_t n),
         (scores, keys, n))
{
    for (int64_t i = 0; i < n; i++)
        keys[i] = rank_key(scores[i]);
}

/* Finds the k-th smallest key, 11 bits at a time, highest first; *n_equal: how
 * many keys equal to it are among the k. */
static uint32_t find_last_key(const struct level *level, size_t *n_equal)
{
    static const struct {
        int shift;
        uint32_t known; /* bits found in earlier steps */
    } steps[] = {
        {21, 0}, {10, UINT32_C(0xffe00000)}, {0, UINT32_C(0xfffffc00)}};
    int64_t n = level->n_ratios * level->n_places;
    uint32_t key = 0;
    size_t left = level->k;

    for (int step = 0; step < 3; step++) {
        uint32_t counts[2048] = {0}, known = steps[step].known, digit = 0;

        for (int64_t i = 0; i < n; i++) {
            uint32_t at = level->keys[i];

            if ((at & known) == key)
                counts[(at & ~known) >> steps[step].shift]++;
        }
        while (counts[digit] < left)
            left -= counts[digit++];
        key |= digit << steps[step].shift;
    }
    *n_equal = left;
    return key;
}

static void choose_fast(const struct level *level)
{
    size_t n_equal, n_chosen = 0;
    uint32_t last, index = 0;

    if (level->k == 0)
        return;
    write_keys(level->scores, level->keys, level->n_ratios * level->n_places);
    last = find_last_key(level, &n_equal);
    for (int64_t place = 0; place < level->n_places; place++) {
        for (int64_t ratio = 0; ratio < level->n_ratios; ratio++, index++) {
            uint32_t key = level->keys[ratio * level->n_places + place];

            if (key > last || (key == last && n_equal == 0))
                continue;
            n_equal -= key == last;
            level->ranks[n_chosen++] = (uint64_t)key << 32 | index;
        }
    }
    assert(n_chosen == level->k);
    rank_sort(level->ranks, level->scratch, level->k);
}

/* Memory for all levels of all images. */
struct ranks {
    struct buffer *buffer;
    uint64_t *ranks; /* two per chosen score */
    uint32_t *keys;  /* one per score */
};

static enum assay_status ranks_take(struct ranks *ranks, struct pool *pool,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    size_t n_chosen, struct error *err)
{
    size_t n_scores = 0;
    enum assay_status st;

    for (size_t i = 0; i < node->n_inputs; i++)
        n_scores += tensor_elements(inputs[i]);
    st = pool_take_scratch(
        pool, 2 * n_chosen * sizeof(uint64_t) + n_scores * sizeof(uint32_t),
        "ranking scores", &ranks->buffer, err);
    if (st)
        return st;
    ranks->ranks = buffer_data(ranks->buffer);
    ranks->keys = (uint32_t *)(void *)(ranks->ranks + 2 * n_chosen);
    return ASSAY_OK;
}

/* A level of an image; its outputs follow those of the images and levels before
 * it. */
static struct level level_at(const struct node *node,
                             const struct tensor *const *inputs,
                             const struct tensor *outputs, int64_t image,
                             size_t at, const struct ranks *ranks)
{
    const int64_t *dims = inputs[at]->shape.dims;
    int64_t n_chosen = 0, n_scores = 0, to = 0;
    struct level level = {
        .scores = tensor_f32(inputs[at]) + image * level_scores(inputs[at]),
        .n_ratios = dims[1],
        .n_places = dims[2] * dims[3],
        .k = (size_t)level_count(node, inputs[at]),
    };

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (i == at) {
            to = n_chosen;
            level.first_anchor = n_scores;
        }
        n_chosen += level_count(node, inputs[i]);
        n_scores += level_scores(inputs[i]);
    }
    to += image * n_chosen;
    level.logits = tensor_f32(&outputs[RPN_TOP_K_LOGITS]) + to;
    level.anchors = tensor_i64(&outputs[RPN_TOP_K_ANCHORS]) + to;
    level.keys = ranks->keys + image * n_scores + level.first_anchor;
    level.ranks = ranks->ranks + 2 * to;
    level.scratch = level.ranks + level.k;
    return level;
}

static enum assay_status rpn_top_k_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    int64_t n_levels = (int64_t)node->n_inputs;
    int64_t n_images = inputs[0]->shape.dims[0];
    int64_t *counts = tensor_i64(&outputs[RPN_TOP_K_COUNTS]);
    struct ranks ranks;
    enum assay_status st =
        ranks_take(&ranks, context->pool, node, inputs,
                   tensor_elements(&outputs[RPN_TOP_K_LOGITS]), err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context)) schedule(dynamic)
    for (int64_t i = 0; i < n_images * n_levels; i++) {
        struct level level = level_at(node, inputs, outputs, i / n_levels,
                                      (size_t)(i % n_levels), &ranks);

        if (context->is_reference)
            choose_reference(&level);
        else
            choose_fast(&level);
        write_chosen(&level);
        counts[i] = (int64_t)level.k;
    }
    buffer_release(ranks.buffer);
    return ASSAY_OK;
}

ATTR_FIELDS(rpn_top_k, FIELD_AMOUNT(rpn_top_k_attrs, k));

const struct op_class op_rpn_top_k = {
    .name = "RpnTopK",
    OP_ATTRS(rpn_top_k),
    OP_TAKES(1, SIZE_MAX),
    OP_MAKES(RPN_TOP_K_OUTPUTS, RPN_TOP_K_OUTPUTS),
    .infer = rpn_top_k_infer,
    .forward = rpn_top_k_forward,
};

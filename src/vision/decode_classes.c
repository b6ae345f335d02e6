/* vision/decode_classes.c - the five most likely classes of a classifier. */
#include "vision/decoder.h"

#include <math.h>

enum { n_best = 5 };

/* Some models end with a softmax: their outputs add up to 1. */
static bool is_distribution(const float *row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(row[i] >= 0 && row[i] <= 1))
            return false;
        sum += (double)row[i];
    }
    return fabs(sum - 1) < 1e-3;
}

/* Applies the softmax to the kept scores. */
static void to_probabilities(const float *row, size_t n, struct found *found)
{
    float largest = found->items[0].score;
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += exp((double)(row[i] - largest));
    for (size_t i = 0; i < found->n; i++)
        found->items[i].score =
            (float)(exp((double)(found->items[i].score - largest)) / sum);
}

/* Keeps the best in descending order; of equal ones the first. */
static void decode_classes_offer(struct found *found, int64_t label,
                                 float score)
{
    size_t at = found->n;

    if (found->n < n_best)
        found->n++;
    else if (!(score > found->items[--at].score))
        return;
    for (; at > 0 && score > found->items[at - 1].score; at--)
        found->items[at] = found->items[at - 1];
    found->items[at] = (struct found_item){.label = label, .score = score};
}

/* Classes of one image. */
static size_t decode_classes_count(const struct tensor *logits)
{
    const struct shape *shape = &logits->shape;

    return shape->rank > 0 && shape->dims[0] > 0
               ? tensor_elements(logits) / (size_t)shape->dims[0]
               : 0;
}

bool decode_classes_fit(const struct found_source *source)
{
    const struct tensor *logits = &source->outputs[0];

    return source->n_outputs >= 1 && logits->dtype == DTYPE_F32 &&
           decode_classes_count(logits) > 0 &&
           source->image < (size_t)logits->shape.dims[0];
}

/* One row of classes per image, and nothing but ones behind them. */
bool decode_classes_is_likely(const struct found_source *source)
{
    const struct shape *shape = &source->outputs[0].shape;

    return source->n_outputs == 1 && decode_classes_fit(source) &&
           shape->rank >= 2 && shape->dims[1] > 1 &&
           decode_classes_count(&source->outputs[0]) == (size_t)shape->dims[1];
}

enum assay_status decode_classes(const struct found_source *source,
                                 struct found *found, struct error *err)
{
    const struct tensor *logits = &source->outputs[0];
    size_t n = decode_classes_count(logits);
    enum assay_status st = found_reserve(found, n_best, err);
    const float *row;

    if (st)
        return st;
    row = tensor_f32(logits) + source->image * n;
    for (size_t i = 0; i < n; i++)
        decode_classes_offer(found, (int64_t)i, row[i]);
    if (!is_distribution(row, n))
        to_probabilities(row, n, found);
    return ASSAY_OK;
}

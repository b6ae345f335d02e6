/* detect/decode_classes.c - the five likeliest classes of a classifier. */
#include "detect/found.h"

#include <math.h>

enum { n_best = 5 };

/* Some models end on a softmax: what adds up to 1 is left as it is. */
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

/* exp(score - largest) over their sum. */
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

/* Keeps the best in falling order; of equal ones the first. */
static void offer(struct found *found, int64_t label, float score)
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

enum assay_status decode_classes(const struct found_source *source,
                                 struct found *found, struct error *err)
{
    const struct tensor *logits = &source->session->outputs[0];
    const struct shape *shape = &logits->shape;
    size_t n = shape->rank > 0 && shape->dims[0] > 0
                   ? tensor_elements(logits) / (size_t)shape->dims[0]
                   : 0;
    const float *row;
    char text[64];
    enum assay_status st;

    if (logits->dtype != DTYPE_F32 || n == 0 ||
        source->image >= (size_t)shape->dims[0])
        return error_set(err, ASSAY_BAD_USAGE,
                         "classes are wanted as float32 [images,classes]; the "
                         "model's first output is %s %s",
                         dtype_name(logits->dtype),
                         shape_text(shape, text, sizeof text));
    st = found_reserve(found, n_best, err);
    if (st)
        return st;
    row = tensor_f32(logits) + source->image * n;
    for (size_t i = 0; i < n; i++)
        offer(found, (int64_t)i, row[i]);
    if (!is_distribution(row, n))
        to_probabilities(row, n, found);
    return ASSAY_OK;
}

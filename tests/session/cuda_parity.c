/* tests/session/cuda_parity.c - detectors on a GPU beside the processors.
 *
 * cuda_parity [SIZE] PHOTOGRAPH...: both detectors with made-up weights, in
 * each precision: how many detections of the processors the GPU has too, and
 * why it has not the others: what was computed is as near as it has to be, and
 * a threshold decided otherwise, or it is not. The pass as one launch must be
 * the one launched one by one, bit for bit. Exits with 1 where it is not, or
 * where no threshold explains an exception; with 77 where there is no GPU.
 *
 * ASSAY_PARITY_WEIGHTS names a folder with faster.pth, mask.pth or both:
 * trained ones are fairer, since made-up ones have hundreds of near ties.
 * ASSAY_PARITY_DEVICE names another device than cuda:0, ASSAY_PARITY_MODEL the
 * one detector to run, ASSAY_PARITY_PRECISIONS how many precisions, of which
 * the first is fp32. */
#include "raw_boxes.h"

#include "base/processor.h"
#include "session/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_outputs = DETECTOR_MASKS + 1, most_photos = 16 };

static const char *const model_list[] = {"faster-rcnn", "mask-rcnn"};

/* When a detection is the same. */
static const struct bar {
    enum precision precision;
    struct raw_bar near;
} bars[] = {
    {PRECISION_FP32, {0.999F, 1e-4F}},
    {PRECISION_TF32, {0.95F, 0.01F}},
    {PRECISION_FP16, {0.95F, 0.02F}},
    {PRECISION_BF16, {0.95F, 0.02F}},
};

enum { n_models = 2, n_bars = sizeof bars / sizeof *bars };

/* Why the GPU does not have a detection of the processors. Up to
 * REASON_PROPOSAL, its score and box are as near as they have to be. */
enum reason {
    REASON_PLACE,     /* the hundred best are full */
    REASON_THRESHOLD, /* its score is not what is needed */
    REASON_OVERLAP,   /* one that it overlaps is there */
    REASON_PROPOSAL,  /* its proposal is not among the thousand, or overlaps
                         another one */
    REASON_MOVED,     /* its box is not as near */
    REASON_SCORE,     /* its score is not as near */
    REASON_NONE,
    N_REASONS
};

static const char *const reason_names[N_REASONS] = {
    "the same, but after the hundredth",
    "the same, but below the score's threshold",
    "the same, but beside an overlapping one",
    "with a proposal that is the same, but was not chosen",
    "moved",
    "with another score",
    "unexplained"};

/* What was found in one photograph. */
struct list {
    struct tensor outputs[most_outputs];
    size_t n;
    struct raw_boxes raw; /* of a session that keeps them */
};

static struct pool *results; /* of all lists */

struct agreement {
    size_t n, n_matched, reasons[N_REASONS], n_masks;
    double score_error, least_iou, mask_iou;
    size_t n_replayed, n_different;
};

static void list_release(struct list *list)
{
    for (size_t i = 0; i < most_outputs; i++)
        tensor_release(&list->outputs[i]);
    raw_boxes_release(&list->raw);
    list->n = 0;
}

static const float *list_box(const struct list *list, size_t i)
{
    return tensor_f32(&list->outputs[DETECTOR_BOXES]) + 4 * i;
}

static float list_score(const struct list *list, size_t i)
{
    return tensor_f32(&list->outputs[DETECTOR_SCORES])[i];
}

static int64_t list_label(const struct list *list, size_t i)
{
    return tensor_i64(&list->outputs[DETECTOR_LABELS])[i];
}

/* Of masks of 0 and 1, of the same photograph. */
static double mask_iou(const struct list *a, size_t i, const struct list *b,
                       size_t k)
{
    const struct shape *shape = &a->outputs[DETECTOR_MASKS].shape;
    size_t plane = (size_t)(shape->dims[2] * shape->dims[3]);
    const uint8_t *p = tensor_data(&a->outputs[DETECTOR_MASKS]);
    const uint8_t *q = tensor_data(&b->outputs[DETECTOR_MASKS]);
    size_t both = 0, any = 0;

    p += i * plane;
    q += k * plane;
    for (size_t at = 0; at < plane; at++) {
        both += p[at] & q[at];
        any += p[at] | q[at];
    }
    return any ? (double)both / (double)any : 1;
}

/* ---- running --------------------------------------------------------------
 */

/* Its weights; false: it has none of its own. */
static bool find_weights(const char *model, char *path, size_t size)
{
    const char *folder = getenv("ASSAY_PARITY_WEIGHTS");

    if (!folder)
        return false;
    snprintf(path, size, "%s/%s.pth", folder,
             strcmp(model, model_list[0]) == 0 ? "faster" : "mask");
    return true;
}

/* Whether there is nothing to compare it with. */
static bool lacks_weights(const char *model)
{
    char path[600];

    return find_weights(model, path, sizeof path) && access(path, R_OK) != 0;
}

static enum assay_status open_detector(const char *model,
                                       const struct device *device,
                                       enum precision precision, int64_t size,
                                       struct session *session,
                                       struct error *err)
{
    char weights[600];
    struct session_options options = {
        .model.name = model,
        .model.build = model_options_for(model, MODEL_IMAGENET),
        .vision.decode = DECODE_DETECTOR,
        .vision.recipe = recipe_defaults(),
        .device = device,
        .precision = precision,
        .may_replay = true,
        .n_threads = processor_count(),
        /* One precision is for a sanitizer, under which everything is slow. */
        .tuning_seconds = getenv("ASSAY_PARITY_PRECISIONS") ? 0.01 : 1,
        .choices_path = "",
    };

    if (find_weights(model, weights, sizeof weights))
        options.model.weights = weights;
    if (size) {
        options.model.build.min_size = size;
        options.model.build.max_size = 2 * size;
    }
    return session_open(&options, session, err);
}

static enum assay_status run_on(struct session *session, const char *path,
                                int n_times, bool keeps_raw, struct list *list,
                                struct error *err)
{
    struct frame frame = {.n = 1, .paths = {path}};
    enum assay_status st = frame_decode(&frame, err);

    if (!st)
        st = frame_preprocess(&frame, session, err);
    for (int i = 0; !st && i < n_times; i++)
        st = frame_model(&frame, session, err);
    for (size_t i = 0; !st && i < session->n_outputs && i < most_outputs; i++)
        st = tensor_copy(results, &session->outputs[i], &list->outputs[i], err);
    if (!st && keeps_raw)
        st = raw_boxes_take(session, results, &list->raw, err);
    if (!st)
        list->n = tensor_elements(&list->outputs[DETECTOR_SCORES]);
    frame_release(&frame);
    return st;
}

static bool is_same(const struct list *a, const struct list *b)
{
    for (size_t i = 0; i < most_outputs; i++) {
        const struct tensor *x = &a->outputs[i], *y = &b->outputs[i];

        if (!x->buffer && !y->buffer)
            continue;
        if (!x->buffer || !y->buffer || !shape_equal(&x->shape, &y->shape) ||
            memcmp(tensor_data(x), tensor_data(y), tensor_bytes(x)) != 0)
            return false;
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------
 */

/* The one of the same class that is nearest; n where there is none. */
static size_t find_nearest(const struct list *list, const struct list *of,
                           size_t i, const bool *is_taken, float *iou)
{
    size_t best = list->n;

    *iou = -1;
    for (size_t k = 0; k < list->n; k++) {
        float here = box_iou(list_box(list, k), list_box(of, i));

        if (list_label(list, k) != list_label(of, i) || is_taken[k] ||
            !(here > *iou))
            continue;
        best = k;
        *iou = here;
    }
    return best;
}

static enum reason find_reason(const struct list *want, const struct list *got,
                               size_t i, const struct bar *bar)
{
    enum { places = 100 };
    const float threshold = 0.05F;
    float there;
    enum raw_answer answer =
        raw_boxes_find(&want->raw, &got->raw, list_label(want, i),
                       list_score(want, i), bar->near, &there);

    switch (answer) {
    case RAW_NO_PROPOSAL:
        return REASON_PROPOSAL;
    case RAW_MOVED:
        return REASON_MOVED;
    case RAW_SCORED:
        return REASON_SCORE;
    case RAW_UNKNOWN:
        return REASON_NONE;
    case RAW_THERE:
        break;
    }
    if (there <= threshold)
        return REASON_THRESHOLD;
    return got->n == places && there <= list_score(got, places - 1)
               ? REASON_PLACE
               : REASON_OVERLAP;
}

static void compare_lists(const struct list *want, const struct list *got,
                          const struct bar *bar, struct agreement *agreement)
{
    bool is_taken[1024] = {false};

    for (size_t i = 0; i < want->n && got->n <= 1024; i++) {
        float iou, error;
        size_t k = find_nearest(got, want, i, is_taken, &iou);

        agreement->n++;
        error = k < got->n ? fabsf(list_score(got, k) - list_score(want, i))
                           : INFINITY;
        if (iou < bar->near.iou || error > bar->near.score) {
            agreement->reasons[find_reason(want, got, i, bar)]++;
            continue;
        }
        is_taken[k] = true;
        agreement->n_matched++;
        agreement->score_error = fmax(agreement->score_error, (double)error);
        agreement->least_iou = fmin(agreement->least_iou, (double)iou);
        if (want->outputs[DETECTOR_MASKS].buffer) {
            agreement->mask_iou += mask_iou(want, i, got, k);
            agreement->n_masks++;
        }
    }
}

static void print_agreement(const char *model, const struct bar *bar,
                            const struct agreement *agreement)
{
    printf("%-11s %s  %zu of %zu matched, scores within %.1e, boxes %.4f",
           model, precision_name(bar->precision), agreement->n_matched,
           agreement->n, agreement->score_error, agreement->least_iou);
    if (agreement->n_masks)
        printf(", masks %.4f",
               agreement->mask_iou / (double)agreement->n_masks);
    printf("; one launch: %zu of %zu the same\n",
           agreement->n_replayed - agreement->n_different,
           agreement->n_replayed);
    for (int i = 0; i < N_REASONS; i++) {
        if (agreement->reasons[i])
            printf("            %zu %s\n", agreement->reasons[i],
                   reason_names[i]);
    }
    fflush(stdout);
}

/* One by one, then as one launch: the second pass records. */
static enum assay_status run_both_ways(struct session *gpu, const char *path,
                                       struct agreement *agreement,
                                       struct error *err)
{
    struct list each = {.n = 0}, one = {.n = 0};
    enum assay_status st;

    engine_allow_replay(gpu->engine, false);
    st = run_on(gpu, path, 1, false, &each, err);
    engine_allow_replay(gpu->engine, true);
    if (!st)
        st = run_on(gpu, path, 3, false, &one, err);
    if (!st && engine_was_replayed(gpu->engine)) {
        agreement->n_replayed++;
        agreement->n_different += !is_same(&each, &one);
    }
    list_release(&each);
    list_release(&one);
    return st;
}

/* What a device finds in each photograph, with what it computed before it
 * chose. */
static enum assay_status run_photos(const char *model,
                                    const struct device *device,
                                    enum precision precision, int64_t size,
                                    char **photos, struct list *lists,
                                    struct error *err)
{
    struct session session = {0};
    enum assay_status st =
        open_detector(model, device, precision, size, &session, err);

    if (!st)
        st = raw_boxes_keep(&session, err);
    for (size_t i = 0; !st && photos[i]; i++)
        st = run_on(&session, photos[i], 1, true, &lists[i], err);
    session_close(&session);
    return st;
}

static enum assay_status
compare_launches(const char *model, const struct device *device,
                 enum precision precision, int64_t size, char **photos,
                 struct agreement *agreement, struct error *err)
{
    struct session gpu = {0};
    enum assay_status st =
        open_detector(model, device, precision, size, &gpu, err);

    for (size_t i = 0; !st && photos[i]; i++)
        st = run_both_ways(&gpu, photos[i], agreement, err);
    session_close(&gpu);
    return st;
}

static bool is_explained(const struct agreement *agreement)
{
    size_t n = 0;

    for (int i = REASON_PROPOSAL + 1; i < N_REASONS; i++)
        n += agreement->reasons[i];
    return n == 0;
}

static enum assay_status compare_model(const char *model,
                                       const struct device *device,
                                       int64_t size, char **photos,
                                       bool *is_good, struct error *err)
{
    bool is_random = !getenv("ASSAY_PARITY_WEIGHTS");
    const char *limit = getenv("ASSAY_PARITY_PRECISIONS");
    size_t n = limit ? strtoul(limit, NULL, 10) : n_bars;
    struct list want[most_photos] = {{.n = 0}}, got[most_photos] = {{.n = 0}};
    enum assay_status st = run_photos(model, device_cpu(), PRECISION_AUTO, size,
                                      photos, want, err);

    for (size_t b = 0; !st && b < n && b < n_bars; b++) {
        enum precision precision = bars[b].precision;
        struct agreement agreement = {.least_iou = 1};

        st = run_photos(model, device, precision, size, photos, got, err);
        for (size_t i = 0; !st && photos[i]; i++)
            compare_lists(&want[i], &got[i], &bars[b], &agreement);
        for (size_t i = 0; i < most_photos; i++)
            list_release(&got[i]);
        if (!st)
            st = compare_launches(model, device, precision, size, photos,
                                  &agreement, err);
        if (!st)
            print_agreement(model, &bars[b], &agreement);
        *is_good &= !agreement.n_different &&
                    (is_explained(&agreement) || (b && is_random));
    }
    for (size_t i = 0; i < most_photos; i++)
        list_release(&want[i]);
    return st;
}

int main(int argc, char **argv)
{
    char *end = argc > 1 ? argv[1] : "";
    int64_t size = strtol(end, &end, 10);
    int first = argc > 1 && !*end ? 2 : 1;
    const struct device *device;
    struct error err = {0};
    bool is_good = true;
    const char *name = getenv("ASSAY_PARITY_DEVICE");
    const char *only = getenv("ASSAY_PARITY_MODEL");
    enum assay_status st = device_find(name ? name : "cuda:0", &device, &err);

    if (st || argc <= first || argc > first + most_photos) {
        printf("skipped: %s\n",
               st ? err.text : "1 to 16 photographs are needed");
        return 77;
    }
    if (first == 1)
        size = 0;
    st = pool_new(&results, &err);
    for (size_t i = 0; !st && i < n_models; i++) {
        bool is_asked = !only || !strcmp(only, model_list[i]);

        if (is_asked && !lacks_weights(model_list[i]))
            st = compare_model(model_list[i], device, size, argv + first,
                               &is_good, &err);
    }
    pool_free(results);
    if (st)
        fprintf(stderr, "cuda_parity: %s\n", err.text);
    return st || !is_good;
}

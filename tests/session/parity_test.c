/* Our engine against torchvision: the same weights and images, the same
 * answers. make_detector.py asks torchvision. */
#include "formats/weights/published.h"
#include "ours.h"
#include "strays.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n_photos = 2, most_proposals = 1000, most_detections = 100 };

/* The shorter side of what the models see. ASSAY_PARITY_SIZE=800, for runs by
 * hand, is what torchvision uses; then the errors are printed. */
static int parity_size(void)
{
    const char *size = getenv("ASSAY_PARITY_SIZE");

    return size ? (int)strtol(size, NULL, 10) : 224;
}

/* The tolerances of a mode. Winograd's convolutions round differently. */
struct tolerance {
    double feature; /* relative to the largest value of a map */
    double box;     /* pixels */
    double score;
};

static const struct tolerance plain = {1e-4, 0.05, 1e-4};
static const struct tolerance optimised = {5e-4, 0.1, 5e-4};

static const char *detector_folder(void)
{
    const char *photos[] = {test_shared("photos/skimage/coffee.png"),
                            test_shared("photos/darknet/dog.jpg")};
    char arguments[2048];

    if (!photos[0] || !photos[1])
        SKIP("parity with torchvision: ../shared/data/photos is missing");
    snprintf(arguments, sizeof arguments, "%d %s %s", parity_size(), photos[0],
             photos[1]);
    return torchvision_ask("detector", "session/make_detector.py", arguments);
}

/* The largest measured differences of a case. */
struct errors {
    double feature, objectness, deltas; /* relative, as in struct tolerance */
    double proposal, box;               /* pixels */
    double score;
    double mask_iou;       /* of all masks together; NaN: no masks */
    double least_mask_iou; /* of one mask */
    size_t n_proposals, n_stray_proposals, n_boxes, n_stray_boxes;
};

/* Relative to the largest value of the map. */
static double map_error(const struct tensor *got, struct tensor want)
{
    size_t n = tensor_elements(&want);
    double largest = 0, worst = 0;

    CHECK(got != NULL);
    CHECK_INT(tensor_elements(got), n);
    for (size_t i = 0; i < n; i++) {
        double w = tensor_f32(&want)[i], g = tensor_f32(got)[i];

        CHECK(isfinite(g));
        largest = fmax(largest, fabs(w));
        worst = fmax(worst, fabs(w - g));
    }
    tensor_release(&want);
    return worst / largest;
}

static double maps_error(const struct ours *ours,
                         const struct checkpoint *answer, const char *what,
                         const uint32_t values[OURS_LEVELS])
{
    double worst = 0;

    for (int i = 0; i < OURS_LEVELS; i++) {
        char name[24];

        snprintf(name, sizeof name, "%s_%d", what, i);
        worst = fmax(worst, map_error(engine_kept(ours->engine, values[i]),
                                      answer_tensor(answer, ours->pool, name)));
    }
    return worst;
}

/* The largest distance between corners. */
static double box_distance(const float *a, const float *b)
{
    double worst = 0;

    for (int i = 0; i < 4; i++)
        worst = fmax(worst, fabs((double)a[i] - b[i]));
    return worst;
}

/* The box of the other side with the same label that overlaps one most, by more
 * than 0.9; SIZE_MAX: none. */
static size_t find_partner(const struct found *found, size_t i,
                           const struct found *other)
{
    size_t partner = SIZE_MAX;
    double best = 0.9;

    for (size_t k = 0; k < other->n; k++) {
        double iou;

        if (found->labels && found->labels[i] != other->labels[k])
            continue;
        iou = strays_overlap(found->boxes + 4 * i, other->boxes + 4 * k);
        if (iou > best) {
            best = iou;
            partner = k;
        }
    }
    return partner;
}

/* Proposals overlap each other: only one as near as the tolerance is the
 * same. */
static void find_strays(struct found *found, const struct found *other,
                        double tolerance)
{
    for (size_t i = 0; i < found->n; i++) {
        size_t k = find_partner(found, i, other);

        found->is_stray[i] =
            k == SIZE_MAX || box_distance(found->boxes + 4 * i,
                                          other->boxes + 4 * k) > tolerance;
    }
}

/* ---- proposals -------------------------------------------------------- */

/* Our proposals come without the scores they were chosen by. */
static void look_up_scores(const struct ours *ours, const struct tensor *boxes,
                           float *scores)
{
    const struct tensor *all =
        engine_kept(ours->engine, ours->candidates[RPN_NMS_BOXES]);
    const struct tensor *logits =
        engine_kept(ours->engine, ours->candidates[RPN_NMS_LOGITS]);
    size_t n = (size_t)boxes->shape.dims[0], m;

    CHECK(all && logits);
    m = (size_t)all->shape.dims[0];
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < m && memcmp(tensor_f32(boxes) + 4 * i,
                               tensor_f32(all) + 4 * k, 4 * sizeof(float)))
            k++;
        CHECK(k < m);
        scores[i] = 1 / (1 + expf(-tensor_f32(logits)[k]));
    }
}

/* The last score of each level that took part, if it has more. */
static size_t level_cuts(const struct ours *ours, size_t image,
                         double cuts[OURS_LEVELS])
{
    enum { most_of_level = 1000 };
    const struct tensor *counts =
        engine_kept(ours->engine, ours->candidates[RPN_NMS_COUNTS]);
    const float *logits =
        tensor_f32(engine_kept(ours->engine, ours->candidates[RPN_NMS_LOGITS]));
    size_t n = 0, end = 0;

    for (size_t i = 0; i < (image + 1) * OURS_LEVELS; i++) {
        end += (size_t)tensor_i64(counts)[i];
        if (i >= image * OURS_LEVELS && tensor_i64(counts)[i] == most_of_level)
            cuts[n++] = 1 / (1 + exp(-(double)logits[end - 1]));
    }
    return n;
}

static void compare_proposals(struct found *theirs, struct found *ours,
                              const struct cuts *cuts, double tolerance,
                              struct errors *errors)
{
    bool of_theirs[most_proposals], of_ours[most_proposals];
    size_t n = theirs->n > ours->n ? theirs->n - ours->n : ours->n - theirs->n;

    theirs->is_stray = of_theirs;
    ours->is_stray = of_ours;
    CHECK(theirs->n <= most_proposals && ours->n <= most_proposals);
    CHECK(n <= theirs->n / 200);
    find_strays(theirs, ours, tolerance);
    find_strays(ours, theirs, tolerance);
    CHECK_INT(strays_unexplained(theirs, ours, cuts), 0);
    for (size_t i = 0; i < theirs->n; i++) {
        if (theirs->is_stray[i])
            errors->n_stray_proposals++;
        else
            errors->proposal = fmax(
                errors->proposal,
                box_distance(theirs->boxes + 4 * i,
                             ours->boxes + 4 * find_partner(theirs, i, ours)));
    }
    errors->n_proposals += theirs->n;
}

static void check_proposals(const struct ours *ours,
                            const struct checkpoint *answer,
                            const struct tolerance *tolerance, size_t n_images,
                            struct errors *errors)
{
    struct pool *pool = ours->pool;
    struct tensor boxes = answer_tensor(answer, pool, "proposals");
    struct tensor scores = answer_tensor(answer, pool, "proposal_scores");
    struct tensor counts = answer_tensor(answer, pool, "proposal_counts");
    const struct tensor *got =
        engine_kept(ours->engine, ours->proposals[RPN_NMS_PROPOSALS]);
    const struct tensor *kept =
        engine_kept(ours->engine, ours->proposals[RPN_NMS_KEPT]);
    float ours_scores[OURS_MAX_IMAGES * most_proposals];
    size_t at = 0, ours_at = 0;

    CHECK(got && kept);
    CHECK(got->shape.dims[0] <= OURS_MAX_IMAGES * most_proposals);
    look_up_scores(ours, got, ours_scores);
    for (size_t i = 0; i < n_images; i++) {
        double levels[OURS_LEVELS];
        struct found theirs = {.boxes = tensor_f32(&boxes) + 4 * at,
                               .scores = tensor_f32(&scores) + at,
                               .n = (size_t)tensor_i64(&counts)[i]};
        struct found own = {.boxes = tensor_f32(got) + 4 * ours_at,
                            .scores = ours_scores + ours_at,
                            .n = (size_t)tensor_i64(kept)[i]};
        struct cuts cuts = {.iou = 0.7,
                            .keep = most_proposals,
                            .scores = levels,
                            .n_scores = level_cuts(ours, i, levels)};

        compare_proposals(&theirs, &own, &cuts, tolerance->box, errors);
        at += theirs.n;
        ours_at += own.n;
    }
    CHECK(errors->n_stray_proposals <= errors->n_proposals / 200);
    tensor_release(&boxes);
    tensor_release(&scores);
    tensor_release(&counts);
}

/* ---- detections ------------------------------------------------------- */

static void compare_masks(const uint8_t *theirs, const uint8_t *ours,
                          size_t pixels, size_t *both, size_t *either)
{
    *both = *either = 0;
    for (size_t i = 0; i < pixels; i++) {
        *both += theirs[i] && ours[i];
        *either += theirs[i] || ours[i];
    }
}

/* For the first image, whose detections come first. */
static void check_masks(const struct ours *ours,
                        const struct checkpoint *answer, const size_t *partners,
                        struct errors *errors)
{
    struct tensor want = answer_tensor(answer, ours->pool, "masks_0");
    const uint8_t *masks = tensor_data(&want);
    const uint8_t *own = tensor_data(&ours->outputs[4]);
    size_t n = (size_t)want.shape.dims[0], all_both = 0, all_either = 0;
    size_t pixels = (size_t)(want.shape.dims[2] * want.shape.dims[3]);

    CHECK_INT(ours->outputs[4].shape.dims[2], want.shape.dims[2]);
    errors->least_mask_iou = 1;
    for (size_t i = 0; i < n; i++) {
        size_t both, either;

        if (partners[i] == SIZE_MAX)
            continue;
        compare_masks(masks + i * pixels, own + partners[i] * pixels, pixels,
                      &both, &either);
        /* In a small one, two pixels are more than that. */
        CHECK(either - both <= 2 || (double)both >= 0.995 * (double)either);
        if (either)
            errors->least_mask_iou =
                fmin(errors->least_mask_iou, (double)both / (double)either);
        all_both += both;
        all_either += either;
    }
    CHECK(all_either > 0);
    errors->mask_iou = (double)all_both / (double)all_either;
    CHECK(errors->mask_iou >= 0.995);
    tensor_release(&want);
}

/* The order is the same if scores differ by more than rounding. */
static void check_order(const struct found *theirs, const size_t *partners,
                        double tolerance)
{
    for (size_t i = 0; i < theirs->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (partners[i] != SIZE_MAX && partners[k] != SIZE_MAX &&
                theirs->scores[k] - theirs->scores[i] > 2 * tolerance)
                CHECK(partners[k] < partners[i]);
        }
    }
}

static void compare_detections(struct found *theirs, struct found *ours,
                               size_t *partners, struct errors *errors)
{
    static const double score[] = {0.05};
    const struct cuts cuts = {
        .iou = 0.5, .keep = most_detections, .scores = score, .n_scores = 1};
    bool of_theirs[most_detections], of_ours[most_detections];

    CHECK(theirs->n > 20 && theirs->n <= most_detections);
    CHECK(ours->n <= most_detections);
    theirs->is_stray = of_theirs;
    ours->is_stray = of_ours;
    find_strays(theirs, ours, INFINITY);
    find_strays(ours, theirs, INFINITY);
    CHECK_INT(strays_unexplained(theirs, ours, &cuts), 0);
    for (size_t i = 0; i < theirs->n; i++) {
        size_t k = partners[i] = find_partner(theirs, i, ours);

        errors->n_stray_boxes += theirs->is_stray[i];
        if (k == SIZE_MAX)
            continue;
        errors->box = fmax(errors->box, box_distance(theirs->boxes + 4 * i,
                                                     ours->boxes + 4 * k));
        errors->score = fmax(errors->score,
                             fabs((double)theirs->scores[i] - ours->scores[k]));
    }
    errors->n_boxes += theirs->n;
}

static void check_detections(const struct ours *ours,
                             const struct checkpoint *answer,
                             const struct tolerance *tolerance, size_t n_images,
                             struct errors *errors)
{
    struct tensor boxes = answer_tensor(answer, ours->pool, "boxes");
    struct tensor scores = answer_tensor(answer, ours->pool, "scores");
    struct tensor labels = answer_tensor(answer, ours->pool, "labels");
    struct tensor counts = answer_tensor(answer, ours->pool, "counts");
    const struct tensor *outputs = ours->outputs;
    size_t at = 0, ours_at = 0, partners[most_detections];

    for (size_t i = 0; i < n_images; i++) {
        struct found theirs = {.boxes = tensor_f32(&boxes) + 4 * at,
                               .scores = tensor_f32(&scores) + at,
                               .labels = tensor_i64(&labels) + at,
                               .n = (size_t)tensor_i64(&counts)[i]};
        struct found own = {.boxes = tensor_f32(&outputs[0]) + 4 * ours_at,
                            .scores = tensor_f32(&outputs[1]) + ours_at,
                            .labels = tensor_i64(&outputs[2]) + ours_at,
                            .n = (size_t)tensor_i64(&outputs[3])[i]};

        compare_detections(&theirs, &own, partners, errors);
        check_order(&theirs, partners, tolerance->score);
        if (i == 0 && graph_output_count(ours->graph) > 4)
            check_masks(ours, answer, partners, errors);
        at += theirs.n;
        ours_at += own.n;
    }
    CHECK(errors->n_stray_boxes <= errors->n_boxes / 200);
    tensor_release(&boxes);
    tensor_release(&scores);
    tensor_release(&labels);
    tensor_release(&counts);
}

/* ---- cases ------------------------------------------------------------ */

/* The answers come from MODEL_IMAGES.safetensors. */
struct parity_case {
    const char *model, *images;
    const char *weights; /* NULL: MODEL.pth */
    bool is_plain;
    int n_threads;
};

static struct ours open_case(const struct parity_case *c,
                             enum precision precision, int64_t n_images)
{
    const char *folder = detector_folder();
    struct ours_setup setup = {.build = model_defaults(),
                               .is_plain = c->is_plain,
                               .n_threads = c->n_threads,
                               .precision = precision};
    char model[32], weights[1024];

    snprintf(model, sizeof model, "%s-rcnn", c->model);
    if (c->weights)
        snprintf(weights, sizeof weights, "%s/%s", folder, c->weights);
    else
        snprintf(weights, sizeof weights, "%s/%s.pth", folder, c->model);
    setup.model = model;
    setup.weights = weights;
    setup.build.n_images = n_images;
    setup.build.min_size = parity_size();
    setup.build.max_size = parity_size() * 1333 / 800;
    setup.build.norm_eps = weights_norm_eps(weights);
    return ours_open(&setup);
}

static void print_errors(const struct parity_case *c,
                         const struct errors *errors)
{
    if (!getenv("ASSAY_PARITY_SIZE"))
        return;
    printf("%s %s, %s, %d threads: features %.1e, objectness %.1e, deltas "
           "%.1e, proposals %.1e px (%zu of %zu stray), boxes %.1e px (%zu of "
           "%zu stray), scores %.1e, mask IoU %.5f (least %.5f)\n",
           c->model, c->images, c->is_plain ? "plain" : "optimised",
           c->n_threads, errors->feature, errors->objectness, errors->deltas,
           errors->proposal, errors->n_stray_proposals, errors->n_proposals,
           errors->box, errors->n_stray_boxes, errors->n_boxes, errors->score,
           errors->mask_iou, errors->least_mask_iou);
    fflush(stdout);
}

static void check_case(struct parity_case c)
{
    const struct tolerance *tolerance = c.is_plain ? &plain : &optimised;
    size_t n_images = strcmp(c.images, "batch") == 0 ? n_photos : 1;
    struct errors errors = {.mask_iou = NAN, .least_mask_iou = NAN};
    struct ours ours = open_case(&c, PRECISION_AUTO, (int64_t)n_images);
    struct checkpoint *answer;
    char name[64];

    snprintf(name, sizeof name, "%s_%s", c.model, c.images);
    answer = answer_open(detector_folder(), name);
    ours_run(&ours, answer, (int64_t)n_images);
    errors.feature = maps_error(&ours, answer, "feature", ours.features);
    errors.objectness =
        maps_error(&ours, answer, "objectness", ours.objectness);
    errors.deltas = maps_error(&ours, answer, "deltas", ours.deltas);
    check_proposals(&ours, answer, tolerance, n_images, &errors);
    check_detections(&ours, answer, tolerance, n_images, &errors);
    print_errors(&c, &errors);
    CHECK_NEAR(errors.feature, 0, tolerance->feature);
    CHECK_NEAR(errors.objectness, 0, tolerance->feature);
    CHECK_NEAR(errors.deltas, 0, tolerance->feature);
    CHECK_NEAR(errors.box, 0, tolerance->box);
    CHECK_NEAR(errors.score, 0, tolerance->score);
    checkpoint_free(answer);
    ours_close(&ours);
}

/* The share of torchvision's detections that are ours, too: the same class, an
 * IoU of 0.95. */
static double found_share(const struct ours *ours,
                          const struct checkpoint *answer)
{
    struct tensor boxes = answer_tensor(answer, ours->pool, "boxes");
    struct tensor labels = answer_tensor(answer, ours->pool, "labels");
    struct found theirs = {.boxes = tensor_f32(&boxes),
                           .labels = tensor_i64(&labels),
                           .n = tensor_elements(&labels)};
    struct found own = {.boxes = tensor_f32(&ours->outputs[DETECTOR_BOXES]),
                        .labels = tensor_i64(&ours->outputs[DETECTOR_LABELS]),
                        .n = tensor_elements(&ours->outputs[DETECTOR_LABELS])};
    size_t n = 0;

    CHECK(theirs.n > 20);
    for (size_t i = 0; i < theirs.n; i++) {
        size_t k = find_partner(&theirs, i, &own);

        n += k != SIZE_MAX &&
             strays_overlap(theirs.boxes + 4 * i, own.boxes + 4 * k) >= 0.95;
    }
    tensor_release(&boxes);
    tensor_release(&labels);
    return (double)n / (double)theirs.n;
}

/* Both photographs in turn, with 1, 2 and 4 threads. */
static void check_threads(const char *model, bool is_plain)
{
    check_case((struct parity_case){model, "0", NULL, is_plain, 1});
    check_case((struct parity_case){model, "1", NULL, is_plain, 2});
    check_case((struct parity_case){model, "0", NULL, is_plain, 4});
}

TEST(plain_faster_rcnn_matches_torchvision)
{
    check_threads("faster", true);
}

TEST(optimised_faster_rcnn_matches_torchvision)
{
    check_threads("faster", false);
}

/* Scores of weights that nobody trained lie so near each other that rounding
 * decides which of two overlapping boxes stays. */
TEST(bf16_finds_most_of_what_torchvision_does)
{
    static const struct parity_case c = {"faster", "0", NULL, false, 2};
    struct ours ours = open_case(&c, PRECISION_BF16, 1);
    struct checkpoint *answer = answer_open(detector_folder(), "faster_0");
    double feature, share;

    ours_run(&ours, answer, 1);
    feature = maps_error(&ours, answer, "feature", ours.features);
    share = found_share(&ours, answer);
    if (getenv("ASSAY_PARITY_SIZE"))
        printf("bf16: features %.1e, %.0f %% found\n", feature, share * 100);
    CHECK_NEAR(feature, 0, 0.06);
    CHECK(share >= 0.7);
    checkpoint_free(answer);
    ours_close(&ours);
}

TEST(weights_in_the_older_format_give_the_same)
{
    check_case(
        (struct parity_case){"faster", "0", "faster_legacy.pth", true, 2});
}

TEST(images_of_different_sizes_share_a_batch)
{
    check_case((struct parity_case){"faster", "batch", NULL, true, 2});
    check_case((struct parity_case){"faster", "batch", NULL, false, 2});
}

TEST(mask_rcnn_matches_torchvision)
{
    check_threads("mask", true);
    check_threads("mask", false);
}

TEST(published_weights_have_old_names_and_norms_that_add_nothing)
{
    check_case((struct parity_case){"faster", "published",
                                    "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth",
                                    true, 2});
    check_case((struct parity_case){"mask", "published",
                                    "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth",
                                    false, 2});
}

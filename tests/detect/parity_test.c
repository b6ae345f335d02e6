/* Our engine against torchvision: the same weights, the same images, the same
 * answers. make_detector.py asks torchvision. */
#include "formats/published.h"
#include "ours.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { size = 224, max_size = 224 * 1333 / 800, n_photos = 2 };

/* What may differ, by the mode. Winograd's convolutions round differently. */
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
    snprintf(arguments, sizeof arguments, "%d %s %s", size, photos[0],
             photos[1]);
    return torchvision_ask("detector", "make_detector.py", arguments);
}

static void check_map(const struct tensor *got, struct tensor want,
                      double tolerance, const char *name)
{
    size_t n = tensor_elements(&want);
    double largest = 0, worst = 0;

    CHECK(got != NULL);
    CHECK_INT(tensor_elements(got), n);
    for (size_t i = 0; i < n; i++) {
        double w = tensor_f32(&want)[i], g = tensor_f32(got)[i];

        largest = fmax(largest, fabs(w));
        worst = fmax(worst, fabs(w - g));
    }
    if (!(worst <= tolerance * largest)) {
        print_error("%s differs by %g of %g\n", name, worst, largest);
        fail();
    }
    tensor_release(&want);
}

static double overlap(const float *a, const float *b)
{
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]);
    double h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    double both = w > 0 && h > 0 ? w * h : 0;
    double one = ((double)a[2] - a[0]) * ((double)a[3] - a[1]);
    double other = ((double)b[2] - b[0]) * ((double)b[3] - b[1]);

    return both > 0 ? both / (one + other - both) : 0;
}

/* How many boxes have no partner within the tolerance in every corner. */
static size_t count_strays(const float *boxes, size_t n, const float *others,
                           size_t m, double tolerance)
{
    size_t strays = 0;

    for (size_t i = 0; i < n; i++) {
        bool has_partner = false;

        for (size_t k = 0; !has_partner && k < m; k++) {
            has_partner = true;
            for (int c = 0; c < 4; c++)
                has_partner &= fabsf(boxes[4 * i + (size_t)c] -
                                     others[4 * k + (size_t)c]) <= tolerance;
        }
        strays += !has_partner;
    }
    return strays;
}

static void check_proposals(const struct ours *ours,
                            const struct checkpoint *answer,
                            const struct tolerance *tolerance)
{
    struct tensor want = answer_tensor(answer, ours->pool, "proposals");
    const struct tensor *got =
        engine_kept(ours->engine, ours->proposals[RPN_NMS_PROPOSALS]);
    size_t n = (size_t)want.shape.dims[0], m;

    CHECK(got != NULL);
    m = (size_t)got->shape.dims[0];
    CHECK_INT(m, n);
    /* At most 0.5 % may lack a partner: those near a threshold. */
    CHECK(count_strays(tensor_f32(&want), n, tensor_f32(got), m,
                       tolerance->box) <= n / 200);
    tensor_release(&want);
}

/* Which of our detections each of torchvision's is: the same label, the best
 * overlap. */
struct pairing {
    size_t of[256]; /* SIZE_MAX: it has none */
    size_t n_strays;
};

static struct pairing pair_up(const struct ours *ours,
                              const struct tensor *boxes,
                              const struct tensor *labels, size_t n)
{
    const float *ours_boxes = tensor_f32(&ours->outputs[0]);
    const int64_t *ours_labels = tensor_i64(&ours->outputs[2]);
    size_t m = (size_t)ours->outputs[0].shape.dims[0];
    struct pairing pairing = {.n_strays = 0};

    for (size_t i = 0; i < n; i++) {
        double best = 0.9;

        pairing.of[i] = SIZE_MAX;
        for (size_t k = 0; k < m; k++) {
            double iou = overlap(tensor_f32(boxes) + 4 * i, ours_boxes + 4 * k);

            if (ours_labels[k] == tensor_i64(labels)[i] && iou > best) {
                best = iou;
                pairing.of[i] = k;
            }
        }
        pairing.n_strays += pairing.of[i] == SIZE_MAX;
    }
    return pairing;
}

static void check_pairs(const struct ours *ours, const struct pairing *pairing,
                        const struct tensor *boxes, const struct tensor *scores,
                        size_t n, const struct tolerance *tolerance)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = pairing->of[i];

        if (k == SIZE_MAX)
            continue;
        CHECK_NEAR(tensor_f32(&ours->outputs[1])[k], tensor_f32(scores)[i],
                   tolerance->score);
        for (size_t c = 0; c < 4; c++)
            CHECK_NEAR(tensor_f32(&ours->outputs[0])[4 * k + c],
                       tensor_f32(boxes)[4 * i + c], tolerance->box);
        /* The order is the same where scores differ by more than rounding. */
        for (size_t j = 0; j < i; j++) {
            if (pairing->of[j] != SIZE_MAX &&
                tensor_f32(scores)[j] - tensor_f32(scores)[i] >
                    2 * tolerance->score &&
                n <= 100)
                CHECK(pairing->of[j] < k);
        }
    }
}

static void check_masks(const struct ours *ours,
                        const struct checkpoint *answer,
                        const struct pairing *pairing)
{
    struct tensor want = answer_tensor(answer, ours->pool, "masks_0");
    size_t n = (size_t)want.shape.dims[0];
    size_t pixels = (size_t)(want.shape.dims[2] * want.shape.dims[3]);
    size_t both = 0, either = 0;

    CHECK_INT(ours->outputs[4].shape.dims[2], want.shape.dims[2]);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *a = (uint8_t *)tensor_data(&want) + i * pixels, *b;

        if (pairing->of[i] == SIZE_MAX)
            continue;
        b = (uint8_t *)tensor_data(&ours->outputs[4]) + pairing->of[i] * pixels;
        for (size_t k = 0; k < pixels; k++) {
            both += a[k] && b[k];
            either += a[k] || b[k];
        }
    }
    CHECK(either > 0);
    CHECK((double)both / (double)either >= 0.995);
    tensor_release(&want);
}

static void check_detections(const struct ours *ours,
                             const struct checkpoint *answer,
                             const struct tolerance *tolerance, bool has_masks)
{
    struct tensor boxes = answer_tensor(answer, ours->pool, "boxes");
    struct tensor scores = answer_tensor(answer, ours->pool, "scores");
    struct tensor labels = answer_tensor(answer, ours->pool, "labels");
    size_t n = (size_t)boxes.shape.dims[0];
    struct pairing pairing;

    CHECK(n > 20 && n <= 256);
    pairing = pair_up(ours, &boxes, &labels, n);
    CHECK(pairing.n_strays <= n / 200);
    check_pairs(ours, &pairing, &boxes, &scores, n, tolerance);
    if (has_masks)
        check_masks(ours, answer, &pairing);
    tensor_release(&boxes);
    tensor_release(&scores);
    tensor_release(&labels);
}

static void check_maps(const struct ours *ours, const struct checkpoint *answer,
                       const char *what, const uint32_t values[OURS_LEVELS],
                       double tolerance)
{
    for (int i = 0; i < OURS_LEVELS; i++) {
        char name[24];

        snprintf(name, sizeof name, "%s_%d", what, i);
        check_map(engine_kept(ours->engine, values[i]),
                  answer_tensor(answer, ours->pool, name), tolerance, name);
    }
}

/* The answers are those of MODEL_IMAGES.safetensors. */
struct parity_case {
    const char *model, *images;
    const char *weights; /* NULL: MODEL.pth */
    bool is_plain;
    int n_threads;
};

static struct ours open_case(const struct parity_case *c, int64_t n_images)
{
    const char *folder = detector_folder();
    struct ours_setup setup = {.build = model_defaults(),
                               .is_plain = c->is_plain,
                               .n_threads = c->n_threads};
    char model[32], weights[1024];

    snprintf(model, sizeof model, "%s-rcnn", c->model);
    if (c->weights)
        snprintf(weights, sizeof weights, "%s/%s", folder, c->weights);
    else
        snprintf(weights, sizeof weights, "%s/%s.pth", folder, c->model);
    setup.model = model;
    setup.weights = weights;
    setup.build.n_images = n_images;
    setup.build.min_size = size;
    setup.build.max_size = max_size;
    setup.build.norm_eps = weights_norm_eps(weights);
    return ours_open(&setup);
}

static void check_case(struct parity_case c)
{
    const struct tolerance *tolerance = c.is_plain ? &plain : &optimised;
    bool is_batch = strcmp(c.images, "batch") == 0;
    int64_t n_images = is_batch ? n_photos : 1;
    struct ours ours = open_case(&c, n_images);
    struct checkpoint *answer;
    char name[64];

    snprintf(name, sizeof name, "%s_%s", c.model, c.images);
    answer = answer_open(detector_folder(), name);
    ours_run(&ours, answer, n_images);
    check_maps(&ours, answer, "feature", ours.features, tolerance->feature);
    check_maps(&ours, answer, "objectness", ours.objectness,
               tolerance->feature);
    check_maps(&ours, answer, "deltas", ours.deltas, tolerance->feature);
    check_proposals(&ours, answer, tolerance);
    check_detections(&ours, answer, tolerance,
                     strcmp(c.model, "mask") == 0 && !is_batch);
    checkpoint_free(answer);
    ours_close(&ours);
}

TEST(faster_rcnn_plain_answers_as_torchvision_does)
{
    check_case((struct parity_case){"faster", "0", NULL, true, 2});
    check_case((struct parity_case){"faster", "1", NULL, true, 1});
}

TEST(faster_rcnn_optimised_answers_as_torchvision_does)
{
    check_case((struct parity_case){"faster", "0", NULL, false, 1});
    check_case((struct parity_case){"faster", "1", NULL, false, 2});
    check_case((struct parity_case){"faster", "1", NULL, false, 4});
}

TEST(weights_of_the_older_format_give_the_same)
{
    check_case(
        (struct parity_case){"faster", "0", "faster_legacy.pth", true, 2});
}

TEST(images_of_different_sizes_share_a_batch)
{
    check_case((struct parity_case){"faster", "batch", NULL, true, 2});
    check_case((struct parity_case){"faster", "batch", NULL, false, 2});
}

TEST(mask_rcnn_answers_as_torchvision_does)
{
    check_case((struct parity_case){"mask", "0", NULL, true, 2});
    check_case((struct parity_case){"mask", "1", NULL, false, 2});
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

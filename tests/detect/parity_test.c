/* Our engine against torchvision: the same weights, the same images, the same
 * answers. make_detector.py asks torchvision. */
#include "backend/backend.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "formats/checkpoint.h"
#include "formats/load_weights.h"
#include "models/models.h"
#include "ops/fuse.h"
#include "ops/ops.h"
#include "ops/rpn_nms.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { size = 224, max_size = 224 * 1333 / 800, n_photos = 2, n_levels = 5 };
enum { no_torch = 77, no_python = 127 };

static struct error err;

/* What may differ, by the mode. Winograd's convolutions round differently. */
struct tolerance {
    double feature; /* relative to the largest value of a map */
    double box;     /* pixels */
    double score;
};

static const struct tolerance plain = {1e-4, 0.05, 1e-4};
static const struct tolerance optimised = {5e-4, 0.1, 5e-4};

/* Runs torchvision once; SKIPs where it is missing. */
static const char *torchvision_folder(void)
{
    static char folder[512];
    const char *photos[] = {test_shared("photos/skimage/coffee.png"),
                            test_shared("photos/darknet/dog.jpg")};
    char command[4096];
    int status;

    if (folder[0])
        return folder;
    if (!photos[0] || !photos[1])
        SKIP("parity with torchvision: ../shared/data/photos is missing");
    snprintf(folder, sizeof folder, "%s", test_path("torchvision"));
    CHECK_INT(mkdir(folder, 0777), 0);
    snprintf(command, sizeof command,
             "/usr/bin/python3 %s/tests/detect/make_detector.py %s %d %s %s",
             TEST_SOURCE_DIR, folder, size, photos[0], photos[1]);
    status = system(command);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_python)) {
        folder[0] = '\0';
        SKIP("parity with torchvision: python3-torchvision is missing");
    }
    CHECK_INT(status, 0);
    return folder;
}

/* ---- what torchvision answered ---------------------------------------- */

static struct checkpoint *open_answer(const char *model, const char *images)
{
    struct checkpoint *answer;
    char path[1024];

    snprintf(path, sizeof path, "%s/%s_%s.safetensors", torchvision_folder(),
             model, images);
    CHECK_STATUS(checkpoint_open(path, &answer, &err), ASSAY_OK, &err);
    return answer;
}

static struct tensor answer_tensor(const struct checkpoint *answer,
                                   struct pool *pool, const char *name)
{
    struct tensor tensor;
    size_t i;

    if (!checkpoint_find(answer, name, &i)) {
        print_error("torchvision gave no %s\n", name);
        fail();
    }
    CHECK_STATUS(checkpoint_load(answer, i, pool, &tensor, &err), ASSAY_OK,
                 &err);
    return tensor;
}

/* ---- our run ---------------------------------------------------------- */

struct ours {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct tensor outputs[8];
    uint32_t features[n_levels], proposals[2];
};

static void find_values(struct ours *ours)
{
    for (size_t i = 0; i < graph_node_count(ours->graph); i++) {
        const struct node *node = graph_node(ours->graph, i);

        if (node->op == &op_anchor_grid)
            memcpy(ours->features, node->inputs + 1, sizeof ours->features);
        if (node->op == &op_rpn_nms)
            memcpy(ours->proposals, node->outputs, sizeof ours->proposals);
    }
    for (int i = 0; i < n_levels; i++)
        CHECK_INT(engine_keep(ours->engine, ours->features[i], &err), 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(engine_keep(ours->engine, ours->proposals[i], &err), 0);
}

static struct ours open_ours(const char *model, const char *weights,
                             int64_t n_images, bool is_plain, int n_threads)
{
    struct model_options options = model_defaults();
    struct engine_options engine = {
        .backend = backend_best(),
        .backend_options = {.n_threads = n_threads,
                            .is_plain = is_plain,
                            .tuning_seconds = 0.2},
    };
    struct ours ours = {0};
    char name[32], path[1024];

    err = (struct error){0};
    options.n_images = n_images;
    options.min_size = size;
    options.max_size = max_size;
    snprintf(name, sizeof name, "%s-rcnn", model);
    snprintf(path, sizeof path, "%s/%s.pth", torchvision_folder(), weights);
    CHECK_INT(pool_new(&ours.pool, &err), ASSAY_OK);
    CHECK_STATUS(model_build(name, &options, &ours.graph, &err), 0, &err);
    CHECK_STATUS(
        weights_load_file(ours.graph, path, ours.pool, NULL, NULL, &err),
        ASSAY_OK, &err);
    if (!is_plain)
        CHECK_STATUS(fuse_graph(ours.graph, ours.pool, &err), 0, &err);
    CHECK_STATUS(engine_new(ours.graph, ours.pool, &engine, &ours.engine, &err),
                 ASSAY_OK, &err);
    find_values(&ours);
    return ours;
}

static void run_ours(struct ours *ours, const struct checkpoint *answer,
                     int64_t n_images)
{
    struct tensor images[n_photos];

    for (int64_t i = 0; i < n_images; i++) {
        char name[16];

        snprintf(name, sizeof name, "image_%d", (int)i);
        images[i] = answer_tensor(answer, ours->pool, name);
    }
    CHECK_STATUS(engine_run(ours->engine, images, ours->outputs, &err),
                 ASSAY_OK, &err);
    for (int64_t i = 0; i < n_images; i++)
        tensor_release(&images[i]);
}

static void close_ours(struct ours *ours)
{
    for (size_t i = 0; i < graph_output_count(ours->graph); i++)
        tensor_release(&ours->outputs[i]);
    engine_free(ours->engine);
    graph_free(ours->graph);
    pool_free(ours->pool);
}

/* ---- comparing -------------------------------------------------------- */

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
    const struct tensor *got = engine_kept(ours->engine, ours->proposals[0]);
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
                       tensor_f32(boxes)[4 * i + c], 4 * tolerance->box);
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
    CHECK(pairing.n_strays <= 1 + n / 200);
    check_pairs(ours, &pairing, &boxes, &scores, n, tolerance);
    if (has_masks)
        check_masks(ours, answer, &pairing);
    tensor_release(&boxes);
    tensor_release(&scores);
    tensor_release(&labels);
}

static void check_case(const char *model, const char *weights,
                       const char *images, bool is_plain, int n_threads)
{
    const struct tolerance *tolerance = is_plain ? &plain : &optimised;
    bool is_batch = strcmp(images, "batch") == 0;
    int64_t n_images = is_batch ? n_photos : 1;
    struct ours ours = open_ours(model, weights, n_images, is_plain, n_threads);
    struct checkpoint *answer = open_answer(model, images);

    run_ours(&ours, answer, n_images);
    for (int i = 0; i < n_levels; i++) {
        char name[16];

        snprintf(name, sizeof name, "feature_%d", i);
        check_map(engine_kept(ours.engine, ours.features[i]),
                  answer_tensor(answer, ours.pool, name), tolerance->feature,
                  name);
    }
    check_proposals(&ours, answer, tolerance);
    check_detections(&ours, answer, tolerance,
                     strcmp(model, "mask") == 0 && !is_batch);
    checkpoint_free(answer);
    close_ours(&ours);
}

TEST(faster_rcnn_plain_answers_as_torchvision_does)
{
    check_case("faster", "faster", "0", true, 2);
    check_case("faster", "faster", "1", true, 1);
}

TEST(faster_rcnn_optimised_answers_as_torchvision_does)
{
    check_case("faster", "faster", "0", false, 1);
    check_case("faster", "faster", "1", false, 2);
    check_case("faster", "faster", "1", false, 4);
}

TEST(weights_of_the_older_format_give_the_same)
{
    check_case("faster", "faster_legacy", "0", true, 2);
}

TEST(images_of_different_sizes_share_a_batch)
{
    check_case("faster", "faster", "batch", true, 2);
    check_case("faster", "faster", "batch", false, 2);
}

TEST(mask_rcnn_answers_as_torchvision_does)
{
    check_case("mask", "mask", "0", true, 2);
    check_case("mask", "mask", "1", false, 2);
}

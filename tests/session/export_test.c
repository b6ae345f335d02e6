/* Torchvision's own ONNX exports of its detectors, made now, find what our
 * builders of the same models find. */
#include "formats/onnx/onnx.h"
#include "formats/weights/published.h"
#include "ops/ops.h"
#include "ours.h"
#include "passes/fuse.h"
#include "strays.h"
#include "test.h"

#include "backend/backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { size = 224, most_detections = 100 };
enum { BOXES, LABELS, SCORES, MASKS, n_exported }; /* of the exports */

static struct error err;

static const char *export_folder(void)
{
    const char *photo = test_shared("photos/skimage/coffee.png");
    char arguments[1024];

    if (!photo)
        SKIP("exports of torchvision: ../shared/data/photos is missing");
    snprintf(arguments, sizeof arguments, "%d %s", size, photo);
    return torchvision_ask("export", "session/make_export.py", arguments);
}

/* Runs an export on the image; the caller releases the outputs. */
static void run_export(const char *path, const struct tensor *image,
                       struct pool *pool, struct tensor *outputs)
{
    struct engine_options options = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 2, .is_plain = true}};
    struct graph *graph;
    struct engine *engine;

    err = (struct error){0};
    CHECK_STATUS(
        onnx_load(path, &(struct model_file_options){0}, pool, &graph, &err),
        ASSAY_OK, &err);
    for (size_t i = 0; i < graph_node_count(graph);
         i++) /* slow where they are */
        CHECK(graph_node(graph, i)->op != &op_gemm);
    CHECK_STATUS(fuse_graph(graph, pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, image, outputs, &err), ASSAY_OK, &err);
    engine_free(engine);
    graph_free(graph);
}

/* The box of the other side with the same label that overlaps most. */
static size_t find_partner(const struct found *found, size_t i,
                           const struct found *other)
{
    size_t partner = SIZE_MAX;
    double best = 0.9;

    for (size_t k = 0; k < other->n; k++) {
        double iou;

        if (found->labels[i] != other->labels[k])
            continue;
        iou = strays_overlap(found->boxes + 4 * i, other->boxes + 4 * k);
        if (iou > best) {
            best = iou;
            partner = k;
        }
    }
    return partner;
}

/* Every box has its partner, or rounding explains why not. */
static void check_found(struct found *theirs, struct found *ours)
{
    bool their_strays[most_detections], our_strays[most_detections];
    struct cuts cuts = {.iou = 0.5, .keep = most_detections};
    double box = 0, score = 0;
    size_t n_strays = 0;

    theirs->is_stray = their_strays;
    ours->is_stray = our_strays;
    CHECK(theirs->n > 10 && theirs->n <= most_detections);
    for (size_t i = 0; i < ours->n; i++)
        our_strays[i] = find_partner(ours, i, theirs) == SIZE_MAX;
    for (size_t i = 0; i < theirs->n; i++) {
        size_t k = find_partner(theirs, i, ours);

        their_strays[i] = k == SIZE_MAX;
        n_strays += k == SIZE_MAX;
        if (k == SIZE_MAX)
            continue;
        score = fmax(score, fabs((double)theirs->scores[i] - ours->scores[k]));
        for (int c = 0; c < 4; c++)
            box = fmax(box, fabs((double)theirs->boxes[4 * i + (size_t)c] -
                                 ours->boxes[4 * k + (size_t)c]));
    }
    print_message("%zu boxes, %zu strays, box %.4f px, score %.2g\n", theirs->n,
                  n_strays, box, score);
    CHECK(box < 0.05);
    CHECK(score < 1e-4);
    CHECK_INT(strays_unexplained(theirs, ours, &cuts), 0);
}

/* The shares of the picture that only one side's mask covers, summed over boxes
 * that are the same on both. */
static void check_masks(const struct tensor *exported, const struct ours *ours)
{
    const float *theirs = tensor_f32(exported);
    size_t n = (size_t)exported->shape.dims[0];
    size_t plane = n ? tensor_elements(exported) / n : 0, differ = 0;
    const struct tensor *masks = &ours->outputs[4];

    CHECK_INT(tensor_elements(masks), tensor_elements(exported));
    for (size_t i = 0; i < n * plane; i++) {
        bool a = theirs[i] > 0.5f;
        bool b = masks->dtype == DTYPE_F32
                     ? tensor_f32(masks)[i] > 0.5f
                     : ((const uint8_t *)tensor_data(masks))[i] != 0;

        differ += a != b;
    }
    print_message("%zu of %zu mask pixels differ\n", differ, n * plane);
    CHECK((double)differ < 1e-4 * (double)(n * plane));
}

static void check_export(const char *name, const char *model, bool has_masks)
{
    const char *folder = export_folder();
    struct tensor outputs[n_exported] = {{0}}, image;
    struct checkpoint *answer = answer_open(folder, "image");
    struct ours_setup setup = {.model = model,
                               .build = model_defaults(),
                               .is_plain = true,
                               .n_threads = 2};
    struct found theirs, found;
    struct ours ours;
    char onnx[600], weights[600];

    snprintf(onnx, sizeof onnx, "%s/%s.onnx", folder, name);
    snprintf(weights, sizeof weights, "%s/%s.pth", folder, name);
    setup.weights = weights;
    setup.build.norm_eps = weights_norm_eps(weights);
    setup.build.n_images = 1;
    setup.build.min_size = size;
    setup.build.max_size = size * 1333 / 800;
    ours = ours_open(&setup);
    ours_run(&ours, answer, 1);
    image = answer_tensor(answer, ours.pool, "image_0");
    run_export(onnx, &image, ours.pool, outputs);
    theirs = (struct found){.boxes = tensor_f32(&outputs[BOXES]),
                            .scores = tensor_f32(&outputs[SCORES]),
                            .labels = tensor_i64(&outputs[LABELS]),
                            .n = tensor_elements(&outputs[SCORES])};
    found = (struct found){.boxes = tensor_f32(&ours.outputs[0]),
                           .scores = tensor_f32(&ours.outputs[1]),
                           .labels = tensor_i64(&ours.outputs[2]),
                           .n = tensor_elements(&ours.outputs[1])};
    check_found(&theirs, &found);
    if (has_masks)
        check_masks(&outputs[MASKS], &ours);
    for (int i = 0; i < n_exported; i++)
        tensor_release(&outputs[i]);
    tensor_release(&image);
    checkpoint_free(answer);
    ours_close(&ours);
}

TEST(an_export_of_faster_rcnn_finds_what_ours_finds)
{
    check_export("faster", "fasterrcnn_resnet50_fpn", false);
}

TEST(an_export_of_mask_rcnn_finds_what_ours_finds)
{
    check_export("mask", "maskrcnn_resnet50_fpn", true);
}

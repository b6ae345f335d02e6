/* tests/ops/torchvision_ops_test.c - the detection ops against torchvision, on
 * random inputs that make_torchvision_ops.py writes with its outputs. */
#include "base/error.h"
#include "op_run.h"
#include "ops/detection/anchor_grid.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/boxes.h"
#include "ops/detection/detection_transform.h"
#include "ops/detection/mask_ops.h"
#include "ops/detection/roi_align.h"
#include "ops/detection/rpn_decode.h"
#include "ops/detection/rpn_nms.h"
#include "ops/detection/rpn_top_k.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { golden_version = 1, max_golden = 256 };

struct golden {
    char name[64];
    struct tensor tensor;
};

static struct golden goldens[max_golden];
static size_t n_goldens;

static void read_exactly(void *to, size_t n, FILE *file)
{
    CHECK_INT(fread(to, 1, n, file), n);
}

static uint32_t read_u32(FILE *file)
{
    uint32_t value;

    read_exactly(&value, sizeof value, file);
    return value;
}

static void read_tensor(struct golden *golden, FILE *file)
{
    uint32_t length = read_u32(file), dtype;
    struct shape shape;

    CHECK(length < sizeof golden->name);
    read_exactly(golden->name, length, file);
    dtype = read_u32(file);
    shape = (struct shape){.rank = (int)read_u32(file)};
    CHECK(shape.rank <= SHAPE_MAX_RANK);
    read_exactly(shape.dims, (size_t)shape.rank * sizeof *shape.dims, file);
    golden->tensor = op_tensor((enum dtype)dtype, shape, NULL);
    read_exactly(tensor_data(&golden->tensor), tensor_bytes(&golden->tensor),
                 file);
}

static void read_goldens(const char *path)
{
    FILE *file = fopen(path, "rb");
    char magic[8];
    uint64_t seed;
    uint32_t n;

    CHECK(file != NULL);
    read_exactly(magic, sizeof magic, file);
    CHECK(memcmp(magic, "ASSAYGLD", sizeof magic) == 0);
    CHECK_INT(read_u32(file), golden_version);
    read_exactly(&seed, sizeof seed, file);
    n = read_u32(file);
    CHECK(n <= max_golden);
    for (; n_goldens < n; n_goldens++)
        read_tensor(&goldens[n_goldens], file);
    fclose(file);
}

enum { no_torchvision = 77, no_python = 127 };

static void make_goldens(void)
{
    static const char script[] =
        TEST_SOURCE_DIR "/tests/ops/make_torchvision_ops.py";
    const char *path = test_path("torchvision_ops.bin");
    char command[2048];
    int status;

    if (n_goldens)
        return;
    snprintf(command, sizeof command, "/usr/bin/python3 %s %s", script, path);
    status = system(command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == no_torchvision ||
                              WEXITSTATUS(status) == no_python))
        SKIP("torchvision: /usr/bin/python3 has no torchvision (Debian: "
             "python3-torchvision)");
    CHECK_INT(status, 0);
    read_goldens(path);
}

/* NULL if there is none. */
static struct tensor *find_golden(const char *format, int number,
                                  const char *part)
{
    char name[64];

    snprintf(name, sizeof name, "%s.%d.%s", format, number, part);
    for (size_t i = 0; i < n_goldens; i++) {
        if (strcmp(goldens[i].name, name) == 0)
            return &goldens[i].tensor;
    }
    return NULL;
}

static const struct tensor *golden(const char *kind, int number,
                                   const char *part)
{
    const struct tensor *found = find_golden(kind, number, part);

    if (!found)
        print_error("no %s.%d.%s\n", kind, number, part);
    CHECK(found != NULL);
    return found;
}

/* part.0, part.1 ...; how many there are. */
static size_t golden_list(const char *kind, int number, const char *part,
                          const struct tensor **list)
{
    char name[32];
    size_t n = 0;

    for (;; n++) {
        snprintf(name, sizeof name, "%s.%zu", part, n);
        list[n] = find_golden(kind, number, name);
        if (!list[n])
            return n;
    }
}

static void check_shape(const struct tensor *got, const struct tensor *want)
{
    char got_text[64], want_text[64];

    CHECK_STR(shape_text(&got->shape, got_text, sizeof got_text),
              shape_text(&want->shape, want_text, sizeof want_text));
    CHECK_INT(got->dtype, want->dtype);
}

/* Within 1e-5 of the largest value, plus `more`. */
static void check_near(const struct tensor *got, const struct tensor *want,
                       double more)
{
    size_t n = tensor_elements(want);
    double most = 0, worst = 0;

    check_shape(got, want);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)tensor_f32(want)[i]));
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)tensor_f32(got)[i] -
                                 (double)tensor_f32(want)[i]));
    CHECK_NEAR(worst, 0, 1e-5 * most + more);
}

static void check_floats(const struct tensor *got, const struct tensor *want)
{
    check_near(got, want, 0);
}

static void check_integers(const struct tensor *got, const struct tensor *want)
{
    CHECK_INT(tensor_elements(got), tensor_elements(want));
    for (size_t i = 0; i < tensor_elements(want); i++)
        CHECK_INT(tensor_i64(got)[i], tensor_i64(want)[i]);
}

static struct detection_transform_attrs transform_attrs(int64_t min_size,
                                                        int64_t max_size)
{
    return (struct detection_transform_attrs){
        .min_size = min_size,
        .max_size = max_size,
        .size_divisible = 32,
        .mean = {0.485F, 0.456F, 0.406F},
        .std = {0.229F, 0.224F, 0.225F},
    };
}

/* How much two versions of PyTorch may differ: a place in the image is computed
 * in float32, with or without a fused multiply-add (2.6 has one), so it is
 * exact to a rounding of the longest side. Neighbours differ by up to 1, which
 * is then divided by the smallest deviation. */
static double rounded_places(const struct tensor *const *images, size_t n)
{
    int64_t longest = 1;

    for (size_t i = 0; i < n; i++) {
        for (int k = 1; k < 3; k++) {
            if (images[i]->shape.dims[k] > longest)
                longest = images[i]->shape.dims[k];
        }
    }
    return (double)longest * FLT_EPSILON / 0.224;
}

TEST(images_are_resized_and_batched_as_torchvision_does)
{
    int k;

    make_goldens();
    for (k = 0; find_golden("transform", k, "attrs"); k++) {
        const int64_t *sizes = tensor_i64(golden("transform", k, "attrs"));
        struct detection_transform_attrs attrs =
            transform_attrs(sizes[1], sizes[2]);
        const struct tensor *images[8];
        size_t n = golden_list("transform", k, "image", images);

        for (int way = 0; way < OP_WAYS; way++) {
            struct tensor out[TRANSFORM_OUTPUTS];

            CHECK_STATUS(op_run(&op_detection_transform, &attrs, op_ways[way],
                                images, n, out, TRANSFORM_OUTPUTS),
                         ASSAY_OK, &op_err);
            check_near(&out[TRANSFORM_BATCH], golden("transform", k, "batch"),
                       rounded_places(images, n));
            check_integers(&out[TRANSFORM_SIZES],
                           golden("transform", k, "sizes"));
            op_release(out, TRANSFORM_OUTPUTS);
        }
    }
    CHECK(k >= 4); /* some versions leave one out: see size_of() there */
}

static const struct tensor *golden_named(const char *name)
{
    for (size_t i = 0; i < n_goldens; i++) {
        if (strcmp(goldens[i].name, name) == 0)
            return &goldens[i].tensor;
    }
    print_error("no %s\n", name);
    CHECK(false);
    return NULL;
}

TEST(every_size_is_the_one_torchvision_resizes_to)
{
    struct detection_transform_attrs attrs = transform_attrs(800, 1333);
    const struct tensor *from, *to;

    make_goldens();
    from = golden_named("sizes.from");
    to = golden_named("sizes.to");
    CHECK(from->shape.dims[0] > 1000);
    for (int64_t i = 0; i < from->shape.dims[0]; i++) {
        int64_t height, width;

        detection_transform_size(&attrs, tensor_i64(from)[2 * i],
                                 tensor_i64(from)[2 * i + 1], &height, &width);
        CHECK_INT(height, tensor_i64(to)[2 * i]);
        CHECK_INT(width, tensor_i64(to)[2 * i + 1]);
    }
}

TEST(anchors_equal_torchvision_s)
{
    struct anchor_grid_attrs attrs = {.n_levels = 5,
                                      .n_ratios = 3,
                                      .sizes = {32, 64, 128, 256, 512},
                                      .ratios = {0.5F, 1, 2}};

    make_goldens();
    for (int k = 0; find_golden("rpn", k, "attrs"); k++) {
        const int64_t *size = tensor_i64(golden("rpn", k, "batch"));
        struct tensor batch = op_tensor(
            DTYPE_F32, shape_of(4, (int64_t)1, (int64_t)3, size[0], size[1]),
            NULL);
        const struct tensor *inputs[9] = {&batch};
        size_t n = golden_list("rpn", k, "logits", inputs + 1);
        struct tensor anchors;
        const struct tensor *want = golden("rpn", k, "anchors");

        CHECK_STATUS(op_run(&op_anchor_grid, &attrs, op_ways[1], inputs, 1 + n,
                            &anchors, 1),
                     ASSAY_OK, &op_err);
        check_shape(&anchors, want);
        CHECK(memcmp(tensor_data(&anchors), tensor_data(want),
                     tensor_bytes(want)) == 0);
        tensor_release(&anchors);
        tensor_release(&batch);
    }
}

/* Top-k, decoding and NMS in sequence, as in filter_proposals(). */
static void check_proposals(int k, struct op_way way)
{
    const int64_t *limits = tensor_i64(golden("rpn", k, "attrs"));
    struct rpn_top_k_attrs top_k = {.k = limits[0]};
    struct rpn_nms_attrs nms = {
        .min_size = 1e-3F, .score = 0, .iou = 0.7F, .keep = limits[1]};
    const struct tensor *logits[9];
    size_t n_levels = golden_list("rpn", k, "logits", logits);
    struct tensor top[RPN_TOP_K_OUTPUTS], boxes, kept[RPN_NMS_OUTPUTS];
    const struct tensor *decode[16] = {
        &top[RPN_TOP_K_ANCHORS], &top[RPN_TOP_K_COUNTS],
        golden("rpn", k, "anchors"), golden("rpn", k, "sizes")};
    const struct tensor *compare[] = {&boxes, &top[RPN_TOP_K_LOGITS],
                                      &top[RPN_TOP_K_COUNTS]};

    CHECK_STATUS(op_run(&op_rpn_top_k, &top_k, way, logits, n_levels, top,
                        RPN_TOP_K_OUTPUTS),
                 ASSAY_OK, &op_err);
    check_integers(&top[RPN_TOP_K_ANCHORS], golden("rpn", k, "top"));
    CHECK_INT(golden_list("rpn", k, "deltas", decode + RPN_DECODE_DELTAS),
              n_levels);
    CHECK_STATUS(op_run(&op_rpn_decode, NULL, way, decode,
                        RPN_DECODE_DELTAS + n_levels, &boxes, 1),
                 ASSAY_OK, &op_err);
    CHECK_STATUS(
        op_run(&op_rpn_nms, &nms, way, compare, 3, kept, RPN_NMS_OUTPUTS),
        ASSAY_OK, &op_err);
    check_integers(&kept[RPN_NMS_KEPT], golden("rpn", k, "counts"));
    check_floats(&kept[RPN_NMS_PROPOSALS], golden("rpn", k, "proposals"));
    op_release(top, RPN_TOP_K_OUTPUTS);
    op_release(kept, RPN_NMS_OUTPUTS);
    tensor_release(&boxes);
}

TEST(proposals_are_those_of_torchvision_in_its_order)
{
    make_goldens();
    for (int k = 0; find_golden("rpn", k, "attrs"); k++) {
        for (int way = 0; way < OP_WAYS; way++)
            check_proposals(k, op_ways[way]);
    }
}

TEST(boxes_are_pooled_from_the_level_and_points_torchvision_takes)
{
    make_goldens();
    for (int k = 0; find_golden("roi", k, "size"); k++) {
        struct roi_align_attrs attrs = {
            .size = tensor_i64(golden("roi", k, "size"))[0],
            .sampling_ratio = 2,
            .canonical_size = 224,
            .canonical_level = 4};
        const struct tensor *inputs[16] = {golden("roi", k, "boxes"),
                                           golden("roi", k, "counts"),
                                           golden("roi", k, "sizes")};
        size_t n = golden_list("roi", k, "map", inputs + ROI_ALIGN_MAPS);

        for (int way = 0; way < OP_WAYS; way++) {
            struct tensor out;

            CHECK_STATUS(op_run(&op_roi_align, &attrs, op_ways[way], inputs,
                                ROI_ALIGN_MAPS + n, &out, 1),
                         ASSAY_OK, &op_err);
            check_floats(&out, golden("roi", k, "output"));
            tensor_release(&out);
        }
    }
}

TEST(detections_are_those_of_torchvision_in_its_order)
{
    struct box_detections_attrs attrs = {.weights = {10, 10, 5, 5},
                                         .score = 0.05F,
                                         .min_size = 1e-2F,
                                         .iou = 0.5F,
                                         .keep = 100};

    make_goldens();
    for (int k = 0; find_golden("detections", k, "logits"); k++) {
        const struct tensor *inputs[] = {golden("detections", k, "logits"),
                                         golden("detections", k, "deltas"),
                                         golden("detections", k, "proposals"),
                                         golden("detections", k, "counts"),
                                         golden("detections", k, "sizes")};

        for (int way = 0; way < OP_WAYS; way++) {
            struct tensor out[BOX_DETECTIONS_OUTPUTS];

            CHECK_STATUS(op_run(&op_box_detections, &attrs, op_ways[way],
                                inputs, BOX_DETECTIONS_INPUTS, out,
                                BOX_DETECTIONS_OUTPUTS),
                         ASSAY_OK, &op_err);
            check_integers(&out[BOX_DETECTIONS_KEPT],
                           golden("detections", k, "kept"));
            check_integers(&out[BOX_DETECTIONS_LABELS],
                           golden("detections", k, "labels"));
            check_floats(&out[BOX_DETECTIONS_SCORES],
                         golden("detections", k, "scores"));
            check_floats(&out[BOX_DETECTIONS_BOXES],
                         golden("detections", k, "boxes"));
            op_release(out, BOX_DETECTIONS_OUTPUTS);
        }
    }
}

TEST(each_detection_has_the_mask_of_its_class)
{
    const struct tensor *inputs[2];
    struct tensor out;

    make_goldens();
    inputs[0] = golden_named("masks.logits");
    inputs[1] = golden_named("masks.labels");
    CHECK_STATUS(op_run(&op_mask_select, NULL, op_ways[2], inputs, 2, &out, 1),
                 ASSAY_OK, &op_err);
    check_floats(&out, golden_named("masks.chosen"));
    tensor_release(&out);
}

TEST(boxes_are_scaled_back_to_the_photograph_as_in_torchvision)
{
    const struct tensor *inputs[4];
    struct tensor out;

    make_goldens();
    inputs[0] = golden_named("masks.boxes");
    inputs[1] = golden_named("masks.counts");
    inputs[2] = golden_named("masks.sizes");
    inputs[3] = golden_named("masks.original");
    CHECK_STATUS(op_run(&op_resize_boxes, NULL, op_ways[1], inputs, 4, &out, 1),
                 ASSAY_OK, &op_err);
    check_floats(&out, golden_named("masks.resized"));
    tensor_release(&out);
}

/* 1 if the probability is above one half; either if it is one half. */
static void check_binary(const struct tensor *got, const struct tensor *soft)
{
    CHECK_INT(got->dtype, DTYPE_U8);
    CHECK(shape_equal(&got->shape, &soft->shape));
    for (size_t i = 0; i < tensor_elements(soft); i++) {
        float value = tensor_f32(soft)[i];
        uint8_t bit = ((const uint8_t *)tensor_data(got))[i];

        if (fabsf(value - 0.5F) > 1e-5F)
            CHECK_INT(bit, value > 0.5F);
    }
}

TEST(masks_are_pasted_where_torchvision_pastes_them)
{
    static const char *const pasted[] = {"masks.pasted.0", "masks.pasted.1",
                                         "masks.pasted.2"};
    const struct tensor *inputs[4];
    struct tensor out[3];

    make_goldens();
    inputs[0] = golden_named("masks.chosen");
    inputs[1] = golden_named("masks.resized");
    inputs[2] = golden_named("masks.counts");
    inputs[3] = golden_named("masks.original");
    for (int way = 0; way < 2 * OP_WAYS; way++) {
        struct paste_masks_attrs attrs = {.is_soft = way < OP_WAYS};

        CHECK_STATUS(op_run(&op_paste_masks, &attrs, op_ways[way % OP_WAYS],
                            inputs, 4, out, 3),
                     ASSAY_OK, &op_err);
        for (int i = 0; i < 3; i++) {
            if (attrs.is_soft)
                check_floats(&out[i], golden_named(pasted[i]));
            else
                check_binary(&out[i], golden_named(pasted[i]));
        }
        op_release(out, 3);
    }
}

/* Our engine against the outputs in torchvision's repository for its own tests,
 * which nobody here made. make_expected.py makes the seeded checkpoints. */
#include "ours.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

enum { side = 224, n_rows = 20 };

/* As in torchvision's test: assert_close with this as both tolerances. */
static const double precision = 0.01;

static void check_close(double got, double want)
{
    CHECK_NEAR(got, want, precision + precision * fabs(want));
}

/* The files keep every so many rows, the last of each stretch. */
static size_t row_step(const struct ours *ours)
{
    return (size_t)ours->outputs[0].shape.dims[0] / n_rows;
}

/* What the files keep of the detections. */
struct answer {
    struct tensor boxes, scores, labels;
};

static bool is_close(double got, double want)
{
    return fabs(got - want) <= precision + precision * fabs(want);
}

static bool has_row(const struct ours *ours, const struct answer *answer,
                    size_t row, size_t wanted)
{
    const float *got = tensor_f32(&ours->outputs[0]) + 4 * row;
    const float *want = tensor_f32(&answer->boxes) + 4 * wanted;

    for (size_t k = 0; k < 4; k++) {
        if (!is_close(got[k], want[k]))
            return false;
    }
    return tensor_i64(&ours->outputs[2])[row] ==
           tensor_i64(&answer->labels)[wanted];
}

/* The detection at the same index or, if kernels round differently, at that of
 * another whose score is equal to four digits: torchvision's own test ignores
 * such a swap. */
static void check_row(const struct ours *ours, const struct answer *answer,
                      size_t row, size_t wanted)
{
    const double tie = 2e-4;
    const float *scores = tensor_f32(&ours->outputs[1]);
    double score = tensor_f32(&answer->scores)[wanted];
    bool is_there = false;

    check_close(scores[row], score);
    for (size_t i = 0; i < (size_t)ours->outputs[0].shape.dims[0]; i++) {
        if (i == row || fabs(scores[i] - score) <= tie)
            is_there = is_there || has_row(ours, answer, i, wanted);
    }
    CHECK(is_there);
}

static void check_rows(const struct ours *ours, const struct checkpoint *from)
{
    struct answer answer = {answer_tensor(from, ours->pool, "boxes"),
                            answer_tensor(from, ours->pool, "scores"),
                            answer_tensor(from, ours->pool, "labels")};
    size_t step = row_step(ours);

    CHECK_INT(answer.boxes.shape.dims[0], n_rows);
    CHECK_INT(answer.scores.shape.dims[0], n_rows);
    CHECK_INT(answer.labels.shape.dims[0], n_rows);
    for (size_t i = 0; i < n_rows; i++)
        check_row(ours, &answer, step * (i + 1) - 1, i);
    tensor_release(&answer.boxes);
    tensor_release(&answer.scores);
    tensor_release(&answer.labels);
}

/* Of masks, the files keep the mean and the standard deviation. */
static void check_masks(const struct ours *ours,
                        const struct checkpoint *answer)
{
    struct tensor want = answer_tensor(answer, ours->pool, "masks");
    const struct tensor *masks = &ours->outputs[4];
    size_t n = tensor_elements(masks);
    double mean = 0, squares = 0;

    CHECK_INT(n, 100 * side * side);
    for (size_t i = 0; i < n; i++)
        mean += tensor_f32(masks)[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow(tensor_f32(masks)[i] - mean, 2);
    check_close(mean, tensor_f32(&want)[0]);
    check_close(sqrt(squares / (double)(n - 1)), tensor_f32(&want)[1]);
    tensor_release(&want);
}

static void check_model(const char *model, int64_t n_classes, bool has_masks,
                        bool is_plain)
{
    const char *expect = test_shared("torchvision/expect"), *folder;
    struct ours_setup setup = {
        .model = model, .build = model_defaults(), .is_plain = is_plain};
    struct checkpoint *answer;
    struct ours ours;
    char weights[1024];

    if (!expect)
        SKIP("expected outputs: ../shared/data/torchvision is missing");
    folder = torchvision_ask("expected", "session/make_expected.py", expect);
    snprintf(weights, sizeof weights, "%s/%s.pth", folder, model);
    setup.weights = weights;
    setup.n_threads = 2;
    setup.build.norm = NORM_BATCH;
    setup.build.n_classes = n_classes;
    setup.build.min_size = setup.build.max_size = side;
    setup.build.has_soft_masks = true;
    ours = ours_open(&setup);
    answer = answer_open(folder, model);
    ours_run(&ours, answer, 1);
    CHECK_INT(ours.outputs[0].shape.dims[0], 100);
    check_rows(&ours, answer);
    if (has_masks)
        check_masks(&ours, answer);
    checkpoint_free(answer);
    ours_close(&ours);
}

TEST(faster_rcnn_matches_torchvisions_own_test)
{
    check_model("fasterrcnn_resnet50_fpn", 20, false, true);
    check_model("fasterrcnn_resnet50_fpn", 20, false, false);
}

TEST(mask_rcnn_matches_torchvisions_own_test)
{
    check_model("maskrcnn_resnet50_fpn", 10, true, true);
    check_model("maskrcnn_resnet50_fpn", 10, true, false);
}

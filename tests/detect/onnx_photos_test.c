/* ONNX models that nobody here made find on photographs what they are known
 * to find: the expected.json beside them. */
#include "base/file.h"
#include "cli/recipe_text.h"
#include "detect/detect.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;

enum { max_found = 64 };

struct detection {
    char name[32];
    double score, box[4];
};

struct detections {
    struct detection items[max_found];
    size_t n;
};

/* "cls": "dog", "score": 0.93, "box": [ 1, 2, 3, 4 ] */
static struct detections read_expected(const char *path)
{
    struct detections list = {0};
    struct str text = {0};
    const char *at;

    CHECK_STATUS(file_read(path, 1 << 20, &text, &err), ASSAY_OK, &err);
    for (at = strstr(text.text, "\"cls\""); at;
         at = strstr(at + 1, "\"cls\"")) {
        struct detection *d = &list.items[list.n++];

        CHECK(list.n < max_found);
        CHECK_INT(sscanf(at,
                         "\"cls\" : \"%31[^\"]\" , \"score\" : %lf , \"box\" : "
                         "[ %lf , %lf , %lf , %lf",
                         d->name, &d->score, &d->box[0], &d->box[1], &d->box[2],
                         &d->box[3]),
                  6);
    }
    str_release(&text);
    return list;
}

/* "  dog.jpg  dog 0.933  130.6 218.2 308.4 540.4" */
static struct detections read_found(const char *text)
{
    struct detections list = {0};

    while (*text) {
        struct detection *d = &list.items[list.n++];

        CHECK(list.n < max_found);
        CHECK_INT(sscanf(text, " %*s %31s %lf %lf %lf %lf %lf", d->name,
                         &d->score, &d->box[0], &d->box[1], &d->box[2],
                         &d->box[3]),
                  6);
        text += strcspn(text, "\n") + 1;
    }
    return list;
}

/* The tolerances of the files: score 0.02, box 3 pixels. */
static bool is_same(const struct detection *a, const struct detection *b)
{
    bool is_near = fabs(a->score - b->score) <= 0.02;

    for (int i = 0; i < 4; i++)
        is_near = is_near && fabs(a->box[i] - b->box[i]) <= 3;
    return is_near && strcmp(a->name, b->name) == 0;
}

static void check_all(const struct detections *found,
                      const struct detections *wanted)
{
    CHECK(wanted->n > 0);
    CHECK_INT(found->n, wanted->n);
    for (size_t i = 0; i < wanted->n; i++) {
        bool is_there = false;

        for (size_t k = 0; k < found->n; k++)
            is_there = is_there || is_same(&wanted->items[i], &found->items[k]);
        if (!is_there)
            print_error("%s %.3f was not found\n", wanted->items[i].name,
                        wanted->items[i].score);
        CHECK(is_there);
    }
}

static void check_model(const char *name, const char *photo,
                        struct detect_options options)
{
    struct detect_report report = {0};
    struct detections found, wanted;
    struct photos photos = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text), warnings = sink_to_file(stderr, "");
    char model[512], expected[512], photo_path[512];

    if (!test_shared("models/onnx") || !test_shared("photos"))
        SKIP("../shared/data/models/onnx/%s is missing", name);
    snprintf(model, sizeof model, "%s/%s/model.onnx",
             test_shared("models/onnx"), name);
    snprintf(expected, sizeof expected, "%s/%s/expected.json",
             test_shared("models/onnx"), name);
    snprintf(photo_path, sizeof photo_path, "%s/%s", test_shared("photos"),
             photo);
    err = (struct error){0};
    CHECK_STATUS(photos_add(&photos, photo_path, &err), ASSAY_OK, &err);
    options.model = model;
    options.is_onnx = true;
    options.build = model_defaults();
    options.n_threads = 2;
    options.n_images = 1;
    options.tuning_seconds = 0.1;
    options.run_path = test_path("onnx.assay");
    options.drawn_dir = test_path("");
    options.found = &sink;
    options.warnings = &warnings;
    CHECK_STATUS(detect_run(&options, &photos, &report, &err), ASSAY_OK, &err);
    found = read_found(str_text(&text));
    wanted = read_expected(expected);
    check_all(&found, &wanted);
    CHECK_INT(report.n_drawn, 1);
    detect_report_release(&report);
    photos_release(&photos);
    str_release(&text);
}

TEST(yolov8n_finds_the_dog_the_bicycle_and_the_car)
{
    struct detect_options options = {.decode = DECODE_YOLOV8,
                                     .recipe = recipe_defaults(),
                                     .score = 0.25,
                                     .iou = 0.7};

    options.recipe.fit = FIT_LETTERBOX;
    check_model("yolov8n", "darknet/dog.jpg", options);
}

TEST(ultraface_finds_all_faces_and_no_other)
{
    static const char *const names[] = {"background", "face"};
    struct detect_options options = {.decode = DECODE_SSD,
                                     .recipe = recipe_defaults(),
                                     .score = 0.7,
                                     .iou = 0.3,
                                     .labels = names,
                                     .n_labels = 2};

    CHECK_STATUS(recipe_read("scale=1,mean=127,std=128", &options.recipe, &err),
                 ASSAY_OK, &err);
    check_model("ultraface_rfb320", "onnx-models/ultraface_1.jpg", options);
}

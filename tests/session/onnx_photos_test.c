/* ONNX models that nobody here made find on photographs what they are known to
 * find: see the expected.json next to them. */
#include "base/file.h"
#include "cli/recipe_text.h"
#include "session/profile.h"
#include "test.h"
#include "vision/decoder.h"

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

static struct detections read_found(const struct run *run)
{
    struct detections list = {0};
    const struct found_photo *photo;

    CHECK_INT(run_found_count(run), 1);
    photo = run_found(run, 0);
    for (size_t i = 0; i < photo->n; i++) {
        const struct found_object *object = &photo->objects[i];
        struct detection *d = &list.items[list.n++];

        CHECK(list.n < max_found);
        snprintf(d->name, sizeof d->name, "%s", object->name);
        d->score = object->score;
        memcpy(d->box, object->box, sizeof d->box);
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

/* Runs the model of that name on a photograph. */
static struct detections run_model(const char *name, const char *photo,
                                   struct profile_options options)
{
    struct profile_report report = {0};
    struct detections found;
    struct photos photos = {0};
    struct sink warnings = sink_to_file(stderr, "");
    char model[512], photo_path[512];

    if (!test_shared("models/onnx") || !test_shared("photos"))
        SKIP("../shared/data/models/onnx/%s is missing", name);
    snprintf(model, sizeof model, "%s/%s/model.onnx",
             test_shared("models/onnx"), name);
    snprintf(photo_path, sizeof photo_path, "%s/%s", test_shared("photos"),
             photo);
    err = (struct error){0};
    CHECK_STATUS(photos_add(&photos, photo_path, &err), ASSAY_OK, &err);
    options.session.model.name = model;
    options.session.model.is_file = true;
    options.session.model.build = model_defaults();
    options.session.n_threads = 2;
    options.n_images = 1;
    options.session.tuning_seconds = 0.1;
    options.run_path = test_path("onnx.assay");
    options.drawn_dir = test_path("");
    options.has_found = true;
    options.session.warnings = &warnings;
    CHECK_STATUS(profile_run(&options, &photos, &report, &err), ASSAY_OK, &err);
    found = read_found(report.run);
    CHECK_INT(report.n_drawn, 1);
    profile_report_release(&report);
    photos_release(&photos);
    return found;
}

static void check_model(const char *name, const char *photo,
                        struct profile_options options)
{
    struct detections found = run_model(name, photo, options), wanted;
    char expected[512];

    snprintf(expected, sizeof expected, "%s/%s/expected.json",
             test_shared("models/onnx"), name);
    wanted = read_expected(expected);
    check_all(&found, &wanted);
}

/* A model that the index lists names and scores of, not boxes. */
static void check_names(const char *name, const char *photo, enum decode decode,
                        double score, const struct detection *wanted, size_t n)
{
    const struct decoder *decoder = decoder_of(decode);
    struct profile_options options = {.session.vision.decode = decode,
                                      .session.vision.recipe = decoder->recipe,
                                      .session.vision.score = score,
                                      .session.vision.iou = decoder->iou};
    struct detections found = run_model(name, photo, options);

    CHECK_INT(found.n, n);
    for (size_t i = 0; i < n; i++) {
        bool is_there = false;

        for (size_t k = 0; k < found.n; k++)
            is_there = is_there ||
                       (strcmp(wanted[i].name, found.items[k].name) == 0 &&
                        fabs(wanted[i].score - found.items[k].score) <= 0.02);
        if (!is_there)
            print_error("%s %.3f was not found\n", wanted[i].name,
                        wanted[i].score);
        CHECK(is_there);
    }
}

TEST(yolov8n_finds_the_dog_the_bicycle_and_the_car)
{
    struct profile_options options = {.session.vision.decode = DECODE_YOLOV8,
                                      .session.vision.recipe =
                                          recipe_defaults(),
                                      .session.vision.score = 0.25,
                                      .session.vision.iou = 0.7};

    options.session.vision.recipe.fit = FIT_LETTERBOX;
    check_model("yolov8n", "darknet/dog.jpg", options);
}

TEST(ultraface_finds_all_faces_and_no_other)
{
    static const char *const names[] = {"background", "face"};
    struct profile_options options = {.session.vision.decode = DECODE_SSD,
                                      .session.vision.recipe =
                                          recipe_defaults(),
                                      .session.vision.score = 0.7,
                                      .session.vision.iou = 0.3,
                                      .session.vision.labels = names,
                                      .session.vision.n_labels = 2};

    CHECK_STATUS(recipe_read("scale=1,mean=127,std=128",
                             &options.session.vision.recipe, &err),
                 ASSAY_OK, &err);
    check_model("ultraface_rfb320", "onnx-models/ultraface_1.jpg", options);
}

TEST(yolox_nano_finds_what_the_index_lists)
{
    static const struct detection wanted[] = {
        {.name = "person", .score = .75},
        {.name = "person", .score = .72},
        {.name = "dog", .score = .58},
        {.name = "motorcycle", .score = .37},
        {.name = "boat", .score = .36}};

    check_names("yolox_nano", "onnx-models/faster-rcnn_demo.jpg", DECODE_YOLOX,
                0.35, wanted, 5);
}

TEST(nanodet_finds_what_the_index_lists)
{
    static const struct detection wanted[] = {{.name = "dog", .score = .63},
                                              {.name = "person", .score = .58},
                                              {.name = "horse", .score = .44}};

    check_names("nanodet", "darknet/person.jpg", DECODE_NANODET, 0.4, wanted,
                3);
}

/* The weights are random: what they find means nothing, but a photograph goes
 * in, also into an input of 3x320x320, and the outputs are recognised. */
TEST(exported_detectors_take_photographs_and_get_a_decoder_proposed)
{
    static const struct {
        const char *name;
        enum decode decode;
    } models[] = {{"ssdlite320", DECODE_TORCHVISION},
                  {"detr_small", DECODE_DETR}};

    if (!test_shared("models/onnx-modern") || !test_shared("photos"))
        SKIP("../shared/data/models/onnx-modern is missing");
    for (size_t i = 0; i < 2; i++) {
        struct profile_options options = {.session.vision.decode = DECODE_NONE,
                                          .session.vision.recipe =
                                              recipe_defaults(),
                                          .session.vision.score = 0.5,
                                          .session.n_threads = 2,
                                          .n_images = 1};
        struct profile_report report = {0};
        struct photos photos = {0};
        char model[512], photo[512];

        snprintf(model, sizeof model, "%s/%s/model.onnx",
                 test_shared("models/onnx-modern"), models[i].name);
        snprintf(photo, sizeof photo, "%s/darknet/dog.jpg",
                 test_shared("photos"));
        err = (struct error){0};
        CHECK_STATUS(photos_add(&photos, photo, &err), ASSAY_OK, &err);
        options.session.model.name = model;
        options.session.model.is_file = true;
        options.session.model.build = model_defaults();
        CHECK_STATUS(profile_run(&options, &photos, &report, &err), ASSAY_OK,
                     &err);
        CHECK_INT(report.n_measured, 1);
        CHECK_INT(report.proposed, models[i].decode);
        profile_report_release(&report);
        photos_release(&photos);
    }
}

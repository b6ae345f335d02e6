/* Models on datasets of files: their inputs and their scores. */
#include "data/made_files.h"
#include "formats/onnx_build.h"
#include "metrics/feed_internal.h"
#include "test.h"

static const uint8_t red[] = {255, 0, 0}, green[] = {0, 255, 0},
                     blue[] = {0, 0, 255}, white[] = {255, 255, 255}, black[3];

/* ---- small models -------------------------------------------------------- */

static void write_model(const char *path, struct str graph)
{
    struct str bytes = make_model(graph, 13);

    write_file(path, bytes.text, bytes.n);
    str_release(&bytes);
}

/* Scores of three classes: how red, green and blue a picture is. */
static const char *colour_model(void)
{
    struct str graph = {0};

    put_message(&graph, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "?x3x2x2"));
    put_message(&graph, GRAPH_NODE,
                make_node("GlobalAveragePool", "pool", "x", "p"));
    put_message(&graph, GRAPH_NODE, make_node("Flatten", "flat", "p", "y"));
    put_message(&graph, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "?x3"));
    write_model(test_path("colour.onnx"), graph);
    return test_path("colour.onnx");
}

/* The same times the width of the picture, an input of its own. */
static const char *wide_model(void)
{
    struct str graph = {0}, cast = make_node("Cast", "cast", "orig_size", "s");
    struct str width = make_node("Gather", "width", "s first", "w");
    const int64_t first = 0, one = 1;
    struct str index = make_tensor("first", ONNX_INT64, &one, 1);

    put_bytes(&index, TENSOR_RAW, &first, sizeof first);
    put_message(&graph, GRAPH_INITIALIZER, index);
    put_int_attribute(&cast, "to", ONNX_FLOAT);
    put_int_attribute(&width, "axis", 1);
    put_message(&graph, GRAPH_INPUT,
                make_value("orig_size", ONNX_INT64, "?x2"));
    put_message(&graph, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "?x3x2x2"));
    put_message(&graph, GRAPH_NODE,
                make_node("GlobalAveragePool", "pool", "x", "p"));
    put_message(&graph, GRAPH_NODE, make_node("Flatten", "flat", "p", "f"));
    put_message(&graph, GRAPH_NODE, cast);
    put_message(&graph, GRAPH_NODE, width);
    put_message(&graph, GRAPH_NODE, make_node("Mul", "scale", "f w", "y"));
    put_message(&graph, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "?x3"));
    write_model(test_path("wide.onnx"), graph);
    return test_path("wide.onnx");
}

/* Like YOLOv8: a box of class 0 in the middle, one of class 1 near the corner,
 * if anything is white. */
static const char *box_model(void)
{
    /* x, y, w, h, class 0, class 1 of six boxes: the grids of 10x10 pixels
     * have 4, 1 and 1 cells. */
    static const float boxes[6][6] = {{5, 2}, {5, 2},   {4, 2},
                                      {2, 2}, {.9f, 0}, {0, .8f}};
    const int64_t dims[] = {1, 6, 6};
    struct str graph = {0}, tensor = make_tensor("k", ONNX_FLOAT, dims, 3);
    struct str most = make_node("ReduceMax", "most", "x", "m");

    put_bytes(&tensor, TENSOR_RAW, boxes, sizeof boxes);
    put_message(&graph, GRAPH_INITIALIZER, tensor);
    put_message(&graph, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "1x3x10x10"));
    put_int_attribute(&most, "keepdims", 0);
    put_message(&graph, GRAPH_NODE, most);
    put_message(&graph, GRAPH_NODE, make_node("Mul", "scale", "k m", "y"));
    put_message(&graph, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "1x6x6"));
    write_model(test_path("box.onnx"), graph);
    return test_path("box.onnx");
}

static struct assay_model *load(const char *name, int64_t batch,
                                int has_no_weights)
{
    const struct assay_model_options options = {
        .batch = batch, .has_no_weights = has_no_weights, .threads = 1};
    struct assay_error error = {0};
    struct assay_model *model;

    CHECK_STATUS(assay_model_load(name, &options, &model, &error), ASSAY_OK,
                 &error);
    return model;
}

/* ---- small datasets ------------------------------------------------------ */

/* Three classes, with two pictures of the first; one of them is blue. */
static const char *colour_data(void)
{
    write_photo(test_path("colours/a/1.png"), 4, 4, red);
    write_photo(test_path("colours/a/2.png"), 4, 4, blue);
    write_photo(test_path("colours/b/1.png"), 5, 4, green);
    write_photo(test_path("colours/c/1.png"), 4, 7, blue);
    return test_path("colours");
}

/* A white picture with an object of class a, a black one with one of b. */
static const char *box_data(void)
{
    write_text(test_path("boxes/notes.json"),
               "{\"categories\":[{\"id\":9,\"name\":\"b\"},"
               "{\"id\":5,\"name\":\"a\"}],"
               "\"images\":[{\"id\":1,\"file_name\":\"white.png\"},"
               "{\"id\":2,\"file_name\":\"black.png\"}],\"annotations\":["
               "{\"image_id\":1,\"category_id\":5,\"bbox\":[6,8,8,4]},"
               "{\"image_id\":2,\"category_id\":9,\"bbox\":[2,2,4,4]}]}");
    write_photo(test_path("boxes/white.png"), 20, 20, white);
    write_photo(test_path("boxes/black.png"), 20, 20, black);
    return test_path("boxes/notes.json");
}

static const char *voc_data(const char *name, const char *class_name)
{
    static char root[512];
    char path[600], text[512];

    snprintf(root, sizeof root, "%s", test_path(name));
    snprintf(path, sizeof path, "%s/JPEGImages/1.png", root);
    write_photo(path, 4, 4, red);
    snprintf(path, sizeof path, "%s/ImageSets/Main/val.txt", root);
    write_text(path, "1\n");
    snprintf(path, sizeof path, "%s/Annotations/1.xml", root);
    snprintf(text, sizeof text,
             "<annotation><object><name>%s</name><bndbox><xmin>1</xmin>"
             "<ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object>"
             "</annotation>",
             class_name);
    write_text(path, text);
    return root;
}

/* ---- evaluations --------------------------------------------------------- */

static enum assay_status open_feed(struct assay_model *model,
                                   enum dataset_kind kind, const char *path,
                                   enum decode decode, struct feed **feed,
                                   struct error *err)
{
    const struct feed_options options = {
        .data = {.kind = kind, .split = DATASET_TEST, .path = path},
        .decode = decode,
        .recipe = recipe_defaults()};

    return feed_open(model, &options, feed, err);
}

static struct assay_profiler *new_profiler(struct assay_model *model,
                                           struct feed *feed)
{
    struct assay_error error = {0};
    struct assay_profiler *profiler;

    CHECK_STATUS(assay_profiler_new(model, NULL, &profiler, &error), ASSAY_OK,
                 &error);
    profiler_set_feed(profiler, feed);
    CHECK_STATUS(assay_profiler_register_standard(profiler, &error), ASSAY_OK,
                 &error);
    return profiler;
}

static double value_of(struct assay_profiler *profiler, const char *key)
{
    const struct assay_result *result;
    struct assay_error error = {0};

    CHECK_STATUS(assay_profiler_compute(profiler, key, 0, &result, &error),
                 ASSAY_OK, &error);
    return result->value;
}

static void check_colours(const char *path, int64_t batch)
{
    struct assay_model *model = load(path, batch, 0);
    struct assay_profiler *profiler;
    struct error err = {0};
    struct feed *feed;

    CHECK_STATUS(open_feed(model, DATASET_IMAGEFOLDER, colour_data(),
                           DECODE_NONE, &feed, &err),
                 ASSAY_OK, &err);
    CHECK_INT(feed_dataset(feed)->n, 4);
    profiler = new_profiler(model, feed);
    CHECK_NEAR(value_of(profiler, "eval_metric"), .75, 0);
    CHECK_NEAR(value_of(profiler, "eval_missed"), .25, 0);
    CHECK_NEAR(value_of(profiler, "eval_top5"), 1, 0);
    assay_profiler_free(profiler);
    feed_close(feed);
    assay_model_free(model);
}

TEST(a_classifier_is_right_if_its_largest_score_is_the_class)
{
    check_colours(colour_model(), 1);
}

TEST(a_batch_that_is_not_full_counts_only_its_samples)
{
    check_colours(colour_model(), 3);
}

/* Without a size all scores are 0, and the first class is always the answer. */
TEST(a_model_is_told_the_size_of_every_picture)
{
    check_colours(wide_model(), 1);
    check_colours(wide_model(), 3);
}

/* Class a is found; class b is found where it is not and missed where it is. */
TEST(detections_are_scored_in_pixels_of_the_picture)
{
    struct assay_model *model = load(box_model(), 1, 0);
    const struct assay_result *result;
    struct assay_error error = {0};
    struct assay_profiler *profiler;
    struct error err = {0};
    struct feed *feed;

    CHECK_STATUS(
        open_feed(model, DATASET_COCO, box_data(), DECODE_YOLOV8, &feed, &err),
        ASSAY_OK, &err);
    profiler = new_profiler(model, feed);
    CHECK_NEAR(value_of(profiler, "eval_metric"), .5, 1e-12);
    CHECK_NEAR(value_of(profiler, "eval_map_75"), .5, 1e-12);
    CHECK_NEAR(value_of(profiler, "eval_map_small"), .5, 1e-12);
    /* One of its two objects is found, by the surest detection. */
    CHECK_NEAR(value_of(profiler, "eval_ar_1"), .5, 1e-12);
    CHECK_NEAR(value_of(profiler, "eval_ar_100"), .5, 1e-12);
    CHECK_NEAR(value_of(profiler, "eval_ar_small"), .5, 1e-12);
    CHECK(assay_profiler_compute(profiler, "eval_map_large", 0, &result,
                                 &error) != ASSAY_OK);
    CHECK(assay_profiler_compute(profiler, "eval_top5", 0, &result, &error) ==
          ASSAY_NOT_FOUND);
    assay_profiler_free(profiler);
    feed_close(feed);
    assay_model_free(model);
}

/* ---- mismatches --------------------------------------------------------- */

static void check_refused(const char *name, enum dataset_kind kind,
                          const char *path, enum decode decode, const char *why)
{
    struct assay_model *model = load(name, 1, 1);
    struct error err = {0};
    struct feed *feed;

    CHECK_STATUS(open_feed(model, kind, path, decode, &feed, &err),
                 ASSAY_BAD_USAGE, &err);
    CHECK(feed == NULL);
    CHECK_HAS(err.text, why);
    assay_model_free(model);
}

TEST(the_model_decides_between_the_objects_and_the_class_of_an_image)
{
    const struct feed_options options = {
        .data = {.kind = DATASET_SYNTHETIC,
                 .limit = 2,
                 .synthetic = {.has_one = true}},
        .recipe = recipe_defaults()};
    struct assay_model *models[] = {load(colour_model(), 1, 0),
                                    load(box_model(), 1, 0)};

    for (int i = 0; i < 2; i++) {
        struct feed_options wanted = options;
        struct error err = {0};
        struct feed *feed;

        wanted.decode = i ? DECODE_YOLOV8 : DECODE_NONE;
        CHECK_STATUS(feed_open(models[i], &wanted, &feed, &err), ASSAY_OK,
                     &err);
        CHECK_INT(feed_has_objects(feed), i);
        feed_close(feed);
        assay_model_free(models[i]);
    }
}

TEST(a_dataset_for_another_task_is_refused)
{
    check_refused(box_model(), DATASET_IMAGEFOLDER, colour_data(),
                  DECODE_YOLOV8, "has one class per image");
    check_refused(colour_model(), DATASET_COCO, box_data(), DECODE_NONE,
                  "with --decode");
    check_refused("resnet18", DATASET_IMAGEFOLDER, colour_data(), DECODE_NONE,
                  "has 1000 classes, and the dataset has 3");
    check_refused("resnet18", DATASET_COCO, box_data(), DECODE_NONE,
                  "this dataset has objects");
}

TEST(a_detector_that_knows_none_of_the_classes_is_refused)
{
    check_refused("fasterrcnn_resnet50_fpn", DATASET_VOC,
                  voc_data("masks", "with_mask"), DECODE_NONE,
                  "knows none of the 1 classes");
}

TEST(classes_of_voc_are_found_by_the_names_of_coco)
{
    struct assay_model *model = load("fasterrcnn_resnet50_fpn", 1, 1);
    struct error err = {0};
    struct feed *feed;

    CHECK_STATUS(open_feed(model, DATASET_VOC, voc_data("voc", "sofa"),
                           DECODE_NONE, &feed, &err),
                 ASSAY_OK, &err);
    CHECK_INT(feed_class(feed, NULL, 1), 14);      /* person */
    CHECK_INT(feed_class(feed, NULL, 5), 0);       /* airplane: aeroplane */
    CHECK_INT(feed_class(feed, NULL, 63), 17);     /* couch: sofa */
    CHECK_INT(feed_class(feed, NULL, 72), 19);     /* tv: tvmonitor */
    CHECK(feed_class(feed, NULL, 13) == SIZE_MAX); /* stop sign */
    feed_close(feed);
    assay_model_free(model);
}

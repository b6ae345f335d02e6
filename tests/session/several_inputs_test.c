/* A detector whose file has two inputs, the image and the size of the
 * photograph, from an ONNX file to boxes on the photograph. */
#include "base/file.h"
#include "formats/onnx_build.h"
#include "session/profile.h"
#include "vision/decoder.h"

static struct error err;

static void put_constant(struct str *graph, const char *name, int type,
                         const int64_t *dims, size_t n_dims, const void *data,
                         size_t bytes)
{
    struct str tensor = make_tensor(name, type, dims, n_dims);

    put_bytes(&tensor, TENSOR_RAW, data, bytes);
    put_message(graph, GRAPH_INITIALIZER, tensor);
}

/* One box in the right half of what the model takes the photograph for; the
 * score is the mean of the image. */
static struct str make_detector(void)
{
    static const float part[] = {0.5F, 0, 1, 1};
    static const int64_t class = 16, part_dims[] = {1, 1, 4}, one[] = {1, 1};
    static const int64_t repeats[] = {1, 1, 2}, three = 3, axis = 1;
    static const int64_t axes[] = {1, 2, 3};
    struct str graph = {0},
               cast = make_node("Cast", "", "orig_target_sizes", "sizes");
    struct str mean = make_node("ReduceMean", "", "images axes", "mean");

    put_int_attribute(&cast, "to", ONNX_FLOAT);
    put_int_attribute(&mean, "keepdims", 0);
    put_message(&graph, GRAPH_INPUT,
                make_value("images", ONNX_FLOAT, "?x3x8x16"));
    put_message(&graph, GRAPH_INPUT,
                make_value("orig_target_sizes", ONNX_INT64, "?x2"));
    put_constant(&graph, "part", ONNX_FLOAT, part_dims, 3, part, sizeof part);
    put_constant(&graph, "class", ONNX_INT64, one, 2, &class, sizeof class);
    put_constant(&graph, "repeats", ONNX_INT64, &three, 1, repeats,
                 sizeof repeats);
    put_constant(&graph, "axis", ONNX_INT64, one, 1, &axis, sizeof axis);
    put_constant(&graph, "axes", ONNX_INT64, &three, 1, axes, sizeof axes);
    put_message(&graph, GRAPH_NODE, cast);
    put_message(&graph, GRAPH_NODE,
                make_node("Unsqueeze", "", "sizes axis", "row"));
    put_message(&graph, GRAPH_NODE,
                make_node("Tile", "", "row repeats", "scales"));
    put_message(&graph, GRAPH_NODE,
                make_node("Mul", "", "part scales", "boxes"));
    put_message(&graph, GRAPH_NODE, mean);
    put_message(&graph, GRAPH_NODE,
                make_node("Unsqueeze", "", "mean axis", "scores"));
    put_message(&graph, GRAPH_NODE,
                make_node("Identity", "", "class", "labels"));
    put_message(&graph, GRAPH_OUTPUT, make_value("labels", ONNX_INT64, "1x1"));
    put_message(&graph, GRAPH_OUTPUT, make_value("boxes", ONNX_FLOAT, "?x1x4"));
    put_message(&graph, GRAPH_OUTPUT, make_value("scores", ONNX_FLOAT, "?x1"));
    return make_model(graph, 18);
}

static const char *write_model(void)
{
    const char *path = test_path("two_inputs.onnx");
    struct str model = make_detector();
    struct output *output;

    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    sink_write(output_sink(output), model.text, model.n);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
    str_release(&model);
    return path;
}

/* White, 40 wide and 20 high. */
static const char *write_photograph(void)
{
    const char *path = test_path("white.png");
    struct picture picture;
    struct output *output;

    CHECK_STATUS(picture_init(&picture, 40, 20, &err), ASSAY_OK, &err);
    memset(picture.rgb, 255, (size_t)40 * 20 * 3);
    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    CHECK_STATUS(picture_write_png(&picture, output_sink(output), &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
    picture_release(&picture);
    return path;
}

/* Runs the detector on the photograph and checks that its box is the right
 * half. */
static void check_box(struct vision_options vision)
{
    struct profile_options options = {
        .session = {.model = {.name = write_model(),
                              .is_file = true,
                              .build = model_defaults()},
                    .n_threads = 1},
        .n_images = 1,
        .has_found = true};
    struct profile_report report = {0};
    struct photos photos = {0};
    const struct found_photo *photo;

    vision.decode = DECODE_RTDETR;
    vision.recipe = decoder_of(DECODE_RTDETR)->recipe;
    vision.score = 0.5;
    options.session.vision = vision;
    options.run_path = test_path("two_inputs.assay");
    options.drawn_dir = test_path("");
    CHECK_STATUS(photos_add(&photos, write_photograph(), &err), ASSAY_OK, &err);
    CHECK_STATUS(profile_run(&options, &photos, &report, &err), ASSAY_OK, &err);
    CHECK_INT(run_found_count(report.run), 1);
    photo = run_found(report.run, 0);
    CHECK_INT(photo->n, 1);
    CHECK_STR(photo->objects[0].name, "dog");
    CHECK_NEAR(photo->objects[0].score, 1, 1e-5);
    CHECK_NEAR(photo->objects[0].box[0], 20, 1e-4);
    CHECK_NEAR(photo->objects[0].box[1], 0, 1e-4);
    CHECK_NEAR(photo->objects[0].box[2], 40, 1e-4);
    CHECK_NEAR(photo->objects[0].box[3], 20, 1e-4);
    profile_report_release(&report);
    photos_release(&photos);
}

TEST(a_photograph_brings_its_size_along)
{
    check_box((struct vision_options){0});
}

TEST(boxes_for_a_given_size_lie_on_the_photograph_too)
{
    struct input_setting setting = {.input = "orig_target_sizes",
                                    .text = "640x640"};

    check_box((struct vision_options){
        .image_input = "images", .settings = &setting, .n_settings = 1});
}

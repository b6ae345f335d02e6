/* Loads weights into a graph by name. */
#include "base/mem.h"
#include "base/str.h"
#include "formats/weights/load_weights.h"
#include "formats/weights/published.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct error err;

/* A file of weights while it is made: a header, and elements that are 0 except
 * for the first number of each tensor. */
struct maker {
    struct str header, data;
};

static void put(struct maker *maker, const char *name, const char *type,
                const char *shape, const void *elements, size_t bytes)
{
    CHECK_INT(str_printf(&maker->header,
                         "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,"
                         "\"data_offsets\":[%zu,%zu]}",
                         maker->header.n ? "," : "{", name, type, shape,
                         maker->data.n, maker->data.n + bytes),
              ASSAY_OK);
    CHECK_INT(str_append_n(&maker->data, elements, bytes), ASSAY_OK);
}

static void put_floats(struct maker *maker, const char *name, float first)
{
    float numbers[2] = {first, first + 1};

    put(maker, name, "F32", "[2]", numbers, sizeof numbers);
}

/* Returns the bytes of the file and releases the rest. */
static struct str finish(struct maker *maker)
{
    struct str file = {0};
    uint64_t length;

    CHECK_INT(str_append_char(&maker->header, '}'), ASSAY_OK);
    while (maker->header.n % 8) /* as the format requires, for alignment */
        CHECK_INT(str_append_char(&maker->header, ' '), ASSAY_OK);
    length = maker->header.n;
    CHECK_INT(str_append_n(&file, (const char *)&length, 8), ASSAY_OK);
    CHECK_INT(str_append_n(&file, maker->header.text, maker->header.n),
              ASSAY_OK);
    CHECK_INT(str_append_n(&file, maker->data.text, maker->data.n), ASSAY_OK);
    str_release(&maker->header);
    str_release(&maker->data);
    return file;
}

static struct checkpoint *make(struct maker *maker)
{
    struct checkpoint *checkpoint = NULL;
    struct str file = finish(maker);
    struct buffer *buffer;

    CHECK_INT(
        buffer_wrap(file.text, file.n, mem_free, file.text, &buffer, NULL),
        ASSAY_OK);
    CHECK_STATUS(checkpoint_read(buffer, &checkpoint, &err), ASSAY_OK, &err);
    buffer_release(buffer);
    return checkpoint;
}

static struct graph *new_graph(void)
{
    struct graph *graph;

    err = (struct error){0};
    CHECK_INT(graph_new(&graph, &err), ASSAY_OK);
    CHECK_INT(graph_set_name(graph, "tiny", "Tiny", &err), ASSAY_OK);
    return graph;
}

/* A parameter of two floats under a path of scopes. */
static uint32_t want(struct graph *graph, const char *path)
{
    struct shape shape = shape_of(1, (int64_t)2);
    uint32_t scope = GRAPH_NONE, value;
    char part[64];

    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
        snprintf(part, sizeof part, "%.*s", (int)(dot - path), path);
        CHECK_INT(
            graph_scope_add(graph, scope, part, "Module", false, &scope, &err),
            ASSAY_OK);
    }
    CHECK_INT(graph_parameter(graph, scope, path, VALUE_PARAMETER, DTYPE_F32,
                              &shape, &value, &err),
              ASSAY_OK);
    return value;
}

enum { most_told = 4 };

/* Outlives the graphs. */
static struct pool *the_pool(void)
{
    static struct pool *pool;

    if (!pool)
        CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    return pool;
}

static enum assay_status load(struct graph *graph, struct maker *maker,
                              struct str *problems,
                              struct weights_report *report)
{
    struct checkpoint *checkpoint = make(maker);
    struct sink sink = sink_to_str(problems);
    const struct weights_problems told = {&sink, most_told};
    enum assay_status st;

    st = weights_load(graph, checkpoint, the_pool(), &told, report, &err);
    checkpoint_free(checkpoint);
    return st;
}

static float first_of(const struct graph *graph, uint32_t value)
{
    return tensor_f32(&graph_value(graph, value)->data)[0];
}

TEST(parameters_get_the_tensors_of_their_names)
{
    struct graph *graph = new_graph();
    uint32_t weight = want(graph, "a.weight"), bias = want(graph, "a.bias");
    struct weights_report report;
    struct str problems = {0};
    struct maker maker = {0};

    put_floats(&maker, "a.bias", 7);
    put_floats(&maker, "a.num_batches_tracked", 9);
    put_floats(&maker, "aux2.fc2.bias", 9);
    put_floats(&maker, "a.weight", 3);
    CHECK_STATUS(load(graph, &maker, &problems, &report), ASSAY_OK, &err);
    CHECK_NEAR(first_of(graph, weight), 3, 0);
    CHECK_NEAR(first_of(graph, bias), 7, 0);
    CHECK_INT(report.n_loaded, 2);
    CHECK_INT(report.n_renamed + report.n_converted, 0);
    CHECK_STR(str_text(&problems), "");
    graph_free(graph);
}

TEST(other_floating_point_types_become_float32)
{
    static const double wide[2] = {1.5, -2};
    static const uint16_t half[2] = {0xc100, 0x3c00};   /* -2.5, 1 */
    static const uint16_t bfloat[2] = {0x3fc0, 0x3f80}; /* 1.5, 1 */
    struct graph *graph = new_graph();
    uint32_t a = want(graph, "a"), b = want(graph, "b"), c = want(graph, "c");
    struct weights_report report;
    struct str problems = {0};
    struct maker maker = {0};

    put(&maker, "a", "F64", "[2]", wide, sizeof wide);
    put(&maker, "b", "F16", "[2]", half, sizeof half);
    put(&maker, "c", "BF16", "[2]", bfloat, sizeof bfloat);
    CHECK_STATUS(load(graph, &maker, &problems, &report), ASSAY_OK, &err);
    CHECK_NEAR(first_of(graph, a), 1.5, 0);
    CHECK_NEAR(first_of(graph, b), -2.5, 0);
    CHECK_NEAR(first_of(graph, c), 1.5, 0);
    CHECK_INT(report.n_converted, 3);
    graph_free(graph);
}

TEST(what_does_not_fit_is_listed_by_name_and_leaves_the_graph_alone)
{
    static const int64_t numbers[2] = {1, 2};
    static const float three[3] = {1, 2, 3};
    struct graph *graph = new_graph();
    uint32_t here = want(graph, "here");
    struct weights_report report;
    struct str problems = {0};
    struct maker maker = {0};

    want(graph, "gone");
    want(graph, "lost");
    want(graph, "long");
    want(graph, "whole");
    put_floats(&maker, "here", 1);
    put_floats(&maker, "extra", 1);
    put(&maker, "long", "F32", "[3]", three, sizeof three);
    put(&maker, "whole", "I64", "[2]", numbers, sizeof numbers);
    CHECK_INT(load(graph, &maker, &problems, &report), ASSAY_BAD_INPUT);
    CHECK_STR(err.text,
              "the tensors do not match tiny; 2 missing (gone, ...); 1 unknown "
              "to it (extra); 2 of another shape or type (long is float32 3, "
              "the model needs float32 2, ...)");
    CHECK_STR(str_text(&problems),
              "unknown  extra\n"
              "unfit  long is float32 3, the model needs float32 2\n"
              "unfit  whole is int64 2, the model needs float32 2\n"
              "missing  gone\n"
              "missing  lost\n");
    CHECK_INT(report.n_loaded, 0);
    CHECK(graph_value(graph, here)->data.buffer == NULL);
    str_release(&problems);
    graph_free(graph);
}

TEST(at_most_so_many_of_a_kind_are_listed_but_all_are_counted)
{
    struct graph *graph = new_graph();
    struct weights_report report;
    struct str problems = {0};
    struct maker maker = {0};
    char name[16];

    for (int i = 0; i < most_told + 3; i++) {
        snprintf(name, sizeof name, "gone%d", i);
        want(graph, name);
    }
    put_floats(&maker, "extra", 1);
    CHECK_INT(load(graph, &maker, &problems, &report), ASSAY_BAD_INPUT);
    CHECK_STR(str_text(&problems),
              "unknown  extra\nmissing  gone0\nmissing  gone1\n"
              "missing  gone2\nmissing  gone3\n");
    CHECK_INT(report.n_missing, most_told + 3);
    str_release(&problems);
    graph_free(graph);
}

TEST(names_of_older_torchvision_are_understood)
{
    struct graph *graph = new_graph();
    uint32_t inner = want(graph, "backbone.fpn.inner_blocks.0.0.weight");
    uint32_t layer = want(graph, "backbone.fpn.layer_blocks.3.0.bias");
    uint32_t rpn = want(graph, "rpn.head.conv.0.0.weight");
    uint32_t mask = want(graph, "roi_heads.mask_head.3.0.bias");
    struct weights_report report;
    struct str problems = {0};
    struct maker maker = {0};

    put_floats(&maker, "backbone.fpn.inner_blocks.0.weight", 1);
    put_floats(&maker, "backbone.fpn.layer_blocks.3.bias", 2);
    put_floats(&maker, "rpn.head.conv.weight", 3);
    put_floats(&maker, "roi_heads.mask_head.mask_fcn4.bias", 4);
    CHECK_STATUS(load(graph, &maker, &problems, &report), ASSAY_OK, &err);
    CHECK_NEAR(first_of(graph, inner), 1, 0);
    CHECK_NEAR(first_of(graph, layer), 2, 0);
    CHECK_NEAR(first_of(graph, rpn), 3, 0);
    CHECK_NEAR(first_of(graph, mask), 4, 0);
    CHECK_INT(report.n_renamed, 4);
    graph_free(graph);
}

TEST(a_tensor_under_its_old_and_its_new_name_is_loaded_once)
{
    struct graph *graph = new_graph();
    struct weights_report report;
    struct str problems = {0};
    struct maker maker = {0};

    want(graph, "rpn.head.conv.0.0.weight");
    put_floats(&maker, "rpn.head.conv.0.0.weight", 1);
    put_floats(&maker, "rpn.head.conv.weight", 2);
    CHECK_INT(load(graph, &maker, &problems, &report), ASSAY_BAD_INPUT);
    CHECK_STR(str_text(&problems), "unknown  rpn.head.conv.weight\n");
    str_release(&problems);
    graph_free(graph);
}

TEST(names_that_did_not_change_have_no_new_name)
{
    static const char *const names[] = {
        "weight",
        "conv.weight",
        "backbone.body.conv.weight",
        "backbone.body.conv1.weight",
        "backbone.fpn.inner_blocks.0.0.weight",
        "backbone.fpn.inner_blocks.0.running_mean",
        "rpn.head.cls_logits.weight",
        "roi_heads.mask_predictor.mask_fcn_logits.weight"};
    struct str name = {0};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_INT(weights_new_name(names[i], &name), ASSAY_OK);
        CHECK_STR(str_text(&name), "");
    }
}

TEST(loading_leaks_nothing_whichever_allocation_fails)
{
    struct graph *graph = new_graph();
    struct checkpoint *checkpoint;
    struct maker maker = {0};
    struct pool *pool;
    enum assay_status st;
    long nth = 0, before;

    want(graph, "rpn.head.conv.0.0.weight");
    put_floats(&maker, "rpn.head.conv.weight", 2);
    put_floats(&maker, "other", 2);
    checkpoint = make(&maker);
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = weights_load(graph, checkpoint, pool, NULL, NULL, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_BAD_INPUT);
    CHECK(nth > 2);
    checkpoint_free(checkpoint);
    graph_free(graph);
    pool_free(pool);
}

/* ---- published files -------------------------------------------------- */

/* ---- to train with other classes --------------------------------------- */

static enum assay_status load_to_train(struct graph *graph, struct maker *maker,
                                       struct weights_report *report,
                                       struct str *renewed)
{
    struct str file = finish(maker);
    const char *path = test_path("start.safetensors");
    FILE *stream = fopen(path, "wb");

    CHECK_INT(fwrite(file.text, 1, file.n, stream), file.n);
    CHECK_INT(fclose(stream), 0);
    str_release(&file);
    return weights_load_to_train(graph, path, the_pool(), NULL, report, renewed,
                                 &err);
}

/* Three numbers instead of the model's two. */
static void put_wide(struct maker *maker, const char *name)
{
    static const float numbers[3] = {1, 2, 3};

    put(maker, name, "F32", "[3]", numbers, sizeof numbers);
}

TEST(a_predictor_for_other_classes_is_renewed_as_a_whole)
{
    struct graph *graph = new_graph();
    uint32_t score = want(graph, "roi_heads.box_predictor.cls_score.bias");
    uint32_t fits = want(graph, "roi_heads.box_predictor.bbox_pred.bias");
    uint32_t other = want(graph, "roi_heads.mask_predictor.conv5_mask.bias");
    uint32_t body = want(graph, "backbone.conv1.bias");
    struct weights_report report;
    struct str renewed = {0};
    struct maker maker = {0};

    put_floats(&maker, "roi_heads.box_predictor.bbox_pred.bias", 1);
    put_wide(&maker, "roi_heads.box_predictor.cls_score.bias");
    put_floats(&maker, "roi_heads.mask_predictor.conv5_mask.bias", 4);
    put_floats(&maker, "backbone.conv1.bias", 5);
    CHECK_STATUS(load_to_train(graph, &maker, &report, &renewed), ASSAY_OK,
                 &err);
    CHECK_STR(str_text(&renewed), "roi_heads.box_predictor");
    CHECK_INT(report.n_renewed, 2);
    CHECK_INT(report.n_loaded, 2);
    CHECK(!graph_value(graph, score)->data.buffer);
    CHECK(!graph_value(graph, fits)->data.buffer);
    CHECK_NEAR(first_of(graph, other), 4, 0);
    CHECK_NEAR(first_of(graph, body), 5, 0);
    str_release(&renewed);
    graph_free(graph);
}

TEST(only_the_last_layer_of_a_classifier_is_renewed)
{
    struct graph *graph = new_graph();
    uint32_t first = want(graph, "classifier.0.bias");
    struct weights_report report;
    struct str renewed = {0};
    struct maker maker = {0};

    want(graph, "classifier.6.bias");
    put_floats(&maker, "classifier.0.bias", 2);
    put_wide(&maker, "classifier.6.bias");
    CHECK_STATUS(load_to_train(graph, &maker, &report, &renewed), ASSAY_OK,
                 &err);
    CHECK_STR(str_text(&renewed), "classifier.6");
    CHECK_NEAR(first_of(graph, first), 2, 0);
    str_release(&renewed);
    graph_free(graph);
}

TEST(anything_else_that_does_not_fit_is_also_refused_for_training)
{
    struct graph *graph = new_graph();
    struct weights_report report;
    struct str renewed = {0};
    struct maker maker = {0};

    want(graph, "backbone.conv1.bias");
    put_wide(&maker, "backbone.conv1.bias");
    CHECK_INT(load_to_train(graph, &maker, &report, &renewed), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "backbone.conv1.bias is float32 3, the model needs "
                        "float32 2");
    CHECK_STR(str_text(&renewed), "");
    graph_free(graph);
    graph = new_graph();
    want(graph, "roi_heads.box_predictor.cls_score.bias");
    put(&maker, "roi_heads.box_predictor.cls_score.bias", "F32", "[1,2]",
        (float[2]){1, 2}, 2 * sizeof(float));
    CHECK_INT(load_to_train(graph, &maker, &report, &renewed), ASSAY_BAD_INPUT);
    graph_free(graph);
}

TEST(a_published_model_is_found_by_its_name_and_by_its_file)
{
    const struct published *faster = published_find("fasterrcnn_resnet50_fpn");
    char digits[PUBLISHED_HASH_DIGITS + 1];

    CHECK(faster != NULL);
    CHECK_STR(faster->file, "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth");
    CHECK(published_find(faster->file) == faster);
    CHECK(published_find("fasterrcnn") == NULL);
    published_hash(faster, digits);
    CHECK_STR(digits, "258fb6c6");
    CHECK_STR(published_find("keypointrcnn_resnet50_fpn")->version, "COCO_V1");
}

TEST(only_files_trained_with_eps_0_have_eps_0)
{
    CHECK_NEAR(weights_norm_eps("/a/fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"),
               0, 0);
    CHECK_NEAR(weights_norm_eps("maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth"), 0,
               0);
    CHECK_NEAR(weights_norm_eps("maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth"),
               1e-5f, 0);
    CHECK_NEAR(weights_norm_eps("mine.pth"), 1e-5f, 0);
    CHECK_NEAR(weights_norm_eps("258fb6c6/mine.pth"), 1e-5f, 0);
}

TEST(the_folder_for_weights_follows_the_xdg_rules)
{
    struct str folder = {0};

    setenv("HOME", "/home/me", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    CHECK_INT(published_folder(&folder, &err), ASSAY_OK);
    CHECK_STR(folder.text, "/cache/assay/weights");
    setenv("XDG_CACHE_HOME", "relative", 1);
    str_clear(&folder);
    CHECK_INT(published_folder(&folder, &err), ASSAY_OK);
    CHECK_STR(folder.text, "/home/me/.cache/assay/weights");
    unsetenv("HOME");
    CHECK_INT(published_folder(&folder, &err), ASSAY_NOT_FOUND);
    str_release(&folder);
}

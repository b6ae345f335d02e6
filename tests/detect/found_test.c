/* What outputs mean: classes, YOLOv8's boxes, SSD's boxes, by hand. */
#include "detect/found.h"

#include "base/str.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

/* A session that has nothing but outputs and a recipe. */
struct setting {
    struct session session;
    struct detect_options options;
    struct tensor outputs[2];
    struct found_source source;
};

static void set_up(struct setting *setting, enum decode decode)
{
    *setting = (struct setting){0};
    CHECK_INT(pool_new(&setting->session.pool, &err), ASSAY_OK);
    setting->session.outputs = setting->outputs;
    setting->session.inputs.recipe = recipe_defaults();
    setting->session.inputs.recipe.width = 100;
    setting->session.inputs.recipe.height = 100;
    setting->options =
        (struct detect_options){.decode = decode, .score = 0.25, .iou = 0.5};
    setting->source = (struct found_source){.session = &setting->session,
                                            .options = &setting->options,
                                            .width = 200,
                                            .height = 100};
    err = (struct error){0};
}

static void add_output(struct setting *setting, struct shape shape,
                       const float *values)
{
    struct tensor *output = &setting->outputs[setting->session.n_outputs++];

    CHECK_INT(
        tensor_new(setting->session.pool, DTYPE_F32, &shape, output, &err),
        ASSAY_OK);
    memcpy(tensor_f32(output), values, tensor_bytes(output));
}

static void tear_down(struct setting *setting, struct found *found)
{
    found_release(found);
    tensor_release(&setting->outputs[0]);
    tensor_release(&setting->outputs[1]);
    pool_free(setting->session.pool);
}

static struct shape rows(int64_t a, int64_t b, int64_t c)
{
    return shape_of(3, a, b, c);
}

static void check_box(const struct found_item *item, float x1, float y1,
                      float x2, float y2)
{
    CHECK_NEAR(item->box.x1, x1, 1e-4);
    CHECK_NEAR(item->box.y1, y1, 1e-4);
    CHECK_NEAR(item->box.x2, x2, 1e-4);
    CHECK_NEAR(item->box.y2, y2, 1e-4);
}

/* Four boxes of three classes: the second overlaps the first of its class,
 * the third is of another class, the last is below the score. */
TEST(yolov8_s_boxes_compete_within_their_class_and_return_to_the_photograph)
{
    static const float output[] = {50,   51,   50,   10, /* x of the centres */
                                   50,   50,   50,   10, /* y */
                                   20,   20,   20,   10, /* widths */
                                   10,   10,   10,   10, /* heights */
                                   0.9F, 0.8F, 0.1F, 0.2F, /* class 0 */
                                   0.3F, 0.1F, 0.6F, 0.1F, /* class 1 */
                                   0,    0,    0,    0};
    struct setting setting;
    struct found found = {0};

    set_up(&setting, DECODE_YOLOV8);
    setting.session.inputs.recipe.fit = FIT_LETTERBOX;
    add_output(&setting, rows(1, 7, 4), output);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 2);
    CHECK_INT(found.items[0].label, 0);
    CHECK_NEAR(found.items[0].score, 0.9, 1e-6);
    /* 200x100 in 100x100: halved, 25 rows of padding above. */
    check_box(&found.items[0], 80, 40, 120, 60);
    CHECK_INT(found.items[1].label, 1);
    CHECK_NEAR(found.items[1].score, 0.6, 1e-6);
    tear_down(&setting, &found);
}

TEST(an_output_that_is_none_of_yolov8_s_is_named)
{
    static const float output[8] = {0};
    struct setting setting;
    struct found found = {0};

    set_up(&setting, DECODE_YOLOV8);
    add_output(&setting, rows(1, 2, 4), output);
    CHECK_INT(found_decode(&setting.source, &found, &err), ASSAY_BAD_USAGE);
    CHECK_STR(err.text, "--decode yolov8 wants a first output of "
                        "[images,4+classes,boxes]; it is 1x2x4");
    tear_down(&setting, &found);
}

TEST(ssd_s_boxes_are_parts_of_the_photograph_whatever_the_order_of_outputs)
{
    static const float scores[] = {0.1F, 0.9F, 0.2F, 0.8F, 0.9F, 0.1F};
    static const float boxes[] = {0.1F,  0.1F, 0.5F, 0.5F, 0.11F, 0.1F,
                                  0.51F, 0.5F, 0,    0,    1,     1};

    for (int turn = 0; turn < 2; turn++) {
        struct setting setting;
        struct found found = {0};

        set_up(&setting, DECODE_SSD);
        if (turn)
            add_output(&setting, rows(1, 3, 4), boxes);
        add_output(&setting, rows(1, 3, 2), scores);
        if (!turn)
            add_output(&setting, rows(1, 3, 4), boxes);
        CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK,
                     &err);
        CHECK_INT(found.n, 1);
        CHECK_INT(found.items[0].label, 1);
        check_box(&found.items[0], 20, 10, 100, 50);
        tear_down(&setting, &found);
    }
}

TEST(the_five_likeliest_classes_come_with_their_probability)
{
    static const float logits[] = {0, 0, 0, 0, 0,  0, 0,  0, /* another image */
                                   1, 3, 2, 0, -1, 2, -2, 1};
    static const int64_t labels[] = {1, 2, 5, 0, 7};
    struct setting setting;
    struct found found = {0};
    double sum = 0;

    set_up(&setting, DECODE_CLASSES);
    add_output(&setting, shape_of(2, (int64_t)2, (int64_t)8), logits);
    setting.source.image = 1;
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 5);
    for (int i = 0; i < 8; i++)
        sum += exp(logits[8 + i]);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(found.items[i].label, labels[i]);
        CHECK_NEAR(found.items[i].score, exp(logits[8 + labels[i]]) / sum,
                   1e-6);
    }
    tear_down(&setting, &found);
}

TEST(probabilities_are_left_as_they_are)
{
    static const float values[] = {0.2F, 0.7F, 0.1F};
    struct setting setting;
    struct found found = {0};

    set_up(&setting, DECODE_CLASSES);
    add_output(&setting, shape_of(2, (int64_t)1, (int64_t)3), values);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 3);
    CHECK_NEAR(found.items[0].score, 0.7, 1e-6);
    tear_down(&setting, &found);
}

TEST(what_is_found_is_an_object_a_photograph_as_json)
{
    static const float values[] = {0.25F, 0.75F};
    static const char *const names[] = {"cat", "a \"dog\""};
    struct found_item items[] = {
        {.box = {1, 2.5F, 30, 40}, .score = 0.75F, .label = 1},
        {.box = {5, 6, 7, 8}, .score = 0.25F, .label = 0}};
    struct found boxes = {.items = items, .n = 2, .has_boxes = true};
    struct found found = {0};
    struct setting setting;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    set_up(&setting, DECODE_CLASSES);
    add_output(&setting, shape_of(2, (int64_t)1, (int64_t)2), values);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    setting.options.found_as_json = true;
    setting.options.labels = names;
    setting.options.n_labels = 2;
    setting.options.score = 0.5;
    found_list(&found, &setting.source, "a.jpg", &sink);
    found_list(&boxes, &setting.source, "b.jpg", &sink);
    CHECK_STR(str_text(&text),
              "{\"photograph\":\"a.jpg\",\"items\":[{\"label\":1,\"name\":\"a "
              "\\\"dog\\\"\",\"score\":0.75},"
              "{\"label\":0,\"name\":\"cat\",\"score\":0.25}]}\n"
              "{\"photograph\":\"b.jpg\",\"items\":[{\"label\":1,\"name\":\"a "
              "\\\"dog\\\"\",\"score\":0.75,"
              "\"box\":[1,2.5,30,40]}]}\n");
    str_release(&text);
    tear_down(&setting, &found);
}

TEST(what_is_found_is_listed_by_the_names_of_a_file_or_by_number)
{
    static const float values[] = {0.25F, 0.75F};
    static const char *const names[] = {"cat", "dog"};
    struct setting setting;
    struct found found = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    set_up(&setting, DECODE_CLASSES);
    add_output(&setting, shape_of(2, (int64_t)1, (int64_t)2), values);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    found_list(&found, &setting.source, "a.jpg", &sink);
    setting.options.labels = names;
    setting.options.n_labels = 2;
    found_list(&found, &setting.source, "a.jpg", &sink);
    CHECK_STR(str_text(&text), "  a.jpg 1 0.7500, 0 0.2500\n"
                               "  a.jpg dog 0.7500, cat 0.2500\n");
    str_release(&text);
    tear_down(&setting, &found);
}

/* Decodes the outputs of models, computed by hand. */
#include "vision/decoder.h"

#include "base/str.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

struct setting {
    struct pool *pool;
    struct recipe recipe;
    struct vision_options options;
    struct tensor outputs[6];
    struct found_source source;
};

static void set_up(struct setting *setting, enum decode decode)
{
    *setting = (struct setting){0};
    CHECK_INT(pool_new(&setting->pool, &err), ASSAY_OK);
    setting->recipe = recipe_defaults();
    setting->recipe.width = 100;
    setting->recipe.height = 100;
    setting->options =
        (struct vision_options){.decode = decode, .score = 0.25, .iou = 0.5};
    setting->source = (struct found_source){.options = &setting->options,
                                            .outputs = setting->outputs,
                                            .recipe = &setting->recipe,
                                            .pool = setting->pool,
                                            .width = 200,
                                            .height = 100};
    err = (struct error){0};
}

static void add_output(struct setting *setting, struct shape shape,
                       const float *values)
{
    struct tensor *output = &setting->outputs[setting->source.n_outputs++];

    CHECK_INT(tensor_new(setting->pool, DTYPE_F32, &shape, output, &err),
              ASSAY_OK);
    memcpy(tensor_f32(output), values, tensor_bytes(output));
}

static void tear_down(struct setting *setting, struct found *found)
{
    found_release(found);
    for (size_t i = 0; i < setting->source.n_outputs; i++)
        tensor_release(&setting->outputs[i]);
    pool_free(setting->pool);
}

static struct shape rows(int64_t a, int64_t b, int64_t c)
{
    return shape_of(3, a, b, c);
}

/* The grids of 100x100 pixels have 13x13, 7x7 and 4x4 cells. */
enum { n_cells = 169 + 49 + 16 };

/* n_values rows of n_few boxes, and boxes of zeros after them. */
static void spread(const float *few, size_t n_values, size_t n_few,
                   float (*out)[n_cells])
{
    memset(out, 0, n_values * sizeof *out);
    for (size_t i = 0; i < n_values; i++)
        memcpy(out[i], few + i * n_few, n_few * sizeof *few);
}

static void check_box(const struct found_item *item, float x1, float y1,
                      float x2, float y2)
{
    CHECK_NEAR(item->box.x1, x1, 1e-4);
    CHECK_NEAR(item->box.y1, y1, 1e-4);
    CHECK_NEAR(item->box.x2, x2, 1e-4);
    CHECK_NEAR(item->box.y2, y2, 1e-4);
}

/* Four boxes of three classes: the second overlaps the first of its class, the
 * third is of another class, the last has too low a score. */
TEST(yolov8_boxes_compete_within_their_class_in_photograph_pixels)
{
    static const float output[] = {50,   51,   50,   10, /* x of the centres */
                                   50,   50,   50,   10, /* y */
                                   20,   20,   20,   10, /* widths */
                                   10,   10,   10,   10, /* heights */
                                   0.9F, 0.8F, 0.1F, 0.2F, /* class 0 */
                                   0.3F, 0.1F, 0.6F, 0.1F, /* class 1 */
                                   0,    0,    0,    0};
    static float all[7][n_cells];
    struct setting setting;
    struct found found = {0};

    set_up(&setting, DECODE_YOLOV8);
    setting.recipe.fit = FIT_LETTERBOX;
    spread(output, 7, 4, all);
    add_output(&setting, rows(1, 7, n_cells), all[0]);
    CHECK_INT(decoder_propose(&setting.source), DECODE_YOLOV8);
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

static const float nothing[n_cells * 32];

TEST(outputs_of_another_layout_are_refused_with_the_decoder_that_fits)
{
    struct setting setting;
    struct found found = {0};

    set_up(&setting, DECODE_YOLOV8);
    add_output(&setting, rows(1, n_cells, 7), nothing);
    CHECK_INT(found_decode(&setting.source, &found, &err), ASSAY_BAD_USAGE);
    CHECK_STR(err.text,
              "--decode yolov8 needs [images,4+classes,boxes] with a box per "
              "cell of grids 8, 16 and 32 pixels wide; the outputs are "
              "1x234x7, which fits --decode yolox");
    tear_down(&setting, &found);
}

/* 300 boxes of 6 values, as models without suppression have them, are not 296
 * classes. */
TEST(outputs_that_nothing_fits_are_refused_without_a_proposal)
{
    static const enum decode decodes[] = {DECODE_YOLOV8,  DECODE_YOLOX,
                                          DECODE_NANODET, DECODE_SSD,
                                          DECODE_DETR,    DECODE_TORCHVISION};

    for (size_t i = 0; i < sizeof decodes / sizeof *decodes; i++) {
        struct setting setting;
        struct found found = {0};

        set_up(&setting, decodes[i]);
        add_output(&setting, rows(1, 300, 6), nothing);
        CHECK_INT(found_decode(&setting.source, &found, &err), ASSAY_BAD_USAGE);
        CHECK_HAS(err.text, "the outputs are 1x300x6");
        CHECK(!strstr(err.text, "which fits"));
        CHECK_INT(found.n, 0);
        tear_down(&setting, &found);
    }
}

/* Cell 14 of the first grid is the second of the second row; cell 169 + 8 is
 * the second of the second row of the next. */
TEST(yolox_boxes_are_relative_to_their_cells)
{
    static float output[n_cells][5 + 2];
    struct setting setting;
    struct found found = {0};

    output[14][0] = 0.5F; /* (1 + 0.5) * 8 = 12 */
    output[14][1] = 1;    /* (1 + 1) * 8 = 16 */
    output[14][2] = 0;    /* 8 wide */
    output[14][3] = logf(2);
    output[14][4] = 0.9F;
    output[14][6] = 0.8F;
    output[177][0] = 0; /* (1 + 0) * 16 */
    output[177][2] = output[177][3] = 0;
    output[177][4] = 0.5F;
    output[177][5] = 0.6F;
    set_up(&setting, DECODE_YOLOX);
    setting.recipe.fit = FIT_CORNER;
    add_output(&setting, rows(1, n_cells, 7), output[0]);
    CHECK_INT(decoder_propose(&setting.source), DECODE_YOLOX);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 2);
    CHECK_INT(found.items[0].label, 1);
    CHECK_NEAR(found.items[0].score, 0.72, 1e-6);
    /* The photograph is twice as large, and in the corner. */
    check_box(&found.items[0], 16, 16, 32, 48);
    CHECK_INT(found.items[1].label, 0);
    CHECK_NEAR(found.items[1].score, 0.3, 1e-6);
    check_box(&found.items[1], 16, 16, 48, 48);
    tear_down(&setting, &found);
}

/* A distribution with all its weight on one bin, or on two equally. */
TEST(nanodet_sides_are_the_means_of_distributions)
{
    static float scores[169][3], sides[169][32];
    struct setting setting;
    struct found found = {0};

    scores[14][2] = 0.8F;
    for (int i = 0; i < 4; i++)
        sides[14][8 * i + 1] = 100; /* one stride */
    sides[14][8 * 3 + 2] = 100;     /* and a half at the bottom */
    set_up(&setting, DECODE_NANODET);
    add_output(&setting, shape_of(2, (int64_t)49, (int64_t)32), nothing);
    add_output(&setting, shape_of(2, (int64_t)169, (int64_t)3), scores[0]);
    add_output(&setting, shape_of(2, (int64_t)49, (int64_t)3), nothing);
    add_output(&setting, shape_of(2, (int64_t)16, (int64_t)3), nothing);
    add_output(&setting, shape_of(2, (int64_t)169, (int64_t)32), sides[0]);
    add_output(&setting, shape_of(2, (int64_t)16, (int64_t)32), nothing);
    CHECK_INT(decoder_propose(&setting.source), DECODE_NANODET);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 1);
    CHECK_INT(found.items[0].label, 2);
    /* The middle of the cell is at 12,12; sides 8, 8, 8 and 12 from it; the
     * photograph is stretched, 200 pixels wide. */
    check_box(&found.items[0], 8, 4, 40, 24);
    tear_down(&setting, &found);
}

/* Both are the same object, but DETR's boxes do not compete; the third is
 * nothing. Logits: the softmax of 3, 1, 0 is 0.844, 0.114, 0.042. */
TEST(detr_boxes_are_kept_by_score_and_the_last_class_is_nothing)
{
    static const float scores[2][9] = {
        {0.7F, 0.2F, 0.1F, 0.1F, 0.8F, 0.1F, 0.05F, 0.05F, 0.9F},
        {3, 1, 0, 1, 3, 0, -9, -9, 9}};
    static const float boxes[] = {0.5F, 0.5F, 0.2F, 0.4F, 0.5F, 0.5F,
                                  0.2F, 0.4F, 0.1F, 0.1F, 0.1F, 0.1F};

    for (int turn = 0; turn < 2; turn++) {
        struct setting setting;
        struct found found = {0};

        set_up(&setting, DECODE_DETR);
        add_output(&setting, rows(1, 3, 3), scores[turn]);
        add_output(&setting, rows(1, 3, 4), boxes);
        CHECK_INT(decoder_propose(&setting.source), DECODE_DETR);
        CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK,
                     &err);
        CHECK_INT(found.n, 2);
        CHECK_INT(found.items[0].label, turn ? 0 : 1);
        CHECK_NEAR(found.items[0].score, turn ? 0.8438 : 0.8, 1e-4);
        check_box(&found.items[0], 80, 30, 120, 70);
        CHECK_INT(found.items[1].label, turn ? 1 : 0);
        tear_down(&setting, &found);
    }
}

TEST(exported_detectors_of_torchvision_are_read_by_type_and_named)
{
    static const float boxes[] = {10, 20, 50, 60, 0, 0, 10, 10};
    static const float scores[] = {0.3F, 0.9F};
    struct shape two = shape_of(1, (int64_t)2);
    struct setting setting;
    struct found found = {0};
    struct tensor *labels;
    char buffer[32];

    set_up(&setting, DECODE_TORCHVISION);
    add_output(&setting, shape_of(2, (int64_t)2, (int64_t)4), boxes);
    labels = &setting.outputs[setting.source.n_outputs++];
    CHECK_INT(tensor_new(setting.pool, DTYPE_I64, &two, labels, &err),
              ASSAY_OK);
    tensor_i64(labels)[0] = 1;
    tensor_i64(labels)[1] = 18;
    add_output(&setting, two, scores);
    CHECK_INT(decoder_propose(&setting.source), DECODE_TORCHVISION);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 2);
    CHECK_NEAR(found.items[0].score, 0.9, 1e-6);
    CHECK_STR(found_name(&setting.source, found.items[0].label, buffer,
                         sizeof buffer),
              "dog");
    check_box(&found.items[1], 20, 20, 100, 60);
    tear_down(&setting, &found);
}

/* Told 400x50, the model's boxes lie on a photograph of that size. */
TEST(boxes_for_a_size_that_the_model_was_told_lie_on_the_photograph)
{
    static const float boxes[] = {0, 0, 1, 1, 0,   0,  1,   1,
                                  0, 0, 1, 1, 100, 10, 200, 20};
    static const float scores[] = {0.9F, 0.9F, 0.1F, 0.8F};
    struct shape two = shape_of(2, (int64_t)2, (int64_t)2);
    struct setting setting;
    struct found found = {0};
    struct tensor *labels;
    char buffer[32];

    set_up(&setting, DECODE_RTDETR);
    labels = &setting.outputs[setting.source.n_outputs++];
    CHECK_INT(tensor_new(setting.pool, DTYPE_I64, &two, labels, &err),
              ASSAY_OK);
    for (int i = 0; i < 4; i++)
        tensor_i64(labels)[i] = 16;
    add_output(&setting, rows(2, 2, 4), boxes);
    add_output(&setting, two, scores);
    setting.source.image = 1;
    setting.source.told_width = 400;
    setting.source.told_height = 50;
    CHECK_INT(decoder_propose(&setting.source), DECODE_RTDETR);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    CHECK_INT(found.n, 1);
    CHECK_STR(found_name(&setting.source, found.items[0].label, buffer,
                         sizeof buffer),
              "dog");
    check_box(&found.items[0], 50, 20, 100, 40);
    found_release(&found);
    setting.source.told_width = 0;
    CHECK_INT(found_decode(&setting.source, &found, &err), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "was told that the photograph is 0x50");
    tear_down(&setting, &found);
}

TEST(a_row_of_scores_is_proposed_as_classes)
{
    struct setting setting;
    struct found found = {0};

    set_up(&setting, DECODE_NONE);
    add_output(&setting, shape_of(2, (int64_t)1, (int64_t)10), nothing);
    CHECK_INT(decoder_propose(&setting.source), DECODE_CLASSES);
    tear_down(&setting, &found);
    set_up(&setting, DECODE_NONE);
    add_output(&setting, rows(1, 10, 5), nothing); /* a map, or anything */
    CHECK_INT(decoder_propose(&setting.source), DECODE_NONE);
    tear_down(&setting, &found);
}

TEST(ssd_boxes_are_found_in_either_order_of_outputs)
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

TEST(the_five_most_likely_classes_have_probabilities)
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

TEST(probabilities_are_kept)
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

/* ---- in a run ------------------------------------------------------------ */

static struct run *tell(struct setting *setting, const struct found *found)
{
    struct run *run;

    CHECK_STATUS(run_new(&run, &err), ASSAY_OK, &err);
    CHECK_STATUS(found_tell(found, &setting->source, "a.jpg", run, &err),
                 ASSAY_OK, &err);
    CHECK_INT(run_found_count(run), 1);
    CHECK_STR(run_found(run, 0)->photograph, "a.jpg");
    return run;
}

TEST(a_run_gets_the_boxes_with_a_sufficient_score)
{
    static const char *const names[] = {"cat", "a \"dog\""};
    struct found_item items[] = {
        {.box = {1, 2.5F, 30, 40}, .score = 0.75F, .label = 1},
        {.box = {5, 6, 7, 8}, .score = 0.25F, .label = 0}};
    struct found boxes = {.items = items, .n = 2, .has_boxes = true};
    const struct found_object *object;
    struct setting setting;
    struct run *run;

    set_up(&setting, DECODE_DETECTOR);
    setting.options.labels = names;
    setting.options.n_labels = 2;
    setting.options.score = 0.5;
    run = tell(&setting, &boxes);
    CHECK_INT(run_found(run, 0)->n, 1);
    object = run_found(run, 0)->objects;
    CHECK_STR(object->name, "a \"dog\"");
    CHECK_INT(object->label, 1);
    CHECK_NEAR(object->score, 0.75, 0);
    CHECK(object->has_box);
    CHECK_NEAR(object->box[1], 2.5, 0);
    CHECK_NEAR(object->box[3], 40, 0);
    run_free(run);
    tear_down(&setting, &(struct found){0});
}

TEST(a_run_gets_all_classes_by_given_name_or_number)
{
    static const float values[] = {0.25F, 0.75F};
    static const char *const names[] = {"cat", "dog"};
    struct setting setting;
    struct found found = {0};
    struct run *run;

    set_up(&setting, DECODE_CLASSES);
    setting.options.score = 0.9;
    add_output(&setting, shape_of(2, (int64_t)1, (int64_t)2), values);
    CHECK_STATUS(found_decode(&setting.source, &found, &err), ASSAY_OK, &err);
    run = tell(&setting, &found);
    CHECK_INT(run_found(run, 0)->n, 2);
    CHECK_STR(run_found(run, 0)->objects[0].name, "1");
    CHECK_STR(run_found(run, 0)->objects[1].name, "0");
    CHECK(!run_found(run, 0)->objects[0].has_box);
    run_free(run);
    setting.options.labels = names;
    setting.options.n_labels = 2;
    run = tell(&setting, &found);
    CHECK_STR(run_found(run, 0)->objects[0].name, "dog");
    CHECK_STR(run_found(run, 0)->objects[1].name, "cat");
    run_free(run);
    tear_down(&setting, &found);
}

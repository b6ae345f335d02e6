/* Photographs for inputs that are not a batch. */
#include "vision/model_inputs.h"

#include "test.h"

static struct error err;
static struct pool *pool;
static struct graph *graph;

/* A model with a single input of this shape. */
static void open_model(struct shape shape)
{
    uint32_t input;

    err = (struct error){0};
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_new(&graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_input(graph, "image", DTYPE_F32, &input, &err), ASSAY_OK,
                 &err);
    graph_declare_input(graph, input, &shape);
}

/* Another input after those that are there. */
static void add_input(const char *name, enum dtype dtype, struct shape shape)
{
    uint32_t input;

    CHECK_STATUS(graph_input(graph, name, dtype, &input, &err), ASSAY_OK, &err);
    graph_declare_input(graph, input, &shape);
}

static void close_model(void)
{
    graph_free(graph);
    pool_free(pool);
}

static struct model_source file_for(int64_t batch)
{
    return (struct model_source){
        .name = "m.onnx", .is_file = true, .build = {.n_images = batch}};
}

static struct vision_options as_it_is(void)
{
    return (struct vision_options){.decode = DECODE_NONE,
                                   .recipe = recipe_defaults()};
}

TEST(a_single_image_takes_a_photograph)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)3, (int64_t)20, (int64_t)30));
    CHECK_STATUS(
        model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
        ASSAY_OK, &err);
    CHECK_INT(inputs.kind, INPUTS_BATCH);
    CHECK_INT(inputs.recipe.width, 30);
    CHECK_INT(inputs.recipe.height, 20);
    CHECK(!inputs.recipe.is_channels_last);
    CHECK_INT(inputs.recipe.order, ORDER_RGB);
    CHECK_INT(inputs.shapes[0].rank, 3);
    model_inputs_release(&inputs);
    close_model();
}

TEST(a_single_image_with_channels_last_takes_the_requested_size)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)-1, (int64_t)-1, (int64_t)3));
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "leaves a size (-1) free");
    model_inputs_release(&inputs);
    options.recipe.width = 30;
    options.recipe.height = 20;
    err = (struct error){0};
    CHECK_STATUS(
        model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
        ASSAY_OK, &err);
    CHECK(inputs.recipe.is_channels_last);
    CHECK_INT(inputs.shapes[0].dims[0], 20);
    CHECK_INT(inputs.shapes[0].dims[1], 30);
    model_inputs_release(&inputs);
    close_model();
}

/* Three channels are not three images. */
TEST(a_single_image_refuses_a_batch)
{
    struct model_source model = file_for(3);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)3, (int64_t)20, (int64_t)30));
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "is 3x20x30; a batch of 3 does not fit");
    model_inputs_release(&inputs);
    close_model();
}

TEST(a_sequence_refuses_photographs)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)1, (int64_t)84, (int64_t)900));
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "are not images");
    model_inputs_release(&inputs);
    close_model();
}

TEST(an_input_with_free_channels_asks_for_its_shape)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};

    open_model(shape_of(4, (int64_t)-1, (int64_t)-1, (int64_t)-1, (int64_t)-1));
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "leaves its channels (-1) free");
    CHECK_HAS(err.text, "--shape image=1x3x640x640");
    model_inputs_release(&inputs);
    close_model();
}

/* ---- inputs besides the image ---------------------------------------------
 */

static struct shape images(int64_t n)
{
    return shape_of(4, n, (int64_t)3, (int64_t)20, (int64_t)30);
}

static struct shape pairs(int64_t n)
{
    return shape_of(2, n, (int64_t)2);
}

/* What input 1 says of a photograph of 400x300. */
static void check_said(const struct model_inputs *inputs, double first,
                       double second)
{
    float said[2];

    model_inputs_describe(inputs, 1, 400, 300, 0, said);
    CHECK_NEAR(said[0], first, 1e-6);
    CHECK_NEAR(said[1], second, 1e-6);
}

TEST(inputs_with_known_names_are_told_the_size_of_the_photograph)
{
    static const struct {
        const char *name;
        double first, second;
    } known[] = {{"orig_target_sizes", 400, 300},
                 {"orig_size", 400, 300},
                 {"image_shape", 300, 400},
                 {"im_shape", 20, 30},
                 {"scale_factor", 20.0 / 300, 30.0 / 400}};
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct model_inputs inputs = {0};

        open_model(images(1));
        add_input(known[i].name, DTYPE_F32, pairs(-1));
        CHECK_STATUS(
            model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
            ASSAY_OK, &err);
        CHECK_INT(inputs.kind, INPUTS_BATCH);
        CHECK_INT(inputs.image, 0);
        check_said(&inputs, known[i].first, known[i].second);
        model_inputs_release(&inputs);
        close_model();
    }
}

TEST(an_information_has_three_numbers_and_a_mask_is_all_ones)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};
    float info[3];
    int64_t mask[6] = {0};

    open_model(images(1));
    add_input("im_info", DTYPE_F32, shape_of(2, (int64_t)1, (int64_t)3));
    add_input("pixel_mask", DTYPE_I64,
              shape_of(3, (int64_t)1, (int64_t)2, (int64_t)3));
    CHECK_STATUS(
        model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
        ASSAY_OK, &err);
    model_inputs_describe(&inputs, 1, 400, 300, 0, info);
    CHECK_NEAR(info[0], 20, 0);
    CHECK_NEAR(info[1], 30, 0);
    CHECK_NEAR(info[2], 20.0 / 300, 1e-6);
    model_inputs_describe(&inputs, 2, 400, 300, 0, mask);
    for (int i = 0; i < 6; i++)
        CHECK_INT(mask[i], 1);
    model_inputs_release(&inputs);
    close_model();
    open_model(images(1));
    add_input("im_info", DTYPE_F32, pairs(1)); /* not what is known */
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "input 'im_info' (1x2 float32) needs a value");
    model_inputs_release(&inputs);
    close_model();
}

TEST(every_image_of_a_batch_has_its_own_size)
{
    struct model_source model = file_for(2);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};
    int64_t said[4] = {0};

    open_model(images(2));
    add_input("orig_target_sizes", DTYPE_I64, pairs(-1));
    CHECK_STATUS(
        model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
        ASSAY_OK, &err);
    model_inputs_describe(&inputs, 1, 400, 300, 0, said);
    model_inputs_describe(&inputs, 1, 50, 60, 1, said);
    CHECK_INT(said[0], 400);
    CHECK_INT(said[1], 300);
    CHECK_INT(said[2], 50);
    CHECK_INT(said[3], 60);
    model_inputs_release(&inputs);
    close_model();
}

/* Settles a model with an image and the input `name`, which is set to text. */
static enum assay_status settle_with(struct model_inputs *inputs,
                                     const char *name, enum dtype dtype,
                                     struct shape shape, const char *text)
{
    struct input_setting setting = {.input = name, .text = text};
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();

    options.settings = &setting;
    options.n_settings = 1;
    open_model(images(1));
    add_input(name, dtype, shape);
    return model_inputs_settle(inputs, &model, &options, graph, pool, &err);
}

TEST(given_numbers_fill_an_input_and_win_over_what_is_known)
{
    struct model_inputs inputs = {0};
    double width = 400, height = 300;

    CHECK_STATUS(
        settle_with(&inputs, "orig_size", DTYPE_F32, pairs(1), "640x480"),
        ASSAY_OK, &err);
    check_said(&inputs, 640, 480);
    model_inputs_size(&inputs, 0, &width, &height);
    CHECK_NEAR(width, 640, 0);
    CHECK_NEAR(height, 480, 0);
    model_inputs_release(&inputs);
    close_model();
    CHECK_STATUS(
        settle_with(&inputs, "thresholds", DTYPE_F32, pairs(1), "-2.5e-1"),
        ASSAY_OK, &err);
    check_said(&inputs, -0.25, -0.25);
    model_inputs_release(&inputs);
    close_model();
}

TEST(numbers_that_do_not_fit_an_input_are_refused)
{
    static const struct {
        enum dtype dtype;
        const char *text, *why;
    } refused[] = {
        {DTYPE_I64, "1x2x3",
         "3 numbers, but the input is 1x2 int64: give 1 "
         "for all, or 2"},
        {DTYPE_I64, "0.5", "0.5 is not a whole number, and the input is int64"},
        {DTYPE_U8, "256", "256 is outside of uint8, which goes from 0 to 255"},
        {DTYPE_F32, "nan", "'nan' is not a list of numbers"},
        {DTYPE_F32, "1x", "'1x' is not a list of numbers"},
        {DTYPE_F32, "1;2", "'1;2' is not a list of numbers"},
        {DTYPE_F32, "1e999", "'1e999' is not a list of numbers"},
        {DTYPE_BOOL, "maybe", "'maybe' is not a list of numbers"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct model_inputs inputs = {0};

        CHECK_INT(settle_with(&inputs, "k", refused[i].dtype, pairs(1),
                              refused[i].text),
                  ASSAY_BAD_USAGE);
        CHECK_HAS(err.text, "--set k: ");
        CHECK_HAS(err.text, refused[i].why);
        model_inputs_release(&inputs);
        close_model();
    }
}

TEST(a_list_of_tensors_cannot_be_given)
{
    struct model_inputs inputs = {0};

    CHECK_INT(settle_with(&inputs, "k", DTYPE_SEQUENCE, pairs(1), "1"),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "a list of tensors");
    model_inputs_release(&inputs);
    close_model();
}

TEST(an_input_that_nobody_knows_must_be_given)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct input_setting setting = {.input = "tokens", .text = "1"};
    struct model_inputs inputs = {0};

    open_model(images(1));
    add_input("sizes", DTYPE_I64, pairs(1));
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "input 'sizes' (1x2 int64) needs a value");
    CHECK_HAS(err.text, "--set sizes=640x640");
    model_inputs_release(&inputs);
    err = (struct error){0};
    options.settings = &setting;
    options.n_settings = 1;
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "no input 'tokens'; its inputs are image, sizes");
    model_inputs_release(&inputs);
    err = (struct error){0};
    setting.input = "image";
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "input 'image' gets the photographs");
    model_inputs_release(&inputs);
    close_model();
}

TEST(of_two_images_one_must_be_named)
{
    struct model_source model = file_for(1);
    struct vision_options options = as_it_is();
    struct input_setting setting = {.input = "image", .text = "0.5"};
    struct model_inputs inputs = {0};
    float zeros[3 * 20 * 30];

    open_model(images(1));
    add_input("second", DTYPE_F32, images(1));
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "'image' and 'second' both look like images");
    model_inputs_release(&inputs);
    err = (struct error){0};
    options.image_input = "third";
    CHECK_INT(model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "--input: the model has no input 'third'");
    model_inputs_release(&inputs);
    err = (struct error){0};
    options.image_input = "second";
    options.settings = &setting;
    options.n_settings = 1;
    CHECK_STATUS(
        model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
        ASSAY_OK, &err);
    CHECK_INT(inputs.image, 1);
    model_inputs_describe(&inputs, 0, 400, 300, 0, zeros);
    CHECK_NEAR(zeros[0], 0.5, 0);
    CHECK_NEAR(zeros[3 * 20 * 30 - 1], 0.5, 0);
    model_inputs_release(&inputs);
    close_model();
}

/* A size of 0 or 1, which random numbers would give, makes no sense. */
TEST(random_images_have_the_size_that_the_model_is_told)
{
    struct model_source model = file_for(2);
    struct vision_options options = as_it_is();
    struct model_inputs inputs = {0};
    const int64_t *told;

    options.is_random = true;
    open_model(images(-1));
    add_input("orig_target_sizes", DTYPE_I64, pairs(-1));
    CHECK_STATUS(
        model_inputs_settle(&inputs, &model, &options, graph, pool, &err),
        ASSAY_OK, &err);
    told = tensor_i64(&inputs.values[1]);
    CHECK_INT(told[0], 30);
    CHECK_INT(told[1], 20);
    CHECK_INT(told[2], 30);
    CHECK_INT(told[3], 20);
    model_inputs_release(&inputs);
    close_model();
}

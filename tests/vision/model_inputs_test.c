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

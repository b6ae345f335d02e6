/* What photographs become for inputs of other shapes than a batch. */
#include "detect/model_inputs.h"

#include "test.h"

static struct error err;
static struct pool *pool;
static struct graph *graph;

/* A model whose only input has this shape. */
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

static struct detect_options options_for(int64_t batch)
{
    return (struct detect_options){.model = "m.onnx",
                                   .is_onnx = true,
                                   .decode = DECODE_NONE,
                                   .build = {.n_images = batch},
                                   .recipe = recipe_defaults()};
}

TEST(one_image_alone_takes_a_photograph)
{
    struct detect_options options = options_for(1);
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)3, (int64_t)20, (int64_t)30));
    CHECK_STATUS(model_inputs_settle(&inputs, &options, graph, pool, &err),
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

TEST(one_image_alone_with_its_channels_last_takes_one_of_the_size_asked_for)
{
    struct detect_options options = options_for(1);
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)-1, (int64_t)-1, (int64_t)3));
    CHECK_INT(model_inputs_settle(&inputs, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "leaves a size (-1) free");
    model_inputs_release(&inputs);
    options.recipe.width = 30;
    options.recipe.height = 20;
    err = (struct error){0};
    CHECK_STATUS(model_inputs_settle(&inputs, &options, graph, pool, &err),
                 ASSAY_OK, &err);
    CHECK(inputs.recipe.is_channels_last);
    CHECK_INT(inputs.shapes[0].dims[0], 20);
    CHECK_INT(inputs.shapes[0].dims[1], 30);
    model_inputs_release(&inputs);
    close_model();
}

/* Three channels are no three images. */
TEST(one_image_alone_takes_no_batch)
{
    struct detect_options options = options_for(3);
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)3, (int64_t)20, (int64_t)30));
    CHECK_INT(model_inputs_settle(&inputs, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "is 3x20x30; --batch 3 does not fit");
    model_inputs_release(&inputs);
    close_model();
}

TEST(a_sequence_takes_no_photographs)
{
    struct detect_options options = options_for(1);
    struct model_inputs inputs = {0};

    open_model(shape_of(3, (int64_t)1, (int64_t)84, (int64_t)900));
    CHECK_INT(model_inputs_settle(&inputs, &options, graph, pool, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "are not images");
    model_inputs_release(&inputs);
    close_model();
}

/* Layers of Keras with the channels first compute what those with the channels
 * last do, which keras_run_test compares with Keras itself; and Normalization
 * along any axes, computed by hand. */
#include "test.h"

#include "base/random.h"
#include "engine/engine.h"
#include "formats/keras/keras.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { n_channels = 4, height = 7, width = 6, max_text = 2048 };

static struct error err;

struct subject {
    struct pool *pool;
    struct graph *graph;
    struct tensor output;
};

/* A model of one layer between its input and a Flatten of the same format. */
static void make_config(char text[max_text], const char *shape,
                        const char *format, const char *class_name,
                        const char *settings)
{
    int n = snprintf(
        text, max_text,
        "{\"class_name\":\"Functional\",\"config\":{\"name\":\"m\",\"layers\":["
        "{\"class_name\":\"InputLayer\",\"config\":{\"name\":\"x\","
        "\"batch_shape\":[null,%s]},\"name\":\"x\",\"inbound_nodes\":[]},"
        "{\"class_name\":\"%s\",\"name\":\"l\",\"config\":{\"name\":\"l\","
        "\"data_format\":\"%s\"%s},\"inbound_nodes\":[[[\"x\",0,0,{}]]]},"
        "{\"class_name\":\"Flatten\",\"name\":\"f\",\"config\":{\"name\":\"f\","
        "\"data_format\":\"%s\"},\"inbound_nodes\":[[[\"l\",0,0,{}]]]}],"
        "\"input_layers\":[[\"x\",0,0]],\"output_layers\":[[\"f\",0,0]]}}",
        shape, class_name, format, settings, format);

    CHECK(n > 0 && n < max_text);
}

static void load(struct subject *subject, const char *config)
{
    struct random random = random_seed(7);

    *subject = (struct subject){0};
    err = (struct error){0};
    CHECK_INT(pool_new(&subject->pool, &err), ASSAY_OK);
    CHECK_STATUS(keras_load_config(config, strlen(config), subject->pool,
                                   &subject->graph, &err),
                 ASSAY_OK, &err);
    for (uint32_t i = 0; i < graph_value_count(subject->graph); i++) {
        const struct value *value = graph_value(subject->graph, i);

        if (value->kind != VALUE_PARAMETER && value->kind != VALUE_BUFFER)
            continue;
        for (size_t k = 0; k < tensor_elements(&value->data); k++)
            tensor_f32(&value->data)[k] = 0.5F + (float)random_unit(&random);
    }
}

static void run(struct subject *subject, const float *x)
{
    struct engine_options options = {.backend_options = {.n_threads = 1}};
    struct shape shape = *graph_input_shape(subject->graph, 0);
    struct engine *engine;
    struct tensor input;

    shape.dims[0] = 1;
    CHECK_INT(tensor_new(subject->pool, DTYPE_F32, &shape, &input, &err),
              ASSAY_OK);
    memcpy(tensor_data(&input), x, tensor_bytes(&input));
    CHECK_STATUS(
        engine_new(subject->graph, subject->pool, &options, &engine, &err),
        ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &input, &subject->output, &err), ASSAY_OK,
                 &err);
    engine_free(engine);
    tensor_release(&input);
}

static void release(struct subject *subject)
{
    tensor_release(&subject->output);
    graph_free(subject->graph);
    pool_free(subject->pool);
}

static size_t count_transposes(const struct graph *graph)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(graph); i++)
        n += strcmp(graph_node(graph, i)->op->name, "Transpose") == 0;
    return n;
}

/* first_settings: NULL if they do not depend on the format. */
static void check_layer(const char *class_name, const char *settings,
                        const char *first_settings)
{
    enum { n = n_channels * height * width };
    struct random random = random_seed(3);
    float last[n], first[n];
    struct subject a, b;
    char config[max_text];

    for (int i = 0; i < n; i++) {
        int pixel = i / n_channels, channel = i % n_channels;

        last[i] = (float)random_unit(&random) - 0.5F;
        first[channel * height * width + pixel] = last[i];
    }
    make_config(config, "7,6,4", "channels_last", class_name, settings);
    load(&a, config);
    run(&a, last);
    make_config(config, "4,7,6", "channels_first", class_name,
                first_settings ? first_settings : settings);
    load(&b, config);
    run(&b, first);
    CHECK(shape_equal(&a.output.shape, &b.output.shape));
    for (size_t i = 0; i < tensor_elements(&a.output); i++)
        CHECK_NEAR(tensor_f32(&b.output)[i], tensor_f32(&a.output)[i], 1e-6);
    CHECK(count_transposes(b.graph) <= 1); /* the Flatten's own */
    release(&a);
    release(&b);
}

TEST(layers_with_the_channels_first_compute_what_others_do)
{
    static const struct {
        const char *class_name, *settings, *first_settings;
    } layers[] = {
        {"Conv2D",
         ",\"filters\":6,\"kernel_size\":[3,3],\"strides\":[2,2],\"padding\":"
         "\"same\",\"groups\":2,\"activation\":\"relu\"",
         NULL},
        {"DepthwiseConv2D",
         ",\"kernel_size\":[3,3],\"depth_multiplier\":2,\"padding\":\"valid\"",
         NULL},
        {"SeparableConv2D",
         ",\"filters\":5,\"kernel_size\":[4,3],\"strides\":[3,3],\"padding\":"
         "\"same\"",
         NULL},
        {"Conv2DTranspose",
         ",\"filters\":3,\"kernel_size\":[3,3],\"strides\":[2,2],\"padding\":"
         "\"same\"",
         NULL},
        {"MaxPooling2D", ",\"pool_size\":[3,2],\"padding\":\"same\"", NULL},
        {"AveragePooling2D",
         ",\"pool_size\":[2,2],\"strides\":[2,2],\"padding\":\"same\"", NULL},
        {"GlobalAveragePooling2D", ",\"keepdims\":true", NULL},
        {"GlobalMaxPooling2D", "", NULL},
        {"ZeroPadding2D", ",\"padding\":[[1,0],[2,3]]", NULL},
        {"Cropping2D", ",\"cropping\":[[1,2],[0,1]]", NULL},
        {"UpSampling2D", ",\"size\":[2,3]", NULL},
        {"BatchNormalization", ",\"axis\":[3]", ",\"axis\":[1]"},
        {"PReLU", ",\"shared_axes\":[1,2]", ",\"shared_axes\":[2,3]"},
        {"Softmax", ",\"axis\":-1", ",\"axis\":1"},
    };

    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        check_layer(layers[i].class_name, layers[i].settings,
                    layers[i].first_settings);
}

/* ---- Normalization --------------------------------------------------------
 */

/* x is [1, 2, 3]; moments come from the configuration. */
static void check_normalized(const char *settings, const float wanted[6])
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    struct subject subject;
    char config[max_text];

    make_config(config, "2,3", "channels_last", "Normalization", settings);
    load(&subject, config);
    run(&subject, x);
    for (size_t i = 0; i < 6; i++)
        CHECK_NEAR(tensor_f32(&subject.output)[i], wanted[i], 1e-6);
    release(&subject);
}

TEST(normalization_keeps_the_moments_of_its_axes)
{
    check_normalized(",\"axis\":-1,\"mean\":[1,2,3],\"variance\":[4,4,1]",
                     (float[]){0, 0, 0, 1.5F, 1.5F, 3});
    check_normalized(",\"axis\":[1],\"mean\":[1,4],\"variance\":[4,1]",
                     (float[]){0, 0.5F, 1, 0, 1, 2});
    check_normalized(",\"axis\":[1,2],\"mean\":[[1,2,3],[4,5,5]],"
                     "\"variance\":[[1,1,1],[1,1,0.25]]",
                     (float[]){0, 0, 0, 0, 0, 2});
    check_normalized(",\"axis\":null,\"mean\":2,\"variance\":4",
                     (float[]){-0.5F, 0, 0.5F, 1, 1.5F, 2});
    check_normalized(",\"axis\":[1],\"mean\":[1,4],\"variance\":[4,1],"
                     "\"invert\":true",
                     (float[]){3, 5, 7, 8, 9, 10});
}

/* What adapt() stored has the sizes of the axes alone. */
TEST(stored_moments_of_several_axes_are_broadcast)
{
    struct subject subject;
    char config[max_text];
    uint32_t mean;

    make_config(config, "2,5,3", "channels_last", "Normalization",
                ",\"axis\":[1,3]");
    load(&subject, config);
    mean = graph_find_value(subject.graph, "l.mean");
    CHECK(mean != GRAPH_NONE);
    CHECK(shape_equal(&graph_value(subject.graph, mean)->shape,
                      &(struct shape){.rank = 4, .dims = {1, 2, 1, 3}}));
    release(&subject);
}

/* models/fill.c - the random weights of a newly built model. */
#include "models/models.h"

#include "base/map.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* Marsaglia and Tsang's ziggurat (2000) with 128 layers: 98 % of the values
 * take a table look-up and a product, while the usual transforms take a
 * logarithm each. */
enum { layers = 128 };

struct ziggurat {
    uint32_t inside[layers]; /* values below are under the curve */
    double width[layers];    /* of a layer, for 31 bits */
    double height[layers];   /* of the curve at its right end */
};

static const double tail_start = 3.442619855899;
static const double layer_area = 9.91256303526217e-3;

static void ziggurat_init(struct ziggurat *z)
{
    const double bits = 2147483648.0;
    double right = tail_start, last = tail_start;
    double base = layer_area / exp(-0.5 * right * right);

    z->inside[0] = (uint32_t)(right / base * bits);
    z->inside[1] = 0;
    z->width[0] = base / bits;
    z->width[layers - 1] = right / bits;
    z->height[0] = 1;
    z->height[layers - 1] = exp(-0.5 * right * right);
    for (int i = layers - 2; i >= 1; i--) {
        right = sqrt(-2 * log(layer_area / right + exp(-0.5 * right * right)));
        z->inside[i + 1] = (uint32_t)(right / last * bits);
        last = right;
        z->height[i] = exp(-0.5 * right * right);
        z->width[i] = right / bits;
    }
}

/* Beyond the last layer: rejection from an exponential above the curve. */
static double draw_tail(struct random *random)
{
    double x, y;

    do {
        x = -log(1 - random_unit(random)) / tail_start;
        y = -log(1 - random_unit(random));
    } while (y + y < x * x);
    return tail_start + x;
}

static double draw_normal(const struct ziggurat *z, struct random *random)
{
    for (;;) {
        uint64_t bits = random_u64(random);
        uint32_t magnitude = (uint32_t)bits >> 1;
        uint32_t layer = (uint32_t)(bits >> 32) % layers;
        double sign = bits & 1 ? -1 : 1;
        double x = magnitude * z->width[layer];

        if (magnitude < z->inside[layer])
            return sign * x;
        if (layer == 0)
            return sign * draw_tail(random);
        if (z->height[layer] + random_unit(random) *
                                   (z->height[layer - 1] - z->height[layer]) <
            exp(-0.5 * x * x))
            return sign * x;
    }
}

static void fill_normal(float *data, size_t n, const struct ziggurat *z,
                        struct random *random, float scale)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (float)draw_normal(z, random) * scale;
}

static void fill_uniform(float *data, size_t n, struct random *random,
                         float scale)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(2 * random_unit(random) - 1) * scale;
}

static void fill_constant(float *data, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        data[i] = value;
}

/* Every parameter has its own stream, from the seed and its name, so that
 * adding a layer does not change the others. */
static enum assay_status fill_value(struct graph *graph, uint32_t id,
                                    struct pool *pool, uint64_t seed,
                                    const struct ziggurat *z, struct error *err)
{
    const struct value *value = graph_value(graph, id);
    struct random random =
        random_seed(seed ^ map_hash(value->name, strlen(value->name)));
    enum assay_status st;
    struct tensor data;
    size_t n;

    st = tensor_new(pool, value->dtype, &value->shape, &data, err);
    if (st) {
        error_context(err, "%s", value->name);
        return st;
    }
    n = tensor_elements(&data);
    switch (value->fill) {
    case FILL_ZERO:
        fill_constant(tensor_f32(&data), n, 0);
        break;
    case FILL_ONE:
        fill_constant(tensor_f32(&data), n, 1);
        break;
    case FILL_NORMAL:
        fill_normal(tensor_f32(&data), n, z, &random, value->fill_scale);
        break;
    case FILL_UNIFORM:
        fill_uniform(tensor_f32(&data), n, &random, value->fill_scale);
        break;
    }
    return graph_set_data(graph, id, data, err);
}

enum assay_status model_fill(struct graph *graph, struct pool *pool,
                             uint64_t seed, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct ziggurat z;

    ziggurat_init(&z);
    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if ((value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER) &&
            !value->data.buffer)
            st = fill_value(graph, i, pool, seed, &z, err);
    }
    return st;
}

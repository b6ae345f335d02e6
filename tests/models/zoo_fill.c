/* tests/models/zoo_fill.c - see zoo_fill.h. */
#include "zoo_fill.h"

#include "base/mem.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { period = 1 << 20 };

static struct error err;

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261U;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619U;
    return hash;
}

/* From -1 to 1, as in make_zoo.py. */
static float uniform(uint32_t seed, size_t i)
{
    uint32_t bits = (uint32_t)(i % period) * 2654435761U + seed;

    bits ^= bits >> 15;
    bits *= 2246822519U;
    bits ^= bits >> 13;
    return (float)(bits >> 8) * 0x1p-23F - 1;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), n_ending = strlen(ending);

    return n >= n_ending && strcmp(text + n - n_ending, ending) == 0;
}

/* A detector's last layers; see GENTLE in make_zoo.py. */
static bool is_gentle(const char *name)
{
    return ends_with(name, ".bbox_pred.weight") ||
           ends_with(name, ".cls_logits.weight") ||
           ends_with(name, ".cls_score.weight");
}

/* value = offset + scale * uniform */
static void find_fill(const struct value *value, size_t n, float *offset,
                      float *scale)
{
    bool is_matrix = value->shape.rank > 1;

    *offset = 0;
    *scale = 0.125F;
    if (is_matrix)
        *scale = (float)sqrt(6 / (double)(n / (size_t)value->shape.dims[0]));
    if (is_matrix && is_gentle(value->name))
        *scale *= 0.125F;
    if (is_matrix)
        return;
    if (ends_with(value->name, "running_var"))
        *offset = 1, *scale = 0.5F;
    else if (ends_with(value->name, ".weight"))
        *offset = 1;
    if (ends_with(value->name, ".bn3.weight"))
        *offset *= 0.25F, *scale *= 0.25F;
}

void zoo_fill(struct graph *graph, struct pool *pool)
{
    float *block = mem_array(period, sizeof *block);

    CHECK(block != NULL);
    for (uint32_t id = 0; id < graph_value_count(graph); id++) {
        const struct value *value = graph_value(graph, id);
        uint32_t seed = name_hash(value->name);
        float offset, scale;
        struct tensor data;
        size_t n;

        if (value->kind != VALUE_PARAMETER && value->kind != VALUE_BUFFER)
            continue;
        CHECK_INT(tensor_new(pool, DTYPE_F32, &value->shape, &data, &err),
                  ASSAY_OK);
        n = tensor_elements(&data);
        find_fill(value, n, &offset, &scale);
        for (size_t i = 0; i < n && i < period; i++)
            block[i] = offset + scale * uniform(seed, i);
        for (size_t i = 0; i < n; i += period)
            memcpy(tensor_f32(&data) + i, block,
                   (n - i < period ? n - i : period) * sizeof *block);
        CHECK_INT(graph_set_data(graph, id, data, &err), ASSAY_OK);
    }
    mem_free(block);
}

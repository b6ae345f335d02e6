/* models/copy_weights.c - copies the tensors of one graph of a model to
 * another. */
#include "models/models.h"

#include <string.h>

static enum assay_status copy_weight(struct graph *to, uint32_t id,
                                     const struct graph *from,
                                     struct pool *pool, struct error *err)
{
    const struct value *value = graph_value(to, id);
    uint32_t source = graph_find_value(from, value->name);
    const struct tensor *data;
    struct tensor copy;
    enum assay_status st;

    data = source == GRAPH_NONE ? NULL : &graph_value(from, source)->data;
    if (!data || !data->buffer)
        return error_set(err, ASSAY_BAD_INPUT, "%s of %s has no data in %s",
                         value->name, graph_name(to), graph_name(from));
    st = tensor_new(pool, data->dtype, &data->shape, &copy, err);
    if (st)
        return st;
    memcpy(tensor_data(&copy), tensor_data(data), tensor_bytes(data));
    return graph_set_data(to, id, copy, err);
}

enum assay_status model_copy_weights(struct graph *to, const struct graph *from,
                                     struct pool *pool, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(to); i++) {
        enum value_kind kind = graph_value(to, i)->kind;

        if (kind == VALUE_PARAMETER || kind == VALUE_BUFFER)
            st = copy_weight(to, i, from, pool, err);
    }
    return st;
}

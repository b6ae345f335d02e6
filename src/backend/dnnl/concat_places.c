/* backend/dnnl/concat_places.c - parts of a concatenation that are made where
 * they belong, so that nothing is left to copy.
 *
 * Where a Concat of blocked maps has run once, it is known which channels of
 * its output each input becomes. In one image whole blocks of channels lie
 * together, so whoever makes such an input next time gets that piece of the
 * output's memory. A Concat in a Concat has its place there in turn, as in a
 * DenseNet. Everything is checked again when the Concat runs: what is not in
 * its place is copied. */
#include "backend/dnnl/concat_places.h"

#include "base/mem.h"

/* Of a value. */
struct place {
    uint32_t concat; /* the node it is an input of; GRAPH_NONE: none */
    size_t offset;   /* in the output of that */
    const struct layout *layout;
    uint64_t taken; /* the number of the gathering it was handed out in last */
};

/* The output of a Concat that has not run yet. */
struct gathering {
    const struct layout *layout;
    struct buffer *buffer; /* NULL: none of its parts are made */
    uint64_t number;
};

struct places {
    struct place *of_values;
    struct gathering *of_nodes;
    size_t n_nodes;
    uint64_t n_gathered;
};

static struct places *places_new(const struct graph *graph)
{
    struct places *places = mem_zalloc(sizeof *places);
    size_t n = graph_value_count(graph);

    if (!places)
        return NULL;
    places->n_nodes = graph_node_count(graph);
    places->of_values = mem_array(n, sizeof *places->of_values);
    places->of_nodes = mem_array(places->n_nodes, sizeof *places->of_nodes);
    if (!places->of_values || !places->of_nodes) {
        mem_free(places->of_values);
        mem_free(places->of_nodes);
        mem_free(places);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        places->of_values[i].concat = GRAPH_NONE;
    return places;
}

void places_drop(struct places *places)
{
    for (size_t i = 0; places && i < places->n_nodes; i++) {
        buffer_release(places->of_nodes[i].buffer);
        places->of_nodes[i].buffer = NULL;
    }
}

void places_free(struct places *places)
{
    if (!places)
        return;
    places_drop(places);
    mem_free(places->of_values);
    mem_free(places->of_nodes);
    mem_free(places);
}

/* The Concat that no other one holds, and where the value is in its output. */
static uint32_t find_outermost(const struct onednn *dn,
                               const struct place *place, size_t *offset)
{
    const struct places *places = dn->places;
    uint32_t concat = GRAPH_NONE;

    *offset = 0;
    while (place->concat != GRAPH_NONE &&
           (concat == GRAPH_NONE ||
            place->layout == places->of_nodes[concat].layout)) {
        concat = place->concat;
        *offset += place->offset;
        place = &places->of_values[graph_node(dn->graph, concat)->outputs[0]];
    }
    return concat;
}

enum assay_status places_tensor(struct onednn *dn, const struct job *job,
                                const struct layout *layout, struct tensor *y,
                                struct error *err)
{
    struct pool *pool = job->context->pool;
    struct place *place;
    struct gathering *gathering;
    size_t offset;
    enum assay_status st = ASSAY_OK;

    if (!dn->places)
        return layout_tensor(pool, layout, &job->y, y, err);
    place = &dn->places->of_values[job->node->outputs[0]];
    if (place->concat == GRAPH_NONE || place->layout != layout)
        return layout_tensor(pool, layout, &job->y, y, err);
    gathering = &dn->places->of_nodes[find_outermost(dn, place, &offset)];
    if (!gathering->buffer) {
        st = pool_take(pool, gathering->layout->bytes, "a tensor",
                       &gathering->buffer, err);
        gathering->number = ++dn->places->n_gathered;
    }
    *y = (struct tensor){.dtype = DTYPE_F32, .shape = job->y};
    if (st)
        return st;
    if (place->taken == gathering->number)
        return layout_tensor(pool, layout, &job->y, y, err);
    place->taken = gathering->number;
    buffer_share(gathering->buffer);
    y->buffer = gathering->buffer;
    y->offset = offset;
    y->layout = layout;
    return ASSAY_OK;
}

enum assay_status places_concat(struct onednn *dn, const struct job *job,
                                const struct layout *layout, struct tensor *y,
                                struct error *err)
{
    struct gathering *gathering =
        dn->places ? &dn->places->of_nodes[job->at] : NULL;

    if (!gathering || !gathering->buffer || gathering->layout != layout)
        return places_tensor(dn, job, layout, y, err);
    *y = (struct tensor){.dtype = DTYPE_F32,
                         .shape = job->y,
                         .buffer = gathering->buffer,
                         .layout = layout};
    gathering->buffer = NULL;
    return ASSAY_OK;
}

/* Where channels from `first` on are in a map of one image. */
static size_t offset_of(const struct channel_blocks *blocks, int64_t first)
{
    return (size_t)(first * blocks->plane) * sizeof(float);
}

bool places_is_there(const struct tensor *part, const struct tensor *whole,
                     int64_t first)
{
    struct channel_blocks blocks;

    return part->buffer == whole->buffer && layout_blocks(whole, &blocks) &&
           blocks.images == 1 && first % blocks.block == 0 &&
           part->offset == whole->offset + offset_of(&blocks, first);
}

/* Memory of the whole must not be held long before it is needed: the skip
 * connections of a U-Net are made long before. */
static bool place_is_near(const struct onednn *dn, const struct job *job,
                          uint32_t value)
{
    enum { near_nodes = 24 };
    const struct value *made = graph_value(dn->graph, value);

    return made->kind == VALUE_COMPUTED &&
           made->producer + near_nodes > job->at;
}

void places_note(struct onednn *dn, const struct job *job,
                 const struct tensor *const *inputs, const struct tensor *whole)
{
    struct channel_blocks blocks;
    int64_t first = 0;

    if (dn->options.is_plain || dn->options.is_training || dn->narrow ||
        !layout_blocks(whole, &blocks) || blocks.images != 1 ||
        blocks.order == ORDER_CHANNELS_LAST || blocks.block == 1)
        return;
    if (!dn->places)
        dn->places = places_new(dn->graph);
    if (!dn->places)
        return; /* without memory they are copied */
    dn->places->of_nodes[job->at].layout = whole->layout;
    for (size_t i = 0; i < job->node->n_inputs; i++) {
        uint32_t value = job->node->inputs[i];
        struct place *place = &dn->places->of_values[value];
        int64_t n = inputs[i]->shape.dims[1];
        bool is_last = i + 1 == job->node->n_inputs;

        if (inputs[i]->layout && inputs[i]->layout->order == blocks.order &&
            first % blocks.block == 0 && (n % blocks.block == 0 || is_last) &&
            (place->concat == GRAPH_NONE || place->concat == job->at) &&
            place_is_near(dn, job, value)) {
            place->concat = (uint32_t)job->at;
            place->offset = offset_of(&blocks, first);
            place->layout = inputs[i]->layout;
        }
        first += n;
    }
}

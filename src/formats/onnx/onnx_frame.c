/* formats/onnx/onnx_frame.c - see onnx_frame_internal.h: names and what is
 * known of values. */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum assay_status onnx_target_init(struct onnx_target *target,
                                   struct error *err)
{
    *target = (struct onnx_target){0};
    return graph_new(&target->graph, err);
}

void onnx_target_release(struct onnx_target *target)
{
    graph_free(target->graph);
    mem_free(target->known);
    mem_free(target->captured);
    *target = (struct onnx_target){0};
}

enum assay_status onnx_target_know(struct onnx_target *target, uint32_t value,
                                   const struct tensor *known,
                                   struct error *err)
{
    struct tensor *moved;

    for (int d = 0; d < known->shape.rank; d++) {
        if (known->shape.dims[d] < (d ? 0 : -1))
            return ASSAY_OK;
    }
    moved = vec_reserve(target->known, &target->known_capacity,
                        (size_t)value + 1, sizeof *target->known);
    if (!moved)
        return error_nomem(err, sizeof *moved, "the values of a model");
    target->known = moved;
    while (target->n_known <= value)
        target->known[target->n_known++] =
            (struct tensor){.shape = {.rank = -1}};
    target->known[value] =
        (struct tensor){.dtype = known->dtype, .shape = known->shape};
    return ASSAY_OK;
}

const struct tensor *onnx_target_known(const struct onnx_target *target,
                                       uint32_t value)
{
    const struct tensor *data;

    if (value == GRAPH_NONE)
        return NULL;
    data = &graph_value(target->graph, value)->data;
    if (data->buffer)
        return data;
    if (value < target->n_known && target->known[value].shape.rank >= 0)
        return &target->known[value];
    return NULL;
}

enum assay_status onnx_frame_bind(struct onnx_frame *frame, const char *name,
                                  uint32_t value, struct error *err)
{
    return map_put_text(&frame->names, name, value)
               ? error_nomem(err, strlen(name), "the names of a model")
               : ASSAY_OK;
}

/* Makes a value of the outer graph an input of this one; shares a constant, so
 * that kernels may repack it. */
static enum assay_status onnx_frame_capture(struct onnx_frame *frame,
                                            const char *name, uint32_t outer,
                                            uint32_t *value, struct error *err)
{
    struct onnx_target *target = frame->target, *around = frame->outer->target;
    const struct value *from = graph_value(around->graph, outer);
    const struct tensor *known;
    uint32_t *moved;
    enum assay_status st;

    if (from->data.buffer)
        return graph_constant(target->graph, "", tensor_share(&from->data),
                              value, err);
    moved = vec_reserve(target->captured, &target->captured_capacity,
                        target->n_captured + 1, sizeof *target->captured);
    if (!moved)
        return error_nomem(err, sizeof *moved, "the values of a model");
    target->captured = moved;
    st = graph_input(target->graph, name, from->dtype, value, err);
    if (st)
        return st;
    target->captured[target->n_captured++] = outer;
    known = onnx_target_known(around, outer);
    return known ? onnx_target_know(target, *value, known, err) : ASSAY_OK;
}

/* Recurses at most ONNX_MAX_DEPTH deep. */
enum assay_status onnx_frame_find(struct onnx_frame *frame, const char *name,
                                  uint32_t *value, struct error *err)
{
    uint32_t outer = GRAPH_NONE;
    enum assay_status st = ASSAY_OK;
    uint64_t found;

    *value = GRAPH_NONE;
    if (map_find_text(&frame->names, name, &found)) {
        *value = (uint32_t)found;
        return ASSAY_OK;
    }
    if (!frame->outer)
        return ASSAY_OK;
    st = onnx_frame_find(frame->outer, name, &outer, err);
    if (st || outer == GRAPH_NONE)
        return st;
    st = onnx_frame_capture(frame, name, outer, value, err);
    return st ? st : onnx_frame_bind(frame, name, *value, err);
}

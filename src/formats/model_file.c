/* formats/model_file.c - see model_file.h. */
#include "formats/model_file.h"

#include "base/file.h"
#include "formats/keras/keras.h"
#include "formats/model_kind.h"
#include "formats/net/net.h"

#include <string.h>
#include <unistd.h>

static bool model_file_is_chosen(const struct graph *graph, size_t input,
                                 const struct onnx_shape_choice *choice)
{
    const char *name = graph_value(graph, graph_input_at(graph, input))->name;

    return choice->input ? strcmp(choice->input, name) == 0
                         : graph_input_count(graph) == 1;
}

/* The user's sizes for those that the file leaves free. */
static enum assay_status
model_file_choose_shape(struct graph *graph,
                        const struct onnx_shape_choice *choice,
                        struct error *err)
{
    char have[64], want[64];

    for (size_t i = 0; i < graph_input_count(graph); i++) {
        const struct shape *shape = graph_input_shape(graph, i);
        bool fits;

        if (!model_file_is_chosen(graph, i, choice))
            continue;
        if (!shape) /* any will do */
            shape = &choice->shape;
        fits = shape->rank == choice->shape.rank;
        for (int d = 0; fits && d < shape->rank; d++)
            fits =
                shape->dims[d] < 0 || shape->dims[d] == choice->shape.dims[d];
        if (!fits)
            return error_set(err, ASSAY_BAD_INPUT,
                             "its input is %s (-1: any), which %s contradicts",
                             shape_text(shape, have, sizeof have),
                             shape_text(&choice->shape, want, sizeof want));
        graph_declare_input(graph, graph_input_at(graph, i), &choice->shape);
        return ASSAY_OK;
    }
    return error_set(err, ASSAY_BAD_USAGE, "it has no input '%s'",
                     choice->input ? choice->input : "of that shape alone");
}

/* Of a graph that leaves sizes free; gives it back where they do not fit. */
static enum assay_status choose_shapes(const char *path,
                                       const struct onnx_options *options,
                                       struct graph **graph, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < options->n_shapes; i++) {
        st = model_file_choose_shape(*graph, &options->shapes[i], err);
        if (st)
            error_context(err, "reading %s", path);
    }
    if (st) {
        graph_free(*graph);
        *graph = NULL;
    }
    return st;
}

enum assay_status model_file_load(const char *path,
                                  const struct onnx_options *options,
                                  struct pool *pool, struct graph **out,
                                  struct error *err)
{
    static const unsigned char hdf5[] = "\x89HDF\r\n\x1a\n";
    static const unsigned char zip[] = "PK\x03\x04";
    unsigned char begin[16] = {0};
    int fd;
    enum assay_status st = model_kind_check(path, err);

    *out = NULL;
    if (st)
        return st;
    st = file_open(path, &fd, err);
    if (st)
        return st;
    /* What is too short for a magic is told by the reader. */
    if (read(fd, begin, sizeof begin - 1) < 0)
        begin[0] = 0;
    close(fd);
    if (net_is(begin, sizeof begin))
        st = net_load(path, pool, out, err);
    else if (memcmp(begin, hdf5, sizeof hdf5 - 1) == 0 ||
             memcmp(begin, zip, sizeof zip - 1) == 0)
        st = keras_load(path, options->problems, pool, out, err);
    else
        return onnx_load(path, options, pool, out, err);
    return st ? st : choose_shapes(path, options, out, err);
}

/* formats/model_file.c - see model_file.h. */
#include "formats/model_file.h"

#include "base/file.h"
#include "formats/keras/keras.h"
#include "formats/model_kind.h"
#include "formats/net/net.h"
#include "formats/onnx/onnx.h"

#include <string.h>
#include <unistd.h>

static bool model_file_is_chosen(const struct model_file_shape *choice,
                                 const char *input, size_t n_inputs)
{
    return choice->input ? strcmp(choice->input, input) == 0 : n_inputs == 1;
}

enum assay_status
model_file_choose_shape(const struct model_file_options *options,
                        const char *input, size_t n_inputs, struct shape *shape,
                        bool *has_shape, struct error *err)
{
    char declared[64], chosen[64];

    for (size_t i = 0; i < options->n_shapes; i++) {
        const struct shape *choice = &options->shapes[i].shape;
        bool fits = !*has_shape || choice->rank == shape->rank;

        if (!model_file_is_chosen(&options->shapes[i], input, n_inputs))
            continue;
        for (int d = 0; *has_shape && fits && d < shape->rank; d++)
            fits = shape->dims[d] < 0 || shape->dims[d] == choice->dims[d];
        if (!fits)
            return error_set(
                err, ASSAY_BAD_INPUT,
                "it is declared as %s (-1: any), which %s contradicts",
                shape_text(shape, declared, sizeof declared),
                shape_text(choice, chosen, sizeof chosen));
        *shape = *choice;
        *has_shape = true;
    }
    return ASSAY_OK;
}

static const char *model_file_input_name(const struct graph *graph, size_t i)
{
    return graph_value(graph, graph_input_at(graph, i))->name;
}

static enum assay_status
model_file_declare_inputs(struct graph *graph,
                          const struct model_file_options *options,
                          struct error *err)
{
    size_t n = graph_input_count(graph);

    for (size_t i = 0; i < n; i++) {
        const char *name = model_file_input_name(graph, i);
        const struct shape *declared = graph_input_shape(graph, i);
        struct shape shape = declared ? *declared : (struct shape){0};
        bool has_shape = declared;
        enum assay_status st =
            model_file_choose_shape(options, name, n, &shape, &has_shape, err);

        if (st) {
            error_context(err, "input '%.80s'", name);
            return st;
        }
        if (has_shape)
            graph_declare_input(graph, graph_input_at(graph, i), &shape);
    }
    return ASSAY_OK;
}

/* Every choice must be for an input that exists. */
static enum assay_status
model_file_check_choices(const struct graph *graph,
                         const struct model_file_options *options,
                         struct error *err)
{
    size_t n = graph_input_count(graph);

    for (size_t i = 0; i < options->n_shapes; i++) {
        const struct model_file_shape *choice = &options->shapes[i];
        size_t k = 0;

        while (k < n && !model_file_is_chosen(
                            choice, model_file_input_name(graph, k), n))
            k++;
        if (k == n)
            return error_set(err, ASSAY_BAD_USAGE,
                             "a shape is given for '%.80s'; the model's first "
                             "input is '%.80s'",
                             choice->input ? choice->input : "the only input",
                             n ? model_file_input_name(graph, 0) : "");
    }
    return ASSAY_OK;
}

enum assay_status model_file_load(const char *path,
                                  const struct model_file_options *options,
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
    /* The reader reports files that are too short. */
    if (read(fd, begin, sizeof begin - 1) < 0)
        begin[0] = 0;
    close(fd);
    if (net_is(begin, sizeof begin))
        st = net_load(path, pool, out, err);
    else if (memcmp(begin, hdf5, sizeof hdf5 - 1) == 0 ||
             memcmp(begin, zip, sizeof zip - 1) == 0)
        st = keras_load(path, options->problems, pool, out, err);
    else
        st = onnx_load(path, options, pool, out, err);
    if (st)
        return st;
    st = model_file_check_choices(*out, options, err);
    if (!st)
        st = model_file_declare_inputs(*out, options, err);
    if (st) {
        error_context(err, "reading %s", path);
        graph_free(*out);
        *out = NULL;
    }
    return st;
}

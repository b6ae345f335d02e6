/* formats/onnx/onnx_load.c - see onnx.h. */
#include "formats/onnx/onnx.h"

#include "base/file_guard.h"
#include "base/str.h"
#include "formats/mapped_file_internal.h"
#include "formats/onnx/onnx_frame_internal.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* A newer opset is tried: most ops do not change, and what a node has that is
 * not known is refused there. */
static void warn_of_opset(const struct onnx_importer *importer)
{
    const struct onnx_model *model = importer->model;
    int64_t opset = onnx_opset_find(model->opsets, model->n_opsets, "");

    if (opset > ONNX_NEWEST_OPSET && importer->options->problems)
        sink_printf(importer->options->problems,
                    "newer    opset %" PRId64 ": ops are read as they were in "
                    "opset %d, the newest that is known\n",
                    opset, ONNX_NEWEST_OPSET);
}

/* "yolov8n" of "models/yolov8n.onnx"; the graph's own name without a path. */
static enum assay_status onnx_load_set_name(struct graph *graph,
                                            const char *path,
                                            struct onnx_importer *importer,
                                            struct error *err)
{
    const struct onnx_model *model = importer->model;
    const char *noted = onnx_scopes_class(
        model->graph->nodes, model->graph->n_nodes, &importer->texts);
    const char *class_name = noted ? noted : "Model";
    const char *own = model->graph->name[0] ? model->graph->name : "model";
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *begin = slash ? slash + 1 : path;
    struct str name = {0};
    enum assay_status st;
    size_t n;

    if (!path)
        return graph_set_name(graph, own, class_name, err);
    n = strlen(begin);
    if (n > 5 && strcmp(begin + n - 5, ".onnx") == 0)
        n -= 5;
    st = str_append_n(&name, begin, n)
             ? error_nomem(err, n, "the name of a model")
             : graph_set_name(graph, name.text, class_name, err);
    str_release(&name);
    return st;
}

/* A file lists running statistics and whole numbers, such as shapes, among its
 * weights; other formats know them as buffers. */
static void onnx_load_find_buffers(struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_PARAMETER &&
            (value->dtype == DTYPE_I64 || value->dtype == DTYPE_BOOL))
            graph_make_buffer(graph, i);
    }
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->op != &op_batch_norm)
            continue;
        for (int k = BATCH_NORM_MEAN; k <= BATCH_NORM_VARIANCE; k++) {
            uint32_t value = node->inputs[k];

            if (graph_value(graph, value)->kind == VALUE_PARAMETER)
                graph_make_buffer(graph, value);
        }
    }
}

static enum assay_status import_model(struct onnx_importer *importer,
                                      const char *path, struct graph **out,
                                      struct error *err)
{
    const struct onnx_model *model = importer->model;
    struct onnx_target target = {0};
    struct onnx_frame frame = {.importer = importer,
                               .target = &target,
                               .opsets = model->opsets,
                               .n_opsets = model->n_opsets,
                               .scope = GRAPH_NONE};
    enum assay_status st = onnx_functions_note(importer, err);

    warn_of_opset(importer);
    if (!st)
        st = onnx_check_ops(importer, err);
    if (!st)
        st = onnx_target_init(&target, err);
    if (!st)
        st = onnx_load_set_name(target.graph, path, importer, err);
    if (!st)
        st = onnx_graph_import(&frame, model->graph, err);
    if (!st)
        st = graph_check(target.graph, err);
    if (!st) {
        onnx_load_find_buffers(target.graph);
        graph_find_readers(target.graph);
        *out = target.graph;
        target.graph = NULL;
    }
    map_release(&frame.names);
    onnx_target_release(&target);
    return st;
}

static enum assay_status
onnx_load_bytes(struct buffer *file, const char *path, const char *folder,
                const struct model_file_options *options, struct pool *pool,
                struct graph **out, struct error *err)
{
    struct onnx_model model;
    struct arena messages = {0};
    struct onnx_importer importer = {
        .model = &model,
        .options = options,
        .data = {.file = file,
                 .pool = pool,
                 .folder = folder,
                 .may_read_outside = options->may_read_outside,
                 .outside_hint = options->outside_hint},
    };
    struct wire_bytes bytes = {buffer_data(file), buffer_bytes(file)};
    enum assay_status st = onnx_model_read(bytes, &messages, &model, err);

    *out = NULL;
    if (!st)
        st = import_model(&importer, path, out, err);
    onnx_data_release(&importer.data);
    map_release(&importer.functions);
    arena_release(&importer.texts);
    arena_release(&messages);
    return st;
}

enum assay_status onnx_load_buffer(struct buffer *file,
                                   const struct model_file_options *options,
                                   struct pool *pool, struct graph **out,
                                   struct error *err)
{
    return onnx_load_bytes(file, NULL, NULL, options, pool, out, err);
}

enum assay_status onnx_load(const char *path,
                            const struct model_file_options *options,
                            struct pool *pool, struct graph **out,
                            struct error *err)
{
    const char *slash = strrchr(path, '/');
    struct buffer *file = NULL;
    struct str folder = {0};
    enum assay_status st = mapped_file_open(path, &file, err);

    *out = NULL;
    if (st)
        return st;
    st = slash ? str_append_n(&folder, path, (size_t)(slash - path) + 1)
               : str_append(&folder, ".");
    st = st ? error_nomem(err, strlen(path), "a file name")
            : onnx_load_bytes(file, path, folder.text, options, pool, out, err);
    if (st)
        error_context(err, "reading %s", path);
    st = file_guards_check(st, err);
    if (st) {
        graph_free(*out);
        *out = NULL;
    }
    str_release(&folder);
    buffer_release(file);
    return st;
}

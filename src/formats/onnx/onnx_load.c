/* formats/onnx/onnx_load.c - see onnx.h. */
#include "formats/onnx/onnx.h"

#include "base/file_guard.h"
#include "base/str.h"
#include "formats/mapped_file_internal.h"
#include "formats/onnx/onnx_frame_internal.h"

#include <inttypes.h>
#include <string.h>

static enum assay_status check_opset(const struct onnx_model *model,
                                     struct error *err)
{
    int64_t opset = onnx_frame_opset(model->opsets, model->n_opsets, "");

    if (opset > ONNX_NEWEST_OPSET)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it uses opset %" PRId64 ", %d is the newest that is "
                         "read; export it with opset_version=%d",
                         opset, ONNX_NEWEST_OPSET, ONNX_NEWEST_OPSET);
    return ASSAY_OK;
}

/* "yolov8n" of "models/yolov8n.onnx"; the graph's own name without a path. */
static enum assay_status onnx_load_set_name(struct graph *graph,
                                            const char *path,
                                            const struct onnx_model *model,
                                            struct error *err)
{
    const char *own = model->graph->name[0] ? model->graph->name : "model";
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *begin = slash ? slash + 1 : path;
    struct str name = {0};
    enum assay_status st;
    size_t n;

    if (!path)
        return graph_set_name(graph, own, "Model", err);
    n = strlen(begin);
    if (n > 5 && strcmp(begin + n - 5, ".onnx") == 0)
        n -= 5;
    st = str_append_n(&name, begin, n)
             ? error_nomem(err, n, "the name of a model")
             : graph_set_name(graph, name.text, "Model", err);
    str_release(&name);
    return st;
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
    enum assay_status st = check_opset(model, err);

    if (!st)
        st = onnx_functions_note(importer, err);
    if (!st)
        st = onnx_check_ops(importer, err);
    if (!st)
        st = onnx_target_init(&target, err);
    if (!st)
        st = onnx_load_set_name(target.graph, path, model, err);
    if (!st)
        st = onnx_graph_import(&frame, model->graph, err);
    if (!st)
        st = graph_check(target.graph, err);
    if (!st) {
        *out = target.graph;
        target.graph = NULL;
    }
    map_release(&frame.names);
    onnx_target_release(&target);
    return st;
}

static enum assay_status onnx_load_load(struct buffer *file, const char *path,
                                        const char *folder,
                                        const struct onnx_options *options,
                                        struct pool *pool, struct graph **out,
                                        struct error *err)
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
                                   const struct onnx_options *options,
                                   struct pool *pool, struct graph **out,
                                   struct error *err)
{
    return onnx_load_load(file, NULL, NULL, options, pool, out, err);
}

enum assay_status onnx_load(const char *path,
                            const struct onnx_options *options,
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
            : onnx_load_load(file, path, folder.text, options, pool, out, err);
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

/* cli/cmd_weights.c - assay weights: weight files, local and published. */
#include "cli/command.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/weights_fetch.h"
#include "formats/weights/checkpoint.h"
#include "formats/weights/load_weights.h"
#include "formats/weights/published.h"
#include "models/models.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
    bool json;
    const char *url;
    int64_t classes;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

/* The actions, as bits of struct option. */
enum { SHOW = 1 << 0, CHECK = 1 << 1, LIST = 1 << 2, FETCH = 1 << 3 };

static const struct option options[] = {
    OPTION_JSON("print JSON (show and list)", .actions = SHOW | LIST,
                FIELD(json)),
    {OPT_TEXT("url", "URL"), .help = "folder with the files (fetch)",
     .shown_default = PUBLISHED_URL, .actions = FETCH, FIELD(url)},
    {OPT_INTEGER("classes", "N", 2, 100000),
     .help = "classes of the model, including the background (check)",
     .shown_default = "91", .actions = CHECK, FIELD(classes)},
    {.kind = OPTION_END},
};

/* ---- show ------------------------------------------------------------- */

enum { type_columns = 8, shape_columns = 16, count_columns = 9, gap = 2 };

static size_t weights_elements(const struct checkpoint_tensor *tensor)
{
    size_t n = 0;

    (void)shape_elements(&tensor->shape, &n); /* the checkpoint checked it */
    return n;
}

struct weights_totals {
    double elements, bytes;
    size_t name_columns; /* of the longest name */
};

static struct weights_totals
weights_show_add_up(const struct checkpoint *checkpoint)
{
    struct weights_totals totals = {.name_columns = 4};

    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct checkpoint_tensor *tensor =
            checkpoint_tensor(checkpoint, i);
        double n = (double)weights_elements(tensor);
        size_t columns = text_columns(tensor->name);

        totals.elements += n;
        totals.bytes += n * (double)dtype_bytes(tensor->dtype);
        if (columns > totals.name_columns)
            totals.name_columns = columns;
    }
    return totals;
}

static void weights_show_put_row(struct sink *sink, const struct term *term,
                                 size_t columns, const char *const cells[4])
{
    text_fit(sink, term, cells[0], columns, ALIGN_LEFT);
    sink_repeat(sink, " ", gap);
    text_fit(sink, term, cells[1], type_columns, ALIGN_LEFT);
    sink_repeat(sink, " ", gap);
    text_fit(sink, term, cells[2], shape_columns, ALIGN_LEFT);
    sink_repeat(sink, " ", gap);
    text_fit(sink, term, cells[3], count_columns, ALIGN_RIGHT);
    sink_puts(sink, "\n");
}

static void weights_show_table(const struct checkpoint *checkpoint,
                               const char *path, struct sink *sink,
                               const struct term *term)
{
    static const size_t others =
        type_columns + shape_columns + count_columns + 3 * gap;
    struct weights_totals totals = weights_show_add_up(checkpoint);
    size_t room =
        (size_t)term->width > others + 20 ? (size_t)term->width - others : 20;
    size_t columns = totals.name_columns < room ? totals.name_columns : room;
    char count[UNITS_MAX], bytes[UNITS_MAX], shape[64];

    sink_puts(sink, "file     ");
    text_put(sink, term, path);
    sink_printf(sink, "   %s\ntensors  %zu   %s elements   %s\n\n",
                checkpoint_kind_text(checkpoint_kind(checkpoint)),
                checkpoint_count(checkpoint),
                units_count(count, totals.elements),
                units_bytes(bytes, totals.bytes));
    weights_show_put_row(
        sink, term, columns,
        (const char *const[]){"name", "type", "shape", "elements"});
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct checkpoint_tensor *tensor =
            checkpoint_tensor(checkpoint, i);

        snprintf(count, sizeof count, "%zu", weights_elements(tensor));
        weights_show_put_row(
            sink, term, columns,
            (const char *const[]){
                tensor->name, dtype_name(tensor->dtype),
                shape_text(&tensor->shape, shape, sizeof shape), count});
    }
}

static void weights_put_tensor(struct json_writer *json,
                               const struct checkpoint_tensor *tensor)
{
    size_t n = weights_elements(tensor);

    json_inline_object_begin(json);
    json_member_string(json, "name", tensor->name);
    json_member_string(json, "dtype", dtype_name(tensor->dtype));
    json_key(json, "shape");
    json_array_begin(json);
    for (int i = 0; i < tensor->shape.rank; i++)
        json_write_int(json, tensor->shape.dims[i]);
    json_array_end(json);
    json_member_int(json, "elements", (int64_t)n);
    json_member_int(json, "bytes", (int64_t)(n * dtype_bytes(tensor->dtype)));
    json_object_end(json);
}

static void weights_show_json(const struct checkpoint *checkpoint,
                              const char *path, struct sink *sink)
{
    struct weights_totals totals = weights_show_add_up(checkpoint);
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "file", path);
    json_member_string(&json, "format",
                       checkpoint_kind_text(checkpoint_kind(checkpoint)));
    json_member_double(&json, "elements", totals.elements);
    json_member_double(&json, "bytes", totals.bytes);
    json_key(&json, "tensors");
    json_array_begin(&json);
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++)
        weights_put_tensor(&json, checkpoint_tensor(checkpoint, i));
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

static enum assay_status weights_show(const char *const *words,
                                      const void *context, struct error *err)
{
    const struct settings *settings = context;
    const char *path = words[0];
    struct checkpoint *checkpoint = NULL;
    struct result result;
    enum assay_status st = checkpoint_open(path, &checkpoint, err);

    if (!st) {
        st = checkpoint_check(checkpoint, err);
        error_context(err, "reading %s", path);
    }
    if (!st)
        st = result_open(NULL, &result, err);
    if (st) {
        checkpoint_free(checkpoint);
        return st;
    }
    if (settings->json)
        weights_show_json(checkpoint, path, result.sink);
    else
        weights_show_table(checkpoint, path, result.sink, &result.term);
    checkpoint_free(checkpoint);
    return result_close(&result, ASSAY_OK, err);
}

/* ---- check ------------------------------------------------------------ */

static enum assay_status weights_build_model(const char *name,
                                             int64_t n_classes,
                                             struct graph **graph,
                                             struct error *err)
{
    struct model_options build = model_options_for(name, MODEL_IMAGENET);
    const struct nearest nearest = nearest_to(name);
    const char *full = model_full_name(name);

    if (n_classes)
        build.n_classes = n_classes;
    return full ? model_build(full, &build, graph, err)
                : message_unknown("unknown model", &nearest,
                                  "'assay help run' lists them", err);
}

/* Loads the file into the model and lists everything that does not fit. */
static enum assay_status weights_check(const char *const *words,
                                       const void *context, struct error *err)
{
    const struct settings *settings = context;
    const char *path = words[0];
    struct weights_report report = {0};
    struct weights_problems problems = {.most = SIZE_MAX};
    struct graph *graph = NULL;
    struct pool *pool = NULL;
    struct result result;
    enum assay_status st =
        weights_build_model(words[1], settings->classes, &graph, err);

    if (!st)
        st = pool_new(&pool, err);
    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        problems.sink = result.sink;
        st = weights_load_file(graph, path, pool, &problems, &report, err);
        if (!st)
            sink_printf(result.sink, "%s fits %s: %zu tensors\n", path,
                        graph_name(graph), report.n_loaded);
        st = result_close(&result, st, err);
    }
    graph_free(graph);
    pool_free(pool);
    return st;
}

/* ---- list ------------------------------------------------------------- */

/* Whether the file is in the folder for weights. */
static bool weights_are_here(const struct published *published)
{
    struct str path = {0};
    struct error ignored = {0};
    bool is_there = false;

    if (published_path(published, &path, &is_there, &ignored))
        is_there = false;
    str_release(&path);
    return is_there;
}

static void weights_list_table(struct sink *sink, const char *folder)
{
    char size[UNITS_MAX];

    sink_printf(sink, "from     %s\nkept in  %s\n\n", PUBLISHED_URL, folder);
    sink_printf(sink, "%-37s  %-13s  %8s  %s\n", "model", "version", "size",
                "here");
    for (const struct published *p = published_weights; p->model; p++)
        sink_printf(sink, "%-37s  %-13s  %8s  %s\n", p->model, p->version,
                    units_bytes(size, p->mebibytes * 0x1p20),
                    weights_are_here(p) ? "yes" : "-");
}

static void weights_list_json(struct sink *sink, const char *folder)
{
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "url", PUBLISHED_URL);
    json_member_string(&json, "folder", folder);
    json_key(&json, "files");
    json_array_begin(&json);
    for (const struct published *p = published_weights; p->model; p++) {
        json_inline_object_begin(&json);
        json_member_string(&json, "model", p->model);
        json_member_string(&json, "version", p->version);
        json_member_string(&json, "file", p->file);
        json_member_double(&json, "mebibytes", p->mebibytes);
        json_member_bool(&json, "here", weights_are_here(p));
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

static enum assay_status weights_list(const char *const *words,
                                      const void *context, struct error *err)
{
    const struct settings *settings = context;
    struct str folder = {0};
    struct result result;
    enum assay_status st = published_folder(&folder, err);

    (void)words;
    if (!st)
        st = result_open(NULL, &result, err);
    if (st) {
        str_release(&folder);
        return st;
    }
    if (settings->json)
        weights_list_json(result.sink, folder.text);
    else
        weights_list_table(result.sink, folder.text);
    str_release(&folder);
    return result_close(&result, ASSAY_OK, err);
}

/* ---- fetch ------------------------------------------------------------ */

static enum assay_status weights_find_published(const char *name,
                                                const struct published **out,
                                                struct error *err)
{
    struct nearest nearest = nearest_to(name);
    const char *full = model_full_name(name);

    *out = published_find(full ? full : name);
    if (*out)
        return ASSAY_OK;
    for (const struct published *p = published_weights; p->model; p++) {
        nearest_offer(&nearest, p->model);
        nearest_offer(&nearest, p->file);
    }
    return message_unknown("no weights are published for", &nearest,
                           "'assay weights list' shows what is published", err);
}

/* The size alone: reading the file checks its CRC-32. */
static enum assay_status weights_check_size(const struct published *published,
                                            const char *path, struct error *err)
{
    uint64_t least, most;
    struct stat info;

    published_size(published, &least, &most);
    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    if ((uint64_t)info.st_size >= least && (uint64_t)info.st_size <= most)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s has %lld bytes, but the published file has %llu; "
                     "remove it and fetch it again",
                     path, (long long)info.st_size, (unsigned long long)least);
}

static enum assay_status weights_print_fetched(const char *path, bool was_there,
                                               struct error *err)
{
    char size[UNITS_MAX];
    struct result result;
    struct stat info;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    sink_printf(result.sink, "%s  %s  %s\n", was_there ? "found" : "wrote",
                path,
                units_file_size(
                    size, stat(path, &info) == 0 ? (double)info.st_size : 0));
    sink_printf(result.sink, "next   assay weights show %s\n", path);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status weights_fetch(const char *const *words,
                                       const void *context, struct error *err)
{
    const struct settings *settings = context;
    const struct published *published;
    struct str path = {0};
    bool is_there = false;
    enum assay_status st = weights_find_published(words[0], &published, err);

    if (!st)
        st = published_path(published, &path, &is_there, err);
    if (!st && is_there)
        st = weights_check_size(published, path.text, err);
    if (!st && !is_there)
        st = weights_fetch_to(published, settings->url, path.text,
                              "name the file with --weights", err);
    if (!st)
        st = weights_print_fetched(path.text, is_there, err);
    str_release(&path);
    return st;
}

/* ---- the command ------------------------------------------------------ */

const struct command cmd_weights = {
    .name = "weights",
    .section = "Models",
    .purpose = "inspect weight files, fetch published weights",
    .usage = TEXTS("weights show [--json] FILE",
                   "weights check [--classes N] FILE MODEL",
                   "weights list [--json]", "weights fetch [--url URL] NAME"),
    .description = TEXTS(
        "show prints the tensors of a PyTorch checkpoint (both formats) or "
        "a safetensors file: name, type, shape. Nothing in a checkpoint is "
        "executed; one that needs more than tensors is refused with the "
        "name of what it needs.",
        "check compares a file with a model: which tensors are missing, "
        "unknown to the model, or of another shape or type.",
        "list and fetch handle the weights that torchvision publishes for "
        "detectors and classifiers. They are kept in "
        "$XDG_CACHE_HOME/assay/weights, or in ~/.cache/assay/weights. An "
        "interrupted download continues where it stopped, and a file "
        "appears only when it has the hash in its name."),
    .options = options,
    .examples =
        EXAMPLES({"weights show model.pth", "the tensors of a checkpoint"},
                 {"weights fetch maskrcnn_resnet50_fpn",
                  "the weights that torchvision trained on COCO"}),
    .settings_bytes = sizeof(struct settings),
    .actions = ACTIONS(
        {"show", 1, "a file of weights", weights_show},
        {"check", 2, "a file of weights and a model", weights_check},
        {"list", 0, NULL, weights_list},
        {"fetch", 1, "the name of a model; 'assay weights list' has them",
         weights_fetch}),
};

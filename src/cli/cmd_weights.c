/* cli/cmd_weights.c - assay weights: files of weights, here and published. */
#include "cli/command.h"

#include "base/json.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cli/action_word.h"
#include "cli/result.h"
#include "cli/weights_show.h"
#include "formats/weights/download.h"
#include "formats/weights/load_weights.h"
#include "formats/weights/published.h"
#include "models/models.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
    bool json;
    const char *url;
    int64_t classes;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    OPTION_JSON("show and list: as JSON", FIELD(json)),
    {.name = "url",
     .kind = OPTION_TEXT,
     .value = "URL",
     .help = "fetch: the folder that the files are in",
     .shown_default = PUBLISHED_URL,
     FIELD(url)},
    {.name = "classes",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 2,
     .max = 100000,
     .help = "check: classes of the model, the background included",
     .shown_default = "91",
     FIELD(classes)},
    {.kind = OPTION_END},
};

/* ---- show ------------------------------------------------------------- */

static enum assay_status show(const char *const *words,
                              const struct settings *settings,
                              struct error *err)
{
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
    return result_close(&result, sink_status(result.sink, err), err);
}

/* ---- check ------------------------------------------------------------ */

static enum assay_status build_model(const char *name, int64_t n_classes,
                                     struct graph **graph, struct error *err)
{
    struct model_options build = model_options_for(name, MODEL_IMAGENET);
    const char *full = model_full_name(name);

    if (n_classes)
        build.n_classes = n_classes;
    return full ? model_build(full, &build, graph, err)
                : error_set(err, ASSAY_BAD_USAGE,
                            "there is no model '%s'; 'assay help run' names "
                            "those that are",
                            name);
}

/* Loads the file into the model and says what does not fit, all of it. */
static enum assay_status check(const char *const *words,
                               const struct settings *settings,
                               struct error *err)
{
    const char *path = words[0];
    struct weights_report report = {0};
    struct weights_problems problems = {.most = SIZE_MAX};
    struct graph *graph = NULL;
    struct pool *pool = NULL;
    struct result result;
    enum assay_status st =
        build_model(words[1], settings->classes, &graph, err);

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
        st =
            result_close(&result, st ? st : sink_status(result.sink, err), err);
    }
    graph_free(graph);
    pool_free(pool);
    return st;
}

/* ---- list ------------------------------------------------------------- */

/* Whether a file is in the folder for weights, if there is one. */
static bool is_here(const struct published *published)
{
    struct str path = {0};
    struct error ignored = {0};
    bool is_there = false;

    if (published_path(published, &path, &is_there, &ignored))
        is_there = false;
    str_release(&path);
    return is_there;
}

static void list_table(struct sink *sink, const char *folder)
{
    char size[UNITS_MAX];

    sink_printf(sink, "from     %s\nkept in  %s\n\n", PUBLISHED_URL, folder);
    sink_printf(sink, "%-37s  %-11s  %8s  %s\n", "model", "version", "size",
                "here");
    for (const struct published *p = published_weights; p->model; p++)
        sink_printf(sink, "%-37s  %-11s  %8s  %s\n", p->model, p->version,
                    units_bytes(size, p->mebibytes * 0x1p20),
                    is_here(p) ? "yes" : "-");
}

static void list_json(struct sink *sink, const char *folder)
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
        json_member_bool(&json, "here", is_here(p));
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

static enum assay_status list(const char *const *words,
                              const struct settings *settings,
                              struct error *err)
{
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
        list_json(result.sink, folder.text);
    else
        list_table(result.sink, folder.text);
    str_release(&folder);
    return result_close(&result, sink_status(result.sink, err), err);
}

/* ---- fetch ------------------------------------------------------------ */

static enum assay_status find_published(const char *name,
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
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "no weights are published for '%s'; did you mean "
                         "'%s'?",
                         name, nearest.candidate);
    return error_set(err, ASSAY_BAD_USAGE,
                     "no weights are published for '%s'; 'assay weights list' "
                     "names those that are",
                     name);
}

static enum assay_status transfer(const struct published *published,
                                  const char *base, const char *path,
                                  struct error *err)
{
    char digits[SHA256_HEX];
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "fetching", "bytes", 0);
    struct str url = {0};
    struct download download = {.path = path,
                                .sha256_digits = digits,
                                .otherwise = "name the file with --weights",
                                .progress = &progress};
    enum assay_status st = ASSAY_OK;

    published_digits(published, digits);
    published_size(published, &download.least_bytes, &download.most_bytes);
    if (str_printf(&url, "%s/%s", base, published->file))
        st = error_nomem(err, strlen(base), "a URL");
    download.url = str_text(&url);
    if (!st)
        st = download_file(&download, err);
    progress_finish(&progress);
    str_release(&url);
    return st;
}

/* Its hash is the business of those who read it: CRC-32 are checked then. */
static enum assay_status check_found(const struct published *published,
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
                     "%s has %lld bytes, the published file %llu; remove it "
                     "and fetch it again",
                     path, (long long)info.st_size, (unsigned long long)least);
}

static enum assay_status print_fetched(const char *path, bool was_there,
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
    return result_close(&result, sink_status(result.sink, err), err);
}

static enum assay_status fetch(const char *const *words,
                               const struct settings *settings,
                               struct error *err)
{
    const struct published *published;
    struct str path = {0};
    bool is_there = false;
    enum assay_status st = find_published(words[0], &published, err);

    if (!st)
        st = published_path(published, &path, &is_there, err);
    if (!st && is_there)
        st = check_found(published, path.text, err);
    if (!st && !is_there)
        st = transfer(published, settings->url ? settings->url : PUBLISHED_URL,
                      path.text, err);
    if (!st)
        st = print_fetched(path.text, is_there, err);
    str_release(&path);
    return st;
}

/* ---- the command ------------------------------------------------------ */

static const char *const action_names[] = {"show", "check", "list", "fetch",
                                           NULL};

/* What goes with each of the names. */
static const struct action {
    size_t n_words;     /* behind the name */
    const char *wanted; /* those, in words */
    enum assay_status (*run)(const char *const *words,
                             const struct settings *settings,
                             struct error *err);
} actions[] = {
    {1, "a file of weights", show},
    {2, "a file of weights and a model", check},
    {0, "no more words", list},
    {1, "the name of a model; 'assay weights list' has them", fetch},
};

static const struct action_words action_words = {
    .names = action_names,
    .what = "weights",
    .all = "'show FILE', 'check FILE MODEL', 'list' and 'fetch NAME'"};

static enum assay_status check_options(const struct settings *settings,
                                       size_t action, struct error *err)
{
    enum { SHOW = 1 << 0, CHECK = 1 << 1, LIST = 1 << 2, FETCH = 1 << 3 };
    const struct action_option given[] = {
        {"url", settings->url != NULL, FETCH},
        {"json", settings->json, SHOW | LIST},
        {"classes", settings->classes != 0, CHECK},
    };

    return action_check_options(&action_words, action, given,
                                sizeof given / sizeof *given, err);
}

static enum assay_status run_weights(const struct arguments *arguments,
                                     struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *const *words = arguments->operands.items;
    const struct action *action;
    size_t found = 0;
    enum assay_status st = action_find(&action_words, words[0], &found, err);

    action = &actions[found];
    if (st)
        return st;
    st = check_options(settings, found, err);
    if (st)
        return st;
    if (arguments->operands.n - 1 != action->n_words)
        return error_set(err, ASSAY_BAD_USAGE, "'%s' wants %s", words[0],
                         action->wanted);
    return action->run(words + 1, settings, err);
}

const struct command cmd_weights = {
    .name = "weights",
    .section = "Models",
    .purpose = "look into files of weights, fetch published ones",
    .usage = (const char *const[]){"weights show [--json] FILE",
                                   "weights check [--classes N] FILE MODEL",
                                   "weights list [--json]",
                                   "weights fetch [--url URL] NAME", NULL},
    .operands = {.min = 1,
                 .max = 3,
                 .missing = "'show', 'check', 'list' or 'fetch'",
                 .words = action_names},
    .description =
        (const char *const[]){
            "Shows the tensors of a PyTorch checkpoint (both formats) or a "
            "safetensors file: name, type, shape. Nothing in a checkpoint is "
            "executed; one that needs more than tensors is refused, naming "
            "what it wants.",
            "Checks a file against a model: which tensors are missing, which "
            "the model does not know, which are of another shape or type.",
            "Lists and fetches the weights that torchvision publishes for "
            "detectors and classifiers. They are kept in "
            "$XDG_CACHE_HOME/assay/weights, or that folder in ~/.cache. A "
            "download that was interrupted goes on where it ended, and a file "
            "appears only when it has the hash that its name says.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"weights show model.pth", "the tensors of a checkpoint"},
            {"weights fetch maskrcnn_resnet50_fpn",
             "the weights torchvision trained on COCO"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .run = run_weights,
};

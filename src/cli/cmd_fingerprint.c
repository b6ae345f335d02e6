/* cli/cmd_fingerprint.c - assay fingerprint: learns how fast and how
 * memory-hungry networks are on a device. */
#include "cli/command.h"

#include "cli/file_roles.h"
#include "cli/fingerprint_show.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/plot_file.h"
#include "cli/result.h"
#include "predict/network_folder.h"

#include <string.h>

struct settings {
    struct words data;
    const char *networks, *train, *nets, *device, *output, *plot;
    int model, framework;
    int64_t seed, threads;
    bool json, with_seen;
};

/* The first one means: the one with the smallest error on held-out rows. */
static const char *const models[] = {"auto",  "physical", "forest", "hybrid",
                                     "curve", "blend",    NULL};

/* The first one means: the only one that there is. */
static const char *const frameworks[] = {"auto", "assay", "torch", "all", NULL};
static const enum framework framework_values[] = {
    FRAMEWORK_UNKNOWN, FRAMEWORK_ASSAY, FRAMEWORK_TORCH, N_FRAMEWORKS};

#define FIELD(field) OPTION_FIELD(struct settings, field)

/* The actions, as bits of struct option. */
enum { FIT = 1 << 0, EVAL = 1 << 1 };

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "Measurements"},
    {OPT_LIST("data", "FOLDER"),
     .help = "folder with measurements.csv, layers.csv, networks.csv and "
             "network_ops.csv, or with perf4sight's NETWORK_LEVEL-gt.csv "
             "(fit, eval)",
     .actions = FIT | EVAL, FIELD(data)},
    {OPT_TEXT("networks", "FOLDER"),
     .help = "folder with NETWORK_LEVEL.net or .onnx, for the layers that "
             "perf4sight's files lack (fit, eval)",
     .actions = FIT | EVAL, FIELD(networks)},
    {OPT_TEXT("train", "NETWORKS"),
     .help = "networks and levels to learn from (fit): "
             "resnet18,resnet50:0,30",
     .shown_default = "all that have layers", .actions = FIT, FIELD(train)},
    {OPT_CHOICE("framework", "NAME", frameworks),
     .help = "learn from what was measured in assay, in torch, or in all "
             "together (fit)",
     .shown_default = "the only one that the rows name", .actions = FIT,
     FIELD(framework)},
    {OPT_TEXT("nets", "NETWORKS"),
     .help = "networks and levels to predict (eval): resnet50:5..85",
     .shown_default = "all that were not learned from", .actions = EVAL,
     FIELD(nets)},
    {OPT_FLAG("seen"), .help = "include the rows that were learned from (eval)",
     .actions = EVAL, FIELD(with_seen)},
    {.kind = OPTION_SECTION, .help = "Learning"},
    {OPT_CHOICE("model", "MODEL", models), .help = "kind of predictor (fit)",
     .shown_default = "auto, the best on held-out rows", .actions = FIT,
     FIELD(model)},
    OPTION_SEED("seed for the forests (fit)", .actions = FIT, FIELD(seed)),
    {OPT_TEXT("device", "NAME"), .help = "name of the device (fit)",
     .actions = FIT, FIELD(device)},
    OPTION_THREADS(FIELD(threads)),
    {.kind = OPTION_SECTION, .help = "Output"},
    OPTION_OUTPUT("FILE",
                  "write the fingerprint (fit), or the table or JSON (eval), "
                  "to this file",
                  .actions = FIT | EVAL, FIELD(output)),
    OPTION_JSON("print JSON (eval)", .actions = EVAL, FIELD(json)),
    {OPT_FILE("plot", "FILE"), .role = ROLE_OUTPUT,
     .help = "plot predicted against measured, and the error by batch, as "
             ".png, .svg or .pdf (eval)",
     .actions = EVAL, FIELD(plot)},
    {.kind = OPTION_END},
};

static enum assay_status fingerprint_read_data(struct data_set *set,
                                               const struct settings *settings,
                                               struct error *err)
{
    enum assay_status st;

    if (!settings->data.n)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing --data FOLDER with the measurements");
    st = data_set_read_all(set, settings->data.items, settings->data.n,
                           settings->networks, err);
    if (!st && set->n_undescribed)
        message_note("%zu rows are left out because their networks have no "
                     "layers: %s",
                     set->n_undescribed, str_text(&set->undescribed));
    return st;
}

/* No output may be one of the measurements. */
static enum assay_status
fingerprint_check_roles(const struct settings *settings, struct error *err)
{
    struct file_roles roles = {0};
    enum assay_status st;

    file_roles_write(&roles, "--output", settings->output);
    file_roles_write(&roles, "--plot", settings->plot);
    for (size_t i = 0; i < settings->data.n; i++) {
        for (const char *const *name = data_folder_files; *name; name++)
            file_roles_read_in(&roles, settings->data.items[i], *name);
    }
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

static enum assay_status fingerprint_select(struct selection *selection,
                                            const char *text, struct error *err)
{
    return text ? selection_parse(selection, text, err) : ASSAY_OK;
}

/* ---- fit ---------------------------------------------------------------- */

static enum assay_status fingerprint_learn(const struct settings *settings,
                                           struct fingerprint **out,
                                           struct error *err)
{
    struct fingerprint_options how = {
        .device = settings->device,
        .framework = framework_values[settings->framework],
        .method =
            settings->model ? (enum method)(settings->model - 1) : N_METHODS,
        .seed = (uint64_t)settings->seed,
        .n_threads = look_threads(settings->threads),
    };
    struct selection selection = {0};
    struct data_set set = {0};
    enum assay_status st = fingerprint_select(&selection, settings->train, err);

    if (!st)
        st = fingerprint_read_data(&set, settings, err);
    if (!st)
        machines_note(str_text(&set.machines), settings->device);
    if (!st)
        st = fingerprint_fit(&set, &selection, &how, out, err);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

static enum assay_status cmd_fingerprint_fit(const char *const *words,
                                             const void *context,
                                             struct error *err)
{
    const struct settings *settings = context;
    struct fingerprint *fingerprint = NULL;
    struct result result;
    enum assay_status st;

    (void)words;
    if (!settings->output)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing -o FILE for the fingerprint");
    st = fingerprint_check_roles(settings, err);
    if (!st)
        st = result_open(settings->output, &result, err);
    if (st)
        return st;
    st = fingerprint_learn(settings, &fingerprint, err);
    if (!st)
        st = fingerprint_write(fingerprint, result.sink, err);
    if (!st && result.path)
        st = fingerprint_print(fingerprint, false, err);
    fingerprint_free(fingerprint);
    return result_close(&result, st, err);
}

/* ---- show --------------------------------------------------------------- */

static enum assay_status cmd_fingerprint_show(const char *const *words,
                                              const void *context,
                                              struct error *err)
{
    const struct settings *settings = context;
    struct fingerprint *fingerprint = NULL;
    enum assay_status st = fingerprint_read(
        words[0], look_threads(settings->threads), &fingerprint, err);

    if (!st)
        st = fingerprint_print(fingerprint, true, err);
    fingerprint_free(fingerprint);
    return st;
}

/* ---- eval --------------------------------------------------------------- */

static enum assay_status
fingerprint_write_table(const struct evaluation *evaluation,
                        const struct settings *settings, struct error *err)
{
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    if (settings->json)
        evaluation_show_json(evaluation, result.sink);
    else
        evaluation_show_table(evaluation, result.sink, &result.term);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status
fingerprint_write_plot(const struct evaluation *evaluation,
                       const struct fingerprint *fingerprint,
                       const struct settings *settings, struct error *err)
{
    enum sheet_format format;
    struct result result;
    enum assay_status st = plot_file_format(settings->plot, &format, err);

    if (!st)
        st = result_open(settings->plot, &result, err);
    if (st)
        return st;
    st = evaluation_plot(evaluation, fingerprint, format, result.sink, err);
    /* Nothing else is printed if JSON goes to standard output. */
    if (settings->json && !settings->output && !st) {
        st = output_commit(result.output, err);
        return st;
    }
    return result_close(&result, st, err);
}

static enum assay_status cmd_fingerprint_eval(const char *const *words,
                                              const void *context,
                                              struct error *err)
{
    const struct settings *settings = context;
    struct fingerprint *fingerprint = NULL;
    struct evaluation evaluation = {0};
    struct selection selection = {0};
    struct data_set set = {0};
    enum sheet_format format;
    enum assay_status st = fingerprint_check_roles(settings, err);

    if (!st)
        st = fingerprint_select(&selection, settings->nets, err);
    if (!st && settings->plot)
        st = plot_file_format(settings->plot, &format, err);
    if (!st)
        st = fingerprint_read(words[0], look_threads(settings->threads),
                              &fingerprint, err);
    if (!st)
        st = fingerprint_read_data(&set, settings, err);
    if (!st)
        st = evaluate(&evaluation, fingerprint, &set, &selection,
                      settings->with_seen, err);
    if (st == ASSAY_BAD_USAGE && evaluation.n_seen)
        error_hint(err, "--nets chooses others, --seen includes these");
    if (!st)
        st = fingerprint_write_table(&evaluation, settings, err);
    if (!st && settings->plot)
        st = fingerprint_write_plot(&evaluation, fingerprint, settings, err);
    evaluation_release(&evaluation);
    fingerprint_free(fingerprint);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

const struct command cmd_fingerprint = {
    .name = "fingerprint",
    .section = "Models",
    .purpose = "learn how fast and how memory-hungry networks are on a device",
    .usage = TEXTS("fingerprint fit --data FOLDER -o FILE [options]",
                   "fingerprint eval FILE --data FOLDER [options]",
                   "fingerprint show FILE"),
    .description = TEXTS(
        "fit learns from what was measured on a device (the folder of a "
        "campaign) and writes a fingerprint: the file that `assay predict` "
        "needs. eval predicts rows that were not learned from and reports "
        "how far off that is. show prints what a fingerprint was learned "
        "from, and its physical model.",
        "Networks are named as in the folder. Levels (the percentage of "
        "pruned filters) follow a colon; without them all are taken: "
        "resnet18,resnet50:0,30,50..70."),
    .options = options,
    .examples = EXAMPLES(
        {"fingerprint fit --data tx2 --train resnet50:0,30,50,70,90 -o "
         "tx2.fp",
         "learn from five levels of one network"},
        {"fingerprint eval tx2.fp --data tx2 --nets resnet50:5..85",
         "predict the other levels"},
        {"fingerprint eval tx2.fp --data tx2 --plot tx2.png",
         "plot predicted against measured"}),
    .settings_bytes = sizeof(struct settings),
    .actions = ACTIONS({"fit", 0, NULL, cmd_fingerprint_fit},
                       {"eval", 1, "a fingerprint", cmd_fingerprint_eval},
                       {"show", 1, "a fingerprint", cmd_fingerprint_show}),
};

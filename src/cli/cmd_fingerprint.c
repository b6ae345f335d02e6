/* cli/cmd_fingerprint.c - assay fingerprint: what a device makes of networks.
 */
#include "cli/command.h"

#include "cli/action_word.h"
#include "cli/file_roles.h"
#include "cli/fingerprint_show.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/plot_file.h"
#include "cli/result.h"

#include <string.h>

struct settings {
    struct words data;
    const char *train, *nets, *device, *output, *plot;
    int model;
    int64_t seed, threads;
    bool json, with_seen;
};

/* The first one stands for "the best on rows held back". */
static const char *const models[] = {"auto",  "physical", "forest", "hybrid",
                                     "curve", "blend",    NULL};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "What was measured"},
    {.name = "data",
     .kind = OPTION_LIST,
     .value = "FOLDER",
     .help = "fit, eval: a folder with measurements.csv, layers.csv, "
             "networks.csv and network_ops.csv",
     FIELD(data)},
    {.name = "train",
     .kind = OPTION_TEXT,
     .value = "NETWORKS",
     .help = "fit: networks and levels to learn from: resnet18,resnet50:0,30",
     .shown_default = "all that have layers",
     FIELD(train)},
    {.name = "nets",
     .kind = OPTION_TEXT,
     .value = "NETWORKS",
     .help = "eval: networks and levels to predict: resnet50:5..85",
     .shown_default = "all it was not made from",
     FIELD(nets)},
    {.name = "seen",
     .kind = OPTION_FLAG,
     .help = "eval: rows that it was made from too",
     FIELD(with_seen)},
    {.kind = OPTION_SECTION, .help = "How it learns"},
    {.name = "model",
     .kind = OPTION_CHOICE,
     .value = "MODEL",
     .choices = models,
     .help = "fit: what predicts",
     .shown_default = "auto, the best on rows held back",
     FIELD(model)},
    {.name = "seed",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 0,
     .max = 1e15,
     .help = "fit: of the forests",
     .shown_default = "0",
     FIELD(seed)},
    {.name = "device",
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "fit: what the device is called",
     FIELD(device)},
    OPTION_THREADS(FIELD(threads)),
    {.kind = OPTION_SECTION, .help = "Results"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "fit: the fingerprint; eval: the table or the JSON",
     FIELD(output)},
    OPTION_JSON("eval: as JSON", FIELD(json)),
    {.name = "plot",
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "eval: predicted against measured and the error by batch, as "
             ".png, .svg or .pdf",
     FIELD(plot)},
    {.kind = OPTION_END},
};

/* ---- what all of them do ---------------------------------------------------
 */

static int threads_of(const struct settings *settings)
{
    return settings->threads ? (int)settings->threads : look_processors();
}

static enum assay_status read_data(struct data_set *set,
                                   const struct settings *settings,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!settings->data.n)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--data is missing: a folder of what was measured");
    for (size_t i = 0; !st && i < settings->data.n; i++)
        st = data_set_read(set, settings->data.items[i], err);
    if (!st && set->n_undescribed)
        message_note("%zu rows are left out, for their networks have no "
                     "layers: %s",
                     set->n_undescribed, str_text(&set->undescribed));
    return st;
}

/* Nothing is written over what was measured. */
static enum assay_status check_roles(const struct settings *settings,
                                     struct error *err)
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

static enum assay_status read_selection(struct selection *selection,
                                        const char *text, struct error *err)
{
    return text ? selection_parse(selection, text, err) : ASSAY_OK;
}

/* ---- fit ------------------------------------------------------------------
 */

static enum assay_status learn(const struct settings *settings,
                               struct fingerprint **out, struct error *err)
{
    struct fingerprint_options how = {
        .device = settings->device,
        .method =
            settings->model ? (enum method)(settings->model - 1) : N_METHODS,
        .seed = (uint64_t)settings->seed,
        .n_threads = threads_of(settings),
    };
    struct selection selection = {0};
    struct data_set set = {0};
    enum assay_status st = read_selection(&selection, settings->train, err);

    if (!st)
        st = read_data(&set, settings, err);
    if (!st)
        st = fingerprint_fit(&set, &selection, &how, out, err);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

static enum assay_status fit(const char *const *words,
                             const struct settings *settings, struct error *err)
{
    struct fingerprint *fingerprint = NULL;
    struct result result;
    enum assay_status st;

    (void)words;
    if (!settings->output)
        return error_set(err, ASSAY_BAD_USAGE,
                         "-o FILE is missing: where the fingerprint goes");
    st = result_open(settings->output, &result, err);
    if (st)
        return st;
    st = learn(settings, &fingerprint, err);
    if (!st)
        st = fingerprint_write(fingerprint, result.sink, err);
    if (!st && result.path)
        st = fingerprint_print(fingerprint, false, err);
    fingerprint_free(fingerprint);
    return result_close(&result, st, err);
}

/* ---- show -----------------------------------------------------------------
 */

static enum assay_status show(const char *const *words,
                              const struct settings *settings,
                              struct error *err)
{
    struct fingerprint *fingerprint = NULL;
    enum assay_status st =
        fingerprint_read(words[0], threads_of(settings), &fingerprint, err);

    if (!st)
        st = fingerprint_print(fingerprint, true, err);
    fingerprint_free(fingerprint);
    return st;
}

/* ---- eval -----------------------------------------------------------------
 */

static enum assay_status write_table(const struct evaluation *evaluation,
                                     const struct settings *settings,
                                     struct error *err)
{
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    if (settings->json)
        evaluation_show_json(evaluation, result.sink);
    else
        evaluation_show_table(evaluation, result.sink, &result.term);
    return result_close(&result, sink_status(result.sink, err), err);
}

static enum assay_status write_plot(const struct evaluation *evaluation,
                                    const struct fingerprint *fingerprint,
                                    const struct settings *settings,
                                    struct error *err)
{
    enum sheet_format format;
    struct result result;
    enum assay_status st = plot_file_format(settings->plot, &format, err);

    if (!st)
        st = result_open(settings->plot, &result, err);
    if (st)
        return st;
    st = evaluation_plot(evaluation, fingerprint, format, result.sink, err);
    /* What is printed beside JSON would spoil it. */
    if (settings->json && !settings->output && !st) {
        st = output_commit(result.output, err);
        return st;
    }
    return result_close(&result, st, err);
}

static enum assay_status eval(const char *const *words,
                              const struct settings *settings,
                              struct error *err)
{
    struct fingerprint *fingerprint = NULL;
    struct evaluation evaluation = {0};
    struct selection selection = {0};
    struct data_set set = {0};
    enum sheet_format format;
    enum assay_status st = read_selection(&selection, settings->nets, err);

    if (!st && settings->plot)
        st = plot_file_format(settings->plot, &format, err);
    if (!st)
        st =
            fingerprint_read(words[0], threads_of(settings), &fingerprint, err);
    if (!st)
        st = read_data(&set, settings, err);
    if (!st)
        st = evaluate(&evaluation, fingerprint, &set, &selection,
                      settings->with_seen, err);
    if (st == ASSAY_BAD_USAGE && evaluation.n_seen)
        error_hint(err, "--nets chooses others, --seen takes these too");
    if (!st)
        st = write_table(&evaluation, settings, err);
    if (!st && settings->plot)
        st = write_plot(&evaluation, fingerprint, settings, err);
    evaluation_release(&evaluation);
    fingerprint_free(fingerprint);
    selection_release(&selection);
    data_set_release(&set);
    return st;
}

/* ---- the command ----------------------------------------------------------
 */

static const char *const action_names[] = {"fit", "eval", "show", NULL};

static const struct action {
    size_t n_words;     /* behind the name */
    const char *wanted; /* those, in words */
    enum assay_status (*run)(const char *const *words,
                             const struct settings *settings,
                             struct error *err);
} actions[] = {
    {0, "no more words", fit},
    {1, "a fingerprint", eval},
    {1, "a fingerprint", show},
};

static const struct action_words action_words = {
    .names = action_names,
    .what = "a fingerprint",
    .all = "'fit', 'eval FILE' and 'show FILE'"};

static enum assay_status check_options(const struct settings *settings,
                                       size_t action, struct error *err)
{
    enum { FIT = 1 << 0, EVAL = 1 << 1 };
    const struct action_option given[] = {
        {"train", settings->train != NULL, FIT},
        {"model", settings->model != 0, FIT},
        {"seed", settings->seed != 0, FIT},
        {"device", settings->device != NULL, FIT},
        {"nets", settings->nets != NULL, EVAL},
        {"seen", settings->with_seen, EVAL},
        {"json", settings->json, EVAL},
        {"plot", settings->plot != NULL, EVAL},
        {"data", settings->data.n > 0, FIT | EVAL},
        {"output", settings->output != NULL, FIT | EVAL},
    };

    return action_check_options(&action_words, action, given,
                                sizeof given / sizeof *given, err);
}

static enum assay_status run_fingerprint(const struct arguments *arguments,
                                         struct error *err)
{
    const struct words *words = &arguments->operands;
    const struct action *action;
    size_t found = 0;
    enum assay_status st =
        action_find(&action_words, words->items[0], &found, err);

    action = &actions[found];
    if (!st && words->n - 1 != action->n_words)
        st = error_set(err, ASSAY_BAD_USAGE, "'%s' wants %s", words->items[0],
                       action->wanted);
    if (!st)
        st = check_options(arguments->settings, found, err);
    if (!st)
        st = check_roles(arguments->settings, err);
    return st ? st : action->run(words->items + 1, arguments->settings, err);
}

const struct command cmd_fingerprint = {
    .name = "fingerprint",
    .section = "Models",
    .purpose = "learn from measurements what a device makes of networks",
    .usage =
        (const char *const[]){"fingerprint fit --data FOLDER -o FILE [options]",
                              "fingerprint eval FILE --data FOLDER [options]",
                              "fingerprint show FILE", NULL},
    .operands = {.min = 1,
                 .max = 2,
                 .missing = "what to do: fit, eval or show",
                 .words = action_names},
    .description =
        (const char *const[]){
            "fit reads what was measured on a device (a campaign's folder) and "
            "writes a fingerprint of it: one file that `assay predict` needs. "
            "eval predicts rows that it was not made from and says how far off "
            "it is. show tells what a fingerprint was made of, and its "
            "physical model.",
            "Networks are named as in the folder, each with levels (percent of "
            "filters that were pruned) behind a colon, or all: "
            "resnet18,resnet50:0,30,50..70.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"fingerprint fit --data tx2 --train resnet50:0,30,50,70,90 -o "
             "tx2.fp",
             "learn from five levels of a network"},
            {"fingerprint eval tx2.fp --data tx2 --nets resnet50:5..85",
             "predict the others"},
            {"fingerprint eval tx2.fp --data tx2 --plot tx2.png",
             "predicted against measured"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .run = run_fingerprint,
};

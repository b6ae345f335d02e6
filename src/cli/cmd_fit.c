/* cli/cmd_fit.c - assay fit: the largest batch that trains within a limit. */
#include "cli/command.h"

#include "base/mem.h"
#include "base/units.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/shell_quote.h"
#include "cli/train_settings.h"
#include "train/fit.h"
#include "train/train.h"

#include <inttypes.h>

struct fit_settings {
    struct train_settings train; /* those of `assay train` that matter here */
    uint64_t memory;             /* 0: not given */
    int64_t most, steps;
};

static const struct fit_settings defaults = {
    .train = TRAIN_DEFAULTS,
    .most = 256,
    .steps = 5,
};

#define FIELD(field)       OPTION_FIELD(struct fit_settings, field)
#define TRAIN_FIELD(field) FIELD(train.field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The search"},
    {.name = "memory",
     .letter = 'm',
     .kind = OPTION_SIZE,
     .value = "SIZE",
     .help = "what the training may have: 8GiB",
     FIELD(memory)},
    {.name = "most",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 65536,
     .help = "try no larger batch",
     .shown_default = "256, for detectors 48",
     FIELD(most)},
    {.name = "steps",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 2,
     .max = 1e6,
     .help = "steps that the answer is checked with",
     .shown_default = "5",
     FIELD(steps)},
    {.kind = OPTION_SECTION, .help = "Over what the file says"},
    TRAIN_OVER_OPTIONS(TRAIN_FIELD),
    {.name = "set",
     .kind = OPTION_LIST,
     .value = "SECTION.KEY=VALUE",
     .help = "any setting of the file: --set model.name=resnet50",
     FIELD(train.set)},
    TRAIN_RECOMPUTE_OPTION(TRAIN_FIELD),
    {.kind = OPTION_END},
};

/* ---- a trial, in its own process ---------------------------------------- */

struct search {
    const struct fit_settings *settings;
    struct train_config config;
    const char **recompute;
    struct str choices;
    struct result screen;
};

/* Of the steps behind the first, which chooses kernels. */
struct pace {
    uint64_t n_images;
    int64_t spent_ns;
};

static void add_pace(void *context, const struct train_step *step)
{
    struct pace *pace = context;

    if (step->step == 1)
        return;
    pace->n_images += step->n_images;
    pace->spent_ns += step->duration_ns;
}

/* Two steps: in the second one the optimizer has its state. */
static enum assay_status train_batch(void *context, int64_t batch,
                                     bool is_check, double *images_per_s,
                                     struct error *err)
{
    enum { trial_steps = 2 };
    const struct search *search = context;
    struct train_config config = search->config;
    struct pace pace = {0};
    struct train_report report;
    const struct train_job job = {
        .config = &config,
        .recompute = search->recompute,
        .choices_path = search->choices.n ? search->choices.text : NULL,
        .n_processors = look_processors(),
        .stepped = add_pace,
        .context = &pace,
    };
    enum assay_status st;

    config.training.batch_size = batch;
    config.training.steps = is_check ? search->settings->steps : trial_steps;
    st = train_run(&job, &report, err);
    if (!st && pace.spent_ns > 0)
        *images_per_s = (double)pace.n_images * 1e9 / (double)pace.spent_ns;
    return st;
}

/* ---- the screen --------------------------------------------------------- */

static const char *end_text(enum fit_end end)
{
    switch (end) {
    case FIT_FITS:
        return "fits";
    case FIT_OVER:
        return "does not fit";
    case FIT_REFUSED:
        return "does not fit: out of memory";
    case FIT_KILLED:
        return "does not fit: killed for its memory";
    }
    return "";
}

static void show_trial(void *context, const struct fit_trial *trial)
{
    const struct search *search = context;
    struct sink *sink = search->screen.sink;
    char bytes[UNITS_MAX], rate[UNITS_MAX];

    sink_printf(sink, "%-8s batch %-5" PRId64 " %-9s %s",
                trial->is_check ? "check" : "trial", trial->batch,
                units_bytes(bytes, (double)trial->peak_bytes),
                end_text(trial->end));
    if (trial->end == FIT_FITS)
        sink_printf(sink, "   %s images/s",
                    units_number(rate, trial->images_per_s));
    sink_puts(sink, "\n");
    fflush(stdout);
}

static void show_start(const struct search *search)
{
    char bytes[UNITS_MAX];

    sink_printf(
        search->screen.sink,
        "model    %s on %s\nlimit    %s, each trial in a process of "
        "its own\n",
        search->config.model.name,
        train_dataset_name((enum train_dataset)search->config.dataset.kind),
        units_bytes(bytes, (double)search->settings->memory));
    fflush(stdout);
}

static void put_word(struct sink *sink, const char *word)
{
    struct str text = {0};

    if (!shell_word(&text, word))
        sink_printf(sink, " %s", text.text);
    str_release(&text);
}

static void put_list(struct sink *sink, const char *option,
                     const struct words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        sink_printf(sink, " %s", option);
        put_word(sink, words->items[i]);
    }
}

/* The training that was tried. */
static void put_command(const struct search *search, struct sink *sink)
{
    const struct train_settings *given = &search->settings->train;

    sink_puts(sink, "assay train");
    if (search->config.path)
        put_word(sink, search->config.path);
    if (given->is_synthetic)
        sink_puts(sink, " --synthetic");
    if (given->min_size)
        sink_printf(sink, " --min-size %" PRId64, given->min_size);
    if (given->workers >= 0)
        sink_printf(sink, " --workers %" PRId64, given->workers);
    if (given->threads)
        sink_printf(sink, " --threads %" PRId64, given->threads);
    put_list(sink, "--set", &given->set);
    put_list(sink, "--recompute", &given->recompute);
}

static void show_answer(const struct search *search,
                        const struct fit_result *result)
{
    struct sink *sink = search->screen.sink;
    char bytes[UNITS_MAX], limit[UNITS_MAX];

    sink_printf(
        sink,
        "answer   batch %" PRId64 ": %s of %s, checked with %" PRId64 " steps",
        result->batch, units_bytes(bytes, (double)result->trial.peak_bytes),
        units_bytes(limit, (double)search->settings->memory),
        search->settings->steps);
    if (result->is_most)
        sink_puts(sink, "; no larger one was to be tried");
    else
        sink_printf(sink, "; %" PRId64 " does not fit", result->batch + 1);
    sink_puts(sink, "\nnext     ");
    put_command(search, sink);
    sink_printf(sink, " --batch %" PRId64 "\n", result->batch);
}

/* ---- the command -------------------------------------------------------- */

static enum assay_status prepare(struct search *search, const char *path,
                                 struct error *err)
{
    const struct words *words = &search->settings->train.recompute;
    enum assay_status st;

    if (!search->settings->memory)
        return error_set(err, ASSAY_BAD_USAGE,
                         "how much memory may it have? --memory 8GiB");
    st = train_settings_read(&search->settings->train, path, &search->config,
                             err);
    if (st)
        return st;
    search->recompute = mem_array(words->n + 1, sizeof *search->recompute);
    if (!search->recompute)
        return error_nomem(err, words->n, "the modules to recompute");
    for (size_t i = 0; i < words->n; i++)
        search->recompute[i] = words->items[i];
    run_find_choices(&search->choices);
    return result_open(NULL, &search->screen, err);
}

static int64_t most_images(const struct search *search)
{
    int64_t most = search->settings->most;
    const char *model = model_full_name(search->config.model.name);
    bool is_detector = model && model_task(model) == TASK_DETECTION;

    return is_detector && most > MODEL_MAX_IMAGES ? MODEL_MAX_IMAGES : most;
}

static enum assay_status too_small(const struct search *search,
                                   struct error *err)
{
    char limit[UNITS_MAX];

    return error_set(err, ASSAY_NOMEM,
                     "not even a batch of 1 trains within %s; allow more, or "
                     "smaller images (--min-size), or --recompute MODULE",
                     units_bytes(limit, (double)search->settings->memory));
}

static enum assay_status run_fit(const struct arguments *arguments,
                                 struct error *err)
{
    struct search search = {.settings = arguments->settings};
    struct fit_result result = {0};
    enum assay_status st = prepare(
        &search, arguments->operands.n ? arguments->operands.items[0] : NULL,
        err);

    if (!st) {
        const struct fit_options fit = {
            .memory_bytes = search.settings->memory,
            .most = most_images(&search),
            .train = train_batch,
            .tried = show_trial,
            .context = &search,
        };

        show_start(&search);
        st = fit_search(&fit, &result, err);
        if (!st && !result.batch)
            st = too_small(&search, err);
        if (!st)
            show_answer(&search, &result);
        st = result_close(&search.screen, st, err);
    }
    train_config_release(&search.config);
    mem_free(search.recompute);
    str_release(&search.choices);
    return st;
}

const struct command cmd_fit = {
    .name = "fit",
    .section = "Models",
    .purpose = "find the largest batch that trains within a limit of memory",
    .usage =
        (const char *const[]){"fit [options] [CONFIG] --memory SIZE", NULL},
    .operands = {.max = 1, .endings = (const char *const[]){".toml", NULL}},
    .description =
        (const char *const[]){
            "Tries batches of a training, each in a process of its own that "
            "is ended where it takes more memory than the limit, until the "
            "largest that fits is known; then checks it with more steps. "
            "Nothing is estimated but which batch to try next, and nothing is "
            "left behind.",
            "CONFIG is that of 'assay train'. The limit is one of resident "
            "memory of the whole process: model, images, kernels, the program "
            "itself.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"fit my.toml --memory 8GiB",
             "the largest batch for a machine with 8 GiB to spare"},
            {"fit --synthetic --min-size 400 --memory 4GiB",
             "without a dataset, of images that become about 400 pixels high"},
            {NULL, NULL},
        },
    .exit_codes = "4 where not even a batch of 1 fits",
    .settings_bytes = sizeof(struct fit_settings),
    .defaults = &defaults,
    .run = run_fit,
};

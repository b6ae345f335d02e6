/* cli/cmd_fit.c - assay fit: the largest batch that trains within a memory
 * limit. */
#include "cli/command.h"

#include "base/mem.h"
#include "base/processor.h"
#include "base/units.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/shell_quote.h"
#include "cli/train_settings.h"
#include "train/fit.h"
#include "train/train.h"

#include <inttypes.h>

struct fit_settings {
    struct train_settings train; /* only some of them matter here */
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
    {OPT_SIZE("memory", "SIZE", 1 << 20, 0x1p60), .letter = 'm',
     .help = "memory limit of the training: 8GiB",
     .shown_default = "on a GPU what it has free", FIELD(memory)},
    {OPT_INTEGER("most", "N", 1, 65536), .help = "try no larger batch",
     .shown_default = "256, 48 for detectors", FIELD(most)},
    {OPT_INTEGER("steps", "N", 2, 1e6), .letter = 'n',
     .help = "steps to check the answer with", .shown_default = "5",
     FIELD(steps)},
    {.kind = OPTION_SECTION, .help = "Override the file"},
    TRAIN_OVER_OPTIONS(TRAIN_FIELD),
    TRAIN_SET_OPTION("model.name=resnet50", FIELD(train.set)),
    TRAIN_RECOMPUTE_OPTION(TRAIN_FIELD),
    {.kind = OPTION_END},
};

/* ---- a trial, in its own process ---------------------------------------- */

struct fit_job {
    const struct fit_settings *settings;
    struct train_config config;
    const char **recompute;
    struct fit_place place;
    size_t memory_bytes; /* the limit, of the device's memory or the host's */
    struct str choices;
    struct result screen;
};

/* Of the steps after the first, which chooses kernels. */
struct pace {
    uint64_t n_images;
    int64_t spent_ns;
};

static void fit_add_pace(void *context, const struct train_step *step)
{
    struct pace *pace = context;

    if (step->step == 1)
        return;
    pace->n_images += step->n_images;
    pace->spent_ns += step->duration_ns;
}

/* Two steps: the optimizer has its state only in the second. */
static enum assay_status fit_train_batch(void *context, int64_t batch,
                                         bool is_check,
                                         struct fit_trained *trained,
                                         struct error *err)
{
    enum { trial_steps = 2 };
    const struct fit_job *search = context;
    struct train_config config = search->config;
    struct pace pace = {0};
    struct train_report report;
    const struct train_job job = {
        .config = &config,
        .recompute = search->recompute,
        .choices_path = search->choices.n ? search->choices.text : NULL,
        .device_bytes = search->place.is_host ? 0 : search->memory_bytes,
        .n_processors = processor_count(),
        .stepped = fit_add_pace,
        .context = &pace,
    };
    enum assay_status st;

    config.training.batch_size = batch;
    config.training.steps = is_check ? search->settings->steps : trial_steps;
    st = train_run(&job, &report, err);
    if (!st && pace.spent_ns > 0)
        trained->images_per_s =
            (double)pace.n_images * 1e9 / (double)pace.spent_ns;
    trained->device_bytes = report.device_peak_bytes;
    return st;
}

/* ---- the screen --------------------------------------------------------- */

static const char *fit_end_text(enum fit_end end)
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

static void fit_show_trial(void *context, const struct fit_trial *trial)
{
    const struct fit_job *search = context;
    struct sink *sink = search->screen.sink;
    char bytes[UNITS_MAX], rate[UNITS_MAX];

    sink_printf(sink, "%-8s batch %-5" PRId64 " %-9s %s",
                trial->is_check ? "check" : "trial", trial->batch,
                units_bytes(bytes, (double)trial->peak_bytes),
                fit_end_text(trial->end));
    if (trial->end == FIT_FITS)
        sink_printf(sink, "   %s images/s",
                    units_number(rate, trial->images_per_s));
    sink_puts(sink, "\n");
    fflush(stdout);
}

static void fit_show_start(const struct fit_job *search)
{
    char bytes[UNITS_MAX];

    sink_printf(
        search->screen.sink,
        "model    %s on %s\nlimit    %s%s%s, each trial in its own process\n",
        search->config.model.name,
        train_dataset_name((enum train_dataset)search->config.dataset.kind),
        units_bytes(bytes, (double)search->memory_bytes),
        search->place.is_host ? "" : " of ",
        search->place.is_host ? "" : search->place.device);
    fflush(stdout);
}

static void fit_put_word(struct sink *sink, const char *word)
{
    struct str text = {0};

    if (!shell_word(&text, word))
        sink_printf(sink, " %s", text.text);
    str_release(&text);
}

static void fit_put_list(struct sink *sink, const char *option,
                         const struct words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        sink_printf(sink, " %s", option);
        fit_put_word(sink, words->items[i]);
    }
}

/* The command that trains like the trials. */
static void fit_put_command(const struct fit_job *search, struct sink *sink)
{
    const struct train_settings *given = &search->settings->train;

    sink_puts(sink, "assay train");
    if (search->config.path)
        fit_put_word(sink, search->config.path);
    if (given->is_synthetic)
        sink_puts(sink, " --synthetic");
    if (given->min_size)
        sink_printf(sink, " --min-size %" PRId64, given->min_size);
    if (given->workers >= 0)
        sink_printf(sink, " --workers %" PRId64, given->workers);
    if (given->device) {
        sink_puts(sink, " --device");
        fit_put_word(sink, given->device);
    }
    if (given->precision)
        sink_printf(sink, " --precision %s",
                    train_precisions[given->precision]);
    if (given->threads)
        sink_printf(sink, " --threads %" PRId64, given->threads);
    fit_put_list(sink, "--set", &given->set);
    fit_put_list(sink, "--recompute", &given->recompute);
}

static void fit_show_answer(const struct fit_job *search,
                            const struct fit_result *result)
{
    struct sink *sink = search->screen.sink;
    char bytes[UNITS_MAX], limit[UNITS_MAX];

    sink_printf(
        sink,
        "answer   batch %" PRId64 ": %s of %s, checked with %" PRId64 " steps",
        result->batch, units_bytes(bytes, (double)result->trial.peak_bytes),
        units_bytes(limit, (double)search->memory_bytes),
        search->settings->steps);
    if (result->is_most)
        sink_puts(sink, "; --most allows no larger one");
    else
        sink_printf(sink, "; %" PRId64 " does not fit", result->batch + 1);
    sink_puts(sink, "\nnext     ");
    fit_put_command(search, sink);
    sink_printf(sink, " --batch %" PRId64 "\n", result->batch);
}

/* ---- the command -------------------------------------------------------- */

/* In a process of its own: a driver that was started here would not start in
 * the trials, which are forked. */
static enum assay_status
fit_find_device(void *context, const struct device **out, struct error *err)
{
    enum assay_status st = train_config_check(context, err);

    return st ? st : train_device(context, out, err);
}

/* --memory, or what the device has free. The host's memory is everybody's, so
 * that there is no such default for it. */
static enum assay_status fit_find_limit(struct fit_job *search,
                                        struct error *err)
{
    enum assay_status st =
        fit_find_place(fit_find_device, &search->config, &search->place, err);

    search->memory_bytes = search->settings->memory
                               ? (size_t)search->settings->memory
                               : search->place.free_bytes;
    if (st || search->memory_bytes)
        return st;
    return error_set(err, ASSAY_BAD_USAGE,
                     "missing the memory limit: --memory 8GiB");
}

static enum assay_status fit_prepare(struct fit_job *search, const char *path,
                                     struct error *err)
{
    const struct words *words = &search->settings->train.recompute;
    enum assay_status st;

    st = train_settings_read(&search->settings->train, path, &search->config,
                             err);
    if (!st)
        st = fit_find_limit(search, err);
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

static int64_t fit_most_images(const struct fit_job *search)
{
    int64_t most = search->settings->most;
    const char *model = model_full_name(search->config.model.name);
    bool is_detector = model && model_task(model) == TASK_DETECTION;

    return is_detector && most > MODEL_MAX_IMAGES ? MODEL_MAX_IMAGES : most;
}

static enum assay_status fit_too_small(const struct fit_job *search,
                                       struct error *err)
{
    char limit[UNITS_MAX];

    return error_set(err, ASSAY_NOMEM,
                     "not even a batch of 1 trains within %s; allow more "
                     "memory, use smaller images (--min-size) or --recompute "
                     "MODULE",
                     units_bytes(limit, (double)search->memory_bytes));
}

static enum assay_status run_fit(const struct arguments *arguments,
                                 struct error *err)
{
    struct fit_job search = {.settings = arguments->settings};
    struct fit_result result = {0};
    enum assay_status st = fit_prepare(
        &search, arguments->operands.n ? arguments->operands.items[0] : NULL,
        err);

    if (!st) {
        const struct fit_options fit = {
            .memory_bytes = search.memory_bytes,
            .is_on_device = !search.place.is_host,
            .most = fit_most_images(&search),
            .train = fit_train_batch,
            .tried = fit_show_trial,
            .context = &search,
        };

        fit_show_start(&search);
        st = fit_search(&fit, &result, err);
        if (!st && !result.batch)
            st = fit_too_small(&search, err);
        if (!st)
            fit_show_answer(&search, &result);
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
    .purpose = "find the largest batch that trains within a memory limit",
    .usage = TEXTS("fit [options] [CONFIG] --memory SIZE",
                   "fit [options] [CONFIG] --device cuda:0"),
    .operands = {.max = 1, .endings = TEXTS(".toml")},
    .description = TEXTS(
        "Tries batch sizes, each in its own process, which is ended if it "
        "takes more memory than the limit, until the largest that fits is "
        "known; then checks that one with more steps. Only the order of "
        "the trials is estimated, and nothing is left behind.",
        "CONFIG is the file of 'assay train'. The limit applies to the "
        "resident memory of the whole process: model, images, kernels and "
        "the program itself. On a GPU it applies to the GPU's memory, and is "
        "what the GPU has free unless given."),
    .options = options,
    .examples =
        EXAMPLES({"fit my.toml --memory 8GiB",
                  "the largest batch for a machine with 8 GiB to spare"},
                 {"fit --synthetic --min-size 400 --memory 4GiB",
                  "without a dataset, for images about 400 pixels high"}),
    .exit_codes = "4 if not even a batch of 1 fits",
    .settings_bytes = sizeof(struct fit_settings),
    .defaults = &defaults,
    .run = run_fit,
};

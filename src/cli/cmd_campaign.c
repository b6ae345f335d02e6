/* cli/cmd_campaign.c - assay campaign: measures a family of pruned networks on
 * this device. */
#include "cli/command.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/processor.h"
#include "base/scanner.h"
#include "base/units.h"
#include "cli/campaign_steps.h"
#include "cli/file_roles.h"
#include "cli/interrupt.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/shell_quote.h"
#include "predict/campaign.h"
#include "predict/campaign_names.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct settings {
    const char *config_file;
    const char *shard, *device, *python;
    int launcher, framework;
    int64_t shards, threads;
    uint64_t memory;
    double timeout;
    bool is_dry;
};

static const struct settings defaults = {.shards = 4, .timeout = 600};

/* The first one means: as the configuration says. */
static const char *const frameworks[] = {"config", "assay", "torch", NULL};
static const char *const launchers[] = {"none", "slurm", NULL};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {OPT_FILE("config-file", "FILE"),
     .help = "the configuration, instead of the argument CONFIG",
     FIELD(config_file)},
    {.kind = OPTION_SECTION, .help = "Each test"},
    {OPT_SIZE("memory", "SIZE", 1 << 20, 0x1p60),
     .help = "memory limit of a test",
     .shown_default = "nine tenths of the free memory", FIELD(memory)},
    {OPT_TIME("timeout", "TIME", 0.001, 1e6), .help = "time limit of a test",
     .shown_default = "10min", FIELD(timeout)},
    OPTION_DEVICE_TO("where to run the tests, whatever gpu_id says: cpu or "
                     "cuda:0",
                     FIELD(device)),
    OPTION_THREADS(FIELD(threads)),
    {.kind = OPTION_SECTION, .help = "PyTorch"},
    {OPT_CHOICE("framework", "NAME", frameworks),
     .help = "run the tests in assay or in torch, whatever the configuration "
             "says",
     .shown_default = "the configuration's, or assay", FIELD(framework)},
    {OPT_FILE("python", "FILE"), .help = "the interpreter that has PyTorch",
     .shown_default = "ASSAY_PYTHON, or python3", FIELD(python)},
    {.kind = OPTION_SECTION, .help = "Several parts"},
    {OPT_TEXT("shard", "K/N"),
     .help = "measure the K-th of N parts, with a log of its own",
     FIELD(shard)},
    {OPT_CHOICE("launcher", "WHAT", launchers),
     .help = "submit the parts as one job array", .shown_default = "none",
     FIELD(launcher)},
    {OPT_INTEGER("shards", "N", 1, 10000),
     .help = "number of parts for the launcher", .shown_default = "4",
     FIELD(shards)},
    {OPT_FLAG("dry-run"),
     .help = "make the networks and show the list of tests, or the launcher's "
             "script, but measure nothing",
     FIELD(is_dry)},
    {.kind = OPTION_END},
};

/* What the command line asks for. Start from {0}. */
struct campaign_job {
    const struct settings *settings;
    const char *config_path;
    struct campaign_config config;
    struct campaign_python python;
    struct campaign_place place; /* where the tests ran */
    struct campaign_tests tests;
    size_t n_made;
    struct config_texts left_out; /* networks, each once; allocated in the
                                     arena of config */
    bool lost_one;                /* there was no memory for a name */
    size_t n_left;                /* tests not run because it was stopped */
    size_t n_vain;                /* tests, if none of them passed */
    char why_failed[160];         /* the first of these */
    size_t shard, n_shards;
};

/* ---- progress ----------------------------------------------------------- */

static void campaign_count_made(void *context, const char *path)
{
    struct campaign_job *job = context;

    job->n_made++;
    fprintf(stderr, "made %s\n", path);
}

static void campaign_note_left_out(void *context, const char *network,
                                   int64_t level, const char *why)
{
    struct campaign_job *job = context;
    struct network_file file;
    const char *name;

    if (level < 0)
        message_note("%s is left out: %s", network, why);
    else
        message_note("%s at %lld %% is left out: %s", network, (long long)level,
                     why);
    if (!network_file_split(&job->config, network, &file) ||
        networks_include(&job->left_out, file.network))
        return;
    name = arena_strdup(&job->config.arena, file.network);
    if (name)
        job->left_out.items[job->left_out.n++] = name;
    job->lost_one |= !name;
}

/* One line per finished test. */
static void campaign_report_test(void *context,
                                 const struct campaign_progress *progress)
{
    const struct campaign_test *test = progress->test;
    const struct campaign_result *result = progress->result;
    char left[UNITS_MAX] = "", value[UNITS_MAX], place[64];

    (void)context;
    if (!result)
        return;
    if (campaign_is_skipped(result))
        value[0] = '\0';
    else if (!result->is_passed)
        snprintf(value, sizeof value, "failed, ");
    else if (test->target == TARGET_LATENCY)
        units_time(value, result->latency_ms * 1e6);
    else
        units_bytes(value, result->used_mb * 1024 * 1024);
    if (!isnan(progress->seconds_left))
        units_time(left, progress->seconds_left * 1e9);
    if (progress->round > 1)
        snprintf(place, sizeof place, "round %zu:", progress->round);
    else
        snprintf(place, sizeof place, "%zu/%zu", progress->n_done,
                 progress->n_tests);
    fprintf(stderr, "%s %s %lld %% batch %lld %s %s: %s%s%s%s\n", place,
            test->network, (long long)test->level, (long long)test->batch,
            stage_names[test->stage], target_names[test->target], value,
            result->is_passed ? "" : result->reason, left[0] ? "   left " : "",
            left);
}

/* ---- the log ------------------------------------------------------------ */

static enum assay_status campaign_log_path(const struct campaign_job *job,
                                           struct str *path, struct error *err)
{
    enum assay_status st = str_append(path, job->config.profile.log_dir);

    if (!st)
        st = job->n_shards ? str_printf(path, "/campaign-%zu-of-%zu.sqlite",
                                        job->shard, job->n_shards)
                           : str_append(path, "/campaign.sqlite");
    return st ? error_nomem(err, path->n, "a path") : ASSAY_OK;
}

static enum assay_status
campaign_show_end(const struct campaign_job *job,
                  const struct campaign_progress *progress, struct error *err)
{
    size_t n_run = progress->n_done - progress->n_before;
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    if (job->place.library[0])
        sink_printf(result.sink, "runs in  %s, %s\n", job->place.library,
                    job->python.runner.python);
    sink_printf(result.sink, "networks %zu made", job->n_made);
    if (job->left_out.n)
        sink_printf(result.sink, ", %zu left out", job->left_out.n);
    sink_puts(result.sink, "\n");
    sink_printf(result.sink,
                "tests    %zu: %zu passed, %zu failed, %zu skipped, %zu done "
                "before\n",
                progress->n_tests,
                n_run - progress->n_failed - progress->n_skipped,
                progress->n_failed, progress->n_skipped, progress->n_before);
    if (progress->n_left)
        sink_printf(result.sink,
                    "left     %zu tests; run the same command to continue\n",
                    progress->n_left);
    if (!job->n_shards)
        sink_printf(result.sink,
                    "wrote    %s/measurements.csv, layers.csv, "
                    "networks.csv, network_ops.csv\n",
                    job->config.profile.log_dir);
    else
        sink_printf(result.sink,
                    "next     when all parts are done: assay campaign merge "
                    "%s\n",
                    job->config.profile.log_dir);
    return result_close(&result, ASSAY_OK, err);
}

/* --device, or the GPU that the configuration names, or the processors. */
static enum assay_status campaign_find_place(struct campaign_job *job,
                                             struct error *err)
{
    const char *given = job->settings->device;
    int64_t gpu = given ? -1 : job->config.profile.gpu_id;
    enum assay_status st;
    char name[32];

    snprintf(name, sizeof name, "cuda:%lld", (long long)gpu);
    if (gpu >= 0)
        given = name;
    if (job->config.framework == FRAMEWORK_TORCH) {
        st = campaign_find_torch(job->config.torch, given, &job->place, err);
    } else {
        st = campaign_find(given, &job->place, err);
        if (st)
            error_hint(err, "--device cpu uses the processors");
    }
    if (st && gpu >= 0)
        error_context(err, "%s: gpu_id is %lld", job->config_path,
                      (long long)gpu);
    return st;
}

/* The label of a configuration may be another machine's. */
static void campaign_note_machine(const struct campaign_job *job)
{
    const char *label = job->config.profile.device;
    const char *machine = job->place.machine;

    if (label && machine[0] && !machine_is_called(machine, label))
        message_note("device= %.60s, but the tests run on this machine's %s; "
                     "both names are stored",
                     label, machine);
}

static enum assay_status campaign_do_tests(struct campaign_job *job,
                                           struct error *err)
{
    const struct settings *settings = job->settings;
    struct campaign_options how = {
        .limits = {.memory_bytes = (size_t)settings->memory,
                   .seconds = settings->timeout,
                   .n_threads = look_threads(settings->threads)},
        .shard = job->shard,
        .n_shards = job->n_shards,
        .stop = interrupt_watch(),
        .told = campaign_report_test};
    struct campaign_progress progress;
    struct campaign_log *log = NULL;
    struct str path = {0}, choices = {0};
    enum assay_status st = campaign_log_path(job, &path, err);

    run_find_choices(&choices);
    how.limits.choices_path = choices.n ? choices.text : NULL;
    if (!st)
        st = campaign_find_place(job, err);
    how.limits.device = job->place.device[0] ? job->place.device : NULL;
    how.limits.machine = job->place.machine;
    how.limits.multiprocessors = job->place.multiprocessors;
    how.limits.torch = job->config.torch;
    if (!st)
        campaign_note_machine(job);
    if (!st)
        st = campaign_log_open(path.text, &log, err);
    if (!st)
        st = campaign_run(&job->config, &job->tests, log, &how, &progress, err);
    if (!st && !job->n_shards)
        st = campaign_write_csv(log, job->config.profile.log_dir, err);
    campaign_log_close(log);
    str_release(&path);
    str_release(&choices);
    if (!st) {
        job->n_left = progress.n_left;
        job->n_vain = progress.n_passed ? 0 : progress.n_done;
        snprintf(job->why_failed, sizeof job->why_failed, "%s",
                 progress.why_failed);
    }
    return st ? st : campaign_show_end(job, &progress, err);
}

/* ---- Slurm -------------------------------------------------------------- */

static enum assay_status campaign_save_script(const struct campaign_job *job,
                                              const struct str *script,
                                              struct str *path,
                                              struct error *err)
{
    struct output *output;
    enum assay_status st;

    if (str_printf(path, "%s/campaign.sbatch", job->config.profile.log_dir))
        return error_nomem(err, 64, "a path");
    st = cache_make_folders(path->text, err);
    if (!st)
        st = output_open(path->text, &output, err);
    if (st)
        return st;
    sink_puts(output_sink(output), str_text(script));
    return output_commit(output, err);
}

/* The options that the jobs are started with. */
static enum assay_status campaign_pass_options(const struct settings *settings,
                                               struct str *words,
                                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (settings->memory)
        st = str_printf(words, " --memory %llu",
                        (unsigned long long)settings->memory);
    if (!st && settings->device) {
        st = str_append(words, " --device ");
        if (!st)
            st = shell_word(words, settings->device);
    }
    if (!st && settings->framework)
        st = str_printf(words, " --framework %s",
                        frameworks[settings->framework]);
    if (!st && settings->python) {
        st = str_append(words, " --python ");
        if (!st)
            st = shell_word(words, settings->python);
    }
    if (!st && settings->threads)
        st = str_printf(words, " --threads %lld", (long long)settings->threads);
    if (!st)
        st = str_printf(words, " --timeout %g", settings->timeout);
    return st ? error_nomem(err, words->n, "a script") : ASSAY_OK;
}

static enum assay_status campaign_suggest_merge(const char *log_dir,
                                                struct str *line)
{
    enum assay_status st = str_append(
        line, "next     when its jobs are done: assay campaign merge ");

    if (!st)
        st = shell_word(line, log_dir);
    return st ? st : str_append(line, "\n");
}

static enum assay_status campaign_launch(const struct campaign_job *job,
                                         struct error *err)
{
    struct str script = {0}, words = {0}, path = {0}, answer = {0};
    struct launch how = {.config = job->config_path,
                         .log_dir = job->config.profile.log_dir,
                         .n_shards = (size_t)job->settings->shards,
                         .n_threads = job->settings->threads};
    enum assay_status st = campaign_pass_options(job->settings, &words, err);

    how.options = str_text(&words);
    if (!st)
        st = launch_script(&how, &script, err);
    if (!st && job->settings->is_dry) {
        st = result_print(script.text, err);
    } else if (!st) {
        st = campaign_save_script(job, &script, &path, err);
        if (!st)
            st = launch_submit(path.text, &answer, err);
        if (!st && campaign_suggest_merge(job->config.profile.log_dir, &answer))
            st = error_nomem(err, answer.n, "a line");
        if (!st)
            st = result_print(str_text(&answer), err);
    }
    str_release(&script);
    str_release(&words);
    str_release(&path);
    str_release(&answer);
    return st;
}

/* ---- the command -------------------------------------------------------- */

static enum assay_status campaign_read_shard(struct campaign_job *job,
                                             struct error *err)
{
    enum { most = 999999 };
    const char *text = job->settings->shard, *at = text;
    uint64_t k, n;

    if (!text)
        return ASSAY_OK;
    if (scan_number(&at, most, &k) && scan_word(&at, "/") &&
        scan_number(&at, most, &n) && !*at && k >= 1 && k <= n) {
        job->shard = k;
        job->n_shards = n;
        return ASSAY_OK;
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     "--shard needs K/N, such as 2/8 for the second of eight "
                     "parts, not '%s'",
                     text);
}

static enum assay_status campaign_show_tests(const struct campaign_job *job,
                                             struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    for (size_t i = 0; i < job->tests.n; i++) {
        const struct campaign_test *test = &job->tests.items[i];

        if (!job->n_shards || test->series % job->n_shards == job->shard - 1)
            sink_printf(result.sink, "%s %lld %% batch %lld %s %s   %s\n",
                        test->network, (long long)test->level,
                        (long long)test->batch, stage_names[test->stage],
                        target_names[test->target], test->file);
    }
    return result_close(&result, ASSAY_OK, err);
}

/* ---- checks before anything is measured ---------------------------------- */

/* Every file in the list of tests exists. */
static enum assay_status campaign_check_files(const struct campaign_job *job,
                                              struct error *err)
{
    const char *last = "";

    for (size_t i = 0; i < job->tests.n; i++) {
        const char *file = job->tests.items[i].file;

        if (strcmp(file, last) != 0 && access(file, R_OK) != 0)
            return error_errno(err, errno, "opening %s, which %s lists", file,
                               job->config.profile.test_config);
        last = file;
    }
    return ASSAY_OK;
}

/* Every network that [profile] names has a file. */
static enum assay_status campaign_check_listed(const struct campaign_job *job,
                                               struct error *err)
{
    const struct profile_config *profile = &job->config.profile;

    if (profile->test_config && !profile->create_config)
        return campaign_check_files(job, err);
    for (size_t i = 0; i < profile->network.n; i++) {
        const char *network = network_canonical(profile->network.items[i]);
        bool is_there = networks_include(&job->left_out, network);

        for (size_t k = 0; !is_there && k < job->tests.n; k++)
            is_there = strcmp(network_canonical(job->tests.items[k].network),
                              network) == 0;
        if (!is_there)
            return error_set(err, ASSAY_BAD_INPUT,
                             "[profile] network: there is no %.60s_LEVEL.net "
                             "or .onnx in the folder of networks",
                             profile->network.items[i]);
    }
    return ASSAY_OK;
}

/* The rows that there will be, including those of an existing log. */
static enum assay_status campaign_read_expected(const struct campaign_job *job,
                                                struct data_set *set,
                                                struct error *err)
{
    struct campaign_log *log = NULL;
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    if (str_printf(&path, "%s/campaign.sqlite", job->config.profile.log_dir))
        st = error_nomem(err, 64, "a path");
    if (!st && access(path.text, F_OK) == 0)
        st = campaign_log_read(path.text, &log, err);
    if (!st)
        st = campaign_expect_rows(&job->tests, log, set, err);
    campaign_log_close(log);
    str_release(&path);
    return st;
}

static enum assay_status campaign_check_learning(const struct campaign_job *job,
                                                 struct error *err)
{
    struct data_set expected = {0};
    struct campaign_rows rows = {.config = &job->config,
                                 .expected = &expected,
                                 .left_out = &job->left_out};
    enum assay_status st = campaign_read_expected(job, &expected, err);

    if (!st)
        st = campaign_learn_check(&rows, err);
    data_set_release(&expected);
    return st;
}

static enum assay_status campaign_profile(struct campaign_job *job,
                                          struct error *err)
{
    const struct profile_config *profile = &job->config.profile;
    bool is_idle = !profile->run_profiling && !job->settings->is_dry;
    /* A single part learns nothing. */
    bool learns = !is_idle && job->config.has_fingerprint && !job->n_shards;
    enum assay_status st;

    if (is_idle && !profile->create_config)
        return ASSAY_OK;
    st = campaign_list_tests(&job->config, &job->tests, err);
    if (!st)
        st = campaign_check_listed(job, err);
    if (!st && learns)
        st = campaign_check_learning(job, err);
    if (!st && profile->create_config && profile->test_config)
        st = cache_make_folders(profile->test_config, err);
    if (!st && profile->create_config && profile->test_config)
        st = campaign_write_tests(&job->config, &job->tests,
                                  profile->test_config, err);
    if (st || is_idle)
        return st;
    if (job->settings->launcher)
        return campaign_launch(job, err);
    return job->settings->is_dry ? campaign_show_tests(job, err)
                                 : campaign_do_tests(job, err);
}

static enum assay_status campaign_create(struct campaign_job *job,
                                         struct error *err)
{
    struct campaign_listener listener = {campaign_count_made,
                                         campaign_note_left_out, job};
    size_t n = job->config.create.networks.n;
    enum assay_status st;

    job->left_out.items =
        arena_alloc(&job->config.arena, (n + 1) * sizeof *job->left_out.items);
    if (!job->left_out.items)
        return error_nomem(err, n * sizeof *job->left_out.items,
                           "the list of networks");
    st = campaign_make_networks(&job->config, &listener, err);
    if (!st && job->lost_one)
        st = error_nomem(err, 64, "the name of a network");
    return st;
}

static enum assay_status campaign_do_sections(struct campaign_job *job,
                                              struct error *err)
{
    struct campaign_rows rows = {.config = &job->config,
                                 .left_out = &job->left_out};
    enum assay_status st = ASSAY_OK;

    if (job->config.has_create)
        st = campaign_create(job, err);
    if (!st && job->config.has_profile)
        st = campaign_profile(job, err);
    if (!st && job->config.has_fingerprint && !job->n_shards && !job->n_left &&
        !job->settings->launcher && !job->settings->is_dry)
        st = campaign_learn(&rows, processor_count(), err);
    return st;
}

/* No output may be the configuration or the list of tests that is read. */
static enum assay_status campaign_check_roles(const struct campaign_job *job,
                                              struct error *err)
{
    const struct profile_config *profile = &job->config.profile;
    struct file_roles roles = {0};
    struct str log = {0};
    enum assay_status st = ASSAY_OK;

    file_roles_read(&roles, job->config_path);
    if (profile->create_config)
        file_roles_write(&roles, "test_config=", profile->test_config);
    else
        file_roles_read(&roles, profile->test_config);
    if (job->config.has_profile && profile->log_dir) {
        st = campaign_log_path(job, &log, err);
        file_roles_write(&roles, "the log", str_text(&log));
        file_roles_write_all(&roles, "a table", profile->log_dir,
                             data_folder_files);
    }
    if (!st)
        st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    str_release(&log);
    return st;
}

/* All of them at once, before anything else is said. */
static void campaign_note_ignored(const struct campaign_config *config)
{
    const char *at = str_text(&config->ignored);

    while (*at) {
        size_t n = strcspn(at, "\n");

        message_note("%.*s", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

/* A campaign that ends has measured something, and all that it was told to. */
static enum assay_status campaign_judge(const struct campaign_job *job,
                                        struct error *err)
{
    if (job->n_vain && !job->n_left)
        return error_set(err, ASSAY_CHECK_FAILED,
                         "none of the %zu tests passed; the first one: %s. A "
                         "failed test is not tried again: use another log_dir",
                         job->n_vain, job->why_failed);
    if (job->left_out.n)
        return error_set(err, ASSAY_CHECK_FAILED,
                         "%zu of %zu networks were left out, see above",
                         job->left_out.n, job->config.create.networks.n);
    return ASSAY_OK;
}

/* And the Python that it needs. */
static enum assay_status campaign_choose_framework(struct campaign_job *job,
                                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (job->settings->framework)
        job->config.framework = (enum framework)job->settings->framework;
    if (!campaign_config_needs_python(&job->config))
        return ASSAY_OK;
    st = campaign_python_find(job->settings->python, &job->python, err);
    job->config.torch = st ? NULL : &job->python.runner;
    return st;
}

static enum assay_status campaign_do_job(struct campaign_job *job,
                                         struct error *err)
{
    enum assay_status st = campaign_read_shard(job, err);

    if (!st)
        st = campaign_config_read(&job->config, job->config_path, err);
    if (!st)
        campaign_note_ignored(&job->config);
    if (!st)
        st = campaign_choose_framework(job, err);
    if (!st)
        st = campaign_check_roles(job, err);
    if (!st)
        st = campaign_do_sections(job, err);
    return st ? st : campaign_judge(job, err);
}

static enum assay_status run_campaign(const struct arguments *arguments,
                                      struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *words = &arguments->operands;
    struct campaign_job job = {.settings = settings};
    enum assay_status st;

    if (words->n && strcmp(words->items[0], "merge") == 0)
        return words->n == 2
                   ? campaign_merge(words->items[1], err)
                   : error_set(err, ASSAY_BAD_USAGE,
                               "merge which folder? assay campaign merge "
                               "LOG_DIR");
    if (words->n > 1 || (words->n && settings->config_file))
        return error_set(err, ASSAY_BAD_USAGE,
                         "give one configuration, not two");
    job.config_path = words->n ? words->items[0] : settings->config_file;
    if (!job.config_path)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing a configuration: assay campaign config.ini");
    st = campaign_do_job(&job, err);
    campaign_tests_release(&job.tests);
    campaign_config_release(&job.config);
    campaign_python_release(&job.python);
    return st;
}

const struct command cmd_campaign = {
    .name = "campaign",
    .section = "Models",
    .purpose = "prune networks and measure them on this device",
    .usage = TEXTS("campaign [options] CONFIG", "campaign merge LOG_DIR"),
    .operands = {.max = 2, .endings = TEXTS(".ini", ".toml")},
    .description =
        TEXTS("CONFIG is an INI file with the sections create_network_dataset, "
              "profile and fingerprint, as in perf4sight, or the same as TOML. "
              "Every test runs in its own process with a limit on memory and "
              "time. A test that fails is logged with the reason, and the "
              "campaign continues.",
              "Results go to LOG_DIR/campaign.sqlite immediately, and running "
              "the same command again continues where it was stopped. merge "
              "joins the logs of several parts.",
              "With --framework torch, or framework= torch in [profile], the "
              "tests run in your own PyTorch: the same networks with the same "
              "weights, built as its modules. A network can also be Python "
              "code: networks= ['my_models.py:make_net']."),
    .options = options,
    .examples = EXAMPLES(
        {"campaign config.ini",
         "prune, measure and log; may be stopped at any time"},
        {"campaign config.ini --framework torch --python venv/bin/python",
         "the costs of PyTorch"},
        {"campaign config.ini --shard 2/8", "the second of eight parts"},
        {"campaign config.ini --launcher slurm --shards 8 --dry-run",
         "show the Slurm script"},
        {"campaign merge logs/", "join the logs of all parts"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_campaign,
};

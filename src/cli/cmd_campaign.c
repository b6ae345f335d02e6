/* cli/cmd_campaign.c - assay campaign: a family of networks measured on this
 * device. */
#include "cli/command.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/scanner.h"
#include "base/units.h"
#include "cli/campaign_launch.h"
#include "cli/campaign_learn.h"
#include "cli/campaign_merge.h"
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
    const char *shard;
    int launcher;
    int64_t shards, threads;
    uint64_t memory;
    double timeout;
    bool is_dry;
};

static const struct settings defaults = {.shards = 4, .timeout = 600};

static const char *const launchers[] = {"none", "slurm", NULL};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.name = "config-file",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "the configuration, instead of as a word",
     FIELD(config_file)},
    {.kind = OPTION_SECTION, .help = "Each test"},
    {.name = "memory",
     .kind = OPTION_SIZE,
     .value = "SIZE",
     .help = "what a test may take",
     .shown_default = "nine tenths of what is free",
     FIELD(memory)},
    {.name = "timeout",
     .kind = OPTION_TIME,
     .value = "TIME",
     .min = 0.001,
     .max = 1e6,
     .help = "how long a test may take",
     .shown_default = "10min",
     FIELD(timeout)},
    OPTION_THREADS(FIELD(threads)),
    {.kind = OPTION_SECTION, .help = "In parts"},
    {.name = "shard",
     .kind = OPTION_TEXT,
     .value = "K/N",
     .help = "the K-th of N parts, with a log of its own",
     FIELD(shard)},
    {.name = "launcher",
     .kind = OPTION_CHOICE,
     .value = "WHAT",
     .choices = launchers,
     .help = "submit the parts as one array of jobs",
     .shown_default = "none",
     FIELD(launcher)},
    {.name = "shards",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 10000,
     .help = "how many parts a launcher makes",
     .shown_default = "4",
     FIELD(shards)},
    {.name = "dry-run",
     .kind = OPTION_FLAG,
     .help =
         "make the networks, show the list of tests, or a launcher's script; "
         "measure nothing",
     FIELD(is_dry)},
    {.kind = OPTION_END},
};

/* A campaign as the command line asks for it. Start from {0}. */
struct campaign_job {
    const struct settings *settings;
    const char *config_path;
    struct campaign_config config;
    struct campaign_tests tests;
    size_t n_made;
    struct config_texts left_out; /* networks, each once; in the arena of the
                                     configuration */
    bool lost_one;                /* memory was short for the name of one */
    size_t n_left;                /* tests that were not run: it was stopped */
    size_t shard, n_shards;
};

/* ---- telling ------------------------------------------------------------ */

static void count_made(void *context, const char *path)
{
    struct campaign_job *job = context;

    job->n_made++;
    fprintf(stderr, "made %s\n", path);
}

static bool is_left_out(const struct campaign_job *job, const char *network)
{
    for (size_t i = 0; i < job->left_out.n; i++) {
        if (strcmp(network_canonical(job->left_out.items[i]),
                   network_canonical(network)) == 0)
            return true;
    }
    return false;
}

static void note_left_out(void *context, const char *network, int64_t level,
                          const char *why)
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
        is_left_out(job, file.network))
        return;
    name = arena_strdup(&job->config.arena, file.network);
    if (name)
        job->left_out.items[job->left_out.n++] = name;
    job->lost_one |= !name;
}

/* A line for each test that has ended. */
static void tell_test(void *context, const struct campaign_progress *progress)
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

static enum assay_status log_path(const struct campaign_job *job,
                                  struct str *path, struct error *err)
{
    enum assay_status st = str_append(path, job->config.profile.log_dir);

    if (!st)
        st = job->n_shards ? str_printf(path, "/campaign-%zu-of-%zu.sqlite",
                                        job->shard, job->n_shards)
                           : str_append(path, "/campaign.sqlite");
    return st ? error_nomem(err, path->n, "a path") : ASSAY_OK;
}

static enum assay_status show_end(const struct campaign_job *job,
                                  const struct campaign_progress *progress,
                                  struct error *err)
{
    size_t n_run = progress->n_done - progress->n_before;
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    sink_printf(result.sink, "networks %zu made", job->n_made);
    if (job->left_out.n)
        sink_printf(result.sink, ", %zu left out", job->left_out.n);
    sink_puts(result.sink, "\n");
    sink_printf(result.sink,
                "tests    %zu: %zu passed, %zu failed, %zu skipped, %zu were "
                "there\n",
                progress->n_tests,
                n_run - progress->n_failed - progress->n_skipped,
                progress->n_failed, progress->n_skipped, progress->n_before);
    if (progress->n_left)
        sink_printf(result.sink,
                    "left     %zu tests; the same command goes on\n",
                    progress->n_left);
    if (!job->n_shards)
        sink_printf(result.sink,
                    "wrote    %s/measurements.csv, layers.csv, "
                    "networks.csv, network_ops.csv\n",
                    job->config.profile.log_dir);
    else
        sink_printf(result.sink,
                    "next     when all parts have ended: assay campaign merge "
                    "%s\n",
                    job->config.profile.log_dir);
    return result_close(&result, sink_status(result.sink, err), err);
}

static enum assay_status measure(struct campaign_job *job, struct error *err)
{
    const struct settings *settings = job->settings;
    struct campaign_options how = {
        .limits = {.memory_bytes = (size_t)settings->memory,
                   .seconds = settings->timeout,
                   .n_threads = settings->threads ? (int)settings->threads
                                                  : look_processors()},
        .shard = job->shard,
        .n_shards = job->n_shards,
        .stop = interrupt_watch(),
        .told = tell_test};
    struct campaign_progress progress;
    struct campaign_log *log = NULL;
    struct str path = {0}, choices = {0};
    enum assay_status st = log_path(job, &path, err);

    run_find_choices(&choices);
    how.limits.choices_path = choices.n ? choices.text : NULL;
    if (!st)
        st = campaign_log_open(path.text, &log, err);
    if (!st)
        st = campaign_run(&job->config, &job->tests, log, &how, &progress, err);
    if (!st && !job->n_shards)
        st = campaign_write_csv(log, job->config.profile.log_dir, err);
    campaign_log_close(log);
    str_release(&path);
    str_release(&choices);
    if (!st)
        job->n_left = progress.n_left;
    return st ? st : show_end(job, &progress, err);
}

/* ---- Slurm -------------------------------------------------------------- */

static enum assay_status save_script(const struct campaign_job *job,
                                     const struct str *script, struct str *path,
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

/* What the jobs are told beside their part. */
static enum assay_status pass_options(const struct settings *settings,
                                      struct str *words, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (settings->memory)
        st = str_printf(words, " --memory %llu",
                        (unsigned long long)settings->memory);
    if (!st && settings->threads)
        st = str_printf(words, " --threads %lld", (long long)settings->threads);
    if (!st)
        st = str_printf(words, " --timeout %g", settings->timeout);
    return st ? error_nomem(err, words->n, "a script") : ASSAY_OK;
}

static enum assay_status tell_merge(const char *log_dir, struct str *line)
{
    enum assay_status st = str_append(
        line, "next     when its jobs have ended: assay campaign merge ");

    if (!st)
        st = shell_word(line, log_dir);
    return st ? st : str_append(line, "\n");
}

static enum assay_status launch(const struct campaign_job *job,
                                struct error *err)
{
    struct str script = {0}, words = {0}, path = {0}, answer = {0};
    struct launch how = {.config = job->config_path,
                         .log_dir = job->config.profile.log_dir,
                         .n_shards = (size_t)job->settings->shards,
                         .n_threads = job->settings->threads};
    enum assay_status st = pass_options(job->settings, &words, err);

    how.options = str_text(&words);
    if (!st)
        st = launch_script(&how, &script, err);
    if (!st && job->settings->is_dry) {
        st = result_print(script.text, err);
    } else if (!st) {
        st = save_script(job, &script, &path, err);
        if (!st)
            st = launch_submit(path.text, &answer, err);
        if (!st && tell_merge(job->config.profile.log_dir, &answer))
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

/* ---- the command ----------------------------------------------------------
 */

static enum assay_status read_shard(struct campaign_job *job, struct error *err)
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
                     "--shard wants K/N, as 2/8 for the second of eight parts, "
                     "not '%s'",
                     text);
}

static enum assay_status show_tests(const struct campaign_job *job,
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
    return result_close(&result, sink_status(result.sink, err), err);
}

/* ---- what is wrong is told before anything is measured -------------------
 */

/* Every file that a list of tests names is there. */
static enum assay_status check_files(const struct campaign_job *job,
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
static enum assay_status check_listed(const struct campaign_job *job,
                                      struct error *err)
{
    const struct profile_config *wanted = &job->config.profile;

    if (wanted->test_config && !wanted->create_config)
        return check_files(job, err);
    for (size_t i = 0; i < wanted->network.n; i++) {
        const char *network = network_canonical(wanted->network.items[i]);
        bool is_there = is_left_out(job, network);

        for (size_t k = 0; !is_there && k < job->tests.n; k++)
            is_there = strcmp(network_canonical(job->tests.items[k].network),
                              network) == 0;
        if (!is_there)
            return error_set(err, ASSAY_BAD_INPUT,
                             "[profile] network: there is no %.60s_LEVEL.net "
                             "or .onnx in the folder of networks",
                             wanted->network.items[i]);
    }
    return ASSAY_OK;
}

/* The rows that there will be, with those of a log that is there. */
static enum assay_status expect_rows(const struct campaign_job *job,
                                     struct data_set *set, struct error *err)
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

static enum assay_status check_learning(const struct campaign_job *job,
                                        struct error *err)
{
    struct data_set expected = {0};
    struct campaign_rows rows = {.config = &job->config,
                                 .expected = &expected,
                                 .left_out = &job->left_out};
    enum assay_status st = expect_rows(job, &expected, err);

    if (!st)
        st = campaign_learn_check(&rows, err);
    data_set_release(&expected);
    return st;
}

static enum assay_status profile(struct campaign_job *job, struct error *err)
{
    const struct profile_config *wanted = &job->config.profile;
    bool is_idle = !wanted->run_profiling && !job->settings->is_dry;
    enum assay_status st;

    if (is_idle && !wanted->create_config)
        return ASSAY_OK;
    st = campaign_list_tests(&job->config, &job->tests, err);
    if (!st)
        st = check_listed(job, err);
    if (!st && !is_idle && job->config.has_fingerprint && !job->n_shards)
        st = check_learning(job, err); /* a part learns nothing */
    if (!st && wanted->create_config && wanted->test_config)
        st = cache_make_folders(wanted->test_config, err);
    if (!st && wanted->create_config && wanted->test_config)
        st = campaign_write_tests(&job->config, &job->tests,
                                  wanted->test_config, err);
    if (st || is_idle)
        return st;
    if (job->settings->launcher)
        return launch(job, err);
    return job->settings->is_dry ? show_tests(job, err) : measure(job, err);
}

static enum assay_status make_networks(struct campaign_job *job,
                                       struct error *err)
{
    struct campaign_listener listener = {count_made, note_left_out, job};
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

static enum assay_status run_sections(struct campaign_job *job,
                                      struct error *err)
{
    struct campaign_rows rows = {.config = &job->config,
                                 .left_out = &job->left_out};
    enum assay_status st = ASSAY_OK;

    if (job->config.has_create)
        st = make_networks(job, err);
    if (!st && job->config.has_profile)
        st = profile(job, err);
    if (!st && job->config.has_fingerprint && !job->n_shards && !job->n_left &&
        !job->settings->launcher && !job->settings->is_dry)
        st = campaign_learn(&rows, look_processors(), err);
    return st;
}

/* What the configuration has written is not what it is read from. */
static enum assay_status check_roles(const struct campaign_job *job,
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
        st = log_path(job, &log, err);
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

static enum assay_status run_job(struct campaign_job *job, struct error *err)
{
    enum assay_status st = read_shard(job, err);

    if (!st)
        st = campaign_config_read(&job->config, job->config_path, err);
    if (!st)
        st = check_roles(job, err);
    if (!st)
        st = run_sections(job, err);
    if (!st && job->left_out.n)
        st = error_set(err, ASSAY_CHECK_FAILED,
                       "%zu of %zu networks were left out, as said above",
                       job->left_out.n, job->config.create.networks.n);
    return st;
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
                               "merge what? assay campaign merge LOG_DIR");
    if (words->n > 1 || (words->n && settings->config_file))
        return error_set(err, ASSAY_BAD_USAGE,
                         "one configuration is wanted, not two");
    job.config_path = words->n ? words->items[0] : settings->config_file;
    if (!job.config_path)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a configuration is missing: assay campaign "
                         "config.ini");
    st = run_job(&job, err);
    campaign_tests_release(&job.tests);
    campaign_config_release(&job.config);
    return st;
}

const struct command cmd_campaign = {
    .name = "campaign",
    .section = "Models",
    .purpose = "prune networks, and measure them on this device",
    .usage = (const char *const[]){"campaign [options] CONFIG",
                                   "campaign merge LOG_DIR", NULL},
    .operands = {.max = 2,
                 .endings = (const char *const[]){".ini", ".toml", NULL}},
    .description =
        (const char *const[]){
            "CONFIG is an INI file with the sections create_network_dataset, "
            "profile and fingerprint, as perf4sight has them, or the same as "
            "TOML. Every test runs in a process of its own under a limit of "
            "memory and time; one that fails is noted with the reason, and the "
            "campaign goes on.",
            "What comes of a test is in LOG_DIR/campaign.sqlite at once. The "
            "same command goes on where it was stopped. merge joins the logs "
            "of parts.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"campaign config.ini", "prune, measure, log; may be stopped"},
            {"campaign config.ini --shard 2/8", "the second of eight parts"},
            {"campaign config.ini --launcher slurm --shards 8 --dry-run",
             "the script for Slurm"},
            {"campaign merge logs/", "join the logs of the parts"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_campaign,
};

/* cli/cmd_campaign.c - assay campaign: a family of networks measured on this
 * device. */
#include "cli/command.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/campaign_launch.h"
#include "cli/campaign_learn.h"
#include "cli/file_roles.h"
#include "cli/interrupt.h"
#include "cli/look.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "predict/campaign.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
struct job {
    const struct settings *settings;
    const char *config_path;
    struct campaign_config config;
    struct campaign_tests tests;
    size_t n_made;
    size_t n_left; /* tests that were not run: it was stopped */
    size_t shard, n_shards;
};

/* ---- telling ------------------------------------------------------------ */

static void count_made(void *context, const char *path)
{
    struct job *job = context;

    job->n_made++;
    fprintf(stderr, "made %s\n", path);
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

static enum assay_status log_path(const struct job *job, struct str *path,
                                  struct error *err)
{
    enum assay_status st = str_append(path, job->config.profile.log_dir);

    if (!st)
        st = job->n_shards ? str_printf(path, "/campaign-%zu-of-%zu.sqlite",
                                        job->shard, job->n_shards)
                           : str_append(path, "/campaign.sqlite");
    return st ? error_nomem(err, path->n, "a path") : ASSAY_OK;
}

/* The CSV files beside the log. */
static void add_tables(struct file_roles *roles, const char *folder)
{
    for (const char *const *name = data_folder_files; *name; name++)
        file_roles_write_in(roles, "a table", folder, *name);
}

static enum assay_status show_end(const struct job *job,
                                  const struct campaign_progress *progress,
                                  struct error *err)
{
    size_t n_run = progress->n_done - progress->n_before;
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    sink_printf(result.sink, "networks %zu made\n", job->n_made);
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

static enum assay_status measure(struct job *job, struct error *err)
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

static enum assay_status save_script(const struct job *job,
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

static enum assay_status launch(const struct job *job, struct error *err)
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
        if (!st && str_printf(&answer,
                              "next     when its jobs have ended: assay "
                              "campaign merge %s\n",
                              job->config.profile.log_dir))
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

/* ---- merge -------------------------------------------------------------- */

static bool is_shard(const char *name)
{
    size_t k, n;
    int end = 0;

    return sscanf(name, "campaign-%zu-of-%zu.sqlite%n", &k, &n, &end) == 2 &&
           end && !name[end];
}

/* The logs of the parts in a folder. Start from {0}. */
struct shards {
    const char **paths;
    size_t n, capacity;
    struct arena arena;
};

static void shards_release(struct shards *shards)
{
    mem_free(shards->paths);
    arena_release(&shards->arena);
}

static enum assay_status shards_add(struct shards *shards, const char *folder,
                                    const char *name, struct error *err)
{
    const char **moved = vec_reserve(shards->paths, &shards->capacity,
                                     shards->n + 1, sizeof *moved);
    struct str path = {0};
    const char *kept = NULL;

    if (moved)
        shards->paths = moved;
    if (moved && !str_printf(&path, "%s/%s", folder, name))
        kept = arena_strdup(&shards->arena, path.text);
    str_release(&path);
    if (!kept)
        return error_nomem(err, strlen(folder), "a path");
    shards->paths[shards->n++] = kept;
    return ASSAY_OK;
}

/* Fails where there is nothing to join. */
static enum assay_status shards_find(struct shards *shards, const char *folder,
                                     struct error *err)
{
    DIR *open = opendir(folder);
    enum assay_status st = ASSAY_OK;
    struct dirent *entry;

    if (!open)
        return error_errno(err, errno, "opening %s", folder);
    while (!st && (entry = readdir(open))) {
        if (is_shard(entry->d_name))
            st = shards_add(shards, folder, entry->d_name, err);
    }
    closedir(open);
    if (!st && !shards->n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no logs of parts, called "
                       "campaign-K-of-N.sqlite",
                       folder);
    return st;
}

/* Before anything is made: each of them can be read. */
static enum assay_status shards_check(const struct shards *shards,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < shards->n; i++) {
        struct campaign_log *log = NULL;

        st = campaign_log_read(shards->paths[i], &log, err);
        campaign_log_close(log);
    }
    return st;
}

static enum assay_status shards_join(const struct shards *shards,
                                     struct campaign_log *log, size_t *n_tests,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < shards->n; i++) {
        size_t n_added = 0;

        st = campaign_log_join(log, shards->paths[i], &n_added, err);
        *n_tests += n_added;
    }
    return st;
}

static enum assay_status shards_check_roles(const struct shards *shards,
                                            const char *folder, const char *log,
                                            struct error *err)
{
    struct file_roles roles = {0};
    enum assay_status st;

    for (size_t i = 0; i < shards->n; i++)
        file_roles_read(&roles, shards->paths[i]);
    file_roles_write(&roles, "the log", log);
    add_tables(&roles, folder);
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

/* Without slashes at its end; short enough for a line. */
static size_t path_length(const char *path)
{
    enum { most = 150 };
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n < most ? n : most;
}

static enum assay_status merge(const struct words *words, struct error *err)
{
    const char *folder = words->n > 1 ? words->items[1] : NULL;
    struct campaign_log *log = NULL;
    struct shards shards = {0};
    struct str path = {0};
    size_t n_tests = 0;
    char text[256];
    enum assay_status st = ASSAY_OK;

    if (words->n != 2)
        return error_set(err, ASSAY_BAD_USAGE,
                         "merge what? assay campaign merge LOG_DIR");
    st = shards_find(&shards, folder, err);
    if (!st)
        st = shards_check(&shards, err);
    if (!st && str_printf(&path, "%s/campaign.sqlite", folder))
        st = error_nomem(err, 64, "a path");
    if (!st)
        st = shards_check_roles(&shards, folder, path.text, err);
    if (!st)
        st = campaign_log_open(path.text, &log, err);
    if (!st)
        st = shards_join(&shards, log, &n_tests, err);
    if (!st)
        st = campaign_write_csv(log, folder, err);
    campaign_log_close(log);
    str_release(&path);
    snprintf(text, sizeof text,
             "merged   %zu logs, %zu new tests\nwrote    %.*s/measurements.csv "
             "and the other files\n",
             shards.n, n_tests, (int)path_length(folder), folder);
    shards_release(&shards);
    return st ? st : result_print(text, err);
}

/* ---- the command ----------------------------------------------------------
 */

static enum assay_status read_shard(struct job *job, struct error *err)
{
    const char *text = job->settings->shard;
    int end = 0;

    if (!text)
        return ASSAY_OK;
    if (sscanf(text, "%6zu/%6zu%n", &job->shard, &job->n_shards, &end) == 2 &&
        !text[end] && job->shard >= 1 && job->shard <= job->n_shards)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "--shard wants K/N, as 2/8 for the second of eight parts, "
                     "not '%s'",
                     text);
}

static enum assay_status show_tests(const struct job *job, struct error *err)
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

static enum assay_status profile(struct job *job, struct error *err)
{
    const struct profile_config *wanted = &job->config.profile;
    bool is_idle = !wanted->run_profiling && !job->settings->is_dry;
    enum assay_status st;

    if (is_idle && !wanted->create_config)
        return ASSAY_OK;
    st = campaign_list_tests(&job->config, &job->tests, err);
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

/* What the configuration has written is not what it is read from. */
static enum assay_status check_roles(const struct job *job, struct error *err)
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
        add_tables(&roles, profile->log_dir);
    }
    if (!st)
        st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    str_release(&log);
    return st;
}

static enum assay_status run_job(struct job *job, struct error *err)
{
    enum assay_status st = read_shard(job, err);

    if (!st)
        st = campaign_config_read(&job->config, job->config_path, err);
    if (!st)
        st = check_roles(job, err);
    if (!st && job->config.has_create)
        st = campaign_make_networks(&job->config, count_made, job, err);
    if (!st && job->config.has_profile)
        st = profile(job, err);
    if (!st && job->config.has_fingerprint && !job->n_shards && !job->n_left &&
        !job->settings->launcher && !job->settings->is_dry)
        st = campaign_learn(&job->config, look_processors(), err);
    return st;
}

static enum assay_status run_campaign(const struct arguments *arguments,
                                      struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *words = &arguments->operands;
    struct job job = {.settings = settings};
    enum assay_status st;

    if (words->n && strcmp(words->items[0], "merge") == 0)
        return merge(words, err);
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

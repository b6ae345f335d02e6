/* Campaigns: the log survives whatever happens to a test or to the campaign
 * itself. */
#include "predict/campaign.h"

#include "base/file.h"
#include "base/processor.h"
#include "campaign_case.h"
#include "test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

/* ---- networks and tests -------------------------------------------------- */

/* Small networks in a folder of their own. */
static void make_config(struct campaign_config *config, const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['mobilenetv2']\n"
             "pruning_perc= [0, 50]\nmodel_path= %s\n[profile]\n"
             "dataset= cifar10\nbs= [4, 1, 2]\nrounds= 1\nlog_dir= %s\n%s",
             test_path("nets"), test_path("logs"), more);
    case_read("run.ini", text, config);
}

static void make_tests(const struct campaign_config *config,
                       struct campaign_tests *tests)
{
    CHECK_STATUS(campaign_make_networks(config, NULL, &err), ASSAY_OK, &err);
    *tests = (struct campaign_tests){0};
    CHECK_STATUS(campaign_list_tests(config, tests, &err), ASSAY_OK, &err);
}

TEST(tests_combine_networks_levels_batches_stages_and_variables)
{
    struct campaign_config config;
    struct campaign_tests tests;

    make_config(&config, "");
    make_tests(&config, &tests);
    CHECK_INT(tests.n, 1 * 2 * 3 * 2 * 2);
    CHECK_INT(tests.n_series, 8);
    CHECK_STR(tests.items[0].network, "mobilenetv2");
    CHECK_INT(tests.items[0].batch, 1); /* the smallest first */
    CHECK_INT(tests.items[4].batch, 2);
    CHECK_INT(tests.items[11].batch, 4);
    CHECK_INT(tests.items[11].level, 0);
    CHECK_INT(tests.items[23].level, 50);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* ---- tests that fail ----------------------------------------------------- */

static enum assay_status be_quick(const struct campaign_test *test,
                                  const struct campaign_limits *limits,
                                  struct campaign_result *result,
                                  struct error *error)
{
    (void)limits, (void)error;
    result->latency_ms = (double)test->batch * 10;
    result->used_mb = (double)test->batch * 100;
    result->n_steps = 1;
    result->steps_ms[0] = result->latency_ms;
    return ASSAY_OK;
}

static enum assay_status crash(const struct campaign_test *test,
                               const struct campaign_limits *limits,
                               struct campaign_result *result,
                               struct error *error)
{
    (void)test, (void)limits, (void)result, (void)error;
    raise(SIGSEGV);
    return ASSAY_OK;
}

static enum assay_status hang(const struct campaign_test *test,
                              const struct campaign_limits *limits,
                              struct campaign_result *result,
                              struct error *error)
{
    (void)test, (void)limits, (void)result, (void)error;
    while (pause())
        continue;
    return ASSAY_OK;
}

/* More than the limit, through the pool that all memory comes from. */
static enum assay_status take_much(const struct campaign_test *test,
                                   const struct campaign_limits *limits,
                                   struct campaign_result *result,
                                   struct error *error)
{
    struct shape shape = shape_of(1, test->batch << 28);
    struct tensor tensor;
    struct pool *pool;
    enum assay_status st = pool_new(&pool, error);

    (void)limits;
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &shape, &tensor, error);
    if (!st)
        memset(tensor_data(&tensor), 1, 4096);
    result->used_mb = 1;
    return st;
}

static const struct campaign_test some_test = {
    .network = "a", .file = "a_0.net", .batch = 4};

static void check_reason(campaign_measure *measure, size_t memory,
                         double seconds, const char *reason)
{
    struct campaign_limits limits = {
        .memory_bytes = memory, .seconds = seconds, .measure = measure};
    struct campaign_result result;

    CHECK_STATUS(campaign_try(&some_test, &limits, &result, &err), ASSAY_OK,
                 &err);
    CHECK(!result.is_passed);
    CHECK_HAS(result.reason, reason);
}

TEST(a_test_that_crashes_hangs_or_runs_out_of_memory_says_why)
{
    err = (struct error){0};
    check_reason(crash, 0, 60, "killed by signal 11");
    check_reason(hang, 0, 0.05, "no answer within 0.05 s");
    check_reason(take_much, 64 << 20, 60, "out of memory at a limit of 64");
}

TEST(a_test_that_ends_well_returns_its_result)
{
    struct campaign_limits limits = {.seconds = 60, .measure = be_quick};
    struct campaign_result result;

    CHECK_STATUS(campaign_try(&some_test, &limits, &result, &err), ASSAY_OK,
                 &err);
    CHECK(result.is_passed);
    CHECK_NEAR(result.latency_ms, 40, 0);
    CHECK(result.capacity_mb > 0);
}

/* Channels that kernels compute together: predictions round up to them. */
TEST(a_result_says_how_wide_the_kernels_were)
{
    struct campaign_limits limits = {.seconds = 60, .measure = be_quick};
    bool is_wide = processor_limits().hardware >= PROCESSOR_AVX512;
    struct campaign_result result;

    processor_limit(PROCESSOR_AMX);
    CHECK_STATUS(campaign_try(&some_test, &limits, &result, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(result.lane, is_wide ? 16 : 8, 0);
    processor_limit(PROCESSOR_SSE41);
    CHECK_STATUS(campaign_try(&some_test, &limits, &result, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(result.lane, 8, 0);
}

/* ---- the whole ----------------------------------------------------------- */

static struct campaign_log *open_log(const char *name)
{
    struct campaign_log *log;

    CHECK_STATUS(campaign_log_open(test_path(name), &log, &err), ASSAY_OK,
                 &err);
    return log;
}

static struct campaign_progress run(const struct campaign_config *config,
                                    const struct campaign_tests *tests,
                                    struct campaign_log *log,
                                    campaign_measure *measure, size_t memory,
                                    size_t shard, size_t n_shards)
{
    struct campaign_options options = {
        .limits = {.memory_bytes = memory, .seconds = 60, .measure = measure},
        .shard = shard,
        .n_shards = n_shards};
    struct campaign_progress progress;

    CHECK_STATUS(campaign_run(config, tests, log, &options, &progress, &err),
                 ASSAY_OK, &err);
    return progress;
}

TEST(larger_batches_are_skipped_after_memory_ran_out_if_configured)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;

    make_config(&config, "till_first_fail= True\nstage= ['inference']\n"
                         "profile_variables= ['memory']\n");
    make_tests(&config, &tests);
    log = open_log("fail.sqlite");
    /* 1 GiB per image of the batch, of 3. */
    progress = run(&config, &tests, log, take_much, (size_t)3 << 30, 0, 0);
    CHECK_INT(progress.n_done, 6);
    CHECK_INT(progress.n_failed, 2); /* batch 4 at both levels */
    CHECK_INT(progress.n_skipped, 0);
    campaign_log_close(log);

    log = open_log("fail2.sqlite");
    progress = run(&config, &tests, log, take_much, (size_t)1 << 29, 0, 0);
    CHECK_INT(progress.n_failed, 2); /* batch 1 at both */
    CHECK_INT(progress.n_skipped, 4);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* As a GPU does. The log is asked how often it was run: a line for each. */
static enum assay_status answer_both(const struct campaign_test *test,
                                     const struct campaign_limits *limits,
                                     struct campaign_result *result,
                                     struct error *error)
{
    FILE *file = fopen(test_path("runs.txt"), "a");

    CHECK(file && fprintf(file, "%s\n", test->file) > 0);
    fclose(file);
    result->has_both = true;
    result->alloc_mb = result->reserved_mb = 7;
    return be_quick(test, limits, result, error);
}

static size_t count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t n = 0;
    int c;

    CHECK(file);
    while ((c = fgetc(file)) != EOF)
        n += c == '\n';
    fclose(file);
    return n;
}

TEST(a_test_that_answers_for_both_variables_is_run_once)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;

    make_config(&config, "stage= ['inference']\n"
                         "profile_variables= ['memory', 'latency']\n");
    make_tests(&config, &tests);
    log = open_log("both.sqlite");
    progress = run(&config, &tests, log, answer_both, 0, 0, 0);
    CHECK_INT(progress.n_done, tests.n);
    CHECK_INT(progress.n_before, 0);
    CHECK_INT(progress.n_left, 0);
    CHECK_INT(count_lines(test_path("runs.txt")), tests.n / 2);
    for (size_t i = 0; i < tests.n; i++) {
        struct campaign_result before;

        CHECK_STATUS(campaign_log_find(log, &tests.items[i], &before, &err),
                     ASSAY_OK, &err);
        CHECK(before.is_passed);
    }
    progress = run(&config, &tests, log, answer_both, 0, 0, 0);
    CHECK_INT(progress.n_before, tests.n);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* Batch 2 has an unknown op, batch 4 would work. */
static enum assay_status refuse_two(const struct campaign_test *test,
                                    const struct campaign_limits *limits,
                                    struct campaign_result *result,
                                    struct error *error)
{
    return test->batch == 2 ? error_set(error, ASSAY_UNSUPPORTED, "no such op")
                            : be_quick(test, limits, result, error);
}

TEST(a_failure_other_than_memory_skips_no_larger_batches)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;

    make_config(&config, "till_first_fail= True\nstage= ['inference']\n"
                         "profile_variables= ['memory']\n");
    make_tests(&config, &tests);
    log = open_log("other.sqlite");
    progress = run(&config, &tests, log, refuse_two, 0, 0, 0);
    CHECK_INT(progress.n_done, 6);
    CHECK_INT(progress.n_failed, 2); /* batch 2 at both levels */
    CHECK_INT(progress.n_skipped, 0);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

static void log_failure(struct campaign_log *log,
                        const struct campaign_test *test, const char *reason)
{
    struct campaign_result result = {0};

    snprintf(result.reason, sizeof result.reason, "%s", reason);
    CHECK_STATUS(campaign_log_add(log, test, &result, false, &err), ASSAY_OK,
                 &err);
}

TEST(a_resumed_campaign_skips_what_it_would_have_skipped)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;

    make_config(&config, "till_first_fail= True\nstage= ['inference']\n"
                         "profile_variables= ['memory']\n");
    make_tests(&config, &tests);
    log = open_log("resumed.sqlite");
    log_failure(log, &tests.items[0], "out of memory at a limit of 1 MiB");
    log_failure(log, &tests.items[3], "no answer within 600 s");
    progress = run(&config, &tests, log, be_quick, 0, 0, 0);
    CHECK_INT(progress.n_before, 2);
    CHECK_INT(progress.n_skipped, 2); /* at the first level */
    CHECK_INT(progress.n_failed, 0);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* Works while a campaign writes it; empty if there is none. */
static struct campaign_log *read_log(const char *name)
{
    struct campaign_log *log = NULL;
    struct error missing = {0};
    enum assay_status st = campaign_log_read(test_path(name), &log, &missing);

    CHECK(st == ASSAY_OK || st == ASSAY_NOT_FOUND);
    return log;
}

/* The fourth test never ends. */
static enum assay_status stop_at_four(const struct campaign_test *test,
                                      const struct campaign_limits *limits,
                                      struct campaign_result *result,
                                      struct error *error)
{
    return test->stage == STAGE_INFERENCE && test->target == TARGET_MEMORY &&
                   test->batch == 1 && test->level == 0
               ? hang(test, limits, result, error)
               : be_quick(test, limits, result, error);
}

static size_t count_tests(const char *name)
{
    struct campaign_log *log = read_log(name);
    struct campaign_config config;
    struct campaign_tests tests;
    size_t n = 0;

    if (!log)
        return 0;
    make_config(&config, "");
    make_tests(&config, &tests);
    for (size_t i = 0; i < tests.n; i++) {
        struct campaign_result before;

        CHECK_STATUS(campaign_log_find(log, &tests.items[i], &before, &err),
                     ASSAY_OK, &err);
        n += before.n_rounds > 0;
    }
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
    return n;
}

TEST(a_killed_campaign_loses_only_the_running_test_and_resumes)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;
    pid_t child;

    make_config(&config, "");
    make_tests(&config, &tests);
    child = fork();
    if (child == 0) {
        setpgid(0, 0); /* its tests die with it */
        log = open_log("kill.sqlite");
        run(&config, &tests, log, stop_at_four, 0, 0, 0);
        _exit(1);
    }
    while (count_tests("kill.sqlite") < 3)
        usleep(10000);
    CHECK_INT(kill(-child, SIGKILL), 0);
    CHECK_INT(waitpid(child, NULL, 0), child);
    CHECK_INT(count_tests("kill.sqlite"), 3);

    log = open_log("kill.sqlite");
    progress = run(&config, &tests, log, be_quick, 0, 0, 0);
    CHECK_INT(progress.n_before, 3);
    CHECK_INT(progress.n_done, 24);
    campaign_log_close(log);
    CHECK_INT(count_tests("kill.sqlite"), 24);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* Every test is a little faster than the one before. */
static enum assay_status be_faster(const struct campaign_test *test,
                                   const struct campaign_limits *limits,
                                   struct campaign_result *result,
                                   struct error *error)
{
    FILE *file = fopen(test_path("visits"), "a");

    (void)test, (void)limits, (void)error;
    if (!file || fputc('x', file) == EOF)
        return ASSAY_IO;
    result->latency_ms = 1000 - (double)ftell(file);
    result->n_steps = 1;
    return fclose(file) ? ASSAY_IO : ASSAY_OK;
}

static size_t count_visits(void)
{
    FILE *file = fopen(test_path("visits"), "r");
    size_t n = 0;

    while (file && fgetc(file) != EOF)
        n++;
    if (file)
        fclose(file);
    return n;
}

static enum assay_status count_rounds(void *context,
                                      const struct campaign_test *test,
                                      const struct campaign_result *result,
                                      struct error *error)
{
    size_t *n_least = context;

    (void)error;
    if (test->target == TARGET_MEMORY) {
        CHECK_INT(result->n_rounds, 1);
        return ASSAY_OK;
    }
    CHECK_INT(result->n_rounds, 3);
    CHECK_INT(result->n_steps, 3);
    /* 12 tests of the first round and 6 of the second came first. */
    *n_least += result->latency_ms < 1000 - 18;
    return ASSAY_OK;
}

TEST(the_least_latency_of_all_rounds_counts)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;
    size_t n_least = 0;

    make_config(&config, "stage= ['inference']\n");
    config.profile.rounds = 3;
    make_tests(&config, &tests);
    log = open_log("rounds.sqlite");
    progress = run(&config, &tests, log, be_faster, 0, 0, 0);
    CHECK_INT(progress.n_tests, 12);
    CHECK_INT(progress.n_done, 12);
    CHECK_INT(progress.n_left, 0);
    CHECK_STATUS(campaign_log_each(log, count_rounds, &n_least, &err), ASSAY_OK,
                 &err);
    CHECK_INT(n_least, 6);
    progress = run(&config, &tests, log, crash, 0, 0, 0);
    CHECK_INT(progress.n_before, 12); /* nothing is measured again */
    CHECK_INT(progress.n_failed, 0);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

static enum assay_status be_steady(const struct campaign_test *test,
                                   const struct campaign_limits *limits,
                                   struct campaign_result *result,
                                   struct error *error)
{
    result->is_steady = test->batch > 1;
    return be_faster(test, limits, result, error);
}

TEST(what_was_steady_is_not_measured_again)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;

    make_config(&config, "stage= ['inference']\n"
                         "profile_variables= ['latency']\n");
    config.profile.rounds = 3;
    make_tests(&config, &tests);
    log = open_log("steady.sqlite");
    remove(test_path("visits"));
    progress = run(&config, &tests, log, be_steady, 0, 0, 0);
    CHECK_INT(progress.n_done, 6);
    CHECK_INT(progress.n_left, 0);
    CHECK_INT(count_visits(), 6 + 2 + 2); /* two networks at batch 1 */
    progress = run(&config, &tests, log, crash, 0, 0, 0);
    CHECK_INT(progress.n_before, 6);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

TEST(a_round_that_fails_keeps_the_earlier_measurement)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;
    struct campaign_result before;

    make_config(&config, "profile_variables= ['latency']\n");
    make_tests(&config, &tests);
    log = open_log("again.sqlite");
    run(&config, &tests, log, be_quick, 0, 0, 0);
    config.profile.rounds = 2;
    progress = run(&config, &tests, log, crash, 0, 0, 0);
    CHECK_INT(progress.n_before, 12);
    CHECK_STATUS(campaign_log_find(log, &tests.items[0], &before, &err),
                 ASSAY_OK, &err);
    CHECK_INT(before.n_rounds, 2);
    CHECK(before.is_passed);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

TEST(shards_run_all_tests_once_and_their_logs_join)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_log *log;
    size_t n_added, n_done = 0;

    make_config(&config, "");
    make_tests(&config, &tests);
    for (size_t i = 1; i <= 3; i++) {
        char name[32];

        snprintf(name, sizeof name, "part-%zu.sqlite", i);
        log = open_log(name);
        n_done += run(&config, &tests, log, be_quick, 0, i, 3).n_done;
        campaign_log_close(log);
    }
    CHECK_INT(n_done, 24);
    log = open_log("whole.sqlite");
    for (size_t i = 1; i <= 3; i++) {
        char name[32];

        snprintf(name, sizeof name, "part-%zu.sqlite", i);
        CHECK_STATUS(campaign_log_join(log, test_path(name), &n_added, &err),
                     ASSAY_OK, &err);
    }
    CHECK_STATUS(
        campaign_log_join(log, test_path("part-1.sqlite"), &n_added, &err),
        ASSAY_OK, &err);
    CHECK_INT(n_added, 0);
    campaign_log_close(log);
    CHECK_INT(count_tests("whole.sqlite"), 24);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

TEST(fingerprints_can_read_the_data_folder_of_a_campaign)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_log *log;
    struct data_set set = {0};

    make_config(&config, "");
    make_tests(&config, &tests);
    log = open_log("data.sqlite");
    run(&config, &tests, log, be_quick, 0, 0, 0);
    CHECK_INT(mkdir(test_path("data"), 0777), 0);
    CHECK_STATUS(campaign_write_csv(log, test_path("data"), &err), ASSAY_OK,
                 &err);
    campaign_log_close(log);
    CHECK_STATUS(data_set_read(&set, test_path("data"), &err), ASSAY_OK, &err);
    CHECK_INT(set.n_rows, 12); /* both variables in one row */
    CHECK_INT(set.n_descriptions, 2);
    CHECK_INT(set.n_undescribed, 0);
    for (size_t i = 0; i < set.n_rows; i++) {
        CHECK_NEAR(set.rows[i].value[TARGET_LATENCY], set.rows[i].batch * 10,
                   0);
        CHECK_NEAR(set.rows[i].value[TARGET_MEMORY], set.rows[i].batch * 100,
                   0);
    }
    /* mobilenet_v2 for CIFAR-10: like torchvision's with 10 classes. */
    CHECK_INT(set.descriptions[0].n_convs, 52);
    CHECK_NEAR(set.descriptions[0].counts.parameters, 2236682, 0);
    data_set_release(&set);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

TEST(rows_are_expected_of_passed_tests_and_of_those_not_yet_measured)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_log *log;
    struct data_set set = {0};
    struct campaign_test other = some_test;
    struct campaign_result passed = {.is_passed = true};

    make_config(&config, "");
    make_tests(&config, &tests);
    CHECK_STATUS(campaign_expect_rows(&tests, NULL, &set, &err), ASSAY_OK,
                 &err);
    CHECK_INT(set.n_rows, 24);
    CHECK_INT(set.n_descriptions, 2);
    data_set_release(&set);

    log = open_log("expected.sqlite");
    log_failure(log, &tests.items[0], "killed by signal 11");
    CHECK_STATUS(campaign_log_add(log, &tests.items[1], &passed, false, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_add(log, &other, &passed, false, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(campaign_expect_rows(&tests, log, &set, &err), ASSAY_OK, &err);
    CHECK_INT(set.n_rows, 24); /* one failed, one belongs to another campaign */
    CHECK_INT(set.n_descriptions, 3);
    CHECK_NEAR(set.rows[0].value[TARGET_LATENCY], 1, 0);
    CHECK(isnan(set.rows[0].value[TARGET_MEMORY]));
    data_set_release(&set);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* Files may have any name, and so may the modules in them. */
TEST(names_that_a_spreadsheet_would_run_are_read_back_unchanged)
{
    static const char text[] =
        "assay-net 1\nmodel own Net\nmodule \"=HYPERLINK(1,2)\" Conv2d\n"
        "input images float32 ?x3x8x8\n"
        "parameter w float32 8x3x3x3 normal 0.2\n"
        "%0 = Conv2d(images, w, -, -) in \"=HYPERLINK(1,2)\" stride=1,1 "
        "dilation=1,1 groups=1\noutput y %0\n";
    static const char *const names[] = {"'=2", "=2+5, \"x\"", "@a", "-3"};
    struct campaign_result passed = {.is_passed = true, .latency_ms = 3};
    struct campaign_log *log = open_log("formula.sqlite");
    struct data_set set = {0};
    struct str layers = {0};

    CHECK_INT(mkdir(test_path("formula"), 0777), 0);
    case_write(test_path("formula/own.net"), text);
    for (size_t i = 0; i < 4; i++) {
        struct campaign_test test = {.network = names[i],
                                     .file = test_path("formula/own.net"),
                                     .batch = 1};

        CHECK_STATUS(campaign_log_add(log, &test, &passed, false, &err),
                     ASSAY_OK, &err);
    }
    CHECK_STATUS(campaign_write_csv(log, test_path("formula"), &err), ASSAY_OK,
                 &err);
    campaign_log_close(log);
    CHECK_STATUS(
        file_read(test_path("formula/layers.csv"), 1 << 16, &layers, &err),
        ASSAY_OK, &err);
    CHECK_HAS(layers.text, "\"'@a\",0,0,\"'=HYPERLINK(1,2)\",3,8,");
    CHECK_HAS(layers.text, "\n-3,0,0,");
    str_release(&layers);
    CHECK_STATUS(data_set_read(&set, test_path("formula"), &err), ASSAY_OK,
                 &err);
    CHECK_INT(set.n_rows, 4);
    CHECK_INT(set.n_undescribed, 0);
    for (size_t i = 0; i < 4; i++)
        CHECK(data_set_find(&set, names[i], 0) != SIZE_MAX);
    data_set_release(&set);
}

/* Rows of a campaign that say "this did not fit". */
static size_t count_failed(const char *name, campaign_measure *measure)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct data_set set = {0};
    struct campaign_log *log;
    size_t n = 0;

    make_config(&config, "stage= ['inference']\nprofile_variables= "
                         "['memory']\n");
    make_tests(&config, &tests);
    log = open_log(name);
    CHECK(mkdir(test_path("bounds"), 0700) == 0 || errno == EEXIST);
    /* With 1 GiB per image, batches of 1 and 2 fit. */
    run(&config, &tests, log, measure, (size_t)3 << 30, 0, 0);
    CHECK_STATUS(campaign_write_csv(log, test_path("bounds"), &err), ASSAY_OK,
                 &err);
    campaign_log_close(log);
    CHECK_STATUS(data_set_read(&set, test_path("bounds"), &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < set.n_rows; i++) {
        n += set.rows[i].is_failed;
        CHECK(!set.rows[i].is_failed ||
              isnan(set.rows[i].value[TARGET_MEMORY]));
    }
    data_set_release(&set);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
    return n;
}

TEST(running_out_of_memory_is_kept_as_a_bound_and_other_failures_are_not)
{
    CHECK_INT(count_failed("nomem.sqlite", take_much), 2); /* both levels */
    CHECK_INT(count_failed("crash.sqlite", crash), 0);
}

/* A real test, but a small one: the others only imitate it. */
TEST(a_network_is_measured_in_both_stages)
{
    struct campaign_limits limits = {.seconds = 300, .n_threads = 2};
    struct campaign_config config;
    struct campaign_tests tests;

    make_config(&config, "");
    make_tests(&config, &tests);
    for (size_t i = 0; i < tests.n; i++) {
        struct campaign_result result;

        if (tests.items[i].level != 50 || tests.items[i].batch != 1)
            continue;
        CHECK_STATUS(campaign_try(&tests.items[i], &limits, &result, &err),
                     ASSAY_OK, &err);
        if (!result.is_passed)
            print_error("%s\n", result.reason);
        CHECK(result.is_passed);
        if (tests.items[i].target == TARGET_LATENCY)
            CHECK(result.latency_ms > 0);
        else
            CHECK(result.used_mb > 2.2); /* its 0.58 M parameters */
    }
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* The last parameter of rank 1 is a convolution's bias, as in PyTorch's
 * exports, which fold norms into biases and write those last. */
TEST(training_labels_are_below_the_width_of_the_output)
{
    static const char text[] =
        "assay-net 1\nmodel own Net\nmodule a Conv2d\nmodule pool "
        "AdaptiveAvgPool2d\nmodule fc Linear\n"
        "input images float32 ?x3x8x8\n"
        "parameter fc.weight float32 2x512 normal 0.2\n"
        "parameter fc.bias float32 2 zero\n"
        "parameter a.weight float32 512x3x1x1 normal 0.2\n"
        "parameter a.bias float32 512 zero\n"
        "%0 = Conv2d(images, a.weight, a.bias, -) in a stride=1,1 "
        "dilation=1,1 groups=1\n"
        "%1 = AdaptiveAvgPool2d(%0) in pool size=1,1\n"
        "%2 = Flatten(%1)\n"
        "%3 = Linear(%2, fc.weight, fc.bias) in fc\noutput y %3\n";
    struct campaign_limits limits = {.seconds = 300, .n_threads = 1};
    struct campaign_test test = {.network = "own",
                                 .file = test_path("own_0.net"),
                                 .batch = 8,
                                 .stage = STAGE_TRAINING,
                                 .target = TARGET_MEMORY};
    struct campaign_result result = {0};

    case_write(test.file, text);
    err = (struct error){0};
    CHECK_STATUS(campaign_measure_here(&test, &limits, &result, &err), ASSAY_OK,
                 &err);
}

/* Campaigns: the log survives whatever happens to a test, or to the campaign
 * itself. */
#include "predict/campaign.h"

#include "base/file.h"
#include "base/processor.h"
#include "formats/net.h"
#include "models/models.h"
#include "predict/campaign_names.h"
#include "test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs(text, file);
    CHECK_INT(fclose(file), 0);
}

static enum assay_status read_config(const char *name, const char *text,
                                     struct campaign_config *config)
{
    *config = (struct campaign_config){0};
    err = (struct error){0};
    write_file(test_path(name), text);
    return campaign_config_read(config, test_path(name), &err);
}

/* ---- networks and tests ---------------------------------------------------
 */

/* In a folder of its own; networks are small. */
static void make_config(struct campaign_config *config, const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['mobilenetv2']\n"
             "pruning_perc= [0, 50]\nmodel_path= %s\n[profile]\n"
             "dataset= cifar10\nbs= [4, 1, 2]\nrounds= 1\nlog_dir= %s\n%s",
             test_path("nets"), test_path("logs"), more);
    CHECK_STATUS(read_config("run.ini", text, config), ASSAY_OK, &err);
}

static void make_tests(const struct campaign_config *config,
                       struct campaign_tests *tests)
{
    CHECK_STATUS(campaign_make_networks(config, NULL, NULL, &err), ASSAY_OK,
                 &err);
    *tests = (struct campaign_tests){0};
    CHECK_STATUS(campaign_list_tests(config, tests, &err), ASSAY_OK, &err);
}

TEST(tests_are_networks_by_levels_by_batches_by_stages_by_variables)
{
    struct campaign_config config;
    struct campaign_tests tests;

    make_config(&config, "");
    make_tests(&config, &tests);
    CHECK_INT(tests.n, 1 * 2 * 3 * 2 * 2);
    CHECK_INT(tests.n_series, 8);
    CHECK_STR(tests.items[0].network, "mobilenetv2");
    CHECK_INT(tests.items[0].batch, 1); /* the smallest first */
    CHECK_INT(tests.items[2].batch, 4);
    CHECK_INT(tests.items[23].level, 50);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

static void check_split(const struct campaign_config *config, const char *path,
                        const char *network, int64_t level, int64_t repeat)
{
    struct network_file file;

    CHECK(network_file_split(config, path, &file));
    CHECK_STR(file.network, network);
    CHECK_INT(file.level, level);
    CHECK_INT(file.repeat, repeat);
}

TEST(a_file_tells_network_level_and_repeat_also_of_names_with_numbers)
{
    struct campaign_config config;
    struct network_file file;

    CHECK_STATUS(read_config("names.ini",
                             "[create_network_dataset]\n"
                             "networks= ['mine/own_2.onnx']\n"
                             "pruning_perc= [0]\nmodel_path= x\n",
                             &config),
                 ASSAY_OK, &err);
    check_split(&config, "nets/resnet18_30.net", "resnet18", 30, 0);
    check_split(&config, "nets/resnet18_30_2.net", "resnet18", 30, 2);
    check_split(&config, "resnet18.net", "resnet18", 0, 0);
    check_split(&config, "squeezenet1_1_50.net", "squeezenet1_1", 50, 0);
    check_split(&config, "squeezenet1_1_50_3.net", "squeezenet1_1", 50, 3);
    check_split(&config, "mnasnet1_0.net", "mnasnet1_0", 0, 0);
    check_split(&config, "x/own_2_70.net", "own_2", 70, 0);
    check_split(&config, "foreign_70_1.onnx", "foreign", 70, 1);
    CHECK(!network_file_split(&config, "resnet18_96.net", &file));
    campaign_config_release(&config);
}

TEST(a_file_of_tests_says_what_is_measured_of_its_networks)
{
    struct campaign_config config;
    struct campaign_tests tests = {0};
    char text[512];

    write_file(test_path("list.ini"),
               "[some]\ntest_var= ['memory']\nbs= [8, 2]\n"
               "exec_stage= ['inference']\nmodel= ['nets/resnet18_30.net']\n");
    snprintf(text, sizeof text,
             "[profile]\nlog_dir= logs\nstage= ['training']\n"
             "test_config= %s\n",
             test_path("list.ini"));
    CHECK_STATUS(read_config("device.ini", text, &config), ASSAY_OK, &err);
    CHECK_STATUS(campaign_list_tests(&config, &tests, &err), ASSAY_OK, &err);
    CHECK_INT(tests.n, 2);
    CHECK_INT(tests.items[0].batch, 2);
    CHECK_INT(tests.items[1].batch, 8);
    CHECK_INT(tests.items[0].stage, STAGE_INFERENCE);
    CHECK_INT(tests.items[0].target, TARGET_MEMORY);
    CHECK_INT(tests.items[0].level, 30);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

static void check_list_refused(const char *list, const char *part)
{
    struct campaign_config config;
    struct campaign_tests tests = {0};
    char text[512];

    write_file(test_path("list.ini"), list);
    snprintf(text, sizeof text, "[profile]\nlog_dir= logs\ntest_config= %s\n",
             test_path("list.ini"));
    CHECK_STATUS(read_config("device.ini", text, &config), ASSAY_OK, &err);
    CHECK_INT(campaign_list_tests(&config, &tests, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, part);
    campaign_config_release(&config);
}

TEST(a_file_of_tests_that_is_wrong_is_told_with_its_place)
{
    check_list_refused("[a]\nmodel= ['a_0.net']\n",
                       "line 1: [a] has no list of batches");
    check_list_refused("[a]\nbs= [0]\nmodel= ['a_0.net']\n",
                       "line 2: bs: batches lie between 1 and 65536");
    check_list_refused("[a]\nbs= [1]\nexec_stage= ['x']\n",
                       "line 3: exec_stage is a list of training and");
    check_list_refused("[a]\nbs= [1]\n", "line 1: [a] has no list of models");
    check_list_refused("[a]\nbs= [1]\nmodel= ['a_97.net']\n",
                       "with a level of 0 to 95");
}

static void check_network_refused(const char *name, const char *part)
{
    struct campaign_config config;
    char text[512];

    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['%s']\n"
             "pruning_perc= [0]\nmodel_path= %s\n",
             name, test_path("none"));
    CHECK_STATUS(read_config("net.ini", text, &config), ASSAY_OK, &err);
    CHECK(campaign_make_networks(&config, NULL, NULL, &err) != ASSAY_OK);
    CHECK_HAS(err.text, part);
    campaign_config_release(&config);
}

TEST(networks_that_are_not_there_are_named)
{
    check_network_refused("resnet19", "there is no network 'resnet19'");
    check_network_refused("models/resnet.py", "written in Python");
    check_network_refused("x.onnx", "x.onnx");
    check_network_refused("faster-rcnn", "a campaign measures classifiers");
}

/* A network of two convolutions, with weights or without. */
static void write_network(const char *name, bool has_weights)
{
    static const char text[] =
        "assay-net 1\nmodel own Net\nmodule a Conv2d\nmodule b Conv2d\n"
        "input images float32 ?x3x8x8\n"
        "parameter a.weight float32 8x3x3x3 normal 0.2\n"
        "parameter b.weight float32 4x8x1x1 normal 0.2\n"
        "%0 = Conv2d(images, a.weight, -, -) in a stride=1,1 dilation=1,1 "
        "groups=1\n"
        "%1 = Conv2d(%0, b.weight, -, -) in b stride=1,1 dilation=1,1 "
        "groups=1\noutput y %1\n";
    const struct net_notes notes = {0};
    struct pool *pool;
    struct graph *graph;

    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(net_read(text, strlen(text), pool, &graph, &err), ASSAY_OK,
                 &err);
    if (has_weights)
        CHECK_STATUS(model_fill(graph, pool, 0, &err), ASSAY_OK, &err);
    CHECK_STATUS(net_save(graph, test_path(name), &notes, &err), ASSAY_OK,
                 &err);
    graph_free(graph);
    pool_free(pool);
}

TEST(by_norm_pruned_networks_keep_the_weights_that_were_compared)
{
    struct campaign_config config;
    char text[2048];

    write_network("own.net", true);
    write_network("bare.net", false);
    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['%s', '%s']\n"
             "pruning_perc= [50]\nmode= l1\nmodel_path= %s\n",
             test_path("own.net"), test_path("bare.net"), test_path("l1"));
    CHECK_STATUS(read_config("l1.ini", text, &config), ASSAY_OK, &err);
    CHECK_STATUS(campaign_make_networks(&config, NULL, NULL, &err), ASSAY_OK,
                 &err);
    CHECK_INT(access(test_path("l1/own_50.net"), R_OK), 0);
    CHECK_INT(access(test_path("l1/own_50.safetensors"), R_OK), 0);
    CHECK_INT(access(test_path("l1/bare_50.net"), R_OK), 0);
    CHECK(access(test_path("l1/bare_50.safetensors"), F_OK) != 0);
    campaign_config_release(&config);
}

/* ---- tests that go wrong ---------------------------------------------------
 */

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

/* More than the limit, through the pool that everything comes from. */
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

TEST(a_test_that_ends_well_hands_its_result_over)
{
    struct campaign_limits limits = {.seconds = 60, .measure = be_quick};
    struct campaign_result result;

    CHECK_STATUS(campaign_try(&some_test, &limits, &result, &err), ASSAY_OK,
                 &err);
    CHECK(result.is_passed);
    CHECK_NEAR(result.latency_ms, 40, 0);
    CHECK(result.capacity_mb > 0);
}

/* Channels that kernels compute together: a prediction rounds up to them. */
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

/* ---- the whole ------------------------------------------------------------
 */

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

TEST(after_a_failure_larger_batches_are_skipped_where_that_is_asked_for)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;

    make_config(&config, "till_first_fail= True\nstage= ['inference']\n"
                         "profile_variables= ['memory']\n");
    make_tests(&config, &tests);
    log = open_log("fail.sqlite");
    /* 1 GiB for each image of the batch, of 3. */
    progress = run(&config, &tests, log, take_much, (size_t)3 << 30, 0, 0);
    CHECK_INT(progress.n_done, 6);
    CHECK_INT(progress.n_failed, 2); /* batch 4 of both levels */
    CHECK_INT(progress.n_skipped, 0);
    campaign_log_close(log);

    log = open_log("fail2.sqlite");
    progress = run(&config, &tests, log, take_much, (size_t)1 << 29, 0, 0);
    CHECK_INT(progress.n_failed, 2); /* batch 1 of both */
    CHECK_INT(progress.n_skipped, 4);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* The fourth test never ends. */
static enum assay_status stop_at_four(const struct campaign_test *test,
                                      const struct campaign_limits *limits,
                                      struct campaign_result *result,
                                      struct error *error)
{
    return test->stage == STAGE_TRAINING && test->target == TARGET_MEMORY &&
                   test->batch == 1 && test->level == 0
               ? hang(test, limits, result, error)
               : be_quick(test, limits, result, error);
}

static size_t count_tests(const char *name)
{
    struct campaign_log *log = open_log(name);
    struct campaign_config config;
    struct campaign_tests tests;
    size_t n = 0;

    make_config(&config, "");
    make_tests(&config, &tests);
    for (size_t i = 0; i < tests.n; i++) {
        size_t n_rounds;
        bool is_passed;

        CHECK_STATUS(campaign_log_find(log, &tests.items[i], &n_rounds,
                                       &is_passed, &err),
                     ASSAY_OK, &err);
        n += n_rounds > 0;
    }
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
    return n;
}

TEST(a_killed_campaign_loses_the_test_in_flight_and_goes_on)
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
        setpgid(0, 0); /* its tests go with it */
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
    /* 12 tests of the first round and 6 of the second came before. */
    *n_least += result->latency_ms < 1000 - 18;
    return ASSAY_OK;
}

TEST(latency_is_measured_in_rounds_of_which_the_least_counts)
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
    CHECK_INT(progress.n_before, 12); /* and nothing is measured again */
    CHECK_INT(progress.n_failed, 0);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

TEST(a_round_that_fails_leaves_what_was_measured)
{
    struct campaign_config config;
    struct campaign_tests tests;
    struct campaign_progress progress;
    struct campaign_log *log;
    size_t n_rounds;
    bool is_passed;

    make_config(&config, "profile_variables= ['latency']\n");
    make_tests(&config, &tests);
    log = open_log("again.sqlite");
    run(&config, &tests, log, be_quick, 0, 0, 0);
    config.profile.rounds = 2;
    progress = run(&config, &tests, log, crash, 0, 0, 0);
    CHECK_INT(progress.n_before, 12);
    CHECK_STATUS(
        campaign_log_find(log, &tests.items[0], &n_rounds, &is_passed, &err),
        ASSAY_OK, &err);
    CHECK_INT(n_rounds, 2);
    CHECK(is_passed);
    campaign_log_close(log);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* As the first version of this program wrote them. */
TEST(a_log_without_rounds_is_read_as_one_of_one_round)
{
    static const char old[] =
        "ALTER TABLE test DROP COLUMN rounds; ALTER TABLE test DROP COLUMN"
        " lane; PRAGMA user_version = 1";
    struct campaign_result result = {.is_passed = true, .latency_ms = 3};
    struct campaign_log *log = open_log("old.sqlite");
    sqlite3 *db;
    size_t n_rounds;
    bool is_passed;

    CHECK_STATUS(campaign_log_add(log, &some_test, &result, false, &err),
                 ASSAY_OK, &err);
    campaign_log_close(log);
    CHECK_INT(sqlite3_open(test_path("old.sqlite"), &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, old, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    log = open_log("old.sqlite");
    CHECK_STATUS(
        campaign_log_find(log, &some_test, &n_rounds, &is_passed, &err),
        ASSAY_OK, &err);
    CHECK_INT(n_rounds, 1);
    CHECK(is_passed);
    campaign_log_close(log);
}

TEST(parts_make_all_tests_once_and_their_logs_join)
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

TEST(the_data_folder_of_a_campaign_is_one_that_fingerprints_read)
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
    CHECK_INT(set.n_rows, 12); /* both variables in a row */
    CHECK_INT(set.n_descriptions, 2);
    CHECK_INT(set.n_undescribed, 0);
    for (size_t i = 0; i < set.n_rows; i++) {
        CHECK_NEAR(set.rows[i].value[TARGET_LATENCY], set.rows[i].batch * 10,
                   0);
        CHECK_NEAR(set.rows[i].value[TARGET_MEMORY], set.rows[i].batch * 100,
                   0);
    }
    /* mobilenet_v2 for CIFAR-10: as torchvision's with 10 classes. */
    CHECK_INT(set.descriptions[0].n_convs, 52);
    CHECK_NEAR(set.descriptions[0].counts.parameters, 2236682, 0);
    data_set_release(&set);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
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
    /* Of 1 GiB for each image the batches of 1 and 2 fit. */
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

TEST(what_ran_out_of_memory_is_kept_as_a_bound_and_other_failures_are_not)
{
    CHECK_INT(count_failed("nomem.sqlite", take_much), 2); /* both levels */
    CHECK_INT(count_failed("crash.sqlite", crash), 0);
}

TEST(a_log_that_is_none_is_refused)
{
    struct campaign_log *log;

    err = (struct error){0};
    write_file(test_path("text.sqlite"),
               "this is a text of more than a few bytes, and no database\n");
    CHECK_INT(campaign_log_open(test_path("text.sqlite"), &log, &err),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "text.sqlite");
}

/* A real test, small: it is what the others stand for. */
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

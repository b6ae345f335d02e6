/* predict/campaign.h - a family of networks, measured on this device.
 *
 * A test measures one network at one level, batch and stage for one variable,
 * in a process of its own with a limit on memory and time; on a GPU that
 * process answers for both variables. Each result goes into a log (SQLite) at
 * once; a campaign that was stopped, in whatever way, continues where its log
 * ends.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CAMPAIGN_H
#define PREDICT_CAMPAIGN_H

#include "predict/campaign_config.h"

#include <signal.h>

struct campaign_test {
    const char *network; /* "resnet50" */
    const char *file;    /* the network to measure */
    int64_t level, repeat, batch;
    enum stage stage;
    enum target target;
    enum framework framework; /* that runs it */
    size_t series;            /* tests that differ only in the batch */
};

/* Start from {0}. */
struct campaign_tests {
    struct campaign_test *items; /* the batches of a series in rising order */
    size_t n, capacity, n_series;
    struct arena arena;
};

void campaign_tests_release(struct campaign_tests *tests);

/* Hears what becomes of the networks; each function may be NULL. */
struct campaign_listener {
    void (*made)(void *context, const char *path);
    /* A network that cannot be made at a level, or at any level (-1). */
    void (*left_out)(void *context, const char *network, int64_t level,
                     const char *why);
    void *context;
};

/* Makes the pruned networks that do not exist yet. Fails before making any if a
 * name is not a network. A network that cannot be built for the dataset, or
 * cannot be pruned, is reported to left_out() and passed over; without a
 * listener, that is a failure. */
enum assay_status
campaign_make_networks(const struct campaign_config *config,
                       const struct campaign_listener *listener,
                       struct error *err);

/* Lists the tests: for the networks in local_model_loc, or those in the file
 * test_config unless create_config is set. Networks go on together, so that one
 * can learn from a campaign that is cut short. */
enum assay_status campaign_list_tests(const struct campaign_config *config,
                                      struct campaign_tests *tests,
                                      struct error *err);
/* Writes the list as perf4sight's file of tests, with the paths of the models
 * on the device. */
enum assay_status campaign_write_tests(const struct campaign_config *config,
                                       const struct campaign_tests *tests,
                                       const char *path, struct error *err);

/* ---- measuring ---------------------------------------------------------- */

/* The result of a test. */
struct campaign_result {
    bool is_passed;
    char reason[160]; /* if it failed */
    bool has_both;    /* it answers the test of the other variable too */
    double latency_ms;
    bool is_steady; /* another round would hardly find less */
    double alloc_mb, reserved_mb, used_mb; /* of memory */
    double avail_mb, free_mb, capacity_mb; /* of the machine, before the test */
    double lane;            /* channels computed together; 0: unknown */
    double multiprocessors; /* of a GPU; 0: unknown */
    char machine[96];       /* what ran it: "AMD EPYC 7B13"; "": unknown */
    double seconds;         /* of the whole test */
    size_t n_rounds;        /* rounds it was measured in, or need not be */
    size_t n_steps;
    double steps_ms[64]; /* of the first ones */
};

struct campaign_limits;
struct torch_runner; /* torch_runner.h */

/* Runs one test in the calling process. */
typedef enum assay_status campaign_measure(const struct campaign_test *test,
                                           const struct campaign_limits *limits,
                                           struct campaign_result *result,
                                           struct error *err);
campaign_measure campaign_measure_here;
/* Where the tests run. */
struct campaign_place {
    char device[32];  /* "cuda:0"; "": the host */
    char machine[96]; /* what that is: "NVIDIA H200"; "": unknown */
    char library[48]; /* "PyTorch 1.13.1"; "": this program's own engine */
    double multiprocessors; /* of a GPU; 0: unknown, or none */
};

/* Whether there is a device of that name (NULL: the host), found out in a
 * process of its own. */
enum assay_status campaign_find(const char *device, struct campaign_place *out,
                                struct error *err);
/* The same by the user's PyTorch. */
enum assay_status campaign_find_torch(struct torch_runner *torch,
                                      const char *device,
                                      struct campaign_place *out,
                                      struct error *err);
/* Whether a label, such as "2080ti", is part of such a name, apart from case,
 * spaces and punctuation. */
bool machine_is_called(const char *machine, const char *label);
/* The private memory of this process, which the limits apply to; 0: unknown. */
double campaign_own_mb(void);

/* Whether a test failed because it needs more memory than its limit; other
 * failures say nothing about memory. */
bool campaign_is_nomem(const struct campaign_result *result);
/* Whether it was skipped because a smaller batch ran out of memory. */
bool campaign_is_skipped(const struct campaign_result *result);

struct campaign_limits {
    size_t memory_bytes; /* on top of what the process starts with; 0: nine
                            tenths of what is free */
    double seconds;
    const char *device; /* its name, by which the test's process finds it: a GPU
                           that a process has used is lost to its children.
                           NULL: the host's processors */
    const char *machine;    /* what it is; NULL: this processor, or the device's
                               name */
    double multiprocessors; /* of the device; 0: unknown, or none */
    int n_threads;
    const char *choices_path;  /* of kernels, so that tests of one shape use the
                                  same; NULL: each test chooses its own */
    campaign_measure *measure; /* NULL: campaign_measure_here() */
    struct torch_runner *torch; /* for tests in PyTorch */
};

/* Runs a test in a fresh process. A failing test is a result; only being unable
 * to start it is a failure here. */
enum assay_status campaign_try(const struct campaign_test *test,
                               const struct campaign_limits *limits,
                               struct campaign_result *result,
                               struct error *err);

/* ---- the log ------------------------------------------------------------ */

struct campaign_log;

/* Opens the log for writing, or creates it. One process at a time: ASSAY_IO
 * names the other. ASSAY_BAD_INPUT if it is another program's database. */
enum assay_status campaign_log_open(const char *path, struct campaign_log **out,
                                    struct error *err);
/* Opens a log for reading only. */
enum assay_status campaign_log_read(const char *path, struct campaign_log **out,
                                    struct error *err);
void campaign_log_close(struct campaign_log *log); /* accepts NULL */
/* Finds the earlier result of a test: is_passed, reason and n_rounds, the
 * number of times it was run or skipped; n_rounds 0: it is not in the log. */
enum assay_status campaign_log_find(struct campaign_log *log,
                                    const struct campaign_test *test,
                                    struct campaign_result *before,
                                    struct error *err);
/* On disk when it returns. keeps_steps: including the time of each step. */
enum assay_status campaign_log_add(struct campaign_log *log,
                                   const struct campaign_test *test,
                                   const struct campaign_result *result,
                                   bool keeps_steps, struct error *err);
/* The same for a test that is in the log; the lower latency is kept. */
enum assay_status campaign_log_again(struct campaign_log *log,
                                     const struct campaign_test *test,
                                     const struct campaign_result *result,
                                     bool keeps_steps, struct error *err);
/* Adds the tests of another log that are missing here. */
enum assay_status campaign_log_join(struct campaign_log *log, const char *path,
                                    size_t *n_added, struct error *err);
/* Visits every test in the order of networks, levels, stages and batches. */
enum assay_status campaign_log_each(
    struct campaign_log *log,
    enum assay_status (*take)(void *context, const struct campaign_test *test,
                              const struct campaign_result *result,
                              struct error *err),
    void *context, struct error *err);

/* The rows that the data folder will have once all tests have passed, with 1
 * for each value: those in the log (which may be NULL), and those of tests that
 * are not in it. This allows checking what will be learned from them before
 * they are measured. */
enum assay_status campaign_expect_rows(const struct campaign_tests *tests,
                                       struct campaign_log *log,
                                       struct data_set *set, struct error *err);

/* Writes a log as the four files of a data folder: see data_folder.h. */
enum assay_status campaign_write_csv(struct campaign_log *log,
                                     const char *folder, struct error *err);

/* ---- all together ------------------------------------------------------- */

struct campaign_progress {
    size_t n_done, n_tests; /* in this run, including those already in the
                               log */
    size_t n_before;        /* already in the log */
    size_t n_answered;      /* to come, and answered by another test */
    size_t n_failed, n_skipped;
    size_t n_passed;      /* in this run or before */
    char why_failed[160]; /* the first one that failed, in this run or before */
    size_t round;         /* from 1; later rounds measure latency again */
    size_t n_left;        /* tests left to run, in all rounds */
    double seconds_left;  /* NAN: unknown */
    const struct campaign_test *test;
    const struct campaign_result *result; /* of test; NULL: it is starting */
};

struct campaign_options {
    struct campaign_limits limits;
    size_t shard, n_shards; /* from 1; n_shards 0: run all tests */
    const volatile sig_atomic_t *stop;
    void (*told)(void *context, const struct campaign_progress *progress);
    void *context;
};

/* Runs the tests that are not in the log, and latency in as many rounds as
 * configured, because other load on the machine comes and goes; what was
 * steady is not measured again. */
enum assay_status campaign_run(const struct campaign_config *config,
                               const struct campaign_tests *tests,
                               struct campaign_log *log,
                               const struct campaign_options *options,
                               struct campaign_progress *progress,
                               struct error *err);

#endif

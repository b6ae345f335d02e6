/* predict/campaign.h - a family of networks, measured on this device.
 *
 * Every test is one network at one level, batch and stage, measured for one
 * variable, in a process of its own under a limit of memory and time. What
 * comes of it goes into a log (SQLite) at once; a campaign that was stopped,
 * however that was, goes on where its log ends.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CAMPAIGN_H
#define PREDICT_CAMPAIGN_H

#include "predict/campaign_config.h"

#include <signal.h>

struct campaign_test {
    const char *network; /* "resnet50" */
    const char *file;    /* the network as it is measured */
    int64_t level, repeat, batch;
    enum stage stage;
    enum target target;
    size_t series; /* those that differ in the batch alone */
};

/* Start from {0}. */
struct campaign_tests {
    struct campaign_test *items; /* batches of a series from small to large */
    size_t n, capacity, n_series;
    struct arena arena;
};

void campaign_tests_release(struct campaign_tests *tests);

/* Who is told what becomes of the networks; each may be NULL. */
struct campaign_listener {
    void (*made)(void *context, const char *path);
    /* A network that cannot be had at a level, or at any: -1. */
    void (*left_out)(void *context, const char *network, int64_t level,
                     const char *why);
    void *context;
};

/* Makes the pruned networks that are not there yet. Fails before it makes any
 * where a name means no network. One that cannot be built for the dataset, or
 * not be pruned, is told to left_out() and passed over; without a listener it
 * fails. */
enum assay_status
campaign_make_networks(const struct campaign_config *config,
                       const struct campaign_listener *listener,
                       struct error *err);

/* The list of tests: of the networks in local_model_loc, or of what the file
 * test_config lists where create_config is not set. */
enum assay_status campaign_list_tests(const struct campaign_config *config,
                                      struct campaign_tests *tests,
                                      struct error *err);
/* The list as perf4sight's file of tests, with the place of models on the
 * device. */
enum assay_status campaign_write_tests(const struct campaign_config *config,
                                       const struct campaign_tests *tests,
                                       const char *path, struct error *err);

/* ---- measuring ---------------------------------------------------------- */

/* What a test came to. */
struct campaign_result {
    bool is_passed;
    char reason[160]; /* where it is not */
    double latency_ms;
    double alloc_mb, reserved_mb, used_mb; /* of memory */
    double avail_mb, free_mb, capacity_mb; /* of the machine, before */
    double lane;     /* channels that are computed together; 0: not known */
    double seconds;  /* the whole test took */
    size_t n_rounds; /* that it was measured in; from the log */
    size_t n_steps;
    double steps_ms[64]; /* the first of them */
};

struct campaign_limits;

/* Runs one test, in the process that calls. */
typedef enum assay_status campaign_measure(const struct campaign_test *test,
                                           const struct campaign_limits *limits,
                                           struct campaign_result *result,
                                           struct error *err);
campaign_measure campaign_measure_here;
/* The private memory of this process, which limits are on; 0: not known. */
double campaign_own_mb(void);

/* Whether a test failed for want of memory: it says that what it needs is more
 * than its limit, where another failure says nothing. */
bool campaign_is_nomem(const struct campaign_result *result);
/* Whether it was not tried, because a smaller batch had too little memory. */
bool campaign_is_skipped(const struct campaign_result *result);

struct campaign_limits {
    size_t memory_bytes; /* beside what the process begins with; 0: nine
                            tenths of what is free */
    double seconds;
    int n_threads;
    const char *choices_path;  /* of kernels, so that tests of one shape take
                                  the same; NULL: each chooses anew */
    campaign_measure *measure; /* NULL: campaign_measure_here() */
};

/* In a fresh process. A failure of the test is its result; only what keeps a
 * test from being started is a failure here. */
enum assay_status campaign_try(const struct campaign_test *test,
                               const struct campaign_limits *limits,
                               struct campaign_result *result,
                               struct error *err);

/* ---- the log ------------------------------------------------------------ */

struct campaign_log;

/* Opens the log to write to it, or makes it. One process at a time: ASSAY_IO
 * names the other. ASSAY_BAD_INPUT where it is another program's database. */
enum assay_status campaign_log_open(const char *path, struct campaign_log **out,
                                    struct error *err);
/* Opens a log to look at it: nothing changes. */
enum assay_status campaign_log_read(const char *path, struct campaign_log **out,
                                    struct error *err);
void campaign_log_close(struct campaign_log *log); /* accepts NULL */
/* What the test came to before: is_passed, reason and n_rounds, how often it
 * was run or passed over; n_rounds 0: it is not there. */
enum assay_status campaign_log_find(struct campaign_log *log,
                                    const struct campaign_test *test,
                                    struct campaign_result *before,
                                    struct error *err);
/* On disk when it returns. keeps_steps: with the time of each step. */
enum assay_status campaign_log_add(struct campaign_log *log,
                                   const struct campaign_test *test,
                                   const struct campaign_result *result,
                                   bool keeps_steps, struct error *err);
/* The same for a test that is there: the lesser latency counts. */
enum assay_status campaign_log_again(struct campaign_log *log,
                                     const struct campaign_test *test,
                                     const struct campaign_result *result,
                                     bool keeps_steps, struct error *err);
/* Adds the tests of another log that are not there yet. */
enum assay_status campaign_log_join(struct campaign_log *log, const char *path,
                                    size_t *n_added, struct error *err);
/* Every test in the order of networks, levels, stages and batches. */
enum assay_status campaign_log_each(
    struct campaign_log *log,
    enum assay_status (*take)(void *context, const struct campaign_test *test,
                              const struct campaign_result *result,
                              struct error *err),
    void *context, struct error *err);

/* The rows that the data folder will have once all tests passed, with 1 for
 * each value: those of the log (NULL: there is none yet), and of the tests that
 * it does not hold. So what is to be learned from them can be checked before
 * they are measured. */
enum assay_status campaign_expect_rows(const struct campaign_tests *tests,
                                       struct campaign_log *log,
                                       struct data_set *set, struct error *err);

/* The four files of a data folder from a log: see data_folder.h. */
enum assay_status campaign_write_csv(struct campaign_log *log,
                                     const char *folder, struct error *err);

/* ---- all together ------------------------------------------------------- */

struct campaign_progress {
    size_t n_done, n_tests; /* of this run, those that were there included */
    size_t n_before;        /* were there already */
    size_t n_failed, n_skipped;
    size_t round;        /* from 1; those that follow measure latency again */
    size_t n_left;       /* tests to run, in all rounds */
    double seconds_left; /* NAN: not known yet */
    const struct campaign_test *test;
    const struct campaign_result *result; /* of it; NULL: it begins */
};

struct campaign_options {
    struct campaign_limits limits;
    size_t shard, n_shards; /* from 1; n_shards 0: all of it */
    const volatile sig_atomic_t *stop;
    void (*told)(void *context, const struct campaign_progress *progress);
    void *context;
};

/* Runs the tests that the log does not hold, and latency in as many rounds as
 * the configuration says: what else a machine does comes and goes. */
enum assay_status campaign_run(const struct campaign_config *config,
                               const struct campaign_tests *tests,
                               struct campaign_log *log,
                               const struct campaign_options *options,
                               struct campaign_progress *progress,
                               struct error *err);

#endif

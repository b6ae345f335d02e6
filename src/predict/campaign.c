/* predict/campaign.c - see campaign.h: the tests one after the other. */
#include "predict/campaign.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A campaign in progress. */
struct campaign {
    const struct campaign_config *config;
    const struct campaign_options *options;
    const struct campaign_tests *tests;
    struct campaign_log *log;
    struct campaign_progress *progress;
    bool *is_full;  /* per series: a batch did not fit into memory */
    double seconds; /* spent on tests */
    size_t n_timed;
};

static bool is_mine(const struct campaign_options *options,
                    const struct campaign_test *test)
{
    return !options->n_shards ||
           test->series % options->n_shards == options->shard - 1;
}

static void campaign_tell(const struct campaign *campaign,
                          const struct campaign_test *test,
                          const struct campaign_result *result)
{
    struct campaign_progress *progress = campaign->progress;

    progress->test = test;
    progress->result = result;
    progress->seconds_left = campaign->n_timed && progress->n_left
                                 ? campaign->seconds /
                                       (double)campaign->n_timed *
                                       (double)progress->n_left
                                 : NAN;
    if (campaign->options->told)
        campaign->options->told(campaign->options->context, progress);
}

static const char skipped_words[] = "skipped: a smaller batch did not fit";

bool campaign_is_skipped(const struct campaign_result *result)
{
    return !result->is_passed && strcmp(result->reason, skipped_words) == 0;
}

static size_t most_rounds(const struct campaign *campaign)
{
    int64_t given = campaign->config->profile.rounds;

    return given > 0 ? (size_t)given : 3;
}

/* What was steady counts as measured in all rounds. */
static enum assay_status try_test(struct campaign *campaign,
                                  const struct campaign_test *test,
                                  struct campaign_result *result,
                                  struct error *err)
{
    enum assay_status st;

    campaign_tell(campaign, test, NULL);
    st = campaign_try(test, &campaign->options->limits, result, err);
    campaign->seconds += result->seconds;
    campaign->n_timed++;
    if (result->is_passed && result->is_steady)
        result->n_rounds = most_rounds(campaign);
    return st;
}

/* The test of the same network for the other variable; NULL: nobody asks for
 * it. */
static const struct campaign_test *find_twin(const struct campaign *campaign,
                                             const struct campaign_test *test)
{
    for (size_t i = 0; i < campaign->tests->n; i++) {
        const struct campaign_test *twin = &campaign->tests->items[i];

        if (twin->target != test->target && twin->batch == test->batch &&
            twin->stage == test->stage && strcmp(twin->file, test->file) == 0)
            return is_mine(campaign->options, twin) ? twin : NULL;
    }
    return NULL;
}

/* The list comes to it later, and finds it in the log. */
static enum assay_status add_twin(struct campaign *campaign,
                                  const struct campaign_test *test,
                                  const struct campaign_result *result,
                                  struct error *err)
{
    const struct campaign_test *twin =
        result->has_both ? find_twin(campaign, test) : NULL;
    struct campaign_result before = {0};
    enum assay_status st =
        twin ? campaign_log_find(campaign->log, twin, &before, err) : ASSAY_OK;

    if (st || !twin || before.n_rounds)
        return st;
    campaign->progress->n_answered++;
    return campaign_log_add(campaign->log, twin, result, false, err);
}

static bool is_stopped(const struct campaign *campaign)
{
    const volatile sig_atomic_t *stop = campaign->options->stop;

    return stop && *stop;
}

/* Of a test that is new or was in the log. */
static void count_result(struct campaign_progress *progress,
                         const struct campaign_result *result)
{
    progress->n_passed += result->is_passed;
    if (!result->is_passed && !progress->why_failed[0])
        snprintf(progress->why_failed, sizeof progress->why_failed, "%s",
                 result->reason);
}

/* A signal that goes to a whole group of processes, as those of timeout and of
 * batch systems do, ends the test, too: that is not a failure of its. */
static bool is_cut_short(const struct campaign *campaign,
                         const struct campaign_result *result)
{
    return !result->is_passed && is_stopped(campaign);
}

static enum assay_status run_test(struct campaign *campaign,
                                  const struct campaign_test *test,
                                  struct error *err)
{
    struct campaign_progress *progress = campaign->progress;
    struct campaign_result result = {0};
    enum assay_status st = ASSAY_OK;

    /* If a smaller batch ran out of memory, this one will too. Other failures
     * say nothing about larger batches. */
    if (campaign->config->profile.till_first_fail &&
        campaign->is_full[test->series]) {
        snprintf(result.reason, sizeof result.reason, "%s", skipped_words);
        progress->n_skipped++;
    } else {
        st = try_test(campaign, test, &result, err);
        if (is_cut_short(campaign, &result))
            return st;
        progress->n_failed += !st && !result.is_passed;
    }
    if (!st)
        st = campaign_log_add(campaign->log, test, &result,
                              campaign->config->profile.save, err);
    if (!st)
        st = add_twin(campaign, test, &result, err);
    if (st)
        return st;
    campaign->is_full[test->series] |= campaign_is_nomem(&result);
    count_result(progress, &result);
    progress->n_done++;
    progress->n_left--;
    campaign_tell(campaign, test, &result);
    return ASSAY_OK;
}

/* If it fails now but passed before, the log keeps the earlier result. */
static enum assay_status campaign_run_again(struct campaign *campaign,
                                            const struct campaign_test *test,
                                            struct error *err)
{
    struct campaign_result result;
    enum assay_status st = try_test(campaign, test, &result, err);

    if (is_cut_short(campaign, &result))
        return st;
    if (!st)
        st = campaign_log_again(campaign->log, test, &result,
                                campaign->config->profile.save, err);
    if (st)
        return st;
    campaign->progress->n_left--;
    campaign_tell(campaign, test, &result);
    return ASSAY_OK;
}

static size_t count_rounds(const struct campaign *campaign,
                           const struct campaign_test *test)
{
    return test->target == TARGET_LATENCY ? most_rounds(campaign) : 1;
}

/* Runs the test in this round unless the log already has it. */
static enum assay_status campaign_visit(struct campaign *campaign,
                                        const struct campaign_test *test,
                                        struct error *err)
{
    struct campaign_progress *progress = campaign->progress;
    bool is_first = progress->round == 1;
    struct campaign_result before;
    enum assay_status st = campaign_log_find(campaign->log, test, &before, err);

    if (st)
        return st;
    if (is_first && !before.n_rounds)
        return run_test(campaign, test, err);
    if (!is_first && before.n_rounds < progress->round && before.is_passed)
        return campaign_run_again(campaign, test, err);
    if (is_first) {
        campaign->is_full[test->series] |= campaign_is_nomem(&before);
        count_result(progress, &before);
        progress->n_done++;
        if (progress->n_answered)
            progress->n_answered--; /* by a test of this run */
        else
            progress->n_before++;
    }
    progress->n_left--;
    return ASSAY_OK;
}

static enum assay_status campaign_run_round(struct campaign *campaign,
                                            const struct campaign_tests *tests,
                                            struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < tests->n && !is_stopped(campaign); i++) {
        const struct campaign_test *test = &tests->items[i];

        if (is_mine(campaign->options, test) &&
            campaign->progress->round <= count_rounds(campaign, test))
            st = campaign_visit(campaign, test, err);
    }
    return st;
}

static enum assay_status campaign_run_all(struct campaign *campaign,
                                          const struct campaign_tests *tests,
                                          struct error *err)
{
    struct campaign_progress *progress = campaign->progress;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < tests->n; i++) {
        if (!is_mine(campaign->options, &tests->items[i]))
            continue;
        progress->n_tests++;
        progress->n_left += count_rounds(campaign, &tests->items[i]);
    }
    for (progress->round = 1; !st && progress->round <= most_rounds(campaign);
         progress->round++)
        st = campaign_run_round(campaign, tests, err);
    return st;
}

enum assay_status campaign_run(const struct campaign_config *config,
                               const struct campaign_tests *tests,
                               struct campaign_log *log,
                               const struct campaign_options *options,
                               struct campaign_progress *progress,
                               struct error *err)
{
    struct campaign campaign = {.config = config,
                                .options = options,
                                .tests = tests,
                                .log = log,
                                .progress = progress};
    enum assay_status st;

    *progress = (struct campaign_progress){0};
    campaign.is_full = mem_array(tests->n_series + 1, sizeof *campaign.is_full);
    if (!campaign.is_full)
        return error_nomem(err, tests->n_series, "the list of tests");
    st = campaign_run_all(&campaign, tests, err);
    mem_free(campaign.is_full);
    return st;
}

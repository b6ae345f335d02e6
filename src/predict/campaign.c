/* predict/campaign.c - see campaign.h: the tests one after the other. */
#include "predict/campaign.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

/* A campaign under way. */
struct campaign {
    const struct campaign_config *config;
    const struct campaign_options *options;
    struct campaign_log *log;
    struct campaign_progress *progress;
    bool *has_failed; /* one a series */
    double seconds;   /* that tests took */
    size_t n_timed, n_left;
};

static bool is_mine(const struct campaign_options *options,
                    const struct campaign_test *test)
{
    return !options->n_shards ||
           test->series % options->n_shards == options->shard - 1;
}

static void tell(const struct campaign *campaign,
                 const struct campaign_test *test,
                 const struct campaign_result *result)
{
    struct campaign_progress *progress = campaign->progress;

    progress->test = test;
    progress->result = result;
    progress->seconds_left = campaign->n_timed && campaign->n_left
                                 ? campaign->seconds /
                                       (double)campaign->n_timed *
                                       (double)campaign->n_left
                                 : NAN;
    if (campaign->options->told)
        campaign->options->told(campaign->options->context, progress);
}

/* A test that is not worth trying: smaller batches failed. */
static bool is_skipped(const struct campaign *campaign,
                       const struct campaign_test *test)
{
    return campaign->config->profile.till_first_fail &&
           campaign->has_failed[test->series];
}

static enum assay_status run_test(struct campaign *campaign,
                                  const struct campaign_test *test,
                                  struct error *err)
{
    struct campaign_progress *progress = campaign->progress;
    struct campaign_result result = {0};
    enum assay_status st = ASSAY_OK;

    if (is_skipped(campaign, test)) {
        snprintf(result.reason, sizeof result.reason,
                 "skipped: a smaller batch failed");
        progress->n_skipped++;
    } else {
        tell(campaign, test, NULL);
        st = campaign_try(test, &campaign->options->limits, &result, err);
        progress->n_failed += !st && !result.is_passed;
        campaign->seconds += result.seconds;
        campaign->n_timed++;
    }
    if (!st)
        st = campaign_log_add(campaign->log, test, &result,
                              campaign->config->profile.save, err);
    if (st)
        return st;
    campaign->has_failed[test->series] |= !result.is_passed;
    progress->n_done++;
    campaign->n_left--;
    tell(campaign, test, &result);
    return ASSAY_OK;
}

static bool is_stopped(const struct campaign_options *options)
{
    return options->stop && *options->stop;
}

static enum assay_status run_all(struct campaign *campaign,
                                 const struct campaign_tests *tests,
                                 struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < tests->n; i++)
        campaign->n_left += is_mine(campaign->options, &tests->items[i]);
    campaign->progress->n_tests = campaign->n_left;
    for (size_t i = 0; !st && i < tests->n && !is_stopped(campaign->options);
         i++) {
        const struct campaign_test *test = &tests->items[i];
        bool is_there, is_passed;

        if (!is_mine(campaign->options, test))
            continue;
        st = campaign_log_find(campaign->log, test, &is_there, &is_passed, err);
        if (st)
            break;
        if (!is_there) {
            st = run_test(campaign, test, err);
            continue;
        }
        campaign->has_failed[test->series] |= !is_passed;
        campaign->progress->n_done++;
        campaign->progress->n_before++;
        campaign->n_left--;
    }
    return st;
}

enum assay_status campaign_run(const struct campaign_config *config,
                               const struct campaign_tests *tests,
                               struct campaign_log *log,
                               const struct campaign_options *options,
                               struct campaign_progress *progress,
                               struct error *err)
{
    struct campaign campaign = {
        .config = config, .options = options, .log = log, .progress = progress};
    enum assay_status st;

    *progress = (struct campaign_progress){0};
    campaign.has_failed =
        mem_array(tests->n_series + 1, sizeof *campaign.has_failed);
    if (!campaign.has_failed)
        return error_nomem(err, tests->n_series, "the list of tests");
    st = run_all(&campaign, tests, err);
    mem_free(campaign.has_failed);
    return st;
}

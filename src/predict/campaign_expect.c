/* predict/campaign_expect.c - see campaign.h: the rows that a campaign will
 * have when it has ended. */
#include "predict/campaign.h"

#include <math.h>

/* What rows are gathered with. */
struct expecting {
    struct data_set *set;
    struct campaign_log *log; /* NULL: there is none yet */
};

static enum assay_status expect_row(struct data_set *set,
                                    const struct campaign_test *test,
                                    bool is_passed, struct error *err)
{
    struct measurement row = {.batch = (double)test->batch,
                              .stage = test->stage,
                              .value = {NAN, NAN}};
    enum assay_status st;

    if (!is_passed)
        return ASSAY_OK;
    row.value[test->target] = 1;
    st = data_set_describe(set, test->network, test->level, &row.description,
                           err);
    return st ? st : data_set_add_row(set, &row, err);
}

static enum assay_status expect_logged(void *context,
                                       const struct campaign_test *test,
                                       const struct campaign_result *result,
                                       struct error *err)
{
    const struct expecting *expecting = context;

    return expect_row(expecting->set, test, result->is_passed, err);
}

/* Tests that are in the log were counted with what they came to. */
static enum assay_status expect_test(const struct expecting *expecting,
                                     const struct campaign_test *test,
                                     struct error *err)
{
    struct campaign_result before = {0};
    enum assay_status st =
        expecting->log ? campaign_log_find(expecting->log, test, &before, err)
                       : ASSAY_OK;

    if (st || before.n_rounds)
        return st;
    return expect_row(expecting->set, test, true, err);
}

enum assay_status campaign_expect_rows(const struct campaign_tests *tests,
                                       struct campaign_log *log,
                                       struct data_set *set, struct error *err)
{
    struct expecting expecting = {set, log};
    enum assay_status st =
        log ? campaign_log_each(log, expect_logged, &expecting, err) : ASSAY_OK;

    for (size_t i = 0; !st && i < tests->n; i++)
        st = expect_test(&expecting, &tests->items[i], err);
    return st;
}

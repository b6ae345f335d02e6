/* cli/campaign_rows.h - the rows that the [fingerprint] section of a campaign
 * learns from, and those that it is tried on.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CAMPAIGN_ROWS_H
#define CLI_CAMPAIGN_ROWS_H

#include "predict/campaign_config.h"
#include "predict/selection.h"

struct campaign_rows {
    const struct campaign_config *config;
    /* What the campaign's own folder will hold; NULL: what it holds is read. */
    const struct data_set *expected;
    /* Networks that could not be made: no rows of them are asked for. */
    const struct config_texts *left_out;
};

enum assay_status campaign_rows_train(const struct campaign_rows *rows,
                                      struct data_set *set,
                                      struct selection *selection,
                                      struct error *err);
enum assay_status campaign_rows_eval(const struct campaign_rows *rows,
                                     struct data_set *set,
                                     struct selection *selection,
                                     struct error *err);

#endif

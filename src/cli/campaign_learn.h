/* cli/campaign_learn.h - the [fingerprint] section of a campaign.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CAMPAIGN_LEARN_H
#define CLI_CAMPAIGN_LEARN_H

#include "cli/campaign_rows.h"

/* Learns from the logs that it names, or from the campaign's own folder, and
 * evaluates; prints what comes of it. */
enum assay_status campaign_learn(const struct campaign_rows *rows,
                                 int n_threads, struct error *err);

/* Fails where that would, as far as rows that are not measured yet can tell
 * (rows->expected); makes and prints nothing. */
enum assay_status campaign_learn_check(const struct campaign_rows *rows,
                                       struct error *err);

#endif

/* cli/campaign_learn.h - the [fingerprint] section of a campaign.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CAMPAIGN_LEARN_H
#define CLI_CAMPAIGN_LEARN_H

#include "predict/campaign_config.h"

/* Learns from the logs that it names, or from the campaign's own folder, and
 * evaluates; prints what comes of it. */
enum assay_status campaign_learn(const struct campaign_config *config,
                                 int n_threads, struct error *err);

#endif

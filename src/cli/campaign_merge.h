/* cli/campaign_merge.h - the logs of a campaign's parts as one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CAMPAIGN_MERGE_H
#define CLI_CAMPAIGN_MERGE_H

#include "base/error.h"

/* Joins campaign-K-of-N.sqlite of a folder into campaign.sqlite, writes the
 * CSV files, and prints how many tests came in. */
enum assay_status campaign_merge(const char *folder, struct error *err);

#endif

/* tests/predict/campaign_case.h - files for tests of campaigns.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PREDICT_CAMPAIGN_CASE_H
#define TESTS_PREDICT_CAMPAIGN_CASE_H

#include "predict/campaign_config.h"

void case_write(const char *path, const char *text);
/* Reads a valid configuration through a file of that name. */
void case_read(const char *name, const char *text,
               struct campaign_config *config);

#endif

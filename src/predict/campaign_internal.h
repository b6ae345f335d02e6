/* predict/campaign_internal.h - what tests have in common, whatever runs them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CAMPAIGN_INTERNAL_H
#define PREDICT_CAMPAIGN_INTERNAL_H

#include "base/child.h"
#include "predict/campaign.h"

/* Fills in why a test's process ended without an answer. */
void campaign_explain_end(struct campaign_result *result, enum child_told told,
                          int status, double seconds, size_t memory_bytes);
/* That it needs more memory than it may take, or than its device has, of which
 * the message knows how much was missing. */
void campaign_explain_nomem(struct campaign_result *result,
                            const struct campaign_limits *limits,
                            size_t memory_bytes, const char *message);

/* Puts the tests into an order in which a campaign that is cut short can be
 * learned from: all networks go on together, from the lowest level and the
 * highest to those between them, of each the batches in rising order. */
enum assay_status campaign_order_tests(struct campaign_tests *tests,
                                       struct error *err);

/* A test in PyTorch, which may take so much memory. */
enum assay_status torch_try(const struct campaign_test *test,
                            const struct campaign_limits *limits,
                            size_t memory_bytes, struct campaign_result *result,
                            struct error *err);

#endif

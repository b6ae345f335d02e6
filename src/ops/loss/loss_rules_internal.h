/* ops/loss/loss_rules_internal.h - what the losses of detectors have in common
 * beside their terms.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_LOSS_RULES_INTERNAL_H
#define OPS_LOSS_LOSS_RULES_INTERNAL_H

#include "graph/graph.h"

/* "class 92 of 91" where a label is none of the classes. */
enum assay_status loss_check_labels(const struct tensor *labels,
                                    int64_t n_classes, struct error *err);

/* All inputs, where any gradient is wanted. */
struct op_reads loss_reads(const struct node *node, uint64_t wanted);

/* So many operations for each target. Of the answers, which are there for
 * every class, as many are looked at as there are targets. */
void loss_count_cost(const struct tensor *answers, const struct tensor *targets,
                     uint64_t operations, struct cost *cost);

#endif

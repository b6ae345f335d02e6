/* cli/prune_show.h - what pruning a model came to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PRUNE_SHOW_H
#define CLI_PRUNE_SHOW_H

#include "base/sink.h"
#include "passes/prune.h"

enum { PRUNE_BEFORE, PRUNE_AFTER };

struct prune_view {
    const char *model, *mode, *input;
    struct prune_options options;
    struct prune_report report;
    uint64_t parameters[2], macs[2]; /* PRUNE_BEFORE, PRUNE_AFTER */
    const char *path;                /* of what was written; NULL: nothing */
    const char *saved;               /* the same, with sizes and weights */
};

void prune_show_table(const struct prune_view *view, bool has_all,
                      struct sink *sink);
void prune_show_json(const struct prune_view *view, struct sink *sink);

#endif

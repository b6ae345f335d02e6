/* cli/train_fetch.h - what a training lacks: its dataset, published weights.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TRAIN_FETCH_H
#define CLI_TRAIN_FETCH_H

#include "train/config.h"

struct train_fetch {
    bool is_wanted;   /* do not ask */
    const char *url;  /* NULL: where they are published */
    const char *sums; /* see data_fetch.h */
};

/* Fetches what is missing if that is wanted, or if a user at the terminal says
 * so; asks once. Does nothing if all is there, or nobody can be asked. */
enum assay_status train_fetch_missing(const struct train_fetch *fetch,
                                      const struct train_config *config,
                                      struct error *err);

#endif

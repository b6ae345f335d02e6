/* predict/campaign_names.h - names of a campaign's network files:
 * NAME_LEVEL.net or NAME_LEVEL_REPEAT.net.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CAMPAIGN_NAMES_H
#define PREDICT_CAMPAIGN_NAMES_H

#include "base/str.h"
#include "predict/campaign_config.h"

struct network_file {
    char network[128];
    int64_t level, repeat; /* 0 if the name has none */
};

/* Takes the number after the last "_" off a text that ends at *n. False if
 * there is none. */
bool name_take_number(const char *text, size_t *n, int64_t *number);

/* The file of a network made by [create_network_dataset]. */
enum assay_status network_file_name(const struct campaign_config *config,
                                    const char *network, int64_t level,
                                    int64_t repeat, struct str *path,
                                    struct error *err);

/* Splits a file name. "squeezenet1_1_30.net" is squeezenet1_1 at 30 %, not
 * squeezenet1 at 1 %: networks in the configuration, and built-in ones, keep
 * the numbers in their names. False if the name or the level is not valid. */
bool network_file_split(const struct campaign_config *config, const char *path,
                        struct network_file *out);

#endif

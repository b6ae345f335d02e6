/* predict/campaign_names.h - what the files of a campaign's networks are
 * called: NAME_LEVEL.net, or NAME_LEVEL_REPEAT.net.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CAMPAIGN_NAMES_H
#define PREDICT_CAMPAIGN_NAMES_H

#include "base/str.h"
#include "predict/campaign_config.h"

struct network_file {
    char network[128];
    int64_t level, repeat; /* 0 where the name tells none */
};

/* Takes the number behind the last "_" of a text that ends at *n, which goes
 * before it. False where there is none. */
bool name_take_number(const char *text, size_t *n, int64_t *number);

/* The file of a network that [create_network_dataset] makes. */
enum assay_status network_file_name(const struct campaign_config *config,
                                    const char *network, int64_t level,
                                    int64_t repeat, struct str *path,
                                    struct error *err);

/* What the name of a file tells. "squeezenet1_1_30.net" is squeezenet1_1 at
 * 30 %, not squeezenet1 at 1 %: networks that the configuration names, and
 * built-in ones, keep the numbers of their names. False where it is no such
 * name, or the level is none. */
bool network_file_split(const struct campaign_config *config, const char *path,
                        struct network_file *out);

#endif

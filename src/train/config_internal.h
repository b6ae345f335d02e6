/* train/config_internal.h - setting keys from a file and a command line.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_CONFIG_INTERNAL_H
#define TRAIN_CONFIG_INTERNAL_H

#include "base/toml.h"
#include "train/config.h"

/* "config.toml: line 3: batch_size ...": ASSAY_BAD_INPUT, or ASSAY_BAD_USAGE if
 * the value did not come from the file. */
enum assay_status config_refuse(const struct train_config *config,
                                const struct config_key *key, struct error *err,
                                const char *format, ...) ASSAY_PRINTF(4, 5);

/* Checks type and range and fills the field. */
enum assay_status config_read_value(struct train_config *config,
                                    const struct config_key *key,
                                    const struct toml_value *value,
                                    struct error *err);

#endif

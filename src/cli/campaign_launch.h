/* cli/campaign_launch.h - a campaign's shards as one array of Slurm jobs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CAMPAIGN_LAUNCH_H
#define CLI_CAMPAIGN_LAUNCH_H

#include "base/str.h"

#include <stdint.h>

struct launch {
    const char *config;  /* the configuration, as it was given */
    const char *log_dir; /* where the jobs' outputs go */
    size_t n_shards;
    int64_t n_threads;   /* of each; 0: what Slurm gives */
    const char *options; /* further words of the command line; may be "" */
};

/* The script of the jobs. */
enum assay_status launch_script(const struct launch *launch, struct str *script,
                                struct error *err);
/* Hands a script to sbatch; *answer is what that says. */
enum assay_status launch_submit(const char *path, struct str *answer,
                                struct error *err);

#endif

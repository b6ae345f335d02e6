/* cli/campaign_steps.h - the steps of `assay campaign` besides measuring: parts
 * as Slurm jobs, merging their logs, and the [fingerprint] section.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CAMPAIGN_STEPS_H
#define CLI_CAMPAIGN_STEPS_H

#include "base/str.h"
#include "predict/campaign_config.h"
#include "predict/selection.h"
#include "predict/torch_runner.h"

/* ---- campaign_launch.c: the parts as one array of Slurm jobs ------------- */

struct launch {
    const char *config;  /* path of the configuration, as given */
    const char *log_dir; /* where the jobs' outputs go */
    size_t n_shards;
    int64_t n_threads;   /* of each job; 0: what Slurm gives */
    const char *options; /* further words of the command line; may be "" */
};

/* The script of the jobs. */
enum assay_status launch_script(const struct launch *launch, struct str *script,
                                struct error *err);
/* Hands a script to sbatch; *answer is what it says. */
enum assay_status launch_submit(const char *path, struct str *answer,
                                struct error *err);

/* ---- campaign_python.c --------------------------------------------------- */

/* The interpreter that runs PyTorch, and the package for it. Start from {0}. */
struct campaign_python {
    struct torch_runner runner;
    struct str python, package;
};

/* The one that is given, or that ASSAY_PYTHON names (an interpreter, or the
 * folder of an environment), or python3. */
enum assay_status campaign_python_find(const char *given,
                                       struct campaign_python *out,
                                       struct error *err);
void campaign_python_release(struct campaign_python *python);

/* ---- campaign_merge.c ---------------------------------------------------- */

/* Joins the campaign-K-of-N.sqlite files of a folder into campaign.sqlite,
 * writes the CSV files, and prints how many tests were added. */
enum assay_status campaign_merge(const char *folder, struct error *err);

/* ---- campaign_learn.c ---------------------------------------------------- */

/* By any spelling of its name. */
bool networks_include(const struct config_texts *networks, const char *network);

/* Where the [fingerprint] section gets its rows from. */
struct campaign_rows {
    const struct campaign_config *config;
    /* What the campaign's folder will hold; NULL: read what it holds. */
    const struct data_set *expected;
    /* Networks that could not be made and need no rows. */
    const struct config_texts *left_out;
};

/* Learns from the logs that the section names, or from the campaign's folder,
 * evaluates, and prints the results. */
enum assay_status campaign_learn(const struct campaign_rows *rows,
                                 int n_threads, struct error *err);

/* Fails if campaign_learn() would, as far as rows->expected tells; makes and
 * prints nothing. */
enum assay_status campaign_learn_check(const struct campaign_rows *rows,
                                       struct error *err);

#endif

/* predict/campaign_config.h - the settings of a campaign.
 *
 * Read from an INI file like perf4sight's, or from a TOML file with the same
 * sections and keys; docs/campaign.md explains each.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CAMPAIGN_CONFIG_H
#define PREDICT_CAMPAIGN_CONFIG_H

#include "base/arena.h"
#include "base/str.h"
#include "passes/prune.h"
#include "predict/data_folder.h"

enum { CAMPAIGN_MOST_BATCH = 65536 };

struct torch_runner; /* torch_runner.h */

struct config_texts {
    const char **items;
    size_t n;
};

struct config_numbers {
    int64_t *items;
    size_t n;
};

/* perf4sight names the levels of the logs; folders are allowed as well. */
struct config_logs {
    struct config_numbers levels;
    struct config_texts folders;
};

/* [create_network_dataset]: make pruned networks. */
struct create_config {
    struct config_texts networks;
    struct config_numbers pruning_perc;
    const char *mode;
    const char *model_desc_dir; /* folder of the networks that are not built
                                   in */
    const char *model_path;     /* folder for the pruned ones */
    int64_t repeats;            /* of random_weighted */
    int64_t seed;
};

/* [profile]: measure them. */
struct profile_config {
    bool create_config; /* write the list of tests to test_config */
    const char *dataset;
    struct config_texts network;
    struct config_numbers bs;
    struct config_texts stage, profile_variables;
    const char *device_model_loc, *local_model_loc;
    bool run_profiling;
    int64_t gpu_id; /* -1: not given */
    bool save;      /* keep every step of a test */
    const char *device;
    const char *framework; /* "assay" or "torch" */
    bool till_first_fail;
    int64_t rounds; /* of measuring latency, over all tests; 0: 3 */
    const char *log_dir, *test_config;
};

/* [fingerprint]: learn a device from the measurements. */
struct fingerprint_config {
    bool evaluate, overwrite;
    struct config_texts stage; /* to learn */
    bool memory_model, latency_model;
    struct config_texts train_nets, eval_nets;
    struct config_logs train_logs, eval_logs;
    struct config_texts memory_logs, eval_memory_logs;
    struct config_texts latency_logs, eval_latency_logs;
};

/* Start from {0}. */
struct campaign_config {
    bool has_create, has_profile, has_fingerprint;
    struct create_config create;
    struct profile_config profile;
    struct fingerprint_config fingerprint;
    enum prune_mode mode;
    enum framework framework;
    /* Runs Python for networks given as such; the caller sets it. NULL: they
     * are refused. */
    struct torch_runner *torch;
    bool has_stage[N_STAGES], learns_stage[N_STAGES];
    bool has_target[N_TARGETS];
    /* Keys of perf4sight that mean nothing here, one line each for a user:
     * "config.ini: line 3: subset_name ...". */
    struct str ignored;
    struct arena arena;
};

/* Whether it needs the user's Python: for tests in PyTorch, or for a network
 * given as "my_models.py:make_net". */
bool campaign_config_needs_python(const struct campaign_config *config);

void campaign_config_release(struct campaign_config *config);

/* Reads TOML if the file name ends in .toml, else INI. Unknown sections and
 * keys, values of the wrong kind, levels outside of 0 to 95 and the like are
 * refused with their position; keys that only perf4sight needs are noted. */
enum assay_status campaign_config_read(struct campaign_config *config,
                                       const char *path, struct error *err);

#endif

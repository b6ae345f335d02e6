/* train/train_facts.c - see train_facts.h. */
#include "train/train_facts.h"

#include <inttypes.h>
#include <stdio.h>

static enum assay_status
state_plan(struct run *run, const struct train_plan *plan, struct error *err)
{
    enum assay_status st =
        run_fact_set(run, "model.weights", str_text(&plan->weights), err);

    if (!st && plan->renewed.n)
        st = run_fact_set(run, "training.renewed", plan->renewed.text, err);
    if (!st)
        st = run_fact_printf(run, err, "input.note", "%" PRIu64 " images of %s",
                             plan->n_samples, str_text(&plan->dataset));
    return st;
}

static enum assay_status state_loader(struct run *run,
                                      const struct train_plan *plan,
                                      const struct loader *loader,
                                      struct error *err)
{
    struct loader_pace pace = loader_pace(loader);
    struct loader_counts counts = loader_counts(loader);
    enum assay_status st =
        run_fact_printf(run, err, "loader.workers", "%d", plan->n_workers);

    if (!st)
        st = run_fact_printf(run, err, "loader.wanted_workers", "%zu",
                             loader_wanted_workers(&pace));
    if (!st)
        st = run_fact_printf(run, err, "loader.stall_share", "%.6f",
                             loader_stall_share(&pace));
    if (!st)
        st = run_fact_printf(run, err, "loader.image_ns", "%" PRId64,
                             loader_image_ns(&pace));
    if (!st)
        st = run_fact_printf(run, err, "loader.skipped", "%zu",
                             counts.n_skipped);
    return st;
}

static enum assay_status state_settings(struct run *run,
                                        const struct train_config *config,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (const struct config_key *key = config_keys; !st && key->section;
         key++) {
        char name[64], value[CONFIG_VALUE_MAX];

        snprintf(name, sizeof name, "config.%s.%s", key->section, key->name);
        if (config_value_text(config, key, value))
            st = run_fact_set(run, name, value, err);
    }
    return st;
}

/* "backbone.body.layer1, backbone.body.layer2" */
static enum assay_status
state_recompute(struct run *run, const char *const *modules, struct error *err)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && modules && modules[i]; i++)
        st = str_printf(&text, "%s%s", i ? ", " : "", modules[i]);
    if (st)
        st = error_nomem(err, text.n, "the modules to recompute");
    else if (text.n)
        st = run_fact_set(run, "training.recompute", text.text, err);
    str_release(&text);
    return st;
}

enum assay_status
train_facts_state(struct run *run, const struct train_config *config,
                  const struct train_plan *plan, const struct loader *loader,
                  const char *const *recompute, struct error *err)
{
    enum assay_status st = state_plan(run, plan, err);

    if (!st)
        st = state_loader(run, plan, loader, err);
    if (!st)
        st = state_recompute(run, recompute, err);
    if (!st)
        st = state_settings(run, config, err);
    return st;
}

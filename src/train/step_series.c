/* train/step_series.c - see trainer_internal.h: losses and rates of every step,
 * and how the machine behaved during the measured ones. */
#include "train/trainer_internal.h"

#include <math.h>
#include <stdio.h>

static enum assay_status put_at(struct trainer *trainer, uint64_t at,
                                const char *name, const char *unit,
                                double value, struct error *err)
{
    uint32_t series;
    enum assay_status st;

    if (!isfinite(value) || at >= RUN_NONE)
        return ASSAY_OK;
    st = run_series_add(trainer->series, name, unit, &series, err);
    if (!st)
        st = run_series_put(trainer->series, series, (uint32_t)at, value, err);
    return st;
}

/* For a measured step. */
static enum assay_status step_series_put_value(struct trainer *trainer,
                                               const char *name,
                                               const char *unit, double value,
                                               struct error *err)
{
    return put_at(trainer, trainer->n_measured, name, unit, value, err);
}

enum assay_status step_series_learn(struct trainer *trainer,
                                    const struct train_step *step,
                                    struct error *err)
{
    uint64_t before = step->step - 1;
    enum assay_status st =
        put_at(trainer, before, "train.loss", "", step->loss, err);

    for (size_t i = 0; !st && step->n_parts > 1 && i < step->n_parts; i++) {
        char name[128];

        snprintf(name, sizeof name, "train.%s", step->part_names[i]);
        st = put_at(trainer, before, name, "", step->parts[i], err);
    }
    if (!st)
        st = put_at(trainer, before, "train.learning_rate", "",
                    step->learning_rate, err);
    if (!st)
        st = put_at(trainer, before, "train.gradient_norm", "",
                    step->gradient_norm, err);
    return st;
}

static enum assay_status put_pace(struct trainer *trainer,
                                  const struct train_step *step,
                                  const struct batch *batch, struct error *err)
{
    double seconds = (double)step->duration_ns / 1e9;
    enum assay_status st =
        put_at(trainer, step->step - 1, "train.images_per_s", "img/s",
               (double)step->n_images / seconds, err);
    const struct {
        const char *name, *unit;
        double value;
    } values[] = {
        {"data.wait", "ms", (double)batch->wait_ns / 1e6},
        {"data.made", "ms", (double)batch->made_ns / 1e6},
        {"data.ready", "", (double)batch->n_ready},
    };

    for (size_t i = 0; !st && i < sizeof values / sizeof *values; i++)
        st = step_series_put_value(trainer, values[i].name, values[i].unit,
                                   values[i].value, err);
    return st;
}

/* What recomputing saved, and what it cost. */
static enum assay_status put_recomputed(struct trainer *trainer,
                                        struct error *err)
{
    const char *const *modules = trainer->options.recompute;
    struct engine_recomputed again;
    enum assay_status st;

    if (!modules || !modules[0])
        return ASSAY_OK;
    again = engine_recomputed(trainer->engine);
    st = step_series_put_value(trainer, "recompute.spared", "bytes",
                               (double)again.bytes, err);
    if (!st)
        st = step_series_put_value(trainer, "recompute.time", "ms",
                                   (double)again.ns / 1e6, err);
    return st;
}

static enum assay_status step_series_put_steady(struct trainer *trainer,
                                                struct error *err)
{
    struct steady_sample now = steady_after(&trainer->steady);
    struct steady_sample gone = steady_between(&trainer->before, &now);
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < N_STEADY; i++)
        st = step_series_put_value(trainer, steady_series((enum steady_value)i),
                                   steady_unit((enum steady_value)i),
                                   gone.values[i], err);
    return st;
}

void step_series_begin(struct trainer *trainer)
{
    trainer->before = steady_before(&trainer->steady);
}

enum assay_status step_series_put(struct trainer *trainer,
                                  const struct train_step *step,
                                  const struct batch *batch, struct error *err)
{
    enum assay_status st = put_pace(trainer, step, batch, err);

    if (!st)
        st = put_recomputed(trainer, err);
    if (!st)
        st = step_series_put_steady(trainer, err);
    trainer->n_measured++;
    trainer->n_measured_images += step->n_images;
    trainer->measured_ns += step->duration_ns;
    return st;
}

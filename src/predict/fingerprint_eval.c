/* predict/fingerprint_eval.c - see fingerprint_eval.h. */
#include "predict/fingerprint_eval.h"

#include "base/doubles.h"
#include "base/mem.h"
#include "base/vec.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

void evaluation_release(struct evaluation *evaluation)
{
    mem_free(evaluation->networks);
    mem_free(evaluation->rows);
    *evaluation = (struct evaluation){0};
}

static enum assay_status evaluation_network(struct evaluation *evaluation,
                                            const char *name, size_t *out,
                                            struct error *err)
{
    struct evaluated_network *moved;

    for (*out = 0; *out < evaluation->n_networks; (*out)++) {
        if (strcmp(evaluation->networks[*out].name, name) == 0)
            return ASSAY_OK;
    }
    moved = vec_reserve(evaluation->networks, &evaluation->networks_capacity,
                        evaluation->n_networks + 1, sizeof *moved);
    if (!moved)
        return error_nomem(err, sizeof *moved, "a network");
    evaluation->networks = moved;
    moved[evaluation->n_networks++] = (struct evaluated_network){.name = name};
    return ASSAY_OK;
}

static enum assay_status evaluation_add(struct evaluation *evaluation,
                                        const struct evaluated *row,
                                        struct error *err)
{
    struct evaluated *moved =
        vec_reserve(evaluation->rows, &evaluation->rows_capacity,
                    evaluation->n_rows + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a row");
    evaluation->rows = moved;
    moved[evaluation->n_rows++] = *row;
    return ASSAY_OK;
}

/* Whether a run passed or failed shows whether it fits. */
static void judge_fit(struct evaluation *evaluation,
                      const struct fingerprint *fingerprint,
                      const struct measurement *row,
                      const struct estimate *estimate)
{
    enum fit fit = estimate_fits(
        estimate, fingerprint_usable_mb(fingerprint, row->stage, NAN));

    if (fit == FIT_MAYBE)
        evaluation->n_undecided++;
    else if ((fit == FIT_NO) == row->is_failed)
        evaluation->n_right++;
    else
        evaluation->n_wrong++;
}

static enum assay_status try_row(struct evaluation *evaluation,
                                 const struct fingerprint *fingerprint,
                                 const struct measurement *row,
                                 const struct description *description,
                                 struct error *err)
{
    struct evaluated out = {
        .level = description->level, .stage = row->stage, .batch = row->batch};
    enum assay_status st =
        evaluation_network(evaluation, description->network, &out.network, err);

    for (int t = 0; !st && t < N_TARGETS; t++) {
        bool is_failed = row->is_failed && t == TARGET_MEMORY;

        out.target = (enum target)t;
        out.measured = row->value[t];
        if (!fingerprint_has(fingerprint, row->stage, out.target) ||
            (isnan(out.measured) && !is_failed))
            continue;
        st = fingerprint_predict(fingerprint, row->stage, out.target,
                                 description, row->batch, &out.estimate, err);
        if (!st && t == TARGET_MEMORY)
            judge_fit(evaluation, fingerprint, row, &out.estimate);
        if (!st && !isnan(out.measured))
            st = evaluation_add(evaluation, &out, err);
    }
    return st;
}

/* ---- statistics ---------------------------------------------------------- */

static struct error_stats stats_of(const struct evaluation *evaluation,
                                   size_t network, enum target target,
                                   double *errors)
{
    struct error_stats stats = {.mean = NAN,
                                .median = NAN,
                                .p90 = NAN,
                                .max = NAN,
                                .coverage = NAN,
                                .width = NAN};
    double sum = 0, inside = 0, widths = 0;
    bool has_intervals = true;

    for (size_t i = 0; i < evaluation->n_rows; i++) {
        const struct evaluated *row = &evaluation->rows[i];

        if (row->network != network || row->target != target)
            continue;
        errors[stats.n] = 100 * fabs(row->estimate.value / row->measured - 1);
        sum += errors[stats.n++];
        inside += row->measured >= row->estimate.low &&
                  row->measured <= row->estimate.high;
        widths +=
            (row->estimate.high - row->estimate.low) / row->estimate.value;
        has_intervals = has_intervals && !isnan(row->estimate.low);
    }
    if (!stats.n)
        return stats;
    doubles_sort(errors, stats.n);
    stats.mean = sum / (double)stats.n;
    stats.median = stats_quantile(errors, stats.n, 0.5);
    stats.p90 = stats_quantile(errors, stats.n, 0.9);
    stats.max = errors[stats.n - 1];
    if (has_intervals) {
        stats.coverage = 100 * inside / (double)stats.n;
        stats.width = 100 * widths / (double)stats.n;
    }
    return stats;
}

static enum assay_status summarise(struct evaluation *evaluation,
                                   struct error *err)
{
    double *errors = mem_array(evaluation->n_rows + 1, sizeof *errors);

    if (!errors)
        return error_nomem(err, evaluation->n_rows * sizeof *errors,
                           "the errors");
    for (size_t i = 0; i < evaluation->n_networks; i++) {
        for (int t = 0; t < N_TARGETS; t++)
            evaluation->networks[i].stats[t] =
                stats_of(evaluation, i, (enum target)t, errors);
    }
    mem_free(errors);
    return ASSAY_OK;
}

static enum assay_status refuse_nothing(const struct evaluation *evaluation,
                                        struct error *err)
{
    if (evaluation->n_seen)
        return error_set(err, ASSAY_BAD_USAGE,
                         "all %zu rows are from networks and levels that the "
                         "fingerprint was made from",
                         evaluation->n_seen);
    return error_set(err, ASSAY_BAD_USAGE,
                     "no rows of the fingerprint's framework are left to "
                     "evaluate");
}

enum assay_status evaluation_check(const struct fingerprint *fingerprint,
                                   const struct data_set *set,
                                   const struct selection *selection,
                                   size_t *n_seen, struct error *err)
{
    struct evaluation counts = {0};
    enum assay_status st = selection_check(selection, set, err);

    for (size_t i = 0; !st && i < set->n_rows; i++) {
        const struct measurement *row = &set->rows[i];
        const struct description *own = &set->descriptions[row->description];

        if (!selection_has(selection, own) ||
            !fingerprint_judges(fingerprint, row->framework))
            continue;
        if (fingerprint_saw(fingerprint, own)) {
            counts.n_seen++;
            continue;
        }
        for (int t = 0; t < N_TARGETS; t++)
            counts.n_rows +=
                !isnan(row->value[t]) &&
                fingerprint_has(fingerprint, row->stage, (enum target)t);
    }
    *n_seen = counts.n_seen;
    return st || counts.n_rows ? st : refuse_nothing(&counts, err);
}

enum assay_status evaluate(struct evaluation *evaluation,
                           const struct fingerprint *fingerprint,
                           const struct data_set *set,
                           const struct selection *selection, bool with_seen,
                           struct error *err)
{
    enum assay_status st = selection_check(selection, set, err);

    for (size_t i = 0; !st && i < set->n_rows; i++) {
        const struct measurement *row = &set->rows[i];
        const struct description *own = &set->descriptions[row->description];

        if (!selection_has(selection, own) ||
            !fingerprint_judges(fingerprint, row->framework))
            continue;
        if (!with_seen && fingerprint_saw(fingerprint, own))
            evaluation->n_seen++;
        else
            st = try_row(evaluation, fingerprint, row, own, err);
    }
    if (!st && !evaluation->n_rows)
        st = refuse_nothing(evaluation, err);
    return st ? st : summarise(evaluation, err);
}

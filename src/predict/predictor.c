/* predict/predictor.c - see predictor.h. */
#include "predict/predictor.h"

#include "base/mem.h"
#include "predict/features.h"

#include <math.h>
#include <string.h>

const char *const method_names[] = {"physical", "forest", "hybrid",
                                    "curve",    "blend",  NULL};

bool method_is_for_all(enum method method)
{
    return method != METHOD_CURVE && method != METHOD_BLEND;
}

/* Weight of the rows against the priors: a single network is fitted closely;
 * for others the model must not bend too far. */
static const double rows_of_family = 200;
static const double rows_of_network[N_TARGETS] = {40, 200};

static const double correction_share = 0.5;
/* Distances count so many times beyond the first and the last level. */
static const double outside_distance = 3;

enum { correction_leaf = 5 };

static void family_release(struct family *family)
{
    mem_free(family->levels);
    mem_free(family->macs);
}

void predictor_release(struct predictor *predictor)
{
    for (size_t i = 0; i < predictor->n_families; i++)
        family_release(&predictor->families[i]);
    mem_free(predictor->families);
    forest_free(predictor->forest);
    forest_free(predictor->correction);
    *predictor = (struct predictor){0};
}

/* ---- forests ------------------------------------------------------------- */

/* The features of all points with a value, and the logarithms that a forest
 * should predict. */
struct feature_table {
    double *x, *y;
    size_t n;
};

static enum assay_status table_make(struct feature_table *table,
                                    const struct data_points *points,
                                    struct error *err)
{
    size_t n = points_n_values(points);

    table->x = mem_array(n * N_FEATURES + 1, sizeof *table->x);
    table->y = mem_array(n + 1, sizeof *table->y);
    if (!table->x || !table->y)
        return error_nomem(err, n * N_FEATURES * sizeof *table->x,
                           "the features of rows");
    for (size_t i = 0; i < points->n; i++) {
        const struct data_point *point = &points->items[i];

        if (point->is_bound)
            continue;
        features_network(point->description, point->batch, points->stage,
                         table->x + table->n * N_FEATURES);
        table->y[table->n++] = log(point->value);
    }
    return ASSAY_OK;
}

static void subtract_physical(struct feature_table *table,
                              const struct physical *physical,
                              const struct data_points *points)
{
    size_t at = 0;

    for (size_t i = 0; i < points->n; i++) {
        const struct data_point *point = &points->items[i];

        if (!point->is_bound)
            table->y[at++] -= log(
                physical_predict(physical, point->description, point->batch));
    }
}

static double batch_macs(const struct description *description, double batch)
{
    return batch * description_macs(description);
}

static void note_reach(struct predictor *predictor,
                       const struct data_points *points)
{
    predictor->least = points_least(points);
    predictor->most = points_most(points);
    predictor->most_macs = 0;
    for (size_t i = 0; i < points->n; i++) {
        const struct data_point *point = &points->items[i];

        if (!point->is_bound)
            predictor->most_macs =
                fmax(predictor->most_macs,
                     batch_macs(point->description, point->batch));
    }
}

enum assay_status predictor_grow(struct predictor *predictor,
                                 const struct data_points *points,
                                 const struct predictor_options *options,
                                 struct error *err)
{
    struct forest_options growth = {.n_trees = options->n_trees,
                                    .seed = options->seed,
                                    .n_threads = options->n_threads};
    struct feature_table table = {0};
    enum assay_status st = table_make(&table, points, err);
    struct forest_rows rows = {table.x, table.y, table.n, N_FEATURES};

    note_reach(predictor, points);
    if (!st)
        st = forest_fit(&rows, &growth, &predictor->forest, err);
    if (!st && options->needs_correction) {
        growth.min_leaf = correction_leaf;
        subtract_physical(&table, &predictor->physical, points);
        st = forest_fit(&rows, &growth, &predictor->correction, err);
    }
    mem_free(table.x);
    mem_free(table.y);
    if (!st && options->needs_doubt)
        st = doubt_find(&predictor->doubt, &predictor->physical, points,
                        rows_of_network[points->target], err);
    return st;
}

/* ---- families ------------------------------------------------------------ */

static enum assay_status points_of_network(const struct data_points *all,
                                           size_t network,
                                           struct data_points *own,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *own = points_like(all);
    for (size_t i = 0; !st && i < all->n; i++) {
        struct data_point point = all->items[i];

        if (point.network != network)
            continue;
        point.network = 0;
        st = points_add(own, &point, err);
    }
    return st;
}

static bool has_level(const struct family *family, double level)
{
    for (size_t i = 0; i < family->n_levels; i++) {
        if (family->levels[i] == level)
            return true;
    }
    return false;
}

/* Keeps levels in ascending order, by insertion: there are few. */
static void note_level(struct family *family,
                       const struct description *description)
{
    double level = (double)description->level;
    size_t at = family->n_levels;

    if (has_level(family, level))
        return;
    for (; at > 0 && family->levels[at - 1] > level; at--) {
        family->levels[at] = family->levels[at - 1];
        family->macs[at] = family->macs[at - 1];
    }
    family->levels[at] = level;
    family->macs[at] = description_macs(description);
    family->n_levels++;
}

static enum assay_status note_levels(struct family *family,
                                     const struct data_points *own,
                                     struct error *err)
{
    family->levels = mem_array(own->n + 1, sizeof *family->levels);
    family->macs = mem_array(own->n + 1, sizeof *family->macs);
    if (!family->levels || !family->macs)
        return error_nomem(err, own->n * sizeof *family->levels,
                           "the levels of a network");
    for (size_t i = 0; i < own->n; i++) {
        if (!own->items[i].is_bound)
            note_level(family, own->items[i].description);
    }
    return ASSAY_OK;
}

static double part_predict(const struct family *family, size_t part,
                           const struct description *description, double batch)
{
    if (part == N_CURVE_AXES)
        return physical_predict(&family->physical, description, batch);
    return curve_predict(&family->curves[part], description_macs(description),
                         family_level(family, description), batch);
}

static void note_bias(struct family *family, const struct data_points *own)
{
    for (size_t part = 0; part <= N_CURVE_AXES; part++) {
        for (size_t i = 0; i < own->n; i++) {
            const struct data_point *point = &own->items[i];

            if (!point->is_bound)
                batch_bias_add(
                    &family->bias[part], point->batch,
                    log(point->value / part_predict(family, part,
                                                    point->description,
                                                    point->batch)));
        }
    }
}

/* all: the model of all networks; NULL if this is the only one. Time is spent
 * in much the same way by all networks; memory outside of tensors is not. */
static enum assay_status family_fit(struct family *family,
                                    const struct data_points *own,
                                    const struct physical *all,
                                    struct error *err)
{
    const struct physical *about = own->target == TARGET_LATENCY ? all : NULL;
    enum assay_status st = ASSAY_OK;

    for (int axis = 0; !st && axis < N_CURVE_AXES; axis++)
        st = curve_fit(&family->curves[axis], own, (enum curve_axis)axis, err);
    if (!st)
        st = physical_fit(&family->physical, own, rows_of_family, about, err);
    if (!st)
        note_bias(family, own);
    return st;
}

static enum assay_status fit_network(struct predictor *predictor,
                                     const struct data_points *points,
                                     size_t network, struct error *err)
{
    struct family *family = &predictor->families[predictor->n_families];
    struct data_points own;
    enum assay_status st = points_of_network(points, network, &own, err);

    *family = (struct family){0};
    if (!st)
        st = note_levels(family, &own, err);
    if (!st && family->n_levels >= 2) {
        family->network = own.items[0].description->network;
        st = family_fit(family, &own,
                        points->n_networks > 1 ? &predictor->physical : NULL,
                        err);
    }
    if (!st && family->network)
        predictor->n_families++;
    else
        family_release(family);
    points_release(&own);
    return st;
}

enum assay_status predictor_add_family(struct predictor *predictor,
                                       const struct data_points *points,
                                       const char *network, struct family **out,
                                       struct error *err)
{
    struct family *family = &predictor->families[predictor->n_families];
    size_t i = 0;
    struct data_points own;
    enum assay_status st;

    *out = NULL;
    while (i < points->n &&
           strcmp(points->items[i].description->network, network) != 0)
        i++;
    if (i == points->n || predictor_family(predictor, network))
        return ASSAY_OK;
    *family = (struct family){.network = points->items[i].description->network,
                              .physical = physical_for(points)};
    st = points_of_network(points, points->items[i].network, &own, err);
    if (!st)
        st = note_levels(family, &own, err);
    points_release(&own);
    if (st || family->n_levels < 2) {
        family_release(family);
        return st;
    }
    predictor->n_families++;
    *out = family;
    return ASSAY_OK;
}

enum assay_status predictor_fit(struct predictor *predictor,
                                const struct data_points *points,
                                const struct predictor_options *options,
                                struct error *err)
{
    enum assay_status st =
        physical_fit(&predictor->physical, points,
                     rows_of_network[points->target], NULL, err);

    predictor->target = points->target;
    predictor->stage = points->stage;
    if (!st)
        st = predictor_grow(predictor, points, options, err);
    if (st || !options->needs_families)
        return st;
    predictor->families =
        mem_array(points->n_networks + 1, sizeof *predictor->families);
    if (!predictor->families)
        return error_nomem(err, sizeof *predictor->families, "a network");
    for (size_t i = 0; !st && i < points->n_networks; i++)
        st = fit_network(predictor, points, i, err);
    return st;
}

/* ---- predicting --------------------------------------------------------- */

const struct family *predictor_family(const struct predictor *predictor,
                                      const char *network)
{
    const char *name = network_canonical(network);

    for (size_t i = 0; i < predictor->n_families; i++) {
        if (strcmp(predictor->families[i].network, name) == 0)
            return &predictor->families[i];
    }
    return NULL;
}

/* Interpolates between the two levels with the nearest multiply-adds, which
 * fall as the level rises. */
static double level_of_macs(const struct family *family, double macs)
{
    size_t last = family->n_levels - 1, i = 0;
    double share;

    if (macs >= family->macs[0])
        return family->levels[0];
    if (macs <= family->macs[last])
        return family->levels[last];
    while (i + 1 < last && family->macs[i + 1] > macs)
        i++;
    share = log(family->macs[i] / macs) /
            log(family->macs[i] / family->macs[i + 1]);
    return family->levels[i] +
           share * (family->levels[i + 1] - family->levels[i]);
}

double family_level(const struct family *family,
                    const struct description *description)
{
    if (description->level >= 0)
        return (double)description->level;
    return level_of_macs(family, description_macs(description));
}

double family_distance(const struct family *family, double level)
{
    bool is_inside = level >= family->levels[0] &&
                     level <= family->levels[family->n_levels - 1];
    double nearest = INFINITY;

    for (size_t i = 0; i < family->n_levels; i++)
        nearest = fmin(nearest, fabs(family->levels[i] - level));
    return is_inside ? nearest : outside_distance * nearest;
}

static double ask_forest(const struct forest *forest, enum stage stage,
                         const struct description *description, double batch)
{
    double x[N_FEATURES];

    features_network(description, batch, stage, x);
    return forest_predict(forest, x);
}

static double log_part(const struct family *family, size_t part,
                       const struct description *description, double batch)
{
    return log(part_predict(family, part, description, batch)) +
           batch_bias_at(&family->bias[part], batch);
}

static double log_curves(const struct family *family,
                         const struct description *description, double batch)
{
    return (log_part(family, CURVE_MACS, description, batch) +
            log_part(family, CURVE_LEVEL, description, batch)) /
           2;
}

static double log_physical(const struct predictor *predictor,
                           const struct family *family,
                           const struct description *description, double batch)
{
    return family ? log_part(family, N_CURVE_AXES, description, batch)
                  : log(physical_predict(&predictor->physical, description,
                                         batch));
}

/* The mean of four, or of three if the forest cannot reach that far. */
static double log_blend(const struct predictor *predictor,
                        const struct family *family,
                        const struct description *description, double batch)
{
    double physical = log_physical(predictor, family, description, batch);
    double sum = 2 * log_curves(family, description, batch) + physical;

    if (exp(physical) < predictor->least || exp(physical) > predictor->most ||
        batch_macs(description, batch) > predictor->most_macs)
        return sum / 3;
    return (sum + ask_forest(predictor->forest, predictor->stage, description,
                             batch)) /
           4;
}

double predictor_doubt(const struct predictor *predictor,
                       const struct description *description, double batch)
{
    return doubt_at(&predictor->doubt, &predictor->physical, description,
                    batch);
}

double predictor_predict(const struct predictor *predictor, enum method method,
                         const struct family *family,
                         const struct description *description, double batch)
{
    enum stage stage = predictor->stage;

    switch (method) {
    case METHOD_FOREST:
        return exp(ask_forest(predictor->forest, stage, description, batch));
    case METHOD_HYBRID:
        return exp(correction_share * ask_forest(predictor->correction, stage,
                                                 description, batch)) *
               physical_predict(&predictor->physical, description, batch);
    case METHOD_CURVE:
        return exp(log_curves(family, description, batch));
    case METHOD_BLEND:
        return exp(log_blend(predictor, family, description, batch));
    case METHOD_PHYSICAL:
    default:
        return exp(log_physical(predictor, family, description, batch));
    }
}

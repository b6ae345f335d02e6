/* predict/fingerprint.c - see fingerprint.h. */
#include "predict/fingerprint.h"

#include "base/mem.h"
#include "base/units.h"
#include "predict/fingerprint_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { min_rows = 8 };

/* ---- making one ---------------------------------------------------------- */

enum assay_status fingerprint_new(struct fingerprint **out, struct error *err)
{
    *out = mem_zalloc(sizeof **out);
    if (!*out)
        return error_nomem(err, sizeof **out, "a fingerprint");
    (*out)->data.capacity_mb = (*out)->data.available_mb = NAN;
    (*out)->data.lane = (*out)->data.multiprocessors = NAN;
    return ASSAY_OK;
}

void fingerprint_free(struct fingerprint *fingerprint)
{
    if (!fingerprint)
        return;
    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            points_release(&fingerprint->parts[s][t].points);
            predictor_release(&fingerprint->parts[s][t].predictor);
        }
    }
    data_set_release(&fingerprint->data);
    mem_free(fingerprint->device);
    mem_free(fingerprint);
}

/* ---- the framework ------------------------------------------------------- */

const char *const print_frameworks[] = {"", "assay", "torch", "mixed", NULL};

enum framework fingerprint_framework(const struct fingerprint *fingerprint)
{
    return fingerprint->framework;
}

const char *fingerprint_framework_name(const struct fingerprint *fingerprint)
{
    return print_frameworks[fingerprint->framework];
}

static bool is_of_framework(const struct fingerprint *fingerprint,
                            enum framework framework)
{
    return fingerprint->framework == framework ||
           fingerprint->framework == N_FRAMEWORKS;
}

bool fingerprint_judges(const struct fingerprint *fingerprint,
                        enum framework framework)
{
    return !framework || !fingerprint->framework ||
           is_of_framework(fingerprint, framework);
}

/* For a message. */
static const char *framework_words(enum framework framework)
{
    return framework ? framework_names[framework] : "an unknown framework";
}

/* Chooses whose rows to learn from. */
static enum assay_status choose_framework(struct fingerprint *fingerprint,
                                          const struct data_set *set,
                                          const struct selection *selection,
                                          enum framework asked,
                                          struct error *err)
{
    bool is_there[N_FRAMEWORKS] = {false};
    enum framework found[N_FRAMEWORKS] = {FRAMEWORK_UNKNOWN};
    size_t n = 0;

    for (size_t i = 0; i < set->n_rows; i++) {
        const struct measurement *row = &set->rows[i];

        if (selection_has(selection, &set->descriptions[row->description]))
            is_there[row->framework] = true;
    }
    for (enum framework f = FRAMEWORK_UNKNOWN; f < N_FRAMEWORKS; f++) {
        if (is_there[f])
            found[n++] = f;
    }
    if (asked == FRAMEWORK_UNKNOWN && n > 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the rows were measured in %s and %s, whose costs "
                         "differ; --framework assay or torch chooses, all "
                         "mixes them",
                         framework_words(found[0]), framework_words(found[1]));
    if (asked != FRAMEWORK_UNKNOWN && asked < N_FRAMEWORKS && !is_there[asked])
        return error_set(err, ASSAY_BAD_INPUT,
                         "no row of the selected networks was measured in %s",
                         framework_words(asked));
    fingerprint->framework = n == 1 ? found[0] : asked;
    return ASSAY_OK;
}

/* Copies the selected networks and rows. */
static enum assay_status copy_selected(struct fingerprint *fingerprint,
                                       const struct data_set *set,
                                       const struct selection *selection,
                                       struct error *err)
{
    struct data_set *data = &fingerprint->data;
    enum assay_status st = ASSAY_OK;

    data->capacity_mb = set->capacity_mb;
    if (str_append(&data->machines, str_text(&set->machines)))
        return error_nomem(err, set->machines.n, "the names of machines");
    data->available_mb = set->available_mb;
    data->multiprocessors = set->multiprocessors;
    /* Only the rows of this program's own kernels have one. */
    data->lane =
        fingerprint->framework == FRAMEWORK_TORCH ? (double)NAN : set->lane;
    for (size_t i = 0; !st && i < set->n_rows; i++) {
        struct measurement row = set->rows[i];
        const struct description *from = &set->descriptions[row.description];
        struct description *to;

        if (!selection_has(selection, from) ||
            !is_of_framework(fingerprint, row.framework))
            continue;
        st = data_set_describe(data, from->network, from->level,
                               &row.description, err);
        if (st)
            break;
        to = &data->descriptions[row.description];
        if (!to->n_convs && !to->n_denses)
            st = description_copy(to, from, err);
        if (!st)
            st = data_set_add_row(data, &row, err);
    }
    return st;
}

enum assay_status fingerprint_sort_rows(struct fingerprint *fingerprint,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; !st && t < N_TARGETS; t++) {
            struct print_part *part = &fingerprint->parts[s][t];

            part->points = (struct data_points){
                .stage = (enum stage)s,
                .target = (enum target)t,
                .lane =
                    isnan(fingerprint->data.lane) ? 0 : fingerprint->data.lane,
                .multiprocessors = isnan(fingerprint->data.multiprocessors)
                                       ? 0
                                       : fingerprint->data.multiprocessors,
                .is_fused = fingerprint->framework == FRAMEWORK_ASSAY};
            st =
                points_take(&part->points, &fingerprint->data, NULL, NULL, err);
            part->is_there = points_n_values(&part->points) >= min_rows;
        }
    }
    return st;
}

static bool has_two_batches(const struct data_points *points)
{
    for (size_t i = 1; i < points->n; i++) {
        if (points->items[i].batch != points->items[0].batch)
            return true;
    }
    return false;
}

static enum assay_status check_rows(const struct fingerprint *fingerprint,
                                    struct error *err)
{
    size_t most = 0;

    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; t < N_TARGETS; t++) {
            const struct print_part *part = &fingerprint->parts[s][t];
            size_t n = points_n_values(&part->points);

            most = n > most ? n : most;
            if (part->is_there && !has_two_batches(&part->points))
                return error_set(err, ASSAY_BAD_INPUT,
                                 "all rows of %s have the same batch size; a "
                                 "fingerprint needs several",
                                 stage_names[s]);
        }
    }
    if (most >= min_rows)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT,
        "too few rows to fit: %zu rows of the selected networks passed; at "
        "least %d are needed, and about forty per network work well",
        most, min_rows);
}

/* ---- ranges -------------------------------------------------------------- */

static void ranges_widen(struct ranges *ranges, const double *x, double batch,
                         bool is_first)
{
    for (size_t f = 0; f < N_FEATURES; f++) {
        ranges->low[f] = is_first ? x[f] : fmin(ranges->low[f], x[f]);
        ranges->high[f] = is_first ? x[f] : fmax(ranges->high[f], x[f]);
    }
    ranges->least_batch = is_first ? batch : fmin(ranges->least_batch, batch);
    ranges->most_batch = is_first ? batch : fmax(ranges->most_batch, batch);
}

static void fingerprint_set_ranges(struct fingerprint *fingerprint)
{
    const struct data_set *data = &fingerprint->data;
    bool is_first[N_STAGES] = {true, true};

    for (size_t i = 0; i < data->n_rows; i++) {
        const struct measurement *row = &data->rows[i];
        double x[N_FEATURES];

        if (row->is_failed)
            continue;
        features_network(&data->descriptions[row->description], 1, row->stage,
                         x);
        ranges_widen(&fingerprint->ranges[row->stage], x, row->batch,
                     is_first[row->stage]);
        is_first[row->stage] = false;
    }
}

/* ---- fitting ------------------------------------------------------------- */

struct predictor_options
fingerprint_growth(const struct fingerprint *fingerprint, int n_threads)
{
    return (struct predictor_options){.seed = fingerprint->seed,
                                      .n_threads = n_threads,
                                      .needs_correction = true,
                                      .needs_families = true,
                                      .needs_doubt = true};
}

static enum assay_status fit_parts(struct fingerprint *fingerprint,
                                   const struct fingerprint_options *options,
                                   struct error *err)
{
    struct predictor_options growth =
        fingerprint_growth(fingerprint, options->n_threads);
    enum assay_status st = ASSAY_OK;

    for (int s = 0; s < N_STAGES; s++) {
        for (int t = 0; !st && t < N_TARGETS; t++) {
            struct print_part *part = &fingerprint->parts[s][t];

            if (!part->is_there)
                continue;
            st = calibrate(&part->points, &growth, options->method,
                           part->calibration, err);
            if (!st)
                st = predictor_fit(&part->predictor, &part->points, &growth,
                                   err);
        }
    }
    return st;
}

enum assay_status fingerprint_gather(const struct data_set *set,
                                     const struct selection *selection,
                                     const struct fingerprint_options *options,
                                     struct fingerprint **out,
                                     struct error *err)
{
    struct fingerprint *fingerprint = NULL;
    enum assay_status st = selection_check(selection, set, err);

    *out = NULL;
    if (!st)
        st = fingerprint_new(&fingerprint, err);
    if (st)
        return st;
    fingerprint->seed = options->seed;
    fingerprint->device = mem_strdup(options->device ? options->device : "");
    if (!fingerprint->device)
        st = error_nomem(err, 16, "the device's name");
    if (!st)
        st = choose_framework(fingerprint, set, selection, options->framework,
                              err);
    if (!st)
        st = copy_selected(fingerprint, set, selection, err);
    if (!st)
        st = fingerprint_sort_rows(fingerprint, err);
    if (!st)
        st = check_rows(fingerprint, err);
    if (st)
        fingerprint_free(fingerprint);
    else
        *out = fingerprint;
    return st;
}

enum assay_status fingerprint_fit(const struct data_set *set,
                                  const struct selection *selection,
                                  const struct fingerprint_options *options,
                                  struct fingerprint **out, struct error *err)
{
    enum assay_status st =
        fingerprint_gather(set, selection, options, out, err);

    if (st)
        return st;
    fingerprint_set_ranges(*out);
    st = fit_parts(*out, options, err);
    if (st) {
        fingerprint_free(*out);
        *out = NULL;
    }
    return st;
}

/* ---- what it knows ------------------------------------------------------- */

const char *fingerprint_device(const struct fingerprint *fingerprint)
{
    return fingerprint->device;
}

double fingerprint_capacity_mb(const struct fingerprint *fingerprint)
{
    return fingerprint->data.capacity_mb;
}

bool fingerprint_has(const struct fingerprint *fingerprint, enum stage stage,
                     enum target target)
{
    return fingerprint->parts[stage][target].is_there;
}

const struct data_set *fingerprint_data(const struct fingerprint *fingerprint)
{
    return &fingerprint->data;
}

size_t fingerprint_row_count(const struct fingerprint *fingerprint,
                             enum stage stage, enum target target)
{
    return points_n_values(&fingerprint->parts[stage][target].points);
}

const struct calibration *
fingerprint_calibration(const struct fingerprint *fingerprint, enum stage stage,
                        enum target target, enum sight sight)
{
    return &fingerprint->parts[stage][target].calibration[sight];
}

const struct physical *
fingerprint_physical(const struct fingerprint *fingerprint, enum stage stage,
                     enum target target)
{
    return &fingerprint->parts[stage][target].predictor.physical;
}

void fingerprint_batches(const struct fingerprint *fingerprint,
                         enum stage stage, double *least, double *most)
{
    *least = fingerprint->ranges[stage].least_batch;
    *most = fingerprint->ranges[stage].most_batch;
}

bool fingerprint_saw(const struct fingerprint *fingerprint,
                     const struct description *description)
{
    return data_set_find(&fingerprint->data, description->network,
                         description->level) != SIZE_MAX;
}

/* ---- predicting ---------------------------------------------------------- */

enum assay_status fingerprint_predict(const struct fingerprint *fingerprint,
                                      enum stage stage, enum target target,
                                      const struct description *description,
                                      double batch, struct estimate *out,
                                      struct error *err)
{
    const struct print_part *part = &fingerprint->parts[stage][target];
    const struct predictor *predictor = &part->predictor;
    const struct family *family =
        predictor_family(predictor, description->network);
    enum sight sight = family && part->calibration[SIGHT_LEVELS].is_known
                           ? SIGHT_LEVELS
                           : SIGHT_NETWORKS;
    const struct calibration *own = &part->calibration[sight];
    const struct physical *physical;
    double width;

    family = sight == SIGHT_LEVELS ? family : NULL;
    *out = (struct estimate){.method = own->method, .sight = sight};
    out->value =
        predictor_predict(predictor, own->method, family, description, batch);
    if (!isfinite(out->value))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the fingerprint makes no finite prediction of the "
                         "%s of %s; fit it again from its data",
                         target_names[target], description->network);
    width =
        family && !calibration_is_doubted(target,
                                          predictor->physical.multiprocessors)
            ? calibration_width(
                  own,
                  family_distance(family, family_level(family, description)))
            : own->width * predictor_doubt(predictor, description, batch);
    out->low = out->value * exp(-width);
    out->high = out->value * exp(width);
    /* What the physical model predicts beyond the ceiling, in proportion. */
    physical = family ? &family->physical : &predictor->physical;
    out->demand = NAN;
    if (target == TARGET_MEMORY)
        out->demand = out->value *
                      physical_demand(physical, description, batch) /
                      physical_predict(physical, description, batch);
    return ASSAY_OK;
}

double fingerprint_usable_mb(const struct fingerprint *fingerprint,
                             enum stage stage, double memory_mb)
{
    const struct print_part *part = &fingerprint->parts[stage][TARGET_MEMORY];
    double capacity = fingerprint->data.capacity_mb;
    double usable = NAN;

    if (part->is_there)
        usable = physical_limit(&part->predictor.physical);
    if (isnan(usable))
        usable = fingerprint->data.available_mb;
    if (isnan(usable))
        usable = capacity;
    if (isnan(memory_mb))
        return usable;
    /* The system reserves the same amount. */
    return isnan(usable) || isnan(capacity)
               ? memory_mb
               : fmax(usable - capacity + memory_mb, 0);
}

enum fit estimate_fits(const struct estimate *estimate, double usable_mb)
{
    double low = estimate->demand * estimate->low / estimate->value;
    double high = estimate->demand * estimate->high / estimate->value;

    if (isnan(usable_mb) || isnan(low))
        return FIT_MAYBE;
    if (high <= usable_mb)
        return FIT_YES;
    return low > usable_mb ? FIT_NO : FIT_MAYBE;
}

/* ---- networks unlike any that were seen --------------------------------- */

/* How many times beyond the range it has seen a fingerprint may predict. */
static const double most_reach = 2;
/* The share of the work that unseen kinds of layers may do. */
static const double most_unseen = 0.05;

struct bounded {
    size_t feature;
    const char *words;
    bool may_be_less; /* fewer of them do no harm */
};

static enum assay_status check_range(const struct ranges *ranges,
                                     const struct bounded *bounded, double x,
                                     struct error *err)
{
    double low = ranges->low[bounded->feature];
    double high = ranges->high[bounded->feature];
    char value[UNITS_MAX], seen[UNITS_MAX];

    if (x > most_reach * high)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s %s, %.1f times the most of any network it was "
                         "made from (%s)",
                         units_count(value, x), bounded->words, x / high,
                         units_count(seen, high));
    if (x * most_reach < low && !bounded->may_be_less)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s %s, while the least of any network it was made "
                         "from is %.1f times that (%s)",
                         units_count(value, x), bounded->words, low / x,
                         units_count(seen, low));
    return ASSAY_OK;
}

static enum assay_status check_kind(const struct ranges *ranges,
                                    const struct bounded *bounded, double share,
                                    struct error *err)
{
    if (share <= most_unseen || ranges->high[bounded->feature] > 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%.0f %% of its multiply-adds are in %s, and none of the "
                     "networks it was made from has any",
                     100 * share, bounded->words);
}

/* The same for layers that no fingerprint can count. */
static enum assay_status check_uncounted(const struct description *description,
                                         struct error *err)
{
    double macs = description->uncounted_macs;
    double share = macs / fmax(macs + description_macs(description), 1);

    if (share <= most_unseen)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%.0f %% of its multiply-adds are in layers that "
                     "predictions do not count (%s)",
                     100 * share, description->uncounted[0].op);
}

enum assay_status fingerprint_check(const struct fingerprint *fingerprint,
                                    enum stage stage,
                                    const struct description *description,
                                    struct error *err)
{
    static const struct bounded sizes[] = {
        {LAYER_GEMM, "multiply-adds per image", false},
        {FEATURE_PARAMETERS, "parameters", true},
        {LAYER_OUTPUT_MAP, "elements of feature maps per image", false},
        {FEATURE_LARGEST_MAPS, "elements of the largest maps", false},
        {FEATURE_N_CONV, "convolutions", true},
    };
    static const struct bounded kinds[] = {
        {FEATURE_MACS_DEPTHWISE, "depthwise convolutions", true},
        {FEATURE_MACS_1X1, "1x1 convolutions", true},
        {FEATURE_MACS_3X3, "3x3 convolutions", true},
        {FEATURE_MACS_DENSE, "fully connected layers", true},
    };
    const struct ranges *ranges = &fingerprint->ranges[stage];
    double x[N_FEATURES];
    enum assay_status st = ASSAY_OK;

    features_network(description, 1, stage, x);
    for (size_t i = 0; !st && i < sizeof sizes / sizeof sizes[0]; i++)
        st = check_range(ranges, &sizes[i], x[sizes[i].feature], err);
    for (size_t i = 0; !st && i < sizeof kinds / sizeof kinds[0]; i++)
        st = check_kind(ranges, &kinds[i],
                        x[kinds[i].feature] / fmax(x[LAYER_GEMM], 1), err);
    if (!st)
        st = check_uncounted(description, err);
    if (st)
        error_context(err, "%s lies outside of what the fingerprint has seen",
                      description->network);
    return st;
}

/* predict/calibration.c - see calibration.h. */
#include "predict/calibration.h"

#include "base/mem.h"
#include "base/vec.h"
#include "run/student.h"

#include <math.h>
#include <stdlib.h>

const char *const sight_names[] = {"levels", "networks", NULL};

static const double coverage = 0.9;
static const double normal_quantile = 1.645; /* of that coverage */

/* How far off predictions of other levels usually are, as logarithms, and how
 * many levels this counts as. */
static const double usual_deviation[N_TARGETS] = {0.055, 0.027};
static const double n_usual = 2;
/* Of a GPU's pool, which most sizes are exact of and a few far off, as much as
 * its rows are taken to be (memory_row_deviation()). */
static const double usual_of_pool = 0.05;

enum {
    most_folds = 5, /* of levels */
    n_trees = 100,  /* of forests that only show how good forests are */
    min_levels = 3  /* of a network, to have an inner one to hold back */
};

/* A row that was held back, and the error of each method on it. */
struct held_back {
    size_t network, group;  /* group: rows that count as one draw */
    double distance;        /* to the nearest level that was kept */
    double doubt;           /* of the model without its network */
    double miss[N_METHODS]; /* logarithms; NAN: not asked */
};

struct trials {
    struct held_back *items;
    size_t n, capacity;
};

bool calibration_is_doubted(enum target target, double multiprocessors)
{
    return multiprocessors > 0 && target == TARGET_LATENCY;
}

static bool is_doubted(const struct data_points *points)
{
    return calibration_is_doubted(points->target, points->multiprocessors);
}

/* ---- one fold ------------------------------------------------------------ */

/* Which points a fold holds back. */
struct fold {
    enum sight sight;
    const struct predictor *all; /* SIGHT_LEVELS: for the levels */
    size_t index, n_folds;
};

/* The index of a level among the inner ones of its network; SIZE_MAX for the
 * first and the last. */
static size_t inner_place(const struct family *family, int64_t level)
{
    for (size_t i = 1; i + 1 < family->n_levels; i++) {
        if (family->levels[i] == (double)level)
            return i - 1;
    }
    return SIZE_MAX;
}

static bool is_held_back(const struct fold *fold,
                         const struct data_point *point)
{
    const struct family *family;
    size_t place;

    if (fold->sight == SIGHT_NETWORKS)
        return point->network == fold->index;
    family = predictor_family(fold->all, point->description->network);
    if (!family || family->n_levels < min_levels)
        return false;
    place = inner_place(family, point->description->level);
    return place != SIZE_MAX && place % fold->n_folds == fold->index;
}

static enum assay_status fold_split(const struct fold *fold,
                                    const struct data_points *points,
                                    struct data_points *rest,
                                    struct data_points *held, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *rest = points_like(points);
    *held = *rest;
    for (size_t i = 0; !st && i < points->n; i++) {
        const struct data_point *point = &points->items[i];

        if (!is_held_back(fold, point))
            st = points_add(rest, point, err);
        else if (!point->is_bound)
            st = points_add(held, point, err);
    }
    return st;
}

static enum assay_status try_point(struct trials *trials,
                                   const struct fold *fold,
                                   const struct predictor *predictor,
                                   const struct data_point *point,
                                   struct error *err)
{
    const struct description *own = point->description;
    const struct family *family =
        fold->sight == SIGHT_LEVELS ? predictor_family(predictor, own->network)
                                    : NULL;
    struct held_back *moved = vec_reserve(trials->items, &trials->capacity,
                                          trials->n + 1, sizeof *moved);
    struct held_back *trial;

    if (!moved)
        return error_nomem(err, sizeof *moved, "a row held back");
    trials->items = moved;
    trial = &moved[trials->n++];
    *trial = (struct held_back){.network = point->network};
    trial->group = fold->sight == SIGHT_LEVELS
                       ? point->network * 128 + (size_t)own->level
                       : point->network;
    if (family)
        trial->distance = family_distance(family, (double)own->level);
    if (predictor->doubt.is_known)
        trial->doubt = predictor_doubt(predictor, own, point->batch);
    for (int m = 0; m < N_METHODS; m++) {
        enum method method = (enum method)m;

        trial->miss[m] = family || method_is_for_all(method)
                             ? log(predictor_predict(predictor, method, family,
                                                     own, point->batch) /
                                   point->measured)
                             : (double)NAN;
    }
    return ASSAY_OK;
}

static enum assay_status try_fold(struct trials *trials,
                                  const struct fold *fold,
                                  const struct data_points *points,
                                  const struct predictor_options *options,
                                  struct error *err)
{
    struct predictor_options wanted = *options;
    struct predictor predictor = {0};
    struct data_points rest, held;
    enum assay_status st = fold_split(fold, points, &rest, &held, err);

    wanted.n_trees = n_trees;
    wanted.needs_correction = true;
    wanted.needs_families = fold->sight == SIGHT_LEVELS;
    wanted.needs_doubt = fold->sight == SIGHT_NETWORKS || is_doubted(points);
    if (!st && held.n && points_n_values(&rest))
        st = predictor_fit(&predictor, &rest, &wanted, err);
    for (size_t i = 0; !st && predictor.forest && i < held.n; i++)
        st = try_point(trials, fold, &predictor, &held.items[i], err);
    predictor_release(&predictor);
    points_release(&rest);
    points_release(&held);
    return st;
}

/* ---- what the trials show ----------------------------------------------- */

/* Every network counts the same, however many rows it has. */
static double mean_error(const struct trials *trials, size_t n_networks,
                         enum method method)
{
    double sum = 0, n_seen = 0;

    for (size_t k = 0; k < n_networks; k++) {
        double own = 0, n = 0;

        for (size_t i = 0; i < trials->n; i++) {
            double miss = trials->items[i].miss[method];

            if (trials->items[i].network != k || isnan(miss))
                continue;
            own += fabs(exp(miss) - 1);
            n++;
        }
        sum += n > 0 ? own / n : 0;
        n_seen += n > 0;
    }
    return n_seen > 0 ? sum / n_seen : (double)NAN;
}

/* A share of the variance comes from the distance between levels. */
static double spread_at(double distance, double reference)
{
    static const double share = 1.0 / 3;
    double ratio = reference > 0 ? distance / reference : 1;

    return sqrt(1 - share + share * ratio * ratio);
}

double calibration_width(const struct calibration *calibration, double distance)
{
    return calibration->width * spread_at(distance, calibration->distance);
}

/* An error in units of the spread expected of it, and how much it counts. */
struct score {
    double size, weight;
};

static int score_order(const void *a, const void *b)
{
    double x = ((const struct score *)a)->size;
    double y = ((const struct score *)b)->size;

    return x < y ? -1 : x > y;
}

/* The rows of a level or network, which are wrong together. */
static size_t rows_of_group(const struct trials *trials, size_t group)
{
    size_t n = 0;

    for (size_t i = 0; i < trials->n; i++)
        n += trials->items[i].group == group;
    return n;
}

/* Every group counts the same; *n_groups is their number. */
static size_t take_scores(const struct trials *trials,
                          const struct calibration *own, bool is_doubtful,
                          struct score *scores, double *n_groups)
{
    size_t n = 0;

    *n_groups = 0;
    for (size_t i = 0; i < trials->n; i++) {
        const struct held_back *trial = &trials->items[i];
        double miss = fabs(trial->miss[own->method]);
        double spread = is_doubtful ? trial->doubt
                                    : spread_at(trial->distance, own->distance);
        double weight = 1 / (double)rows_of_group(trials, trial->group);

        *n_groups += weight;
        if (isfinite(miss / spread))
            scores[n++] = (struct score){miss / spread, weight};
    }
    return n;
}

/* The score that the share `coverage` of the weight stays below. */
static double weighted_quantile(struct score *scores, size_t n)
{
    double all = 0, below = 0;

    qsort(scores, n, sizeof *scores, score_order);
    for (size_t i = 0; i < n; i++)
        all += scores[i].weight;
    for (size_t i = 0; i < n; i++) {
        below += scores[i].weight;
        if (below >= coverage * all)
            return scores[i].size;
    }
    return scores[n - 1].size;
}

/* The rows of a level, or of a network, are wrong together: a group is a draw,
 * and k draws say something about one more up to a factor of sqrt(1 + 1/k).
 *
 * Networks: the doubt makes them comparable. Of one that is like no other it is
 * large, and so is that of models fitted to fewer networks, as those here are.
 * Levels: a network has few to hold back, often three, which may agree by luck;
 * so what is usual counts as much as two more. docs/fingerprint.md has the
 * reasoning. */
static double width_of_scores(struct score *scores, size_t n, enum sight sight,
                              double usual_spread, double n_groups)
{
    double width = n ? weighted_quantile(scores, n) : (double)NAN;

    if (sight == SIGHT_LEVELS) {
        double usual = normal_quantile * usual_spread;

        width = sqrt((n_groups * width * width + n_usual * usual * usual) /
                     (n_groups + n_usual));
    }
    return width * sqrt(1 + 1 / n_groups);
}

static double usual_of(const struct data_points *points)
{
    return points->target == TARGET_MEMORY && points->multiprocessors > 0
               ? usual_of_pool
               : usual_deviation[points->target];
}

static enum assay_status
set_width(struct calibration *own, const struct trials *trials,
          enum sight sight, const struct data_points *points, struct error *err)
{
    bool is_doubtful = sight == SIGHT_NETWORKS || is_doubted(points);
    struct score *scores = mem_array(trials->n + 1, sizeof *scores);
    double n_groups;
    size_t n;

    if (!scores)
        return error_nomem(err, trials->n * sizeof *scores, "intervals");
    n = take_scores(trials, own, is_doubtful, scores, &n_groups);
    own->width = width_of_scores(scores, n, sight,
                                 is_doubtful ? 1 : usual_of(points), n_groups);
    mem_free(scores);
    return ASSAY_OK;
}

/* Whether a method is clearly better than another: all rows of a level (of a
 * network) count as one difference, and the mean difference must be two
 * standard errors from 0. Differences on a few held-back levels are mostly
 * luck. Of networks there are even fewer: 4.3 standard errors for three
 * (Student's distribution). */
static bool trials_prefer(const struct trials *trials, enum sight sight,
                          enum method method, enum method than)
{
    double n_groups = 0, sum = 0, squares = 0, mean, variance, critical;

    for (size_t i = 0; i < trials->n;) {
        size_t group = trials->items[i].group;
        double own = 0, n = 0;

        for (; i < trials->n && trials->items[i].group == group; i++, n++)
            own += fabs(exp(trials->items[i].miss[than]) - 1) -
                   fabs(exp(trials->items[i].miss[method]) - 1);
        sum += own / n;
        squares += own / n * own / n;
        n_groups++;
    }
    if (isnan(sum) || n_groups < 2)
        return false;
    mean = sum / n_groups;
    variance = fmax(squares / n_groups - mean * mean, 0) / (n_groups - 1);
    critical =
        sight == SIGHT_NETWORKS ? student_critical(0.05, n_groups - 1) : 2;
    return mean > critical * sqrt(variance);
}

/* The method known to do well, unless the rows held back say otherwise. Curves
 * are smooth from level to level, which a device that computes whole lanes of
 * channels is not; a GPU even less, and a level with even numbers of channels
 * that is held back does not show it. */
static void choose_method(struct calibration *own, const struct trials *trials,
                          const struct data_points *points, enum sight sight,
                          enum method wanted)
{
    size_t n_networks = points->n_networks;

    own->method = sight == SIGHT_LEVELS && trials->n && points->lane <= 1 &&
                          !(points->multiprocessors > 0)
                      ? METHOD_BLEND
                      : METHOD_PHYSICAL;
    for (int m = 0; m < N_METHODS; m++) {
        own->error[m] = mean_error(trials, n_networks, (enum method)m);
        if (wanted == N_METHODS &&
            (method_is_for_all((enum method)m) ||
             !(points->multiprocessors > 0)) &&
            trials_prefer(trials, sight, (enum method)m, own->method))
            own->method = (enum method)m;
    }
    if (wanted < N_METHODS &&
        (sight == SIGHT_LEVELS || method_is_for_all(wanted)))
        own->method = wanted;
}

/* Which method the trials of all networks but one choose. */
static enum assay_status choose_without(const struct trials *trials,
                                        size_t network,
                                        const struct data_points *points,
                                        enum method wanted, enum method *out,
                                        struct error *err)
{
    struct calibration others = {0};
    struct trials rest = {.items =
                              mem_array(trials->n + 1, sizeof *trials->items)};

    if (!rest.items)
        return error_nomem(err, trials->n * sizeof *rest.items,
                           "rows held back");
    for (size_t i = 0; i < trials->n; i++) {
        if (trials->items[i].network != network)
            rest.items[rest.n++] = trials->items[i];
    }
    choose_method(&others, &rest, points, SIGHT_NETWORKS, wanted);
    *out = others.method;
    mem_free(rest.items);
    return ASSAY_OK;
}

/* The mean relative error of one network. */
static double network_error(const struct trials *trials, size_t network,
                            enum method method)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < trials->n; i++) {
        if (trials->items[i].network != network)
            continue;
        sum += fabs(exp(trials->items[i].miss[method]) - 1);
        n++;
    }
    return n > 0 ? sum / n : (double)NAN;
}

/* No choice is made on the network that is held back. */
static enum assay_status announce(struct calibration *own,
                                  const struct trials *trials,
                                  const struct data_points *points,
                                  enum method wanted, struct error *err)
{
    double sum = 0, squares = 0, n = 0, mean, variance;
    enum assay_status st = ASSAY_OK;

    for (size_t k = 0; !st && k < points->n_networks; k++) {
        enum method method = METHOD_PHYSICAL;
        double error;

        st = choose_without(trials, k, points, wanted, &method, err);
        error = network_error(trials, k, method);
        if (st || isnan(error))
            continue;
        sum += error;
        squares += error * error;
        n++;
    }
    if (st || n == 0)
        return st;
    mean = sum / n;
    own->announced = mean;
    if (n < 2)
        return st;
    variance = fmax(squares / n - mean * mean, 0) * n / (n - 1);
    own->most = mean + student_critical(2 * (1 - coverage), n - 1) *
                           sqrt(variance * (1 + 1 / n));
    return st;
}

static double mean_distance(const struct trials *trials)
{
    double sum = 0;

    for (size_t i = 0; i < trials->n; i++)
        sum += trials->items[i].distance;
    return trials->n ? sum / (double)trials->n : 0;
}

static enum assay_status
calibrate_sight(const struct data_points *points, const struct predictor *all,
                const struct predictor_options *options, enum sight sight,
                enum method wanted, struct calibration *own, struct error *err)
{
    struct trials trials = {0};
    struct fold fold = {.sight = sight, .all = all};
    enum assay_status st = ASSAY_OK;

    *own = (struct calibration){.width = NAN, .announced = NAN, .most = NAN};
    fold.n_folds =
        sight == SIGHT_LEVELS ? (size_t)most_folds : points->n_networks;
    /* A single network would leave nothing to learn from. */
    if (sight == SIGHT_NETWORKS && points->n_networks < 2)
        fold.n_folds = 0;
    for (; !st && fold.index < fold.n_folds; fold.index++)
        st = try_fold(&trials, &fold, points, options, err);
    own->n = trials.n;
    own->is_known = trials.n > 0;
    own->distance = mean_distance(&trials);
    choose_method(own, &trials, points, sight, wanted);
    if (!st && trials.n)
        st = set_width(own, &trials, sight, points, err);
    if (!st && sight == SIGHT_NETWORKS)
        st = announce(own, &trials, points, wanted, err);
    mem_free(trials.items);
    return st;
}

enum assay_status calibrate(const struct data_points *points,
                            const struct predictor_options *options,
                            enum method wanted,
                            struct calibration out[N_SIGHTS], struct error *err)
{
    struct predictor_options families = {.n_trees = 1,
                                         .needs_families = true,
                                         .n_threads = options->n_threads,
                                         .seed = options->seed};
    struct predictor all = {0};
    enum assay_status st = predictor_fit(&all, points, &families, err);

    for (int s = 0; !st && s < N_SIGHTS; s++)
        st = calibrate_sight(points, &all, options, (enum sight)s, wanted,
                             &out[s], err);
    predictor_release(&all);
    return st;
}

/* run/significance.c - is the difference of a row more than noise?
 *
 * docs/compare.md explains it in full. In short: a run's value for a scope is
 * its location. The runs of a side vary around the side's mean, because of the
 * spread of their iterations and because of differences from run to run. With
 * few runs the second part is hard to see in one scope, so its usual size is
 * estimated from all scopes together (empirical Bayes after Smyth 2004); a
 * scope's own runs can raise that, never lower it. */
#include "run/compare_internal.h"
#include "run/student.h"

#include "base/mem.h"

#include <math.h>

/* The other scopes count for at most this many times the degrees of freedom of
 * the scope's own runs. */
static const double most_prior = 4;
static const double as_one = 3;
/* Beyond this it is a trend rather than correlated noise. */
static const double most_correlation = 0.8;

/* Values that should be alike but for noise: the centers of the runs of one
 * side, or the differences within pairs of runs. */
struct sample_stats {
    double n;
    double mean;
    double within;   /* sum of the variances that the iterations explain */
    double between;  /* sum of the squared differences from the mean */
    double within_4; /* for the degrees of freedom of `within` */
};

/* One row while it is tested. */
struct trial {
    bool is_usable;
    double difference;       /* of the logs: B less A */
    double within;           /* variance of one value, on average */
    double between;          /* variance of the values around their mean */
    double df;               /* of `between`; 0 with one value */
    double each;             /* variance of the difference per `between` */
    double se2, se2_squares; /* squared error from the iterations alone, and
                                the sum that gives its degrees of freedom */
};

/* What all rows say about the variation from run to run. */
struct usual {
    double between; /* variance beyond that within the runs */
    double weight;  /* in degrees of freedom */
};

/* What all rows say about how much an iteration resembles the one before, and
 * which centre of the runs is looked at. */
struct persistence {
    enum centre_kind kind;
    double usual; /* correlation */
    double whole; /* inflation of the whole: if it wanders, each scope in it
                     may too, and it shows best in the whole */
};

static const struct location *trial_locations(const struct comparison *c,
                                              size_t row)
{
    return c->locations + row * compare_run_count(c);
}

/* Iterations that resemble the one before carry less information: the factor by
 * which the variance of a location grows (for an AR(1) series). */
static double ar1_inflation(double correlated)
{
    correlated = fmin(fmax(correlated, 0), most_correlation);
    return (1 + correlated) / (1 - correlated);
}

/* The correlation of neighbouring iterations, over all runs; *n counts them. */
static double lag1_correlation(const struct location *runs, size_t n_runs,
                               enum centre_kind kind, double *n)
{
    double sum = 0;

    *n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        *n += (double)runs[i].n;
        sum += (double)runs[i].n * runs[i].centres[kind].lag1;
    }
    return *n > 0 ? fmin(fmax(sum / *n, -1), 1) : 0;
}

static struct persistence persistence_of(const struct comparison *c,
                                         enum centre_kind kind)
{
    size_t n_runs = compare_run_count(c);
    double n, rows = 0, sum = 0;

    for (size_t i = 0; i < c->n_rows; i++) {
        double seen = lag1_correlation(trial_locations(c, i), n_runs, kind, &n);

        if (n > 0) {
            sum += seen;
            rows++;
        }
    }
    return (struct persistence){
        .kind = kind,
        .usual = rows > 0 ? sum / rows : 0,
        .whole = ar1_inflation(
            lag1_correlation(trial_locations(c, 0), n_runs, kind, &n)),
    };
}

/* The inflation of a scope. Its own correlation is poorly known, so the usual
 * one counts unless its own is clearly higher; plus, to be safe, one standard
 * error. */
static double own_inflation(const struct location *runs, size_t n_runs,
                            const struct persistence *persistence)
{
    double n, reach;
    double seen = lag1_correlation(runs, n_runs, persistence->kind, &n);

    if (n == 0)
        return 1;
    reach = sqrt((1 - seen * seen) / n);
    return ar1_inflation(fmax(persistence->usual, seen - 2 * reach) + reach);
}

/* The variance of the center of one run that its iterations explain. */
static double trial_variance(const struct comparison *c, size_t row, size_t run,
                             double factor,
                             const struct persistence *persistence)
{
    const struct location *location = &trial_locations(c, row)[run];
    double own = location->centres[persistence->kind].variance;
    double whole =
        trial_locations(c, 0)[run].centres[persistence->kind].variance;
    double wander = (persistence->whole - 1) * fmin(whole, own);

    return own + location->tick + fmax((factor - 1) * own, wander);
}

static void sample_add(struct sample_stats *sample, double value,
                       double variance, double squares)
{
    double away = value - sample->mean;

    sample->n++;
    sample->mean += away / sample->n;
    sample->between += away * (value - sample->mean);
    sample->within += variance;
    sample->within_4 += squares;
}

static struct sample_stats side_of(const struct comparison *c, size_t row,
                                   size_t first, size_t end,
                                   const struct persistence *persistence)
{
    const struct location *runs = trial_locations(c, row);
    double factor = own_inflation(runs, compare_run_count(c), persistence);
    struct sample_stats side = {0};

    for (size_t i = first; i < end; i++) {
        double variance = trial_variance(c, row, i, factor, persistence);
        const struct centre *centre = &runs[i].centres[persistence->kind];

        if (runs[i].n)
            sample_add(&side, centre->log, variance,
                       variance * variance * factor / centre->df);
    }
    return side;
}

/* Sides of runs that have nothing to do with each other. */
static struct trial trial_of_sides(const struct comparison *c, size_t row,
                                   const struct persistence *persistence)
{
    size_t n_a = c->a.n_runs, n = compare_run_count(c);
    struct sample_stats a = side_of(c, row, 0, n_a, persistence);
    struct sample_stats b = side_of(c, row, n_a, n, persistence);
    struct trial trial = {
        .is_usable = a.n > 0 && b.n > 0,
        .difference = b.mean - a.mean,
        .within = (a.within + b.within) / (a.n + b.n),
        .df = a.n + b.n - 2,
        .each = 1 / a.n + 1 / b.n,
        .se2 = a.within / (a.n * a.n) + b.within / (b.n * b.n),
        .se2_squares = a.within_4 / pow(a.n, 4) + b.within_4 / pow(b.n, 4)};

    if (trial.df > 0)
        trial.between = (a.between + b.between) / trial.df;
    return trial;
}

/* Pairs of runs that were measured one after the other: what slows down both
 * of a pair does not count. */
static struct trial trial_of_pairs(const struct comparison *c, size_t row,
                                   const struct persistence *persistence)
{
    const struct location *runs = trial_locations(c, row);
    size_t n = c->a.n_runs;
    double factor = own_inflation(runs, compare_run_count(c), persistence);
    struct sample_stats pairs = {0};
    struct trial trial;

    for (size_t i = 0; i < n; i++) {
        const struct centre *a = &runs[i].centres[persistence->kind];
        const struct centre *b = &runs[n + i].centres[persistence->kind];
        double var_a = trial_variance(c, row, i, factor, persistence);
        double var_b = trial_variance(c, row, n + i, factor, persistence);

        if (runs[i].n && runs[n + i].n)
            sample_add(&pairs, b->log - a->log, var_a + var_b,
                       factor *
                           (var_a * var_a / a->df + var_b * var_b / b->df));
    }
    trial = (struct trial){.is_usable = pairs.n > 0,
                           .difference = pairs.mean,
                           .within = pairs.within / pairs.n,
                           .df = pairs.n - 1,
                           .each = 1 / pairs.n,
                           .se2 = pairs.within / (pairs.n * pairs.n),
                           .se2_squares = pairs.within_4 / pow(pairs.n, 4)};
    if (trial.df > 0)
        trial.between = pairs.between / trial.df;
    return trial;
}

static struct trial trial_of(const struct comparison *c, size_t row,
                             const struct persistence *persistence)
{
    struct trial trial = c->are_pairs ? trial_of_pairs(c, row, persistence)
                                      : trial_of_sides(c, row, persistence);

    return trial.is_usable ? trial : (struct trial){0};
}

static bool trial_has_between(const struct trial *trial)
{
    return trial->df > 0 && trial->within > 0;
}

/* How much larger the variation between runs is, on average over the rows, than
 * the iterations' own plus `between` would make it. */
static double trials_mean_excess(const struct trial *trials, size_t n,
                                 double between)
{
    double sum = 0, count = 0;

    for (size_t i = 0; i < n; i++) {
        if (trial_has_between(&trials[i])) {
            sum += trials[i].between / (between + trials[i].within);
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

/* The variance between runs that makes the rows vary as much as they do
 * (Paule, Mandel 1982); 0 if the iterations explain it all. */
static double trials_usual_between(const struct trial *trials, size_t n)
{
    double low = 0, high = 1e-12;

    if (trials_mean_excess(trials, n, 0) <= 1)
        return 0;
    while (trials_mean_excess(trials, n, high) > 1)
        high *= 4;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;

        if (trials_mean_excess(trials, n, middle) > 1)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The more alike the rows are in how their runs vary, the more the usual
 * variance counts: the logs of such variances spread by the trigamma of half
 * their degrees of freedom (Smyth 2004); anything beyond that is a real
 * difference between rows. */
static double trials_usual_weight(const struct trial *trials, size_t n,
                                  double between)
{
    double count = 0, mean = 0, squares = 0, expected = 0, df = 0, beyond;

    for (size_t i = 0; i < n; i++) {
        double ratio, value, away;

        if (!trial_has_between(&trials[i]))
            continue;
        ratio = trials[i].between / (between + trials[i].within);
        value = log(fmax(ratio, 1e-6));
        count++;
        away = value - mean;
        mean += away / count;
        squares += away * (value - mean);
        expected += trigamma(trials[i].df / 2);
        df += trials[i].df;
    }
    if (count < 2)
        return 0;
    df = most_prior * df / count;
    beyond = squares / (count - 1) - expected / count;
    while (df > 0.5 && trigamma(df / 2) < beyond)
        df /= 1.25;
    return fmin(df, most_prior * (count - 1));
}

static struct usual trials_usual(const struct trial *trials, size_t n)
{
    struct usual usual = {.between = trials_usual_between(trials, n)};

    usual.weight = trials_usual_weight(trials, n, usual.between);
    return usual;
}

static double trial_fewest_iterations(const struct comparison *c, size_t row)
{
    const struct location *runs = trial_locations(c, row);
    double fewest = INFINITY;

    for (size_t i = 0; i < compare_run_count(c); i++) {
        if (runs[i].n)
            fewest = fmin(fewest, (double)runs[i].n);
    }
    return fewest;
}

/* The standard error of the difference and its degrees of freedom. */
static struct row_test trial_test(const struct trial *trial,
                                  const struct usual *usual)
{
    double one_value = trial->within, moderated;
    struct row_test test = {
        .is_tested = true,
        .se = sqrt(trial->se2),
        .df = fmax(1, trial->se2 * trial->se2 / trial->se2_squares),
        .side_df = INFINITY};

    if (trial->df <= 0)
        return test;
    test.side_df = trial->df;
    moderated = (usual->weight * (usual->between + trial->within) +
                 trial->df * trial->between) /
                (usual->weight + trial->df);
    one_value = fmax(one_value, fmax(moderated, trial->between));
    if (one_value > trial->within) {
        test.se = sqrt(trial->se2 + (one_value - trial->within) * trial->each);
        test.df = fmin(test.df, trial->df + usual->weight);
    }
    return test;
}

/* Among how many rows a row may err: half of the risk is the whole's, which is
 * what a gate judges first, and the other rows share the other half. */
static double row_rivals(const struct comparison *c, size_t row)
{
    double others = (double)c->n_tested - 1;

    return c->n_tested == 1 ? 1 : row == 0 ? 2 : 2 * others;
}

/* A row must be too different both for rows that vary independently and for
 * rows that all vary as one. The second matters with few runs, when the usual
 * variance may come from a single accident; it gets a third of the risk,
 * because the noise of many rows comes on top. */
static void row_judge(struct compare_row *row, const struct row_test *test,
                      double difference, double rivals, double alpha)
{
    double t = difference == 0 ? 0 : difference / test->se;
    double reach = student_critical(alpha / rivals, test->df);

    row->ratio = exp(difference);
    row->p_raw = student_tails(t, test->df);
    row->p = fmin(1, row->p_raw * rivals);
    if (isfinite(test->side_df)) {
        row->p =
            fmax(row->p, fmin(1, as_one * student_tails(t, test->side_df)));
        reach = fmax(reach, student_critical(alpha / as_one, test->side_df));
    }
    row->low = exp(difference - reach * test->se);
    row->high = exp(difference + reach * test->se);
}

static enum assay_status significance_judge(struct comparison *c,
                                            enum centre_kind kind,
                                            struct compare_row *rows,
                                            struct row_test *tests,
                                            struct error *err)
{
    struct trial *trials = mem_array(c->n_rows, sizeof *trials);
    struct persistence persistence = persistence_of(c, kind);
    struct usual usual;

    if (!trials)
        return error_nomem(err, c->n_rows * sizeof *trials,
                           "the tests of a comparison");
    c->n_tested = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        trials[i] = trial_of(c, i, &persistence);
        c->n_tested += trials[i].is_usable;
    }
    usual = trials_usual(trials, c->n_rows);
    for (size_t i = 0; i < c->n_rows; i++) {
        if (!trials[i].is_usable)
            continue;
        tests[i] = trial_test(&trials[i], &usual);
        tests[i].n = trial_fewest_iterations(c, i);
        row_judge(&rows[i], &tests[i], trials[i].difference, row_rivals(c, i),
                  (1 - c->confidence) / (double)c->n_looks);
    }
    mem_free(trials);
    return ASSAY_OK;
}

/* Widens the interval of the means to include that of the trimmed means. */
static void row_join(struct compare_row *row, const struct compare_row *trimmed,
                     double alpha)
{
    bool is_one_way = (row->ratio > 1) == (trimmed->ratio > 1);

    row->low = fmin(row->low, trimmed->low);
    row->high = fmax(row->high, trimmed->high);
    row->p = is_one_way ? fmax(row->p, trimmed->p) : 1;
    row->p_raw = is_one_way ? fmax(row->p_raw, trimmed->p_raw) : 1;
    row->is_significant = row->p <= alpha;
}

enum assay_status significance_test(struct comparison *c, struct error *err)
{
    struct compare_row *trimmed = mem_array(c->n_rows, sizeof *trimmed);
    struct row_test *tests = mem_array(c->n_rows, sizeof *tests);
    enum assay_status st = ASSAY_OK;

    if (!trimmed || !tests)
        st = error_nomem(err, c->n_rows * sizeof *trimmed,
                         "the tests of a comparison");
    if (!st)
        st = significance_judge(c, CENTRE_TRIMMED, trimmed, tests, err);
    if (!st)
        st = significance_judge(c, CENTRE_MEAN, c->rows, c->tests, err);
    for (size_t i = 0; !st && i < c->n_rows; i++) {
        if (!c->tests[i].is_tested)
            continue;
        row_join(&c->rows[i], &trimmed[i],
                 (1 - c->confidence) / (double)c->n_looks);
        c->rows[i].n_least = (size_t)c->tests[i].n;
    }
    mem_free(trimmed);
    mem_free(tests);
    return st;
}

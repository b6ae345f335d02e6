/* run/significance.c - is the difference of a row more than noise?
 *
 * docs/compare.md tells the whole of it. In short: a run's value of a scope is
 * its location; the runs of a side vary around the side's mean by what their
 * iterations leave open and by what differs from run to run. With few runs
 * the second part is hard to see in one scope, so all scopes together say what
 * is usual (an empirical Bayes estimate after Smyth 2004); a scope's own runs
 * may say more than that, never less. */
#include "run/compare_internal.h"
#include "run/student.h"

#include "base/mem.h"

#include <math.h>

/* The other scopes count for at most so many times what the scope's own runs
 * say about their variation. */
static const double most_prior = 4;
static const double as_one = 3;
/* Beyond this it is not noise with a memory but a trend. */
static const double most_correlation = 0.8;

/* The usable runs of one side. */
struct side {
    double n;
    double mean;     /* of their centers */
    double within;   /* sum of the variances of their centers */
    double between;  /* sum of the squared differences from the mean */
    double within_4; /* what gives `within` its degrees of freedom */
};

/* One row while it is tested. */
struct trial {
    struct side a, b;
    double within;  /* variance of one run's center, on average */
    double between; /* variance of the centers within the sides */
    double df;      /* of `between`; 0 with one run a side */
};

/* What all rows say about the variation from run to run. */
struct usual {
    double between; /* variance beyond that within the runs */
    double weight;  /* for how many of a row's own degrees it counts */
};

/* What all rows say about how iterations resemble the one before. */
struct persistence {
    double usual; /* correlation */
    double whole; /* inflation of the whole: where it wanders, each scope in it
                     may, and in the whole it shows best */
};

static const struct location *row_locations(const struct comparison *c,
                                            size_t row)
{
    return c->locations + row * compare_run_count(c);
}

/* Iterations that resemble the one before hold less news: by how much the
 * variance of a location grows (of an AR(1) series). */
static double inflation(double correlated)
{
    correlated = fmin(fmax(correlated, 0), most_correlation);
    return (1 + correlated) / (1 - correlated);
}

/* The correlation of neighbouring iterations, over all runs; *n counts them. */
static double correlation(const struct location *runs, size_t n_runs, double *n)
{
    double sum = 0;

    *n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        *n += (double)runs[i].n;
        sum += (double)runs[i].n * runs[i].lag1;
    }
    return *n > 0 ? fmin(fmax(sum / *n, -1), 1) : 0;
}

static struct persistence persistence_of(const struct comparison *c)
{
    size_t n_runs = compare_run_count(c);
    double n, rows = 0, sum = 0;

    for (size_t i = 0; i < c->n_rows; i++) {
        double seen = correlation(row_locations(c, i), n_runs, &n);

        if (n > 0) {
            sum += seen;
            rows++;
        }
    }
    return (struct persistence){
        .usual = rows > 0 ? sum / rows : 0,
        .whole = inflation(correlation(row_locations(c, 0), n_runs, &n)),
    };
}

/* The inflation of a scope. One look at its correlation is a poor one, so the
 * usual one counts, unless its own is clearly higher; and to be safe a
 * standard error more. */
static double own_inflation(const struct location *runs, size_t n_runs,
                            double usual)
{
    double n, seen = correlation(runs, n_runs, &n), reach;

    if (n == 0)
        return 1;
    reach = sqrt((1 - seen * seen) / n);
    return inflation(fmax(usual, seen - 2 * reach) + reach);
}

static struct side side_of(const struct comparison *c, size_t row, size_t first,
                           size_t end, const struct persistence *persistence)
{
    const struct location *runs = row_locations(c, row);
    const struct location *wholes = row_locations(c, 0);
    double factor =
        own_inflation(runs, compare_run_count(c), persistence->usual);
    struct side side = {0};

    for (size_t i = first; i < end; i++) {
        if (runs[i].n) {
            side.n++;
            side.mean += (runs[i].center - side.mean) / side.n;
        }
    }
    for (size_t i = first; i < end; i++) {
        double away = runs[i].center - side.mean, wander, variance;

        if (!runs[i].n)
            continue;
        wander = (persistence->whole - 1) *
                 fmin(wholes[i].variance, runs[i].variance);
        variance = runs[i].variance + runs[i].tick +
                   fmax((factor - 1) * runs[i].variance, wander);
        side.within += variance;
        side.within_4 += variance * variance * factor / runs[i].df;
        side.between += away * away;
    }
    return side;
}

static struct trial trial_of(const struct comparison *c, size_t row,
                             const struct persistence *persistence)
{
    size_t n_a = c->a.n_runs, n = compare_run_count(c);
    struct trial trial = {.a = side_of(c, row, 0, n_a, persistence),
                          .b = side_of(c, row, n_a, n, persistence)};
    double n_runs = trial.a.n + trial.b.n;

    if (trial.a.n == 0 || trial.b.n == 0)
        return (struct trial){0};
    trial.within = (trial.a.within + trial.b.within) / n_runs;
    trial.df = n_runs - 2;
    if (trial.df > 0)
        trial.between = (trial.a.between + trial.b.between) / trial.df;
    return trial;
}

static bool has_between(const struct trial *trial)
{
    return trial->df > 0 && trial->within > 0;
}

/* How much larger the variation between the runs is, on average over the rows,
 * than `between` beyond the iterations' own would make it. */
static double mean_excess(const struct trial *trials, size_t n, double between)
{
    double sum = 0, count = 0;

    for (size_t i = 0; i < n; i++) {
        if (has_between(&trials[i])) {
            sum += trials[i].between / (between + trials[i].within);
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

/* The variance between runs that makes the rows vary as much as they do
 * (Paule, Mandel 1982), 0 where the iterations explain it all. */
static double usual_between(const struct trial *trials, size_t n)
{
    double low = 0, high = 1e-12;

    if (mean_excess(trials, n, 0) <= 1)
        return 0;
    while (mean_excess(trials, n, high) > 1)
        high *= 4;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;

        if (mean_excess(trials, n, middle) > 1)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The more alike the rows are in how their runs vary, the more the usual
 * variance counts: the spread of the logs of such variances is trigamma of
 * half their degrees of freedom (Smyth 2004), what is beyond that tells the
 * rows apart. */
static double usual_weight(const struct trial *trials, size_t n, double between)
{
    double count = 0, mean = 0, squares = 0, expected = 0, df = 0, beyond;

    for (size_t i = 0; i < n; i++) {
        double ratio, value, away;

        if (!has_between(&trials[i]))
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

static struct usual usual_of(const struct trial *trials, size_t n)
{
    struct usual usual = {.between = usual_between(trials, n)};

    usual.weight = usual_weight(trials, n, usual.between);
    return usual;
}

static double fewest_iterations(const struct comparison *c, size_t row)
{
    const struct location *runs = row_locations(c, row);
    double fewest = INFINITY;

    for (size_t i = 0; i < compare_run_count(c); i++) {
        if (runs[i].n)
            fewest = fmin(fewest, (double)runs[i].n);
    }
    return fewest;
}

/* The standard error of the difference and its degrees of freedom. */
static struct row_test test_of(const struct trial *trial,
                               const struct usual *usual)
{
    double variance_a = trial->a.within / (trial->a.n * trial->a.n);
    double variance_b = trial->b.within / (trial->b.n * trial->b.n);
    double within = variance_a + variance_b;
    double within_4 = trial->a.within_4 / pow(trial->a.n, 4) +
                      trial->b.within_4 / pow(trial->b.n, 4);
    double one_run = trial->within, moderated;
    struct row_test test = {.is_tested = true,
                            .se = sqrt(within),
                            .df = fmax(1, within * within / within_4),
                            .side_df = INFINITY};

    if (trial->df <= 0)
        return test;
    test.side_df = trial->df;
    moderated = (usual->weight * (usual->between + trial->within) +
                 trial->df * trial->between) /
                (usual->weight + trial->df);
    one_run = fmax(one_run, fmax(moderated, trial->between));
    if (one_run > trial->within) {
        test.se = sqrt(within + (one_run - trial->within) *
                                    (1 / trial->a.n + 1 / trial->b.n));
        test.df = fmin(test.df, trial->df + usual->weight);
    }
    return test;
}

/* Two questions, and the row must pass both: is it too much for n_tested rows
 * that vary independently, and for rows that all vary as one? The second
 * matters with few runs, where the usual variance may be one look at one
 * chance; it gets a third of the risk because the noise of many rows comes on
 * top. */
static void judge(struct compare_row *row, const struct row_test *test,
                  double difference, double n_tested, double alpha)
{
    double t = difference == 0 ? 0 : difference / test->se;
    double reach = student_critical(alpha / n_tested, test->df);

    row->ratio = exp(difference);
    row->p_raw = student_tails(t, test->df);
    row->p = fmin(1, row->p_raw * n_tested);
    if (isfinite(test->side_df)) {
        row->p =
            fmax(row->p, fmin(1, as_one * student_tails(t, test->side_df)));
        reach = fmax(reach, student_critical(alpha / as_one, test->side_df));
    }
    row->low = exp(difference - reach * test->se);
    row->high = exp(difference + reach * test->se);
    row->is_significant = row->p <= alpha;
}

enum assay_status significance_test(struct comparison *c, struct error *err)
{
    struct trial *trials = mem_array(c->n_rows, sizeof *trials);
    struct persistence persistence = persistence_of(c);
    struct usual usual;

    if (!trials)
        return error_nomem(err, c->n_rows * sizeof *trials,
                           "the tests of a comparison");
    for (size_t i = 0; i < c->n_rows; i++) {
        trials[i] = trial_of(c, i, &persistence);
        c->n_tested += trials[i].a.n > 0;
    }
    usual = usual_of(trials, c->n_rows);
    for (size_t i = 0; i < c->n_rows; i++) {
        if (trials[i].a.n == 0)
            continue;
        c->tests[i] = test_of(&trials[i], &usual);
        c->tests[i].n = fewest_iterations(c, i);
        judge(&c->rows[i], &c->tests[i], trials[i].b.mean - trials[i].a.mean,
              (double)c->n_tested, 1 - c->confidence);
    }
    mem_free(trials);
    return ASSAY_OK;
}

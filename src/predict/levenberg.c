/* predict/levenberg.c - see physical_internal.h. */
#include "predict/physical_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { most_tries = 12 }; /* attempts with more damping per iteration */

double least_squares_huber(double r, double c)
{
    return copysign(sqrt(2 * c * (sqrt(c * c + r * r) - c)), r);
}

struct solving {
    const struct least_squares *problem;
    size_t n, m; /* parameters, residuals */
    double *now, *next, *jacobian;
    double normal[LEVENBERG_MAX_PARAMETERS][LEVENBERG_MAX_PARAMETERS];
    double gradient[LEVENBERG_MAX_PARAMETERS];
    double cost, damping;
};

static double sum_of_squares(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sum;
}

static void evaluate(const struct solving *s, const double *parameters,
                     double *out)
{
    s->problem->residuals(s->problem->context, parameters, out);
}

/* One column per parameter. */
static void differentiate(struct solving *s, const double *parameters)
{
    double moved[LEVENBERG_MAX_PARAMETERS];

    memcpy(moved, parameters, s->n * sizeof *moved);
    for (size_t j = 0; j < s->n; j++) {
        double step = 1e-6 * fmax(1, fabs(parameters[j]));
        double *column = s->jacobian + j * s->m;

        moved[j] = parameters[j] + step;
        evaluate(s, moved, column);
        for (size_t i = 0; i < s->m; i++)
            column[i] = (column[i] - s->now[i]) / step;
        moved[j] = parameters[j];
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void make_normal(struct solving *s)
{
    for (size_t j = 0; j < s->n; j++) {
        const double *column = s->jacobian + j * s->m;

        for (size_t k = 0; k <= j; k++)
            s->normal[j][k] = s->normal[k][j] =
                dot(column, s->jacobian + k * s->m, s->m);
        s->gradient[j] = dot(column, s->now, s->m);
    }
}

/* Solves the damped normal equations by Cholesky; false if they are not
 * positive definite. */
static bool solve_step(const struct solving *s, double *step)
{
    double l[LEVENBERG_MAX_PARAMETERS][LEVENBERG_MAX_PARAMETERS];

    for (size_t j = 0; j < s->n; j++) {
        for (size_t k = 0; k <= j; k++) {
            double sum = s->normal[j][k] - dot(l[j], l[k], k);

            if (j != k) {
                l[j][k] = sum / l[k][k];
                continue;
            }
            sum += s->damping * s->normal[j][j] + 1e-12;
            if (!(sum > 0))
                return false;
            l[j][j] = sqrt(sum);
        }
    }
    for (size_t j = 0; j < s->n; j++)
        step[j] = (s->gradient[j] - dot(l[j], step, j)) / l[j][j];
    for (size_t j = s->n; j-- > 0;) {
        for (size_t k = j + 1; k < s->n; k++)
            step[j] -= l[k][j] * step[k];
        step[j] /= l[j][j];
    }
    return true;
}

/* Takes steps with more and more damping until one goes downhill. */
static bool descend(struct solving *s, double *parameters, double *gain)
{
    double step[LEVENBERG_MAX_PARAMETERS], tried[LEVENBERG_MAX_PARAMETERS];

    for (int i = 0; i < most_tries; i++, s->damping *= 4) {
        double cost;

        if (!solve_step(s, step))
            continue;
        for (size_t j = 0; j < s->n; j++)
            tried[j] = parameters[j] - step[j];
        evaluate(s, tried, s->next);
        cost = sum_of_squares(s->next, s->m);
        if (!(cost < s->cost))
            continue;
        *gain = (s->cost - cost) / s->cost;
        memcpy(parameters, tried, s->n * sizeof *parameters);
        memcpy(s->now, s->next, s->m * sizeof *s->now);
        s->cost = cost;
        s->damping = fmax(s->damping / 5, 1e-9);
        return true;
    }
    return false;
}

enum assay_status least_squares_solve(const struct least_squares *problem,
                                      double *parameters, double *cost,
                                      struct error *err)
{
    struct solving s = {.problem = problem,
                        .n = problem->n_parameters,
                        .m = problem->n_residuals,
                        .damping = 1e-2};
    int left = problem->max_iterations ? problem->max_iterations : 100;
    double gain = 1;

    s.now = mem_array(s.m + 1, sizeof *s.now);
    s.next = mem_array(s.m + 1, sizeof *s.next);
    s.jacobian = mem_array(s.m * s.n + 1, sizeof *s.jacobian);
    if (s.now && s.next && s.jacobian) {
        evaluate(&s, parameters, s.now);
        s.cost = sum_of_squares(s.now, s.m);
        for (; left-- > 0 && gain > 1e-7;) {
            differentiate(&s, parameters);
            make_normal(&s);
            if (!descend(&s, parameters, &gain))
                break;
        }
    }
    mem_free(s.now);
    mem_free(s.next);
    mem_free(s.jacobian);
    if (!s.now || !s.next || !s.jacobian)
        return error_nomem(err, s.m * s.n * sizeof *s.jacobian, "a fit");
    if (cost)
        *cost = s.cost;
    return ASSAY_OK;
}

/* run/content_fit.c - time as a sum of what the photographs have; see
 * content.h.
 *
 * Gram and Schmidt's way: each term is freed of the mean and of the terms
 * before it, so that one which adds nothing shows itself by what is left. */
#include "run/content.h"

#include <math.h>
#include <stdbool.h>

enum { photos_each = 3 }; /* for each number that is to be found */

/* What is left of a term, relative to its size, where it is only rounding. */
static const double nothing_left = 1e-6;

/* The terms as combinations of those before: x[i] = q[i] + sum r[i][k] q[k]. */
struct basis {
    const struct content_photo *photos;
    size_t n;
    bool is_used[N_CONTENT_TERMS];
    double mean[N_CONTENT_TERMS];
    double r[N_CONTENT_TERMS][N_CONTENT_TERMS];
    double norm[N_CONTENT_TERMS]; /* squared, of what is left */
};

static double mean_of(const struct content_photo *photos, size_t n, int term)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += term < 0 ? photos[i].median_ns : photos[i].terms[term];
    return sum / (double)n;
}

/* What is left of a term for one photograph. */
static double left_of(const struct basis *basis, size_t photo, int term)
{
    double left = basis->photos[photo].terms[term] - basis->mean[term];

    for (int k = 0; k < term; k++) {
        if (basis->is_used[k])
            left -= basis->r[term][k] * left_of(basis, photo, k);
    }
    return left;
}

static void add_term(struct basis *basis, int term)
{
    double size = 0, left = 0;

    basis->mean[term] = mean_of(basis->photos, basis->n, term);
    if (isnan(basis->mean[term]))
        return;
    for (int k = 0; k < term; k++) {
        double product = 0;

        for (size_t i = 0; basis->is_used[k] && i < basis->n; i++)
            product += basis->photos[i].terms[term] * left_of(basis, i, k);
        basis->r[term][k] = basis->is_used[k] ? product / basis->norm[k] : 0;
    }
    for (size_t i = 0; i < basis->n; i++) {
        double value = left_of(basis, i, term);

        size += basis->photos[i].terms[term] * basis->photos[i].terms[term];
        left += value * value;
    }
    basis->norm[term] = left;
    basis->is_used[term] = left > nothing_left * nothing_left * size;
}

static size_t count_used(const struct basis *basis)
{
    size_t n = 0;

    for (int term = 0; term < N_CONTENT_TERMS; term++)
        n += basis->is_used[term];
    return n;
}

/* From coefficients of what is left to those of the terms themselves: the last
 * is its own, and each takes its part of the ones before. */
static void solve(const struct basis *basis, const double *along,
                  struct content_fit *fit)
{
    for (int term = N_CONTENT_TERMS - 1; term >= 0; term--) {
        double value = along[term];

        fit->terms_ns[term] = NAN;
        if (!basis->is_used[term])
            continue;
        for (int k = term + 1; k < N_CONTENT_TERMS; k++) {
            if (basis->is_used[k])
                value -= basis->r[k][term] * fit->terms_ns[k];
        }
        fit->terms_ns[term] = value;
        fit->base_ns -= value * basis->mean[term];
    }
}

struct content_fit content_fit(const struct content_photo *photos, size_t n)
{
    struct content_fit fit = {.n = n, .r2 = NAN};
    struct basis basis = {.photos = photos, .n = n};
    double along[N_CONTENT_TERMS] = {0}, mean, spread = 0, explained = 0;

    if (n == 0)
        return (struct content_fit){0};
    for (int term = 0; term < N_CONTENT_TERMS; term++)
        add_term(&basis, term);
    if (count_used(&basis) == 0 || n < photos_each * (1 + count_used(&basis)))
        return (struct content_fit){0};
    mean = mean_of(photos, n, -1);
    for (size_t i = 0; i < n; i++) {
        double time = photos[i].median_ns - mean;

        spread += time * time;
        for (int term = 0; term < N_CONTENT_TERMS; term++) {
            if (basis.is_used[term])
                along[term] += time * left_of(&basis, i, term);
        }
    }
    for (int term = 0; term < N_CONTENT_TERMS; term++) {
        if (basis.is_used[term]) {
            explained += along[term] * along[term] / basis.norm[term];
            along[term] /= basis.norm[term];
        }
    }
    fit.base_ns = mean;
    solve(&basis, along, &fit);
    fit.r2 = spread > 0 ? explained / spread : NAN;
    return fit;
}

/* tests/session/strays.c - see strays.h. */
#include "strays.h"

#include "test.h"

#include <math.h>

static const double near = 1e-4;

enum { max_boxes = 1024 };

double strays_overlap(const float *a, const float *b)
{
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]);
    double h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    double both = w > 0 && h > 0 ? w * h : 0;
    double one = ((double)a[2] - a[0]) * ((double)a[3] - a[1]);
    double other = ((double)b[2] - b[0]) * ((double)b[3] - b[1]);

    return both > 0 ? both / (one + other - both) : 0;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= near;
}

static size_t count(const bool *is, size_t n)
{
    size_t n_are = 0;

    for (size_t i = 0; i < n; i++)
        n_are += is[i];
    return n_are;
}

/* Near a score at which something is cut off; or so near the end of a full list
 * that explained ones of the other side pushed it out, or let it in. */
static bool is_at_a_cut(const struct found *found, size_t i,
                        const struct found *other, const bool *is_explained,
                        const struct cuts *cuts)
{
    for (size_t k = 0; k < cuts->n_scores; k++) {
        if (is_near(found->scores[i], cuts->scores[k]))
            return true;
    }
    if (found->n < cuts->keep && other->n < cuts->keep)
        return false;
    return is_near(found->scores[i], other->scores[other->n - 1]) ||
           found->n - i <= count(is_explained, other->n);
}

/* A box of the other side that this one competed with: their overlap is at the
 * cut, or rounding decides which is better, or it is itself there by
 * rounding. */
static bool is_met(const struct found *found, size_t i,
                   const struct found *other, const bool *is_explained,
                   double cut)
{
    for (size_t k = 0; k < other->n; k++) {
        double iou = strays_overlap(found->boxes + 4 * i, other->boxes + 4 * k);

        if (found->labels && found->labels[i] != other->labels[k])
            continue;
        if (is_near(iou, cut) ||
            (iou > cut &&
             (is_near(found->scores[i], other->scores[k]) || is_explained[k])))
            return true;
    }
    return false;
}

/* How many more are explained than before. */
static size_t explain(const struct found *found, bool *is_explained,
                      const struct found *other, const bool *others_explained,
                      const struct cuts *cuts)
{
    size_t n = 0;

    for (size_t i = 0; i < found->n; i++) {
        if (!found->is_stray[i] || is_explained[i])
            continue;
        is_explained[i] =
            is_at_a_cut(found, i, other, others_explained, cuts) ||
            is_met(found, i, other, others_explained, cuts->iou);
        n += is_explained[i];
    }
    return n;
}

static void print_unexplained(const struct found *found,
                              const bool *is_explained, const char *whose)
{
    for (size_t i = 0; i < found->n; i++) {
        const float *box = found->boxes + 4 * i;

        if (found->is_stray[i] && !is_explained[i])
            print_error("%s number %zu, score %g, [%g %g %g %g]: nothing "
                        "explains why the other side lacks it\n",
                        whose, i, (double)found->scores[i], (double)box[0],
                        (double)box[1], (double)box[2], (double)box[3]);
    }
}

size_t strays_unexplained(const struct found *theirs, const struct found *ours,
                          const struct cuts *cuts)
{
    bool of_theirs[max_boxes] = {0}, of_ours[max_boxes] = {0};
    size_t n = count(theirs->is_stray, theirs->n) +
               count(ours->is_stray, ours->n),
           more;

    CHECK(theirs->n <= max_boxes && ours->n <= max_boxes);
    if (n == 0)
        return 0;
    CHECK(theirs->n && ours->n);
    do { /* one that is explained may explain others */
        more = explain(theirs, of_theirs, ours, of_ours, cuts);
        more += explain(ours, of_ours, theirs, of_theirs, cuts);
        n -= more;
    } while (more);
    print_unexplained(theirs, of_theirs, "torchvision's");
    print_unexplained(ours, of_ours, "our");
    return n;
}

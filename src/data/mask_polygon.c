/* data/mask_polygon.c - polygons become pixels.
 *
 * The rules are those of COCO's tools, which overlaps depend on to the pixel:
 * the outline is walked on a grid five times as fine, and where it passes the
 * middle of a column it switches the pixels below on or off. */
#include "data/mask_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

enum { FINE = 5 };
/* Corners further out than any JPEG reaches are refused: each step of the way
 * to one is taken. */
static const double farthest = 1 << 16;

struct point {
    int x, y;
};

/* Where columns are switched: pixels before it, counted down the columns. */
struct outline {
    int width, height;
    uint32_t *switches;
    size_t n, capacity;
    struct point last;
    bool has_last;
};

static enum assay_status add_switch(struct outline *outline, uint32_t place,
                                    struct error *err)
{
    void *moved = vec_reserve(outline->switches, &outline->capacity,
                              outline->n + 1, sizeof *outline->switches);

    if (!moved)
        return error_nomem(err, (outline->n + 1) * sizeof *outline->switches,
                           "an outline");
    outline->switches = moved;
    outline->switches[outline->n++] = place;
    return ASSAY_OK;
}

/* The next point of the fine grid. */
static enum assay_status step_to(struct outline *outline, struct point to,
                                 struct error *err)
{
    struct point from = outline->last;
    bool has_last = outline->has_last;
    double x, y;

    outline->last = to;
    outline->has_last = true;
    if (!has_last || to.x == from.x)
        return ASSAY_OK;
    x = ((to.x < from.x ? to.x : to.x - 1) + .5) / FINE - .5;
    if (floor(x) != x || x < 0 || x > outline->width - 1)
        return ASSAY_OK;
    y = ((to.y < from.y ? to.y : from.y) + .5) / FINE - .5;
    y = ceil(y < 0 ? 0 : y > outline->height ? outline->height : y);
    return add_switch(
        outline, (uint32_t)x * (uint32_t)outline->height + (uint32_t)y, err);
}

/* Goes along an edge, a step of its longer side at a time. The other side is
 * computed from the same end whichever way it goes. */
static enum assay_status walk_edge(struct outline *outline, struct point a,
                                   struct point b, struct error *err)
{
    int dx = abs(b.x - a.x), dy = abs(b.y - a.y);
    bool is_flat = dx >= dy;
    bool is_flipped = is_flat ? a.x > b.x : a.y > b.y;
    struct point start = is_flipped ? b : a, end = is_flipped ? a : b;
    int n = is_flat ? dx : dy;
    double slope = 0;
    enum assay_status st = ASSAY_OK;

    if (n > 0)
        slope = (double)(is_flat ? end.y - start.y : end.x - start.x) / n;
    for (int i = 0; !st && i <= n; i++) {
        int t = is_flipped ? n - i : i;
        struct point at = {start.x + t, (int)(start.y + slope * t + .5)};

        if (!is_flat)
            at = (struct point){(int)(start.x + slope * t + .5), start.y + t};
        st = step_to(outline, at, err);
    }
    return st;
}

static struct point fine_point(const struct polygon *polygon, size_t i)
{
    const double *corner = &polygon->corners[i % polygon->n * 2];

    return (struct point){(int)(FINE * corner[0] + .5),
                          (int)(FINE * corner[1] + .5)};
}

static enum assay_status walk(struct outline *outline,
                              const struct polygon *polygon, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < polygon->n * 2; i++) {
        if (!(fabs(polygon->corners[i]) <= farthest))
            return error_set(err, ASSAY_BAD_INPUT,
                             "a corner of a polygon is at %g, far outside the "
                             "image",
                             polygon->corners[i]);
    }
    outline->n = 0;
    outline->has_last = false;
    for (size_t i = 0; !st && i < polygon->n; i++)
        st = walk_edge(outline, fine_point(polygon, i),
                       fine_point(polygon, i + 1), err);
    return st;
}

static int mask_polygon_by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static enum assay_status mask_polygon_fill(struct outline *outline,
                                           struct mask *mask, struct error *err)
{
    enum assay_status st =
        mask_begin(mask, outline->width, outline->height, err);
    uint64_t at = 0;

    if (outline->n > 0)
        qsort(outline->switches, outline->n, sizeof *outline->switches,
              mask_polygon_by_place);
    for (size_t i = 0; !st && i < outline->n; i++) {
        st = mask_append(mask, i % 2 == 1, outline->switches[i] - at, err);
        at = outline->switches[i];
    }
    return st ? st
              : mask_append(mask, outline->n % 2 == 1, mask_pixels(mask) - at,
                            err);
}

/* What is on in a or b. */
static enum assay_status unite(const struct mask *a, const struct mask *b,
                               struct mask *out, struct error *err)
{
    enum assay_status st = mask_begin(out, a->width, a->height, err);
    uint64_t a_end = 0, b_end = 0, at = 0, n = mask_pixels(a);
    size_t i = 0, k = 0; /* runs begun */

    while (!st && at < n) {
        uint64_t end;

        while (at == a_end)
            a_end += a->runs[i++];
        while (at == b_end)
            b_end += b->runs[k++];
        end = a_end < b_end ? a_end : b_end;
        st = mask_append(out, i % 2 == 0 || k % 2 == 0, end - at, err);
        at = end;
    }
    return st;
}

static enum assay_status add_polygon(struct outline *outline,
                                     const struct polygon *polygon,
                                     struct mask *out, struct error *err)
{
    struct mask one = {0}, both = {0};
    enum assay_status st = walk(outline, polygon, err);

    if (!st)
        st = mask_polygon_fill(outline, &one, err);
    if (!st)
        st = unite(out, &one, &both, err);
    if (!st) {
        mask_release(out);
        *out = both;
        both = (struct mask){0};
    }
    mask_release(&one);
    mask_release(&both);
    return st;
}

enum assay_status mask_from_polygons(const struct polygon *polygons, size_t n,
                                     int width, int height, struct mask *out,
                                     struct error *err)
{
    struct outline outline = {.width = width, .height = height};
    enum assay_status st = mask_begin(out, width, height, err);

    if (!st)
        st = mask_append(out, false, mask_pixels(out), err);
    for (size_t i = 0; !st && i < n; i++) {
        if (polygons[i].n >= 3)
            st = add_polygon(&outline, &polygons[i], out, err);
    }
    mem_free(outline.switches);
    if (st)
        mask_release(out);
    return st;
}

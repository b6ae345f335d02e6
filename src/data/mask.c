/* data/mask.c - see mask.h. */
#include "data/mask.h"

#include "base/mem.h"
#include "base/vec.h"
#include "picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mask_release(struct mask *mask)
{
    mem_free(mask->runs);
    *mask = (struct mask){0};
}

static uint64_t mask_pixels(const struct mask *mask)
{
    return (uint64_t)mask->width * (uint64_t)mask->height;
}

/* Empties the mask, then checks and sets its size. */
static enum assay_status mask_begin(struct mask *mask, int width, int height,
                                    struct error *err)
{
    mask->n = 0;
    if (width < 1 || height < 1 ||
        (uint64_t)width * (uint64_t)height > PICTURE_MAX_PIXELS)
        return error_set(err, ASSAY_BAD_INPUT, "a mask of %dx%d pixels", width,
                         height);
    mask->width = width;
    mask->height = height;
    return ASSAY_OK;
}

static enum assay_status mask_push(struct mask *mask, uint32_t n,
                                   struct error *err)
{
    void *moved = vec_reserve(mask->runs, &mask->capacity, mask->n + 1,
                              sizeof *mask->runs);

    if (!moved)
        return error_nomem(err, (mask->n + 1) * sizeof *mask->runs, "a mask");
    mask->runs = moved;
    mask->runs[mask->n++] = n;
    return ASSAY_OK;
}

/* Appends pixels, as a new run only if they differ from the last. The caller
 * makes sure that they fit. */
static enum assay_status mask_append(struct mask *mask, bool is_on, uint64_t n,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (n == 0)
        return ASSAY_OK;
    if (mask->n == 0 && is_on)
        st = mask_push(mask, 0, err);
    if (st)
        return st;
    /* Runs with odd indices are on. */
    if (mask->n > 0 && ((mask->n - 1) % 2 == 1) == is_on) {
        mask->runs[mask->n - 1] += (uint32_t)n;
        return ASSAY_OK;
    }
    return mask_push(mask, (uint32_t)n, err);
}

/* After reading runs; is_off: they do not add up. */
static enum assay_status mask_end(struct mask *mask, enum assay_status st,
                                  bool is_off, struct error *err)
{
    if (!st && is_off)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the runs of a mask do not add up to its %dx%d pixels",
                       mask->width, mask->height);
    if (st)
        mask_release(mask);
    return st;
}

enum assay_status mask_from_runs(const uint32_t *runs, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err)
{
    enum assay_status st = mask_begin(out, width, height, err);
    uint64_t left;

    if (st)
        return st;
    left = mask_pixels(out);
    for (size_t i = 0; !st && i < n; i++) {
        if (runs[i] > left)
            break;
        left -= runs[i];
        st = mask_append(out, i % 2 == 1, runs[i], err);
    }
    return mask_end(out, st, left != 0, err);
}

enum assay_status mask_from_pixels(const uint8_t *pixels, int width, int height,
                                   struct mask *out, struct error *err)
{
    enum assay_status st = mask_begin(out, width, height, err);
    uint64_t n = 0;
    bool is_on = false;

    for (int x = 0; !st && x < width; x++) {
        for (int y = 0; !st && y < height; y++) {
            bool is = pixels[(size_t)y * (size_t)width + (size_t)x] != 0;

            if (is != is_on) {
                st = mask_append(out, is_on, n, err);
                is_on = is;
                n = 0;
            }
            n++;
        }
    }
    if (!st)
        st = mask_append(out, is_on, n, err);
    if (st)
        mask_release(out);
    return st;
}

void mask_to_pixels(const struct mask *mask, uint8_t *pixels)
{
    size_t height = (size_t)mask->height, width = (size_t)mask->width, at = 0;

    memset(pixels, 0, height * width);
    for (size_t i = 0; i < mask->n; i++) {
        for (size_t k = 0; i % 2 == 1 && k < mask->runs[i]; k++)
            pixels[(at + k) % height * width + (at + k) / height] = 1;
        at += mask->runs[i];
    }
}

uint64_t mask_area(const struct mask *mask)
{
    uint64_t area = 0;

    for (size_t i = 1; i < mask->n; i += 2)
        area += mask->runs[i];
    return area;
}

void mask_box(const struct mask *mask, double box[4])
{
    uint64_t height = (uint64_t)mask->height, at = 0;
    uint64_t left = UINT64_MAX, top = UINT64_MAX, right = 0, bottom = 0;

    for (size_t i = 0; i < mask->n; i++) {
        uint64_t first = at, last = at + mask->runs[i] - 1;

        at += mask->runs[i];
        if (i % 2 == 0 || mask->runs[i] == 0)
            continue;
        if (first / height < left)
            left = first / height;
        right = last / height;
        /* A run that goes on in the next column touches both ends of one. */
        if (first / height < last / height)
            first = 0, last = height - 1;
        if (first % height < top)
            top = first % height;
        if (last % height > bottom)
            bottom = last % height;
    }
    for (size_t i = 0; i < 4; i++)
        box[i] = 0;
    if (left == UINT64_MAX)
        return;
    box[0] = (double)left;
    box[1] = (double)top;
    box[2] = (double)(right - left + 1);
    box[3] = (double)(bottom - top + 1);
}

uint64_t mask_shared(const struct mask *a, const struct mask *b)
{
    uint64_t shared = 0, a_end = 0, b_end = 0, at = 0;
    size_t i = 0, k = 0; /* runs begun */

    if (a->width != b->width || a->height != b->height)
        return 0;
    while ((i < a->n || at < a_end) && (k < b->n || at < b_end)) {
        uint64_t end;

        if (at == a_end)
            a_end += a->runs[i++];
        if (at == b_end)
            b_end += b->runs[k++];
        end = a_end < b_end ? a_end : b_end;
        if (i % 2 == 0 && k % 2 == 0)
            shared += end - at;
        at = end;
    }
    return shared;
}

/* ---- COCO's compressed text ---------------------------------------------
 *
 * A run is written as its difference from the previous one of its kind (except
 * for the first three), in groups of five bits, lowest first. A group is a
 * letter starting at '0'; adding 32 means that another follows, and the fifth
 * bit of the last one is the sign. */

enum {
    FIRST_LETTER = '0',
    GROUP_BITS = 5,
    GROUP = 31,
    SIGN = 16,
    MORE = 32,
    MOST_GROUPS = 7 /* more than any 32-bit difference needs */
};

/* False if there is no complete number at *at. */
static bool read_mask_run(const char *text, size_t n, size_t *at, int64_t *out)
{
    uint64_t value = 0;

    for (int k = 0; k < MOST_GROUPS && *at < n; k++) {
        int group = text[(*at)++] - FIRST_LETTER;

        if (group < 0 || group > (GROUP | MORE))
            return false;
        value |= (uint64_t)(group & GROUP) << (GROUP_BITS * k);
        if (group & MORE)
            continue;
        if (group & SIGN)
            value |= ~(uint64_t)0 << (GROUP_BITS * (k + 1));
        *out = (int64_t)value;
        return true;
    }
    return false;
}

enum assay_status mask_from_text(const char *text, size_t n, int width,
                                 int height, struct mask *out,
                                 struct error *err)
{
    enum assay_status st = mask_begin(out, width, height, err);
    int64_t last[2] = {0}, left;
    size_t at = 0;

    if (st)
        return st;
    left = (int64_t)mask_pixels(out);
    for (size_t i = 0; !st && at < n; i++) {
        int64_t run;

        if (!read_mask_run(text, n, &at, &run)) {
            st = error_set(err, ASSAY_BAD_INPUT,
                           "the text of a mask is broken at letter %zu", at);
            break;
        }
        if (i > 2)
            run += last[i % 2];
        if (run < 0 || run > left) {
            left = -1;
            break;
        }
        last[i % 2] = run;
        left -= run;
        st = mask_append(out, i % 2 == 1, (uint64_t)run, err);
    }
    return mask_end(out, st, left != 0, err);
}

enum assay_status mask_to_text(const struct mask *mask, struct str *text)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < mask->n; i++) {
        int64_t value = mask->runs[i];
        bool has_more = true;

        if (i > 2)
            value -= mask->runs[i - 2];
        while (!st && has_more) {
            int group = (int)(value & GROUP);

            value = (value - group) / (GROUP + 1);
            has_more = group & SIGN ? value != -1 : value != 0;
            st = str_append_char(
                text, (char)(FIRST_LETTER + (group | (has_more ? MORE : 0))));
        }
    }
    return st;
}

/* ---- polygons ------------------------------------------------------------
 *
 * Overlaps depend on these rules of COCO's tools to the pixel: the outline is
 * walked on a grid five times as fine, and wherever it crosses the middle of a
 * column, it switches the pixels below on or off. */

enum { FINE = 5 };
/* Corners beyond the size of any JPEG are refused, because every step on the
 * way to them is taken. */
static const double farthest = 1 << 16;

struct grid_point {
    int x, y;
};

/* Where columns are switched: indices of pixels, counted down the columns. */
struct outline {
    int width, height;
    uint32_t *switches;
    size_t n, capacity;
    struct grid_point last;
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

/* Moves to the next point of the fine grid. */
static enum assay_status step_to(struct outline *outline, struct grid_point to,
                                 struct error *err)
{
    struct grid_point from = outline->last;
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

/* Goes along an edge, one step of its longer side at a time. The other
 * coordinate is computed from the same end in both directions. */
static enum assay_status walk_edge(struct outline *outline, struct grid_point a,
                                   struct grid_point b, struct error *err)
{
    int dx = abs(b.x - a.x), dy = abs(b.y - a.y);
    bool is_flat = dx >= dy;
    bool is_flipped = is_flat ? a.x > b.x : a.y > b.y;
    struct grid_point start = is_flipped ? b : a, end = is_flipped ? a : b;
    int n = is_flat ? dx : dy;
    double slope = 0;
    enum assay_status st = ASSAY_OK;

    if (n > 0)
        slope = (double)(is_flat ? end.y - start.y : end.x - start.x) / n;
    for (int i = 0; !st && i <= n; i++) {
        int t = is_flipped ? n - i : i;
        struct grid_point at = {start.x + t, (int)(start.y + slope * t + .5)};

        if (!is_flat)
            at = (struct grid_point){(int)(start.x + slope * t + .5),
                                     start.y + t};
        st = step_to(outline, at, err);
    }
    return st;
}

static struct grid_point fine_point(const struct polygon *polygon, size_t i)
{
    const double *corner = &polygon->corners[i % polygon->n * 2];

    return (struct grid_point){(int)(FINE * corner[0] + .5),
                               (int)(FINE * corner[1] + .5)};
}

static enum assay_status walk(struct outline *outline,
                              const struct polygon *polygon, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < polygon->n * 2; i++) {
        if (!(fabs(polygon->corners[i]) <= farthest))
            return error_set(
                err, ASSAY_BAD_INPUT,
                "a corner of a polygon is at %g, far outside the image",
                polygon->corners[i]);
    }
    outline->n = 0;
    outline->has_last = false;
    for (size_t i = 0; !st && i < polygon->n; i++)
        st = walk_edge(outline, fine_point(polygon, i),
                       fine_point(polygon, i + 1), err);
    return st;
}

static int by_switch(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static enum assay_status fill_outline(struct outline *outline,
                                      struct mask *mask, struct error *err)
{
    enum assay_status st =
        mask_begin(mask, outline->width, outline->height, err);
    uint64_t at = 0;

    if (outline->n > 0)
        qsort(outline->switches, outline->n, sizeof *outline->switches,
              by_switch);
    for (size_t i = 0; !st && i < outline->n; i++) {
        st = mask_append(mask, i % 2 == 1, outline->switches[i] - at, err);
        at = outline->switches[i];
    }
    return st ? st
              : mask_append(mask, outline->n % 2 == 1, mask_pixels(mask) - at,
                            err);
}

/* The pixels that are on in a or b. */
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
        st = fill_outline(outline, &one, err);
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

/* data/mask.c - see mask.h. */
#include "data/mask_internal.h"

#include "base/mem.h"
#include "base/vec.h"
#include "picture/picture.h"

#include <string.h>

void mask_release(struct mask *mask)
{
    mem_free(mask->runs);
    *mask = (struct mask){0};
}

uint64_t mask_pixels(const struct mask *mask)
{
    return (uint64_t)mask->width * (uint64_t)mask->height;
}

enum assay_status mask_begin(struct mask *mask, int width, int height,
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

enum assay_status mask_append(struct mask *mask, bool is_on, uint64_t n,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (n == 0)
        return ASSAY_OK;
    if (mask->n == 0 && is_on)
        st = mask_push(mask, 0, err);
    if (st)
        return st;
    /* The runs at odd places are on. */
    if (mask->n > 0 && ((mask->n - 1) % 2 == 1) == is_on) {
        mask->runs[mask->n - 1] += (uint32_t)n;
        return ASSAY_OK;
    }
    return mask_push(mask, (uint32_t)n, err);
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
    if (!st && left > 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the runs of a mask do not add up to its %dx%d pixels",
                       width, height);
    if (st)
        mask_release(out);
    return st;
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

/* picture/canvas_enlarge.c - see canvas.h: drawings of small photographs. */
#include "picture/canvas.h"

#include "base/mem.h"
#include "picture/picture_resize.h"

#include <string.h>

enum {
    small_side = 256,  /* shorter sides below this are enlarged */
    wanted_side = 512, /* to at least this */
    most_side = 2048   /* but not the longer one beyond this */
};

/* How many times larger a photograph is drawn. */
static int enlarge_factor(const struct picture *photo)
{
    int shorter = photo->width < photo->height ? photo->width : photo->height;
    int longer = photo->width < photo->height ? photo->height : photo->width;
    int factor = (wanted_side + shorter - 1) / shorter;

    if (shorter >= small_side)
        return 1;
    if (factor > most_side / longer)
        factor = most_side / longer;
    return factor < 1 ? 1 : factor;
}

/* A byte per pixel of the enlarged photograph; NULL: no memory. */
static uint8_t *enlarge_mask(const uint8_t *mask, const struct picture *photo,
                             int factor)
{
    size_t width = (size_t)photo->width, times = (size_t)factor;
    uint8_t *out =
        mem_array(width * times, (size_t)photo->height * times * sizeof *out);

    for (size_t y = 0; out && y < (size_t)photo->height * times; y++) {
        const uint8_t *row = mask + y / times * width;

        for (size_t x = 0; x < width * times; x++)
            out[y * width * times + x] = row[x / times];
    }
    return out;
}

static void enlarge_release(struct target *targets, uint8_t **masks, size_t n)
{
    for (size_t i = 0; masks && i < n; i++)
        mem_free(masks[i]);
    mem_free(masks);
    mem_free(targets);
}

/* The same targets on the enlarged photograph; the masks are the caller's. */
static enum assay_status enlarge_targets(const struct picture *photo,
                                         int factor, struct target *targets,
                                         uint8_t **masks, size_t n,
                                         struct error *err)
{
    float times = (float)factor;

    for (size_t i = 0; i < n; i++) {
        struct target *target = &targets[i];

        target->x1 *= times;
        target->y1 *= times;
        target->x2 *= times;
        target->y2 *= times;
        if (!target->mask)
            continue;
        masks[i] = enlarge_mask(target->mask, photo, factor);
        if (!masks[i])
            return error_nomem(err, 0, "the mask of a detection");
        target->mask = masks[i];
    }
    return ASSAY_OK;
}

static enum assay_status enlarge_draw(const struct picture *photo, int factor,
                                      const struct target *targets, size_t n,
                                      struct picture *picture,
                                      struct error *err)
{
    struct target *larger = mem_array(n, sizeof *larger);
    uint8_t **masks = mem_array(n, sizeof *masks);
    enum assay_status st = ASSAY_OK;

    if (!larger || !masks) {
        st = error_nomem(err, n * sizeof *larger, "the detections");
    } else {
        memcpy(larger, targets, n * sizeof *larger);
        st = enlarge_targets(photo, factor, larger, masks, n, err);
    }
    if (!st)
        st = canvas_draw_targets(picture, larger, n, err);
    enlarge_release(larger, masks, n);
    return st;
}

/* On failure *out is {0}. */
static enum assay_status enlarge_photo(const struct picture *photo, int factor,
                                       struct picture *out, struct error *err)
{
    enum assay_status st;

    *out = (struct picture){0};
    if (factor > 1)
        return picture_resize(photo, photo->width * factor,
                              photo->height * factor, RESIZE_POINTS, out, err);
    st = picture_init(out, photo->width, photo->height, err);
    if (!st)
        memcpy(out->rgb, photo->rgb,
               (size_t)photo->width * (size_t)photo->height * 3);
    return st;
}

enum assay_status canvas_draw_photo(const struct picture *photo,
                                    const struct target *targets, size_t n,
                                    struct picture *out, struct error *err)
{
    int factor = enlarge_factor(photo);
    enum assay_status st = enlarge_photo(photo, factor, out, err);

    if (!st && n)
        st = factor == 1 ? canvas_draw_targets(out, targets, n, err)
                         : enlarge_draw(photo, factor, targets, n, out, err);
    if (st)
        picture_release(out);
    return st;
}

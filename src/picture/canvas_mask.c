/* picture/canvas_mask.c - a translucent mask with its outline. */
#include "picture/canvas_internal.h"

#include <stddef.h>
#include <string.h>

/* How much of the colour there is, of 256. */
enum { tint_inside = 112, tint_outline = 240 };

enum { directions = 8 };

struct mask {
    const uint8_t *on;
    int width, height;
    int reach; /* how far the outline goes inwards, in pixels */
    struct {
        int x, y;
    } steps[directions];           /* to the edge of that reach */
    ptrdiff_t offsets[directions]; /* the same in bytes */
};

static struct mask mask_of(const struct picture *picture, const uint8_t *on,
                           int reach)
{
    int slant = (reach * 7 + 5) / 10; /* as far as reach, across */
    struct mask mask = {on,
                        picture->width,
                        picture->height,
                        reach,
                        {{-reach, 0},
                         {reach, 0},
                         {0, -reach},
                         {0, reach},
                         {-slant, -slant},
                         {slant, -slant},
                         {-slant, slant},
                         {slant, slant}},
                        {0}};

    for (int i = 0; i < directions; i++)
        mask.offsets[i] =
            (ptrdiff_t)mask.steps[i].y * mask.width + mask.steps[i].x;
    return mask;
}

static bool is_empty(const uint8_t *row, int width)
{
    return row[0] == 0 && memcmp(row, row + 1, (size_t)width - 1) == 0;
}

/* What lies outside the picture counts as the nearest pixel inside it, so that
 * an object which the frame cuts has no outline there. */
static bool is_on(const struct mask *mask, int x, int y)
{
    x = x < 0 ? 0 : x >= mask->width ? mask->width - 1 : x;
    y = y < 0 ? 0 : y >= mask->height ? mask->height - 1 : y;
    return mask->on[(size_t)y * (size_t)mask->width + (size_t)x] != 0;
}

/* Only pixels near the frame need to look where they look. */
static bool is_outline(const struct mask *mask, int x, int y)
{
    const uint8_t *on = mask->on + (size_t)y * (size_t)mask->width + x;
    bool is_inside = true;

    if (x >= mask->reach && x < mask->width - mask->reach && y >= mask->reach &&
        y < mask->height - mask->reach) {
        for (int i = 0; i < directions; i++)
            is_inside &= on[mask->offsets[i]] != 0;
        return !is_inside;
    }
    for (int i = 0; i < directions; i++)
        is_inside &= is_on(mask, x + mask->steps[i].x, y + mask->steps[i].y);
    return !is_inside;
}

static void tint(uint8_t *rgb, struct colour colour, int share)
{
    rgb[0] = (uint8_t)((rgb[0] * (256 - share) + colour.red * share) >> 8);
    rgb[1] = (uint8_t)((rgb[1] * (256 - share) + colour.green * share) >> 8);
    rgb[2] = (uint8_t)((rgb[2] * (256 - share) + colour.blue * share) >> 8);
}

static void tint_row(const struct mask *mask, int y, struct colour colour,
                     uint8_t *rgb)
{
    const uint8_t *on = mask->on + (size_t)y * (size_t)mask->width;

    for (int x = 0; x < mask->width; x++, rgb += 3) {
        if (on[x])
            tint(rgb, colour,
                 is_outline(mask, x, y) ? tint_outline : tint_inside);
    }
}

void canvas_draw_mask(struct picture *picture, const uint8_t *on,
                      struct colour colour, const struct canvas_scale *scale)
{
    struct mask mask = mask_of(picture, on, scale->line);
    size_t width = (size_t)mask.width;

    for (int y = 0; y < mask.height; y++) {
        if (!is_empty(on + (size_t)y * width, mask.width))
            tint_row(&mask, y, colour, picture->rgb + (size_t)y * width * 3);
    }
}

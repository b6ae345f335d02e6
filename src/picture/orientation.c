/* picture/orientation.c - finds how the camera was held, from EXIF, and turns
 * the picture upright. Exif 2.3, 4.6.2 (TIFF header) and 4.6.4 A. */
#include "picture/picture_internal.h"

#include "base/mem.h"

#include <stddef.h>
#include <string.h>

/* ---- finding it ------------------------------------------------------- */

struct exif {
    const uint8_t *bytes;
    bool is_big_endian;
};

/* The caller has checked that the bytes are there. */
static unsigned read_16(const struct exif *exif, size_t at)
{
    unsigned a = exif->bytes[at], b = exif->bytes[at + 1];

    return exif->is_big_endian ? a << 8 | b : b << 8 | a;
}

static uint32_t orientation_read_32(const struct exif *exif, size_t at)
{
    uint32_t a = read_16(exif, at), b = read_16(exif, at + 2);

    return exif->is_big_endian ? a << 16 | b : b << 16 | a;
}

int orientation_find(const uint8_t *bytes, size_t n)
{
    enum { header = 8, entry = 12, tag = 0x0112, type_short = 3 };
    struct exif exif = {.bytes = bytes};
    size_t at, n_entries;

    if (n < header ||
        (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0))
        return ORIENTATION_UPRIGHT;
    exif.is_big_endian = bytes[0] == 'M';
    at = orientation_read_32(&exif, 4);
    if (at > n - 2)
        return ORIENTATION_UPRIGHT;
    n_entries = read_16(&exif, at);
    at += 2;
    for (; n_entries > 0 && n - at >= entry; n_entries--, at += entry) {
        unsigned value = read_16(&exif, at + 8);

        if (read_16(&exif, at) == tag && read_16(&exif, at + 2) == type_short)
            return value >= 1 && value <= 8 ? (int)value : ORIENTATION_UPRIGHT;
    }
    return ORIENTATION_UPRIGHT;
}

/* ---- turning ---------------------------------------------------------- */

enum { channels = 3, tile_side = 32 };

/* Where the pixels of the upright picture are in the stored one. */
struct turn_walk {
    int width, height;         /* upright */
    const uint8_t *first;      /* its top left pixel */
    ptrdiff_t right, downward; /* bytes to the next pixel, to the next row */
};

static struct turn_walk plan_walk(const struct picture *stored, int orientation)
{
    /* Whether to count x (y) from the far side; then, whether to swap them.
     * Indexed by the orientation. */
    static const struct {
        bool flip_x, flip_y, swap;
    } plans[] = {
        [1] = {0, 0, 0}, [2] = {1, 0, 0}, [3] = {1, 1, 0}, [4] = {0, 1, 0},
        [5] = {0, 0, 1}, [6] = {0, 1, 1}, [7] = {1, 1, 1}, [8] = {1, 0, 1},
    };
    ptrdiff_t pixel = channels, row = (ptrdiff_t)stored->width * channels;
    struct turn_walk walk = {stored->width, stored->height, stored->rgb, pixel,
                             row};

    if (plans[orientation].flip_x) {
        walk.first += row - pixel;
        walk.right = -pixel;
    }
    if (plans[orientation].flip_y) {
        walk.first += row * (stored->height - 1);
        walk.downward = -row;
    }
    if (plans[orientation].swap)
        walk = (struct turn_walk){stored->height, stored->width, walk.first,
                                  walk.downward, walk.right};
    return walk;
}

/* In square tiles: a turned picture is read across its rows, and so each cache
 * line is used completely before it is evicted. */
static void copy_tile(const struct turn_walk *walk, int x0, int y0, uint8_t *to)
{
    int x1 = walk->width - x0 < tile_side ? walk->width : x0 + tile_side;
    int y1 = walk->height - y0 < tile_side ? walk->height : y0 + tile_side;

    for (int y = y0; y < y1; y++) {
        const uint8_t *src =
            walk->first + y * walk->downward + x0 * walk->right;
        uint8_t *dst =
            to + ((size_t)y * (size_t)walk->width + (size_t)x0) * channels;

        for (int x = x0; x < x1; x++, src += walk->right, dst += channels) {
            dst[0] = src[0];
            dst[1] = src[1];
            dst[2] = src[2];
        }
    }
}

enum assay_status orientation_apply(struct picture *picture, int orientation,
                                    struct error *err)
{
    struct turn_walk walk;
    struct picture upright;
    enum assay_status st;

    if (orientation == ORIENTATION_UPRIGHT)
        return ASSAY_OK;
    walk = plan_walk(picture, orientation);
    st = picture_init(&upright, walk.width, walk.height, err);
    if (st)
        return st;
    for (int y = 0; y < walk.height; y += tile_side) {
        for (int x = 0; x < walk.width; x += tile_side)
            copy_tile(&walk, x, y, upright.rgb);
    }
    upright.n_warnings = picture->n_warnings;
    picture_release(picture);
    *picture = upright;
    return ASSAY_OK;
}

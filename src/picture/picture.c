/* picture/picture.c - see picture.h: files, sizes and memory. */
#include "picture/picture_internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/units.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* A file above this is no photograph that PICTURE_MAX_PIXELS would let in. */
static const size_t max_file_bytes = (size_t)2 << 30;

enum { channels = 3 };

enum assay_status picture_check_size(const struct picture_source *source,
                                     uint64_t width, uint64_t height,
                                     struct error *err)
{
    char bytes[UNITS_MAX];
    double pixels = (double)width * (double)height;

    if (width == 0 || height == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is %" PRIu64 "x%" PRIu64
                         " pixels, there is nothing in it",
                         source->name, width, height);
    if (pixels <= (double)source->max_pixels && width <= INT_MAX &&
        height <= INT_MAX)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s is %" PRIu64 "x%" PRIu64
                     " pixels and would take %s; at most %.0f million pixels "
                     "are read, make it smaller",
                     source->name, width, height,
                     units_bytes(bytes, pixels * channels),
                     (double)source->max_pixels / 1e6);
}

enum assay_status picture_reserve(const struct picture_source *source,
                                  uint64_t width, uint64_t height,
                                  struct picture *out, struct error *err)
{
    enum assay_status st = picture_check_size(source, width, height, err);
    size_t n_pixels, bytes;
    uint8_t *rgb = NULL;
    char what[192];

    *out = (struct picture){0};
    if (st)
        return st;
    if (!mem_mul(width, height, &n_pixels) ||
        !mem_mul(n_pixels, channels, &bytes))
        bytes = SIZE_MAX;
    else
        rgb = mem_array(n_pixels, channels);
    if (!rgb) {
        snprintf(what, sizeof what, "the %" PRIu64 "x%" PRIu64 " pixels of %s",
                 width, height, source->name);
        return error_nomem(err, bytes, what);
    }
    *out = (struct picture){(int)width, (int)height, rgb, 0};
    return ASSAY_OK;
}

enum assay_status picture_cut_off(const struct picture_source *source,
                                  struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s is cut off after %zu bytes; was it copied to the end?",
                     source->name, source->n);
}

enum assay_status picture_init(struct picture *picture, int width, int height,
                               struct error *err)
{
    const struct picture_source source = {.name = "a new picture",
                                          .max_pixels = PICTURE_MAX_PIXELS};
    uint64_t w = width > 0 ? (uint64_t)width : 0;
    uint64_t h = height > 0 ? (uint64_t)height : 0;

    return picture_reserve(&source, w, h, picture, err);
}

void picture_release(struct picture *picture)
{
    mem_free(picture->rgb);
    *picture = (struct picture){0};
}

enum assay_status picture_decode(const void *bytes, size_t n, const char *name,
                                 uint64_t max_pixels, struct picture *out,
                                 struct error *err)
{
    const struct picture_source source = {bytes, n, name, max_pixels};
    const char *kind = picture_kind(bytes, n);

    *out = (struct picture){0};
    if (!kind)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is not an image; JPEG and PNG are read", name);
    if (strcmp(kind, "JPEG") == 0)
        return jpeg_decode(&source, out, err);
    if (strcmp(kind, "PNG") == 0)
        return png_decode(&source, out, err);
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s is %s %s image, which is not supported; "
                     "JPEG and PNG are",
                     name, kind[0] == 'A' ? "an" : "a", kind);
}

enum assay_status picture_read(const char *path, struct picture *out,
                               struct error *err)
{
    struct str file = {0};
    enum assay_status st = file_check_input(path, err);

    *out = (struct picture){0};
    if (!st)
        st = file_read(path, max_file_bytes, &file, err);
    if (!st)
        st = picture_decode(file.text, file.n, path, PICTURE_MAX_PIXELS, out,
                            err);
    str_release(&file);
    return st;
}

/* picture/picture.c - see picture.h: files, sizes and memory. */
#include "picture/picture_internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/units.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* Larger files exceed PICTURE_MAX_PIXELS anyway. */
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
                         "%s is %" PRIu64 "x%" PRIu64 " pixels, so it is empty",
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
                     "%s is cut off after %zu bytes; was it copied completely?",
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

enum { max_marks = 2 };

struct mark {
    size_t at;
    const char *bytes;
    size_t n;
};

struct picture_format {
    const char *name;
    struct mark marks[max_marks]; /* all must match; n 0: none */
};

/* Too many texts begin with "BM", so BMP's reserved field is checked too. */
static const struct picture_format formats[] = {
    {"JPEG", {{0, "\xff\xd8\xff", 3}}},
    {"PNG", {{0, "\x89PNG", 4}}},
    {"GIF", {{0, "GIF8", 4}}},
    {"WebP", {{0, "RIFF", 4}, {8, "WEBP", 4}}},
    {"BMP", {{0, "BM", 2}, {6, "\0\0\0\0", 4}}},
    {"TIFF", {{0, "II*\0", 4}}},
    {"TIFF", {{0, "MM\0*", 4}}},
    {"AVIF", {{4, "ftypavif", 8}}},
    {"AVIF", {{4, "ftypavis", 8}}},
    {"HEIC", {{4, "ftyphei", 7}}},
    {"HEIC", {{4, "ftyphev", 7}}},
    {"HEIC", {{4, "ftypmif1", 8}}},
    {"HEIC", {{4, "ftypmsf1", 8}}},
    {"JPEG XL", {{0, "\xff\x0a", 2}}},
    {"JPEG XL", {{4, "JXL ", 4}}},
    {"JPEG 2000", {{4, "jP  ", 4}}},
};

static bool has_mark(const uint8_t *bytes, size_t n, const struct mark *mark)
{
    return n >= mark->at + mark->n &&
           memcmp(bytes + mark->at, mark->bytes, mark->n) == 0;
}

const char *picture_kind(const void *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t found = 0;

        while (found < max_marks && formats[i].marks[found].n > 0 &&
               has_mark(bytes, n, &formats[i].marks[found]))
            found++;
        if (found == max_marks || formats[i].marks[found].n == 0)
            return formats[i].name;
    }
    return NULL;
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

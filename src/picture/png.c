/* picture/png.c - reads and writes PNG with libpng.
 *
 * As in jpeg.c, libpng's errors jump back to the one place that entered it. It
 * uses our memory functions, so that running out of memory can be distinguished
 * from damage. */
#include "picture/picture_internal.h"

#include "base/mem.h"

#include <limits.h>
#include <setjmp.h>
#include <string.h>

#include <png.h>

/* What libpng's callbacks need to know. */
struct png_call {
    png_structp png;
    png_infop info;
    jmp_buf stop;
    struct error *err;
    enum assay_status status; /* the first failure */
    unsigned n_warnings;
    const char *what; /* "x.png cannot be decoded as PNG" */
};

/* ---- errors and memory ------------------------------------------------ */

static void png_on_error(png_structp png, png_const_charp message)
{
    struct png_call *call = png_get_error_ptr(png);

    if (!call->status)
        call->status = error_set(call->err, ASSAY_BAD_INPUT, "%s: %s",
                                 call->what, message);
    longjmp(call->stop, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    struct png_call *call = png_get_error_ptr(png);

    (void)message;
    call->n_warnings++;
}

/* libpng ignores an optional chunk if there is no memory for it; we do not, so
 * the status stays set. */
static png_voidp png_take_memory(png_structp png, png_alloc_size_t bytes)
{
    struct png_call *call = png_get_mem_ptr(png);
    void *block = mem_alloc(bytes);

    if (!block && !call->status)
        call->status = error_nomem(call->err, bytes, "libpng");
    return block;
}

static void png_give_memory(png_structp png, png_voidp block)
{
    (void)png;
    mem_free(block);
}

/* ---- reading ---------------------------------------------------------- */

struct png_reader {
    struct png_call call;
    const struct picture_source *source;
    size_t at; /* in its bytes */
    struct picture picture;
};

static void png_read_bytes(png_structp png, png_bytep to, size_t n)
{
    struct png_reader *reader = png_get_io_ptr(png);
    const struct picture_source *source = reader->source;

    if (n > source->n - reader->at) {
        reader->call.status = picture_cut_off(source, reader->call.err);
        png_error(png, "cut off");
    }
    memcpy(to, source->bytes + reader->at, n);
    reader->at += n;
}

static uint32_t png_read_32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Checks IHDR before libpng, which has its own limits on sizes. Leaves damaged
 * files to libpng. */
static enum assay_status png_check_size(const struct picture_source *source,
                                        struct error *err)
{
    enum { type = 12, width = 16, height = 20, end = 24 };

    if (source->n < end || memcmp(source->bytes + type, "IHDR", 4) != 0)
        return ASSAY_OK;
    return picture_check_size(source, png_read_32(source->bytes + width),
                              png_read_32(source->bytes + height), err);
}

/* Converts everything to 8-bit RGB. */
static void set_transforms(png_structp png)
{
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_gray_to_rgb(png);
}

/* Each pass of an interlaced picture goes over all rows. */
static void png_decode_rows(struct png_reader *reader, int n_passes)
{
    size_t row_bytes = (size_t)reader->picture.width * 3;

    for (int pass = 0; pass < n_passes; pass++) {
        uint8_t *row = reader->picture.rgb;

        for (int y = 0; y < reader->picture.height; y++, row += row_bytes)
            png_read_row(reader->call.png, row, NULL);
    }
}

static int png_find_orientation(struct png_call *call)
{
    png_uint_32 n = 0;
    png_bytep exif = NULL;

    if (!png_get_eXIf_1(call->png, call->info, &n, &exif))
        return ORIENTATION_UPRIGHT;
    return orientation_find(exif, n);
}

/* Jumps out if libpng stops. */
static enum assay_status png_decode_into(struct png_reader *reader)
{
    struct png_call *call = &reader->call;
    enum assay_status st;
    int n_passes;

    png_set_read_fn(call->png, reader, png_read_bytes);
    png_set_user_limits(call->png, INT_MAX, INT_MAX);
    png_read_info(call->png, call->info);
    st = picture_reserve(reader->source,
                         png_get_image_width(call->png, call->info),
                         png_get_image_height(call->png, call->info),
                         &reader->picture, call->err);
    if (st)
        return st;
    set_transforms(call->png);
    n_passes = png_set_interlace_handling(call->png);
    png_read_update_info(call->png, call->info);
    png_decode_rows(reader, n_passes);
    if (call->status)
        return call->status;
    return orientation_apply(&reader->picture, png_find_orientation(call),
                             call->err);
}

static enum assay_status png_decode_guarded(struct png_reader *reader)
{
    if (setjmp(reader->call.stop))
        return reader->call.status;
    return png_decode_into(reader);
}

static enum assay_status start_reading(struct png_call *call)
{
    call->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, call,
                                         png_on_error, on_warning, call,
                                         png_take_memory, png_give_memory);
    if (call->png)
        call->info = png_create_info_struct(call->png);
    return call->info ? ASSAY_OK : error_nomem(call->err, 0, "libpng");
}

enum assay_status png_decode(const struct picture_source *source,
                             struct picture *out, struct error *err)
{
    struct png_reader reader = {.source = source, .call = {.err = err}};
    char what[192];
    enum assay_status st = png_check_size(source, err);

    if (st)
        return st;
    snprintf(what, sizeof what, "%s cannot be decoded as PNG", source->name);
    reader.call.what = what;
    st = start_reading(&reader.call);
    if (!st)
        st = png_decode_guarded(&reader);
    png_destroy_read_struct(&reader.call.png, &reader.call.info, NULL);
    if (st) {
        picture_release(&reader.picture);
    } else {
        *out = reader.picture;
        out->n_warnings = reader.call.n_warnings;
    }
    return st;
}

/* ---- writing ---------------------------------------------------------- */

struct png_writer {
    struct png_call call;
    struct sink *sink;
};

static void write_bytes(png_structp png, png_bytep bytes, size_t n)
{
    struct png_writer *writer = png_get_io_ptr(png);

    sink_write(writer->sink, (const char *)bytes, n);
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void png_encode(struct png_writer *writer, const struct picture *picture)
{
    png_structp png = writer->call.png;
    const uint8_t *row = picture->rgb;

    png_set_write_fn(png, writer, write_bytes, flush_nothing);
    png_set_user_limits(png, INT_MAX, INT_MAX);
    png_set_IHDR(png, writer->call.info, (png_uint_32)picture->width,
                 (png_uint_32)picture->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, writer->call.info);
    for (int y = 0; y < picture->height; y++) {
        png_write_row(png, row);
        row += (size_t)picture->width * 3;
    }
    png_write_end(png, NULL);
}

static enum assay_status png_encode_guarded(struct png_writer *writer,
                                            const struct picture *picture)
{
    if (setjmp(writer->call.stop))
        return writer->call.status;
    png_encode(writer, picture);
    return writer->call.status;
}

enum assay_status picture_write_png(const struct picture *picture,
                                    struct sink *sink, struct error *err)
{
    struct png_writer writer = {.sink = sink, .call = {.err = err}};
    struct png_call *call = &writer.call;
    enum assay_status st = ASSAY_OK;

    call->what = "the picture cannot be written as PNG";
    call->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, call,
                                          png_on_error, on_warning, call,
                                          png_take_memory, png_give_memory);
    if (call->png)
        call->info = png_create_info_struct(call->png);
    if (!call->info)
        st = error_nomem(err, 0, "libpng");
    if (!st)
        st = png_encode_guarded(&writer, picture);
    png_destroy_write_struct(&call->png, &call->info);
    return st ? st : sink_status(sink, err);
}

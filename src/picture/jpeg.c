/* picture/jpeg.c - reads and writes JPEG with libjpeg-turbo.
 *
 * libjpeg reports an error by calling a function that must not return. Ours
 * jumps back to the one place that entered the library, which releases
 * everything. All state is in structs that outlive the jump. */
#include "picture/picture_internal.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

/* What libjpeg's callbacks need to know. */
struct jpeg_call {
    struct jpeg_error_mgr errors;
    jmp_buf stop;
    enum assay_status status; /* after the jump */
    struct error *err;
    const struct picture_source *source; /* NULL when writing */
};

/* ---- errors ----------------------------------------------------------- */

static void jpeg_stop(struct jpeg_call *call, enum assay_status status)
{
    call->status = status;
    longjmp(call->stop, 1);
}

static enum assay_status explain_reading(j_common_ptr info,
                                         const struct jpeg_call *call)
{
    const struct picture_source *source = call->source;
    const struct jpeg_decompress_struct *in = (j_decompress_ptr)info;
    char message[JMSG_LENGTH_MAX];
    enum assay_status st = ASSAY_OK;

    if (info->err->msg_code == JERR_OUT_OF_MEMORY)
        return error_nomem(call->err, source->n, "decoding a JPEG image");
    /* "Empty" may also mean that there are no channels. */
    if (info->err->msg_code == JERR_EMPTY_IMAGE)
        st = picture_check_size(source, in->image_width, in->image_height,
                                call->err);
    if (st)
        return st;
    info->err->format_message(info, message);
    return error_set(call->err, ASSAY_BAD_INPUT,
                     "%s cannot be decoded as JPEG: %s", source->name, message);
}

static enum assay_status explain_writing(j_common_ptr info,
                                         const struct jpeg_call *call)
{
    char message[JMSG_LENGTH_MAX];

    if (info->err->msg_code == JERR_OUT_OF_MEMORY)
        return error_nomem(call->err, 0, "encoding a JPEG image");
    info->err->format_message(info, message);
    return error_set(call->err, ASSAY_UNSUPPORTED,
                     "the picture cannot be written as JPEG: %s", message);
}

static void jpeg_on_error(j_common_ptr info)
{
    struct jpeg_call *call = info->client_data;

    jpeg_stop(call, call->source ? explain_reading(info, call)
                                 : explain_writing(info, call));
}

/* libjpeg would fill the missing part of a truncated file with grey. Other
 * damage is counted: a wrong code spoils a few blocks, not the photograph. */
static void on_message(j_common_ptr info, int level)
{
    struct jpeg_call *call = info->client_data;

    if (level >= 0)
        return;
    if (info->err->msg_code == JWRN_JPEG_EOF)
        jpeg_stop(call, picture_cut_off(call->source, call->err));
    info->err->num_warnings++;
}

static void drop_output(j_common_ptr info)
{
    (void)info;
}

static struct jpeg_error_mgr *set_errors(struct jpeg_call *call)
{
    jpeg_std_error(&call->errors);
    call->errors.error_exit = jpeg_on_error;
    call->errors.emit_message = on_message;
    call->errors.output_message = drop_output;
    return &call->errors;
}

/* ---- reading ---------------------------------------------------------- */

struct jpeg_reader {
    struct jpeg_call call;
    struct jpeg_decompress_struct info;
    struct jpeg_progress_mgr progress;
    struct picture picture;
    uint8_t *inks; /* one row of CMYK */
};

/* Each scan covers the whole picture: a small hostile file could take hours.
 * Encoders write about ten. */
static void limit_scans(j_common_ptr info)
{
    enum { max_scans = 500 };
    struct jpeg_call *call = info->client_data;

    if (((j_decompress_ptr)info)->input_scan_number > max_scans)
        jpeg_stop(call, error_set(call->err, ASSAY_BAD_INPUT,
                                  "%s has more than %d scans, more than any "
                                  "camera writes",
                                  call->source->name, max_scans));
}

static int jpeg_find_orientation(const struct jpeg_decompress_struct *info)
{
    static const char exif[] = "Exif\0"; /* and the NUL that C adds */

    for (jpeg_saved_marker_ptr marker = info->marker_list; marker;
         marker = marker->next) {
        if (marker->data_length > sizeof exif &&
            memcmp(marker->data, exif, sizeof exif) == 0)
            return orientation_find(marker->data + sizeof exif,
                                    marker->data_length - sizeof exif);
    }
    return ORIENTATION_UPRIGHT;
}

/* Adobe's convention, 255 is no ink, even without Adobe's marker: that is how
 * CMYK files are written, and how Pillow reads them. */
static void inks_to_rgb(const uint8_t *inks, int width, uint8_t *rgb)
{
    for (int x = 0; x < width; x++, inks += 4, rgb += 3) {
        for (int i = 0; i < 3; i++)
            rgb[i] = (uint8_t)((inks[i] * inks[3] + 127) / 255);
    }
}

static void jpeg_read_rows(struct jpeg_reader *reader)
{
    struct jpeg_decompress_struct *info = &reader->info;
    size_t row_bytes = (size_t)reader->picture.width * 3;

    while (info->output_scanline < info->output_height) {
        uint8_t *rgb = reader->picture.rgb + info->output_scanline * row_bytes;
        JSAMPROW row = reader->inks ? reader->inks : rgb;

        jpeg_read_scanlines(info, &row, 1);
        if (reader->inks)
            inks_to_rgb(reader->inks, reader->picture.width, rgb);
    }
}

/* Chooses the colour space to convert to and allocates memory. */
static enum assay_status jpeg_prepare(struct jpeg_reader *reader)
{
    struct jpeg_decompress_struct *info = &reader->info;
    size_t inks_bytes = (size_t)info->image_width * 4;
    enum assay_status st =
        picture_reserve(reader->call.source, info->image_width,
                        info->image_height, &reader->picture, reader->call.err);

    if (st)
        return st;
    info->out_color_space = JCS_RGB;
    if (info->num_components < 4)
        return ASSAY_OK;
    info->out_color_space = JCS_CMYK;
    reader->inks = mem_alloc(inks_bytes);
    return reader->inks
               ? ASSAY_OK
               : error_nomem(reader->call.err, inks_bytes, "a row of CMYK");
}

/* Jumps out if libjpeg stops. */
static enum assay_status jpeg_decode_into(struct jpeg_reader *reader)
{
    const struct picture_source *source = reader->call.source;
    struct jpeg_decompress_struct *info = &reader->info;
    enum assay_status st;
    int orientation;

    jpeg_create_decompress(info);
    reader->progress.progress_monitor = limit_scans;
    info->progress = &reader->progress;
    jpeg_save_markers(info, JPEG_APP0 + 1, 0xffff);
    jpeg_mem_src(info, source->bytes, source->n);
    jpeg_read_header(info, TRUE);
    orientation = jpeg_find_orientation(info);
    st = jpeg_prepare(reader);
    if (st)
        return st;
    jpeg_start_decompress(info);
    jpeg_read_rows(reader);
    jpeg_finish_decompress(info);
    return orientation_apply(&reader->picture, orientation, reader->call.err);
}

static enum assay_status jpeg_decode_guarded(struct jpeg_reader *reader)
{
    if (setjmp(reader->call.stop))
        return reader->call.status;
    return jpeg_decode_into(reader);
}

enum assay_status jpeg_decode(const struct picture_source *source,
                              struct picture *out, struct error *err)
{
    struct jpeg_reader reader = {.call = {.source = source, .err = err}};
    enum assay_status st;

    reader.info.err = set_errors(&reader.call);
    reader.info.client_data = &reader.call;
    st = jpeg_decode_guarded(&reader);
    jpeg_destroy_decompress(&reader.info);
    mem_free(reader.inks);
    if (st) {
        picture_release(&reader.picture);
    } else {
        *out = reader.picture;
        out->n_warnings = (unsigned)reader.call.errors.num_warnings;
    }
    return st;
}

/* ---- writing ---------------------------------------------------------- */

struct jpeg_writer {
    struct jpeg_call call;
    struct jpeg_compress_struct info;
    struct jpeg_destination_mgr destination;
    struct sink *sink;
    uint8_t buffer[16 << 10];
};

static struct jpeg_writer *jpeg_writer_of(j_compress_ptr info)
{
    struct jpeg_call *call = info->client_data;

    return (struct jpeg_writer *)call; /* its first member */
}

static void start_buffer(j_compress_ptr info)
{
    struct jpeg_writer *writer = jpeg_writer_of(info);

    info->dest->next_output_byte = writer->buffer;
    info->dest->free_in_buffer = sizeof writer->buffer;
}

/* The whole buffer is full, whatever free_in_buffer says. */
static boolean empty_buffer(j_compress_ptr info)
{
    struct jpeg_writer *writer = jpeg_writer_of(info);

    sink_write(writer->sink, (const char *)writer->buffer,
               sizeof writer->buffer);
    start_buffer(info);
    return TRUE;
}

static void end_buffer(j_compress_ptr info)
{
    struct jpeg_writer *writer = jpeg_writer_of(info);

    sink_write(writer->sink, (const char *)writer->buffer,
               sizeof writer->buffer - info->dest->free_in_buffer);
}

static void jpeg_encode(struct jpeg_writer *writer,
                        const struct picture *picture, int quality,
                        const char *comment)
{
    struct jpeg_compress_struct *info = &writer->info;

    jpeg_create_compress(info);
    writer->destination.init_destination = start_buffer;
    writer->destination.empty_output_buffer = empty_buffer;
    writer->destination.term_destination = end_buffer;
    info->dest = &writer->destination;
    info->image_width = (JDIMENSION)picture->width;
    info->image_height = (JDIMENSION)picture->height;
    info->input_components = 3;
    info->in_color_space = JCS_RGB;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, quality, TRUE);
    info->comp_info[0].h_samp_factor = 1;
    info->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(info, TRUE);
    if (comment)
        jpeg_write_marker(info, JPEG_COM, (const JOCTET *)comment,
                          (unsigned)strlen(comment));
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = picture->rgb +
                       (size_t)info->next_scanline * (size_t)picture->width * 3;

        jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
}

static enum assay_status jpeg_encode_guarded(struct jpeg_writer *writer,
                                             const struct picture *picture,
                                             int quality, const char *comment)
{
    if (setjmp(writer->call.stop))
        return writer->call.status;
    jpeg_encode(writer, picture, quality, comment);
    return ASSAY_OK;
}

enum assay_status picture_write_jpeg_with(const struct picture *picture,
                                          int quality, const char *comment,
                                          struct sink *sink, struct error *err)
{
    struct jpeg_writer writer = {.call = {.err = err}, .sink = sink};
    enum assay_status st;

    writer.info.err = set_errors(&writer.call);
    writer.info.client_data = &writer.call;
    st = jpeg_encode_guarded(&writer, picture, quality, comment);
    jpeg_destroy_compress(&writer.info);
    return st ? st : sink_status(sink, err);
}

enum assay_status picture_write_jpeg(const struct picture *picture, int quality,
                                     struct sink *sink, struct error *err)
{
    return picture_write_jpeg_with(picture, quality, NULL, sink, err);
}

/* ---- comments ----------------------------------------------------------- */

/* A JPEG file begins with markers: 0xff, a kind, and a length of two bytes that
 * counts itself. */
bool picture_comment(const void *bytes, size_t n, char *text, size_t size)
{
    enum { START = 0xd8, SCAN = 0xda, head_bytes = 4 };
    const unsigned char *from = bytes;
    size_t at = 2;

    if (n < 2 || from[0] != 0xff || from[1] != START)
        return false;
    while (at + head_bytes <= n && from[at] == 0xff && from[at + 1] != SCAN) {
        size_t length = (size_t)from[at + 2] << 8 | from[at + 3];

        if (length < 2 || length > n - at - 2)
            return false;
        if (from[at + 1] == JPEG_COM) {
            snprintf(text, size, "%.*s", (int)(length - 2),
                     (const char *)from + at + head_bytes);
            return true;
        }
        at += 2 + length;
    }
    return false;
}

/* picture/sheet.c - see sheet.h: pages with cairo. */
#include "picture/sheet.h"

#include "base/mem.h"
#include "picture/clean_text_internal.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <string.h>

static const double png_pixels = 2; /* per point */

struct sheet {
    enum sheet_format format;
    double width, height;
    struct str bytes; /* written by cairo */
    cairo_surface_t *surface;
    cairo_t *cairo;
    bool lacks_memory;
};

/* ---- making and writing ------------------------------------------------ */

static cairo_status_t keep_bytes(void *context, const unsigned char *bytes,
                                 unsigned n)
{
    struct sheet *sheet = context;

    if (str_append_n(&sheet->bytes, (const char *)bytes, n))
        return CAIRO_STATUS_NO_MEMORY;
    return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *make_surface(struct sheet *sheet)
{
    switch (sheet->format) {
    case SHEET_SVG:
        return cairo_svg_surface_create_for_stream(keep_bytes, sheet,
                                                   sheet->width, sheet->height);
    case SHEET_PDF:
        return cairo_pdf_surface_create_for_stream(keep_bytes, sheet,
                                                   sheet->width, sheet->height);
    default:
        return cairo_image_surface_create(
            CAIRO_FORMAT_RGB24, (int)ceil(sheet->width * png_pixels),
            (int)ceil(sheet->height * png_pixels));
    }
}

static enum assay_status sheet_check_cairo(const struct sheet *sheet,
                                           struct error *err)
{
    cairo_status_t status = cairo_status(sheet->cairo);

    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(sheet->surface);
    if (sheet->lacks_memory || status == CAIRO_STATUS_NO_MEMORY)
        return error_nomem(err, 0, "a plot");
    if (status == CAIRO_STATUS_SUCCESS)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "cannot draw a plot of %.0fx%.0f points: %s", sheet->width,
                     sheet->height, cairo_status_to_string(status));
}

enum assay_status sheet_new(enum sheet_format format, double width,
                            double height, struct sheet **out,
                            struct error *err)
{
    struct sheet *sheet = mem_alloc(sizeof *sheet);
    enum assay_status st;

    *out = NULL;
    if (!sheet)
        return error_nomem(err, sizeof *sheet, "a plot");
    *sheet = (struct sheet){.format = format, .width = width, .height = height};
    sheet->surface = make_surface(sheet);
    sheet->cairo = cairo_create(sheet->surface);
    if (format == SHEET_PNG)
        cairo_scale(sheet->cairo, png_pixels, png_pixels);
    sheet_rectangle(sheet, (struct area){0, 0, width, height},
                    (struct ink){1, 1, 1, 1});
    st = sheet_check_cairo(sheet, err);
    if (st)
        sheet_free(sheet);
    else
        *out = sheet;
    return st;
}

void sheet_free(struct sheet *sheet)
{
    if (!sheet)
        return;
    cairo_destroy(sheet->cairo);
    cairo_surface_destroy(sheet->surface);
    str_release(&sheet->bytes);
    mem_free(sheet);
}

double sheet_width(const struct sheet *sheet)
{
    return sheet->width;
}

enum assay_status sheet_write(struct sheet *sheet, struct sink *sink,
                              struct error *err)
{
    enum assay_status st;

    cairo_show_page(sheet->cairo);
    if (sheet->format == SHEET_PNG)
        cairo_surface_write_to_png_stream(sheet->surface, keep_bytes, sheet);
    else
        cairo_surface_finish(sheet->surface);
    st = sheet_check_cairo(sheet, err);
    if (!st)
        sink_write(sink, sheet->bytes.text, sheet->bytes.n);
    return st ? st : sink_status(sink, err);
}

/* ---- shapes ------------------------------------------------------------ */

static void set_ink(struct sheet *sheet, struct ink ink)
{
    cairo_set_source_rgba(sheet->cairo, ink.red, ink.green, ink.blue,
                          ink.alpha);
}

static void stroke(struct sheet *sheet, struct ink ink, double line)
{
    set_ink(sheet, ink);
    cairo_set_line_width(sheet->cairo, line);
    cairo_set_line_join(sheet->cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(sheet->cairo);
}

void sheet_rectangle(struct sheet *sheet, struct area area, struct ink ink)
{
    cairo_rectangle(sheet->cairo, area.x, area.y, area.width, area.height);
    set_ink(sheet, ink);
    cairo_fill(sheet->cairo);
}

void sheet_frame(struct sheet *sheet, struct area area, struct ink ink,
                 double line)
{
    cairo_rectangle(sheet->cairo, area.x, area.y, area.width, area.height);
    stroke(sheet, ink, line);
}

void sheet_line(struct sheet *sheet, struct spot from, struct spot to,
                struct ink ink, double line)
{
    cairo_move_to(sheet->cairo, from.x, from.y);
    cairo_line_to(sheet->cairo, to.x, to.y);
    stroke(sheet, ink, line);
}

void sheet_dashes(struct sheet *sheet, struct spot from, struct spot to,
                  struct ink ink, double line, double dash)
{
    cairo_set_dash(sheet->cairo, &dash, 1, 0);
    sheet_line(sheet, from, to, ink, line);
    cairo_set_dash(sheet->cairo, NULL, 0, 0);
}

static void trace_spots(struct sheet *sheet, const struct spot *spots, size_t n)
{
    cairo_new_path(sheet->cairo);
    for (size_t i = 0; i < n; i++)
        cairo_line_to(sheet->cairo, spots[i].x, spots[i].y);
}

void sheet_path(struct sheet *sheet, const struct spot *spots, size_t n,
                struct ink ink, double line)
{
    trace_spots(sheet, spots, n);
    stroke(sheet, ink, line);
}

void sheet_polygon(struct sheet *sheet, const struct spot *spots, size_t n,
                   struct ink ink)
{
    trace_spots(sheet, spots, n);
    set_ink(sheet, ink);
    cairo_fill(sheet->cairo);
}

void sheet_disc(struct sheet *sheet, struct spot middle, double radius,
                struct ink ink)
{
    static const double whole_turn = 6.283185307179586;

    cairo_new_path(sheet->cairo);
    cairo_arc(sheet->cairo, middle.x, middle.y, radius, 0, whole_turn);
    set_ink(sheet, ink);
    cairo_fill(sheet->cairo);
}

void sheet_clip(struct sheet *sheet, struct area area)
{
    cairo_save(sheet->cairo);
    cairo_rectangle(sheet->cairo, area.x, area.y, area.width, area.height);
    cairo_clip(sheet->cairo);
}

void sheet_unclip(struct sheet *sheet)
{
    cairo_restore(sheet->cairo);
}

/* ---- text -------------------------------------------------------------- */

static void set_font(struct sheet *sheet, double size, bool is_bold)
{
    cairo_select_font_face(sheet->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           is_bold ? CAIRO_FONT_WEIGHT_BOLD
                                   : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(sheet->cairo, size);
}

static bool append_clean(struct sheet *sheet, struct str *out, const char *text,
                         size_t n)
{
    if (!clean_text(out, text, n))
        return true;
    sheet->lacks_memory = true;
    return false;
}

static double width_of(struct sheet *sheet, const char *clean)
{
    cairo_text_extents_t extents;

    cairo_text_extents(sheet->cairo, clean, &extents);
    return extents.x_advance;
}

double sheet_text_width(struct sheet *sheet, double size, const char *text)
{
    struct str clean = {0};
    double width = 0;

    set_font(sheet, size, false);
    if (append_clean(sheet, &clean, text, strlen(text)))
        width = width_of(sheet, str_text(&clean));
    str_release(&clean);
    return width;
}

static void show_text(struct sheet *sheet, struct spot at,
                      enum sheet_align align, struct ink ink, const char *text)
{
    struct str clean = {0};

    if (append_clean(sheet, &clean, text, strlen(text))) {
        double width = width_of(sheet, str_text(&clean));

        set_ink(sheet, ink);
        cairo_move_to(sheet->cairo,
                      at.x - width * (int)align / (int)SHEET_RIGHT, at.y);
        cairo_show_text(sheet->cairo, str_text(&clean));
    }
    str_release(&clean);
}

void sheet_text(struct sheet *sheet, struct spot at, enum sheet_align align,
                double size, struct ink ink, const char *text)
{
    set_font(sheet, size, false);
    show_text(sheet, at, align, ink, text);
}

void sheet_bold(struct sheet *sheet, struct spot at, enum sheet_align align,
                double size, struct ink ink, const char *text)
{
    set_font(sheet, size, true);
    show_text(sheet, at, align, ink, text);
}

void sheet_text_upright(struct sheet *sheet, struct spot at, double size,
                        struct ink ink, const char *text)
{
    static const double quarter_turn = -1.5707963267948966;

    cairo_save(sheet->cairo);
    cairo_translate(sheet->cairo, at.x, at.y);
    cairo_rotate(sheet->cairo, quarter_turn);
    set_font(sheet, size, false);
    show_text(sheet, (struct spot){0, 0}, SHEET_MIDDLE, ink, text);
    cairo_restore(sheet->cairo);
}

/* The start of the character at `at`. */
static size_t character_start(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* Leaves out the middle of the text, so that `n` bytes remain. */
static bool sheet_shorten(struct sheet *sheet, const char *text, size_t n,
                          struct str *out)
{
    size_t length = strlen(text);
    size_t head = character_start(text, n - n / 2);
    size_t tail = character_start(text, length - n / 2);

    str_clear(out);
    if (!append_clean(sheet, out, text, head))
        return false;
    if (str_append(out, "…")) {
        sheet->lacks_memory = true;
        return false;
    }
    return append_clean(sheet, out, text + tail, length - tail);
}

void sheet_text_in(struct sheet *sheet, struct area area, double size,
                   struct ink ink, const char *text)
{
    static const size_t least = 3, most = 400;
    size_t n = strlen(text);
    struct str clean = {0};
    bool is_whole;

    set_font(sheet, size, false);
    is_whole = n <= most && append_clean(sheet, &clean, text, n) &&
               width_of(sheet, str_text(&clean)) <= area.width;
    n = n < most ? n : most;
    while (!is_whole && n > least) {
        n = n * 7 / 8;
        if (!sheet_shorten(sheet, text, n, &clean) ||
            width_of(sheet, str_text(&clean)) <= area.width)
            break;
    }
    if (is_whole || n > least) {
        set_ink(sheet, ink);
        cairo_move_to(sheet->cairo, area.x,
                      area.y + (area.height + size * 0.7) / 2);
        cairo_show_text(sheet->cairo, str_text(&clean));
    }
    str_release(&clean);
}

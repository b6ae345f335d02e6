/* picture/canvas.c - see canvas.h: colours, masks, and boxes and labels with
 * cairo. */
#include "picture/canvas.h"

#include "base/mem.h"
#include "picture/clean_text_internal.h"

#include <cairo.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Thickness and size of what is drawn on a picture of this size, in pixels. */
struct canvas_scale {
    int line;
    double font;
};

/* ---- colours ------------------------------------------------------------ */

static uint8_t palette_to_byte(double share)
{
    return (uint8_t)lround(share * 255);
}

/* hue is a share of the circle. */
static struct colour palette_from_hsv(double hue, double saturation,
                                      double value)
{
    double rgb[3];

    for (int i = 0; i < 3; i++) {
        /* Distance of the hue from this primary, in sixths of the circle. */
        double sixths = fabs(fmod(hue * 6 + 9 - 2 * i, 6) - 3);
        double grey = fmin(fmax(sixths - 1, 0), 1);

        rgb[i] = value * (1 - saturation * (1 - grey));
    }
    return (struct colour){palette_to_byte(rgb[0]), palette_to_byte(rgb[1]),
                           palette_to_byte(rgb[2])};
}

/* Steps of the golden ratio around the circle stay far from earlier hues for
 * long; three tones in turn separate those that come close in the end. */
struct colour canvas_colour(int class_index)
{
    static const double golden = 0.61803398874989485, first = 0.6;
    static const struct {
        double saturation, value;
    } tones[] = {{0.9, 1.0}, {0.55, 1.0}, {0.9, 0.7}};
    size_t tone = (size_t)class_index % (sizeof tones / sizeof tones[0]);

    return palette_from_hsv(fmod(first + class_index * golden, 1.0),
                            tones[tone].saturation, tones[tone].value);
}

/* ---- masks -------------------------------------------------------------- */

/* The share of the colour, of 256. */
enum { tint_inside = 112, tint_outline = 240 };

enum { directions = 8 };

struct mask {
    const uint8_t *on;
    int width, height;
    int reach; /* of the outline inwards, in pixels */
    struct {
        int x, y;
    } steps[directions];           /* to the edge of that reach */
    ptrdiff_t offsets[directions]; /* the same in bytes */
};

static struct mask mask_make(const struct picture *picture, const uint8_t *on,
                             int reach)
{
    int slant = (reach * 7 + 5) / 10; /* as far as reach, diagonally */
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

static bool mask_row_is_empty(const uint8_t *row, int width)
{
    return row[0] == 0 && memcmp(row, row + 1, (size_t)width - 1) == 0;
}

/* Places outside the picture count as the nearest pixel inside it, so that an
 * object cut by the frame has no outline there. */
static bool mask_is_on(const struct mask *mask, int x, int y)
{
    x = x < 0 ? 0 : x >= mask->width ? mask->width - 1 : x;
    y = y < 0 ? 0 : y >= mask->height ? mask->height - 1 : y;
    return mask->on[(size_t)y * (size_t)mask->width + (size_t)x] != 0;
}

/* Only pixels near the frame need the checks of mask_is_on(). */
static bool mask_is_outline(const struct mask *mask, int x, int y)
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
        is_inside &=
            mask_is_on(mask, x + mask->steps[i].x, y + mask->steps[i].y);
    return !is_inside;
}

static void mask_tint(uint8_t *rgb, struct colour colour, int share)
{
    rgb[0] = (uint8_t)((rgb[0] * (256 - share) + colour.red * share) >> 8);
    rgb[1] = (uint8_t)((rgb[1] * (256 - share) + colour.green * share) >> 8);
    rgb[2] = (uint8_t)((rgb[2] * (256 - share) + colour.blue * share) >> 8);
}

static void mask_tint_row(const struct mask *mask, int y, struct colour colour,
                          uint8_t *rgb)
{
    const uint8_t *on = mask->on + (size_t)y * (size_t)mask->width;

    for (int x = 0; x < mask->width; x++, rgb += 3) {
        if (on[x])
            mask_tint(rgb, colour,
                      mask_is_outline(mask, x, y) ? tint_outline : tint_inside);
    }
}

/* Tints the picture where the mask is on, and draws its outline. */
static void canvas_draw_mask(struct picture *picture, const uint8_t *on,
                             struct colour colour,
                             const struct canvas_scale *scale)
{
    struct mask mask = mask_make(picture, on, scale->line);
    size_t width = (size_t)mask.width;

    for (int y = 0; y < mask.height; y++) {
        if (!mask_row_is_empty(on + (size_t)y * width, mask.width))
            mask_tint_row(&mask, y, colour,
                          picture->rgb + (size_t)y * width * 3);
    }
}

/* ---- the surface ------------------------------------------------------ */

struct rectangle {
    double x, y, width, height;
};

struct canvas_label {
    struct str text;
    struct rectangle place;
};

struct canvas {
    struct picture *picture;
    struct canvas_scale scale;
    uint32_t *pixels; /* for cairo: 0x00RRGGBB */
    cairo_surface_t *surface;
    cairo_t *cairo;
    struct canvas_label *labels; /* of the targets, in their order */
    size_t n_labels;
};

static struct canvas_scale canvas_scale_of(const struct picture *picture)
{
    int side =
        picture->width < picture->height ? picture->width : picture->height;
    struct canvas_scale scale = {.line = (side + 150) / 300,
                                 .font = side / 36.0};

    if (scale.line < 2)
        scale.line = 2;
    if (scale.font < 11)
        scale.font = 11;
    return scale;
}

static void copy_in(struct canvas *canvas)
{
    const uint8_t *rgb = canvas->picture->rgb;
    size_t n = (size_t)canvas->picture->width * (size_t)canvas->picture->height;

    for (size_t i = 0; i < n; i++, rgb += 3)
        canvas->pixels[i] =
            (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

static void canvas_copy_out(const struct canvas *canvas)
{
    uint8_t *rgb = canvas->picture->rgb;
    size_t n = (size_t)canvas->picture->width * (size_t)canvas->picture->height;

    for (size_t i = 0; i < n; i++, rgb += 3) {
        rgb[0] = (uint8_t)(canvas->pixels[i] >> 16);
        rgb[1] = (uint8_t)(canvas->pixels[i] >> 8);
        rgb[2] = (uint8_t)canvas->pixels[i];
    }
}

static enum assay_status canvas_check_cairo(const struct canvas *canvas,
                                            struct error *err)
{
    cairo_status_t status = cairo_status(canvas->cairo);

    if (status == CAIRO_STATUS_SUCCESS)
        return ASSAY_OK;
    if (status == CAIRO_STATUS_NO_MEMORY)
        return error_nomem(err, 0, "drawing on a picture");
    return error_set(err, ASSAY_UNSUPPORTED,
                     "cannot draw on a picture of %dx%d pixels: %s",
                     canvas->picture->width, canvas->picture->height,
                     cairo_status_to_string(status));
}

static enum assay_status canvas_open(struct canvas *canvas, size_t n_targets,
                                     struct error *err)
{
    int width = canvas->picture->width, height = canvas->picture->height;
    size_t n = (size_t)width * (size_t)height;

    canvas->pixels = mem_array(n, sizeof *canvas->pixels);
    canvas->labels = mem_array(n_targets, sizeof *canvas->labels);
    if (!canvas->pixels || !canvas->labels)
        return error_nomem(err, n * sizeof *canvas->pixels,
                           "drawing on a picture");
    copy_in(canvas);
    canvas->surface = cairo_image_surface_create_for_data(
        (unsigned char *)canvas->pixels, CAIRO_FORMAT_RGB24, width, height,
        width * 4);
    canvas->cairo = cairo_create(canvas->surface);
    cairo_select_font_face(canvas->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_BOLD);
    cairo_set_font_size(canvas->cairo, canvas->scale.font);
    return canvas_check_cairo(canvas, err);
}

static void canvas_close(struct canvas *canvas)
{
    if (canvas->cairo)
        cairo_destroy(canvas->cairo);
    if (canvas->surface)
        cairo_surface_destroy(canvas->surface);
    for (size_t i = 0; i < canvas->n_labels; i++)
        str_release(&canvas->labels[i].text);
    mem_free(canvas->labels);
    mem_free(canvas->pixels);
}

/* ---- boxes ------------------------------------------------------------ */

static void set_colour(cairo_t *cairo, struct colour colour)
{
    cairo_set_source_rgb(cairo, colour.red / 255.0, colour.green / 255.0,
                         colour.blue / 255.0);
}

static double canvas_clamp(double value, double low, double high)
{
    return fmax(low, fmin(value, high));
}

/* The middle of the box's line, on whole pixels and inside the picture. fmin
 * and fmax turn NaN into a side of the picture. */
static struct rectangle box_of(const struct canvas *canvas,
                               const struct target *target)
{
    double half = canvas->scale.line / 2.0;
    double right = canvas->picture->width, bottom = canvas->picture->height;
    double x1 = round(canvas_clamp(target->x1, 0, right));
    double y1 = round(canvas_clamp(target->y1, 0, bottom));
    double x2 = round(canvas_clamp(target->x2, x1, right));
    double y2 = round(canvas_clamp(target->y2, y1, bottom));

    return (struct rectangle){x1 + half, y1 + half, fmax(x2 - x1 - 2 * half, 0),
                              fmax(y2 - y1 - 2 * half, 0)};
}

/* A dark seam on both sides separates the line from things of its colour. */
static void draw_box(struct canvas *canvas, const struct target *target)
{
    static const double seam = 1, seam_alpha = 0.55;
    struct rectangle box = box_of(canvas, target);
    cairo_t *cairo = canvas->cairo;

    cairo_rectangle(cairo, box.x, box.y, box.width, box.height);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_MITER);
    cairo_set_line_width(cairo, canvas->scale.line + 2 * seam);
    cairo_set_source_rgba(cairo, 0, 0, 0, seam_alpha);
    cairo_stroke_preserve(cairo);
    cairo_set_line_width(cairo, canvas->scale.line);
    set_colour(cairo, canvas_colour(target->class_index));
    cairo_stroke(cairo);
}

/* ---- labels ----------------------------------------------------------- */

static bool canvas_overlap(const struct rectangle *a, const struct rectangle *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width &&
           a->y < b->y + b->height && b->y < a->y + a->height;
}

static bool canvas_is_free(const struct canvas *canvas,
                           const struct rectangle *place)
{
    for (size_t i = 0; i < canvas->n_labels; i++) {
        if (canvas_overlap(place, &canvas->labels[i].place))
            return false;
    }
    return true;
}

/* Above the box, inside it at its top or bottom, or below it: the first place
 * that is inside the picture and free. */
static struct rectangle place_label(const struct canvas *canvas,
                                    const struct rectangle *box, double width,
                                    double height)
{
    double half = canvas->scale.line / 2.0;
    double top = box->y - half, bottom = box->y + box->height + half;
    double most_x = fmax(canvas->picture->width - width, 0);
    double most_y = fmax(canvas->picture->height - height, 0);
    const double ys[] = {top - height, top, bottom - height, bottom};
    struct rectangle place = {canvas_clamp(box->x - half, 0, most_x), 0, width,
                              height};

    for (size_t i = 0; i < sizeof ys / sizeof ys[0]; i++) {
        place.y = ys[i];
        if (place.y >= 0 && place.y <= most_y && canvas_is_free(canvas, &place))
            return place;
    }
    place.y = canvas_clamp(ys[0], 0, most_y);
    return place;
}

/* Whether to write in black rather than white (ITU-R BT.601's weights). */
static bool is_light(struct colour colour)
{
    return colour.red * 299 + colour.green * 587 + colour.blue * 114 >
           128 * 1000;
}

static enum assay_status
write_label(struct str *text, const struct target *target, struct error *err)
{
    enum assay_status st = clean_text(text, target->name, strlen(target->name));

    if (!st)
        st = str_printf(text, " %.2f", (double)target->score);
    return st ? error_nomem(err, strlen(target->name), "a label") : ASSAY_OK;
}

static enum assay_status
add_label(struct canvas *canvas, const struct target *target, struct error *err)
{
    struct rectangle box = box_of(canvas, target);
    struct canvas_label label = {0};
    cairo_text_extents_t extents;
    cairo_font_extents_t font;
    enum assay_status st = write_label(&label.text, target, err);

    if (st) {
        str_release(&label.text);
        return st;
    }
    cairo_text_extents(canvas->cairo, label.text.text, &extents);
    cairo_font_extents(canvas->cairo, &font);
    label.place = place_label(canvas, &box,
                              ceil(extents.x_advance + canvas->scale.font / 2),
                              ceil(font.ascent + font.descent));
    canvas->labels[canvas->n_labels++] = label;
    return ASSAY_OK;
}

static void canvas_draw_label(struct canvas *canvas,
                              const struct canvas_label *label,
                              struct colour colour)
{
    const struct rectangle *place = &label->place;
    double ink = is_light(colour) ? 0 : 1;
    cairo_font_extents_t font;

    cairo_font_extents(canvas->cairo, &font);
    cairo_rectangle(canvas->cairo, place->x, place->y, place->width,
                    place->height);
    set_colour(canvas->cairo, colour);
    cairo_fill(canvas->cairo);
    cairo_move_to(canvas->cairo, place->x + canvas->scale.font / 4,
                  place->y + font.ascent);
    cairo_set_source_rgb(canvas->cairo, ink, ink, ink);
    cairo_show_text(canvas->cairo, label->text.text);
}

/* ---- everything ------------------------------------------------------- */

static enum assay_status draw_boxes(struct canvas *canvas,
                                    const struct target *targets, size_t n,
                                    struct error *err)
{
    enum assay_status st = canvas_open(canvas, n, err);

    if (st)
        return st;
    /* The target with the highest score is placed first and drawn last. */
    for (size_t i = 0; i < n && !st; i++)
        st = add_label(canvas, &targets[i], err);
    if (st)
        return st;
    for (size_t i = n; i-- > 0;)
        draw_box(canvas, &targets[i]);
    for (size_t i = n; i-- > 0;)
        canvas_draw_label(canvas, &canvas->labels[i],
                          canvas_colour(targets[i].class_index));
    cairo_surface_flush(canvas->surface);
    st = canvas_check_cairo(canvas, err);
    if (!st)
        canvas_copy_out(canvas);
    return st;
}

enum assay_status canvas_draw_targets(struct picture *picture,
                                      const struct target *targets, size_t n,
                                      struct error *err)
{
    struct canvas canvas = {.picture = picture,
                            .scale = canvas_scale_of(picture)};
    enum assay_status st;

    if (n == 0)
        return ASSAY_OK;
    for (size_t i = n; i-- > 0;) {
        if (targets[i].mask)
            canvas_draw_mask(picture, targets[i].mask,
                             canvas_colour(targets[i].class_index),
                             &canvas.scale);
    }
    st = draw_boxes(&canvas, targets, n, err);
    canvas_close(&canvas);
    return st;
}

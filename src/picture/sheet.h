/* picture/sheet.h - a page to draw plots on: PNG, SVG or PDF.
 *
 * Lengths are in points, from the top left. Drawing does not fail:
 * sheet_write() reports what went wrong. Stands on base.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_SHEET_H
#define PICTURE_SHEET_H

#include "base/sink.h"

enum sheet_format {
    SHEET_PNG, /* two pixels per point */
    SHEET_SVG,
    SHEET_PDF
};

struct sheet;

struct ink {
    double red, green, blue, alpha; /* 0 to 1 */
};

struct area {
    double x, y, width, height;
};

struct spot {
    double x, y;
};

enum sheet_align { SHEET_LEFT, SHEET_MIDDLE, SHEET_RIGHT };

/* An empty, white page. */
enum assay_status sheet_new(enum sheet_format format, double width,
                            double height, struct sheet **out,
                            struct error *err);
void sheet_free(struct sheet *sheet); /* accepts NULL */

double sheet_width(const struct sheet *sheet);

void sheet_rectangle(struct sheet *sheet, struct area area, struct ink ink);
void sheet_frame(struct sheet *sheet, struct area area, struct ink ink,
                 double line);
void sheet_line(struct sheet *sheet, struct spot from, struct spot to,
                struct ink ink, double line);
/* Dashes of this length, with gaps as long. */
void sheet_dashes(struct sheet *sheet, struct spot from, struct spot to,
                  struct ink ink, double line, double dash);
void sheet_path(struct sheet *sheet, const struct spot *spots, size_t n,
                struct ink ink, double line);
void sheet_polygon(struct sheet *sheet, const struct spot *spots, size_t n,
                   struct ink ink);
void sheet_disc(struct sheet *sheet, struct spot middle, double radius,
                struct ink ink);

/* Text is UTF-8; anything else becomes question marks. y is the baseline. */
void sheet_text(struct sheet *sheet, struct spot at, enum sheet_align align,
                double size, struct ink ink, const char *text);
void sheet_bold(struct sheet *sheet, struct spot at, enum sheet_align align,
                double size, struct ink ink, const char *text);
/* Upwards, centred on the spot. */
void sheet_text_upright(struct sheet *sheet, struct spot at, double size,
                        struct ink ink, const char *text);
/* In the area, from its left, shortened in the middle if it is too long;
 * nothing if not even three letters fit. */
void sheet_text_in(struct sheet *sheet, struct area area, double size,
                   struct ink ink, const char *text);
double sheet_text_width(struct sheet *sheet, double size, const char *text);

/* Limits drawing to an area. */
void sheet_clip(struct sheet *sheet, struct area area);
void sheet_unclip(struct sheet *sheet);

/* Ends the drawing and writes it. */
enum assay_status sheet_write(struct sheet *sheet, struct sink *sink,
                              struct error *err);

#endif

/* predict/fingerprint_plot.c - predicted against measured, and the error by
 * batch size. */
#include "predict/fingerprint_eval.h"

#include "base/units.h"
#include "picture/axis.h"

#include <math.h>
#include <stdio.h>

static const double page_width = 900, page_height = 700, margin = 24;
static const double text_size = 9;

static const struct ink dark = {0.13, 0.15, 0.19, 1};
static const struct ink faint = {0.42, 0.45, 0.5, 1};
static const struct ink grid = {0.9, 0.91, 0.93, 1};

/* One per network; they repeat if there are more. */
static const struct ink inks[] = {
    {0.12, 0.47, 0.71, 0.6}, {0.89, 0.47, 0.13, 0.6}, {0.20, 0.63, 0.30, 0.6},
    {0.75, 0.22, 0.24, 0.6}, {0.49, 0.36, 0.68, 0.6}, {0.45, 0.33, 0.28, 0.6},
};

static struct ink ink_of(size_t network)
{
    return inks[network % (sizeof inks / sizeof inks[0])];
}

struct plot_page {
    struct sheet *sheet;
    const struct evaluation *evaluation;
    enum target target; /* of the current panel */
};

/* ---- axes ---------------------------------------------------------------- */

static void tick_label(char text[UNITS_MAX], double value)
{
    snprintf(text, UNITS_MAX, "%.6g", value);
}

static void axis_below(struct plot_page *page, struct area area,
                       struct axis *axis, const char *caption)
{
    struct ticks ticks = axis_ticks(axis, 6);
    double bottom = area.y + area.height;
    char text[UNITS_MAX];

    axis->from = area.x;
    axis->to = area.x + area.width;
    for (size_t i = 0; i < ticks.n; i++) {
        double x = axis_place(axis, ticks.values[i]);

        tick_label(text, ticks.values[i]);
        sheet_line(page->sheet, (struct spot){x, area.y},
                   (struct spot){x, bottom}, grid, 0.6);
        sheet_text(page->sheet, (struct spot){x, bottom + 13}, SHEET_MIDDLE,
                   text_size, faint, text);
    }
    sheet_line(page->sheet, (struct spot){area.x, bottom},
               (struct spot){area.x + area.width, bottom}, faint, 0.8);
    sheet_text(page->sheet, (struct spot){area.x + area.width / 2, bottom + 28},
               SHEET_MIDDLE, text_size, dark, caption);
}

static void axis_left(struct plot_page *page, struct area area,
                      struct axis *axis, const char *caption)
{
    struct ticks ticks = axis_ticks(axis, 6);
    char text[UNITS_MAX];

    axis->from = area.y + area.height;
    axis->to = area.y;
    for (size_t i = 0; i < ticks.n; i++) {
        double y = axis_place(axis, ticks.values[i]);

        tick_label(text, ticks.values[i]);
        sheet_line(page->sheet, (struct spot){area.x, y},
                   (struct spot){area.x + area.width, y}, grid, 0.6);
        sheet_text(page->sheet, (struct spot){area.x - 6, y + 3}, SHEET_RIGHT,
                   text_size, faint, text);
    }
    sheet_text_upright(page->sheet,
                       (struct spot){area.x - 42, area.y + area.height / 2},
                       text_size, dark, caption);
}

/* ---- the panels ---------------------------------------------------------- */

static bool is_in_panel(const struct plot_page *page,
                        const struct evaluated *row)
{
    return row->target == page->target;
}

/* Both axes of a panel are the same, so that its diagonal means "right". */
static struct axis value_axis(const struct plot_page *page)
{
    struct axis axis = {.low = INFINITY, .high = 0, .is_log = true};

    for (size_t i = 0; i < page->evaluation->n_rows; i++) {
        const struct evaluated *row = &page->evaluation->rows[i];

        if (!is_in_panel(page, row))
            continue;
        axis.low = fmin(axis.low, fmin(row->measured, row->estimate.value));
        axis.high = fmax(axis.high, fmax(row->measured, row->estimate.value));
    }
    axis.low *= 0.9;
    axis.high *= 1.1;
    return axis;
}

static void draw_values(struct plot_page *page, struct area area)
{
    static const char *const units[] = {"ms", "MB"};
    struct axis across = value_axis(page), up = across;
    char caption[64];

    snprintf(caption, sizeof caption, "measured %s, %s",
             target_names[page->target], units[page->target]);
    axis_below(page, area, &across, caption);
    snprintf(caption, sizeof caption, "predicted, %s", units[page->target]);
    axis_left(page, area, &up, caption);
    sheet_dashes(page->sheet, (struct spot){across.from, up.from},
                 (struct spot){across.to, up.to}, faint, 1, 3);
    for (size_t i = 0; i < page->evaluation->n_rows; i++) {
        const struct evaluated *row = &page->evaluation->rows[i];

        if (is_in_panel(page, row))
            sheet_disc(page->sheet,
                       (struct spot){axis_place(&across, row->measured),
                                     axis_place(&up, row->estimate.value)},
                       2, ink_of(row->network));
    }
}

static double error_of(const struct evaluated *row)
{
    return 100 * (row->estimate.value / row->measured - 1);
}

/* The mean absolute error of the rows of one batch size, or NAN. */
static double mean_at(const struct plot_page *page, double batch)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < page->evaluation->n_rows; i++) {
        const struct evaluated *row = &page->evaluation->rows[i];

        if (is_in_panel(page, row) && row->batch == batch) {
            sum += fabs(error_of(row));
            n++;
        }
    }
    return n > 0 ? sum / n : (double)NAN;
}

static double next_batch(const struct plot_page *page, double behind)
{
    double next = INFINITY;

    for (size_t i = 0; i < page->evaluation->n_rows; i++) {
        const struct evaluated *row = &page->evaluation->rows[i];

        if (is_in_panel(page, row) && row->batch > behind)
            next = fmin(next, row->batch);
    }
    return next;
}

static void draw_means(struct plot_page *page, const struct axis *across,
                       const struct axis *up)
{
    struct spot before = {0};
    bool is_first = true;

    for (double batch = next_batch(page, 0); isfinite(batch);
         batch = next_batch(page, batch)) {
        struct spot here = {axis_place(across, batch),
                            axis_place(up, mean_at(page, batch))};

        if (!is_first)
            sheet_line(page->sheet, before, here, dark, 1.4);
        before = here;
        is_first = false;
    }
}

/* Wide enough for every row and for the line of means, which lies above them if
 * all are predicted too low. */
static void error_axes(const struct plot_page *page, struct axis *across,
                       struct axis *up)
{
    *across = (struct axis){.low = INFINITY, .high = 0, .is_log = true};
    *up = (struct axis){.low = -10, .high = 10};
    for (size_t i = 0; i < page->evaluation->n_rows; i++) {
        const struct evaluated *row = &page->evaluation->rows[i];

        if (!is_in_panel(page, row))
            continue;
        across->low = fmin(across->low, row->batch);
        across->high = fmax(across->high, row->batch);
        up->low = fmin(up->low, error_of(row));
        up->high = fmax(up->high, error_of(row));
    }
    for (double batch = next_batch(page, 0); isfinite(batch);
         batch = next_batch(page, batch))
        up->high = fmax(up->high, mean_at(page, batch));
    across->low *= 0.9;
    across->high *= 1.1;
    axis_round(up, 6);
}

static void draw_errors(struct plot_page *page, struct area area)
{
    struct axis across, up;

    error_axes(page, &across, &up);
    axis_below(page, area, &across, "batch");
    axis_left(page, area, &up, "error, %");
    for (size_t i = 0; i < page->evaluation->n_rows; i++) {
        const struct evaluated *row = &page->evaluation->rows[i];

        if (is_in_panel(page, row))
            sheet_disc(page->sheet,
                       (struct spot){axis_place(&across, row->batch),
                                     axis_place(&up, error_of(row))},
                       2, ink_of(row->network));
    }
    draw_means(page, &across, &up);
    sheet_text(page->sheet, (struct spot){area.x + area.width, area.y - 5},
               SHEET_RIGHT, text_size, faint, "line: mean without the sign");
}

/* ---- the page ------------------------------------------------------------ */

static void draw_plot_head(struct plot_page *page,
                           const struct fingerprint *fingerprint)
{
    static const double size = 14;
    const char *device = fingerprint_device(fingerprint);
    double x = margin;
    char title[160];

    snprintf(title, sizeof title, "Predicted and measured%s%.80s",
             *device ? " on " : "", device);
    sheet_bold(page->sheet, (struct spot){x, margin + size}, SHEET_LEFT, size,
               dark, title);
    for (size_t i = 0; i < page->evaluation->n_networks; i++) {
        const char *name = page->evaluation->networks[i].name;

        sheet_disc(page->sheet, (struct spot){x + 4, margin + size + 16}, 4,
                   ink_of(i));
        sheet_text(page->sheet, (struct spot){x + 12, margin + size + 19},
                   SHEET_LEFT, text_size, dark, name);
        x += 28 + sheet_text_width(page->sheet, text_size, name);
    }
}

static bool has_target(const struct evaluation *evaluation, enum target target)
{
    for (size_t i = 0; i < evaluation->n_rows; i++) {
        if (evaluation->rows[i].target == target)
            return true;
    }
    return false;
}

enum assay_status evaluation_plot(const struct evaluation *evaluation,
                                  const struct fingerprint *fingerprint,
                                  enum sheet_format format, struct sink *sink,
                                  struct error *err)
{
    static const double left = 58, top = 70, width = 360, high = 310, low = 200;
    struct plot_page page = {.evaluation = evaluation};
    enum assay_status st =
        sheet_new(format, page_width, page_height, &page.sheet, err);

    if (st)
        return st;
    draw_plot_head(&page, fingerprint);
    for (int t = 0; t < N_TARGETS; t++) {
        double x = margin + left + t * (width + left + margin);

        page.target = (enum target)t;
        if (!has_target(evaluation, page.target))
            continue;
        draw_values(&page, (struct area){x, top, width, high});
        draw_errors(&page, (struct area){x, top + high + 60, width, low});
    }
    st = sheet_write(page.sheet, sink, err);
    sheet_free(page.sheet);
    return st;
}

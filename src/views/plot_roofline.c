/* views/plot_roofline.c - how far each module is from what the machine can do:
 * arithmetic against memory traffic (Williams, Waterman, Patterson 2009). */
#include "base/mem.h"
#include "base/units.h"
#include "run/bound.h"
#include "views/plot_internal.h"
#include "views/scope_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_labels = 12, most_discs = 400 };

static const double label_size = 7;

/* A module on the roofline. */
struct roofline_mark {
    size_t row;
    double intensity; /* FLOP per byte */
    double rate;      /* FLOP/s, in the unit of the picture */
    double ns;
};

enum {
    roof_labels = 2,
    roof_steps = 100, /* of each of its two lines */
    leader_steps = 16,
    most_taken = most_labels * (1 + leader_steps) + most_discs + roof_labels +
                 2 * roof_steps
};

/* What labels must not cover: the labels so far, the discs, and the roof. */
struct roofline_labels {
    struct area area; /* where they must stay */
    struct area taken[most_taken];
    size_t n;
    struct area texts[most_labels]; /* of them */
    size_t n_texts;
};

struct roofline {
    struct rows rows;
    struct roofline_mark *marks; /* the longest first */
    size_t n;
    double peak, slope; /* in the unit; the slope for each FLOP per byte */
    double bandwidth_gbs;
    const char *unit;
};

/* What was executed if that is known, else what the model asks for. */
static double roofline_flops_of(const struct scope_work *work)
{
    if (!isnan(work->done_flops))
        return work->done_flops;
    return add_known(2 * work->macs, work->flops);
}

static double plot_roofline_bytes_of(const struct scope_work *work)
{
    if (!isnan(work->done_bytes))
        return work->done_bytes;
    return add_known(work->read_bytes, work->write_bytes);
}

static int roofline_longest_first(const void *a, const void *b)
{
    double left = ((const struct roofline_mark *)a)->ns;
    double right = ((const struct roofline_mark *)b)->ns;

    return left < right ? 1 : left > right ? -1 : 0;
}

/* What a device took for a row, or the host if none did. A row with work of its
 * own has no rows below it that a device worked for. */
static double roofline_time_of(const struct rows *rows, const struct row *row)
{
    double on_device = row_device_ns(rows, row);

    return on_device > 0 ? on_device : rows_each(rows, row, row->self_ns);
}

static void roofline_add_mark(struct roofline *roofline, const struct run *run,
                              size_t row)
{
    const struct row *item = &roofline->rows.items[row];
    const struct scope_work *work = run_work(run, item->scope);
    double ns = roofline_time_of(&roofline->rows, item);
    double flops, bytes;

    if (!work || !item->is_called || item->is_outside || !(ns > 0))
        return;
    flops = roofline_flops_of(work);
    bytes = plot_roofline_bytes_of(work);
    if (flops > 0 && bytes > 0)
        roofline->marks[roofline->n++] =
            (struct roofline_mark){row, flops / bytes, flops / ns, ns};
}

/* GFLOP/s, or TFLOP/s beside the peak of a GPU. */
static void roofline_choose_unit(struct roofline *roofline,
                                 const struct peaks *peaks)
{
    struct rate_unit unit = units_flops(peaks->gflops);

    roofline->unit = unit.name;
    roofline->peak = peaks->gflops / unit.giga;
    roofline->slope = peaks->read_gbs / unit.giga;
    roofline->bandwidth_gbs = peaks->read_gbs;
    for (size_t i = 0; i < roofline->n; i++)
        roofline->marks[i].rate /= unit.giga;
}

static enum assay_status plot_roofline_collect(struct roofline *roofline,
                                               const struct run *run,
                                               struct error *err)
{
    const struct peaks peaks = peaks_of_facts(run);
    enum assay_status st = rows_build(run, &roofline->rows, err);

    if (st)
        return st;
    roofline->marks = mem_array(roofline->rows.n, sizeof *roofline->marks);
    if (!roofline->marks)
        return error_nomem(err, roofline->rows.n * sizeof *roofline->marks,
                           "a plot");
    for (size_t i = 0; i < roofline->rows.n; i++)
        roofline_add_mark(roofline, run, i);
    qsort(roofline->marks, roofline->n, sizeof *roofline->marks,
          roofline_longest_first);
    roofline_choose_unit(roofline, &peaks);
    if (roofline->n == 0)
        return error_set(
            err, ASSAY_UNSUPPORTED,
            "the run has no arithmetic of its modules, so there is "
            "no roofline to draw; use --kind icicle");
    return ASSAY_OK;
}

static void roofline_span_axes(const struct roofline *roofline,
                               struct axis *across, struct axis *up)
{
    *across = *up = (struct axis){.low = INFINITY, .high = 0, .is_log = true};
    for (size_t i = 0; i < roofline->n; i++) {
        across->low = fmin(across->low, roofline->marks[i].intensity);
        across->high = fmax(across->high, roofline->marks[i].intensity);
        up->low = fmin(up->low, roofline->marks[i].rate);
        up->high = fmax(up->high, roofline->marks[i].rate);
    }
    up->high = fmax(up->high, roofline->peak * 1.3);
    across->high = fmax(across->high, roofline->peak / roofline->slope * 4);
    /* Modules that take next to nothing must not squeeze the rest. */
    up->low = fmax(up->low, up->high / 1e5);
    across->low = fmax(across->low, across->high / 1e6);
    axis_round(across, 6);
    axis_round(up, 6);
}

/* A number at the roof, to the left of a place. */
static void roofline_label_roof(struct plot *plot,
                                struct roofline_labels *labels, struct spot end,
                                const char *words)
{
    double width = sheet_text_width(plot->sheet, PLOT_TEXT, words);

    labels->taken[labels->n++] =
        (struct area){end.x - width, end.y - PLOT_TEXT, width, PLOT_TEXT + 3};
    sheet_text(plot->sheet, end, SHEET_RIGHT, PLOT_TEXT, plot_ink, words);
}

/* The i-th of n small squares along a line. */
static struct area roofline_square(struct spot from, struct spot to, int i,
                                   int n, double size)
{
    double part = (i + 0.5) / n;

    return (struct area){from.x + part * (to.x - from.x) - size / 2,
                         from.y + part * (to.y - from.y) - size / 2, size,
                         size};
}

static void roofline_keep_line(struct roofline_labels *labels, struct spot from,
                               struct spot to, int n, double size)
{
    for (int i = 0; i < n; i++)
        labels->taken[labels->n++] = roofline_square(from, to, i, n, size);
}

static void roofline_draw_roof(struct plot *plot,
                               struct roofline_labels *labels,
                               const struct roofline *roofline,
                               const struct axis *x, const struct axis *y)
{
    struct area area = labels->area;
    double ridge = roofline->peak / roofline->slope;
    const struct spot roof[] = {
        {axis_place(x, x->low), axis_place(y, roofline->slope * x->low)},
        {axis_place(x, ridge), axis_place(y, roofline->peak)},
        {area.x + area.width, axis_place(y, roofline->peak)},
    };
    char words[96], number[UNITS_MAX];

    if (isnan(ridge)) {
        sheet_text(plot->sheet, (struct spot){area.x + 6, area.y + 12},
                   SHEET_LEFT, PLOT_TEXT, plot_faint_ink,
                   "no roof: the machine's peaks are not in the run (assay "
                   "machine measures them)");
        return;
    }
    sheet_clip(plot->sheet, area);
    sheet_path(plot->sheet, roof, 3, plot_ink, 1.6);
    sheet_unclip(plot->sheet);
    roofline_keep_line(labels, roof[0], roof[1], roof_steps, 6);
    roofline_keep_line(labels, roof[1], roof[2], roof_steps, 6);
    snprintf(words, sizeof words, "%s %s", units_number(number, roofline->peak),
             roofline->unit);
    /* At the ridge: the modules that reach the roof are at its other end. */
    roofline_label_roof(
        plot, labels,
        (struct spot){roof[1].x + 8 +
                          sheet_text_width(plot->sheet, PLOT_TEXT, words),
                      roof[1].y - 5},
        words);
    snprintf(words, sizeof words, "%s GB/s",
             units_number(number, roofline->bandwidth_gbs));
    roofline_label_roof(plot, labels,
                        (struct spot){roof[1].x - 18, roof[1].y + 2}, words);
}

static double roofline_radius_of(const struct roofline *roofline,
                                 const struct roofline_mark *mark)
{
    return 2 + 8 * sqrt(mark->ns / roofline->marks[0].ns);
}

static struct spot plot_roofline_place_of(const struct roofline_mark *mark,
                                          const struct axis *x,
                                          const struct axis *y)
{
    return (struct spot){axis_place(x, mark->intensity),
                         axis_place(y, mark->rate)};
}

static void roofline_draw_mark(struct plot *plot,
                               const struct roofline *roofline,
                               const struct roofline_mark *mark,
                               struct spot middle)
{
    const struct row *row = &roofline->rows.items[mark->row];
    struct ink ink = plot_scope_ink(plot, row->scope);

    ink.alpha = 0.8;
    sheet_disc(plot->sheet, middle, roofline_radius_of(roofline, mark), ink);
}

/* The last parts of a path. */
static const char *roofline_short_path(const struct str *path)
{
    const char *text = str_text(path);
    size_t n_dots = 0;

    for (size_t i = path->n; i-- > 0;) {
        if (text[i] == '.' && ++n_dots == 4)
            return text + i + 1;
    }
    return text;
}

static bool plot_roofline_overlap(struct area a, struct area b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

static bool plot_roofline_is_free(const struct roofline_labels *labels,
                                  struct area place)
{
    if (place.x < labels->area.x ||
        place.x + place.width > labels->area.x + labels->area.width ||
        place.y < labels->area.y ||
        place.y + place.height > labels->area.y + labels->area.height)
        return false;
    for (size_t i = 0; i < labels->n; i++) {
        if (plot_roofline_overlap(labels->taken[i], place))
            return false;
    }
    return true;
}

/* Writes a label at a place if that is free. */
static bool roofline_try_label(struct plot *plot,
                               struct roofline_labels *labels, struct spot at,
                               double width, const char *text)
{
    struct area place = {at.x, at.y, width, label_size + 1};

    if (!plot_roofline_is_free(labels, place))
        return false;
    labels->taken[labels->n++] = place;
    labels->texts[labels->n_texts++] = place;
    sheet_text(plot->sheet, (struct spot){at.x, at.y + label_size * 0.85},
               SHEET_LEFT, label_size, plot_ink, text);
    return true;
}

static bool roofline_crosses_text(const struct roofline_labels *labels,
                                  struct spot from, struct spot to)
{
    for (size_t k = 0; k < labels->n_texts; k++) {
        for (int i = 0; i < leader_steps; i++) {
            if (plot_roofline_overlap(
                    labels->texts[k],
                    roofline_square(from, to, i, leader_steps, 2)))
                return true;
        }
    }
    return false;
}

/* In a direction, with a line from the disc that crosses no other label. */
static bool roofline_try_leader(struct plot *plot,
                                struct roofline_labels *labels,
                                struct spot from, struct spot to,
                                const char *text)
{
    double width = sheet_text_width(plot->sheet, label_size, text);
    struct spot at = {to.x < from.x ? to.x - width - 2 : to.x + 2,
                      to.y - label_size / 2};

    if (roofline_crosses_text(labels, from, to) ||
        !roofline_try_label(plot, labels, at, width, text))
        return false;
    sheet_line(plot->sheet, from, to, plot_faint_ink, 0.4);
    roofline_keep_line(labels, from, to, leader_steps, 1);
    return true;
}

/* Farther away, all around. */
static void roofline_label_afar(struct plot *plot,
                                struct roofline_labels *labels,
                                struct spot middle, double radius,
                                const char *text)
{
    static const int directions = 16;

    for (double far = 14; far <= 62; far += 12) {
        for (int i = 0; i < directions; i++) {
            double x = cos(2 * M_PI * i / directions);
            double y = -sin(2 * M_PI * i / directions);
            struct spot from = {middle.x + radius * x, middle.y + radius * y};
            struct spot to = {from.x + far * x, from.y + far * y};

            if (roofline_try_leader(plot, labels, from, to, text))
                return;
        }
    }
}

/* To the right of the disc, to the left, above or below, or one line further:
 * the first place that is free; otherwise farther away. Without one there is no
 * label. */
static void plot_roofline_draw_label(struct plot *plot,
                                     struct roofline_labels *labels,
                                     struct spot middle, double radius,
                                     const char *text)
{
    double width = sheet_text_width(plot->sheet, label_size, text);
    double most_x = labels->area.x + labels->area.width - width;
    double x = fmax(labels->area.x, fmin(middle.x - width / 2, most_x));
    double above = middle.y - radius - label_size - 3;
    double below = middle.y + radius + 3;
    const struct spot places[] = {
        {middle.x + radius + 3, middle.y - label_size / 2},
        {middle.x - radius - 3 - width, middle.y - label_size / 2},
        {x, above},
        {x, below},
        {x, above - label_size - 2},
        {x, below + label_size + 2},
    };

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (roofline_try_label(plot, labels, places[i], width, text))
            return;
    }
    roofline_label_afar(plot, labels, middle, radius, text);
}

static void roofline_label_mark(struct plot *plot,
                                const struct roofline *roofline,
                                const struct roofline_mark *mark,
                                struct roofline_labels *labels,
                                struct spot middle)
{
    const struct row *row = &roofline->rows.items[mark->row];
    struct str path = {0};

    if (!run_scope_path(plot->run, row->scope, &path))
        plot_roofline_draw_label(plot, labels, middle,
                                 roofline_radius_of(roofline, mark),
                                 roofline_short_path(&path));
    str_release(&path);
}

/* All discs must stay visible, with a rim of nothing. */
static void roofline_keep_discs(struct roofline_labels *labels,
                                const struct roofline *roofline,
                                const struct axis *x, const struct axis *y)
{
    for (size_t i = 0; i < roofline->n && i < most_discs; i++) {
        const struct roofline_mark *mark = &roofline->marks[i];
        struct spot middle = plot_roofline_place_of(mark, x, y);
        double radius = roofline_radius_of(roofline, mark) + 1;

        labels->taken[labels->n++] = (struct area){
            middle.x - radius, middle.y - radius, 2 * radius, 2 * radius};
    }
}

/* A disc is drawn whole, or not at all if its middle is outside the axes. */
static bool roofline_is_inside(struct area area, struct spot middle)
{
    return middle.x >= area.x - 0.5 && middle.x <= area.x + area.width + 0.5 &&
           middle.y >= area.y - 0.5 && middle.y <= area.y + area.height + 0.5;
}

static void roofline_draw_marks(struct plot *plot,
                                const struct roofline *roofline)
{
    struct area area = plot->area;
    struct roofline_labels labels = {0};
    struct axis x, y;
    char words[32];

    area.x += 50;
    area.width -= 60;
    area.height -= 36;
    labels.area = area;
    roofline_span_axes(roofline, &x, &y);
    plot_axis_below(plot, area, &x, "FLOP per byte, as executed");
    snprintf(words, sizeof words, "%s, as executed", roofline->unit);
    plot_axis_left(plot, area, &y, words);
    roofline_draw_roof(plot, &labels, roofline, &x, &y);
    roofline_keep_discs(&labels, roofline, &x, &y);
    for (size_t i = roofline->n; i-- > 0;) {
        struct spot middle =
            plot_roofline_place_of(&roofline->marks[i], &x, &y);

        if (roofline_is_inside(area, middle))
            roofline_draw_mark(plot, roofline, &roofline->marks[i], middle);
    }
    for (size_t i = 0; i < roofline->n && i < most_labels; i++) {
        struct spot middle =
            plot_roofline_place_of(&roofline->marks[i], &x, &y);

        if (roofline_is_inside(area, middle))
            roofline_label_mark(plot, roofline, &roofline->marks[i], &labels,
                                middle);
    }
}

enum assay_status plot_roofline(struct plot *plot, struct error *err)
{
    struct roofline roofline = {0};
    enum assay_status st = plot_roofline_collect(&roofline, plot->run, err);

    if (!st) {
        plot_head(plot, "Roofline: modules against the machine, as large as "
                        "their time");
        plot_legend_begin(plot);
        roofline_draw_marks(plot, &roofline);
    }
    mem_free(roofline.marks);
    rows_release(&roofline.rows);
    return st;
}

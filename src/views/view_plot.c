/* views/view_plot.c - see plot.h; and what plots share: head, axes, marks. */
#include "base/units.h"
#include "views/model_title.h"
#include "views/plot_internal.h"

#include <stdio.h>
#include <string.h>

const struct ink plot_ink = {0.13, 0.15, 0.18, 1};
const struct ink plot_faint_ink = {0.42, 0.45, 0.50, 1};
const struct ink plot_grid_ink = {0.90, 0.91, 0.93, 1};
const struct ink plot_main_ink = {0, 0.45, 0.70, 1};
const struct ink plot_accent_ink = {0.84, 0.37, 0, 1};

/* ---- names and heads ------------------------------------------------------
 */

void plot_name(const struct run *run, uint32_t scope, struct str *out)
{
    const struct scope *own = run_scope(run, scope);
    bool is_number =
        own->name[0] && strspn(own->name, "0123456789") == strlen(own->name);

    if (is_number && own->parent != RUN_NONE)
        (void)str_printf(out, "%s.", run_scope(run, own->parent)->name);
    (void)str_append(out, own->name);
}

static void plot_add_text(struct str *text, const char *value)
{
    /* Without memory the head is shorter. */
    if (value)
        (void)str_printf(text, "%s%s", text->n ? "   " : "", value);
}

static void plot_add_threads(struct str *text, const char *count)
{
    if (count)
        (void)str_printf(text, "   %s thread%s", count,
                         strcmp(count, "1") == 0 ? "" : "s");
}

void plot_head(struct plot *plot, const char *title)
{
    static const double size = 14;
    struct area area = plot->area;
    struct str facts = {0};

    sheet_bold(plot->sheet, (struct spot){area.x, area.y + size}, SHEET_LEFT,
               size, plot_ink, title);
    plot_add_text(&facts, model_run_title(plot->run));
    if (run_fact(plot->run, "machine.gpu")) {
        plot_add_text(&facts, run_fact(plot->run, "machine.gpu"));
    } else {
        plot_add_text(&facts, run_fact(plot->run, "machine.cpu"));
        plot_add_threads(&facts, run_fact(plot->run, "settings.threads"));
    }
    sheet_text_in(plot->sheet,
                  (struct area){area.x, area.y + size + 4, area.width, 16},
                  PLOT_TEXT, plot_faint_ink, str_text(&facts));
    str_release(&facts);
    plot->area.y += size + 30;
    plot->area.height -= size + 30;
}

/* Ticks are round numbers: they need few digits. */
static const char *plot_page_tick_text(char text[UNITS_MAX], double value)
{
    snprintf(text, UNITS_MAX, "%.6g", value);
    return text;
}

static double plot_bottom_of(struct area area)
{
    return area.y + area.height;
}

void plot_axis_below(struct plot *plot, struct area area, struct axis *axis,
                     const char *caption)
{
    double bottom = plot_bottom_of(area);
    struct ticks ticks = axis_ticks(axis, 7);
    char text[UNITS_MAX];

    axis->from = area.x;
    axis->to = area.x + area.width;
    for (size_t i = 0; i < ticks.n; i++) {
        double x = axis_place(axis, ticks.values[i]);

        sheet_line(plot->sheet, (struct spot){x, area.y},
                   (struct spot){x, bottom}, plot_grid_ink, 0.6);
        sheet_text(plot->sheet, (struct spot){x, bottom + 13}, SHEET_MIDDLE,
                   PLOT_TEXT, plot_faint_ink,
                   plot_page_tick_text(text, ticks.values[i]));
    }
    sheet_line(plot->sheet, (struct spot){area.x, bottom},
               (struct spot){area.x + area.width, bottom}, plot_faint_ink, 0.8);
    sheet_text(plot->sheet, (struct spot){area.x + area.width / 2, bottom + 28},
               SHEET_MIDDLE, PLOT_TEXT, plot_ink, caption);
}

void plot_axis_left(struct plot *plot, struct area area, struct axis *axis,
                    const char *caption)
{
    struct ticks ticks = axis_ticks(axis, 6);
    char text[UNITS_MAX];

    axis->from = plot_bottom_of(area);
    axis->to = area.y;
    for (size_t i = 0; i < ticks.n; i++) {
        double y = axis_place(axis, ticks.values[i]);

        sheet_line(plot->sheet, (struct spot){area.x, y},
                   (struct spot){area.x + area.width, y}, plot_grid_ink, 0.6);
        sheet_text(plot->sheet, (struct spot){area.x - 6, y + 3}, SHEET_RIGHT,
                   PLOT_TEXT, plot_faint_ink,
                   plot_page_tick_text(text, ticks.values[i]));
    }
    sheet_text_upright(plot->sheet,
                       (struct spot){area.x - 42, area.y + area.height / 2},
                       PLOT_TEXT, plot_ink, caption);
}

void plot_mark(struct plot *plot, struct area area, double x, struct ink ink,
               const char *words)
{
    double width = sheet_text_width(plot->sheet, PLOT_TEXT, words);
    bool fits_right = x + 4 + width <= area.x + area.width;

    sheet_dashes(plot->sheet, (struct spot){x, area.y},
                 (struct spot){x, plot_bottom_of(area)}, ink, 1, 3);
    sheet_text(plot->sheet,
               (struct spot){fits_right ? x + 4 : x - 4, area.y + 9},
               fits_right ? SHEET_LEFT : SHEET_RIGHT, PLOT_TEXT, ink, words);
}

/* ---- the view ----------------------------------------------------------- */

enum { page_width = 760, page_height = 440, margin = 24 };

const char *const plot_kind_names[] = {
#define NAME(kind, text, draw) text,
    PLOT_KINDS(NAME)
#undef NAME
        NULL,
};

enum assay_status view_plot(const struct run *run, enum plot_kind kind,
                            enum sheet_format format, struct sink *sink,
                            struct error *err)
{
    static plot_function *const draw[] = {
#define DRAW(kind, text, draw) draw,
        PLOT_KINDS(DRAW)
#undef DRAW
    };
    struct plot plot = {.run = run,
                        .area = {margin, margin, page_width - 2 * margin,
                                 page_height - 2 * margin}};
    enum assay_status st =
        sheet_new(format, page_width, page_height, &plot.sheet, err);

    if (!st)
        st = draw[kind](&plot, err);
    if (!st && plot.legend_y > 0)
        plot_legend_end(&plot);
    if (!st)
        st = sheet_write(plot.sheet, sink, err);
    sheet_free(plot.sheet);
    return st;
}

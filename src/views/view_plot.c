/* views/view_plot.c - see plot.h; and what plots share: head, colours, axes. */
#include "base/units.h"
#include "views/plot_internal.h"

#include <stdio.h>
#include <string.h>

const struct ink plot_ink = {0.13, 0.15, 0.18, 1};
const struct ink plot_faint_ink = {0.42, 0.45, 0.50, 1};
const struct ink plot_grid_ink = {0.90, 0.91, 0.93, 1};
const struct ink plot_main_ink = {0, 0.45, 0.70, 1};
const struct ink plot_accent_ink = {0.84, 0.37, 0, 1};

/* ---- the colours of classes ---------------------------------------------- */

/* The colours of Okabe and Ito, which colour-blind people can distinguish,
 * lightened so that dark text is readable on them. */
static const struct {
    const char *label;
    struct ink ink;
} plot_kinds[] = {
    {"convolution", {0.40, 0.69, 0.87, 1}},
    {"matrix product", {0.95, 0.74, 0.35, 1}},
    {"normalisation", {0.42, 0.77, 0.65, 1}},
    {"activation", {0.96, 0.90, 0.42, 1}},
    {"pooling", {0.87, 0.64, 0.77, 1}},
    {"boxes and masks", {0.92, 0.58, 0.38, 1}},
    {"pictures in and out", {0.76, 0.70, 0.88, 1}},
    {"other", {0.82, 0.84, 0.87, 1}},
};

enum { N_PLOT_KINDS = sizeof plot_kinds / sizeof plot_kinds[0] };

/* An index of plot_kinds. */
static size_t plot_kind_of(const char *class_name)
{
    static const struct {
        const char *part;
        size_t kind;
    } parts[] = {
        {"Conv", 0},      {"Linear", 1}, {"Gemm", 1},    {"MatMul", 1},
        {"Norm", 2},      {"ReLU", 3},   {"Sigmoid", 3}, {"Pool", 4},
        {"Align", 5},     {"Rpn", 5},    {"Anchor", 5},  {"Detections", 5},
        {"Transform", 6},
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(class_name, parts[i].part))
            return parts[i].kind;
    }
    return N_PLOT_KINDS - 1;
}

struct ink plot_class_ink(const char *class_name)
{
    return plot_kinds[plot_kind_of(class_name)].ink;
}

void plot_legend(struct plot *plot)
{
    enum { line = 18, swatch = 8, gap = 14 };
    bool is_there[N_PLOT_KINDS] = {false};
    double x = plot->area.x;
    double y = plot->area.y + plot->area.height - swatch;

    for (uint32_t i = 0; i < run_scope_count(plot->run); i++)
        is_there[plot_kind_of(run_scope(plot->run, i)->class_name)] = true;
    for (size_t i = 0; i < N_PLOT_KINDS; i++) {
        if (!is_there[i])
            continue;
        sheet_rectangle(plot->sheet, (struct area){x, y, swatch, swatch},
                        plot_kinds[i].ink);
        sheet_text(plot->sheet, (struct spot){x + swatch + 4, y + swatch},
                   SHEET_LEFT, PLOT_TEXT, plot_faint_ink, plot_kinds[i].label);
        x += swatch + 4 + gap +
             sheet_text_width(plot->sheet, PLOT_TEXT, plot_kinds[i].label);
    }
    plot->area.height -= line;
}

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

static void plot_add_fact(struct str *text, const struct run *run,
                          const char *key)
{
    const char *value = run_fact(run, key);

    /* Without memory the head is shorter. */
    if (value)
        (void)str_printf(text, "%s%s", text->n ? "   " : "", value);
}

void plot_head(struct plot *plot, const char *title)
{
    static const double size = 14;
    struct area area = plot->area;
    struct str facts = {0};

    sheet_bold(plot->sheet, (struct spot){area.x, area.y + size}, SHEET_LEFT,
               size, plot_ink, title);
    plot_add_fact(&facts, plot->run, "model.name");
    plot_add_fact(&facts, plot->run, "machine.cpu");
    if (run_fact(plot->run, "settings.threads"))
        (void)str_printf(&facts, "   %s threads",
                         run_fact(plot->run, "settings.threads"));
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
    if (!st)
        st = sheet_write(plot.sheet, sink, err);
    sheet_free(plot.sheet);
    return st;
}

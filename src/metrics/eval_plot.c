/* metrics/eval_plot.c - precision over recall. */
#include "metrics/eval.h"

#include "base/units.h"
#include "picture/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double eval_page_width = 720, eval_page_height = 480;
static const double eval_text_size = 9;

static const struct ink eval_dark = {0.13, 0.15, 0.19, 1};
static const struct ink eval_faint = {0.42, 0.45, 0.5, 1};
static const struct ink eval_grid = {0.9, 0.91, 0.93, 1};

/* A place for the curves, and the lines of the legend so far. */
struct eval_page {
    struct sheet *sheet;
    struct area area;
    struct axis across, up;
    size_t n_lines;
};

enum { EVAL_MOST_LINES = 26 }; /* of the legend */

/* ---- axes ------------------------------------------------------------- */

static void eval_axes(struct eval_page *page)
{
    struct area area = page->area;
    double bottom = area.y + area.height;

    page->across = (struct axis){
        .low = 0, .high = 1, .from = area.x, .to = area.x + area.width};
    page->up = (struct axis){.low = 0, .high = 1, .from = bottom, .to = area.y};
    for (int i = 0; i <= 5; i++) {
        double value = i / 5.0, x = axis_place(&page->across, value);
        double y = axis_place(&page->up, value);
        char text[UNITS_MAX];

        snprintf(text, sizeof text, "%.1f", value);
        sheet_line(page->sheet, (struct spot){x, area.y},
                   (struct spot){x, bottom}, eval_grid, 0.6);
        sheet_line(page->sheet, (struct spot){area.x, y},
                   (struct spot){area.x + area.width, y}, eval_grid, 0.6);
        sheet_text(page->sheet, (struct spot){x, bottom + 13}, SHEET_MIDDLE,
                   eval_text_size, eval_faint, text);
        sheet_text(page->sheet, (struct spot){area.x - 6, y + 3}, SHEET_RIGHT,
                   eval_text_size, eval_faint, text);
    }
    sheet_text(page->sheet, (struct spot){area.x + area.width / 2, bottom + 28},
               SHEET_MIDDLE, eval_text_size, eval_dark, "recall");
    sheet_text_upright(page->sheet,
                       (struct spot){area.x - 36, area.y + area.height / 2},
                       eval_text_size, eval_dark, "precision");
}

/* ---- curves ----------------------------------------------------------- */

/* From blue over green to red. */
static struct ink eval_ink(double share)
{
    static const struct ink inks[] = {{0.12, 0.35, 0.71, 1},
                                      {0.13, 0.59, 0.53, 1},
                                      {0.85, 0.55, 0.13, 1},
                                      {0.75, 0.22, 0.24, 1}};
    enum { last = sizeof inks / sizeof *inks - 1 };
    double place = share * last;
    size_t at = place < last ? (size_t)place : last - 1;
    double mix = place - (double)at;

    return (struct ink){
        inks[at].red + mix * (inks[at + 1].red - inks[at].red),
        inks[at].green + mix * (inks[at + 1].green - inks[at].green),
        inks[at].blue + mix * (inks[at + 1].blue - inks[at].blue), 1};
}

static void eval_draw(struct eval_page *page,
                      const double precision[N_COCO_RECALLS], struct ink ink,
                      double line)
{
    struct spot spots[N_COCO_RECALLS];

    for (size_t i = 0; i < N_COCO_RECALLS; i++)
        spots[i] = (struct spot){axis_place(&page->across, (double)i / 100),
                                 axis_place(&page->up, precision[i])};
    sheet_path(page->sheet, spots, N_COCO_RECALLS, ink, line);
}

static void eval_legend(struct eval_page *page, struct ink ink,
                        const char *name, double value)
{
    double x = page->area.x + page->area.width + 18;
    double y = page->area.y + 8 + 15 * (double)page->n_lines;
    double right = eval_page_width - 16;
    char text[UNITS_MAX];

    if (page->n_lines++ >= EVAL_MOST_LINES)
        return;
    sheet_line(page->sheet, (struct spot){x, y - 3},
               (struct spot){x + 16, y - 3}, ink, 2);
    snprintf(text, sizeof text, "%.3f", value);
    sheet_text_in(page->sheet,
                  (struct area){x + 20, y - 11, right - x - 52, 14},
                  eval_text_size, eval_dark, name);
    sheet_text(page->sheet, (struct spot){right, y}, SHEET_RIGHT,
               eval_text_size, eval_dark, text);
}

static double eval_mean(const double precision[N_COCO_RECALLS])
{
    double sum = 0;

    for (size_t i = 0; i < N_COCO_RECALLS; i++)
        sum += precision[i];
    return sum / N_COCO_RECALLS;
}

static enum assay_status eval_draw_coco(const struct eval *eval, size_t class,
                                        struct eval_page *page,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < N_COCO_OVERLAPS; i++) {
        double precision[N_COCO_RECALLS];
        struct ink ink = eval_ink((double)i / (N_COCO_OVERLAPS - 1));
        bool has_any;
        char name[32];

        st = coco_map_curve(eval->coco, class, i, precision, &has_any, err);
        if (st || !has_any)
            continue;
        eval_draw(page, precision, ink, 1.4);
        snprintf(name, sizeof name, "IoU %.2f", coco_overlap_at(i));
        eval_legend(page, ink, name, eval_mean(precision));
    }
    return st;
}

static enum assay_status eval_draw_voc(const struct eval *eval, size_t class,
                                       struct eval_page *page,
                                       struct error *err)
{
    double mean[N_COCO_RECALLS] = {0}, n = 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < eval->n_classes; i++) {
        struct ink ink = eval_ink((double)i / (double)eval->n_classes);
        double precision[N_COCO_RECALLS];
        struct voc_figures figures;

        if ((class != SIZE_MAX && i != class) ||
            eval->classes[i].n_objects == 0)
            continue;
        st = voc_map_class(eval->voc, i, &figures, precision, err);
        if (st)
            break;
        ink.alpha = class == SIZE_MAX ? 0.6 : 1;
        eval_draw(page, precision, ink, class == SIZE_MAX ? 0.8 : 2);
        eval_legend(page, ink, eval->classes[i].name, figures.ap_all);
        for (size_t k = 0; k < N_COCO_RECALLS; k++)
            mean[k] += precision[k];
        n++;
    }
    if (st || n == 0 || class != SIZE_MAX)
        return st;
    for (size_t k = 0; k < N_COCO_RECALLS; k++)
        mean[k] /= n;
    eval_draw(page, mean, eval_dark, 2.2);
    eval_legend(page, eval_dark, "mean", eval->voc_all);
    return st;
}

static void eval_head(const struct eval *eval, size_t class,
                      struct eval_page *page)
{
    const char *slash = strrchr(eval->options.results, '/');
    char text[300];

    snprintf(text, sizeof text, "Precision and recall: %s",
             class == SIZE_MAX ? "all classes" : eval->classes[class].name);
    sheet_bold(page->sheet, (struct spot){24, 28}, SHEET_LEFT, 13, eval_dark,
               text);
    snprintf(text, sizeof text, "%s, %s",
             slash && slash[1] ? slash + 1 : eval->options.results,
             eval->voc                             ? "Pascal VOC"
             : eval->options.overlap == COCO_MASKS ? "COCO, masks"
                                                   : "COCO, boxes");
    sheet_text(page->sheet, (struct spot){24, 44}, SHEET_LEFT, eval_text_size,
               eval_faint, text);
}

enum assay_status eval_plot(const struct eval *eval, size_t class,
                            enum sheet_format format, struct sink *sink,
                            struct error *err)
{
    struct eval_page page = {.area = {64, 62, 480, eval_page_height - 110}};
    enum assay_status st =
        sheet_new(format, eval_page_width, eval_page_height, &page.sheet, err);

    if (st)
        return st;
    eval_head(eval, class, &page);
    eval_axes(&page);
    sheet_text(page.sheet, (struct spot){eval_page_width - 16, 56}, SHEET_RIGHT,
               eval_text_size, eval_faint, "AP");
    st = eval->voc ? eval_draw_voc(eval, class, &page, err)
                   : eval_draw_coco(eval, class, &page, err);
    if (!st)
        st = sheet_write(page.sheet, sink, err);
    sheet_free(page.sheet);
    return st;
}

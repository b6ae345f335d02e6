/* cli/eval_show.c - see eval_show.h. */
#include "cli/eval_show.h"

#include "base/csv_text.h"
#include "base/json.h"
#include "views/line.h"
#include "views/markdown.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- figures ------------------------------------------------------------ */

enum { EVAL_ALL = -1, EVAL_TEXT = 24 };

struct eval_figure {
    const char *key, *title;
    size_t offset; /* in struct coco_summary or struct voc_figures */
    bool is_in_table;
};

#define COCO(key, title, field, is_shown)                                      \
    {                                                                          \
        key, title, offsetof(struct coco_summary, field), is_shown             \
    }
static const struct eval_figure coco_figures[] = {
    COCO("ap", "AP", map, true),
    COCO("ap_50", "AP50", map_50, true),
    COCO("ap_75", "AP75", map_75, true),
    COCO("ap_small", "APs", map_small, false),
    COCO("ap_medium", "APm", map_medium, false),
    COCO("ap_large", "APl", map_large, false),
    COCO("ar_1", "AR1", recall_1, false),
    COCO("ar_10", "AR10", recall_10, false),
    COCO("ar_100", "AR100", recall_100, true),
    COCO("ar_small", "ARs", recall_small, false),
    COCO("ar_medium", "ARm", recall_medium, false),
    COCO("ar_large", "ARl", recall_large, false),
};

#define VOC(key, title, field)                                                 \
    {                                                                          \
        key, title, offsetof(struct voc_figures, field), true                  \
    }
static const struct eval_figure voc_figures[] = {
    VOC("ap", "AP", ap_all),
    VOC("ap_11", "AP11", ap_11),
    VOC("recall", "recall", recall),
    VOC("precision", "precision", precision),
};

static const struct eval_figure *eval_figures(const struct eval *eval,
                                              size_t *n)
{
    *n = eval->voc ? sizeof voc_figures / sizeof *voc_figures
                   : sizeof coco_figures / sizeof *coco_figures;
    return eval->voc ? voc_figures : coco_figures;
}

/* class: EVAL_ALL for the mean of all. */
static double eval_value(const struct eval *eval, int64_t class,
                         const struct eval_figure *figure)
{
    struct voc_figures means = {.ap_all = eval->voc_all,
                                .ap_11 = eval->voc_11,
                                .recall = NAN,
                                .precision = NAN};
    const void *from;

    if (eval->voc)
        from = class == EVAL_ALL ? &means : &eval->classes[class].voc;
    else
        from = class == EVAL_ALL ? &eval->summary : &eval->classes[class].coco;
    return *(const double *)((const char *)from + figure->offset);
}

/* Four decimals; "-" if there is no object to measure it on. */
static const char *eval_text(char text[EVAL_TEXT], double value)
{
    if (isnan(value))
        snprintf(text, EVAL_TEXT, "-");
    else
        snprintf(text, EVAL_TEXT, "%.4f", value);
    return text;
}

/* What there is nothing to say about: no object of it, and none was found. */
static bool eval_is_absent(const struct eval *eval, size_t class)
{
    return eval->classes[class].n_objects == 0 &&
           eval->classes[class].n_found == 0;
}

/* ---- the table ---------------------------------------------------------- */

enum { eval_column = 9, eval_most_name = 40 };

static void eval_put_facts(const struct eval *eval, struct sink *sink,
                           const struct term *term)
{
    const struct eval_options *options = &eval->options;
    struct line line = line_begin(sink, term, "results");

    line_item(&line, options->results);
    line_printf(&line, "%" PRIu64 " detections", eval->n_found);
    line_end(&line);
    line = line_begin(sink, term, "against");
    line_item(&line, options->annotations);
    line_printf(&line, "%" PRIu64 " images", eval->n_images);
    line_printf(&line, "%" PRIu64 " objects", eval->n_objects);
    if (eval->n_set_aside)
        line_printf(&line, "%" PRIu64 " %s", eval->n_set_aside,
                    eval->voc                ? "difficult"
                    : eval->n_set_aside == 1 ? "crowd"
                                             : "crowds");
    line_end(&line);
    line = line_begin(sink, term, "rules");
    if (eval->voc) {
        line_item(&line, "Pascal VOC");
        line_printf(&line, "IoU of boxes at least %.2f",
                    options->least_overlap);
    } else {
        line_item(&line, "COCO");
        line_printf(&line, "IoU of %s 0.50 to 0.95",
                    options->overlap == COCO_MASKS ? "masks" : "boxes");
    }
    line_end(&line);
    if (eval->n_left_out) {
        bool is_one = eval->n_left_out == 1;

        line = line_begin(sink, term, "note");
        line_word(&line, "%" PRIu64, eval->n_left_out);
        line_words(&line, is_one ? "detection of an unknown class does"
                                 : "detections of unknown classes do");
        line_words(&line, is_one ? "not count; it is of"
                                 : "not count; the first is of");
        line_words(&line, eval->left_out);
        line_end(&line);
    }
}

static void eval_put_cell(struct sink *sink, const struct term *term,
                          const char *text)
{
    sink_puts(sink, " ");
    text_fit(sink, term, text, eval_column, ALIGN_RIGHT);
}

/* Rows by size, as each of the 12 figures is for one. */
static void eval_put_coco(const struct eval *eval, struct sink *sink,
                          const struct term *term)
{
    const struct coco_summary *s = &eval->summary;
    const struct {
        const char *size;
        double values[6];
    } rows[] = {
        {"all",
         {s->map, s->map_50, s->map_75, s->recall_1, s->recall_10,
          s->recall_100}},
        {"small", {s->map_small, NAN, NAN, NAN, NAN, s->recall_small}},
        {"medium", {s->map_medium, NAN, NAN, NAN, NAN, s->recall_medium}},
        {"large", {s->map_large, NAN, NAN, NAN, NAN, s->recall_large}},
    };
    static const char *const titles[] = {"AP",  "AP50", "AP75",
                                         "AR1", "AR10", "AR100"};
    char text[EVAL_TEXT];

    text_fit(sink, term, "objects", 8, ALIGN_LEFT);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        eval_put_cell(sink, term, titles[i]);
    sink_puts(sink, "\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_fit(sink, term, rows[i].size, 8, ALIGN_LEFT);
        for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
            eval_put_cell(sink, term,
                          i > 0 && isnan(rows[i].values[k]) && k % 5
                              ? ""
                              : eval_text(text, rows[i].values[k]));
        sink_puts(sink, "\n");
    }
}

static void eval_put_voc(const struct eval *eval, struct sink *sink)
{
    char all[EVAL_TEXT], eleven[EVAL_TEXT];

    sink_printf(sink,
                "mAP      %s   area below the curve (since VOC2010)\n"
                "mAP11    %s   mean at 11 recalls (until VOC2009)\n",
                eval_text(all, eval->voc_all), eval_text(eleven, eval->voc_11));
}

static size_t eval_widest(const struct eval *eval)
{
    size_t widest = 8;

    for (size_t i = 0; i < eval->n_classes; i++) {
        size_t n = text_columns(eval->classes[i].name);

        if (n > widest && !eval_is_absent(eval, i))
            widest = n;
    }
    return widest < eval_most_name ? widest : eval_most_name;
}

static void eval_put_class(const struct eval *eval, size_t class, size_t width,
                           struct sink *sink, const struct term *term)
{
    const struct eval_class *row = &eval->classes[class];
    char text[EVAL_TEXT];
    size_t n;
    const struct eval_figure *figures = eval_figures(eval, &n);

    text_fit(sink, term, row->name, width, ALIGN_LEFT);
    sink_printf(sink, " %8" PRIu64 " %10" PRIu64, row->n_objects, row->n_found);
    for (size_t i = 0; i < n; i++) {
        if (figures[i].is_in_table)
            eval_put_cell(sink, term,
                          eval_text(text, eval_value(eval, (int64_t) class,
                                                     &figures[i])));
    }
    sink_puts(sink, "\n");
}

static void eval_put_classes(const struct eval *eval, struct sink *sink,
                             const struct term *term)
{
    size_t width = eval_widest(eval), n, n_absent = 0;
    const struct eval_figure *figures = eval_figures(eval, &n);

    text_fit(sink, term, "class", width, ALIGN_LEFT);
    sink_puts(sink, "  objects detections");
    for (size_t i = 0; i < n; i++) {
        if (figures[i].is_in_table)
            eval_put_cell(sink, term, figures[i].title);
    }
    sink_puts(sink, "\n");
    for (size_t i = 0; i < eval->n_classes; i++) {
        n_absent += eval_is_absent(eval, i);
        if (!eval_is_absent(eval, i))
            eval_put_class(eval, i, width, sink, term);
    }
    if (n_absent)
        sink_printf(sink, "%zu more class%s no objects and no detections\n",
                    n_absent, n_absent == 1 ? " has" : "es have");
}

void eval_show_table(const struct eval *eval, struct sink *sink,
                     const struct term *term)
{
    eval_put_facts(eval, sink, term);
    sink_puts(sink, "\n");
    if (eval->voc)
        eval_put_voc(eval, sink);
    else
        eval_put_coco(eval, sink, term);
    sink_puts(sink, "\n");
    eval_put_classes(eval, sink, term);
}

/* ---- for programs ------------------------------------------------------- */

static void eval_write_figures(const struct eval *eval, int64_t class,
                               struct json_writer *json)
{
    size_t n;
    const struct eval_figure *figures = eval_figures(eval, &n);

    for (size_t i = 0; i < n; i++)
        json_member_double(json, figures[i].key,
                           eval_value(eval, class, &figures[i]));
}

void eval_show_json(const struct eval *eval, struct sink *sink,
                    const struct term *term)
{
    const struct eval_options *options = &eval->options;
    struct json_writer json = json_writer(sink, 2);

    (void)term;
    json_object_begin(&json);
    json_member_string(&json, "results", options->results);
    json_member_string(&json, "annotations", options->annotations);
    json_member_string(&json, "dataset", eval->voc ? "voc" : "coco");
    if (eval->voc)
        json_member_double(&json, "min_overlap", options->least_overlap);
    else
        json_member_string(&json, "iou",
                           options->overlap == COCO_MASKS ? "segm" : "bbox");
    json_member_int(&json, "images", (int64_t)eval->n_images);
    json_member_int(&json, "objects", (int64_t)eval->n_objects);
    json_member_int(&json, "set_aside", (int64_t)eval->n_set_aside);
    json_member_int(&json, "detections", (int64_t)eval->n_found);
    json_member_int(&json, "detections_of_unknown_classes",
                    (int64_t)eval->n_left_out);
    eval_write_figures(eval, EVAL_ALL, &json);
    json_key(&json, "classes");
    json_array_begin(&json);
    for (size_t i = 0; i < eval->n_classes; i++) {
        json_inline_object_begin(&json);
        json_member_string(&json, "class", eval->classes[i].name);
        json_member_int(&json, "objects", (int64_t)eval->classes[i].n_objects);
        json_member_int(&json, "detections", (int64_t)eval->classes[i].n_found);
        eval_write_figures(eval, (int64_t)i, &json);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

/* A row of comma-separated values. */
static void eval_write_row(const struct eval *eval, int64_t class,
                           const char *name, uint64_t n_objects,
                           uint64_t n_found, struct sink *sink)
{
    size_t n;
    const struct eval_figure *figures = eval_figures(eval, &n);

    csv_text(sink, name);
    sink_printf(sink, ",%" PRIu64 ",%" PRIu64, n_objects, n_found);
    for (size_t i = 0; i < n; i++) {
        double value = eval_value(eval, class, &figures[i]);

        sink_puts(sink, ",");
        if (!isnan(value))
            sink_printf(sink, "%.9g", value);
    }
    sink_puts(sink, "\n");
}

void eval_show_csv(const struct eval *eval, struct sink *sink,
                   const struct term *term)
{
    size_t n;
    const struct eval_figure *figures = eval_figures(eval, &n);

    (void)term;
    sink_puts(sink, "class,objects,detections");
    for (size_t i = 0; i < n; i++)
        sink_printf(sink, ",%s", figures[i].key);
    sink_puts(sink, "\n");
    eval_write_row(eval, EVAL_ALL, "all", eval->n_objects, eval->n_found, sink);
    for (size_t i = 0; i < eval->n_classes; i++)
        eval_write_row(eval, (int64_t)i, eval->classes[i].name,
                       eval->classes[i].n_objects, eval->classes[i].n_found,
                       sink);
}

static void eval_put_markdown(const struct eval *eval, int64_t class,
                              const char *name, uint64_t n_objects,
                              uint64_t n_found, struct sink *sink,
                              const struct term *term)
{
    char text[EVAL_TEXT];
    size_t n;
    const struct eval_figure *figures = eval_figures(eval, &n);

    sink_puts(sink, "| ");
    markdown_text(sink, term, name);
    sink_printf(sink, " | %" PRIu64 " | %" PRIu64, n_objects, n_found);
    for (size_t i = 0; i < n; i++)
        sink_printf(sink, " | %s",
                    eval_text(text, eval_value(eval, class, &figures[i])));
    sink_puts(sink, " |\n");
}

void eval_show_markdown(const struct eval *eval, struct sink *sink,
                        const struct term *term)
{
    size_t n;
    const struct eval_figure *figures = eval_figures(eval, &n);

    sink_puts(sink, "| class | objects | detections");
    for (size_t i = 0; i < n; i++)
        sink_printf(sink, " | %s", figures[i].title);
    sink_puts(sink, " |\n|---|---:|---:");
    sink_repeat(sink, "|---:", n);
    sink_puts(sink, "|\n");
    eval_put_markdown(eval, EVAL_ALL, "all", eval->n_objects, eval->n_found,
                      sink, term);
    for (size_t i = 0; i < eval->n_classes; i++) {
        if (!eval_is_absent(eval, i))
            eval_put_markdown(eval, (int64_t)i, eval->classes[i].name,
                              eval->classes[i].n_objects,
                              eval->classes[i].n_found, sink, term);
    }
}

/* cli/layers_show.c - see layers_show.h. */
#include "cli/layers_show.h"

#include "base/csv_text.h"
#include "base/units.h"
#include "views/line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum cell {
    CELL_LAYER,
    CELL_CLASS,
    CELL_OUTPUT,
    CELL_PARAMETERS,
    CELL_MACS,
    CELL_MEMORY,
    CELL_TIME,
    CELL_SHARE,
    N_CELLS
};

enum { cell_size = 96, gap = 2 };

static const struct {
    const char *title;
    size_t columns; /* at most */
    enum text_align align;
} cells[N_CELLS] = {
    [CELL_LAYER] = {"layer", cell_size, ALIGN_LEFT}, /* gets what is left */
    [CELL_CLASS] = {"class", 17, ALIGN_LEFT},
    [CELL_OUTPUT] = {"output", 15, ALIGN_LEFT},
    [CELL_PARAMETERS] = {"params", 8, ALIGN_RIGHT},
    [CELL_MACS] = {"MACs", 8, ALIGN_RIGHT},
    [CELL_MEMORY] = {"memory", 9, ALIGN_RIGHT},
    [CELL_TIME] = {"ms", 9, ALIGN_RIGHT},
    [CELL_SHARE] = {"share", 6, ALIGN_RIGHT},
};

static bool layers_has_cell(const struct layers_view *view, enum cell cell)
{
    return cell != CELL_TIME || view->times;
}

static double layers_total_ns(const struct layers_view *view)
{
    double sum = 0;

    for (size_t i = 0; view->times && i < view->layers->n; i++) {
        if (!isnan(view->times[i].ns))
            sum += view->times[i].ns;
    }
    return sum;
}

/* Of the time if it was measured, else of the multiply-adds. */
static double layers_show_share_of(const struct layers_view *view, size_t i)
{
    const struct layer *layer = &view->layers->items[i];

    if (view->times)
        return view->times[i].ns / layers_total_ns(view);
    return layer->is_known && view->layers->total.macs
               ? (double)layer->macs / (double)view->layers->total.macs
               : NAN;
}

static void layers_write_count(char *text, double value)
{
    char buffer[UNITS_MAX];

    snprintf(text, cell_size, "%s",
             value > 0 ? units_count(buffer, value) : "-");
}

static void layers_write_memory(char *text, const struct layer *layer)
{
    char buffer[UNITS_MAX];
    double bytes = (double)(layer->output_bytes + layer->parameter_bytes);

    snprintf(text, cell_size, "%s",
             bytes > 0 ? units_bytes(buffer, bytes) : "-");
}

static void layers_write_titles(char texts[N_CELLS][cell_size])
{
    for (enum cell cell = 0; cell < N_CELLS; cell++)
        snprintf(texts[cell], cell_size, "%s", cells[cell].title);
}

/* The texts of a layer's row, in the order of the cells. */
static void layers_write_row(const struct layers_view *view, size_t i,
                             char texts[N_CELLS][cell_size])
{
    const struct layer *layer = &view->layers->items[i];
    double share = layers_show_share_of(view, i);
    char buffer[UNITS_MAX], shape[64];

    snprintf(texts[CELL_LAYER], cell_size, "%s", layer->path);
    snprintf(texts[CELL_CLASS], cell_size, "%s", layer->class_name);
    snprintf(texts[CELL_OUTPUT], cell_size, "%s",
             layer->is_known ? shape_text(&layer->output, shape, sizeof shape)
                             : "?");
    layers_write_count(texts[CELL_PARAMETERS], (double)layer->parameters);
    layers_write_count(texts[CELL_MACS], (double)layer->macs);
    layers_write_memory(texts[CELL_MEMORY], layer);
    snprintf(texts[CELL_TIME], cell_size, "-");
    if (view->times && view->times[i].done_by)
        snprintf(texts[CELL_TIME], cell_size, "in %s", view->times[i].done_by);
    else if (view->times && !isnan(view->times[i].ns))
        snprintf(texts[CELL_TIME], cell_size, "%s",
                 units_number(buffer, view->times[i].ns / 1e6));
    snprintf(texts[CELL_SHARE], cell_size, "%s",
             share > 0 ? units_percent(buffer, share, 0) : "-");
}

static void layers_write_total(const struct layers_view *view,
                               char texts[N_CELLS][cell_size])
{
    const struct layer *total = &view->layers->total;
    char buffer[UNITS_MAX];

    snprintf(texts[CELL_LAYER], cell_size, "total");
    texts[CELL_CLASS][0] = texts[CELL_OUTPUT][0] = texts[CELL_SHARE][0] = '\0';
    layers_write_count(texts[CELL_PARAMETERS], (double)total->parameters);
    layers_write_count(texts[CELL_MACS], (double)total->macs);
    layers_write_memory(texts[CELL_MEMORY], total);
    snprintf(texts[CELL_TIME], cell_size, "%s",
             units_number(buffer, layers_total_ns(view) / 1e6));
}

/* ---- the screen --------------------------------------------------------- */

/* The width of each column; 0: there is no room for it. */
struct layers_layout {
    size_t columns[N_CELLS];
};

static void layers_widen(struct layers_layout *layout,
                         char texts[N_CELLS][cell_size])
{
    for (enum cell cell = 0; cell < N_CELLS; cell++) {
        size_t columns = text_columns(texts[cell]);

        if (columns > cells[cell].columns)
            columns = cells[cell].columns;
        if (columns > layout->columns[cell])
            layout->columns[cell] = columns;
    }
}

static size_t layers_columns_of_others(const struct layers_layout *layout)
{
    size_t columns = 0;

    for (enum cell cell = CELL_CLASS; cell < N_CELLS; cell++)
        columns += layout->columns[cell] ? layout->columns[cell] + gap : 0;
    return columns;
}

static struct layers_layout layers_widest_layout(const struct layers_view *view)
{
    struct layers_layout layout = {0};
    char texts[N_CELLS][cell_size];

    layers_write_titles(texts);
    layers_widen(&layout, texts);
    for (size_t i = 0; i < view->layers->n; i++) {
        layers_write_row(view, i, texts);
        layers_widen(&layout, texts);
    }
    layers_write_total(view, texts);
    layers_widen(&layout, texts);
    if (!view->times)
        layout.columns[CELL_TIME] = 0;
    return layout;
}

/* As wide as the widest text of a column. On a narrow screen classes and names
 * are shortened, and before names get too short, columns are left out; `hidden`
 * names them. */
static struct layers_layout layers_layout_for(const struct layers_view *view,
                                              const struct term *term,
                                              struct str *hidden)
{
    static const enum cell expendable[] = {CELL_MEMORY, CELL_CLASS,
                                           CELL_PARAMETERS};
    static const size_t short_class = 11, short_name = 20;
    struct layers_layout layout = layers_widest_layout(view);
    size_t width = (size_t)term->width, *name = &layout.columns[CELL_LAYER];
    size_t least = *name < short_name ? *name : short_name;

    if (layers_columns_of_others(&layout) + *name > width &&
        layout.columns[CELL_CLASS] > short_class)
        layout.columns[CELL_CLASS] = short_class;
    for (size_t i = 0; i < sizeof expendable / sizeof *expendable; i++) {
        if (layers_columns_of_others(&layout) + least <= width)
            break;
        layout.columns[expendable[i]] = 0;
        (void)!str_printf(hidden, "%s%s", hidden->n ? ", " : "",
                          cells[expendable[i]].title);
    }
    if (layers_columns_of_others(&layout) + *name > width)
        *name = layers_columns_of_others(&layout) + least < width
                    ? width - layers_columns_of_others(&layout)
                    : least;
    return layout;
}

static void layers_show_put_row(const struct layers_layout *layout,
                                struct sink *sink, const struct term *term,
                                char texts[N_CELLS][cell_size])
{
    enum cell last = N_CELLS - 1;

    while (!layout->columns[last] || !texts[last][0])
        last--;
    for (enum cell cell = 0; cell <= last; cell++) {
        if (!layout->columns[cell])
            continue;
        sink_repeat(sink, " ", cell ? gap : 0);
        text_fit(sink, term, texts[cell], layout->columns[cell],
                 cells[cell].align);
    }
    sink_puts(sink, "\n");
}

/* What the columns mean, and which are hidden. */
static void layers_put_legend(const struct layers_view *view,
                              const char *hidden, struct sink *sink,
                              const struct term *term)
{
    struct line line = line_begin(sink, term, hidden[0] ? "hidden" : "memory");

    sink_puts(sink, "\n");
    if (hidden[0]) {
        line_sentence(&line, hidden);
        line_words(&line, "(on a wider screen; --csv and --json have all)");
    } else {
        line_item(&line, "parameters and output of the layer");
    }
    line_end(&line);
    line = line_begin(sink, term, "share");
    line_printf(&line, "of %s", view->times ? "the time" : "the MACs");
    line_item(&line, "1 MAC = 2 FLOP");
    line_end(&line);
    line = line_begin(sink, term, "note");
    if (view->n_unknown) {
        line_word(&line, "%zu", view->n_unknown);
        line_words(&line, "layers depend on what is found; their work is not "
                          "counted here, but `assay run` counts it");
    }
    line_end(&line);
}

void layers_show_table(const struct layers_view *view, struct sink *sink,
                       const struct term *term)
{
    const struct layer *total = &view->layers->total;
    struct str hidden = {0};
    struct layers_layout layout = layers_layout_for(view, term, &hidden);
    struct line line = line_begin(sink, term, "model");
    char texts[N_CELLS][cell_size], count[UNITS_MAX], macs[UNITS_MAX];

    line_item(&line, view->file ? view->file : graph_name(view->graph));
    line_printf(&line, "%s params",
                units_count(count, (double)total->parameters));
    line_printf(&line, "%s MACs", units_count(macs, (double)total->macs));
    line_end(&line);
    line = line_begin(sink, term, "input");
    line_sentence(&line, view->input);
    line_end(&line);
    sink_puts(sink, "\n");
    layers_write_titles(texts);
    layers_show_put_row(&layout, sink, term, texts);
    for (size_t i = 0; i < view->layers->n; i++) {
        layers_write_row(view, i, texts);
        layers_show_put_row(&layout, sink, term, texts);
    }
    layers_write_total(view, texts);
    layers_show_put_row(&layout, sink, term, texts);
    layers_put_legend(view, str_text(&hidden), sink, term);
    str_release(&hidden);
}

void layers_show_markdown(const struct layers_view *view, struct sink *sink,
                          const struct term *term)
{
    char texts[N_CELLS][cell_size];

    (void)term;
    for (enum cell cell = 0; cell < N_CELLS; cell++) {
        if (layers_has_cell(view, cell))
            sink_printf(sink, "| %s ", cells[cell].title);
    }
    sink_puts(sink, "|\n");
    for (enum cell cell = 0; cell < N_CELLS; cell++) {
        if (layers_has_cell(view, cell))
            sink_puts(sink,
                      cells[cell].align == ALIGN_RIGHT ? "|---:" : "|---");
    }
    sink_puts(sink, "|\n");
    for (size_t i = 0; i <= view->layers->n; i++) {
        if (i < view->layers->n)
            layers_write_row(view, i, texts);
        else
            layers_write_total(view, texts);
        for (enum cell cell = 0; cell < N_CELLS; cell++) {
            if (layers_has_cell(view, cell))
                sink_printf(sink, "| %s ", texts[cell]);
        }
        sink_puts(sink, "|\n");
    }
}

/* ---- for programs ------------------------------------------------------- */

static void layers_show_put_numbers(struct json_writer *json,
                                    const struct layer *layer)
{
    json_member_int(json, "calls", (int64_t)layer->calls);
    json_member_int(json, "parameters", (int64_t)layer->parameters);
    json_member_int(json, "parameter_bytes", (int64_t)layer->parameter_bytes);
    json_member_int(json, "output_bytes", (int64_t)layer->output_bytes);
    json_member_int(json, "macs", (int64_t)layer->macs);
    json_member_int(json, "flops", (int64_t)layer->flops);
}

static void put_layer(const struct layers_view *view, struct json_writer *json,
                      size_t i)
{
    const struct layer *layer = &view->layers->items[i];
    const struct layer_time *time = view->times ? &view->times[i] : NULL;

    json_object_begin(json);
    json_member_string(json, "path", layer->path);
    json_member_string(json, "class", layer->class_name);
    json_key(json, "output");
    json_inline_array_begin(json);
    for (int k = 0; layer->is_known && k < layer->output.rank; k++)
        json_write_int(json, layer->output.dims[k]);
    json_array_end(json);
    json_member_bool(json, "is_known", layer->is_known);
    layers_show_put_numbers(json, layer);
    if (time && !isnan(time->ns))
        json_member_double(json, "mean_ns", time->ns);
    if (time && time->done_by)
        json_member_string(json, "done_by", time->done_by);
    json_object_end(json);
}

void layers_put_json(const struct layers_view *view, struct json_writer *json)
{
    json_key(json, "layers");
    json_array_begin(json);
    for (size_t i = 0; i < view->layers->n; i++)
        put_layer(view, json, i);
    json_array_end(json);
}

void layers_show_json(const struct layers_view *view, struct sink *sink,
                      const struct term *term)
{
    struct json_writer json = json_writer(sink, 2);

    (void)term;
    json_object_begin(&json);
    json_member_string(&json, "model", graph_name(view->graph));
    json_member_string(&json, "input", view->input);
    layers_put_json(view, &json);
    json_key(&json, "total");
    json_object_begin(&json);
    layers_show_put_numbers(&json, &view->layers->total);
    json_object_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

void layers_show_csv(const struct layers_view *view, struct sink *sink,
                     const struct term *term)
{
    char shape[64];

    (void)term;
    sink_puts(sink, "path,class,output,calls,parameters,parameter_bytes,"
                    "output_bytes,macs,flops,mean_ns,done_by\r\n");
    for (size_t i = 0; i < view->layers->n; i++) {
        const struct layer *layer = &view->layers->items[i];
        const struct layer_time *time = view->times ? &view->times[i] : NULL;

        csv_text(sink, layer->path);
        sink_puts(sink, ",");
        csv_text(sink, layer->class_name);
        sink_printf(sink,
                    ",%s,%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",%" PRIu64 ",",
                    layer->is_known
                        ? shape_text(&layer->output, shape, sizeof shape)
                        : "",
                    layer->calls, layer->parameters, layer->parameter_bytes,
                    layer->output_bytes, layer->macs, layer->flops);
        if (time && !isnan(time->ns))
            sink_printf(sink, "%.0f", time->ns);
        sink_puts(sink, ",");
        csv_text(sink, time && time->done_by ? time->done_by : "");
        sink_puts(sink, "\r\n");
    }
}

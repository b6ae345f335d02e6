/* views/view_plot.c - see plot.h: which kind, on which page. */
#include "views/plot_internal.h"

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

/* views/training_tree.c - the modules of a model in all parts of a step.
 *
 * The subtrees below "forward", "backward" and "optimizer" have the same
 * names. They are laid over each other in a run that holds nothing but the
 * names, so that the rules of the other tree choose what is shown. */
#include "views/training.h"

#include "base/mem.h"
#include "base/units.h"
#include "views/branch.h"
#include "views/line.h"
#include "views/tree.h"

#include <math.h>
#include <stdio.h>

enum { N_TIMES = 3, LEAST_NAME = 8 };

static const enum part time_parts[N_TIMES] = {PART_FORWARD, PART_BACKWARD,
                                              PART_OPTIMIZER};

/* One module; NaN where it was not there. */
struct module {
    double ns[N_TIMES];
    double kept_bytes; /* activations that it held when the most was live */
};

/* The trees laid over each other. Start from {0}. */
struct overlay {
    const struct run *run;
    const struct rows *from;
    struct run *names;
    struct rows rows;       /* of names */
    struct module *modules; /* by scope of names */
    uint32_t *scope_of;     /* by row of `from`: of names; RUN_NONE */
    uint32_t *scope_of_run; /* by scope of the run, the same */
    bool has_kept;
};

static void overlay_release(struct overlay *overlay)
{
    run_free(overlay->names);
    rows_release(&overlay->rows);
    mem_free(overlay->modules);
    mem_free(overlay->scope_of);
    mem_free(overlay->scope_of_run);
}

static enum assay_status overlay_reserve(struct overlay *overlay,
                                         struct error *err)
{
    size_t n = overlay->from->n, n_scopes = run_scope_count(overlay->run);

    overlay->modules = mem_array(n, sizeof *overlay->modules);
    overlay->scope_of = mem_array(n, sizeof *overlay->scope_of);
    overlay->scope_of_run = mem_array(n_scopes, sizeof *overlay->scope_of_run);
    if (!overlay->modules || !overlay->scope_of || !overlay->scope_of_run)
        return error_nomem(err, n * sizeof *overlay->modules,
                           "the modules of a training");
    for (size_t i = 0; i < n; i++)
        overlay->modules[i] = (struct module){.ns = {NAN, NAN, NAN}};
    for (size_t i = 0; i < n_scopes; i++)
        overlay->scope_of_run[i] = RUN_NONE;
    return ASSAY_OK;
}

static void add_time(struct overlay *overlay, size_t row, size_t time)
{
    const struct row *from = &overlay->from->items[row];
    struct module *module = &overlay->modules[overlay->scope_of[row]];

    overlay->scope_of_run[from->scope] = overlay->scope_of[row];
    if (!isnan(from->total_ns))
        module->ns[time] = (isnan(module->ns[time]) ? 0 : module->ns[time]) +
                           rows_each(overlay->from, from, from->total_ns);
}

/* What lies below a part, and the part itself as the root. */
static enum assay_status lay_part(struct overlay *overlay, size_t at,
                                  size_t time, struct error *err)
{
    const struct rows *from = overlay->from;
    enum assay_status st = ASSAY_OK;

    if (at == 0)
        return ASSAY_OK;
    overlay->scope_of[at] = RUN_ROOT;
    add_time(overlay, at, time);
    for (size_t i = at + 1;
         i < from->n && from->items[i].depth > from->items[at].depth; i++) {
        const struct row *row = &from->items[i];

        st = run_scope_add(overlay->names, overlay->scope_of[row->parent],
                           row->name, row->class_name, &overlay->scope_of[i],
                           err);
        if (st)
            return st;
        add_time(overlay, i, time);
    }
    return ASSAY_OK;
}

/* The ledger has what a module itself held; those above it get the sum. */
static void add_kept(struct overlay *overlay)
{
    for (size_t i = 0; i < run_ledger_count(overlay->run); i++) {
        const struct ledger_row *row = run_ledger(overlay->run, i);
        uint32_t at = row->scope < run_scope_count(overlay->run)
                          ? overlay->scope_of_run[row->scope]
                          : RUN_NONE;

        if (row->kind != LEDGER_ACTIVATIONS || at == RUN_NONE)
            continue;
        overlay->has_kept = true;
        for (; at != RUN_NONE; at = run_scope(overlay->names, at)->parent)
            overlay->modules[at].kept_bytes += (double)row->bytes;
    }
}

static double sum_of(const struct module *module)
{
    double sum = 0;

    for (size_t i = 0; i < N_TIMES; i++)
        sum += isnan(module->ns[i]) ? 0 : module->ns[i];
    return sum;
}

static enum assay_status make_rows(struct overlay *overlay, double whole_ns,
                                   struct error *err)
{
    enum assay_status st = run_seal(overlay->names, err);

    if (!st)
        st = rows_build(overlay->names, &overlay->rows, err);
    for (size_t i = 0; !st && i < overlay->rows.n; i++) {
        struct row *row = &overlay->rows.items[i];

        row->is_outside = false;
        row->is_called = true;
        row->total_ns = sum_of(&overlay->modules[row->scope]);
        row->share = row->total_ns / whole_ns;
    }
    return st;
}

static enum assay_status lay_all(struct overlay *overlay,
                                 const struct training *training,
                                 struct error *err)
{
    const char *model = run_fact(overlay->run, "model.name");
    enum assay_status st = overlay_reserve(overlay, err);

    if (!st)
        st = run_new(&overlay->names, err);
    if (!st)
        st = run_name_root(overlay->names, model ? model : "model", "", err);
    for (size_t i = 0; !st && i < N_TIMES; i++)
        st = lay_part(overlay, training->row[time_parts[i]], i, err);
    if (st)
        return st;
    add_kept(overlay);
    return make_rows(overlay, training->whole_ns, err);
}

/* ---- writing ----------------------------------------------------------- */

enum { TIME_COLUMNS = 11, SHARE_COLUMNS = 7, KEPT_COLUMNS = 10 };

struct page {
    const struct overlay *overlay;
    const struct tree_choice *choice;
    const struct term *term;
    struct sink *sink;
    struct time_unit unit;
    size_t name, bar; /* columns; 0: not there */
    bool has_kept;
};

static struct page page_of(const struct overlay *overlay,
                           const struct tree_choice *choice,
                           const struct term *term, struct sink *sink)
{
    size_t width = (size_t)term->width;
    size_t taken = (N_TIMES + 1) * TIME_COLUMNS + SHARE_COLUMNS;
    struct page page = {.overlay = overlay,
                        .choice = choice,
                        .term = term,
                        .sink = sink,
                        .unit = rows_unit(overlay->from)};

    page.has_kept = overlay->has_kept && width >= 80;
    page.bar = width >= 100 ? 10 : 0;
    taken += (page.has_kept ? KEPT_COLUMNS : 0) + page.bar + (page.bar > 0);
    page.name = width > taken + LEAST_NAME ? width - taken : LEAST_NAME;
    if (page.name > 64)
        page.name = 64; /* numbers too far from their names are lost */
    return page;
}

static void put_right(const struct page *page, const char *text, size_t columns)
{
    text_fit(page->sink, page->term, text, columns, ALIGN_RIGHT);
}

static void put_time(const struct page *page, double ns)
{
    char text[UNITS_MAX];

    /* units_ms() shows a millionth of what it is given. */
    put_right(page, units_ms(text, ns / page->unit.ns * 1e6), TIME_COLUMNS);
}

static void put_head(const struct page *page)
{
    char title[UNITS_MAX];

    sink_puts(page->sink, term_style(page->term, STYLE_BOLD));
    text_fit(page->sink, page->term, "module", page->name, ALIGN_LEFT);
    for (size_t i = 0; i < N_TIMES; i++)
        put_right(page, part_name(time_parts[i]), TIME_COLUMNS);
    snprintf(title, sizeof title, "sum %s", page->unit.name);
    put_right(page, title, TIME_COLUMNS);
    put_right(page, "share", SHARE_COLUMNS);
    if (page->bar)
        sink_repeat(page->sink, " ", page->bar + 1);
    if (page->has_kept)
        put_right(page, "kept MiB", KEPT_COLUMNS);
    sink_puts(page->sink, term_style(page->term, STYLE_NONE));
    sink_puts(page->sink, "\n");
}

/* "│  ├─ "; levels that do not fit any more are left out from the left. */
static size_t put_branches(const struct page *page, size_t at)
{
    const struct rows *rows = &page->overlay->rows;
    bool lines[BRANCH_MAX_LEVELS];
    size_t levels = rows->items[at].depth, n = 0;
    size_t most = (page->name - LEAST_NAME) / BRANCH_COLUMNS;

    if (levels == 0)
        return 0;
    if (most > sizeof lines)
        most = sizeof lines;
    for (size_t i = rows->items[at].parent; n + 1 < levels && n + 1 < most;
         i = rows->items[i].parent)
        lines[n++] = page->choice->has_next[i];
    return branch_put(page->sink, page->term, lines, n,
                      page->choice->has_next[at]);
}

static void put_share(const struct page *page, double share)
{
    char text[UNITS_MAX];

    put_right(page, units_percent(text, share, 0), SHARE_COLUMNS);
    if (!page->bar)
        return;
    sink_puts(page->sink, " ");
    sink_puts(page->sink, term_style(page->term, STYLE_CYAN));
    text_bar(page->sink, page->term, share, page->bar);
    sink_puts(page->sink, term_style(page->term, STYLE_NONE));
}

static void put_row(const struct page *page, size_t at)
{
    const struct row *row = &page->overlay->rows.items[at];
    const struct module *module = &page->overlay->modules[row->scope];
    size_t taken = put_branches(page, at);
    char text[UNITS_MAX];

    text_fit(page->sink, page->term, row->name, page->name - taken, ALIGN_LEFT);
    for (size_t i = 0; i < N_TIMES; i++)
        put_time(page, module->ns[i]);
    put_time(page, row->total_ns);
    put_share(page, row->share);
    if (page->has_kept) {
        snprintf(text, sizeof text, "%.1f", module->kept_bytes / 0x1p20);
        put_right(page, module->kept_bytes > 0 ? text : "-", KEPT_COLUMNS);
    }
    sink_puts(page->sink, "\n");
}

/* What the numbers are, and what is not among them. */
static void put_notes(const struct page *page,
                      const struct view_options *options)
{
    const struct tree_choice *choice = page->choice;
    struct line line = line_begin(page->sink, page->term, "hidden");
    char together[UNITS_MAX];

    line.style = STYLE_DIM;
    if (choice->n_small > 0)
        line_printf(&line, "%zu %s under %g %%, %s together", choice->n_small,
                    choice->n_small == 1 ? "module" : "modules",
                    options->hide_below * 100,
                    units_percent(together, choice->small_share, 0));
    if (choice->n_deep > 0)
        line_printf(&line, "%zu %s below level %u", choice->n_deep,
                    choice->n_deep == 1 ? "module" : "modules", choice->depth);
    if (line.column)
        line_item(&line, choice->n_deep ? "(--depth, --all)" : "(--all)");
    line_end(&line);
}

enum assay_status training_tree(const struct run *run, const struct rows *rows,
                                const struct training *training,
                                const struct view_options *options,
                                size_t max_rows, struct sink *sink,
                                struct error *err)
{
    struct overlay overlay = {.run = run, .from = rows};
    struct tree_choice choice = {0};
    enum assay_status st = lay_all(&overlay, training, err);

    if (!st)
        st = tree_choose(&overlay.rows, options, max_rows, &choice, err);
    if (!st) {
        struct page page = page_of(&overlay, &choice, &options->term, sink);

        put_head(&page);
        for (size_t i = 0; i < overlay.rows.n; i++) {
            if (choice.is_shown[i])
                put_row(&page, i);
        }
        put_notes(&page, options);
    }
    tree_release(&choice);
    overlay_release(&overlay);
    return st;
}

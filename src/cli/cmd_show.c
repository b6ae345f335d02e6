/* cli/cmd_show.c - assay show: a run on the screen or in a document. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/result.h"
#include "views/views.h"

#include <math.h>

enum layout {
    LAYOUT_SUMMARY,
    LAYOUT_TREE,
    LAYOUT_TREE_PLAIN,
    LAYOUT_TABLE,
    LAYOUT_TABLE_PLAIN,
    LAYOUT_MEMORY,
    LAYOUT_JSON,
    LAYOUT_CSV,
    LAYOUT_MARKDOWN
};

static enum assay_status (*const views[])(const struct run *run,
                                          const struct view_options *options,
                                          struct sink *sink,
                                          struct error *err) = {
    [LAYOUT_SUMMARY] = view_summary,
    [LAYOUT_TREE] = view_tree,
    [LAYOUT_TREE_PLAIN] = view_tree_plain,
    [LAYOUT_TABLE] = view_table,
    [LAYOUT_TABLE_PLAIN] = view_table_plain,
    [LAYOUT_MEMORY] = view_memory,
    [LAYOUT_JSON] = view_json,
    [LAYOUT_CSV] = view_csv,
    [LAYOUT_MARKDOWN] = view_markdown,
};

struct settings {
    enum layout layout;
    int64_t depth;
    bool all;
    double hide_below; /* NaN: as the view has it */
    int64_t limit;     /* 0: as the view has it */
    int sort;          /* -1: as the view has it */
    enum view_group group;
    const char *phase, *thread;
    struct range iterations;
    const char *output;
};

static const struct settings defaults = {
    .depth = -1,
    .hide_below = NAN,
    .sort = -1,
    .iterations = {0, UINT64_MAX},
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const char *const looks[] = {"rich", "plain", NULL};

static const char *const sorts[] = {
    [SORT_SELF] = "self",   [SORT_TOTAL] = "total", [SORT_CALLS] = "calls",
    [SORT_MEAN] = "mean",   [SORT_NAME] = "name",   [SORT_ORDER] = "order",
    [SORT_BYTES] = "bytes", [SORT_BYTES + 1] = NULL};

static const char *const groups[] = {[GROUP_SCOPE] = "scope",
                                     [GROUP_NAME] = "name",
                                     [GROUP_CLASS] = "class",
                                     [GROUP_CLASS + 1] = NULL};

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "Layout"},
    {.name = "tree",
     .kind = OPTION_MODE,
     .mode = LAYOUT_TREE,
     .choices = looks,
     .value = "plain",
     .help = "the tree of scopes; plain is a stable layout for programs",
     FIELD(layout)},
    {.name = "table",
     .kind = OPTION_MODE,
     .mode = LAYOUT_TABLE,
     .choices = looks,
     .value = "plain",
     .help = "a row a scope, the most expensive first; plain is a stable "
             "layout for programs",
     FIELD(layout)},
    {.name = "memory",
     .kind = OPTION_MODE,
     .mode = LAYOUT_MEMORY,
     .help = "who owned the memory when the most of it was held",
     FIELD(layout)},
    {.name = "json",
     .kind = OPTION_MODE,
     .mode = LAYOUT_JSON,
     .help = "everything that is known about the run, as JSON",
     FIELD(layout)},
    {.name = "csv",
     .kind = OPTION_MODE,
     .mode = LAYOUT_CSV,
     .help = "the table as comma-separated values",
     FIELD(layout)},
    {.name = "md",
     .kind = OPTION_MODE,
     .mode = LAYOUT_MARKDOWN,
     .help = "the table as Markdown, for reports",
     FIELD(layout)},
    OPTION_RESULT(FIELD(output)),

    {.kind = OPTION_SECTION, .help = "How much of it"},
    {.name = "depth",
     .letter = 'd',
     .kind = OPTION_INTEGER,
     .value = "N",
     .max = RUN_MAX_DEPTH,
     .help = "levels of the tree below its root",
     .shown_default = "chosen to fit",
     FIELD(depth)},
    {.name = "all",
     .letter = 'a',
     .kind = OPTION_FLAG,
     .help = "hide nothing, however small or deep",
     FIELD(all)},
    {.name = "hide-below",
     .kind = OPTION_PERCENT,
     .value = "N%",
     .max = 1,
     .help = "leave scopes with less of the time out of the tree",
     .shown_default = "2%",
     FIELD(hide_below)},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .help = "rows of the table",
     .shown_default = "20",
     FIELD(limit)},
    {.name = "sort",
     .letter = 's',
     .kind = OPTION_CHOICE,
     .value = "KEY",
     .choices = sorts,
     .help = "order of the rows",
     .shown_default = "self",
     FIELD(sort)},
    {.name = "by",
     .kind = OPTION_CHOICE,
     .value = "GROUP",
     .choices = groups,
     .help = "what a row of the table stands for",
     .shown_default = "scope",
     FIELD(group)},

    {.kind = OPTION_SECTION, .help = "Part of the run"},
    {.name = "phase",
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "only what happened in this phase, such as backward",
     FIELD(phase)},
    {.name = "thread",
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "only what happened on threads of this name",
     FIELD(thread)},
    {.name = "iterations",
     .kind = OPTION_RANGE,
     .value = "A..B",
     .help = "only these iterations; 0 is the first after the warm-up, and "
             "either end may be left out",
     FIELD(iterations)},
    {.kind = OPTION_END},
};

static bool has_filter(const struct settings *settings)
{
    return settings->phase || settings->thread ||
           settings->iterations.first > 0 ||
           settings->iterations.last < UINT64_MAX;
}

static enum assay_status
cut_part(struct run **run, const struct settings *settings, struct error *err)
{
    struct run_filter filter = {
        .phase = settings->phase,
        .thread = settings->thread,
        .first_iteration = settings->iterations.first,
        .last_iteration = settings->iterations.last,
    };
    struct run *part;
    enum assay_status st = run_subset(*run, &filter, &part, err);

    if (st)
        return st;
    run_free(*run);
    *run = part;
    return ASSAY_OK;
}

static struct view_options view_options(const struct settings *settings,
                                        struct term term, const char *source)
{
    struct view_options view = view_defaults(term);

    view.source = source;
    view.depth = (int)settings->depth;
    view.all = settings->all;
    view.group = settings->group;
    if (settings->sort >= 0)
        view.sort = (enum view_sort)settings->sort;
    if (settings->limit > 0)
        view.limit = (size_t)settings->limit;
    if (!isnan(settings->hide_below))
        view.hide_below = settings->hide_below;
    return view;
}

static enum assay_status show(const struct settings *settings,
                              const struct words *paths, struct result *result,
                              struct error *err)
{
    struct view_options view;
    struct str source = {0};
    struct run *run = NULL;
    enum assay_status st = inputs_join(paths, &run, err);

    if (!st)
        st = inputs_name(paths, &source, err);
    if (!st && settings->layout != LAYOUT_SUMMARY) /* which tells it itself */
        inputs_note(run, str_text(&source));
    if (!st && has_filter(settings))
        st = cut_part(&run, settings, err);
    if (!st) {
        view = view_options(settings, result->term, str_text(&source));
        st = views[settings->layout](run, &view, result->sink, err);
    }
    str_release(&source);
    run_free(run);
    return st;
}

static enum assay_status run_show(const struct arguments *arguments,
                                  struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    st = show(settings, &arguments->operands, &result, err);
    return result_close(&result, st, err);
}

const struct command cmd_show = {
    .name = "show",
    .section = "Runs",
    .purpose = "look at a run: summary, tree, table",
    .usage = (const char *const[]){"show [options] RUN...", NULL},
    .operands = {.min = 1,
                 .max = SIZE_MAX,
                 .missing = "a run file",
                 .endings = run_endings},
    .description =
        (const char *const[]){
            "Without options: one screen with what was measured where, how "
            "long an iteration takes, how steady that is, and the tree of "
            "what it is spent on.",
            "Several runs of one model are shown as one: the iterations of "
            "the second follow those of the first. A .part, left by a program "
            "that is "
            "still running or that died, is shown as far as it goes.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"show run.assay", "the summary"},
            {"show run.assay --tree --depth 3", "three levels of the tree"},
            {"show run.assay --table --by class --sort total",
             "which kinds of layers take the time"},
            {"show run.assay --phase backward --iterations 10..",
             "the backward pass, without the first ten iterations"},
            {"show run.assay --md -o report.md", "a table for a report"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_show,
};

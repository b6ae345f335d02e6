/* cli/cmd_show.c - assay show: a run on the screen or in a document. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/result.h"
#include "views/views.h"

#include <math.h>

enum show_layout {
    LAYOUT_BRIEF,
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

static run_view *const views[] = {
    [LAYOUT_BRIEF] = view_brief,   [LAYOUT_SUMMARY] = view_summary,
    [LAYOUT_TREE] = view_tree,     [LAYOUT_TREE_PLAIN] = view_tree_plain,
    [LAYOUT_TABLE] = view_table,   [LAYOUT_TABLE_PLAIN] = view_table_plain,
    [LAYOUT_MEMORY] = view_memory, [LAYOUT_JSON] = view_json,
    [LAYOUT_CSV] = view_csv,       [LAYOUT_MARKDOWN] = view_markdown,
};

struct settings {
    enum show_layout layout;
    int64_t depth;
    bool all;
    double hide_below; /* NaN: the view's default */
    int64_t limit;     /* 0: the view's default */
    int sort;          /* -1: the view's default */
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
    {OPT_MODE("full", LAYOUT_SUMMARY),
     .help = "show everything, not only what fits a screen of 80x24",
     FIELD(layout)},
    {OPT_MODE("tree", LAYOUT_TREE), .choices = looks, .value = "plain",
     .help = "the tree of scopes; plain is a stable layout for programs",
     FIELD(layout)},
    {OPT_MODE("table", LAYOUT_TABLE), .choices = looks, .value = "plain",
     .help = "one row per scope, the most expensive first; plain is a stable "
             "layout for programs",
     FIELD(layout)},
    {OPT_MODE("memory", LAYOUT_MEMORY),
     .help = "who owned the memory at its peak", FIELD(layout)},
    {OPT_MODE("json", LAYOUT_JSON),
     .help = "everything that is known about the run, as JSON", FIELD(layout)},
    {OPT_MODE("csv", LAYOUT_CSV), .help = "the table as comma-separated values",
     FIELD(layout)},
    {OPT_MODE("md", LAYOUT_MARKDOWN),
     .help = "the table as Markdown, for reports", FIELD(layout)},
    OPTION_RESULT(FIELD(output)),

    {.kind = OPTION_SECTION, .help = "How much of it"},
    {OPT_INTEGER("depth", "N", 0, RUN_MAX_DEPTH), .letter = 'd',
     .help = "levels of the tree below the root",
     .shown_default = "chosen to fit", FIELD(depth)},
    {OPT_FLAG("all"), .letter = 'a',
     .help = "hide nothing, however small or deep", FIELD(all)},
    {OPT_PERCENT("hide-below", "N%", 0, 1),
     .help = "hide scopes with a smaller share of the time in the tree",
     .shown_default = "2%", FIELD(hide_below)},
    {OPT_INTEGER("limit", "N", 1, 1e9), .letter = 'n',
     .help = "rows of the table", .shown_default = "20", FIELD(limit)},
    {OPT_CHOICE("sort", "KEY", sorts), .letter = 's',
     .help = "order of the rows", .shown_default = "self", FIELD(sort)},
    {OPT_CHOICE("by", "GROUP", groups),
     .help = "what a row of the table stands for", .shown_default = "scope",
     FIELD(group)},

    {.kind = OPTION_SECTION, .help = "Part of the run"},
    {OPT_TEXT("phase", "NAME"),
     .help = "only what happened in this phase, such as backward",
     FIELD(phase)},
    {OPT_TEXT("thread", "NAME"),
     .help = "only what happened on threads of this name", FIELD(thread)},
    {OPT_RANGE("iterations", "A..B"),
     .help = "only these iterations; 0 is the first after the warm-up; either "
             "end may be left out",
     FIELD(iterations)},
    {.kind = OPTION_END},
};

static bool show_has_filter(const struct settings *settings)
{
    return settings->phase || settings->thread ||
           settings->iterations.first > 0 ||
           settings->iterations.last < UINT64_MAX;
}

static enum assay_status show_cut_part(struct run **run,
                                       const struct settings *settings,
                                       struct error *err)
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

/* Whoever asks for more of the tree gets it. */
static enum show_layout show_layout_of(const struct settings *settings)
{
    bool has_choice =
        settings->all || settings->depth >= 0 || !isnan(settings->hide_below);

    return settings->layout == LAYOUT_BRIEF && has_choice ? LAYOUT_SUMMARY
                                                          : settings->layout;
}

static struct view_options show_view_options(const struct settings *settings,
                                             struct term term,
                                             const char *source)
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

static enum assay_status show_show_run(const struct settings *settings,
                                       const struct words *paths,
                                       struct result *result, struct error *err)
{
    enum show_layout layout = show_layout_of(settings);
    struct view_options view;
    struct str source = {0};
    struct run *run = NULL;
    enum assay_status st = inputs_join(paths, &run, err);

    if (!st)
        st = inputs_name(paths, &source, err);
    /* The summaries say it themselves. */
    if (!st && layout != LAYOUT_BRIEF && layout != LAYOUT_SUMMARY)
        inputs_note(run, str_text(&source));
    if (!st && show_has_filter(settings))
        st = show_cut_part(&run, settings, err);
    if (!st) {
        view = show_view_options(settings, result->term, str_text(&source));
        st = views[layout](run, &view, result->sink, err);
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
    st = show_show_run(settings, &arguments->operands, &result, err);
    return result_close(&result, st, err);
}

const struct command cmd_show = {
    .name = "show",
    .section = "Runs",
    .purpose = "look at a run: summary, tree, table",
    .usage = TEXTS("show [options] RUN..."),
    .operands = {.min = 1,
                 .max = SIZE_MAX,
                 .missing = "a run file",
                 .endings = run_endings},
    .description = TEXTS(
        "Without options: a screen of 80x24 with what was measured and where, "
        "how long an iteration takes, and the modules that cost most. --full "
        "shows all that is known, and --depth, --all and --hide-below choose "
        "how much of the tree.",
        "Several runs of one model are shown as one: the iterations of the "
        "second run follow those of the first. A .part file, left by a "
        "program that is still running or has died, is shown as far as it "
        "goes."),
    .options = options,
    .examples = EXAMPLES(
        {"show run.assay", "the summary"},
        {"show run.assay --tree --depth 3", "three levels of the tree"},
        {"show run.assay --table --by class --sort total",
         "which kinds of layers take the time"},
        {"show run.assay --phase backward --iterations 10..",
         "the backward pass, without the first ten iterations"},
        {"show run.assay --md -o report.md", "a table for a report"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_show,
};

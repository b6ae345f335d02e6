/* cli/cmd_compare.c - assay compare: what differs between runs by more than
 * noise, and a gate for continuous integration. */
#include "cli/command.h"

#include "base/units.h"
#include "cli/inputs.h"
#include "cli/result.h"
#include "run/compare.h"
#include "views/views.h"

#include <math.h>

enum layout { LAYOUT_TEXT, LAYOUT_JSON, LAYOUT_MARKDOWN };

static enum assay_status (*const views[])(const struct comparison *comparison,
                                          const struct compare_view *options,
                                          struct sink *sink,
                                          struct error *err) = {
    [LAYOUT_TEXT] = view_compare,
    [LAYOUT_JSON] = view_compare_json,
    [LAYOUT_MARKDOWN] = view_compare_markdown,
};

struct settings {
    struct words a, b;
    double fail_above; /* NaN: not asked for */
    const char *budgets;
    double confidence;
    bool all;
    enum layout layout;
    const char *output;
};

static const struct settings defaults = {.fail_above = NAN, .confidence = 0.95};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "Sides"},
    {.name = "a",
     .kind = OPTION_FILES,
     .value = "FILE",
     .help = "the runs of side A, the old one",
     FIELD(a)},
    {.name = "b",
     .kind = OPTION_FILES,
     .value = "FILE",
     .help = "the runs of side B, the new one",
     FIELD(b)},

    {.kind = OPTION_SECTION, .help = "Gate"},
    {.name = "fail-above",
     .kind = OPTION_PERCENT,
     .value = "N%",
     .max = 100,
     .help = "fail when a scope of B is slower than A by more than this, "
             "beyond noise",
     FIELD(fail_above)},
    {.name = "budgets",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "a TOML file with budgets for single scopes, which come before "
             "--fail-above",
     FIELD(budgets)},
    {.name = "confidence",
     .kind = OPTION_PERCENT,
     .value = "N%",
     .min = 0.5,
     .max = 0.9999,
     .help = "certainty of the comparison as a whole",
     .shown_default = "95%",
     FIELD(confidence)},

    {.kind = OPTION_SECTION, .help = "Layout"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .help = "every scope, not only those that changed",
     FIELD(all)},
    {.name = "json",
     .kind = OPTION_MODE,
     .mode = LAYOUT_JSON,
     .help = "everything about every scope, as JSON",
     FIELD(layout)},
    {.name = "md",
     .kind = OPTION_MODE,
     .mode = LAYOUT_MARKDOWN,
     .help = "a Markdown table, for a pull request",
     FIELD(layout)},
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* Two words, or --a and --b. */
static enum assay_status find_sides(const struct arguments *arguments,
                                    struct words *a, struct words *b,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *operands = &arguments->operands;
    bool has_options = settings->a.n > 0 || settings->b.n > 0;

    if (has_options && operands->n > 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is on no side; name all runs behind --a and "
                         "--b",
                         operands->items[0]);
    if (has_options ? settings->a.n == 0 || settings->b.n == 0
                    : operands->n != 2)
        return error_set(err, ASSAY_BAD_USAGE,
                         "two sides are wanted: assay compare A B, or --a "
                         "FILE... --b FILE...");
    *a = settings->a;
    *b = settings->b;
    if (!has_options) {
        *a = (struct words){operands->items, 1};
        *b = (struct words){operands->items + 1, 1};
    }
    return ASSAY_OK;
}

static bool has_gate(const struct settings *settings)
{
    return !isnan(settings->fail_above) || settings->budgets;
}

/* The last budget that fits a scope holds: those of the file go behind. */
static enum assay_status read_budgets(const struct settings *settings,
                                      struct budgets *budgets,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!isnan(settings->fail_above))
        st = budgets_add(budgets, NULL, settings->fail_above, err);
    if (!st && settings->budgets)
        st = budgets_read(budgets, settings->budgets, err);
    return st;
}

/* What the exit code says, in words. */
static enum assay_status gate_status(const struct comparison *comparison,
                                     const struct gate_result *gate,
                                     struct error *err)
{
    char above[UNITS_MAX], change[UNITS_MAX];
    const struct compare_row *row;
    struct str path = {0};
    enum assay_status st;

    if (gate->gate == GATE_PASSED)
        return ASSAY_OK;
    row = compare_row(comparison, gate->row);
    if (compare_row_path(comparison, gate->row, &path)) {
        str_release(&path);
        return error_nomem(err, 1, "a scope's path");
    }
    units_percent(above, gate->above, 0);
    units_percent(change, row->ratio - 1, 0);
    if (gate->gate == GATE_FAILED)
        st = error_set(err, ASSAY_CHECK_FAILED,
                       "the gate failed: %s is slower by %s, %s is allowed",
                       str_text(&path), change, above);
    else
        st = error_set(err, ASSAY_TOO_NOISY,
                       "too noisy to tell whether %s stays within %s; "
                       "record more iterations or runs",
                       str_text(&path), above);
    str_release(&path);
    return st;
}

struct sides {
    struct words a, b; /* paths */
    struct run_list runs_a, runs_b;
    struct str name_a, name_b;
};

static void sides_release(struct sides *sides)
{
    run_list_release(&sides->runs_a);
    run_list_release(&sides->runs_b);
    str_release(&sides->name_a);
    str_release(&sides->name_b);
}

static enum assay_status sides_load(struct sides *sides, struct error *err)
{
    enum assay_status st = run_list_load(&sides->runs_a, &sides->a, err);

    if (!st)
        st = run_list_load(&sides->runs_b, &sides->b, err);
    if (!st)
        st = inputs_name(&sides->a, &sides->name_a, err);
    if (!st)
        st = inputs_name(&sides->b, &sides->name_b, err);
    return st;
}

static enum assay_status compare_sides(const struct sides *sides,
                                       const struct settings *settings,
                                       struct comparison **out,
                                       struct error *err)
{
    struct compare_side a = {(const struct run *const *)sides->runs_a.items,
                             sides->runs_a.n};
    struct compare_side b = {(const struct run *const *)sides->runs_b.items,
                             sides->runs_b.n};
    struct compare_options how = {.confidence = settings->confidence};

    return compare_new(&a, &b, &how, out, err);
}

/* The verdict of the gate is not a failure to show it: it comes back in
 * *verdict, and the result is kept. */
static enum assay_status show(const struct settings *settings,
                              struct sides *sides,
                              const struct budgets *budgets,
                              struct result *result, enum assay_status *verdict,
                              struct error *err)
{
    struct comparison *comparison = NULL;
    struct compare_view view = {.term = result->term, .all = settings->all};
    struct gate_result gate;
    enum assay_status st = sides_load(sides, err);

    if (!st)
        st = compare_sides(sides, settings, &comparison, err);
    if (!st && has_gate(settings)) {
        st = compare_gate(comparison, budgets, &gate, err);
        view.gate = &gate;
    }
    if (!st) {
        view.name_a = str_text(&sides->name_a);
        view.name_b = str_text(&sides->name_b);
        st = views[settings->layout](comparison, &view, result->sink, err);
    }
    if (!st && view.gate)
        *verdict = gate_status(comparison, &gate, err);
    compare_free(comparison);
    return st;
}

static enum assay_status run_compare(const struct arguments *arguments,
                                     struct error *err)
{
    const struct settings *settings = arguments->settings;
    enum assay_status verdict = ASSAY_OK;
    struct budgets budgets = {0};
    struct sides sides = {0};
    struct result result = {0};
    enum assay_status st = find_sides(arguments, &sides.a, &sides.b, err);

    if (!st)
        st = read_budgets(settings, &budgets, err);
    if (!st)
        st = result_open(settings->output, &result, err);
    if (!st)
        st = show(settings, &sides, &budgets, &result, &verdict, err);
    st = result_close(&result, st, err);
    sides_release(&sides);
    budgets_release(&budgets);
    return st ? st : verdict;
}

const struct command cmd_compare = {
    .name = "compare",
    .section = "Runs",
    .purpose = "what differs between runs by more than noise",
    .usage = (const char *const[]){"compare [options] A B",
                                   "compare [options] --a FILE... --b FILE...",
                                   NULL},
    .operands = {.max = 2, .endings = run_endings},
    .description =
        (const char *const[]){
            "Aligns the trees of two runs and tells for every scope what it "
            "took in A and in B, and whether the difference is more than "
            "noise. Scopes that were added, removed or renamed are marked.",
            "Several runs a side are better than one long run: they show how "
            "much one start of the program differs from the next.",
            NULL,
        },
    .options = options,
    .exit_codes =
        "0 when no gate was asked for or it passed; 1 when a scope is slower "
        "than its budget, beyond noise; 5 when the runs are too noisy to "
        "decide.",
    .examples =
        (const struct example[]){
            {"compare old.assay new.assay", "what changed"},
            {"compare --a old*.assay --b new*.assay --fail-above 5%",
             "a gate: exit code 1 when anything became 5 % slower"},
            {"compare old.assay new.assay --md -o report.md",
             "a table for a pull request"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_compare,
};

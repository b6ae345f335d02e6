/* cli/cmd_compare.c - assay compare: differences between runs that are more
 * than noise, and a gate for continuous integration. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/result.h"
#include "cli/turns.h"
#include "run/compare.h"
#include "views/views.h"

#include <math.h>
#include <string.h>

enum compare_layout {
    LAYOUT_TEXT,
    LAYOUT_JSON,
    LAYOUT_MARKDOWN,
    LAYOUT_GITHUB
};

static comparison_view *const views[] = {
    [LAYOUT_TEXT] = view_compare,
    [LAYOUT_JSON] = view_compare_json,
    [LAYOUT_MARKDOWN] = view_compare_markdown,
    [LAYOUT_GITHUB] = view_compare_github,
};

struct settings {
    struct words a, b;
    double fail_above; /* NaN: no gate */
    const char *budgets;
    double confidence, floor;
    bool all;
    enum compare_layout layout;
    const char *output, *junit;
    int64_t pairs;
    double limit_s;
    const char *runs;
};

static const struct settings defaults = {.fail_above = NAN,
                                         .confidence = 0.95,
                                         .floor = COMPARE_FLOOR,
                                         .pairs = 20,
                                         .limit_s = 600};

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

    {.kind = OPTION_SECTION, .help = "Commands, started in turn"},
    {OPT_INTEGER("pairs", "N", 1, 1000),
     .help = "start each command at most this often", .shown_default = "20",
     FIELD(pairs)},
    {OPT_TIME("limit", "TIME", 0, 1e6),
     .help = "start no further pair after this time", .shown_default = "10min",
     FIELD(limit_s)},
    {OPT_FILE("runs", "DIR"), .role = ROLE_OUTPUT,
     .help = "keep the run files of the commands in this folder", FIELD(runs)},

    {.kind = OPTION_SECTION, .help = "Gate"},
    {OPT_PERCENT("fail-above", "N%", 0, 100),
     .help = "fail when a scope of B is slower than A by more than this, "
             "beyond noise",
     FIELD(fail_above)},
    {OPT_FILE("budgets", "FILE"),
     .help = "a TOML file with budgets for single scopes, which override "
             "--fail-above",
     FIELD(budgets)},
    {OPT_PERCENT("floor", "N%", 0, 1),
     .help = "a change counts from this share of the whole on",
     .shown_default = "0.5%", FIELD(floor)},
    {OPT_PERCENT("confidence", "N%", 0.5, 0.9999),
     .help = "confidence of the comparison as a whole", .shown_default = "95%",
     FIELD(confidence)},

    {.kind = OPTION_SECTION, .help = "Layout"},
    {OPT_FLAG("all"), .help = "show every scope, not only those that changed",
     FIELD(all)},
    {OPT_MODE("json", LAYOUT_JSON),
     .help = "everything about every scope, as JSON", FIELD(layout)},
    {OPT_MODE("md", LAYOUT_MARKDOWN),
     .help = "a Markdown table, for a pull request", FIELD(layout)},
    {OPT_MODE("github", LAYOUT_GITHUB),
     .help = "the screen, and the gate's verdict as an annotation of GitHub "
             "Actions",
     FIELD(layout)},
    {OPT_FILE("junit", "FILE"), .role = ROLE_OUTPUT,
     .help = "also write the gate's verdicts to this file, as JUnit's XML",
     FIELD(junit)},
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* Two operands, or --a and --b. */
static enum assay_status compare_find_sides(const struct arguments *arguments,
                                            struct words *a, struct words *b,
                                            struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *operands = &arguments->operands;
    bool has_options = settings->a.n > 0 || settings->b.n > 0;

    if (has_options && operands->n > 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is on neither side; name all runs after --a and "
                         "--b",
                         operands->items[0]);
    if (has_options ? settings->a.n == 0 || settings->b.n == 0
                    : operands->n != 2)
        return error_set(err, ASSAY_BAD_USAGE,
                         "needs two sides: assay compare A B, --a FILE... "
                         "--b FILE..., or -- COMMAND... -- COMMAND...");
    *a = settings->a;
    *b = settings->b;
    if (!has_options) {
        *a = (struct words){operands->items, 1};
        *b = (struct words){operands->items + 1, 1};
    }
    return ASSAY_OK;
}

static bool compare_has_gate(const struct settings *settings)
{
    return !isnan(settings->fail_above) || settings->budgets;
}

static enum assay_status compare_check_gate(const struct settings *settings,
                                            struct error *err)
{
    if (compare_has_gate(settings) ||
        (!settings->junit && settings->layout != LAYOUT_GITHUB))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s reports the verdict of a gate; add --fail-above 5%% "
                     "or --budgets FILE",
                     settings->junit ? "--junit" : "--github");
}

/* The last matching budget holds, so those of the file come after. */
static enum assay_status compare_read_budgets(const struct settings *settings,
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

/* The exit code in words: those of the screen. */
static enum assay_status
compare_gate_status(const struct comparison *comparison,
                    const struct gate_result *gate, struct error *err)
{
    struct str text = {0};
    enum assay_status st;

    if (gate->gate == GATE_PASSED)
        return ASSAY_OK;
    if (compare_gate_words(comparison, gate, &text))
        st = error_nomem(err, text.n, "the verdict of a gate");
    else
        st = error_set(
            err,
            gate->gate == GATE_FAILED ? ASSAY_CHECK_FAILED : ASSAY_TOO_NOISY,
            "the %s%s", gate->gate == GATE_FAILED ? "gate " : "runs are ",
            str_text(&text));
    str_release(&text);
    return st;
}

/* ---- a comparison and its verdict ---------------------------------------- */

/* What is compared, how, and what came of it. */
struct compare_case {
    const struct settings *settings;
    struct budgets budgets;
    struct comparison *comparison; /* NULL: none yet */
    struct gate_result gate;
    struct str name_a, name_b, how;
};

static void compare_case_forget(struct compare_case *c)
{
    gate_result_release(&c->gate);
    compare_free(c->comparison);
    c->comparison = NULL;
}

static void compare_case_release(struct compare_case *c)
{
    compare_case_forget(c);
    budgets_release(&c->budgets);
    str_release(&c->name_a);
    str_release(&c->name_b);
    str_release(&c->how);
}

static enum assay_status compare_case_judge(struct compare_case *c,
                                            const struct run_list *a,
                                            const struct run_list *b,
                                            struct compare_options how,
                                            struct error *err)
{
    struct compare_side side_a = {(const struct run *const *)a->items, a->n};
    struct compare_side side_b = {(const struct run *const *)b->items, b->n};
    enum assay_status st;

    compare_case_forget(c);
    how.confidence = c->settings->confidence;
    how.floor = c->settings->floor;
    st = compare_new(&side_a, &side_b, &how, &c->comparison, err);
    if (!st && compare_has_gate(c->settings))
        st = compare_gate(c->comparison, &c->budgets, &c->gate, err);
    return st;
}

struct compare_results {
    struct result screen, junit;
};

/* The gate's verdict comes back in *verdict: it is not a failure to show the
 * result, which is kept. */
static enum assay_status compare_case_show(const struct compare_case *c,
                                           struct compare_results *results,
                                           enum assay_status *verdict,
                                           struct error *err)
{
    const struct settings *settings = c->settings;
    struct compare_view view = {.term = results->screen.term,
                                .all = settings->all,
                                .name_a = str_text(&c->name_a),
                                .name_b = str_text(&c->name_b),
                                .how = c->how.n ? c->how.text : NULL,
                                .gate = compare_has_gate(settings) ? &c->gate
                                                                   : NULL};
    enum assay_status st = views[settings->layout](c->comparison, &view,
                                                   results->screen.sink, err);

    if (!st && settings->junit)
        st = view_compare_junit(c->comparison, &view, results->junit.sink, err);
    if (!st && view.gate)
        *verdict = compare_gate_status(c->comparison, &c->gate, err);
    return st;
}

/* ---- files --------------------------------------------------------------- */

static enum assay_status
compare_files(struct compare_case *c, const struct words *a,
              const struct words *b, struct compare_results *results,
              enum assay_status *verdict, struct error *err)
{
    struct run_list runs_a = {0}, runs_b = {0};
    enum assay_status st = run_list_load(&runs_a, a, err);

    if (!st)
        st = run_list_load(&runs_b, b, err);
    if (!st)
        st = inputs_name(a, &c->name_a, err);
    if (!st)
        st = inputs_name(b, &c->name_b, err);
    if (!st)
        st = compare_case_judge(c, &runs_a, &runs_b,
                                (struct compare_options){0}, err);
    if (!st)
        st = compare_case_show(c, results, verdict, err);
    compare_case_forget(c);
    run_list_release(&runs_a);
    run_list_release(&runs_b);
    return st;
}

/* ---- commands ------------------------------------------------------------ */

/* Two commands have a -- between them. */
static bool compare_find_commands(const struct words *operands, struct words *a,
                                  struct words *b)
{
    size_t at = 0;

    while (at < operands->n && strcmp(operands->items[at], "--") != 0)
        at++;
    if (at == operands->n)
        return false;
    *a = (struct words){operands->items, at};
    *b = (struct words){operands->items + at + 1, operands->n - at - 1};
    return true;
}

/* Without a gate: the whole differs, or is known to one percent. */
static bool compare_is_known(const struct comparison *comparison)
{
    static const double precise = 0.01;
    const struct compare_row *whole = compare_row(comparison, 0);

    return whole->is_counted || (whole->high - whole->low) / 2 <= precise;
}

struct compare_look {
    struct compare_case *c;
    const struct looks *looks;
};

static enum assay_status compare_look(void *context, const struct turns *turns,
                                      bool *is_decided, struct error *err)
{
    const struct compare_look *look = context;
    struct compare_options how = {.are_pairs = !turns->are_starts,
                                  .are_starts = turns->are_starts,
                                  .n_looks = looks_count(look->looks)};
    enum assay_status st =
        compare_case_judge(look->c, &turns->a, &turns->b, how, err);

    if (!st)
        *is_decided = compare_has_gate(look->c->settings)
                          ? look->c->gate.gate != GATE_NOISY
                          : compare_is_known(look->c->comparison);
    return st;
}

/* "20 pairs of runs, in turn, in 42 s; 1 disturbed pair left out" */
static enum assay_status compare_how_words(struct compare_case *c,
                                           const struct turns *turns)
{
    size_t n = compare_pairs_left_out(c->comparison);
    enum assay_status st = turns_words(turns, &c->how);

    if (!st && n > 0)
        st = str_printf(&c->how, "; %zu disturbed pair%s left out", n,
                        n == 1 ? "" : "s");
    return st;
}

static enum assay_status
compare_commands(struct compare_case *c, const struct words *a,
                 const struct words *b, struct compare_results *results,
                 enum assay_status *verdict, struct error *err)
{
    const struct settings *settings = c->settings;
    struct turns_settings how = {.a = *a,
                                 .b = *b,
                                 .looks = {.most = (size_t)settings->pairs},
                                 .seconds = settings->limit_s,
                                 .folder = settings->runs};
    struct compare_look look = {c, &how.looks};
    struct turns turns = {0};
    enum assay_status st = ASSAY_OK;

    if (turns_command(a, &c->name_a) || turns_command(b, &c->name_b))
        st = error_nomem(err, 1, "the text of a command");
    if (!st)
        st = turns_run(&how, compare_look, &look, &turns, err);
    if (!st && compare_how_words(c, &turns))
        st = error_nomem(err, c->how.n, "a text");
    if (!st)
        st = compare_case_show(c, results, verdict, err);
    compare_case_forget(c);
    turns_release(&turns);
    return st;
}

/* ---- the command --------------------------------------------------------- */

static enum assay_status compare_check_words(const struct arguments *arguments,
                                             struct words *a, struct words *b,
                                             bool *are_commands,
                                             struct error *err)
{
    const struct settings *settings = arguments->settings;

    *are_commands = compare_find_commands(&arguments->operands, a, b);
    if (!*are_commands)
        return compare_find_sides(arguments, a, b, err);
    if (settings->a.n || settings->b.n)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--a and --b name files; leave them out to start "
                         "commands");
    if (a->n == 0 || b->n == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing a command; write assay compare -- COMMAND "
                         "... -- COMMAND ...");
    return ASSAY_OK;
}

static enum assay_status run_compare(const struct arguments *arguments,
                                     struct error *err)
{
    struct compare_case c = {.settings = arguments->settings};
    enum assay_status verdict = ASSAY_OK;
    struct compare_results results = {0};
    struct words a, b;
    bool are_commands = false;
    enum assay_status st =
        compare_check_words(arguments, &a, &b, &are_commands, err);

    if (!st)
        st = compare_check_gate(c.settings, err);
    if (!st)
        st = compare_read_budgets(c.settings, &c.budgets, err);
    if (!st)
        st = result_open(c.settings->output, &results.screen, err);
    if (!st && c.settings->junit)
        st = result_open(c.settings->junit, &results.junit, err);
    if (!st)
        st = are_commands
                 ? compare_commands(&c, &a, &b, &results, &verdict, err)
                 : compare_files(&c, &a, &b, &results, &verdict, err);
    st = result_close(&results.screen, st, err);
    st = result_close(&results.junit, st, err);
    compare_case_release(&c);
    return st ? st : verdict;
}

const struct command cmd_compare = {
    .name = "compare",
    .section = "Runs",
    .purpose = "show what differs between runs by more than noise",
    .usage = TEXTS("compare [options] A B",
                   "compare [options] --a FILE... --b FILE...",
                   "compare [options] -- COMMAND... -- COMMAND..."),
    .operands = {.max = SIZE_MAX, .endings = run_endings},
    .description = TEXTS(
        "Aligns the trees of two runs and shows for every scope how long "
        "it took in A and in B, and whether the difference is more than "
        "noise. Scopes that were added, removed or renamed are marked.",
        "Several runs per side are better than one long run: they show how "
        "much one start of the program differs from the next.",
        "With two commands, each after a --, both are started in turn until "
        "it is decided, or for --pairs and --limit. {} stands for the run "
        "file that a command writes; assay run and assay train get it "
        "without. Commands that write none are compared by their wall "
        "time."),
    .options = options,
    .exit_codes =
        "0 if there is no gate or it passed; 1 if a scope exceeds its budget "
        "by more than noise; 5 if the runs are too noisy to decide.",
    .examples =
        EXAMPLES({"compare old.assay new.assay", "what changed"},
                 {"compare --a old*.assay --b new*.assay --fail-above 5%",
                  "a gate: exit code 1 if anything became 5 % slower"},
                 {"compare --fail-above 5% -- old/assay run m.onnx -- "
                  "new/assay run m.onnx",
                  "the same for two programs, started in turn"},
                 {"compare old.assay new.assay --md -o report.md",
                  "a table for a pull request"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_compare,
};

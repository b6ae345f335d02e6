/* views/summary_memory.c - the summary line about memory. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary.h"

#include <math.h>

/* "weights 160, activations 412, scratch 96 MiB", what the peak consisted of:
 * every kind that has a share, in the order of the ledger. */
static void add_kinds(const struct run *run, struct line *line)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    for (int kind = 0; !st && kind < LEDGER_OUTSIDE; kind++) {
        double mib =
            (double)run_ledger_sum(run, (enum ledger_kind)kind) / 0x1p20;

        if (mib > 0)
            st = str_printf(&text, mib < 9.95 ? "%s%s %.1f" : "%s%s %.0f",
                            text.n ? ", " : "",
                            ledger_kind_text((enum ledger_kind)kind), mib);
    }
    if (!st && text.n)
        st = str_append(&text, " MiB");
    if (!st)
        line_sentence(line, str_text(&text));
    str_release(&text);
}

/* The same from the facts of runs that have no ledger. */
static void add_facts(const struct run *run, struct line *line)
{
    double weights = run_fact_number(run, "memory.weights_bytes");
    double scratch = run_fact_number(run, "memory.scratch_bytes");
    double mapped = run_fact_number(run, "memory.mapped_bytes");
    double rest = (double)run_memory_of(run)->peak_bytes - weights - scratch;
    char bytes[UNITS_MAX];

    if (rest >= 0)
        line_printf(line, "weights %.0f, activations %.0f, scratch %.0f MiB",
                    weights / 0x1p20, rest / 0x1p20, scratch / 0x1p20);
    if (mapped > 0)
        line_printf(line, "and %s mapped from the weights' file",
                    units_bytes(bytes, mapped));
}

static void add_parts(const struct run *run, struct line *line)
{
    double process = run_fact_number(run, "memory.process_peak_bytes");
    char bytes[UNITS_MAX];

    if (run_ledger_count(run))
        add_kinds(run, line);
    else
        add_facts(run, line);
    if (!isnan(process))
        line_printf(line, "process %s (--memory)", units_bytes(bytes, process));
}

enum assay_status summary_memory(const struct summary *summary,
                                 struct error *err)
{
    const struct run_memory *memory = run_memory_of(summary->run);
    struct line line =
        line_begin(summary->sink, &summary->options->term, "memory");
    const char *colon = run_ledger_count(summary->run) ? ":" : "";
    struct str path = {0};
    char bytes[UNITS_MAX];
    enum assay_status st = ASSAY_OK;

    if (memory->peak_bytes == RUN_UNKNOWN)
        return ASSAY_OK;
    units_bytes(bytes, (double)memory->peak_bytes);
    if (memory->peak_scope < run_scope_count(summary->run))
        st = run_scope_path_below(summary->run, run_model_scope(summary->run),
                                  memory->peak_scope, &path);
    if (st)
        error_nomem(err, path.n + 1, "the path of a scope");
    else if (path.n)
        line_printf(&line, "peak %s at %s%s", bytes, str_text(&path), colon);
    else
        line_printf(&line, "peak %s%s", bytes, colon);
    if (!st)
        add_parts(summary->run, &line);
    line_end(&line);
    str_release(&path);
    return st;
}

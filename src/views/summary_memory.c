/* views/summary_memory.c - the summary line about memory. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <math.h>

/* "weights 160, activations 412, scratch 96 MiB", what the peak consisted of:
 * every kind that has a share, in the order of the ledger. */
static enum assay_status add_kinds(const struct run *run, struct str *text)
{
    const char *before = ": ";
    enum assay_status st = ASSAY_OK;

    for (int kind = 0; !st && kind < LEDGER_OUTSIDE; kind++) {
        double mib =
            (double)run_ledger_sum(run, (enum ledger_kind)kind) / 0x1p20;

        if (mib <= 0)
            continue;
        st = str_printf(text, mib < 9.95 ? "%s%s %.1f" : "%s%s %.0f", before,
                        ledger_kind_text((enum ledger_kind)kind), mib);
        before = ", ";
    }
    return st ? st : str_append(text, " MiB");
}

/* The same from the facts of runs that have no ledger. */
static enum assay_status summary_memory_add_facts(const struct run *run,
                                                  struct str *text)
{
    double weights = run_fact_number(run, "memory.weights_bytes");
    double scratch = run_fact_number(run, "memory.scratch_bytes");
    double mapped = run_fact_number(run, "memory.mapped_bytes");
    double rest = (double)run_memory_of(run)->peak_bytes - weights - scratch;
    char bytes[UNITS_MAX];
    enum assay_status st = ASSAY_OK;

    if (rest >= 0)
        st = str_printf(text,
                        ": weights %.0f, activations %.0f, scratch %.0f MiB",
                        weights / 0x1p20, rest / 0x1p20, scratch / 0x1p20);
    if (!st && mapped > 0)
        st = str_printf(text, ", and %s mapped from the weights' file",
                        units_bytes(bytes, mapped));
    return st;
}

/* "peak 612 MiB at backbone.fpn: weights 159, ..." */
static enum assay_status summary_memory_write_peak(const struct run *run,
                                                   struct str *text)
{
    const struct run_memory *memory = run_memory_of(run);
    char bytes[UNITS_MAX];
    enum assay_status st = str_printf(
        text, "peak %s", units_bytes(bytes, (double)memory->peak_bytes));

    if (!st && memory->peak_scope < run_scope_count(run)) {
        st = str_append(text, " at ");
        if (!st)
            st = run_scope_path_below(run, run_model_scope(run),
                                      memory->peak_scope, text);
    }
    if (st)
        return st;
    return run_ledger_count(run) ? add_kinds(run, text)
                                 : summary_memory_add_facts(run, text);
}

enum assay_status summary_memory(const struct summary *summary,
                                 struct error *err)
{
    double process = run_fact_number(summary->run, "memory.process_peak_bytes");
    struct line line =
        line_begin(summary->sink, &summary->options->term, "memory");
    struct str text = {0};
    char bytes[UNITS_MAX];
    enum assay_status st;

    if (run_memory_of(summary->run)->peak_bytes == RUN_UNKNOWN)
        return ASSAY_OK;
    st = summary_memory_write_peak(summary->run, &text);
    if (st)
        error_nomem(err, text.n + 1, "a line about memory");
    else
        line_sentence(&line, str_text(&text));
    if (!st && !isnan(process))
        line_printf(&line, "process %s", units_bytes(bytes, process));
    line_end(&line);
    str_release(&text);
    return st;
}

/* run/ledger.c - who owned the bytes at the peak. */
#include "run/run_internal.h"

#include "base/vec.h"

#include <string.h>

const char *ledger_kind_text(enum ledger_kind kind)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        RUN_LEDGER_KINDS(TEXT)
#undef TEXT
    };

    return texts[kind];
}

enum assay_status run_ledger_add(struct run *run, const struct ledger_row *row,
                                 struct error *err)
{
    const char *what = arena_strdup(&run->text, row->what ? row->what : "");

    if (row->scope != RUN_NONE && row->scope >= run->n_scopes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "memory is owned by an unknown scope (%u)",
                         row->scope);
    if (row->bytes < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "an owner of memory cannot have %lld bytes",
                         (long long)row->bytes);
    if (!what || !vec_grow(&run->ledger, &run->ledger_capacity,
                           run->n_ledger + 1, sizeof *run->ledger))
        return error_nomem(err, sizeof *row, "the owners of memory");
    run->ledger[run->n_ledger] = *row;
    run->ledger[run->n_ledger++].what = what;
    return ASSAY_OK;
}

int64_t run_ledger_sum(const struct run *run, enum ledger_kind kind)
{
    int64_t sum = 0;

    for (size_t i = 0; i < run->n_ledger; i++) {
        if (run->ledger[i].kind == kind)
            sum += run->ledger[i].bytes;
    }
    return sum;
}

size_t run_ledger_count(const struct run *run)
{
    return run->n_ledger;
}

const struct ledger_row *run_ledger(const struct run *run, size_t i)
{
    return &run->ledger[i];
}

/* The merged run has the owners at the higher peak. */
enum assay_status ledger_merge(struct run *into, const struct run *from,
                               const struct translation *translation,
                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (from->memory.peak_bytes <= into->memory.peak_bytes)
        return ASSAY_OK;
    into->n_ledger = 0;
    for (size_t i = 0; !st && i < from->n_ledger; i++) {
        struct ledger_row row = from->ledger[i];

        if (row.scope != RUN_NONE)
            row.scope = translation->scopes[row.scope];
        st = run_ledger_add(into, &row, err);
    }
    return st;
}

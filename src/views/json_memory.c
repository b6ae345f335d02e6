/* views/json_memory.c - memory as JSON: the peak, and its ledger. */
#include "views/json_parts_internal.h"

static enum assay_status write_owner(struct json_writer *json,
                                     const struct run *run,
                                     const struct ledger_row *row)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    if (row->scope != RUN_NONE)
        st = run_scope_path(run, row->scope, &path);
    json_inline_object_begin(json);
    json_member_string(json, "kind", ledger_kind_text(row->kind));
    json_member_string(json, "scope",
                       row->scope == RUN_NONE ? NULL : str_text(&path));
    json_member_string(json, "what", row->what);
    json_member_int(json, "bytes", row->bytes);
    json_object_end(json);
    str_release(&path);
    return st;
}

static enum assay_status write_ledger(struct json_writer *json,
                                      const struct run *run)
{
    enum assay_status st = ASSAY_OK;

    json_key(json, "ledger");
    json_array_begin(json);
    for (size_t i = 0; !st && i < run_ledger_count(run); i++)
        st = write_owner(json, run, run_ledger(run, i));
    json_array_end(json);
    return st;
}

enum assay_status json_memory(struct json_writer *json, const struct run *run,
                              struct error *err)
{
    const struct run_memory *memory = run_memory_of(run);
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    json_key(json, "memory");
    if (memory->peak_bytes == RUN_UNKNOWN) {
        json_write_null(json);
        return ASSAY_OK;
    }
    json_object_begin(json);
    json_member_int(json, "peak_bytes", memory->peak_bytes);
    json_member_double(json, "peak_at_ms", (double)memory->peak_ns / 1e6);
    if (memory->peak_scope < run_scope_count(run)) {
        st = run_scope_path(run, memory->peak_scope, &path);
        json_member_string(json, "peak_scope", str_text(&path));
    }
    json_member_double(json, "process_peak_bytes",
                       run_fact_number(run, "memory.process_peak_bytes"));
    json_member_double(json, "untouched_bytes",
                       run_fact_number(run, "memory.untouched_bytes"));
    if (!st)
        st = write_ledger(json, run);
    json_object_end(json);
    str_release(&path);
    return st ? error_nomem(err, RUN_MAX_DEPTH, "the path of a scope")
              : ASSAY_OK;
}

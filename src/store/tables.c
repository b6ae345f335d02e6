/* store/tables.c - reads the tables of a run file into a run. */
#include "store/loader_internal.h"

#include <string.h>

/* ---- meta, facts, health ---------------------------------------------- */

struct meta {
    int64_t complete, duration_ns, iterations;
    int64_t peak_bytes, peak_scope, peak_ns;
};

static enum assay_status meta_read(struct loader *loader, struct meta *meta,
                                   struct error *err)
{
    const struct {
        const char *key;
        int64_t *value;
        int64_t most;
    } known[] = {
        {"complete", &meta->complete, 1},
        {"duration_ns", &meta->duration_ns, RUN_MAX_NS},
        {"iterations", &meta->iterations, INT64_MAX},
        {"peak_bytes", &meta->peak_bytes, INT64_MAX},
        {"peak_scope", &meta->peak_scope, RUN_NONE - 1},
        {"peak_ns", &meta->peak_ns, RUN_MAX_NS},
    };
    struct rows rows = rows_open(loader, "meta", "rowid, key, value", err);

    *meta = (struct meta){.peak_bytes = RUN_UNKNOWN, .peak_scope = RUN_UNKNOWN};
    while (rows_next(&rows)) {
        const char *key = rows_text(&rows, 1);

        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(key, known[i].key) == 0 &&
                sqlite3_column_type(rows.stmt, 2) != SQLITE_NULL)
                *known[i].value = rows_int(&rows, 2, 0, known[i].most);
        }
    }
    return rows_close(&rows);
}

static enum assay_status meta_apply(struct loader *loader,
                                    const struct meta *meta, struct error *err)
{
    struct run_memory *memory = run_memory(loader->run);

    run_health(loader->run)->is_incomplete = !meta->complete;
    run_iteration_count_restore(loader->run, (uint64_t)meta->iterations);
    run_duration_set(loader->run, meta->duration_ns);
    memory->peak_bytes = meta->peak_bytes;
    memory->peak_ns = meta->peak_ns;
    if (meta->peak_scope == RUN_UNKNOWN)
        return ASSAY_OK;
    if ((uint64_t)meta->peak_scope >= run_scope_count(loader->run))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged: the memory's peak is in an unknown "
                         "scope",
                         loader->db.path);
    memory->peak_scope = (uint32_t)meta->peak_scope;
    return ASSAY_OK;
}

static enum assay_status health_read(struct loader *loader, struct error *err)
{
    struct run_health *health = run_health(loader->run);
    const struct {
        const char *name;
        uint64_t *count;
    } known[] = {
        {"lost_spans", &health->lost_spans},
        {"unbalanced_ends", &health->unbalanced_ends},
        {"open_at_end", &health->open_at_end},
        {"too_deep", &health->too_deep},
        {"warm_up", &health->warm_up},
    };
    struct rows rows = rows_open(loader, "health", "rowid, name, count", err);

    while (rows_next(&rows)) {
        const char *name = rows_text(&rows, 1);

        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(name, known[i].name) == 0)
                *known[i].count = (uint64_t)rows_int(&rows, 2, 0, INT64_MAX);
        }
    }
    return rows_close(&rows);
}

static enum assay_status facts_read(struct loader *loader, struct error *err)
{
    struct rows rows = rows_open(loader, "fact", "rowid, key, value", err);

    while (rows_next(&rows)) {
        const char *key = rows_text(&rows, 1);
        const char *value = rows_text(&rows, 2);

        if (!rows.status)
            rows_take(&rows, run_fact_set(loader->run, key, value, err));
    }
    return rows_close(&rows);
}

/* ---- names ------------------------------------------------------------ */

/* Ids count up from 0 without gaps: the run must give the row its own number
 * again. */
static void rows_expect_id(struct rows *rows, enum assay_status st, uint32_t id)
{
    rows_take(rows, st);
    if (!st && rows->id != (int64_t)id)
        rows_refuse(rows, "its number should be %u, or it is there twice", id);
}

static enum assay_status scopes_read(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "scope", "id, parent, name, class", err);
    struct run *run = loader->run;

    while (rows_next(&rows)) {
        const char *name = rows_text(&rows, 2);
        const char *class_name = rows_text(&rows, 3);
        uint32_t parent = rows_id_or_none(&rows, 1, run_scope_count(run));
        uint32_t id = RUN_ROOT;
        enum assay_status st;

        if ((parent == RUN_NONE) != (rows.id == RUN_ROOT))
            rows_refuse(&rows, "only scope 0 has no parent");
        if (rows.status)
            break;
        if (rows.id == RUN_ROOT)
            st = run_name_root(run, name, class_name, err);
        else
            st = run_scope_add(run, parent, name, class_name, &id, err);
        rows_expect_id(&rows, st, id);
    }
    return rows_close(&rows);
}

static enum assay_status phases_read(struct loader *loader, struct error *err)
{
    struct rows rows = rows_open(loader, "phase", "id, name", err);

    while (rows_next(&rows)) {
        const char *name = rows_text(&rows, 1);
        enum assay_status st;
        uint32_t id = 0;

        if (rows.status)
            break;
        st = run_phase_add(loader->run, name, &id, err);
        rows_expect_id(&rows, st, id);
    }
    return rows_close(&rows);
}

static enum assay_status threads_read(struct loader *loader, struct error *err)
{
#define KIND(name, text) text,
    static const char *const kinds[] = {RUN_THREAD_KINDS(KIND)};
#undef KIND
    struct rows rows = rows_open(loader, "thread", "id, name, kind", err);

    while (rows_next(&rows)) {
        const char *name = rows_text(&rows, 1);
        size_t kind =
            rows_word(&rows, 2, kinds, sizeof kinds / sizeof *kinds, "thread");
        enum assay_status st;
        uint32_t id = 0;

        if (rows.status)
            break;
        st =
            run_thread_add(loader->run, name, (enum thread_kind)kind, &id, err);
        rows_expect_id(&rows, st, id);
    }
    return rows_close(&rows);
}

/* ---- work -------------------------------------------------------------- */

/* The columns of work in a file of this version. */
static const char *work_columns(int version)
{
#define WORK_COLUMNS                                                           \
    "scope, macs, flops, read_bytes, write_bytes, parameters, done_by, "
    if (version < 4)
        return WORK_COLUMNS "NULL AS done_flops, NULL AS done_bytes, "
                            "NULL AS kept_bytes";
    if (version < 5)
        return WORK_COLUMNS "done_flops, done_bytes, NULL AS kept_bytes";
    return WORK_COLUMNS "done_flops, done_bytes, kept_bytes";
#undef WORK_COLUMNS
}

static enum assay_status works_read(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "work", work_columns(loader->version), err);
    size_t n_scopes = run_scope_count(loader->run);

    while (rows_next(&rows)) {
        uint32_t scope = rows_id(&rows, 0, n_scopes);
        struct scope_work work = {
            .macs = rows_real(&rows, 1),
            .flops = rows_real(&rows, 2),
            .read_bytes = rows_real(&rows, 3),
            .write_bytes = rows_real(&rows, 4),
            .parameters = rows_real(&rows, 5),
            .done_by = rows_id_or_none(&rows, 6, n_scopes),
            .done_flops = rows_real(&rows, 7),
            .done_bytes = rows_real(&rows, 8),
            .kept_bytes = rows_real(&rows, 9),
        };

        if (!rows.status)
            rows_take(&rows, run_work_set(loader->run, scope, &work, err));
    }
    return rows_close(&rows);
}

static enum assay_status texts_read(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "scope_text", "scope, shapes, kernel", err);

    while (rows_next(&rows)) {
        uint32_t scope = rows_id(&rows, 0, run_scope_count(loader->run));
        struct scope_text text = {.shapes = rows_text(&rows, 1),
                                  .kernel = rows_text(&rows, 2)};

        if (!rows.status)
            rows_take(&rows, run_text_set(loader->run, scope, &text, err));
    }
    return rows_close(&rows);
}

/* ---- iterations and samples ------------------------------------------- */

static enum assay_status iterations_read(struct loader *loader,
                                         struct error *err)
{
    struct rows rows = rows_open(
        loader, "iteration", "rowid, i, thread, start_ns, duration_ns", err);
    struct run *run = loader->run;

    while (rows_next(&rows)) {
        struct iteration iteration = {
            .index = rows_id(&rows, 1, RUN_NONE),
            .thread = rows_id(&rows, 2, run_thread_count(run)),
            .start_ns = rows_int(&rows, 3, -RUN_MAX_NS, RUN_MAX_NS),
            .duration_ns = rows_int(&rows, 4, 0, RUN_MAX_NS),
        };

        if (run_iterations_kept(run) == RUN_MAX_POINTS)
            rows_refuse(&rows, "there are more than %d", RUN_MAX_POINTS);
        if (!rows.status)
            rows_take(&rows, run_iteration_restore(run, &iteration, err));
    }
    return rows_close(&rows);
}

/* The columns of sample in a file of this version. */
static const char *sample_columns(int version)
{
#define SAMPLE_TEXT                                                            \
    "rowid, scope, phase, thread, iteration, start_ns, duration_ns, self_ns, " \
    "bytes, "
    if (version < 2)
        return SAMPLE_TEXT "NULL AS peak_bytes, NULL AS queued_ns";
    if (version < 6)
        return SAMPLE_TEXT "peak_bytes, NULL AS queued_ns";
    return SAMPLE_TEXT "peak_bytes, queued_ns";
#undef SAMPLE_TEXT
}

/* NULL counts as 0: unknown. */
static int64_t rows_told(struct rows *rows, int column, int64_t most)
{
    return sqlite3_column_type(rows->stmt, column) == SQLITE_NULL
               ? 0
               : rows_int(rows, column, 0, most);
}

static enum assay_status samples_read(struct loader *loader, struct error *err)
{
    struct rows rows =
        rows_open(loader, "sample", sample_columns(loader->version), err);
    struct run *run = loader->run;
    size_t n_scopes = run_scope_count(run), n_phases = run_phase_count(run);
    size_t n_threads = run_thread_count(run);

    while (rows_next(&rows)) {
        struct sample sample = {
            .scope = rows_id(&rows, 1, n_scopes),
            .phase = rows_id(&rows, 2, n_phases),
            .thread = rows_id(&rows, 3, n_threads),
            .iteration = rows_id_or_none(&rows, 4, RUN_NONE),
            .start_ns = rows_int(&rows, 5, -RUN_MAX_NS, RUN_MAX_NS),
            .duration_ns = rows_int(&rows, 6, 0, RUN_MAX_NS),
            .self_ns = rows_int(&rows, 7, -RUN_MAX_NS, RUN_MAX_NS),
            .bytes = rows_bytes(&rows, 8),
            .peak_bytes = rows_bytes(&rows, 9),
            .queued_ns = rows_told(&rows, 10, RUN_MAX_NS),
        };

        if (!rows.status)
            rows_take(&rows, run_keep(run, &sample, err));
    }
    return rows_close(&rows);
}

/* ---- series ------------------------------------------------------------ */

static enum assay_status series_read_rows(struct loader *loader,
                                          struct error *err)
{
    struct rows rows =
        rows_open(loader, "series", "id, name, unit, stride", err);

    while (rows_next(&rows)) {
        const char *name = rows_text(&rows, 1);
        const char *unit = rows_text(&rows, 2);
        uint32_t stride = (uint32_t)rows_int(&rows, 3, 1, INT64_C(1) << 31);
        enum assay_status st;
        uint32_t id = 0;

        if (rows.status)
            break;
        st = run_series_add(loader->run, name, unit, &id, err);
        rows_expect_id(&rows, st, id);
        if (!rows.status)
            rows_take(&rows, run_series_restore(loader->run, id, stride, err));
    }
    return rows_close(&rows);
}

static enum assay_status series_read_labels(struct loader *loader,
                                            struct error *err)
{
    struct rows rows = rows_open(loader, "series_label",
                                 "series << 32 | i, series, i, label", err);
    struct run *run = loader->run;

    while (rows_next(&rows)) {
        uint32_t id = rows_id(&rows, 1, run_series_count(run));
        uint32_t i = rows_id(&rows, 2, RUN_NONE);
        const char *label = rows_text(&rows, 3);

        if (rows.status)
            break;
        if (i != run_series(run, id)->n_labels)
            rows_refuse(&rows, "label %u of series %u has number %u",
                        (unsigned)run_series(run, id)->n_labels, id, i);
        else
            rows_take(&rows, run_series_label(run, id, label, err));
    }
    return rows_close(&rows);
}

static enum assay_status series_read_points(struct loader *loader,
                                            struct error *err)
{
    struct rows rows =
        rows_open(loader, "series_point",
                  "series << 32 | iteration, series, iteration, value", err);
    struct run *run = loader->run;

    while (rows_next(&rows)) {
        uint32_t id = rows_id(&rows, 1, run_series_count(run));
        uint32_t iteration = rows_id(&rows, 2, RUN_NONE);
        double value = rows_real(&rows, 3);
        const struct series *series;

        if (rows.status)
            break;
        series = run_series(run, id);
        if (series->n_points == RUN_MAX_POINTS)
            rows_refuse(&rows, "series %u has more than %d", id,
                        RUN_MAX_POINTS);
        else if (!run_is_kept(iteration, series->stride))
            rows_refuse(&rows, "iteration %u is not one of a stride of %u",
                        iteration, series->stride);
        else
            rows_take(&rows, run_series_put(run, id, iteration, value, err));
    }
    return rows_close(&rows);
}

static enum assay_status series_read(struct loader *loader, struct error *err)
{
    enum assay_status st = series_read_rows(loader, err);

    if (!st)
        st = series_read_labels(loader, err);
    if (!st)
        st = series_read_points(loader, err);
    if (!st)
        run_series_number_steps(loader->run);
    return st;
}

/* ---- ledger ------------------------------------------------------------ */

static enum assay_status ledger_read(struct loader *loader, struct error *err)
{
#define KIND(name, text) text,
    static const char *const kinds[] = {RUN_LEDGER_KINDS(KIND)};
#undef KIND
    struct rows rows =
        rows_open(loader, "ledger", "id, kind, scope, bytes, what", err);
    size_t n_scopes = run_scope_count(loader->run);
    int64_t sum = 0;

    while (rows_next(&rows)) {
        struct ledger_row row = {
            .kind = (enum ledger_kind)rows_word(&rows, 1, kinds, N_LEDGER_KINDS,
                                                "memory"),
            .scope = rows_id_or_none(&rows, 2, n_scopes),
            .bytes = rows_int(&rows, 3, 0, INT64_MAX),
            .what = rows_text(&rows, 4),
        };

        if (__builtin_add_overflow(sum, row.bytes, &sum))
            rows_refuse(&rows, "the bytes add up to more than there can be");
        if (!rows.status)
            rows_take(&rows, run_ledger_add(loader->run, &row, err));
    }
    return rows_close(&rows);
}

/* ---- memory by space --------------------------------------------------- */

static enum assay_status spaces_read(struct loader *loader, struct error *err)
{
    struct rows rows = rows_open(
        loader, "memory_space",
        "id, space, category, live_bytes, peak_bytes, at_peak_bytes", err);

    while (rows_next(&rows)) {
        struct space_row row = {
            .space = rows_text(&rows, 1),
            .category = rows_text(&rows, 2),
            .live_bytes = rows_int(&rows, 3, INT64_MIN + 1, INT64_MAX),
            .peak_bytes = rows_int(&rows, 4, 0, INT64_MAX),
            .at_peak_bytes = rows_int(&rows, 5, INT64_MIN + 1, INT64_MAX),
        };

        if (!rows.status)
            rows_take(&rows, run_space_restore(loader->run, &row, err));
    }
    return rows_close(&rows);
}

/* ---- edges --------------------------------------------------------------- */

static enum assay_status edges_read(struct loader *loader, struct error *err)
{
    size_t n_scopes = run_scope_count(loader->run);
    struct rows rows;

    if (!loader->has_edges)
        return ASSAY_OK;
    rows = rows_open(loader, "edge", "rowid, src, dst", err);
    while (rows_next(&rows)) {
        struct run_edge edge = {.from = rows_id_or_none(&rows, 1, n_scopes),
                                .to = rows_id_or_none(&rows, 2, n_scopes)};

        if (!rows.status)
            rows_take(&rows, run_edge_add(loader->run, &edge, err));
    }
    return rows_close(&rows);
}

enum assay_status tables_read(struct loader *loader, struct error *err)
{
    static const struct {
        int since; /* version of the schema */
        enum assay_status (*read)(struct loader *loader, struct error *err);
    } parts[] = {
        {1, health_read}, {1, facts_read},   {1, scopes_read},
        {1, phases_read}, {1, threads_read}, {1, iterations_read},
        {1, cells_read},  {1, samples_read}, {2, counters_read},
        {3, works_read},  {6, texts_read},   {4, series_read},
        {4, ledger_read}, {6, spaces_read},  {1, edges_read},
    };
    struct meta meta;
    enum assay_status st = meta_read(loader, &meta, err);

    for (size_t i = 0; !st && i < sizeof parts / sizeof *parts; i++) {
        if (loader->version >= parts[i].since)
            st = parts[i].read(loader, err);
    }
    return st ? st : meta_apply(loader, &meta, err);
}

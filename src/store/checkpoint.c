/* store/checkpoint.c - brings a run file up to date with its run.
 *
 * Called every second while a program is being measured, so it writes only what
 * changed since the last time. */
#include "store/writer_internal.h"

#include "base/map.h"

#include <string.h>

/* ---- meta, facts, health ---------------------------------------------- */

struct named_number {
    const char *name;
    int64_t value;
};

static enum assay_status numbers_put(struct store_writer *writer,
                                     enum statement which,
                                     const struct named_number *values,
                                     size_t n, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < n && !st; i++) {
        struct row row = writer_row(writer, which, err);

        row_text(&row, values[i].name);
        row_bytes(&row, values[i].value);
        st = row_write(&row);
    }
    return st;
}

static enum assay_status meta_write(struct store_writer *writer,
                                    const struct run *run, bool is_complete,
                                    struct error *err)
{
    const struct run_memory *memory = run_memory_of(run);
    const struct named_number values[] = {
        {"complete", is_complete && !run_health_of(run)->is_incomplete},
        {"duration_ns", run_duration_ns(run)},
        {"iterations", (int64_t)run_iteration_count(run)},
        {"peak_bytes", memory->peak_bytes},
        {"peak_scope", memory->peak_scope == RUN_NONE
                           ? RUN_UNKNOWN
                           : (int64_t)memory->peak_scope},
        {"peak_ns",
         memory->peak_bytes == RUN_UNKNOWN ? RUN_UNKNOWN : memory->peak_ns},
    };

    return numbers_put(writer, PUT_META, values,
                       sizeof values / sizeof values[0], err);
}

static enum assay_status health_write(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    const struct run_health *health = run_health_of(run);
    const struct named_number values[] = {
        {"lost_spans", (int64_t)(health->lost_spans + writer->n_lost)},
        {"unbalanced_ends", (int64_t)health->unbalanced_ends},
        {"open_at_end", (int64_t)health->open_at_end},
        {"too_deep", (int64_t)health->too_deep},
        {"warm_up", (int64_t)health->warm_up},
    };

    return numbers_put(writer, PUT_HEALTH, values,
                       sizeof values / sizeof values[0], err);
}

static enum assay_status facts_write(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    const char *key, *value;

    for (size_t i = 0; i < run_fact_count(run) && !st; i++) {
        struct row row = writer_row(writer, PUT_FACT, err);

        run_fact_at(run, i, &key, &value);
        row_text(&row, key);
        row_text(&row, value);
        st = row_write(&row);
    }
    return st;
}

/* ---- names ------------------------------------------------------------ */

static enum assay_status scope_write(struct store_writer *writer,
                                     const struct run *run, uint32_t id,
                                     struct str *path, struct error *err)
{
    const struct scope *scope = run_scope(run, id);
    struct row row;

    str_clear(path);
    if (run_scope_path(run, id, path))
        return error_nomem(err, path->n, "the path of a scope");
    row = writer_row(writer, PUT_SCOPE, err);
    row_int(&row, id);
    row_id(&row, scope->parent);
    row_text(&row, scope->name);
    row_text(&row, scope->class_name);
    row_text(&row, path->n <= STORE_MAX_PATH ? str_text(path) : NULL);
    return row_write(&row);
}

/* The root may be renamed at any time; all others are written once. */
static enum assay_status scopes_write(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    size_t n = run_scope_count(run);
    struct str path = {0};
    enum assay_status st = scope_write(writer, run, RUN_ROOT, &path, err);

    for (size_t i = writer->n_scopes ? writer->n_scopes : 1; i < n && !st; i++)
        st = scope_write(writer, run, (uint32_t)i, &path, err);
    str_release(&path);
    writer->n_scopes = n;
    return st;
}

static enum assay_status phases_write(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    size_t n = run_phase_count(run);
    enum assay_status st = ASSAY_OK;

    for (size_t i = writer->n_phases; i < n && !st; i++) {
        struct row row = writer_row(writer, PUT_PHASE, err);

        row_int(&row, (int64_t)i);
        row_text(&row, run_phase_name(run, (uint32_t)i));
        st = row_write(&row);
    }
    writer->n_phases = n;
    return st;
}

static enum assay_status threads_write(struct store_writer *writer,
                                       const struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < run_thread_count(run) && !st; i++) {
        const struct run_thread *thread = run_thread(run, (uint32_t)i);
        struct row row = writer_row(writer, PUT_THREAD, err);

        row_int(&row, (int64_t)i);
        row_text(&row, thread->name);
        row_text(&row, thread_kind_text(thread->kind));
        st = row_write(&row);
    }
    return st;
}

/* ---- work -------------------------------------------------------------- */

static uint64_t works_hash(const struct run *run)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        const struct scope_work *work = run_work(run, i);

        if (work) {
            const double values[] = {i,
                                     work->macs,
                                     work->flops,
                                     work->read_bytes,
                                     work->write_bytes,
                                     work->parameters,
                                     work->done_flops,
                                     work->done_bytes,
                                     work->kept_bytes,
                                     work->done_by};

            hash = hash * 31 + map_hash(values, sizeof values);
        }
    }
    return hash;
}

static enum assay_status work_put(struct store_writer *writer, uint32_t scope,
                                  const struct scope_work *work,
                                  struct error *err)
{
    struct row row = writer_row(writer, PUT_WORK, err);

    row_int(&row, scope);
    row_real(&row, work->macs);
    row_real(&row, work->flops);
    row_real(&row, work->read_bytes);
    row_real(&row, work->write_bytes);
    row_real(&row, work->parameters);
    row_id(&row, work->done_by);
    row_real(&row, work->done_flops);
    row_real(&row, work->done_bytes);
    row_real(&row, work->kept_bytes);
    return row_write(&row);
}

/* Work is usually set once; if a hash shows that it changed, all of it is
 * written again. */
static enum assay_status works_write(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    uint64_t hash = works_hash(run);
    enum assay_status st = ASSAY_OK;

    if (hash == writer->work_hash)
        return ASSAY_OK;
    for (uint32_t i = 0; !st && i < run_scope_count(run); i++) {
        const struct scope_work *work = run_work(run, i);

        if (work)
            st = work_put(writer, i, work, err);
    }
    writer->work_hash = hash;
    return st;
}

static uint64_t texts_hash(const struct run *run)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; run_has_text(run) && i < run_scope_count(run); i++) {
        const struct scope_text *text = run_text(run, i);

        if (text)
            hash = (hash * 31 + map_hash(text->shapes, strlen(text->shapes))) *
                       31 +
                   map_hash(text->kernel, strlen(text->kernel)) + i;
    }
    return hash;
}

static enum assay_status scope_text_put(struct store_writer *writer,
                                        uint32_t scope,
                                        const struct scope_text *text,
                                        struct error *err)
{
    struct row row = writer_row(writer, PUT_TEXT, err);

    row_int(&row, scope);
    row_text(&row, text->shapes);
    row_text(&row, text->kernel);
    return row_write(&row);
}

static enum assay_status texts_write(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    uint64_t hash = texts_hash(run);
    enum assay_status st;

    if (!run_has_text(run) || hash == writer->text_hash)
        return ASSAY_OK;
    st = writer_extend(writer, err);
    for (uint32_t i = 0; !st && i < run_scope_count(run); i++) {
        const struct scope_text *text = run_text(run, i);

        if (text)
            st = scope_text_put(writer, i, text, err);
    }
    writer->text_hash = hash;
    return st;
}

/* ---- edges ----------------------------------------------------------------
 */

/* They come all at once, and are not many. */
static enum assay_status edges_write(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    size_t n = run_edge_count(run);
    enum assay_status st;

    if (n == writer->n_edges)
        return ASSAY_OK;
    st = db_execute(&writer->db, store_edges, err);
    if (!st)
        st = writer_cut(writer, CUT_EDGES, 0, err);
    for (size_t i = 0; i < n && !st; i++) {
        struct row row = writer_row(writer, PUT_EDGE, err);

        row_id(&row, run_edge(run, i)->from);
        row_id(&row, run_edge(run, i)->to);
        st = row_write(&row);
    }
    writer->n_edges = n;
    return st;
}

/* ---- iterations ------------------------------------------------------- */

/* Where to go on writing. After thinning, the place of the last one written has
 * another iteration, or none: then from the beginning. */
static size_t iterations_first_new(const struct store_writer *writer,
                                   const struct run *run)
{
    size_t n = writer->n_iterations;

    if (n == 0 || n > run_iterations_kept(run) ||
        run_iteration(run, n - 1)->index != writer->last_iteration)
        return 0;
    return n;
}

static enum assay_status iterations_write(struct store_writer *writer,
                                          const struct run *run,
                                          struct error *err)
{
    size_t first = iterations_first_new(writer, run);
    size_t n = run_iterations_kept(run);
    enum assay_status st = ASSAY_OK;

    if (first == 0 && writer->n_iterations > 0)
        st = writer_cut(writer, CUT_ITERATIONS, 0, err);
    for (size_t i = first; i < n && !st; i++) {
        const struct iteration *iteration = run_iteration(run, i);
        struct row row = writer_row(writer, PUT_ITERATION, err);

        row_int(&row, iteration->index);
        row_int(&row, iteration->thread);
        row_int(&row, iteration->start_ns);
        row_int(&row, iteration->duration_ns);
        st = row_write(&row);
    }
    writer->n_iterations = n;
    if (n > 0)
        writer->last_iteration = run_iteration(run, n - 1)->index;
    return st;
}

/* ---- kept samples ----------------------------------------------------- */

static int kept_bind(sqlite3_stmt *stmt, int at,
                     const struct bulk_source *source, size_t i)
{
    struct bulk_source one = {.items = run_kept(source->items, i),
                              .is_extended = source->is_extended};

    return bulk_bind_sample(stmt, at, &one, 0);
}

/* They are few and change rarely, but nothing says when: a hash of those
 * written shows whether they are still the first ones. */
static enum assay_status kept_write(struct store_writer *writer,
                                    const struct run *run, struct error *err)
{
    struct bulk_source source = {.items = run, .bind = kept_bind};
    size_t n = run_kept_count(run), first = 0;
    uint64_t hash = 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < n; i++) {
        if (i == writer->n_kept && hash == writer->kept_hash)
            first = i;
        hash = hash * 31 + map_hash(run_kept(run, i), sizeof(struct sample));
        if (!st && sample_is_extended(run_kept(run, i)))
            st = writer_extend(writer, err);
    }
    source.is_extended = writer->is_extended;
    if (st || (n == writer->n_kept && hash == writer->kept_hash))
        return st;
    if (first == 0 && writer->n_kept > 0)
        st = writer_cut(writer, CUT_SAMPLES, writer->n_appended, err);
    if (!st)
        st = bulk_insert(writer, &writer->samples, &source, first, n, err);
    writer->n_kept = n;
    writer->kept_hash = hash;
    return st;
}

/* ---- series ------------------------------------------------------------ */

static enum assay_status series_put(struct store_writer *writer,
                                    const struct series *series, size_t id,
                                    struct error *err)
{
    struct row row = writer_row(writer, PUT_SERIES, err);

    row_int(&row, (int64_t)id);
    row_text(&row, series->name);
    row_text(&row, series->unit);
    row_int(&row, series->stride);
    return row_write(&row);
}

static enum assay_status series_put_labels(struct store_writer *writer,
                                           const struct series *series,
                                           size_t id, size_t first,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; i < series->n_labels && !st; i++) {
        struct row row = writer_row(writer, PUT_LABEL, err);

        row_int(&row, (int64_t)id);
        row_int(&row, (int64_t)i);
        row_text(&row, series->labels[i]);
        st = row_write(&row);
    }
    return st;
}

static enum assay_status series_put_points(struct store_writer *writer,
                                           const struct series *series,
                                           size_t id, size_t first,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; i < series->n_points && !st; i++) {
        struct row row = writer_row(writer, PUT_SERIES_POINT, err);

        row_int(&row, (int64_t)id);
        row_int(&row, series->points[i].iteration);
        row_real(&row, series->points[i].value);
        st = row_write(&row);
    }
    return st;
}

/* Like a cell, it only gains points until it is thinned. */
static enum assay_status series_write_one(struct store_writer *writer,
                                          const struct series *series,
                                          size_t id, struct error *err)
{
    struct written *written = &writer->series[id];
    size_t first = written->n_points;
    enum assay_status st = ASSAY_OK;

    if (written->stride != series->stride) {
        st = series_put(writer, series, id, err);
        if (!st && first > 0)
            st = writer_cut(writer, CUT_SERIES_POINTS, (int64_t)id, err);
        first = 0;
    }
    if (!st)
        st = series_put_labels(writer, series, id, (size_t)written->calls, err);
    if (!st)
        st = series_put_points(writer, series, id, first, err);
    *written = (struct written){.calls = series->n_labels,
                                .n_points = series->n_points,
                                .stride = series->stride};
    return st;
}

static enum assay_status series_write(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    size_t n = run_series_count(run);
    enum assay_status st = written_grow(&writer->series, &writer->n_series,
                                        &writer->series_capacity, n, err);

    for (size_t i = 0; i < n && !st; i++)
        st = series_write_one(writer, run_series(run, (uint32_t)i), i, err);
    return st;
}

/* ---- ledger ------------------------------------------------------------ */

static uint64_t ledger_hash(const struct run *run)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < run_ledger_count(run); i++) {
        const struct ledger_row *row = run_ledger(run, i);
        const int64_t values[] = {row->kind, row->scope, row->bytes};

        hash = hash * 31 + map_hash(values, sizeof values);
        hash = hash * 31 + map_hash(row->what, strlen(row->what));
    }
    return hash;
}

static enum assay_status ledger_put(struct store_writer *writer,
                                    const struct ledger_row *owner, size_t id,
                                    struct error *err)
{
    struct row row = writer_row(writer, PUT_OWNER, err);

    row_int(&row, (int64_t)id);
    row_text(&row, ledger_kind_text(owner->kind));
    row_id(&row, owner->scope);
    row_int(&row, owner->bytes);
    row_text(&row, owner->what);
    return row_write(&row);
}

/* It usually comes at the end, all at once. */
static enum assay_status ledger_write(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    uint64_t hash = ledger_hash(run);
    enum assay_status st;

    if (hash == writer->ledger_hash)
        return ASSAY_OK;
    st = writer_cut(writer, CUT_LEDGER, 0, err);
    for (size_t i = 0; i < run_ledger_count(run) && !st; i++)
        st = ledger_put(writer, run_ledger(run, i), i, err);
    writer->ledger_hash = hash;
    return st;
}

/* ---- memory by space --------------------------------------------------- */

static enum assay_status space_put(struct store_writer *writer,
                                   const struct space_row *space, size_t id,
                                   struct error *err)
{
    struct row row = writer_row(writer, PUT_SPACE, err);

    row_int(&row, (int64_t)id);
    row_text(&row, space->space);
    row_text(&row, space->category);
    row_int(&row, space->live_bytes);
    row_int(&row, space->peak_bytes);
    row_int(&row, space->at_peak_bytes);
    return row_write(&row);
}

/* Only a handful of rows, which change all the time. */
static enum assay_status spaces_write(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (run_space_count(run))
        st = writer_extend(writer, err);
    for (size_t i = 0; i < run_space_count(run) && !st; i++)
        st = space_put(writer, run_space(run, i), i, err);
    return st;
}

enum assay_status checkpoint_write(struct store_writer *writer,
                                   const struct run *run, bool is_complete,
                                   struct error *err)
{
    static enum assay_status (*const parts[])(struct store_writer * writer,
                                              const struct run *run,
                                              struct error *err) = {
        health_write,  facts_write,  scopes_write,   phases_write,
        threads_write, works_write,  texts_write,    iterations_write,
        cells_write,   kept_write,   counters_write, series_write,
        ledger_write,  spaces_write, edges_write,
    };
    enum assay_status st = meta_write(writer, run, is_complete, err);

    for (size_t i = 0; !st && i < sizeof parts / sizeof *parts; i++)
        st = parts[i](writer, run, err);
    return st;
}

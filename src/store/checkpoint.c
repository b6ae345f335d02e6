/* store/checkpoint.c - bringing a run file up to its run.
 *
 * Called every second while a program is being measured, so it writes only
 * what changed since the last time. */
#include "store/writer_internal.h"

#include "base/map.h"

#include <string.h>

/* ---- meta, facts, health ---------------------------------------------- */

struct named {
    const char *name;
    int64_t value;
};

static enum assay_status put_numbers(struct store_writer *writer,
                                     enum statement which,
                                     const struct named *values, size_t n,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct row row;

    for (size_t i = 0; i < n && !st; i++) {
        st = writer_put(writer, which, &row, err);
        if (st)
            break;
        row_text(&row, values[i].name);
        row_bytes(&row, values[i].value);
        st = row_write(&row, &writer->db, err);
    }
    return st;
}

static enum assay_status write_meta(struct store_writer *writer,
                                    const struct run *run, bool is_complete,
                                    struct error *err)
{
    const struct run_memory *memory = run_memory_of(run);
    const struct named values[] = {
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

    return put_numbers(writer, PUT_META, values,
                       sizeof values / sizeof values[0], err);
}

static enum assay_status write_health(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    const struct run_health *health = run_health_of(run);
    const struct named values[] = {
        {"lost_spans", (int64_t)(health->lost_spans + writer->n_lost)},
        {"unbalanced_ends", (int64_t)health->unbalanced_ends},
        {"open_at_end", (int64_t)health->open_at_end},
        {"too_deep", (int64_t)health->too_deep},
        {"warm_up", (int64_t)health->warm_up},
    };

    return put_numbers(writer, PUT_HEALTH, values,
                       sizeof values / sizeof values[0], err);
}

static enum assay_status write_facts(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    const char *key, *value;
    struct row row;

    for (size_t i = 0; i < run_fact_count(run) && !st; i++) {
        st = writer_put(writer, PUT_FACT, &row, err);
        if (st)
            break;
        run_fact_at(run, i, &key, &value);
        row_text(&row, key);
        row_text(&row, value);
        st = row_write(&row, &writer->db, err);
    }
    return st;
}

/* ---- names ------------------------------------------------------------ */

static enum assay_status write_scope(struct store_writer *writer,
                                     const struct run *run, uint32_t id,
                                     struct str *path, struct error *err)
{
    const struct scope *scope = run_scope(run, id);
    enum assay_status st;
    struct row row;

    str_clear(path);
    if (run_scope_path(run, id, path))
        return error_nomem(err, path->n, "the path of a scope");
    st = writer_put(writer, PUT_SCOPE, &row, err);
    if (st)
        return st;
    row_int(&row, id);
    row_id(&row, scope->parent);
    row_text(&row, scope->name);
    row_text(&row, scope->class_name);
    row_text(&row, path->n <= STORE_MAX_PATH ? str_text(path) : NULL);
    return row_write(&row, &writer->db, err);
}

/* The root may be renamed at any time; all others are written once. */
static enum assay_status write_scopes(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    size_t n = run_scope_count(run);
    struct str path = {0};
    enum assay_status st = write_scope(writer, run, RUN_ROOT, &path, err);

    for (size_t i = writer->n_scopes ? writer->n_scopes : 1; i < n && !st; i++)
        st = write_scope(writer, run, (uint32_t)i, &path, err);
    str_release(&path);
    writer->n_scopes = n;
    return st;
}

static enum assay_status write_phases(struct store_writer *writer,
                                      const struct run *run, struct error *err)
{
    size_t n = run_phase_count(run);
    enum assay_status st = ASSAY_OK;
    struct row row;

    for (size_t i = writer->n_phases; i < n && !st; i++) {
        st = writer_put(writer, PUT_PHASE, &row, err);
        if (st)
            break;
        row_int(&row, (int64_t)i);
        row_text(&row, run_phase_name(run, (uint32_t)i));
        st = row_write(&row, &writer->db, err);
    }
    writer->n_phases = n;
    return st;
}

static enum assay_status write_threads(struct store_writer *writer,
                                       const struct run *run, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct row row;

    for (size_t i = 0; i < run_thread_count(run) && !st; i++) {
        const struct run_thread *thread = run_thread(run, (uint32_t)i);

        st = writer_put(writer, PUT_THREAD, &row, err);
        if (st)
            break;
        row_int(&row, (int64_t)i);
        row_text(&row, thread->name);
        row_text(&row, thread_kind_text(thread->kind));
        st = row_write(&row, &writer->db, err);
    }
    return st;
}

/* ---- work -------------------------------------------------------------- */

static uint64_t hash_work(const struct run *run)
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

static enum assay_status put_work(struct store_writer *writer, uint32_t scope,
                                  const struct scope_work *work,
                                  struct error *err)
{
    struct row row;
    enum assay_status st = writer_put(writer, PUT_WORK, &row, err);

    if (st)
        return st;
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
    return row_write(&row, &writer->db, err);
}

/* It is set once as a rule; where a hash says that it changed, all of it is
 * written over what is there. */
static enum assay_status write_work(struct store_writer *writer,
                                    const struct run *run, struct error *err)
{
    uint64_t hash = hash_work(run);
    enum assay_status st = ASSAY_OK;

    if (hash == writer->work_hash)
        return ASSAY_OK;
    for (uint32_t i = 0; !st && i < run_scope_count(run); i++) {
        const struct scope_work *work = run_work(run, i);

        if (work)
            st = put_work(writer, i, work, err);
    }
    writer->work_hash = hash;
    return st;
}

static uint64_t hash_texts(const struct run *run)
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

static enum assay_status put_text(struct store_writer *writer, uint32_t scope,
                                  const struct scope_text *text,
                                  struct error *err)
{
    struct row row;
    enum assay_status st = writer_put(writer, PUT_TEXT, &row, err);

    if (st)
        return st;
    row_int(&row, scope);
    row_text(&row, text->shapes);
    row_text(&row, text->kernel);
    return row_write(&row, &writer->db, err);
}

static enum assay_status write_texts(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    uint64_t hash = hash_texts(run);
    enum assay_status st;

    if (!run_has_text(run) || hash == writer->text_hash)
        return ASSAY_OK;
    st = writer_extend(writer, err);
    for (uint32_t i = 0; !st && i < run_scope_count(run); i++) {
        const struct scope_text *text = run_text(run, i);

        if (text)
            st = put_text(writer, i, text, err);
    }
    writer->text_hash = hash;
    return st;
}

/* ---- iterations ------------------------------------------------------- */

/* Where writing goes on: thinning leaves another one, or none, at the place
 * of the last that was written. */
static size_t first_new_iteration(const struct store_writer *writer,
                                  const struct run *run)
{
    size_t n = writer->n_iterations;

    if (n == 0 || n > run_iterations_kept(run) ||
        run_iteration(run, n - 1)->index != writer->last_iteration)
        return 0;
    return n;
}

static enum assay_status write_iterations(struct store_writer *writer,
                                          const struct run *run,
                                          struct error *err)
{
    size_t first = first_new_iteration(writer, run);
    size_t n = run_iterations_kept(run);
    enum assay_status st = ASSAY_OK;
    struct row row;

    if (first == 0 && writer->n_iterations > 0)
        st = writer_cut(writer, CUT_ITERATIONS, 0, err);
    for (size_t i = first; i < n && !st; i++) {
        const struct iteration *iteration = run_iteration(run, i);

        st = writer_put(writer, PUT_ITERATION, &row, err);
        if (st)
            break;
        row_int(&row, iteration->index);
        row_int(&row, iteration->thread);
        row_int(&row, iteration->start_ns);
        row_int(&row, iteration->duration_ns);
        st = row_write(&row, &writer->db, err);
    }
    writer->n_iterations = n;
    if (n > 0)
        writer->last_iteration = run_iteration(run, n - 1)->index;
    return st;
}

/* ---- kept samples ----------------------------------------------------- */

static int bind_kept(sqlite3_stmt *stmt, int at,
                     const struct bulk_source *source, size_t i)
{
    struct bulk_source one = {.items = run_kept(source->items, i),
                              .is_extended = source->is_extended};

    return bulk_bind_sample(stmt, at, &one, 0);
}

/* They are few and change rarely, but nothing says when: a hash of what was
 * written tells whether it still is the beginning of what there is. */
static enum assay_status write_kept(struct store_writer *writer,
                                    const struct run *run, struct error *err)
{
    struct bulk_source source = {.items = run, .bind = bind_kept};
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

enum assay_status checkpoint_write(struct store_writer *writer,
                                   const struct run *run, bool is_complete,
                                   struct error *err)
{
    enum assay_status st = write_meta(writer, run, is_complete, err);

    if (!st)
        st = write_health(writer, run, err);
    if (!st)
        st = write_facts(writer, run, err);
    if (!st)
        st = write_scopes(writer, run, err);
    if (!st)
        st = write_phases(writer, run, err);
    if (!st)
        st = write_threads(writer, run, err);
    if (!st)
        st = write_work(writer, run, err);
    if (!st)
        st = write_texts(writer, run, err);
    if (!st)
        st = write_iterations(writer, run, err);
    if (!st)
        st = cells_write(writer, run, err);
    if (!st)
        st = write_kept(writer, run, err);
    if (!st)
        st = counters_write(writer, run, err);
    if (!st)
        st = series_write(writer, run, err);
    if (!st)
        st = ledger_write(writer, run, err);
    if (!st)
        st = spaces_write(writer, run, err);
    return st;
}

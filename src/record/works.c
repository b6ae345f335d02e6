/* record/works.c - work, from the call that reports it to the run; see
 * assay/work.h.
 *
 * A record of work has the name of its texts, its scope in place of the
 * iteration, and four numbers: macs, flops, bytes read, bytes written. What was
 * executed and kept comes in a record of its own, and so do the number of
 * parameters and the scope that another one is fused into. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>

/* Added to the number of the scope. */
#define WORK_IN_WARM_UP (UINT32_C(1) << NAME_BITS)
#define WORK_OUTSIDE    (UINT32_C(2) << NAME_BITS)

enum { max_texts = 1 << 16 };

/* ---- reporting ----------------------------------------------------------- */

static atomic_uint n_texts;
static atomic_ullong n_left_out;

uint64_t works_texts_left_out(void)
{
    return atomic_load(&n_left_out);
}

static bool works_value_is_possible(double value)
{
    return value >= 0 && value <= 1e300; /* false for NaN */
}

static bool works_is_possible(const struct assay_work *work)
{
    return works_value_is_possible(work->macs) &&
           works_value_is_possible(work->flops) &&
           works_value_is_possible(work->bytes_read) &&
           works_value_is_possible(work->bytes_written) &&
           works_value_is_possible(work->done_flops) &&
           works_value_is_possible(work->done_bytes) &&
           works_value_is_possible(work->kept_bytes) &&
           works_value_is_possible(work->parameters);
}

/* The name of the texts. It counts as new if the number of names changed, which
 * another thread may have caused: the count need not be exact. */
static uint32_t works_text(struct thread_buffer *buffer,
                           const struct assay_work *work)
{
    uint32_t before, name;

    if (!work->shapes && !work->kernel)
        return NAME_WORK;
    if (atomic_load_explicit(&n_texts, memory_order_relaxed) >= max_texts) {
        counter_increment(&n_left_out);
        return NAME_WORK;
    }
    before = names_count();
    name =
        thread_buffer_name(buffer, NAME_WORK, work->shapes ? work->shapes : "",
                           work->kernel ? work->kernel : "");
    if (names_count() != before)
        atomic_fetch_add_explicit(&n_texts, 1, memory_order_relaxed);
    return name == NAME_NONE ? NAME_WORK : name;
}

static uint32_t works_scope(uint32_t scope)
{
    uint32_t iteration = spans_iteration();

    if (iteration == ITERATION_WARM_UP)
        return scope | WORK_IN_WARM_UP;
    return iteration == RUN_NONE ? scope | WORK_OUTSIDE : scope;
}

static void works_report(struct thread_buffer *buffer, uint32_t scope,
                         const struct assay_work *work)
{
    if (!scope_is_there(scope) || !work || !works_is_possible(work)) {
        counter_increment(&buffer->n_lost);
        return;
    }
    spans_put(
        buffer,
        (struct record){.start = record_bits(work->macs),
                        .end = record_bits(work->flops),
                        .bytes = (int64_t)record_bits(work->bytes_read),
                        .peak_bytes = (int64_t)record_bits(work->bytes_written),
                        .name = works_text(buffer, work),
                        .iteration = works_scope(scope)});
    if (work->done_flops > 0 || work->done_bytes > 0 || work->kept_bytes > 0)
        spans_put(buffer, (struct record){
                              .start = record_bits(work->done_flops),
                              .end = record_bits(work->done_bytes),
                              .bytes = (int64_t)record_bits(work->kept_bytes),
                              .name = NAME_DONE,
                              .iteration = works_scope(scope)});
    if (work->parameters > 0)
        spans_put(buffer,
                  (struct record){.start = record_bits(work->parameters),
                                  .name = NAME_PARAMETERS,
                                  .iteration = scope});
}

void assay_work_(const struct assay_work *work)
{
    struct thread_buffer *buffer = spans_buffer();

    if (buffer)
        works_report(buffer, thread_buffer_scope(buffer), work);
}

void assay_scope_work_(assay_scope_t scope, const struct assay_work *work)
{
    struct thread_buffer *buffer = spans_buffer();

    if (buffer)
        works_report(buffer, scope, work);
}

void assay_fused_(assay_scope_t scope, assay_scope_t into)
{
    struct thread_buffer *buffer = spans_buffer();

    if (!buffer)
        return;
    if (!scope_is_there(scope) || !scope_is_there(into) || scope == into) {
        counter_increment(&buffer->n_lost);
        return;
    }
    spans_put(
        buffer,
        (struct record){.start = into, .name = NAME_FUSED, .iteration = scope});
}

/* ---- adding up ----------------------------------------------------------- */

void works_release(struct works *works)
{
    mem_free(works->items);
    *works = (struct works){0};
}

/* The entry of a scope; NULL if memory runs out. */
static struct scope_works *works_of(struct works *works, uint32_t scope)
{
    if (!vec_grow(&works->items, &works->capacity, (size_t)scope + 1,
                  sizeof *works->items))
        return NULL;
    while (works->n <= scope)
        works->items[works->n++] = (struct scope_works){.done_by = RUN_NONE};
    return &works->items[scope];
}

static void works_sum_add(struct work_sum *sum, const struct record *record)
{
    if (record->name == NAME_DONE) {
        sum->n_done++;
        sum->done_flops += record_double(record->start);
        sum->done_bytes += record_double(record->end);
        sum->kept_bytes += record_double((uint64_t)record->bytes);
        return;
    }
    sum->n++;
    sum->macs += record_double(record->start);
    sum->flops += record_double(record->end);
    sum->read_bytes += record_double((uint64_t)record->bytes);
    sum->write_bytes += record_double((uint64_t)record->peak_bytes);
}

/* Into the run at once, so that it refuses what would go in circles. */
static void works_fuse(struct recording *recording, uint32_t scope,
                       uint32_t into)
{
    struct scope_work work = scope_work_unknown();
    struct error err = {0};

    work.done_by = recording_id(recording, names_at(into));
    if (work.done_by == RUN_NONE ||
        !run_can_be_done_by(recording->run, scope, work.done_by)) {
        recording->ended.lost_spans++;
        return;
    }
    recording->works.items[scope].done_by = work.done_by;
    recording_fail(recording, run_work_set(recording->run, scope, &work, &err),
                   &err);
}

void works_add(struct recording *recording, const struct record *record,
               const struct name *name)
{
    uint32_t number = record->iteration & ((UINT32_C(1) << NAME_BITS) - 1);
    uint32_t scope = recording_id(recording, names_at(number));
    struct scope_works *works =
        scope == RUN_NONE ? NULL : works_of(&recording->works, scope);

    if (!works) {
        recording->ended.lost_spans++;
        return;
    }
    if (name->number == NAME_PARAMETERS) {
        works->parameters = record_double(record->start);
        return;
    }
    if (name->number == NAME_FUSED) {
        works_fuse(recording, scope, (uint32_t)record->start);
        return;
    }
    if (name->number >= NAMES_GIVEN)
        works->text = name;
    if (record->iteration & WORK_IN_WARM_UP)
        return;
    works_sum_add(record->iteration & WORK_OUTSIDE ? &works->outside
                                                   : &works->inside,
                  record);
}

static double works_mean(double sum, double n)
{
    return sum > 0 && n > 0 ? sum / n : NAN;
}

/* The mean per iteration or, if all work was reported outside iterations, per
 * call. */
static struct scope_work works_mean_work(const struct scope_works *works,
                                         double n_iterations)
{
    const struct work_sum *sum =
        works->inside.n > 0 ? &works->inside : &works->outside;
    double n = works->inside.n > 0 ? n_iterations : sum->n;
    struct scope_work work = scope_work_unknown();

    work.macs = works_mean(sum->macs, n);
    work.flops = works_mean(sum->flops, n);
    work.read_bytes = works_mean(sum->read_bytes, n);
    work.write_bytes = works_mean(sum->write_bytes, n);
    if (n > 0 &&
        sum->read_bytes + sum->write_bytes > 0) { /* the rest is known too */
        work.macs = sum->macs / n;
        work.flops = sum->flops / n;
    }
    if (n > 0 && sum->n_done > 0) {
        work.done_flops = sum->done_flops / n;
        work.done_bytes = sum->done_bytes / n;
        work.kept_bytes = works_mean(sum->kept_bytes, n);
    }
    work.done_by = works->done_by;
    work.parameters = works->parameters > 0 ? works->parameters : NAN;
    return work;
}

static bool works_has_any(const struct scope_works *works)
{
    return works->inside.n > 0 || works->outside.n > 0 ||
           works->parameters > 0 || works->done_by != RUN_NONE;
}

void works_bring_up(struct recording *recording)
{
    double n = (double)run_iteration_count(recording->run);
    struct error err = {0};
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < recording->works.n; i++) {
        const struct scope_works *works = &recording->works.items[i];
        struct scope_work work = works_mean_work(works, n);

        if (works_has_any(works))
            st = run_work_set(recording->run, i, &work, &err);
        if (!st && works->text)
            st = run_text_set(
                recording->run, i,
                &(struct scope_text){works->text->text, works->text->detail},
                &err);
    }
    recording_fail(recording, st, &err);
}

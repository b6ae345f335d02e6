/* record/works.c - work, from the call that tells it to the run; see
 * assay/work.h and works.h.
 *
 * A record of work has the name of its texts, its scope as the iteration, and
 * four numbers: macs, flops, bytes read, bytes written. How many parameters a
 * scope has comes in a record of its own. */
#include "record/works.h"

#include "base/mem.h"
#include "base/vec.h"
#include "record/record_internal.h"

#include <math.h>
#include <string.h>

/* Beside the number of the scope. */
#define WORK_IN_WARM_UP (UINT32_C(1) << NAME_BITS)
#define WORK_OUTSIDE    (UINT32_C(2) << NAME_BITS)

enum { max_texts = 1 << 16 };

/* ---- telling ------------------------------------------------------------- */

static atomic_uint n_texts;
static atomic_ullong n_left_out;

uint64_t works_texts_left_out(void)
{
    return atomic_load(&n_left_out);
}

static uint64_t work_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double work_value(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool value_is_possible(double value)
{
    return value >= 0 && value <= 1e300; /* false for NaN */
}

static bool work_is_possible(const struct assay_work *work)
{
    return value_is_possible(work->macs) && value_is_possible(work->flops) &&
           value_is_possible(work->bytes_read) &&
           value_is_possible(work->bytes_written) &&
           value_is_possible(work->parameters);
}

/* The name of the texts. Whether it is new is told by the number of names, to
 * which another thread may have added: the count is a limit, not a figure. */
static uint32_t text_name(struct thread_buffer *buffer,
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

static uint32_t scope_and_iteration(uint32_t scope)
{
    uint32_t iteration = spans_iteration();

    if (iteration == ITERATION_WARM_UP)
        return scope | WORK_IN_WARM_UP;
    return iteration == RUN_NONE ? scope | WORK_OUTSIDE : scope;
}

static void tell_work(struct thread_buffer *buffer, uint32_t scope,
                      const struct assay_work *work)
{
    if (!scope_is_there(scope) || !work || !work_is_possible(work)) {
        counter_increment(&buffer->n_lost);
        return;
    }
    spans_put(buffer, (struct record){
                          .start = work_bits(work->macs),
                          .end = work_bits(work->flops),
                          .bytes = (int64_t)work_bits(work->bytes_read),
                          .peak_bytes = (int64_t)work_bits(work->bytes_written),
                          .name = text_name(buffer, work),
                          .iteration = scope_and_iteration(scope)});
    if (work->parameters > 0)
        spans_put(buffer, (struct record){.start = work_bits(work->parameters),
                                          .name = NAME_PARAMETERS,
                                          .iteration = scope});
}

void assay_work_(const struct assay_work *work)
{
    struct thread_buffer *buffer = spans_buffer();

    if (buffer)
        tell_work(buffer, thread_buffer_scope(buffer), work);
}

void assay_scope_work_(assay_scope_t scope, const struct assay_work *work)
{
    struct thread_buffer *buffer = spans_buffer();

    if (buffer)
        tell_work(buffer, scope, work);
}

/* ---- adding up ----------------------------------------------------------- */

void works_release(struct works *works)
{
    mem_free(works->items);
    *works = (struct works){0};
}

/* The place of a scope; NULL without memory. */
static struct scope_works *works_of(struct works *works, uint32_t scope)
{
    struct scope_works *moved = vec_reserve(works->items, &works->capacity,
                                            (size_t)scope + 1, sizeof *moved);

    if (!moved)
        return NULL;
    works->items = moved;
    while (works->n <= scope)
        works->items[works->n++] = (struct scope_works){0};
    return &works->items[scope];
}

static void sum_add(struct work_sum *sum, const struct record *record)
{
    sum->n++;
    sum->macs += work_value(record->start);
    sum->flops += work_value(record->end);
    sum->read_bytes += work_value((uint64_t)record->bytes);
    sum->write_bytes += work_value((uint64_t)record->peak_bytes);
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
        works->parameters = work_value(record->start);
        return;
    }
    if (record->iteration & WORK_IN_WARM_UP)
        return;
    if (name->number != NAME_WORK)
        works->text = name;
    sum_add(record->iteration & WORK_OUTSIDE ? &works->outside : &works->inside,
            record);
}

static double known_mean(double sum, double n)
{
    return sum > 0 && n > 0 ? sum / n : NAN;
}

/* The mean over iterations; of what was told outside of them only, over
 * calls. */
static struct scope_work mean_work(const struct scope_works *works,
                                   double n_iterations)
{
    const struct work_sum *sum =
        works->inside.n > 0 ? &works->inside : &works->outside;
    double n = works->inside.n > 0 ? n_iterations : sum->n;
    struct scope_work work = scope_work_unknown();

    work.macs = known_mean(sum->macs, n);
    work.flops = known_mean(sum->flops, n);
    work.read_bytes = known_mean(sum->read_bytes, n);
    work.write_bytes = known_mean(sum->write_bytes, n);
    work.parameters = works->parameters > 0 ? works->parameters : NAN;
    return work;
}

static bool has_work(const struct scope_works *works)
{
    return works->inside.n > 0 || works->outside.n > 0 || works->parameters > 0;
}

void works_bring_up(struct recording *recording)
{
    double n = (double)run_iteration_count(recording->run);
    struct error err = {0};
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < recording->works.n; i++) {
        const struct scope_works *works = &recording->works.items[i];
        struct scope_work work = mean_work(works, n);

        if (has_work(works))
            st = run_work_set(recording->run, i, &work, &err);
        if (!st && works->text)
            st = run_text_set(
                recording->run, i,
                &(struct scope_text){works->text->text, works->text->detail},
                &err);
    }
    recording_fail(recording, st, &err);
}

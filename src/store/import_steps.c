/* store/import_steps.c - iterations, and which spans to keep in full. */
#include "store/import_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int step_compare(const void *left, const void *right)
{
    const struct step *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

void import_settle_steps(struct import *import)
{
    const struct lane *lanes = import->tables.lanes;
    struct step *steps = import->steps;
    size_t n = 0;

    if (import->n_steps > 1)
        qsort(steps, import->n_steps, sizeof *steps, step_compare);
    for (size_t i = 0; i < import->n_steps; i++) {
        if (lanes[steps[i].lane].kind != THREAD_CPU)
            continue;
        if (n > 0 && (steps[i].lane != steps[0].lane ||
                      steps[i].start_ns < steps[n - 1].end_ns ||
                      steps[i].start_ns == steps[n - 1].start_ns))
            continue;
        steps[n++] = steps[i];
    }
    import->n_steps = n;
}

/* The last step that starts at or before this time; n_steps: none. */
static size_t step_at(const struct import *import, int64_t time_ns)
{
    size_t low = 0, high = import->n_steps;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (import->steps[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : import->n_steps;
}

uint32_t import_iteration(const struct import *import, int64_t start_ns,
                          int64_t end_ns)
{
    size_t at = step_at(import, end_ns);

    /* A span that ends just as an iteration begins is of the one before. */
    if (at < import->n_steps && import->steps[at].start_ns == end_ns &&
        start_ns < end_ns)
        at = at > 0 ? at - 1 : import->n_steps;
    if (at == import->n_steps || end_ns > import->steps[at].end_ns)
        return RUN_NONE;
    return (uint32_t)at;
}

int64_t import_next_bound(const struct import *import, int64_t time_ns)
{
    size_t at = step_at(import, time_ns);

    if (at < import->n_steps && import->steps[at].end_ns > time_ns)
        return import->steps[at].end_ns;
    at = at == import->n_steps ? 0 : at + 1;
    return at < import->n_steps ? import->steps[at].start_ns : INT64_MAX;
}

uint32_t import_step_index(const struct import *import, uint32_t lane,
                           int64_t start_ns, int64_t duration_ns)
{
    size_t at = step_at(import, start_ns);

    if (at == import->n_steps || import->steps[at].lane != lane ||
        import->steps[at].start_ns != start_ns ||
        import->steps[at].end_ns != start_ns + duration_ns)
        return RUN_NONE;
    return (uint32_t)at;
}

/* ---- the earliest starts ---------------------------------------------- */

static void earliest_sift_down(int64_t *heap, size_t n, int64_t value)
{
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= n)
            break;
        if (child + 1 < n && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

void import_see_start(struct import *import, int64_t start_ns)
{
    struct earliest *earliest = &import->earliest;
    size_t at;

    if (earliest->n == IMPORT_MAX_KEPT) {
        if (start_ns < earliest->starts[0])
            earliest_sift_down(earliest->starts, earliest->n, start_ns);
        return;
    }
    at = earliest->n++;
    while (at > 0 && earliest->starts[(at - 1) / 2] < start_ns) {
        earliest->starts[at] = earliest->starts[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    earliest->starts[at] = start_ns;
}

/* ---- keeping ---------------------------------------------------------- */

struct timed {
    int64_t duration_ns;
    uint32_t index;
};

static int timed_compare(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;

    if (a->duration_ns != b->duration_ns)
        return a->duration_ns < b->duration_ns ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void keeper_choose(struct keeper *keeper, uint32_t iteration)
{
    for (size_t i = 0; i < keeper->n_iterations; i++) {
        if (keeper->iterations[i] == iteration)
            return;
    }
    keeper->iterations[keeper->n_iterations++] = iteration;
}

enum assay_status keeper_init(struct keeper *keeper,
                              const struct import *import, struct error *err)
{
    size_t n = import->n_steps;
    struct timed *order;

    *keeper = (struct keeper){
        .keeps_all = import->keep == IMPORT_KEEP_ALL ||
                     (import->keep == IMPORT_KEEP_MOST &&
                      import->n_spans <= IMPORT_MOST_KEPT),
    };
    if (import->earliest.n > 0)
        keeper->until_ns = import->earliest.starts[0] - import->first_ns;
    if (n == 0)
        return ASSAY_OK;
    order = mem_array(n, sizeof *order);
    if (!order)
        return error_nomem(err, n * sizeof *order, "choosing iterations");
    for (size_t i = 0; i < n; i++) {
        order[i].duration_ns =
            import->steps[i].end_ns - import->steps[i].start_ns;
        order[i].index = (uint32_t)i;
    }
    qsort(order, n, sizeof *order, timed_compare);
    keeper_choose(keeper, 0);
    keeper_choose(keeper, order[(n - 1) / 2].index);
    keeper_choose(keeper, order[n - 1].index);
    keeper_choose(keeper, (uint32_t)n - 1);
    mem_free(order);
    return ASSAY_OK;
}

bool keeper_takes(struct keeper *keeper, const struct sample *sample)
{
    if (keeper->keeps_all)
        return true;
    if (keeper->n_iterations == 0)
        return sample->start_ns <= keeper->until_ns &&
               keeper->n_kept[0]++ < IMPORT_MAX_KEPT;
    for (size_t i = 0; i < keeper->n_iterations; i++) {
        if (keeper->iterations[i] == sample->iteration)
            return sample->scope == RUN_ROOT ||
                   keeper->n_kept[i]++ < IMPORT_MAX_KEPT;
    }
    return false;
}

/* store/import_threads.c - turns the threads of a trace into threads of the
 * run. */
#include "store/import_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *process_device(const struct process *process)
{
    const char *labels = process->labels;

    return labels && (strncmp(labels, "GPU", 3) == 0 ||
                      strncmp(labels, "XPU", 3) == 0)
               ? labels
               : NULL;
}

static const struct process *lane_process(const struct import *import,
                                          const struct lane *lane)
{
    return &import->tables.processes[lane->process];
}

static enum assay_status lane_append_device(const struct process *process,
                                            struct str *name)
{
    const char *device = process_device(process);

    return device ? str_append(name, device)
                  : str_printf(name, "GPU %s", process->pid);
}

/* The process is worth naming only if several share a trace. */
static enum assay_status lane_append_process(const struct import *import,
                                             const struct lane *lane,
                                             struct str *name)
{
    const struct process *process = lane_process(import, lane);
    size_t n_with_spans = 0;

    for (size_t i = 0; i < import->tables.n_processes; i++) {
        const struct process *other = &import->tables.processes[i];

        n_with_spans += other->has_spans && !process_device(other);
    }
    if (n_with_spans < 2)
        return ASSAY_OK;
    return str_printf(name,
                      "%s %s: ", process->name ? process->name : "process",
                      process->pid);
}

static bool lane_is_number(const char *text)
{
    return *text && strspn(text, "-0123456789") == strlen(text);
}

enum assay_status import_lane_name(const struct import *import,
                                   const struct lane *lane, struct str *name)
{
    const char *given = lane->name ? lane->name : lane->tid;
    enum assay_status st;
    size_t n = strlen(given);

    if (lane->kind == THREAD_DEVICE) {
        st = lane_append_device(lane_process(import, lane), name);
        if (!st)
            st = str_append_char(name, ' ');
    } else {
        st = lane_append_process(import, lane, name);
    }
    if (!st && lane->kind == THREAD_ASYNC)
        st = str_append(name, "async ");
    else if (!st && !lane->name && lane_is_number(given))
        st = str_append(name,
                        lane->kind == THREAD_DEVICE ? "stream " : "thread ");
    while (n > 0 && given[n - 1] == ' ') /* Kineto writes "stream 7 " */
        n--;
    return st ? st : str_append_n(name, given, n);
}

/* ---- order ------------------------------------------------------------ */

struct ranked {
    const struct import *import;
    uint32_t lane;
};

static int ranked_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Host before device before asynchronous; then as the trace asks. */
static int ranked_compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    const struct lane *first = &a->import->tables.lanes[a->lane];
    const struct lane *second = &b->import->tables.lanes[b->lane];
    int order = ranked_order((int64_t)first->kind, (int64_t)second->kind);

    if (!order)
        order = ranked_order(lane_process(a->import, first)->sort_index,
                             lane_process(b->import, second)->sort_index);
    if (!order)
        order = ranked_order(first->process, second->process);
    if (!order)
        order = ranked_order(first->sort_index, second->sort_index);
    return order ? order : ranked_order(a->lane, b->lane);
}

static enum assay_status lane_make_thread(struct import *import,
                                          struct lane *lane, struct str *name,
                                          struct error *err)
{
    enum assay_status st;

    str_clear(name);
    if (import_lane_name(import, lane, name))
        return error_nomem(err, name->capacity, "the name of a thread");
    st = run_thread_add(import->run, str_text(name), lane->kind, &lane->thread,
                        err);
    lane->scope = RUN_ROOT;
    if (st || lane->kind != THREAD_DEVICE)
        return st;
    str_clear(name);
    if (lane_append_device(lane_process(import, lane), name))
        return error_nomem(err, name->capacity, "the name of a device");
    return run_scope_add(import->run, RUN_ROOT, str_text(name), "device",
                         &lane->scope, err);
}

/* Collects the lanes with spans. */
static size_t lanes_rank(struct import *import, struct ranked *order)
{
    size_t n = 0;

    for (size_t i = 0; i < import->tables.n_lanes; i++) {
        struct lane *lane = &import->tables.lanes[i];

        if (lane->n_spans == 0)
            continue;
        if (lane->kind == THREAD_CPU &&
            process_device(lane_process(import, lane)))
            lane->kind = THREAD_DEVICE;
        if (lane->kind != THREAD_DEVICE)
            import->tables.processes[lane->process].has_spans = true;
        order[n++] = (struct ranked){import, (uint32_t)i};
    }
    qsort(order, n, sizeof *order, ranked_compare);
    return n;
}

enum assay_status import_make_threads(struct import *import, struct error *err)
{
    struct ranked *order = mem_array(import->tables.n_lanes, sizeof *order);
    struct str name = {0};
    enum assay_status st = ASSAY_OK;
    size_t n;

    if (!order)
        return error_nomem(err, import->tables.n_lanes * sizeof *order,
                           "the threads of a trace");
    n = lanes_rank(import, order);
    for (size_t i = 0; !st && i < n; i++)
        st = lane_make_thread(import, &import->tables.lanes[order[i].lane],
                              &name, err);
    str_release(&name);
    mem_free(order);
    return st;
}

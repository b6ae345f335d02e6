/* store/import_links.c - gives what a device did to the operator that launched
 * it, and finds when a device was busy.
 *
 * Launches and what they launched meet in a sort by their correlation, so that
 * memory stays bounded however many there are. */
#include "store/import_internal.h"

#include <string.h>

/* Before everything that it launched. */
#define FIRST_OF_GROUP (-IMPORT_MAX_NS - 1)

/* Groups of the device sort: those of lanes come first. */
#define BUSY_GROUP (UINT64_C(1) << 32)

/* ---- collecting --------------------------------------------------------- */

enum assay_status import_add_device_span(struct import *import,
                                         struct event *event,
                                         bool has_correlation,
                                         uint64_t correlation,
                                         struct error *err)
{
    struct event busy = *event;
    unsigned traits = import->tables.labels[event->label].traits;
    enum assay_status st = ASSAY_OK;

    import_note_span(import, event);
    if (traits & LABEL_WORK) {
        busy.kind = EVENT_BUSY;
        busy.group = BUSY_GROUP + import->tables.lanes[event->lane].process;
        st = event_sort_add(import->device, &busy, err);
    }
    event->kind = EVENT_SPAN;
    event->group = has_correlation ? correlation : event->lane;
    if (!st)
        st = event_sort_add(has_correlation ? import->links : import->device,
                            event, err);
    return st;
}

uint64_t import_flow_group(const struct record *record)
{
    uint64_t hash = map_hash(str_text(&record->id), record->id.n);

    hash ^= map_hash(str_text(&record->name), record->name.n) * 31;
    hash ^= map_hash(str_text(&record->category), record->category.n) * 127;
    return hash | UINT64_C(1) << 63;
}

enum assay_status import_add_flow(struct import *import, bool is_end,
                                  uint32_t lane, uint64_t group,
                                  int64_t time_ns, struct error *err)
{
    struct event event = {.time_ns = time_ns, .lane = (uint16_t)lane};

    if (is_end) {
        event.kind = EVENT_FLOW_END;
        event.group = group;
        return event_sort_add(import->links, &event, err);
    }
    event.kind = EVENT_FLOW;
    event.group = lane;
    event.link = group;
    return event_sort_add(import->spans, &event, err);
}

enum assay_status import_add_launch(struct import *import, uint64_t link,
                                    uint32_t scope, int64_t time_ns,
                                    struct error *err)
{
    const struct event event = {.group = link,
                                .time_ns = FIRST_OF_GROUP,
                                .kind = EVENT_LAUNCH,
                                .label = scope,
                                .launch_ns = time_ns};

    return event_sort_add(import->links, &event, err);
}

/* ---- joining ------------------------------------------------------------ */

/* A kernel gets a scope of its own below the operator's, or below its device if
 * it was launched outside all. */
static enum assay_status links_launched(struct import *import,
                                        const struct event *launch,
                                        struct event *event, struct error *err)
{
    const struct lane *lane = &import->tables.lanes[event->lane];
    bool is_kernel =
        (import->tables.labels[event->label].traits & LABEL_KERNEL) != 0;
    uint32_t parent = launch->label;

    if (parent == RUN_ROOT ||
        run_scope(import->run, parent)->depth + 2 >= RUN_MAX_DEPTH)
        parent = lane->scope;
    else
        import->n_linked += is_kernel;
    event->kind = EVENT_LAUNCHED;
    event->launch_ns = launch->launch_ns;
    return import_scope(import, parent, event->label, &event->label, err);
}

/* Passes an event that waited on to the sort of devices. launch: NULL if the
 * host is not known to have launched it. */
static enum assay_status links_pass_on(struct import *import,
                                       const struct event *launch,
                                       struct event event, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    event.group = event.lane;
    if (event.kind == EVENT_FLOW_END) {
        if (!launch || import->tables.lanes[event.lane].n_spans == 0 ||
            import->tables.lanes[event.lane].kind != THREAD_DEVICE)
            return ASSAY_OK;
        event.duration_ns = INT64_MAX; /* before the span it leads to */
        event.label = launch->label;
        event.launch_ns = launch->launch_ns;
    } else if (launch) {
        st = links_launched(import, launch, &event, err);
    }
    return st ? st : event_sort_add(import->device, &event, err);
}

enum assay_status import_join_links(struct import *import, struct error *err)
{
    struct event launch = {0};
    const struct event *event;
    bool has_launch = false;
    enum assay_status st = event_sort_finish(import->links, err);

    while (!st) {
        st = event_sort_next(import->links, &event, err);
        if (st || !event)
            break;
        if (event->kind == EVENT_LAUNCH) {
            if (!has_launch || launch.group != event->group)
                launch = *event;
            has_launch = true;
        } else {
            bool is_its = has_launch && launch.group == event->group;

            st = links_pass_on(import, is_its ? &launch : NULL, *event, err);
        }
    }
    return st ? st : event_sort_finish(import->device, err);
}

/* ---- busy --------------------------------------------------------------- */

/* Counts a stretch, cut where iterations begin and end, so that none is busy
 * for longer than it lasts. */
static enum assay_status busy_count(struct import *import,
                                    const struct busy *busy, struct error *err)
{
    int64_t at_ns = busy->start_ns;
    enum assay_status st = ASSAY_OK;

    while (!st && at_ns < busy->end_ns) {
        int64_t end_ns = import_next_bound(import, at_ns);
        struct sample sample = {.scope = busy->scope,
                                .thread = busy->thread,
                                .start_ns = at_ns - import->first_ns,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        if (end_ns > busy->end_ns)
            end_ns = busy->end_ns;
        sample.duration_ns = sample.self_ns = end_ns - at_ns;
        sample.iteration = import_iteration(import, at_ns, end_ns);
        st = run_count(import->run, &sample, err);
        at_ns = end_ns;
    }
    return st;
}

/* Begins with the first stretch of a device. */
static enum assay_status busy_begin(struct import *import, struct busy *busy,
                                    const struct event *event,
                                    struct error *err)
{
    const struct lane *lane = &import->tables.lanes[event->lane];
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    *busy = (struct busy){.process = lane->process,
                          .scope = lane->scope,
                          .start_ns = event->time_ns,
                          .end_ns = event->time_ns,
                          .is_open = true};
    if (str_printf(&name, "%s busy", run_scope(import->run, lane->scope)->name))
        st = error_nomem(err, name.capacity, "the name of a device");
    if (!st)
        st = run_thread_add(import->run, name.text, THREAD_ASYNC, &busy->thread,
                            err);
    str_release(&name);
    return st;
}

enum assay_status import_end_busy(struct import *import, struct busy *busy,
                                  struct error *err)
{
    enum assay_status st =
        busy->is_open ? busy_count(import, busy, err) : ASSAY_OK;

    busy->is_open = false;
    return st;
}

enum assay_status import_take_busy(struct import *import, struct busy *busy,
                                   const struct event *event, struct error *err)
{
    int64_t end_ns = event->time_ns + event->duration_ns;
    enum assay_status st = ASSAY_OK;

    if (busy->is_open &&
        busy->process != import->tables.lanes[event->lane].process)
        st = import_end_busy(import, busy, err);
    if (!st && !busy->is_open)
        st = busy_begin(import, busy, event, err);
    if (st)
        return st;
    if (event->time_ns > busy->end_ns) {
        st = busy_count(import, busy, err);
        busy->start_ns = event->time_ns;
    }
    if (end_ns > busy->end_ns)
        busy->end_ns = end_ns;
    return st;
}

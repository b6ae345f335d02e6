/* store/import_events.c - reads the events, in file order. */
#include "store/import_internal.h"

#include <string.h>

struct event_reader {
    struct import *import;
    struct json_reader *json;
    struct record record;
    uint64_t sequence;
};

static enum assay_status events_nomem(struct error *err)
{
    return error_nomem(err, sizeof(struct record), "reading an event");
}

/* ---- kinds of events --------------------------------------------------- */

static enum assay_status events_lane(struct event_reader *reader,
                                     enum thread_kind kind, uint32_t *id,
                                     struct error *err)
{
    const struct record *record = &reader->record;

    return tables_lane(&reader->import->tables, &record->pid,
                       kind == THREAD_ASYNC ? &record->category : &record->tid,
                       kind, id, err);
}

static void events_note_time(struct import *import, uint32_t lane,
                             int64_t time_ns)
{
    if (import->tables.lanes[lane].last_ns < time_ns)
        import->tables.lanes[lane].last_ns = time_ns;
}

static void events_count_label(struct import *import, unsigned traits,
                               int64_t duration_ns)
{
    if (traits & LABEL_OPERATOR)
        import->n_operators++;
    if (!(traits & LABEL_KERNEL))
        return;
    import->n_kernels++;
    if (__builtin_add_overflow(import->kernels_ns, duration_ns,
                               &import->kernels_ns))
        import->kernels_ns = INT64_MAX;
}

/* Adds the span of an event to the host's or the devices'. */
static enum assay_status events_add_span(struct event_reader *reader,
                                         uint32_t lane, uint32_t label,
                                         struct error *err)
{
    const struct record *record = &reader->record;
    struct import *import = reader->import;
    struct event event = {.time_ns = record->time_ns,
                          .duration_ns = record->duration_ns,
                          .sequence = reader->sequence,
                          .kind = EVENT_SPAN,
                          .lane = (uint16_t)lane,
                          .label = label};

    if (import->tables.labels[label].traits & LABEL_DEVICE)
        return import_add_device_span(import, &event, record->has_correlation,
                                      record->correlation, err);
    if (record->has_correlation) {
        event.kind = EVENT_LAUNCH;
        event.link = record->correlation;
    }
    return import_add_span(import, &event, err);
}

static enum assay_status events_take_complete(struct event_reader *reader,
                                              struct error *err)
{
    struct record *record = &reader->record;
    struct import *import = reader->import;
    uint32_t label, lane;
    enum assay_status st;
    unsigned traits;

    if (record->time_ns + record->duration_ns > IMPORT_MAX_NS)
        return record_refuse(reader->json,
                             "an event that ends too far in the future", err);
    st = tables_label(&import->tables, &record->name, &record->category, &label,
                      err);
    if (st)
        return st;
    traits = import->tables.labels[label].traits;
    events_count_label(import, traits, record->duration_ns);
    if (traits & LABEL_FRAME)
        return ASSAY_OK;
    st = events_lane(reader, THREAD_CPU, &lane, err);
    if (st)
        return st;
    if (traits & LABEL_DEVICE)
        import->tables.lanes[lane].kind = THREAD_DEVICE;
    events_note_time(import, lane, record->time_ns + record->duration_ns);
    return events_add_span(reader, lane, label, err);
}

/* An arrow from where the host is to what begins on a device then; other arrows
 * lead nowhere. */
static enum assay_status events_take_flow(struct event_reader *reader,
                                          struct error *err)
{
    const struct record *record = &reader->record;
    uint32_t lane;
    enum assay_status st;

    if (!record->has_time || record->id.n == 0)
        return ASSAY_OK;
    st = events_lane(reader, THREAD_CPU, &lane, err);
    return st ? st
              : import_add_flow(reader->import, record->phase == 'f', lane,
                                import_flow_group(record), record->time_ns,
                                err);
}

/* Distinct from the numbers of the lanes, which are the groups of other
 * events. */
static uint64_t events_async_group(uint32_t lane, const struct str *id)
{
    uint64_t hash = map_hash(str_text(id), id->n);

    return (hash ^ lane * UINT64_C(0x9e3779b97f4a7c15)) | UINT64_C(1) << 63;
}

/* A begin or end goes into the sort of pairs, by thread or, if it is
 * asynchronous, by the id that both have. */
static enum assay_status events_take_half(struct event_reader *reader,
                                          enum event_kind kind, bool is_async,
                                          struct error *err)
{
    struct record *record = &reader->record;
    struct import *import = reader->import;
    struct event event = {.time_ns = record->time_ns,
                          .sequence = reader->sequence,
                          .kind = (uint16_t)kind};
    uint32_t lane;
    enum assay_status st;

    st = tables_label(&import->tables, &record->name, &record->category,
                      &event.label, err);
    if (!st)
        st = events_lane(reader, is_async ? THREAD_ASYNC : THREAD_CPU, &lane,
                         err);
    if (st)
        return st;
    event.lane = (uint16_t)lane;
    events_note_time(import, lane, record->time_ns);
    event.group = is_async ? events_async_group(lane, &record->id) : lane;
    return event_sort_add(import->pairs, &event, err);
}

static enum assay_status events_counter(struct event_reader *reader,
                                        const char *series, uint32_t *id,
                                        struct error *err)
{
    struct import_tables *tables = &reader->import->tables;
    const struct record *record = &reader->record;
    struct str *key = &tables->key;
    enum assay_status st;
    uint64_t found;

    str_clear(key);
    st = str_append(key, str_text(&record->name));
    if (!st && record->id.n > 0)
        st = str_printf(key, "[%s]", str_text(&record->id));
    if (!st)
        st = str_printf(key, ".%s", series);
    if (st)
        return events_nomem(err);
    if (map_find(&tables->counter_map, key->text, key->n, &found)) {
        *id = (uint32_t)found;
        return ASSAY_OK;
    }
    if (tables->n_counters == IMPORT_MAX_COUNTERS)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "more than %d counters, the limit of a run",
                         IMPORT_MAX_COUNTERS);
    st = run_counter_add(reader->import->run, key->text, "", id, err);
    if (!st && map_put(&tables->counter_map, key->text, key->n, *id))
        st = events_nomem(err);
    if (!st)
        tables->n_counters++;
    return st;
}

/* Counters come after all lanes. */
static enum assay_status events_take_counter(struct event_reader *reader,
                                             struct error *err)
{
    const struct record *record = &reader->record;
    struct event event = {.group = UINT64_MAX,
                          .time_ns = record->time_ns,
                          .sequence = reader->sequence,
                          .kind = EVENT_COUNTER};
    enum assay_status st;

    for (size_t i = 0; i < record->n_arguments; i++) {
        const struct argument *argument = &record->arguments[i];

        if (!argument->is_number)
            continue;
        event.value = argument->number;
        st = events_counter(reader, record->texts.text + argument->key,
                            &event.label, err);
        if (!st)
            st = event_sort_add(reader->import->spans, &event, err);
        if (st)
            return st;
        import_see(reader->import, record->time_ns, record->time_ns);
    }
    return ASSAY_OK;
}

static enum assay_status events_note_text(struct event_reader *reader,
                                          const char *key, const char **text,
                                          struct error *err)
{
    const struct record *record = &reader->record;
    const struct argument *argument = record_argument(record, key);

    if (!argument)
        return ASSAY_OK;
    *text = arena_strdup(&reader->import->tables.texts,
                         record->texts.text + argument->text);
    return *text ? ASSAY_OK : events_nomem(err);
}

static void events_note_sort_index(const struct record *record,
                                   int64_t *sort_index)
{
    const struct argument *argument = record_argument(record, "sort_index");

    if (argument && argument->is_number && argument->number > -1e15 &&
        argument->number < 1e15)
        *sort_index = (int64_t)argument->number;
}

static enum assay_status events_take_metadata(struct event_reader *reader,
                                              struct error *err)
{
    struct import_tables *tables = &reader->import->tables;
    const struct record *record = &reader->record;
    const char *name = str_text(&record->name);
    enum assay_status st;
    uint32_t id;

    if (strncmp(name, "process_", 8) == 0) {
        st = tables_process(tables, &record->pid, &id, err);
        if (st)
            return st;
        if (strcmp(name, "process_name") == 0)
            return events_note_text(reader, "name", &tables->processes[id].name,
                                    err);
        if (strcmp(name, "process_labels") == 0)
            return events_note_text(reader, "labels",
                                    &tables->processes[id].labels, err);
        events_note_sort_index(record, &tables->processes[id].sort_index);
    } else if (strncmp(name, "thread_", 7) == 0) {
        st = events_lane(reader, THREAD_CPU, &id, err);
        if (st)
            return st;
        if (strcmp(name, "thread_name") == 0)
            return events_note_text(reader, "name", &tables->lanes[id].name,
                                    err);
        events_note_sort_index(record, &tables->lanes[id].sort_index);
    }
    return ASSAY_OK;
}

static enum assay_status events_take(struct event_reader *reader,
                                     struct error *err)
{
    struct record *record = &reader->record;
    struct import *import = reader->import;

    if (record->is_empty)
        return ASSAY_OK;
    if (!record->phase)
        return record_refuse(reader->json, "an event without a kind (\"ph\")",
                             err);
    import->n_events++;
    import->n_events_by_letter[(unsigned char)record->phase]++;
    if (!record->has_time && strchr("XBEbeC", record->phase))
        return record_refuse(reader->json, "an event without a time (\"ts\")",
                             err);
    switch (record->phase) {
    case 'X':
        return events_take_complete(reader, err);
    case 'B':
        return events_take_half(reader, EVENT_BEGIN, false, err);
    case 'E':
        return events_take_half(reader, EVENT_END, false, err);
    case 'b':
        return events_take_half(reader, EVENT_BEGIN, true, err);
    case 'e':
        return events_take_half(reader, EVENT_END, true, err);
    case 'C':
        return events_take_counter(reader, err);
    case 'M':
        return events_take_metadata(reader, err);
    case 's':
    case 'f':
        return events_take_flow(reader, err);
    default: /* instants, samples, objects are only counted */
        return ASSAY_OK;
    }
}

/* ---- the document ----------------------------------------------------- */

static enum assay_status events_read_one(struct event_reader *reader,
                                         struct error *err)
{
    enum assay_status st = record_read(&reader->record, reader->json, err);

    reader->sequence++;
    return st ? st : events_take(reader, err);
}

/* The format allows a bare array without its closing bracket, so that a program
 * that dies leaves a trace. */
static enum assay_status events_read_array(struct event_reader *reader,
                                           bool is_bare, struct error *err)
{
    for (;;) {
        struct error own = {0};
        enum json_token token;
        enum assay_status st = json_next(reader->json, &token, &own);

        if (st && is_bare && reader->sequence > 0 &&
            json_is_cut_off(reader->json)) {
            reader->import->is_unclosed = true;
            return ASSAY_OK;
        }
        if (st)
            return error_set(err, st, "%s", own.text);
        if (token == JSON_ARRAY_END)
            return ASSAY_OK;
        if (token != JSON_OBJECT_BEGIN)
            return record_refuse(reader->json,
                                 "expected an event, which is an object", err);
        st = events_read_one(reader, err);
        if (st)
            return st;
    }
}

static enum assay_status events_read_object(struct event_reader *reader,
                                            struct error *err)
{
    bool has_events = false;

    for (;;) {
        enum json_token token;
        enum assay_status st = json_next(reader->json, &token, err);
        const char *key;
        size_t n;

        if (st)
            return st;
        if (token == JSON_OBJECT_END)
            break;
        key = json_text(reader->json, &n);
        if (n != 11 || memcmp(key, "traceEvents", 11) != 0) {
            st = json_skip(reader->json, err);
        } else {
            has_events = true;
            st = json_next(reader->json, &token, err);
            if (!st && token != JSON_ARRAY_BEGIN)
                st = record_refuse(reader->json,
                                   "\"traceEvents\" is not an array", err);
            if (!st)
                st = events_read_array(reader, false, err);
        }
        if (st)
            return st;
    }
    if (!has_events)
        return error_set(err, ASSAY_BAD_INPUT,
                         "not a trace: this JSON has no \"traceEvents\"");
    return ASSAY_OK;
}

static enum assay_status events_read_document(struct event_reader *reader,
                                              struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader->json, &token, err);

    if (st)
        return st;
    if (token == JSON_ARRAY_BEGIN)
        st = events_read_array(reader, true, err);
    else if (token == JSON_OBJECT_BEGIN)
        st = events_read_object(reader, err);
    else
        st = error_set(err, ASSAY_BAD_INPUT,
                       "not a trace: expected an object or an array of "
                       "events");
    if (!st && !reader->import->is_unclosed)
        st = json_next(reader->json, &token, err);
    return st;
}

enum assay_status import_read_events(struct import *import,
                                     struct json_reader *json,
                                     struct error *err)
{
    struct event_reader reader = {.import = import, .json = json};
    enum assay_status st = events_read_document(&reader, err);

    record_release(&reader.record);
    return st;
}

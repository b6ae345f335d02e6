/* store/import_record.c - one event of a trace, as it is written. */
#include "store/import_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <inttypes.h>
#include <string.h>

void record_release(struct record *record)
{
    str_release(&record->name);
    str_release(&record->category);
    str_release(&record->pid);
    str_release(&record->tid);
    str_release(&record->id);
    str_release(&record->texts);
    mem_free(record->arguments);
}

static void record_clear(struct record *record)
{
    str_clear(&record->name);
    str_clear(&record->category);
    str_clear(&record->pid);
    str_clear(&record->tid);
    str_clear(&record->id);
    str_clear(&record->texts);
    record->n_arguments = 0;
    record->phase = 0;
    record->is_empty = true;
    record->has_time = record->has_correlation = false;
    record->time_ns = record->duration_ns = 0;
}

enum assay_status record_refuse(const struct json_reader *json,
                                const char *what, struct error *err)
{
    uint64_t line, column;

    json_position(json, &line, &column);
    return error_set(err, ASSAY_BAD_INPUT,
                     "line %" PRIu64 ", column %" PRIu64 ": %s", line, column,
                     what);
}

static enum assay_status record_nomem(struct error *err)
{
    return error_nomem(err, sizeof(struct record), "reading an event");
}

/* ---- the members of an event ------------------------------------------ */

/* Appends a string, or a number as written; ignores anything else. */
static enum assay_status record_append_text(struct json_reader *json,
                                            enum json_token token,
                                            struct str *text, struct error *err)
{
    const char *bytes;
    size_t n;

    if (token == JSON_OBJECT_BEGIN || token == JSON_ARRAY_BEGIN)
        return json_skip_rest(json, err);
    if (token != JSON_STRING && token != JSON_NUMBER)
        return ASSAY_OK;
    bytes = json_text(json, &n);
    if (token == JSON_STRING && memchr(bytes, '\0', n))
        return record_refuse(json, "a NUL character in a name", err);
    return str_append_n(text, bytes, n) ? record_nomem(err) : ASSAY_OK;
}

/* Microseconds with decimals, to nanoseconds. */
static enum assay_status record_take_time(struct json_reader *json,
                                          enum json_token token, int64_t *ns,
                                          struct error *err)
{
    if (token != JSON_NUMBER)
        return record_refuse(json, "a time that is not a number", err);
    if (!json_fixed(json, 3, ns) || *ns > IMPORT_MAX_NS || *ns < -IMPORT_MAX_NS)
        return record_refuse(json, "a time that is too large", err);
    return ASSAY_OK;
}

static enum assay_status record_take_duration(struct record *record,
                                              struct json_reader *json,
                                              enum json_token token,
                                              struct error *err)
{
    int64_t *duration_ns = &record->duration_ns;
    enum assay_status st = record_take_time(json, token, duration_ns, err);

    if (!st && *duration_ns < 0)
        st = record_refuse(json, "a negative duration", err);
    return st;
}

static enum assay_status record_take_phase(struct record *record,
                                           struct json_reader *json,
                                           enum json_token token,
                                           struct error *err)
{
    const char *text;
    size_t n;

    text = json_text(json, &n);
    if (token != JSON_STRING || n != 1 || text[0] <= ' ' || text[0] > '~')
        return record_refuse(json, "an event's \"ph\" that is not a letter",
                             err);
    record->phase = text[0];
    return ASSAY_OK;
}

static enum assay_status record_take_argument(struct record *record,
                                              struct json_reader *json,
                                              struct error *err)
{
    struct argument *argument;
    enum assay_status st;
    enum json_token token;

    if (!vec_grow(&record->arguments, &record->arguments_capacity,
                  record->n_arguments + 1, sizeof *record->arguments))
        return record_nomem(err);
    argument = &record->arguments[record->n_arguments];
    argument->key = record->texts.n;
    st = record_append_text(json, JSON_STRING, &record->texts, err);
    if (!st && str_append_char(&record->texts, '\0'))
        st = record_nomem(err);
    if (!st)
        st = json_next(json, &token, err);
    if (st)
        return st;
    argument->is_number = token == JSON_NUMBER;
    argument->number = argument->is_number ? json_double(json) : 0;
    argument->text = record->texts.n;
    st = record_append_text(json, token, &record->texts, err);
    if (!st && str_append_char(&record->texts, '\0'))
        st = record_nomem(err);
    record->n_arguments++;
    return st;
}

/* The number that a launch shares with what it launched. */
static enum assay_status record_take_correlation(struct record *record,
                                                 struct json_reader *json,
                                                 struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(json, &token, err);
    int64_t number;

    if (st)
        return st;
    if (token == JSON_OBJECT_BEGIN || token == JSON_ARRAY_BEGIN)
        return json_skip_rest(json, err);
    if (token == JSON_NUMBER && json_int64(json, &number) && number >= 0) {
        record->has_correlation = true;
        record->correlation = (uint64_t)number;
    }
    return ASSAY_OK;
}

static bool record_is_correlation(const struct json_reader *json)
{
    size_t n;
    const char *key = json_text(json, &n);

    return n == 11 && memcmp(key, "correlation", 11) == 0;
}

/* Of spans only the correlation matters; the arguments of metadata and counters
 * all do, and are also noted while the kind is not known yet. */
static enum assay_status record_take_arguments(struct record *record,
                                               struct json_reader *json,
                                               enum json_token token,
                                               struct error *err)
{
    char phase = record->phase;
    enum assay_status st;

    if (token != JSON_OBJECT_BEGIN && token != JSON_ARRAY_BEGIN)
        return ASSAY_OK;
    if (token == JSON_ARRAY_BEGIN || (phase && !strchr("MCX", phase)))
        return json_skip_rest(json, err);
    for (;;) {
        st = json_next(json, &token, err);
        if (st || token == JSON_OBJECT_END)
            return st;
        if (phase != 'M' && phase != 'C' && record_is_correlation(json))
            st = record_take_correlation(record, json, err);
        else if (phase == 'X')
            st = json_skip(json, err);
        else
            st = record_take_argument(record, json, err);
        if (st)
            return st;
    }
}

enum member {
    MEMBER_OTHER,
    MEMBER_PHASE,
    MEMBER_NAME,
    MEMBER_CATEGORY,
    MEMBER_PID,
    MEMBER_TID,
    MEMBER_ID,
    MEMBER_TIME,
    MEMBER_DURATION,
    MEMBER_ARGUMENTS
};

/* The keys that matter have at most four letters, so each fits in a number. */
#define KEY(a, b, c, d)                                                        \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 |                \
     (uint32_t)(d) << 24)

static enum member record_member(const char *key, size_t n)
{
    uint32_t packed = 0;

    if (n > 4)
        return MEMBER_OTHER;
    for (size_t i = 0; i < n; i++)
        packed |= (uint32_t)(unsigned char)key[i] << 8 * i;
    switch (packed) {
    case KEY('p', 'h', 0, 0):
        return MEMBER_PHASE;
    case KEY('n', 'a', 'm', 'e'):
        return MEMBER_NAME;
    case KEY('c', 'a', 't', 0):
        return MEMBER_CATEGORY;
    case KEY('p', 'i', 'd', 0):
        return MEMBER_PID;
    case KEY('t', 'i', 'd', 0):
        return MEMBER_TID;
    case KEY('i', 'd', 0, 0):
        return MEMBER_ID;
    case KEY('t', 's', 0, 0):
        return MEMBER_TIME;
    case KEY('d', 'u', 'r', 0):
        return MEMBER_DURATION;
    case KEY('a', 'r', 'g', 's'):
        return MEMBER_ARGUMENTS;
    default:
        return MEMBER_OTHER;
    }
}

static enum assay_status record_take_text(struct json_reader *json,
                                          enum json_token token,
                                          struct str *text, struct error *err)
{
    str_clear(text);
    return record_append_text(json, token, text, err);
}

static enum assay_status record_read_member(struct record *record,
                                            struct json_reader *json,
                                            struct error *err)
{
    enum assay_status st;
    enum json_token token;
    enum member member;
    const char *key;
    size_t n;

    key = json_text(json, &n);
    member = record_member(key, n);
    if (member == MEMBER_OTHER)
        return json_skip(json, err);
    st = json_next(json, &token, err);
    if (st)
        return st;
    switch (member) {
    case MEMBER_PHASE:
        return record_take_phase(record, json, token, err);
    case MEMBER_NAME:
        return record_take_text(json, token, &record->name, err);
    case MEMBER_CATEGORY:
        return record_take_text(json, token, &record->category, err);
    case MEMBER_PID:
        return record_take_text(json, token, &record->pid, err);
    case MEMBER_TID:
        return record_take_text(json, token, &record->tid, err);
    case MEMBER_ID:
        return record_take_text(json, token, &record->id, err);
    case MEMBER_TIME:
        record->has_time = true;
        return record_take_time(json, token, &record->time_ns, err);
    case MEMBER_DURATION:
        return record_take_duration(record, json, token, err);
    case MEMBER_ARGUMENTS:
        return record_take_arguments(record, json, token, err);
    case MEMBER_OTHER:
        break;
    }
    return ASSAY_OK;
}

enum assay_status record_read(struct record *record, struct json_reader *json,
                              struct error *err)
{
    enum json_token token;
    enum assay_status st;

    record_clear(record);
    for (;;) {
        st = json_next(json, &token, err);
        if (st || token == JSON_OBJECT_END)
            return st;
        record->is_empty = false;
        st = record_read_member(record, json, err);
        if (st)
            return st;
    }
}

const struct argument *record_argument(const struct record *record,
                                       const char *key)
{
    for (size_t i = 0; i < record->n_arguments; i++) {
        if (strcmp(record->texts.text + record->arguments[i].key, key) == 0)
            return &record->arguments[i];
    }
    return NULL;
}

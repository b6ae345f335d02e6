/* store/import_record.h - one event of a trace, as it is written.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_IMPORT_RECORD_H
#define STORE_IMPORT_RECORD_H

#include "base/json.h"
#include "base/str.h"

/* One thing out of an event's "args". */
struct argument {
    size_t key, text; /* where they begin in the texts */
    bool is_number;
    double number;
};

/* What one event says, until all of it is read: the members come in any
 * order. Start from {0}; the same one serves all events. */
struct record {
    struct str name, category, pid, tid, id, texts;
    struct argument *arguments; /* of metadata and counters */
    size_t n_arguments, arguments_capacity;
    char phase; /* 0 where it says none */
    bool is_empty, has_time;
    int64_t time_ns, duration_ns; /* within IMPORT_MAX_NS */
};

void record_release(struct record *record);

/* Reads the event whose { was just read. */
enum assay_status record_read(struct record *record, struct json_reader *json,
                              struct error *err);

/* The argument of this name, or NULL. */
const struct argument *record_argument(const struct record *record,
                                       const char *key);

/* ASSAY_BAD_INPUT: "line 3, column 14: what". */
enum assay_status record_refuse(const struct json_reader *json,
                                const char *what, struct error *err);

#endif

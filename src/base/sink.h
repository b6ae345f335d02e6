/* base/sink.h - where a view's bytes go: a file, a text, nowhere.
 *
 * A sink remembers the first failure: writers need not check each call, and
 * sink_status() reports it at the end. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sink {
    /* Returns false if it could not write; errno says why. */
    bool (*write)(void *context, const char *bytes, size_t n);
    void *context;
    const char *name; /* for messages: "trace.json", "standard output" */
    uint64_t written; /* bytes */
    int failed_errno; /* 0: all is well */
};

/* The caller keeps the FILE or str, which must outlive the sink. */
struct sink sink_to_file(FILE *file, const char *name);
struct sink sink_to_str(struct str *str);

void sink_write(struct sink *sink, const char *bytes, size_t n);
void sink_puts(struct sink *sink, const char *text);
void sink_repeat(struct sink *sink, const char *text, size_t times);
void sink_printf(struct sink *sink, const char *format, ...) ASSAY_PRINTF(2, 3);

enum assay_status sink_status(const struct sink *sink, struct error *err);

#endif

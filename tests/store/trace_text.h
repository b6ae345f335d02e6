/* tests/store/trace_text.h - importing a trace written in the test.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_TRACE_TEXT_H
#define TESTS_STORE_TRACE_TEXT_H

#include "store/import.h"

#include <string.h>

struct trace_text {
    const char *rest;
    size_t n;
};

static inline enum assay_status trace_text_read(void *context, char *buffer,
                                                size_t size, size_t *n,
                                                struct error *err)
{
    struct trace_text *text = context;

    (void)err;
    *n = text->n < size ? text->n : size;
    memcpy(buffer, text->rest, *n);
    text->rest += *n;
    text->n -= *n;
    return ASSAY_OK;
}

static inline enum assay_status
import_bytes(const char *bytes, size_t n, struct run **run, struct error *err)
{
    struct trace_text text = {bytes, n};
    struct json_source source = {trace_text_read, &text};

    return import_trace_from(source, NULL, run, err);
}

/* Keeps only a few spans in full. */
static inline enum assay_status import_few(const char *bytes, struct run **run,
                                           struct error *err)
{
    struct trace_text text = {bytes, strlen(bytes)};
    struct json_source source = {trace_text_read, &text};
    struct import_options options = {.keep = IMPORT_KEEP_FEW};

    return import_trace_from(source, &options, run, err);
}

static inline enum assay_status import_text(const char *text, struct run **run,
                                            struct error *err)
{
    return import_bytes(text, strlen(text), run, err);
}

/* The scope at this path, RUN_NONE if there is none. */
static inline uint32_t scope_at(const struct run *run, const char *path)
{
    uint32_t found = RUN_NONE;

    for (uint32_t i = 1; i < run_scope_count(run) && found == RUN_NONE; i++) {
        struct str own = {0};

        if (!run_scope_path(run, i, &own) && !strcmp(str_text(&own), path))
            found = i;
        str_release(&own);
    }
    return found;
}

#endif

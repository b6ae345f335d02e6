/* store/import.h - other profilers' traces become runs.
 *
 * The Chrome trace event format, as PyTorch's profiler writes it (Kineto's
 * object, the bare array of older builds), plain or gzip. Streaming: memory is
 * bounded whatever the length; events may come in any order. docs/import.md
 * says what becomes of each kind of event.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "base/json.h"
#include "base/progress.h"
#include "run/run.h"

struct import_options {
    size_t buffer_bytes; /* events held before they go to disk; 0: 128 MiB */
    const char *temporary_dir; /* NULL: TMPDIR, else /var/tmp */
    struct progress *progress; /* NULL: none */
};

/* Makes a sealed run of the trace. Beyond what the run itself holds, facts
 * tell what was read: "import.events", "import.events.X" (and each other kind
 * by its letter), "import.operators", "import.kernels", "import.kernels_us".
 * The path may be a pipe, and "-" is standard input. options may be NULL. */
enum assay_status import_trace(const char *path,
                               const struct import_options *options,
                               struct run **out, struct error *err);

/* The same from bytes that come from elsewhere, not compressed. */
enum assay_status import_trace_from(struct json_source source,
                                    const struct import_options *options,
                                    struct run **out, struct error *err);

#endif

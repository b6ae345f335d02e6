/* store/import.h - turns other profilers' traces into runs.
 *
 * Reads the Chrome trace event format as PyTorch's profiler writes it (Kineto's
 * object, or the bare array of older builds), plain or gzip. Streaming: memory
 * is bounded whatever the length, unless all spans are to be kept; events may
 * come in any order. docs/import.md says how each kind of event is used.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "base/json.h"
#include "base/progress.h"
#include "run/run.h"

/* Which spans are kept in full, in memory and in the run. */
enum import_keep {
    IMPORT_KEEP_MOST, /* all, unless there are more than IMPORT_MOST_KEPT */
    IMPORT_KEEP_ALL,
    IMPORT_KEEP_FEW /* those of a handful of iterations */
};

#define IMPORT_MOST_KEPT 4000000 /* about 300 MB */

struct import_options {
    size_t buffer_bytes; /* for events, before they go to disk; 0: 128 MiB */
    const char *temporary_dir; /* NULL: TMPDIR, else /var/tmp */
    struct progress *progress; /* NULL: none */
    enum import_keep keep;
};

/* Makes a sealed run from the trace. Facts count what was read:
 * "import.events", "import.events.X" (and each other kind by its letter),
 * "import.operators", "import.kernels", "import.kernels_us", and
 * "import.kernels_linked" for those that are under their operator. The path may
 * be a pipe, and "-" is standard input. options may be NULL. */
enum assay_status import_trace(const char *path,
                               const struct import_options *options,
                               struct run **out, struct error *err);

/* The same from any source of bytes, uncompressed. */
enum assay_status import_trace_from(struct json_source source,
                                    const struct import_options *options,
                                    struct run **out, struct error *err);

#endif

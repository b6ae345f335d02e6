/* tests/fuzz/import_fuzz.c - any bytes, read as a trace. */
#include "store/import.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    const uint8_t *rest;
    size_t n;
};

static enum assay_status read_bytes(void *context, char *buffer, size_t size,
                                    size_t *n, struct error *err)
{
    struct bytes *bytes = context;

    (void)err;
    *n = bytes->n < size ? bytes->n : size;
    memcpy(buffer, bytes->rest, *n);
    bytes->rest += *n;
    bytes->n -= *n;
    return ASSAY_OK;
}

/* The times of a trace that was accepted must be consistent. */
static void check_run(const struct run *run)
{
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (cell->self_ns < 0 || cell->self_ns > cell->total_ns)
            abort();
    }
    for (size_t i = 0; i < run_kept_count(run); i++) {
        if (run_kept(run, i)->start_ns < 0 || run_kept(run, i)->duration_ns < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The buffer is so small that even a few events go to disk. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.buffer_bytes = 1,
                                     .temporary_dir = "/dev/shm"};
    struct bytes bytes = {data, size};
    struct json_source source = {read_bytes, &bytes};
    struct error err = {0};
    struct run *run;

    if (import_trace_from(source, &options, &run, &err)) {
        if (run || !err.text[0])
            abort();
        return 0;
    }
    check_run(run);
    run_free(run);
    return 0;
}

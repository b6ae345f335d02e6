/* Any bytes as an ONNX file: it becomes a graph that can run, or is refused
 * with a sentence, and nothing leaks. */
#include "base/mem.h"
#include "formats/onnx.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct onnx_options options = {.max_folded_bytes = 1 << 16};
    long before = mem_live();
    void *copy = mem_alloc(n); /* of its exact size, for the sanitizer */
    struct graph *graph = NULL;
    struct error err = {0};
    struct buffer *file;
    struct pool *pool;

    if (!copy || pool_new(&pool, NULL) ||
        buffer_wrap(copy, n, mem_free, copy, &file, NULL))
        abort();
    if (n)
        memcpy(copy, data, n);
    if (onnx_load_buffer(file, &options, pool, &graph, &err) == ASSAY_OK) {
        if (graph_check(graph, &err))
            abort();
    } else if (graph || !err.text[0]) {
        abort();
    }
    graph_free(graph);
    buffer_release(file);
    pool_free(pool);
    if (mem_live() != before)
        abort();
    return 0;
}

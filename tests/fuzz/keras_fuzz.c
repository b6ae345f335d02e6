/* Any bytes as the configuration of a Keras model become a graph or are refused
 * with a message, and nothing leaks. */
#include "base/mem.h"
#include "formats/keras/keras.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    char *copy = mem_alloc(n); /* of its exact size, for the sanitizer */
    struct graph *graph = NULL;
    struct error err = {0};
    struct pool *pool;

    if (!copy || pool_new(&pool, NULL))
        abort();
    if (n)
        memcpy(copy, data, n);
    if (keras_load_config(copy, n, pool, &graph, &err) == ASSAY_OK) {
        if (graph_check(graph, &err))
            abort();
    } else if (graph || !err.text[0]) {
        abort();
    }
    graph_free(graph);
    pool_free(pool);
    mem_free(copy);
    if (mem_live() != before)
        abort();
    return 0;
}

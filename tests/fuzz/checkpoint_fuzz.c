/* Any bytes as a file of weights are read or refused; every tensor can be
 * loaded unless its checksum is wrong, and nothing leaks. The zip archives
 * among the seeds have no checksums, or no other error would be found. */
#include "base/mem.h"
#include "formats/weights/checkpoint.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Reads every element of a tensor. */
static void load(const struct checkpoint *checkpoint, size_t i,
                 struct pool *pool)
{
    volatile unsigned char sum = 0;
    struct error err = {0};
    struct tensor tensor;

    if (checkpoint_load(checkpoint, i, pool, &tensor, &err)) {
        if (err.status != ASSAY_BAD_INPUT || !strstr(err.text, "CRC-32"))
            abort();
        return;
    }
    for (size_t at = 0; at < tensor_bytes(&tensor); at++)
        sum =
            (unsigned char)(sum + ((unsigned char *)tensor_data(&tensor))[at]);
    tensor_release(&tensor);
}

static void use(struct checkpoint *checkpoint, struct pool *pool)
{
    enum { enough = 64 }; /* any number of tensors may share elements */

    for (size_t i = 0; i < checkpoint_count(checkpoint) && i < enough; i++)
        load(checkpoint, i, pool);
    if (checkpoint_unwrap(checkpoint, NULL))
        abort();
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        size_t found;

        if (!checkpoint_find(checkpoint, checkpoint_tensor(checkpoint, i)->name,
                             &found) ||
            found != i)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    void *copy = mem_alloc(n); /* of its exact size, for the sanitizer */
    struct checkpoint *checkpoint = NULL;
    struct error err = {0};
    struct buffer *file;
    struct pool *pool;

    if (!copy || pool_new(&pool, NULL) ||
        buffer_wrap(copy, n, mem_free, copy, &file, NULL))
        abort();
    if (n)
        memcpy(copy, data, n);
    if (checkpoint_read(file, &checkpoint, &err) == ASSAY_OK)
        use(checkpoint, pool);
    else if (checkpoint || !err.text[0])
        abort();
    checkpoint_free(checkpoint);
    buffer_release(file);
    pool_free(pool);
    if (mem_live() != before)
        abort();
    return 0;
}

/* Any bytes given as a model pass or are refused with a message, and nothing
 * leaks. */
#include "base/mem.h"
#include "formats/model_kind.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    void *copy = mem_alloc(n); /* of its exact size, for the sanitizer */
    struct error err = {0};
    struct buffer *file;
    enum assay_status st;

    if (!copy || buffer_wrap(copy, n, mem_free, copy, &file, NULL))
        abort();
    if (n)
        memcpy(copy, data, n);
    st = model_kind_check_bytes("model", file, &err);
    if ((st != ASSAY_OK) != (err.text[0] != '\0'))
        abort();
    buffer_release(file);
    if (mem_live() != before)
        abort();
    return 0;
}

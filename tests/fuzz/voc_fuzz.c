/* Any bytes as a VOC annotation: it is read or refused, and nothing leaks. */
#include "base/mem.h"
#include "data/voc_read.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct voc_annotation read;
    struct arena memory = {0};
    struct error err = {0};
    enum assay_status st = voc_read_text(n ? (const char *)data : "", n, "fuzz",
                                         &memory, &read, &err);

    if (st && !err.text[0])
        __builtin_trap();
    for (size_t i = 0; i < read.n; i++) {
        const struct voc_object *object = &read.objects[i];

        if (!strlen(object->name) || !isfinite(object->object.x) ||
            object->object.width < 0)
            __builtin_trap();
    }
    voc_annotation_release(&read);
    arena_release(&memory);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}

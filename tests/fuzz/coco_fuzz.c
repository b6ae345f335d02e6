/* Any bytes as COCO annotations: they are read or refused, what was read can be
 * looked at, and nothing leaks. */
#include "base/mem.h"
#include "data/coco_read.h"
#include "fuzz.h"

/* Larger ones take long to draw. */
enum { MOST_SIDE = 512 };

static void look_at(const struct dataset *dataset)
{
    for (size_t i = 0; i < dataset_count(dataset); i++) {
        struct dataset_target target;

        if (dataset_target(dataset, i, &target, NULL))
            __builtin_trap();
        for (size_t k = 0; k < target.n_objects; k++) {
            const struct dataset_object *object = &target.objects[k];
            struct mask mask = {0};

            if (object->label >= dataset_class_count(dataset))
                __builtin_trap();
            if (target.width > MOST_SIDE || target.height > MOST_SIDE)
                continue;
            if (!dataset_object_mask(object, target.width, target.height, &mask,
                                     NULL) &&
                mask_area(&mask) >
                    (uint64_t)target.width * (uint64_t)target.height)
                __builtin_trap();
            mask_release(&mask);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct coco_source source = {"fuzz", n ? (const char *)data : "", n};
    const struct dataset_options options = {.limit = n % 3,
                                            .keeps_shapes = true};
    long before = mem_live();
    struct error err = {0};
    struct dataset *dataset = mem_zalloc(sizeof *dataset);
    enum assay_status st;

    if (!dataset)
        return 0;
    dataset->class = &coco_class;
    st = coco_read(dataset, &source, &options, &err);
    if (!st)
        look_at(dataset);
    else if (!err.text[0])
        __builtin_trap();
    dataset_close(dataset);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}

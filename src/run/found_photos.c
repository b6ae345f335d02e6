/* run/found_photos.c - what a model found in the photographs of a run. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

/* Copies into the run's memory, including texts; NULL if memory runs out. */
static struct found_object *
found_copy_objects(struct run *run, const struct found_object *objects,
                   size_t n)
{
    struct found_object *copies =
        arena_alloc(&run->text, (n + 1) * sizeof *copies);

    for (size_t i = 0; copies && i < n; i++) {
        copies[i] = objects[i];
        copies[i].name = arena_strdup(&run->text, objects[i].name);
        if (!copies[i].name)
            return NULL;
    }
    return copies;
}

enum assay_status run_found_add(struct run *run,
                                const struct found_photo *photo,
                                struct error *err)
{
    struct found_photo kept = {
        .photograph = arena_strdup(&run->text, photo->photograph),
        .objects = found_copy_objects(run, photo->objects, photo->n),
        .n = photo->n,
    };

    if (!kept.photograph || !kept.objects ||
        !vec_grow(&run->found, &run->found_capacity, run->n_found + 1,
                  sizeof *run->found))
        return error_nomem(err, photo->n * sizeof *photo->objects,
                           "what was found");
    run->found[run->n_found++] = kept;
    return ASSAY_OK;
}

size_t run_found_count(const struct run *run)
{
    return run->n_found;
}

const struct found_photo *run_found(const struct run *run, size_t i)
{
    return &run->found[i];
}

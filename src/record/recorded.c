/* record/recorded.c - see record.h: a run between its recording and its name.
 */
#include "record/record.h"

enum assay_status recorded_load(struct recorded *recorded, struct run **out,
                                struct error *err)
{
    if (recorded->file)
        return store_load(store_part(recorded->file), out, err);
    *out = recorded->run;
    recorded->run = NULL;
    return *out ? ASSAY_OK
                : error_set(err, ASSAY_NOT_FOUND, "nothing was recorded");
}

enum assay_status recorded_save(struct recorded *recorded,
                                const struct run *run, struct error *err)
{
    struct store_writer *file = recorded->file;

    recorded->file = NULL;
    return file ? store_replace(file, run, err) : ASSAY_OK;
}

void recorded_release(struct recorded *recorded)
{
    store_abandon(recorded->file);
    run_free(recorded->run);
    *recorded = (struct recorded){0};
}

/* record/recorded.c - see record.h: a run between its recording and its file.
 */
#include "record/record.h"

enum assay_status recorded_save(struct recorded *recorded, struct error *err)
{
    struct store_writer *file = recorded->file;

    recorded->file = NULL;
    return file ? store_replace(file, recorded->run, err) : ASSAY_OK;
}

struct run *recorded_take_run(struct recorded *recorded)
{
    struct run *run = recorded->run;

    recorded->run = NULL;
    return run;
}

void recorded_release(struct recorded *recorded)
{
    store_abandon(recorded->file);
    run_free(recorded->run);
    *recorded = (struct recorded){0};
}

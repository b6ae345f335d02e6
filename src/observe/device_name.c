/* observe/device_name.c - see device_name.h. */
#include "observe/device_name.h"

enum assay_status device_name_state(struct run *run,
                                    const struct backend *backend,
                                    struct error *err)
{
    struct device_look look = device_look_unknown();
    enum assay_status st = ASSAY_OK;

    if (backend->class->look)
        backend->class->look(backend->device, &look);
    if (look.model[0])
        st = run_fact_set(run, "machine.gpu", look.model, err);
    if (!st && look.unpinned[0])
        st = run_fact_set(run, "device.unpinned", look.unpinned, err);
    return st;
}

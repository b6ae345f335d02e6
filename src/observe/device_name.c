/* observe/device_name.c - see device_name.h. */
#include "observe/device_name.h"

enum assay_status device_name_state(struct run *run,
                                    const struct backend *backend,
                                    struct error *err)
{
    struct device_look look = device_look_unknown();

    if (backend->class->look)
        backend->class->look(backend->device, &look);
    return look.model[0] ? run_fact_set(run, "machine.gpu", look.model, err)
                         : ASSAY_OK;
}

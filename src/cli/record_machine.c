/* cli/record_machine.c - see record_machine.h. */
#include "cli/record_machine.h"

#include "cli/look.h"
#include "machine/machine.h"
#include "store/store.h"

#include <math.h>
#include <string.h>

static const struct device *record_device(const struct run *run)
{
    const char *name = run_fact(run, "model.device");
    const struct device *device = NULL;
    struct error ignored = {0};

    return device_find(name ? name : "cpu", &device, &ignored) ? NULL : device;
}

/* What the program's products were computed in. */
static enum precision record_precision(const struct run *run)
{
    const char *name = run_fact(run, "settings.precision");

    for (int i = PRECISION_FP32; name && i <= PRECISION_BF16; i++) {
        if (strcmp(name, precision_name((enum precision)i)) == 0)
            return (enum precision)i;
    }
    return PRECISION_AUTO;
}

static enum assay_status record_set_peaks(struct run *run,
                                          const struct device *device,
                                          struct error *err)
{
    double n_threads = run_fact_number(run, "settings.threads");
    struct str peaks = {0};
    struct machine machine;
    struct machine_options wanted =
        look_options(device, isfinite(n_threads) ? (int64_t)n_threads : 0,
                     MACHINE_CACHED, &peaks);
    enum assay_status st;

    wanted.precision = record_precision(run);
    st = machine_look(&wanted, &machine, err);
    if (!st)
        st = machine_set_facts(&machine, run, err);
    str_release(&peaks);
    return st;
}

enum assay_status record_add_peaks(const char *path, struct error *err)
{
    struct run *run = NULL;
    enum assay_status st = store_load(path, &run, err);
    const struct device *device = st ? NULL : record_device(run);

    if (device)
        st = record_set_peaks(run, device, err);
    if (device && !st)
        st = store_save(run, path, err);
    run_free(run);
    return st;
}

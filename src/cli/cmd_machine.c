/* cli/cmd_machine.c - assay machine: this machine's measured peaks. */
#include "cli/command.h"

#include "cli/look.h"
#include "cli/machine_show.h"
#include "cli/record_machine.h"
#include "cli/result.h"

#include <stdio.h>

struct settings {
    bool json, refresh;
    int64_t threads;
    const char *add_to;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    OPTION_THREADS_TO("threads to measure with",
                      .shown_default = "all processors assay may use",
                      FIELD(threads)),
    {OPT_FLAG("refresh"), .help = "measure again even if the peaks are known",
     FIELD(refresh)},
    OPTION_JSON("print JSON", FIELD(json)),
    {OPT_FILE("add-to", "RUN"), .role = ROLE_OUTPUT,
     .help = "measure nothing: add the peaks that are known to a run file",
     FIELD(add_to)},
    {.kind = OPTION_END},
};

/* What GPUs were measured to do is kept for the runs on them. */
static void list_devices(struct machine_devices *list,
                         const struct machine_options *wanted)
{
    struct machine_options keep = *wanted;
    const struct device *device;

    while (list->n < sizeof list->items / sizeof *list->items &&
           (device = device_at(list->n))) {
        char *library = list->items[list->n].library;
        size_t size = sizeof list->items[list->n].library;

        list->items[list->n++].name = device->name;
        snprintf(library, size, "built-in kernels");
        if (device->backend->library)
            device->backend->library(library, size);
        if (device->space->is_host)
            continue;
        machine_gpu_look(device, &list->gpus[list->n_gpus]);
        keep.device = device;
        machine_keep_device(&keep, &list->gpus[list->n_gpus++].peaks);
    }
}

static enum assay_status machine_show(const struct settings *settings,
                                      const struct machine_options *wanted,
                                      const struct machine *machine,
                                      struct error *err)
{
    struct machine_devices devices = {0};
    struct result result;
    enum assay_status st;

    list_devices(&devices, wanted);
    st = result_open(NULL, &result, err);
    if (st)
        return st;
    if (settings->json)
        st = machine_show_json(machine, &devices, result.sink, err);
    else
        st = machine_show_screen(machine, &devices, result.sink, &result.term,
                                 err);
    return result_close(&result, st, err);
}

static enum assay_status run_machine(const struct arguments *arguments,
                                     struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct str path = {0};
    struct machine_options wanted =
        look_options(device_cpu(), settings->threads,
                     settings->refresh ? MACHINE_AGAIN : MACHINE_NEEDED, &path);
    struct machine machine;
    enum assay_status st;

    if (settings->add_to) {
        str_release(&path);
        return record_add_peaks(settings->add_to, err);
    }
    st = machine_look(&wanted, &machine, err);
    if (!st)
        st = machine_show(settings, &wanted, &machine, err);
    str_release(&path);
    return st;
}

const struct command cmd_machine = {
    .name = "machine",
    .section = "Models",
    .purpose = "show what this machine can do at best, measured",
    .usage = TEXTS("machine [options]"),
    .description = TEXTS(
        "Measures once, in at most 3 seconds, how fast this machine "
        "computes, reads, writes and copies memory and starts a kernel, "
        "and remembers it per number of threads. 'assay run' compares "
        "every module with these peaks.",
        "Also shows the processor and its caches, how busy the machine is "
        "now, and what cannot be measured on it and why.",
        "Each GPU is measured too: products in fp32, tf32 and fp16, and "
        "copying within its memory; with its clocks, power and other "
        "processes, and where its libraries were found.",
        "'assay record' and 'python -m assay' add the known peaks to their "
        "runs; --add-to does so for a run that a program recorded by itself."),
    .options = options,
    .examples = EXAMPLES(
        {"machine", "the peaks with all processors"},
        {"machine --threads 1 --refresh", "of one thread, measured again"},
        {"machine --add-to run.assay", "for the roofline of a recorded run"}),
    .settings_bytes = sizeof(struct settings),
    .run = run_machine,
};

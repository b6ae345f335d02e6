/* cli/cmd_machine.c - assay machine: this machine's measured peaks. */
#include "cli/command.h"

#include "cli/look.h"
#include "cli/machine_show.h"
#include "cli/result.h"

struct settings {
    bool json, refresh;
    int64_t threads;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.name = "threads",
     .letter = 't',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1024,
     .help = "threads to measure with",
     .shown_default = "the processors assay may use",
     FIELD(threads)},
    {.name = "refresh",
     .kind = OPTION_FLAG,
     .help = "measure again what was measured before",
     FIELD(refresh)},
    OPTION_JSON("as JSON", FIELD(json)),
    {.kind = OPTION_END},
};

static enum assay_status show(const struct settings *settings,
                              const struct machine *machine, struct error *err)
{
    char library[64] = "kernels of its own";
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    if (backend_best()->library)
        backend_best()->library(library, sizeof library);
    if (settings->json)
        st = machine_show_json(machine, library, result.sink, err);
    else
        st = machine_show_screen(machine, library, result.sink, &result.term,
                                 err);
    return result_close(&result, st, err);
}

static enum assay_status run_machine(const struct arguments *arguments,
                                     struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct str path = {0};
    struct machine_options wanted =
        look_options(settings->threads,
                     settings->refresh ? MACHINE_AGAIN : MACHINE_NEEDED, &path);
    struct machine machine;
    enum assay_status st = machine_look(&wanted, &machine, err);

    if (!st)
        st = show(settings, &machine, err);
    str_release(&path);
    return st;
}

const struct command cmd_machine = {
    .name = "machine",
    .section = "Models",
    .purpose = "what this machine can do at best, measured",
    .usage = (const char *const[]){"machine [options]", NULL},
    .description =
        (const char *const[]){
            "Measures once, in at most 3 seconds, how fast this machine "
            "computes, reads, writes and copies memory and starts a kernel, "
            "and remembers it for each number of threads. 'assay run' sets "
            "every module against these peaks.",
            "Also says what the processor and its caches are, how busy the "
            "machine is now, and what cannot be measured on it and why.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"machine", "the peaks with all processors"},
            {"machine --threads 1 --refresh", "of one thread, measured anew"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .run = run_machine,
};

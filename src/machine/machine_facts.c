/* machine/machine_facts.c - the facts about a machine in a run. */
#include "machine/machine.h"

#include <math.h>
#include <stdio.h>

static enum assay_status machine_facts_set_number(struct run *run,
                                                  const char *key, double value,
                                                  struct error *err)
{
    return isfinite(value) ? run_fact_printf(run, err, key, "%.6g", value)
                           : ASSAY_OK;
}

static enum assay_status machine_facts_set_text(struct run *run,
                                                const char *key,
                                                const char *text,
                                                struct error *err)
{
    return text[0] ? run_fact_set(run, key, text, err) : ASSAY_OK;
}

static enum assay_status set_caches(const struct peaks *peaks, struct run *run,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < peaks->n_caches; i++) {
        const struct cache_peak *cache = &peaks->caches[i];
        char key[32];

        snprintf(key, sizeof key, "machine.l%d_bytes", cache->level);
        st = run_fact_printf(run, err, key, "%.0f", cache->bytes);
        snprintf(key, sizeof key, "machine.l%d_gbs", cache->level);
        if (!st)
            st = machine_facts_set_number(run, key, cache->gbs, err);
    }
    return st;
}

static enum assay_status set_texts(const struct machine *machine,
                                   struct run *run, struct error *err)
{
    char topology[128], caches[128];
    struct str missing = {0};
    enum assay_status st;

    machine_topology_text(&machine->topology, topology, sizeof topology);
    machine_caches_text(&machine->topology, caches, sizeof caches);
    st = machine_facts_set_text(run, "machine.topology", topology, err);
    if (!st)
        st = machine_facts_set_text(run, "machine.caches", caches, err);
    if (!st)
        st = machine_facts_set_text(run, "machine.peaks_measured",
                                    machine->known.when, err);
    if (!st)
        st = machine_facts_set_text(run, "machine.governor",
                                    machine->state.governor, err);
    if (!st && machine_missing(&machine->offers, &missing))
        st = error_nomem(err, missing.n + 1, "what cannot be measured");
    if (!st)
        st = machine_facts_set_text(run, "machine.missing", str_text(&missing),
                                    err);
    str_release(&missing);
    return st;
}

enum assay_status machine_set_facts(const struct machine *machine,
                                    struct run *run, struct error *err)
{
    const struct peaks *peaks = &machine->known.peaks;
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"machine.peak_gflops", peaks->gflops},
                   {"machine.read_gbs", peaks->read_gbs},
                   {"machine.write_gbs", peaks->write_gbs},
                   {"machine.copy_gbs", peaks->copy_gbs},
                   {"machine.launch_us", peaks->launch_ns / 1e3},
                   {"machine.peaks_busy", machine->known.busy},
                   {"machine.mhz", machine->state.mhz},
                   {"machine.load", machine->state.load},
                   {"machine.pressure", machine->state.pressure},
                   {"machine.throttled", machine->state.throttled}};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof numbers / sizeof *numbers; i++)
        st = machine_facts_set_number(run, numbers[i].key, numbers[i].value,
                                      err);
    if (!st)
        st = set_caches(peaks, run, err);
    if (!st)
        st = set_texts(machine, run, err);
    return st;
}

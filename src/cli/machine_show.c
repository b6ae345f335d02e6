/* cli/machine_show.c - see machine_show.h. */
#include "cli/machine_show.h"

#include "base/json.h"
#include "base/processor.h"
#include "base/units.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { text_max = 160 };

static void machine_show_parts(const struct machine *machine, struct sink *sink,
                               const struct term *term)
{
    const struct machine_topology *topology = &machine->topology;
    struct line line = line_begin(sink, term, "machine");
    char text[text_max], total[UNITS_MAX], left[UNITS_MAX];

    line.style = STYLE_BOLD;
    line_item(&line, topology->cpu[0] ? topology->cpu : "-");
    line.style = STYLE_NONE;
    if (processor_simd())
        line_item(&line, processor_simd());
    machine_topology_text(topology, text, sizeof text);
    if (text[0])
        line_item(&line, text);
    line_end(&line);
    line = line_begin(sink, term, "caches");
    machine_caches_text(topology, text, sizeof text);
    line_sentence(&line, text[0] ? text : "-");
    line_end(&line);
    line = line_begin(sink, term, "memory");
    line_printf(&line, "%s", units_bytes(total, machine->state.memory_bytes));
    if (!isnan(machine->state.available_bytes))
        line_printf(&line, "%s of it free",
                    units_bytes(left, machine->state.available_bytes));
    line_end(&line);
}

static void machine_show_devices(const struct machine_devices *devices,
                                 struct sink *sink, const struct term *term)
{
    struct line line = line_begin(sink, term, "devices");

    for (size_t i = 0; i < devices->n; i++)
        line_printf(&line, "%s with %s", devices->items[i].name,
                    devices->items[i].library);
    line_end(&line);
}

/* "mean frequency 2300 MHz of 3800 (governor powersave)", load, heat. */
static void machine_show_state(const struct machine_state *state,
                               struct sink *sink, const struct term *term)
{
    struct line line = line_begin(sink, term, "now");
    char text[UNITS_MAX], most[UNITS_MAX];

    if (!isnan(state->load))
        line_printf(&line, "load %s", units_number(text, state->load));
    if (!isnan(state->pressure))
        line_printf(&line, "threads waited in %s of the last 10 s",
                    units_percent(text, state->pressure, 0));
    if (!isnan(state->mhz))
        line_printf(
            &line, "%.0f MHz of %s", state->mhz,
            isnan(state->max_mhz)
                ? "-"
                : (snprintf(most, sizeof most, "%.0f", state->max_mhz), most));
    if (state->governor[0])
        line_printf(&line, "governor %s", state->governor);
    if (!isnan(state->throttled))
        line_printf(&line, "throttled %s times since the start",
                    units_count(text, state->throttled));
    line_end(&line);
}

/* A note that does not fit continues below itself. */
static void machine_put_rate(struct sink *sink, const struct term *term,
                             const char *name, double value, const char *unit,
                             const char *note)
{
    enum { unit_columns = 7, note_column = 36, least_note = 20 };
    bool is_wide = term->width >= note_column + least_note;
    struct line line =
        line_after(sink, term, note_column - 3, is_wide ? note_column : 4);
    char text[UNITS_MAX];

    sink_printf(sink, "  %-14s %8s %-*s", name, units_number(text, value),
                note[0] ? unit_columns : 0, unit);
    line_sentence(&line, note);
    line_end(&line);
}

static void machine_show_rates(const struct machine *machine,
                               const char *library, struct sink *sink,
                               const struct term *term)
{
    const struct peaks *peaks = &machine->known.peaks;
    char note[text_max], bytes[UNITS_MAX];

    snprintf(note, sizeof note, "fp32, best of several layers with %s",
             library);
    machine_put_rate(sink, term, "compute", peaks->gflops, "GFLOP/s", note);
    machine_put_rate(sink, term, "memory read", peaks->read_gbs, "GB/s", "");
    machine_put_rate(sink, term, "memory write", peaks->write_gbs, "GB/s", "");
    machine_put_rate(sink, term, "memory copy", peaks->copy_gbs, "GB/s",
                     "reads plus writes");
    for (size_t i = 0; i < peaks->n_caches; i++) {
        const struct cache_peak *cache = &peaks->caches[i];
        char name[16];

        snprintf(name, sizeof name, "L%d read", cache->level);
        snprintf(note, sizeof note, "%s for %d %s",
                 units_bytes(bytes, cache->bytes), machine->n_threads,
                 machine->n_threads == 1 ? "thread" : "threads");
        machine_put_rate(sink, term, name, cache->gbs, "GB/s", note);
    }
    machine_put_rate(sink, term, "launch", peaks->launch_ns / 1e3, "us",
                     "to start a kernel on all threads");
    machine_put_rate(sink, term, "balance",
                     peaks->gflops / peaks_gbs(peaks, INFINITY), "FLOP/B",
                     "layers with fewer FLOP per byte are memory-bound");
}

static void machine_show_peaks(const struct machine *machine,
                               const char *library, struct sink *sink,
                               const struct term *term)
{
    const struct known_peaks *known = &machine->known;
    struct line line = line_begin(sink, term, "peaks");
    char share[UNITS_MAX];

    line_printf(&line, "with %d %s", machine->n_threads,
                machine->n_threads == 1 ? "thread" : "threads");
    line_printf(&line, "measured %s", known->when);
    if (machine->is_cached)
        line_words(&line, "(--refresh measures again)");
    line_end(&line);
    machine_show_rates(machine, library, sink, term);
    line = line_begin(sink, term, "note");
    line.style = STYLE_YELLOW;
    if (known->busy > MACHINE_BUSY) {
        char text[text_max];

        snprintf(text, sizeof text,
                 "others took %s of the processors meanwhile, so these may be "
                 "too low; --refresh on a quiet machine",
                 units_percent(share, known->busy, 0));
        line_sentence(&line, text);
    }
    line_end(&line);
}

enum assay_status machine_show_screen(const struct machine *machine,
                                      const struct machine_devices *devices,
                                      struct sink *sink,
                                      const struct term *term,
                                      struct error *err)
{
    struct line line = line_begin(sink, term, "missing");
    struct str missing = {0};
    enum assay_status st = machine_missing(&machine->offers, &missing);

    if (st) {
        str_release(&missing);
        return error_nomem(err, missing.n + 1, "a line of text");
    }
    machine_show_parts(machine, sink, term);
    machine_show_devices(devices, sink, term);
    machine_show_state(&machine->state, sink, term);
    sink_puts(sink, "\n");
    machine_show_peaks(machine, devices->items[0].library, sink, term);
    for (size_t i = 0; i < devices->n_gpus; i++) {
        sink_puts(sink, "\n");
        machine_gpu_screen(&devices->gpus[i], sink, term);
    }
    sink_puts(sink, missing.n ? "\n" : "");
    line_sentence(&line, str_text(&missing));
    line_end(&line);
    str_release(&missing);
    return sink_status(sink, err);
}

/* ---- as JSON ------------------------------------------------------------ */

static void machine_write_topology(struct json_writer *json,
                                   const struct machine_topology *topology)
{
    json_member_string(json, "cpu", topology->cpu[0] ? topology->cpu : NULL);
    json_member_string(json, "simd", processor_simd());
    json_member_int(json, "sockets", topology->n_sockets);
    json_member_int(json, "cores", topology->n_cores);
    json_member_int(json, "processors", topology->n_cpus);
    json_member_int(json, "memory_nodes", topology->n_nodes);
    json_key(json, "caches");
    json_array_begin(json);
    for (size_t i = 0; i < topology->n_caches; i++) {
        const struct machine_cache *cache = &topology->caches[i];

        json_inline_object_begin(json);
        json_member_int(json, "level", cache->level);
        json_member_bool(json, "is_code", cache->is_code);
        json_member_int(json, "bytes", (int64_t)cache->bytes);
        json_member_int(json, "count", cache->n);
        json_object_end(json);
    }
    json_array_end(json);
}

static void machine_write_state(struct json_writer *json,
                                const struct machine_state *state)
{
    json_member_double(json, "memory_bytes", state->memory_bytes);
    json_member_double(json, "available_bytes", state->available_bytes);
    json_member_double(json, "mhz", state->mhz);
    json_member_double(json, "max_mhz", state->max_mhz);
    json_member_string(json, "governor",
                       state->governor[0] ? state->governor : NULL);
    json_member_double(json, "throttled", state->throttled);
    json_member_double(json, "load", state->load);
    json_member_double(json, "pressure", state->pressure);
}

static void machine_write_peaks(struct json_writer *json,
                                const struct machine *machine)
{
    const struct peaks *peaks = &machine->known.peaks;

    json_key(json, "peaks");
    json_object_begin(json);
    json_member_int(json, "threads", machine->n_threads);
    json_member_double(json, "gflops", peaks->gflops);
    json_member_double(json, "read_gbs", peaks->read_gbs);
    json_member_double(json, "write_gbs", peaks->write_gbs);
    json_member_double(json, "copy_gbs", peaks->copy_gbs);
    json_member_double(json, "launch_us", peaks->launch_ns / 1e3);
    json_key(json, "caches");
    json_array_begin(json);
    for (size_t i = 0; i < peaks->n_caches; i++) {
        json_inline_object_begin(json);
        json_member_int(json, "level", peaks->caches[i].level);
        json_member_double(json, "bytes", peaks->caches[i].bytes);
        json_member_double(json, "gbs", peaks->caches[i].gbs);
        json_object_end(json);
    }
    json_array_end(json);
    json_member_string(json, "measured", machine->known.when);
    json_member_bool(json, "is_cached", machine->is_cached);
    json_member_double(json, "busy", machine->known.busy);
    json_object_end(json);
}

static void machine_write_offer(struct json_writer *json, const char *name,
                                const struct machine_offer *offer)
{
    json_key(json, name);
    json_inline_object_begin(json);
    json_member_bool(json, "is_there", offer->is_there);
    json_member_string(json, "way", offer->way[0] ? offer->way : NULL);
    json_object_end(json);
}

static void machine_write_devices(struct json_writer *json,
                                  const struct machine_devices *devices)
{
    json_key(json, "devices");
    json_array_begin(json);
    for (size_t i = 0; i < devices->n; i++) {
        json_inline_object_begin(json);
        json_member_string(json, "name", devices->items[i].name);
        json_member_string(json, "library", devices->items[i].library);
        json_object_end(json);
    }
    json_array_end(json);
}

enum assay_status machine_show_json(const struct machine *machine,
                                    const struct machine_devices *devices,
                                    struct sink *sink, struct error *err)
{
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    machine_write_topology(&json, &machine->topology);
    json_member_string(&json, "library", devices->items[0].library);
    machine_write_devices(&json, devices);
    machine_write_state(&json, &machine->state);
    machine_write_peaks(&json, machine);
    if (devices->n_gpus) {
        json_key(&json, "gpus");
        json_array_begin(&json);
        for (size_t i = 0; i < devices->n_gpus; i++)
            machine_gpu_json(&json, &devices->gpus[i]);
        json_array_end(&json);
    }
    json_key(&json, "offers");
    json_object_begin(&json);
    machine_write_offer(&json, "counters", &machine->offers.counters);
    machine_write_offer(&json, "energy", &machine->offers.energy);
    machine_write_offer(&json, "frequency", &machine->offers.frequency);
    machine_write_offer(&json, "throttling", &machine->offers.throttling);
    json_object_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
    return sink_status(sink, err);
}

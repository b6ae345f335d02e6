/* cli/machine_gpu.c - see machine_gpu.h. */
#include "cli/machine_gpu.h"

#include "base/units.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>

void machine_gpu_look(const struct device *device, struct machine_gpu *gpu)
{
    const struct backend_class *class = device->backend;
    struct error ignored = {0};

    *gpu = (struct machine_gpu){.name = device->name,
                                .look = device_look_unknown(),
                                .peaks = {NAN, NAN, NAN, NAN, NAN}};
    if (class->look)
        class->look(device, &gpu->look);
    if (class->measure && class->measure(device, &gpu->peaks, &ignored))
        gpu->peaks = (struct device_peaks){NAN, NAN, NAN, NAN, NAN};
}

/* ---- the screen ---------------------------------------------------------- */

static void machine_gpu_parts(const struct machine_gpu *gpu, struct sink *sink,
                              const struct term *term)
{
    const struct device_look *look = &gpu->look;
    struct line line = line_begin(sink, term, gpu->name);
    char total[UNITS_MAX], left[UNITS_MAX];

    line.style = STYLE_BOLD;
    line_item(&line, look->model[0] ? look->model : "-");
    line.style = STYLE_NONE;
    if (look->capability[0])
        line_printf(&line, "compute capability %s", look->capability);
    if (look->n_units > 0)
        line_printf(&line, "%d multiprocessors", look->n_units);
    if (!isnan(look->memory_bytes))
        line_printf(&line, "%s", units_bytes(total, look->memory_bytes));
    if (!isnan(look->free_bytes))
        line_printf(&line, "%s of it free",
                    units_bytes(left, look->free_bytes));
    if (look->driver[0])
        line_printf(&line, "driver %s", look->driver);
    if (look->library[0])
        line_item(&line, look->library);
    line_end(&line);
}

static void machine_gpu_state(const struct device_look *look, struct sink *sink,
                              const struct term *term)
{
    struct line line = line_begin(sink, term, "now");
    char text[UNITS_MAX];

    if (!isnan(look->mhz))
        line_printf(&line, "%.0f MHz", look->mhz);
    if (!isnan(look->max_mhz))
        line_word(&line, "of %.0f", look->max_mhz);
    if (!isnan(look->watts))
        line_printf(&line, "%.0f W", look->watts);
    if (!isnan(look->most_watts))
        line_word(&line, "of %.0f", look->most_watts);
    if (!isnan(look->celsius))
        line_printf(&line, "%.0f degrees", look->celsius);
    if (look->knows_throttling)
        line_printf(&line, "%s%s",
                    look->throttling[0] ? "slowed down by " : "not slowed down",
                    look->throttling);
    if (!isnan(look->utilisation))
        line_printf(&line, "busy %s",
                    units_percent(text, look->utilisation, 0));
    if (look->n_others > 0)
        line_printf(&line, "%.0f other %s with %s", look->n_others,
                    look->n_others == 1 ? "process" : "processes",
                    units_bytes(text, look->others_bytes));
    else if (!isnan(look->n_others))
        line_item(&line, "no other process");
    if (look->n_others > 0 && !isnan(look->others_busy))
        line_word(&line, "busy %s", units_percent(text, look->others_busy, 0));
    line_end(&line);
}

static void machine_gpu_rate(struct sink *sink, const struct term *term,
                             const char *name, double value,
                             struct rate_unit unit, const char *note)
{
    enum { note_column = 36, least_note = 20 };
    bool is_wide = term->width >= note_column + least_note;
    struct line line =
        line_after(sink, term, note_column - 3, is_wide ? note_column : 4);
    char text[UNITS_MAX];

    sink_printf(sink, "  %-14s %8s %-7s", name,
                units_number(text, value / unit.giga), unit.name);
    line_sentence(&line, note);
    line_end(&line);
}

static void machine_gpu_libraries(const struct device_look *look,
                                  struct sink *sink, const struct term *term)
{
    for (size_t i = 0; i < look->n_libraries; i++) {
        const struct device_library *library = &look->libraries[i];
        struct line line = line_begin(sink, term, library->name);

        if (!library->path)
            line.style = STYLE_YELLOW;
        if (library->path)
            line_printf(&line, "%s", library->path);
        else if (library->problem)
            line_sentence(&line, library->problem);
        else
            line_printf(&line, "missing, for %s: %s", library->what_for,
                        library->package);
        line_end(&line);
    }
}

void machine_gpu_screen(const struct machine_gpu *gpu, struct sink *sink,
                        const struct term *term)
{
    static const char product[] = "product of 4096 x 4096 with cuBLASLt";
    const struct device_peaks *peaks = &gpu->peaks;

    machine_gpu_parts(gpu, sink, term);
    machine_gpu_state(&gpu->look, sink, term);
    machine_gpu_rate(sink, term, "fp32", peaks->fp32_gflops,
                     units_flops(peaks->fp32_gflops), product);
    machine_gpu_rate(sink, term, "tf32", peaks->tf32_gflops,
                     units_flops(peaks->tf32_gflops), product);
    machine_gpu_rate(sink, term, "fp16", peaks->fp16_gflops,
                     units_flops(peaks->fp16_gflops), product);
    machine_gpu_rate(sink, term, "memory copy", peaks->copy_gbs,
                     units_bandwidth(peaks->copy_gbs), "reads plus writes");
    machine_gpu_libraries(&gpu->look, sink, term);
}

/* ---- JSON ---------------------------------------------------------------- */

static const char *machine_gpu_text(const char *text)
{
    return text[0] ? text : NULL;
}

static void machine_gpu_json_state(struct json_writer *json,
                                   const struct device_look *look)
{
    json_member_double(json, "memory_bytes", look->memory_bytes);
    json_member_double(json, "free_bytes", look->free_bytes);
    json_member_double(json, "mhz", look->mhz);
    json_member_double(json, "max_mhz", look->max_mhz);
    json_member_double(json, "watts", look->watts);
    json_member_double(json, "most_watts", look->most_watts);
    json_member_double(json, "celsius", look->celsius);
    json_member_string(json, "throttling",
                       look->knows_throttling ? look->throttling : NULL);
    json_member_double(json, "utilisation", look->utilisation);
    json_member_double(json, "other_processes", look->n_others);
    json_member_double(json, "other_bytes", look->others_bytes);
    json_member_double(json, "other_busy", look->others_busy);
}

void machine_gpu_json(struct json_writer *json, const struct machine_gpu *gpu)
{
    const struct device_look *look = &gpu->look;

    json_object_begin(json);
    json_member_string(json, "name", gpu->name);
    json_member_string(json, "model", machine_gpu_text(look->model));
    json_member_string(json, "capability", machine_gpu_text(look->capability));
    json_member_string(json, "driver", machine_gpu_text(look->driver));
    json_member_string(json, "library", machine_gpu_text(look->library));
    machine_gpu_json_state(json, look);
    json_key(json, "peaks");
    json_object_begin(json);
    json_member_double(json, "fp32_gflops", gpu->peaks.fp32_gflops);
    json_member_double(json, "tf32_gflops", gpu->peaks.tf32_gflops);
    json_member_double(json, "fp16_gflops", gpu->peaks.fp16_gflops);
    json_member_double(json, "copy_gbs", gpu->peaks.copy_gbs);
    json_object_end(json);
    json_key(json, "libraries");
    json_array_begin(json);
    for (size_t i = 0; i < look->n_libraries; i++) {
        const struct device_library *library = &look->libraries[i];

        json_inline_object_begin(json);
        json_member_string(json, "name", library->name);
        json_member_string(json, "path", library->path);
        json_member_string(json, "package", library->package);
        json_member_string(json, "problem", library->problem);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

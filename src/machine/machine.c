/* machine/machine.c - looks at this machine as a whole. */
#include "machine/machine.h"

#include "base/child.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double default_seconds = 1.8;

/* The result of the measuring process. */
struct probe_answer {
    enum assay_status st;
    struct error err;
    struct peaks peaks;
};

static void probe_here(void *context, int line)
{
    struct probe_answer answer = {.st = ASSAY_OK};

    answer.st = machine_probe(context, &answer.peaks, &answer.err);
    child_send(line, &answer, sizeof answer, 0);
}

static double seconds_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static enum assay_status probe_apart(struct machine_probe *probe,
                                     struct peaks *peaks, double *own_seconds,
                                     struct error *err)
{
    const struct child_options options = {.what = "measuring the machine"};
    struct rusage usage = {0};
    struct probe_answer answer;
    enum child_told told;
    struct child child;
    enum assay_status st =
        child_start(&child, &options, probe_here, probe, err);

    if (st)
        return st;
    told = child_receive(child.line, &answer, sizeof answer, 0);
    child_end(&child, false, &usage);
    *own_seconds = seconds_of(&usage);
    if (told != CHILD_TOLD)
        return error_set(err, ASSAY_IO,
                         "measuring the machine ended early; is its memory "
                         "full?");
    *peaks = answer.peaks;
    return answer.st ? error_set(err, answer.st, "%s", answer.err.text)
                     : ASSAY_OK;
}

/* The share of processor time that others took. */
static double busy_share(const struct machine_ticks *from,
                         const struct machine_ticks *to, double own_seconds)
{
    double ticks = (double)sysconf(_SC_CLK_TCK);
    double all = (double)(to->all - from->all);
    double others = (double)(to->busy - from->busy) - own_seconds * ticks;

    return all > 0 ? fmin(fmax(others, 0) / all, 1) : NAN;
}

static void write_now(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;

    text[0] = '\0';
    if (gmtime_r(&now, &utc))
        (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void machine_take_device(const struct device_peaks *best,
                                enum precision precision, struct peaks *peaks)
{
    switch (precision) {
    case PRECISION_FP32:
        peaks->gflops = best->fp32_gflops;
        break;
    case PRECISION_FP16:
    case PRECISION_BF16:
        peaks->gflops = best->fp16_gflops;
        break;
    case PRECISION_AUTO:
    case PRECISION_TF32:
        peaks->gflops =
            isnan(best->tf32_gflops) ? best->fp32_gflops : best->tf32_gflops;
        break;
    }
    peaks->read_gbs = peaks->write_gbs = peaks->copy_gbs = best->copy_gbs;
    /* How fast its cache is shows in the run: what fits there raises this, and
     * not what its memory can. */
    if (best->cache_bytes > 0)
        peaks->caches[peaks->n_caches++] =
            (struct cache_peak){2, best->cache_bytes, best->copy_gbs};
}

/* A device with its own memory is measured by its backend, here: a driver that
 * was started does not work in a child. */
static enum assay_status machine_ask_device(const struct machine_options *from,
                                            struct peaks *peaks,
                                            struct error *err)
{
    const struct device *device = from->device;
    struct device_peaks best;
    enum assay_status st =
        device->backend->measure
            ? device->backend->measure(device, &best, err)
            : error_set(err, ASSAY_UNSUPPORTED, "%s has no peaks to measure",
                        device->name);

    if (!st)
        machine_take_device(&best, from->precision, peaks);
    return st;
}

static enum assay_status machine_measure(const struct machine_options *options,
                                         struct machine *out, struct error *err)
{
    struct machine_probe probe = {
        .device = options->device,
        .n_threads = options->n_threads,
        .seconds = options->seconds > 0 ? options->seconds : default_seconds,
        .topology = &out->topology,
        .available_bytes = out->state.available_bytes,
        .clock = clock_real()};
    struct machine_ticks from, to;
    bool is_told = machine_ticks(options->root, &from);
    double own_seconds = 0;
    enum assay_status st =
        options->device->space->is_host
            ? probe_apart(&probe, &out->known.peaks, &own_seconds, err)
            : machine_ask_device(options, &out->known.peaks, err);

    if (st)
        return st;
    is_told &= machine_ticks(options->root, &to);
    out->known.busy = is_told ? busy_share(&from, &to, own_seconds) : NAN;
    write_now(out->known.when, sizeof out->known.when);
    return ASSAY_OK;
}

/* Of a device with its own memory; nothing of others. */
static struct device_look machine_device_look(const struct device *device)
{
    struct device_look look = device_look_unknown();

    if (!device->space->is_host && device->backend->look)
        device->backend->look(device, &look);
    return look;
}

/* The peaks of a device with its own memory are those of a model and a
 * precision, whatever its number is today, and do not depend on threads of the
 * host. */
static void machine_name_key(const struct machine_options *options,
                             const struct machine_topology *topology, char *key,
                             size_t size)
{
    bool is_host = options->device->space->is_host;

    machine_key(topology, is_host ? options->n_threads : 1, options->device,
                key, size);
    if (!is_host)
        snprintf(key + strlen(key), size - strlen(key), ", %s, %s",
                 machine_device_look(options->device).model,
                 precision_name(options->precision));
}

/* Whether others use a device with its own memory: what it can do then is not
 * what it can do at best. */
static bool machine_is_shared(const struct device *device)
{
    static const double little = 0.05;
    struct device_look look = machine_device_look(device);

    return isnan(look.others_busy) ? look.n_others > 0
                                   : look.others_busy > little;
}

/* Measures, and stores the peaks unless others use the device; if that fails
 * they are measured again next time. */
static enum assay_status measure_and_keep(const struct machine_options *options,
                                          const char *key, struct machine *out,
                                          struct error *err)
{
    struct known_peaks before;
    enum assay_status st = machine_measure(options, out, err);

    if (st || !options->path || machine_is_shared(options->device))
        return st;
    if (out->known.busy > MACHINE_BUSY &&
        known_peaks_find(options->path, key, &before))
        known_peaks_join(&out->known, &before);
    (void)known_peaks_put(options->path, key, &out->known, NULL);
    return ASSAY_OK;
}

void machine_keep_device(const struct machine_options *options,
                         const struct device_peaks *best)
{
    struct machine_options each = *options;
    struct machine_topology topology;
    char key[320];

    if (!options->path || isnan(best->copy_gbs) ||
        machine_is_shared(options->device))
        return;
    machine_topology(options->root, &topology);
    for (int i = PRECISION_AUTO; i <= PRECISION_BF16; i++) {
        struct known_peaks known;

        known_peaks_forget(&known);
        each.precision = (enum precision)i;
        machine_take_device(best, each.precision, &known.peaks);
        write_now(known.when, sizeof known.when);
        machine_name_key(&each, &topology, key, sizeof key);
        (void)known_peaks_put(options->path, key, &known, NULL);
    }
}

enum assay_status machine_look(const struct machine_options *options,
                               struct machine *out, struct error *err)
{
    char key[320];

    *out = (struct machine){.n_threads = options->n_threads};
    machine_topology(options->root, &out->topology);
    machine_state(options->root, &out->state);
    machine_offers(options->root, machine_try_counter, &out->offers);
    machine_name_key(options, &out->topology, key, sizeof key);
    known_peaks_forget(&out->known);
    if (options->path && options->measuring != MACHINE_AGAIN)
        out->is_cached = known_peaks_find(options->path, key, &out->known);
    if (out->is_cached || options->measuring == MACHINE_CACHED)
        return ASSAY_OK;
    return measure_and_keep(options, key, out, err);
}

/* machine/known_peaks.c - measured peaks, stored in a text file.
 *
 * The first line says what the file is. Every other line is
 *
 *     KEY <tab> NAME=VALUE <tab> NAME=VALUE ...
 *
 * with a key from machine_key(), so that one file serves several machines and
 * numbers of threads. Unknown names are ignored; if a line cannot be read, the
 * peaks are measured again. */
#include "machine/machine.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/processor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "assay machine peaks 1";

enum { max_file_bytes = 1 << 20 };

void machine_key(const struct machine_topology *topology, int n_threads,
                 const struct device *device, char *key, size_t size)
{
    const struct backend_class *backend = device->backend;
    bool is_host = device->space->is_host;
    const char *simd = processor_simd();
    char library[64] = "";

    if (backend->library)
        backend->library(library, sizeof library);
    snprintf(key, size, "%s%s%s, %s, %d processors, %d threads, %s",
             is_host ? "" : device->name, is_host ? "" : ", ",
             topology->cpu[0] ? topology->cpu : "unknown processor",
             simd ? simd : "plain", topology->n_cpus, n_threads,
             library[0] ? library : backend->name);
}

/* The numbers of a line by name, without those of caches. */
struct peaks_field {
    const char *name;
    double *value;
};

enum { n_fields = 6 };

static void list_fields(struct known_peaks *known,
                        struct peaks_field fields[n_fields])
{
    fields[0] = (struct peaks_field){"gflops", &known->peaks.gflops};
    fields[1] = (struct peaks_field){"read_gbs", &known->peaks.read_gbs};
    fields[2] = (struct peaks_field){"write_gbs", &known->peaks.write_gbs};
    fields[3] = (struct peaks_field){"copy_gbs", &known->peaks.copy_gbs};
    fields[4] = (struct peaks_field){"launch_ns", &known->peaks.launch_ns};
    fields[5] = (struct peaks_field){"busy", &known->busy};
}

/* "l2=4194304:180.5" */
static bool parse_cache(const char *name, const char *value,
                        struct peaks *peaks)
{
    struct cache_peak cache;
    char *end;

    if (name[0] != 'l' || name[1] < '1' || name[1] > '4' || name[2] != '\0')
        return true;
    cache.level = name[1] - '0';
    cache.bytes = strtod(value, &end);
    if (*end != ':')
        return false;
    cache.gbs = strtod(end + 1, &end);
    if (*end || !(cache.bytes > 0) || !(cache.gbs > 0) || isinf(cache.bytes) ||
        isinf(cache.gbs) || peaks->n_caches == PEAKS_MAX_CACHES)
        return false;
    peaks->caches[peaks->n_caches++] = cache;
    return true;
}

static bool parse_pair(char *pair, struct known_peaks *known)
{
    struct peaks_field fields[n_fields];
    char *value = strchr(pair, '='), *end;

    if (!value)
        return false;
    *value++ = '\0';
    if (strcmp(pair, "when") == 0) {
        snprintf(known->when, sizeof known->when, "%s", value);
        return true;
    }
    list_fields(known, fields);
    for (size_t i = 0; i < n_fields; i++) {
        if (strcmp(pair, fields[i].name) != 0)
            continue;
        *fields[i].value = strtod(value, &end);
        return end != value && *end == '\0' && *fields[i].value >= 0 &&
               isfinite(*fields[i].value);
    }
    return parse_cache(pair, value, &known->peaks);
}

void known_peaks_forget(struct known_peaks *known)
{
    *known = (struct known_peaks){.peaks = {.gflops = NAN,
                                            .read_gbs = NAN,
                                            .write_gbs = NAN,
                                            .copy_gbs = NAN,
                                            .launch_ns = NAN},
                                  .busy = NAN};
}

static double better(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

void known_peaks_join(struct known_peaks *into, const struct known_peaks *from)
{
    struct peaks *peaks = &into->peaks;

    peaks->gflops = better(peaks->gflops, from->peaks.gflops);
    peaks->read_gbs = better(peaks->read_gbs, from->peaks.read_gbs);
    peaks->write_gbs = better(peaks->write_gbs, from->peaks.write_gbs);
    peaks->copy_gbs = better(peaks->copy_gbs, from->peaks.copy_gbs);
    peaks->launch_ns = -better(-peaks->launch_ns, -from->peaks.launch_ns);
    for (size_t i = 0; i < from->peaks.n_caches; i++) {
        const struct cache_peak *cache = &from->peaks.caches[i];
        size_t k = 0;

        while (k < peaks->n_caches && peaks->caches[k].level != cache->level)
            k++;
        if (k == peaks->n_caches && k < PEAKS_MAX_CACHES)
            peaks->caches[peaks->n_caches++] = *cache;
        else if (k < peaks->n_caches)
            peaks->caches[k].gbs = better(peaks->caches[k].gbs, cache->gbs);
    }
}

/* Reads a line from after its key on, and changes it. */
static bool known_peaks_parse_line(char *at, struct known_peaks *known)
{
    known_peaks_forget(known);
    while (at) {
        char *next = strchr(at, '\t');

        if (next)
            *next++ = '\0';
        if (!parse_pair(at, known))
            return false;
        at = next;
    }
    return true;
}

/* The line after the head; NULL: not such a file. */
static char *first_line(struct str *text)
{
    size_t n = sizeof head - 1;

    if (text->n <= n || strlen(text->text) != text->n ||
        strncmp(text->text, head, n) != 0 || text->text[n] != '\n')
        return NULL;
    return text->text + n + 1;
}

/* Ends the line at *at with a NUL and moves to the next; NULL if there is no
 * complete line left. */
static char *known_peaks_next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');

    if (!*line || !end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line;
}

static bool has_key(const char *line, const char *key)
{
    size_t n = strlen(key);

    return strncmp(line, key, n) == 0 && line[n] == '\t';
}

bool known_peaks_find(const char *path, const char *key,
                      struct known_peaks *out)
{
    struct str text = {0};
    bool is_found = false;
    char *at = NULL, *line;

    known_peaks_forget(out);
    if (!file_read(path, max_file_bytes, &text, NULL))
        at = first_line(&text);
    while (at && !is_found && (line = known_peaks_next_line(&at)) != NULL) {
        if (has_key(line, key))
            is_found = known_peaks_parse_line(line + strlen(key) + 1, out);
    }
    if (!is_found)
        known_peaks_forget(out);
    str_release(&text);
    return is_found;
}

static void write_known(struct sink *sink, const char *key,
                        const struct known_peaks *known)
{
    struct known_peaks copy = *known;
    struct peaks_field fields[n_fields];

    list_fields(&copy, fields);
    sink_printf(sink, "%s\twhen=%s", key, known->when);
    for (size_t i = 0; i < n_fields; i++) {
        if (isfinite(*fields[i].value))
            sink_printf(sink, "\t%s=%.6g", fields[i].name, *fields[i].value);
    }
    for (size_t i = 0; i < known->peaks.n_caches; i++) {
        const struct cache_peak *cache = &known->peaks.caches[i];

        sink_printf(sink, "\tl%d=%.0f:%.6g", cache->level, cache->bytes,
                    cache->gbs);
    }
    sink_puts(sink, "\n");
}

enum assay_status known_peaks_put(const char *path, const char *key,
                                  const struct known_peaks *known,
                                  struct error *err)
{
    struct str text = {0};
    struct output *output = NULL;
    char *at = NULL, *line;
    enum assay_status st = cache_make_folders(path, err);

    if (!st)
        st = output_open(path, &output, err);
    if (st)
        return st;
    sink_printf(output_sink(output), "%s\n", head);
    write_known(output_sink(output), key, known);
    if (!file_read(path, max_file_bytes, &text, NULL))
        at = first_line(&text);
    while (at && (line = known_peaks_next_line(&at)) != NULL) {
        if (!has_key(line, key) && strchr(line, '\t'))
            sink_printf(output_sink(output), "%s\n", line);
    }
    str_release(&text);
    return output_commit(output, err);
}

/* views/summary_machine.c - summary lines about the machine: what it is, what
 * it can do at best, what could not be measured on it. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Words of a processor's name that say nothing: "16-Core" and these. */
static bool is_empty_word(const char *word, size_t n)
{
    static const char *const words[] = {"Intel", "AMD", "CPU", "Processor"};

    if (n > 5 && isdigit((unsigned char)word[0]) &&
        strncmp(word + n - 5, "-Core", 5) == 0)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (n == strlen(words[i]) && strncmp(word, words[i], n) == 0)
            return true;
    }
    return false;
}

/* "Xeon Gold 6338" for "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"; the whole
 * where nothing would be left. */
static void summary_machine_shorten(char *out, size_t size, const char *name)
{
    size_t n = 0;

    out[0] = '\0';
    for (const char *at = name; *at && *at != '@' && n + 1 < size;) {
        size_t length = strcspn(at, " (@");

        if (length && !is_empty_word(at, length))
            n += (size_t)snprintf(out + n, size - n, "%s%.*s", n ? " " : "",
                                  (int)length, at);
        at += length;
        at += *at == '(' ? strcspn(at, ")") + (strchr(at, ')') != NULL) : 0;
        at += strspn(at, " ");
    }
    if (!n)
        snprintf(out, size, "%s", name);
}

/* "2 cores", behind what is there; nothing where there are none. */
static enum assay_status append_count(struct str *text, double n,
                                      const char *what, const char *between)
{
    if (!(n > 0))
        return ASSAY_OK;
    return str_printf(text, "%s%.0f %s%s", text->n ? between : "", n, what,
                      n == 1 ? "" : "s");
}

/* "Xeon 2 cores, 2 threads, AVX-512" */
static enum assay_status tell_processor(const struct run *run, struct str *text)
{
    const char *cpu = run_fact(run, "machine.cpu");
    const char *simd = run_fact(run, "machine.simd");
    enum assay_status st = ASSAY_OK;
    char name[128];

    if (cpu) {
        summary_machine_shorten(name, sizeof name, cpu);
        st = str_append(text, name);
    }
    if (!st)
        st = append_count(text, run_fact_number(run, "machine.cores"), "core",
                          " ");
    if (!st)
        st = append_count(text, run_fact_number(run, "settings.threads"),
                          "thread", ", ");
    if (!st && simd)
        st = str_printf(text, "%s%s", text->n ? ", " : "", simd);
    return st;
}

/* "peak 301 GFLOP/s, 21.0 GB/s (measured)"; peaks that the run itself raised
 * are those that its modules are held against. */
static void add_peaks(struct line *line, const struct run *run,
                      const struct peaks *peaks)
{
    char flops[UNITS_MAX], bytes[UNITS_MAX];

    if (peaks->gflops > 0)
        line_printf(line, "peak %s GFLOP/s, %s GB/s (%s)",
                    units_number(flops, peaks->gflops),
                    units_number(bytes, peaks_gbs(peaks, INFINITY)),
                    peaks->is_raised ? "raised by this run" : "measured");
    else if (run_fact(run, "model.name"))
        line_item(line, "peak - (assay machine measures it)");
}

/* Facts that have a place of their own, or are for --json. */
static bool is_told_elsewhere(const char *key, bool has_peaks)
{
    static const char *const keys[] = {
        "cpu",      "cores",     "simd",       "library",        "peak_gflops",
        "read_gbs", "write_gbs", "copy_gbs",   "launch_us",      "caches",
        "topology", "mhz",       "load",       "pressure",       "throttled",
        "governor", "missing",   "peaks_busy", "peaks_measured", "l1_bytes",
        "l1_gbs",   "l2_bytes",  "l2_gbs",     "l3_bytes",       "l3_gbs",
        "l4_bytes", "l4_gbs"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0)
            return true;
    }
    return has_peaks &&
           (strcmp(key, "memory_bytes") == 0 || strcmp(key, "kernel") == 0);
}

void summary_machine(const struct summary *summary, const struct rows *rows)
{
    static const char prefix[] = "machine.";
    const struct run *run = summary->run;
    struct line line =
        line_begin(summary->sink, &summary->options->term, "machine");
    const char *library = run_fact(run, "machine.library");
    struct str processor = {0};

    if (tell_processor(run, &processor))
        summary->sink->failed_errno = ENOMEM;
    if (processor.n)
        line_item(&line, str_text(&processor));
    str_release(&processor);
    add_peaks(&line, run, &rows->peaks);
    if (library)
        line_item(&line, library);
    for (size_t i = 0; i < run_fact_count(run); i++) {
        const char *key, *value;

        run_fact_at(run, i, &key, &value);
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !value[0])
            continue;
        key += sizeof prefix - 1;
        if (!strchr(key, '.') &&
            !is_told_elsewhere(key, rows->peaks.gflops > 0))
            summary_add_fact(&line, key, value);
    }
    line_end(&line);
}

void summary_missing(const struct summary *summary)
{
    const char *missing = run_fact(summary->run, "machine.missing");
    struct line line =
        line_begin(summary->sink, &summary->options->term, "missing");

    line.style = STYLE_DIM;
    if (missing)
        line_sentence(&line, missing);
    line_end(&line);
}

/* views/summary_facts.c - summary lines from facts and names, and about the
 * machine: what it is, what it can do at best, what could not be measured on
 * it. */
#include "base/units.h"
#include "views/summary_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts -------------------------------------------------------------- */

/* Keys whose values need no label. */
static bool facts_speaks_for_itself(const char *key)
{
    static const char *const keys[] = {"cpu",     "file",   "kernel",
                                       "library", "name",   "note",
                                       "simd",    "source", "system"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

static bool summary_facts_is_number(const char *text)
{
    return text[0] && text[strspn(text, "0123456789.")] == '\0';
}

/* Cuts a unit off the end of a key: "memory_bytes" is "memory". */
static bool facts_cut_unit(char *words, const char *unit)
{
    size_t n = strlen(words), n_unit = strlen(unit);

    if (n <= n_unit || strcmp(words + n - n_unit, unit) != 0)
        return false;
    words[n - n_unit] = '\0';
    return true;
}

/* Whether a plural key has the value 1: "1 threads". */
static bool facts_is_one_of_many(const char *value, const char *words)
{
    size_t n = strlen(words);

    return strcmp(value, "1") == 0 && n > 1 && words[n - 1] == 's';
}

/* "Xeon", "2 cores", "memory 62.8 GiB": a value with as much of its key as a
 * reader needs. */
static void summary_add_fact(struct line *line, const char *key,
                             const char *value)
{
    char words[64], number[UNITS_MAX];
    size_t n = strnlen(key, sizeof words - 1);

    for (size_t i = 0; i < n; i++)
        words[i] = key[i] == '_' ? ' ' : key[i];
    words[n] = '\0';
    if (facts_speaks_for_itself(key))
        line_item(line, value);
    else if (!summary_facts_is_number(value))
        line_printf(line, "%s %s", words, value);
    else if (facts_cut_unit(words, " bytes"))
        line_printf(line, "%s %s", words,
                    units_bytes(number, strtod(value, NULL)));
    else if (facts_cut_unit(words, " us"))
        line_printf(line, "%s %s", words,
                    units_time(number, strtod(value, NULL) * 1e3));
    else
        line_printf(line, "%s %.*s", value,
                    (int)strlen(words) - facts_is_one_of_many(value, words),
                    words);
}

/* All facts "PREFIX.WORD", in the order they were set. Those with more words
 * are details for --json; the line about the machine has the threads. */
static void summary_facts_add(struct line *line, const struct run *run,
                              const char *prefix)
{
    size_t n = strlen(prefix);

    for (size_t i = 0; i < run_fact_count(run); i++) {
        const char *key, *value;

        run_fact_at(run, i, &key, &value);
        if (strncmp(key, prefix, n) == 0 && key[n] == '.' && value[0] &&
            !strchr(key + n + 1, '.') && strcmp(key, "settings.threads") != 0)
            summary_add_fact(line, key + n + 1, value);
    }
}

static void summary_facts_write(const struct summary *summary,
                                const char *prefix)
{
    struct line line = summary_line(summary, prefix);

    summary_facts_add(&line, summary->run, prefix);
    line_end(&line);
}

void summary_run(const struct summary *summary)
{
    const struct run *run = summary->run;
    struct line line = summary_line(summary, "run");
    const char *command = run_fact(run, "program.command");
    const char *started = run_fact(run, "time.started");
    const char *version = run_fact(run, "assay.version");

    line.style = STYLE_BOLD;
    line_item(&line, run_scope(run, RUN_ROOT)->name);
    line.style = STYLE_NONE;
    if (!command)
        command = run_fact(run, "program.name");
    if (command)
        line_item(&line, command);
    if (started)
        line_item(&line, started);
    if (version)
        line_printf(&line, "assay %s", version);
    line_end(&line);
}

void summary_settings(const struct summary *summary)
{
    summary_facts_write(summary, "settings");
}

void summary_import(const struct summary *summary)
{
    summary_facts_write(summary, "import");
}

/* The length of a name without a number at its end. */
static int facts_bare_length(const char *name)
{
    size_t n = strlen(name);

    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n > 1 && name[n - 1] == ' ' ? (int)n - 1 : (int)strlen(name);
}

/* Threads of the same kind and name, apart from a number, are one item: "worker
 * x4". */
static size_t facts_count_alike(const struct run *run, uint32_t id,
                                bool *is_first)
{
    const struct run_thread *thread = run_thread(run, id);
    int length = facts_bare_length(thread->name);
    size_t n = 0;

    *is_first = true;
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        const struct run_thread *other = run_thread(run, i);

        if (other->kind != thread->kind ||
            facts_bare_length(other->name) != length ||
            strncmp(other->name, thread->name, (size_t)length) != 0)
            continue;
        *is_first &= i >= id;
        n++;
    }
    return n;
}

void summary_threads(const struct summary *summary)
{
    enum { MOST_SHOWN = 12 };
    const struct run *run = summary->run;
    struct line line = summary_line(summary, "threads");
    size_t n = run_thread_count(run), shown = 0, items = 0, n_helpers = 0;

    for (uint32_t i = 0; i < n && items < MOST_SHOWN; i++) {
        const struct run_thread *thread = run_thread(run, i);
        bool is_first;
        size_t alike = facts_count_alike(run, i, &is_first);
        const char *kind =
            thread->kind == THREAD_CPU ? "" : thread_kind_text(thread->kind);

        if (thread->kind == THREAD_HELPER) {
            n_helpers++;
            continue;
        }
        if (!is_first)
            continue;
        if (alike > 1)
            line_printf(&line, "%s%s%.*s x%zu", kind, kind[0] ? " " : "",
                        facts_bare_length(thread->name), thread->name, alike);
        else
            line_printf(&line, "%s%s%s", kind, kind[0] ? " " : "",
                        thread->name);
        shown += alike;
        items++;
    }
    if (shown + n_helpers < n)
        line_printf(&line, "%zu more", n - shown - n_helpers);
    line_end(&line);
}

/* ---- the machine -------------------------------------------------------- */

/* Words of a processor's name that say nothing, such as "16-Core". */
static bool facts_is_empty_word(const char *word, size_t n)
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
 * name if nothing would be left. */
static void summary_machine_shorten(char *out, size_t size, const char *name)
{
    size_t n = 0;

    out[0] = '\0';
    for (const char *at = name; *at && *at != '@' && n + 1 < size;) {
        size_t length = strcspn(at, " (@");

        if (length && !facts_is_empty_word(at, length))
            n += (size_t)snprintf(out + n, size - n, "%s%.*s", n ? " " : "",
                                  (int)length, at);
        at += length;
        at += *at == '(' ? strcspn(at, ")") + (strchr(at, ')') != NULL) : 0;
        at += strspn(at, " ");
    }
    if (!n)
        snprintf(out, size, "%s", name);
}

/* Appends "2 cores"; nothing if there are none. */
static enum assay_status facts_append_count(struct str *text, double n,
                                            const char *what,
                                            const char *between)
{
    if (!(n > 0))
        return ASSAY_OK;
    return str_printf(text, "%s%.0f %s%s", text->n ? between : "", n, what,
                      n == 1 ? "" : "s");
}

/* "Xeon 2 cores, 2 threads, AVX-512" */
static enum assay_status facts_put_processor(const struct run *run,
                                             struct str *text)
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
        st = facts_append_count(text, run_fact_number(run, "machine.cores"),
                                "core", " ");
    if (!st)
        st = facts_append_count(text, run_fact_number(run, "settings.threads"),
                                "thread", ", ");
    if (!st && simd)
        st = str_printf(text, "%s%s", text->n ? ", " : "", simd);
    return st;
}

/* "peak 301 GFLOP/s, 21.0 GB/s (measured)". Modules are compared with peaks
 * that the run itself may have raised. The memory of a GPU was measured while
 * nobody else used it: what is faster came out of its cache in part. */
static void facts_add_peaks(struct line *line, const struct run *run,
                            const struct peaks *peaks)
{
    struct peaks measured = peaks_of_facts(run);
    bool is_gpu = run_fact(run, "machine.gpu") != NULL;
    double gbs = peaks_gbs(is_gpu ? &measured : peaks, INFINITY);
    char flops[UNITS_MAX], bytes[UNITS_MAX];

    if (peaks->gflops > 0)
        line_printf(
            line, "peak %s, %s%s",
            units_rate(flops, peaks->gflops, units_flops(peaks->gflops)),
            units_rate(bytes, gbs, units_bandwidth(gbs)),
            line->is_single               ? ""
            : peaks->is_raised && !is_gpu ? " (raised by this run)"
                                          : " (measured)");
    else if (run_fact(run, "model.name"))
        line_item(line, "peak - (assay machine measures it)");
}

/* Facts that are shown elsewhere, or only with --json. */
static bool facts_is_shown_elsewhere(const char *key, bool has_peaks)
{
    static const char *const keys[] = {
        "cpu",         "gpu",      "cores",     "simd",       "library",
        "peak_gflops", "read_gbs", "write_gbs", "copy_gbs",   "launch_us",
        "caches",      "topology", "mhz",       "load",       "pressure",
        "throttled",   "governor", "missing",   "peaks_busy", "peaks_measured",
        "l1_bytes",    "l1_gbs",   "l2_bytes",  "l2_gbs",     "l3_bytes",
        "l3_gbs",      "l4_bytes", "l4_gbs",    "fault_ns"};

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
    struct line line = summary_line(summary, "machine");
    const char *library = run_fact(run, "machine.library");
    const char *gpu = run_fact(run, "machine.gpu");
    struct str processor = {0};

    if (gpu)
        line_item(&line, gpu);
    if (facts_put_processor(run, &processor))
        summary->sink->failed_errno = ENOMEM;
    if (processor.n)
        line_item(&line, str_text(&processor));
    str_release(&processor);
    facts_add_peaks(&line, run, &rows->peaks);
    if (library)
        line_item(&line, library);
    for (size_t i = 0; i < run_fact_count(run); i++) {
        const char *key, *value;

        run_fact_at(run, i, &key, &value);
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !value[0])
            continue;
        key += sizeof prefix - 1;
        if (!strchr(key, '.') &&
            !facts_is_shown_elsewhere(key, rows->peaks.gflops > 0))
            summary_add_fact(&line, key, value);
    }
    line_end(&line);
}

void summary_missing(const struct summary *summary)
{
    const char *missing = run_fact(summary->run, "machine.missing");
    struct line line = summary_line(summary, "missing");

    line.style = STYLE_DIM;
    if (missing)
        line_sentence(&line, missing);
    line_end(&line);
}

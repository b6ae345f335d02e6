/* views/summary_facts.c - summary lines made of facts and names. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <stdlib.h>
#include <string.h>

/* Keys whose values need no word beside them. */
static bool speaks_for_itself(const char *key)
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
static bool cut_unit(char *words, const char *unit)
{
    size_t n = strlen(words), n_unit = strlen(unit);

    if (n <= n_unit || strcmp(words + n - n_unit, unit) != 0)
        return false;
    words[n - n_unit] = '\0';
    return true;
}

/* "1 threads" is one thread. */
static bool is_one_of_many(const char *value, const char *words)
{
    size_t n = strlen(words);

    return strcmp(value, "1") == 0 && n > 1 && words[n - 1] == 's';
}

/* "Xeon", "2 cores", "memory 62.8 GiB": a value with as much of its key as a
 * reader needs. */
void summary_add_fact(struct line *line, const char *key, const char *value)
{
    char words[64], number[UNITS_MAX];
    size_t n = strnlen(key, sizeof words - 1);

    for (size_t i = 0; i < n; i++)
        words[i] = key[i] == '_' ? ' ' : key[i];
    words[n] = '\0';
    if (speaks_for_itself(key))
        line_item(line, value);
    else if (!summary_facts_is_number(value))
        line_printf(line, "%s %s", words, value);
    else if (cut_unit(words, " bytes"))
        line_printf(line, "%s %s", words,
                    units_bytes(number, strtod(value, NULL)));
    else if (cut_unit(words, " us"))
        line_printf(line, "%s %s", words,
                    units_time(number, strtod(value, NULL) * 1e3));
    else
        line_printf(line, "%s %.*s", value,
                    (int)strlen(words) - is_one_of_many(value, words), words);
}

/* All facts "PREFIX.WORD", in the order they were set. Those of more words are
 * details, for --json; the threads are told with the machine. */
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
    struct line line =
        line_begin(summary->sink, &summary->options->term, prefix);

    summary_facts_add(&line, summary->run, prefix);
    line_end(&line);
}

void summary_run(const struct summary *summary)
{
    const struct run *run = summary->run;
    struct line line =
        line_begin(summary->sink, &summary->options->term, "run");
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

/* The length of a name without the number at its end. */
static int bare_length(const char *name)
{
    size_t n = strlen(name);

    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n > 1 && name[n - 1] == ' ' ? (int)n - 1 : (int)strlen(name);
}

/* Threads of the same name and kind are one item, with numbers or without:
 * "worker x4". */
static size_t count_alike(const struct run *run, uint32_t id, bool *is_first)
{
    const struct run_thread *thread = run_thread(run, id);
    int length = bare_length(thread->name);
    size_t n = 0;

    *is_first = true;
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        const struct run_thread *other = run_thread(run, i);

        if (other->kind != thread->kind || bare_length(other->name) != length ||
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
    struct line line =
        line_begin(summary->sink, &summary->options->term, "threads");
    size_t n = run_thread_count(run), shown = 0, items = 0;

    for (uint32_t i = 0; i < n && items < MOST_SHOWN; i++) {
        const struct run_thread *thread = run_thread(run, i);
        bool is_first;
        size_t alike = count_alike(run, i, &is_first);
        const char *kind =
            thread->kind == THREAD_CPU ? "" : thread_kind_text(thread->kind);

        if (!is_first)
            continue;
        if (alike > 1)
            line_printf(&line, "%s%s%.*s x%zu", kind, kind[0] ? " " : "",
                        bare_length(thread->name), thread->name, alike);
        else
            line_printf(&line, "%s%s%s", kind, kind[0] ? " " : "",
                        thread->name);
        shown += alike;
        items++;
    }
    if (shown < n)
        line_printf(&line, "%zu more", n - shown);
    line_end(&line);
}

/* views/summary_facts.c - summary lines made of facts and names. */
#include "views/line.h"
#include "views/summary.h"

#include <string.h>

/* Keys whose values need no word beside them. */
static bool speaks_for_itself(const char *key)
{
    static const char *const keys[] = {"command", "cpu",  "date",    "file",
                                       "host",    "name", "program", "source",
                                       "system",  "when"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

static bool is_number(const char *text)
{
    return text[0] && text[strspn(text, "0123456789.")] == '\0';
}

/* "Xeon", "2 cores", "kernel 6.1": a value with as much of its key as a
 * reader needs. */
static void add_fact(struct line *line, const char *key, const char *value)
{
    char words[64];
    size_t n = strnlen(key, sizeof words - 1);

    for (size_t i = 0; i < n; i++)
        words[i] = key[i] == '_' || key[i] == '.' ? ' ' : key[i];
    words[n] = '\0';
    if (speaks_for_itself(key))
        line_item(line, value);
    else if (is_number(value) && strcmp(key, "version") != 0)
        line_printf(line, "%s %s", value, words);
    else
        line_printf(line, "%s %s", words, value);
}

/* All facts of "PREFIX.", in the order they were set. */
static void add_facts(struct line *line, const struct run *run,
                      const char *prefix)
{
    size_t n = strlen(prefix);

    for (size_t i = 0; i < run_fact_count(run); i++) {
        const char *key, *value;

        run_fact_at(run, i, &key, &value);
        if (strncmp(key, prefix, n) == 0 && key[n] == '.' && value[0])
            add_fact(line, key + n + 1, value);
    }
}

static void write_facts(const struct summary *summary, const char *prefix)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, prefix);

    add_facts(&line, summary->run, prefix);
    line_end(&line);
}

void summary_run(const struct summary *summary)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, "run");

    line.style = STYLE_BOLD;
    line_item(&line, run_scope(summary->run, RUN_ROOT)->name);
    line.style = STYLE_NONE;
    add_facts(&line, summary->run, "run");
    line_end(&line);
}

void summary_machine(const struct summary *summary)
{
    write_facts(summary, "machine");
}

void summary_settings(const struct summary *summary)
{
    write_facts(summary, "settings");
}

void summary_import(const struct summary *summary)
{
    write_facts(summary, "import");
}

/* Threads of the same name and kind are one item: "worker x4". */
static size_t count_alike(const struct run *run, uint32_t id, bool *is_first)
{
    const struct run_thread *thread = run_thread(run, id);
    size_t n = 0;

    *is_first = true;
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        const struct run_thread *other = run_thread(run, i);

        if (other->kind != thread->kind ||
            strcmp(other->name, thread->name) != 0)
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
            line_printf(&line, "%s%s%s x%zu", kind, kind[0] ? " " : "",
                        thread->name, alike);
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

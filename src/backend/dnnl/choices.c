/* backend/dnnl/choices.c - the kernels that were fastest, remembered in a text
 * file.
 *
 * The first line says what the file is. Every other one is
 *
 *     MACHINE <tab> SHAPE <tab> KERNEL MS <tab> KERNEL MS ...
 *
 * with the chosen kernel first; MACHINE is processor, instruction set, threads
 * and oneDNN's version, so that one file serves several. A file that is
 * anything else is not looked at and is replaced.
 *
 * A training takes the same choices from one session to the next, also those
 * that were not measured: the text of these has a "-" for the time. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/processor.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "assay kernel choices 5";

enum { max_file_bytes = 4 << 20, machine_text = 256 };

struct choices {
    const char *path; /* NULL: nothing is read or written */
    struct arena memory;
    char machine[machine_text];
    struct map index; /* "MACHINE <tab> SHAPE" to its place below */
    struct choice {
        const char *key;
        struct candidates candidates;
    } * items;
    size_t n, capacity;
    bool is_changed;
};

static void write_machine(struct choices *choices, int n_threads)
{
    const char *simd = processor_simd();
    char processor[128] = "unknown processor", library[64];

    processor_name("", processor, sizeof processor);
    onednn_version(library, sizeof library);
    snprintf(choices->machine, sizeof choices->machine,
             "%s, %s, %d threads, %s", processor, simd ? simd : "plain",
             n_threads, library);
}

static enum assay_status put(struct choices *choices, const char *key,
                             size_t length, const struct candidates *candidates)
{
    struct choice *moved;
    char *kept;
    uint64_t at;

    if (map_find(&choices->index, key, length, &at)) {
        choices->items[at].candidates = *candidates;
        return ASSAY_OK;
    }
    moved = vec_reserve(choices->items, &choices->capacity, choices->n + 1,
                        sizeof *moved);
    if (!moved)
        return ASSAY_NOMEM;
    choices->items = moved;
    kept = arena_strndup(&choices->memory, key, length);
    if (!kept || map_put(&choices->index, key, length, choices->n))
        return ASSAY_NOMEM;
    choices->items[choices->n++] =
        (struct choice){.key = kept, .candidates = *candidates};
    return ASSAY_OK;
}

/* "direct jit:avx512_core 1.25", or "-" for the time; false where it is
 * something else. */
static bool parse_candidate(const char *text, size_t length,
                            struct candidate *out)
{
    size_t name = length;
    char *end;

    while (name > 0 && text[name - 1] != ' ')
        name--;
    if (name < 2 || name > sizeof out->name)
        return false;
    memcpy(out->name, text, name - 1);
    out->name[name - 1] = '\0';
    if (length - name == 1 && text[name] == '-') {
        out->ms = -1;
        return true;
    }
    out->ms = strtod(text + name, &end);
    return end == text + length && out->ms >= 0;
}

/* The candidates after the key; its length, or 0 for a bad line. */
static size_t parse_line(const char *line, size_t length,
                         struct candidates *out)
{
    const char *tab = memchr(line, '\t', length);
    size_t key, at;

    tab = tab ? memchr(tab + 1, '\t', (size_t)(line + length - tab - 1)) : NULL;
    if (!tab)
        return 0;
    key = (size_t)(tab - line);
    out->n = 0;
    for (at = key + 1; at <= length; at++) {
        size_t part = at;

        while (part < length && line[part] != '\t')
            part++;
        if (out->n == MAX_CANDIDATES ||
            !parse_candidate(line + at, part - at, &out->items[out->n++]))
            return 0;
        at = part;
    }
    return out->n ? key : 0;
}

static void choices_forget(struct choices *choices)
{
    choices->n = 0;
    map_release(&choices->index);
}

/* All or nothing: what cannot be read whole is not trusted. */
static enum assay_status parse(struct choices *choices, const char *text)
{
    const char *line = text + strcspn(text, "\n");
    enum assay_status st = ASSAY_OK;

    if (strncmp(text, head, sizeof head - 1) != 0 ||
        line != text + sizeof head - 1)
        return ASSAY_OK;
    while (!st && *line && *++line) {
        size_t length = strcspn(line, "\n");
        struct candidates candidates;
        size_t key = parse_line(line, length, &candidates);

        if (!key || line[length] != '\n') {
            choices_forget(choices);
            return ASSAY_OK;
        }
        st = put(choices, line, key, &candidates);
        line += length;
    }
    return st;
}

static enum assay_status read_file(struct choices *choices, const char *path)
{
    enum assay_status st = ASSAY_OK;
    struct str text = {0};

    choices->path = arena_strdup(&choices->memory, path);
    if (!choices->path)
        return ASSAY_NOMEM;
    if (!file_read(path, max_file_bytes, &text, NULL) &&
        strlen(str_text(&text)) == text.n)
        st = parse(choices, str_text(&text));
    str_release(&text);
    return st;
}

enum assay_status choices_open(const char *path, const char *text,
                               int n_threads, struct choices **out,
                               struct error *err)
{
    struct choices *choices = mem_zalloc(sizeof *choices);
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!choices)
        return error_nomem(err, sizeof *choices, "the choice of kernels");
    write_machine(choices, n_threads);
    if (path)
        st = read_file(choices, path);
    if (!st && text)
        st = parse(choices, text);
    if (st) {
        choices_close(choices);
        return error_nomem(err, sizeof *choices, "the choice of kernels");
    }
    *out = choices;
    return ASSAY_OK;
}

static void write_choice(const struct choice *choice, struct sink *sink)
{
    const struct candidates *list = &choice->candidates;

    sink_puts(sink, choice->key);
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].ms < 0)
            sink_printf(sink, "\t%s -", list->items[i].name);
        else
            sink_printf(sink, "\t%s %.4f", list->items[i].name,
                        list->items[i].ms);
    }
    sink_puts(sink, "\n");
}

void choices_write(const struct choices *choices, struct sink *sink)
{
    sink_printf(sink, "%s\n", head);
    for (size_t i = 0; i < choices->n; i++)
        write_choice(&choices->items[i], sink);
}

static bool is_measured(const struct choice *choice)
{
    return choice->candidates.items[0].ms >= 0;
}

/* Where it cannot be written, the next run measures again. */
void choices_save(struct choices *choices)
{
    struct output *output;

    if (!choices->is_changed || !choices->path)
        return;
    choices->is_changed = false;
    if (output_open(choices->path, &output, NULL))
        return;
    sink_printf(output_sink(output), "%s\n", head);
    for (size_t i = 0; i < choices->n; i++) {
        if (is_measured(&choices->items[i]))
            write_choice(&choices->items[i], output_sink(output));
    }
    (void)output_commit(output, NULL);
}

void choices_close(struct choices *choices)
{
    if (!choices)
        return;
    choices_save(choices);
    map_release(&choices->index);
    arena_release(&choices->memory);
    mem_free(choices->items);
    mem_free(choices);
}

bool choices_find(const struct choices *choices, const char *shape,
                  struct candidates *out)
{
    char key[512];
    uint64_t at;

    snprintf(key, sizeof key, "%s\t%s", choices->machine, shape);
    if (!map_find_text(&choices->index, key, &at))
        return false;
    *out = choices->items[at].candidates;
    return true;
}

enum assay_status choices_put(struct choices *choices, const char *shape,
                              const struct candidates *candidates,
                              struct error *err)
{
    char key[512];

    snprintf(key, sizeof key, "%s\t%s", choices->machine, shape);
    choices->is_changed |= candidates->items[0].ms >= 0;
    if (put(choices, key, strlen(key), candidates))
        return error_nomem(err, sizeof *candidates, "the choice of kernels");
    return ASSAY_OK;
}

/* cli/labels.c - see labels.h. */
#include "cli/labels.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum { max_bytes = 4 << 20 };

void labels_release(struct labels *labels)
{
    mem_free(labels->items);
    str_release(&labels->text);
    *labels = (struct labels){0};
}

static enum assay_status add(struct labels *labels, char *line,
                             struct error *err)
{
    const char **moved = vec_reserve(labels->items, &labels->capacity,
                                     labels->n + 1, sizeof *labels->items);
    size_t n = strlen(line);

    if (!moved)
        return error_nomem(err, n, "the names of the classes");
    if (n && line[n - 1] == '\r')
        line[n - 1] = '\0';
    labels->items = moved;
    labels->items[labels->n++] = line;
    return ASSAY_OK;
}

/* Names are shown and drawn as they are. */
static bool is_text(const struct str *text)
{
    for (size_t i = 0; i < text->n; i++) {
        unsigned char c = (unsigned char)text->text[i];

        if (c == 0x7f || (c < ' ' && !strchr("\t\r\n", c)) || !c)
            return false;
    }
    return true;
}

enum assay_status labels_read(struct labels *labels, const char *path,
                              struct error *err)
{
    enum assay_status st = file_read(path, max_bytes, &labels->text, err);
    char *line = labels->text.text;

    if (!st && !is_text(&labels->text))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is no text; names of classes are wanted, one a "
                         "line",
                         path);
    while (!st && line && *line) {
        char *end = strchr(line, '\n');

        if (end)
            *end = '\0';
        st = add(labels, line, err);
        line = end ? end + 1 : NULL;
    }
    if (!st && !labels->n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no names; one a line is wanted, the "
                       "background's first",
                       path);
    return st;
}

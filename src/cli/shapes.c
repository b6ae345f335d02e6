/* cli/shapes.c - see shapes.h. */
#include "cli/shapes.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool read_sizes(const char *text, struct shape *shape)
{
    *shape = (struct shape){0};
    for (;;) {
        char *end;

        if (shape->rank == SHAPE_MAX_RANK || *text < '0' || *text > '9')
            return false;
        errno = 0;
        shape->dims[shape->rank++] = strtoll(text, &end, 10);
        if (errno || (*end && *end != 'x'))
            return false;
        if (!*end)
            return true;
        text = end + 1;
    }
}

static enum assay_status read_word(struct shape_list *list, const char *word,
                                   struct error *err)
{
    const char *equals = strrchr(word, '=');
    struct onnx_shape_choice choice = {0};

    if (!read_sizes(equals ? equals + 1 : word, &choice.shape))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--shape takes NAME=1x3x640x640, not '%s'", word);
    if (equals) {
        choice.input =
            arena_strndup(&list->names, word, (size_t)(equals - word));
        if (!choice.input)
            return error_nomem(err, strlen(word), "the name of an input");
    }
    list->items[list->n++] = choice;
    return ASSAY_OK;
}

enum assay_status shapes_read(const struct words *words,
                              struct shape_list *list, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *list = (struct shape_list){0};
    list->items = mem_array(words->n, sizeof *list->items);
    if (!list->items)
        return error_nomem(err, words->n * sizeof *list->items,
                           "the shapes of inputs");
    for (size_t i = 0; !st && i < words->n; i++)
        st = read_word(list, words->items[i], err);
    return st;
}

void shapes_release(struct shape_list *list)
{
    mem_free(list->items);
    arena_release(&list->names);
    *list = (struct shape_list){0};
}

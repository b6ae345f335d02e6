/* formats/torch/pickle_value.c - see pickle_value_internal.h. */
#include "formats/torch/pickle_value_internal.h"

#include <string.h>

struct pickle_value *pickle_value_new(struct arena *arena,
                                      enum pickle_kind kind)
{
    struct pickle_value *value = arena_alloc(arena, sizeof *value);

    if (value)
        *value = (struct pickle_value){.kind = kind};
    return value;
}

enum assay_status pickle_items_add(struct arena *arena,
                                   struct pickle_items *items,
                                   struct pickle_value *key,
                                   struct pickle_value *value,
                                   struct error *err)
{
    struct pickle_item *item = arena_alloc(arena, sizeof *item);

    if (!item)
        return error_nomem(err, sizeof *item, "the items of a pickle");
    *item = (struct pickle_item){.key = key, .value = value};
    if (items->last)
        items->last->next = item;
    else
        items->first = item;
    items->last = item;
    items->n++;
    return ASSAY_OK;
}

struct pickle_value *pickle_items_at(const struct pickle_items *items, size_t i)
{
    const struct pickle_item *item = items->first;

    while (item && i-- > 0)
        item = item->next;
    return item ? item->value : NULL;
}

bool pickle_text_is(const struct pickle_text *text, const char *wanted)
{
    return text->n == strlen(wanted) &&
           memcmp(text->bytes, wanted, text->n) == 0;
}

const struct pickle_value *pickle_dict_get(const struct pickle_value *dict,
                                           const char *key)
{
    if (dict->kind != PICKLE_DICT)
        return NULL;
    for (const struct pickle_item *item = dict->items.first; item;
         item = item->next) {
        if (item->key->kind == PICKLE_TEXT &&
            pickle_text_is(&item->key->text, key))
            return item->value;
    }
    return NULL;
}

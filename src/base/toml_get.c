/* base/toml_get.c - typed look-ups in a TOML tree. */
#include "base/toml.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *toml_kind_text(enum toml_kind kind)
{
    static const char *const texts[] = {
#define ROW(name, text) text,
        TOML_KIND_LIST(ROW)
#undef ROW
    };

    return texts[kind];
}

static bool toml_get_is_key(const struct toml_value *value, const char *key)
{
    return strlen(key) == value->key.n &&
           memcmp(value->key.text, key, value->key.n) == 0;
}

const struct toml_value *toml_find(const struct toml_value *table,
                                   const char *key)
{
    if (table->kind != TOML_TABLE)
        return NULL;
    for (const struct toml_value *value = table->items.first; value;
         value = value->next) {
        if (toml_get_is_key(value, key))
            return value;
    }
    return NULL;
}

enum assay_status toml_complain(const struct toml_value *value,
                                struct error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(
        err, ASSAY_BAD_INPUT, "%s: line %" PRIu32 ": %s", value->file,
        value->key.text ? value->key_place.line : value->place.line, text);
}

enum assay_status toml_get(const struct toml_value *table, const char *key,
                           enum toml_kind kind, const struct toml_value **value,
                           struct error *err)
{
    const struct toml_value *found = toml_find(table, key);

    if (!found)
        return ASSAY_OK;
    if (found->kind != kind)
        return toml_complain(found, err, "%s must be %s, not %s", key,
                             toml_kind_text(kind), toml_kind_text(found->kind));
    *value = found;
    return ASSAY_OK;
}

enum assay_status toml_check_keys(const struct toml_value *table,
                                  const char *const *known, size_t n_known,
                                  struct error *err)
{
    for (const struct toml_value *value = table->items.first; value;
         value = value->next) {
        size_t i = 0;

        while (i < n_known && !toml_get_is_key(value, known[i]))
            i++;
        if (i == n_known)
            return toml_complain(value, err, "unknown key %s", value->key.text);
    }
    return ASSAY_OK;
}

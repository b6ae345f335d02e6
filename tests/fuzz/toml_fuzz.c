/* Any bytes as a TOML document: it is read or refused, and nothing leaks. */
#include "base/mem.h"
#include "base/toml.h"
#include "fuzz.h"

#include <string.h>

/* Reads every value. Nesting is limited, so recursion is safe. */
static size_t walk(const struct toml_value *value)
{
    size_t sum = value->key.text ? strlen(value->key.text) : 0;

    if (value->kind == TOML_STRING)
        sum += strlen(value->string.text) + value->string.n;
    if (value->kind == TOML_ARRAY || value->kind == TOML_TABLE) {
        size_t n = 0;

        for (const struct toml_value *item = value->items.first; item;
             item = item->next) {
            sum += walk(item);
            n++;
        }
        if (n != value->items.n || value->depth > TOML_MAX_DEPTH)
            __builtin_trap();
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct error err = {0};
    struct toml *toml;
    enum assay_status st =
        toml_read_text((const char *)data, n, "fuzz", &toml, &err);

    if (st == ASSAY_OK) {
        walk(toml_root(toml));
        toml_free(toml);
    } else if (toml || !err.text[0]) {
        __builtin_trap();
    }
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}

/* Any bytes as an INI file: it is read or refused, and nothing leaks. */
#include "base/ini.h"
#include "base/mem.h"
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct error err = {0};
    struct toml *toml;
    size_t sum = 0;

    if (ini_read_text((const char *)data, n, "fuzz", &toml, &err) == ASSAY_OK) {
        const struct toml_value *section = toml_root(toml)->items.first;

        for (; section; section = section->next)
            sum += strlen(section->key.text) + section->items.n;
        toml_free(toml);
    } else if (toml || !err.text[0]) {
        __builtin_trap();
    }
    if (mem_live() != before || sum == SIZE_MAX)
        __builtin_trap();
    return 0;
}

/* Any bytes as the settings of a training: they are read or refused, values
 * lie in their ranges, and nothing leaks. */
#include "base/mem.h"
#include "fuzz.h"
#include "train/config.h"

#include <string.h>

static void check_key(const struct train_config *config,
                      const struct config_key *key)
{
    const char *at = (const char *)config + key->offset;
    char text[CONFIG_VALUE_MAX];
    double value = 0;

    if (!config_value_text(config, key, text))
        return;
    if (key->type == CONFIG_INTEGER)
        value = (double)*(const int64_t *)at;
    if (key->type == CONFIG_NUMBER)
        value = *(const double *)at;
    if ((key->type == CONFIG_INTEGER || key->type == CONFIG_NUMBER) &&
        !(value >= key->min && value <= key->max))
        __builtin_trap();
    if (strlen(text) >= sizeof text)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct train_config config;
    struct error err = {0};
    enum assay_status st =
        train_config_read_text((const char *)data, n, "fuzz", &config, &err);

    if ((st != ASSAY_OK) != (err.text[0] != '\0'))
        __builtin_trap();
    for (const struct config_key *key = config_keys; key->section; key++)
        check_key(&config, key);
    train_config_release(&config);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}

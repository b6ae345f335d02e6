/* train/config_text.c - settings as text: their values, a file of defaults. */
#include "train/config.h"

#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const void *field_of(const struct train_config *config,
                            const struct config_key *key)
{
    return (const char *)config + key->offset;
}

/* In quotes; what TOML wants escaped is escaped. */
static void write_quoted(char out[CONFIG_VALUE_MAX], const char *text)
{
    static const size_t longest_escape = sizeof "\\u0000" - 1;
    size_t n = 0;

    out[n++] = '"';
    for (; *text && n + longest_escape + sizeof "\"" < CONFIG_VALUE_MAX;
         text++) {
        unsigned char c = (unsigned char)*text;

        if (c < ' ' || c == 0x7f)
            n += (size_t)snprintf(out + n, CONFIG_VALUE_MAX - n, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            n += (size_t)snprintf(out + n, CONFIG_VALUE_MAX - n, "\\%c", c);
        else
            out[n++] = *text;
    }
    out[n++] = '"';
    out[n] = '\0';
}

bool config_value_text(const struct train_config *config,
                       const struct config_key *key, char out[CONFIG_VALUE_MAX])
{
    const void *field = field_of(config, key);
    const char *text = NULL;

    switch (key->type) {
    case CONFIG_INTEGER:
        snprintf(out, CONFIG_VALUE_MAX, "%" PRId64, *(const int64_t *)field);
        return !key->automatic || *(const int64_t *)field != -1;
    case CONFIG_NUMBER:
        decimal_write(out, *(const double *)field);
        return true;
    case CONFIG_FLAG:
        snprintf(out, CONFIG_VALUE_MAX, "%s",
                 *(const bool *)field ? "true" : "false");
        return true;
    case CONFIG_TEXT:
        text = *(const char *const *)field;
        break;
    case CONFIG_CHOICE:
        text = key->choices[*(const int *)field];
        break;
    }
    out[0] = '\0';
    if (text)
        write_quoted(out, text);
    return text != NULL;
}

/* "sgd", "adamw" */
static void write_choices(struct sink *sink, const struct config_key *key)
{
    for (size_t i = 0; key->choices && key->choices[i]; i++)
        sink_printf(sink, "%s\"%s\"", i ? ", " : ": ", key->choices[i]);
}

static void write_key(struct sink *sink, const struct train_config *config,
                      const struct config_key *key)
{
    char value[CONFIG_VALUE_MAX];

    sink_printf(sink, "# %s", key->meaning);
    write_choices(sink, key);
    if (config_value_text(config, key, value))
        sink_printf(sink, "\n%s = %s\n", key->name, value);
    else
        sink_printf(sink, "\n# %s: %s\n", key->name, key->automatic);
}

void train_config_write_defaults(struct sink *sink)
{
    struct train_config config = train_config_defaults();
    const char *section = "";

    for (const struct config_key *key = config_keys; key->section; key++) {
        if (strcmp(key->section, section) != 0) {
            sink_printf(sink, "%s[%s]\n", *section ? "\n" : "", key->section);
            section = key->section;
        }
        write_key(sink, &config, key);
    }
    train_config_release(&config);
}

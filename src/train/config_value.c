/* train/config_value.c - one value into its field. */
#include "train/config_internal.h"

#include "base/nearest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *field_of(struct train_config *config, const struct config_key *key)
{
    return (char *)config + key->offset;
}

const char *train_config_place(const struct train_config *config,
                               const struct config_key *key, char *out,
                               size_t size)
{
    uint32_t line = config->lines[key - config_keys];

    if (line)
        snprintf(out, size, "%s: line %" PRIu32 ": %s", config->path, line,
                 key->name);
    else
        snprintf(out, size, "%s.%s", key->section, key->name);
    return out;
}

enum assay_status config_refuse(const struct train_config *config,
                                const struct config_key *key, struct error *err,
                                const char *format, ...)
{
    char text[sizeof err->text], place[sizeof err->text];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    train_config_place(config, key, place, sizeof place);
    return error_set(err,
                     config->lines[key - config_keys] ? ASSAY_BAD_INPUT
                                                      : ASSAY_BAD_USAGE,
                     "%s %s", place, text);
}

static enum assay_status wants(struct train_config *config,
                               const struct config_key *key, const char *what,
                               const struct toml_value *value,
                               struct error *err)
{
    return config_refuse(config, key, err, "wants %s, found %s", what,
                         toml_kind_text(value->kind));
}

static enum assay_status read_integer(struct train_config *config,
                                      const struct config_key *key,
                                      const struct toml_value *value,
                                      struct error *err)
{
    if (value->kind != TOML_INTEGER)
        return wants(config, key, "an integer", value, err);
    if ((double)value->integer < key->min || (double)value->integer > key->max)
        return config_refuse(config, key, err,
                             "is %" PRId64 "; it must be from %.0f to %.0f",
                             value->integer, key->min, key->max);
    *(int64_t *)field_of(config, key) = value->integer;
    return ASSAY_OK;
}

static enum assay_status read_number(struct train_config *config,
                                     const struct config_key *key,
                                     const struct toml_value *value,
                                     struct error *err)
{
    double number;

    if (value->kind != TOML_FLOAT && value->kind != TOML_INTEGER)
        return wants(config, key, "a number", value, err);
    number = value->kind == TOML_FLOAT ? value->real : (double)value->integer;
    if (!(number >= key->min && number <= key->max))
        return key->min > 0
                   ? config_refuse(config, key, err,
                                   "is %g; it must be above 0 and at most %g",
                                   number, key->max)
                   : config_refuse(config, key, err,
                                   "is %g; it must be from %g to %g", number,
                                   key->min, key->max);
    *(double *)field_of(config, key) = number;
    return ASSAY_OK;
}

static enum assay_status read_flag(struct train_config *config,
                                   const struct config_key *key,
                                   const struct toml_value *value,
                                   struct error *err)
{
    if (value->kind != TOML_BOOL)
        return wants(config, key, "true or false", value, err);
    *(bool *)field_of(config, key) = value->boolean;
    return ASSAY_OK;
}

static enum assay_status check_text(struct train_config *config,
                                    const struct config_key *key,
                                    const struct toml_value *value,
                                    struct error *err)
{
    if (value->kind != TOML_STRING)
        return wants(config, key, "a string", value, err);
    if (!value->string.n)
        return config_refuse(config, key, err, "is empty");
    if (strlen(value->string.text) != value->string.n)
        return config_refuse(config, key, err, "has a NUL in it");
    return ASSAY_OK;
}

static enum assay_status read_text(struct train_config *config,
                                   const struct config_key *key,
                                   const struct toml_value *value,
                                   struct error *err)
{
    enum assay_status st = check_text(config, key, value, err);
    const char *kept;

    if (st)
        return st;
    kept = arena_strdup(&config->texts, value->string.text);
    if (!kept)
        return error_nomem(err, value->string.n, "a setting");
    *(const char **)field_of(config, key) = kept;
    return ASSAY_OK;
}

/* "sgd, adamw" */
static void list_choices(const struct config_key *key, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; key->choices[i] && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "",
                              key->choices[i]);
}

static enum assay_status refuse_choice(struct train_config *config,
                                       const struct config_key *key,
                                       const char *word, struct error *err)
{
    struct nearest nearest = nearest_to(word);
    char all[160] = "";

    for (size_t i = 0; key->choices[i]; i++)
        nearest_offer(&nearest, key->choices[i]);
    if (nearest.candidate)
        return config_refuse(config, key, err,
                             "is \"%s\"; did you mean \"%s\"?", word,
                             nearest.candidate);
    list_choices(key, all, sizeof all);
    return config_refuse(config, key, err, "is \"%s\"; it must be one of %s",
                         word, all);
}

static enum assay_status read_choice(struct train_config *config,
                                     const struct config_key *key,
                                     const struct toml_value *value,
                                     struct error *err)
{
    enum assay_status st = check_text(config, key, value, err);

    if (st)
        return st;
    for (int i = 0; key->choices[i]; i++) {
        if (strcmp(key->choices[i], value->string.text) == 0) {
            *(int *)field_of(config, key) = i;
            return ASSAY_OK;
        }
    }
    return refuse_choice(config, key, value->string.text, err);
}

enum assay_status config_read_value(struct train_config *config,
                                    const struct config_key *key,
                                    const struct toml_value *value,
                                    struct error *err)
{
    static enum assay_status (*const readers[])(
        struct train_config *, const struct config_key *,
        const struct toml_value *, struct error *) = {
        [CONFIG_INTEGER] = read_integer, [CONFIG_NUMBER] = read_number,
        [CONFIG_FLAG] = read_flag,       [CONFIG_TEXT] = read_text,
        [CONFIG_CHOICE] = read_choice,
    };

    return readers[key->type](config, key, value, err);
}

/* train/config_value.c - one value into its field. */
#include "train/config_internal.h"

#include "base/nearest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A key that is being set. */
struct setting {
    struct train_config *config;
    const struct config_key *key;
    const struct toml_value *value;
    void *field; /* in config */
};

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

static enum assay_status setting_refuse_kind(const struct setting *to,
                                             const char *expected,
                                             struct error *err)
{
    return config_refuse(to->config, to->key, err, "must be %s, not %s",
                         expected, toml_kind_text(to->value->kind));
}

static enum assay_status setting_put_integer(const struct setting *to,
                                             struct error *err)
{
    const struct config_key *key = to->key;
    int64_t n = to->value->integer;

    if (to->value->kind != TOML_INTEGER)
        return setting_refuse_kind(to, "an integer", err);
    if ((double)n < key->min || (double)n > key->max)
        return config_refuse(to->config, key, err,
                             "is %" PRId64 "; it must be from %.0f to %.0f", n,
                             key->min, key->max);
    *(int64_t *)to->field = n;
    return ASSAY_OK;
}

static enum assay_status setting_put_number(const struct setting *to,
                                            struct error *err)
{
    const struct config_key *key = to->key;
    double x;

    if (to->value->kind != TOML_FLOAT && to->value->kind != TOML_INTEGER)
        return setting_refuse_kind(to, "a number", err);
    x = to->value->kind == TOML_FLOAT ? to->value->real
                                      : (double)to->value->integer;
    if (!(x >= key->min && x <= key->max) && key->min > 0)
        return config_refuse(to->config, key, err,
                             "is %g; it must be above 0 and at most %g", x,
                             key->max);
    if (!(x >= key->min && x <= key->max))
        return config_refuse(to->config, key, err,
                             "is %g; it must be from %g to %g", x, key->min,
                             key->max);
    *(double *)to->field = x;
    return ASSAY_OK;
}

static enum assay_status setting_put_flag(const struct setting *to,
                                          struct error *err)
{
    if (to->value->kind != TOML_BOOL)
        return setting_refuse_kind(to, "true or false", err);
    *(bool *)to->field = to->value->boolean;
    return ASSAY_OK;
}

static enum assay_status setting_check_text(const struct setting *to,
                                            struct error *err)
{
    if (to->value->kind != TOML_STRING)
        return setting_refuse_kind(to, "a string", err);
    if (!to->value->string.n)
        return config_refuse(to->config, to->key, err, "is empty");
    if (strlen(to->value->string.text) != to->value->string.n)
        return config_refuse(to->config, to->key, err, "contains a NUL");
    return ASSAY_OK;
}

static enum assay_status setting_put_text(const struct setting *to,
                                          struct error *err)
{
    enum assay_status st = setting_check_text(to, err);
    const char *kept;

    if (st)
        return st;
    kept = arena_strdup(&to->config->texts, to->value->string.text);
    if (!kept)
        return error_nomem(err, to->value->string.n, "a setting");
    *(const char **)to->field = kept;
    return ASSAY_OK;
}

static enum assay_status setting_refuse_choice(const struct setting *to,
                                               struct error *err)
{
    const char *const *choices = to->key->choices;
    const char *word = to->value->string.text;
    struct nearest nearest = nearest_to(word);
    char all[160] = "";
    size_t n = 0;

    for (size_t i = 0; choices[i]; i++)
        nearest_offer(&nearest, choices[i]);
    if (nearest.candidate)
        return config_refuse(to->config, to->key, err,
                             "is \"%s\"; did you mean \"%s\"?", word,
                             nearest.candidate);
    for (size_t i = 0; choices[i] && n < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "",
                              choices[i]);
    return config_refuse(to->config, to->key, err,
                         "is \"%s\"; it must be one of %s", word, all);
}

static enum assay_status setting_put_choice(const struct setting *to,
                                            struct error *err)
{
    enum assay_status st = setting_check_text(to, err);

    if (st)
        return st;
    for (int i = 0; to->key->choices[i]; i++) {
        if (strcmp(to->key->choices[i], to->value->string.text) == 0) {
            *(int *)to->field = i;
            return ASSAY_OK;
        }
    }
    return setting_refuse_choice(to, err);
}

enum assay_status config_read_value(struct train_config *config,
                                    const struct config_key *key,
                                    const struct toml_value *value,
                                    struct error *err)
{
    static enum assay_status (*const setters[])(const struct setting *,
                                                struct error *) = {
        [CONFIG_INTEGER] = setting_put_integer,
        [CONFIG_NUMBER] = setting_put_number,
        [CONFIG_FLAG] = setting_put_flag,
        [CONFIG_TEXT] = setting_put_text,
        [CONFIG_CHOICE] = setting_put_choice,
    };
    const struct setting to = {config, key, value,
                               (char *)config + key->offset};

    return setters[key->type](&to, err);
}

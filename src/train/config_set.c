/* train/config_set.c - what a command line says, into the fields. */
#include "train/config_internal.h"

#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

const struct config_key *config_key_find(const char *name)
{
    const char *dot = strchr(name, '.');

    for (const struct config_key *key = config_keys; dot && key->section;
         key++) {
        size_t n = strlen(key->section);

        if ((size_t)(dot - name) == n && strncmp(name, key->section, n) == 0 &&
            strcmp(dot + 1, key->name) == 0)
            return key;
    }
    return NULL;
}

static enum assay_status refuse_name(const char *name, struct error *err)
{
    struct nearest nearest = nearest_to(name);
    char full[64], best[64] = "";

    for (const struct config_key *key = config_keys; key->section; key++) {
        size_t before = nearest.distance;

        snprintf(full, sizeof full, "%s.%s", key->section, key->name);
        nearest_offer(&nearest, full);
        if (nearest.distance < before)
            snprintf(best, sizeof best, "%s", full);
    }
    if (best[0])
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no setting '%s'; did you mean '%s'?", name,
                         best);
    return error_set(err, ASSAY_BAD_USAGE,
                     "there is no setting '%s'; 'assay train --defaults' shows "
                     "all there are, as in training.batch_size",
                     name);
}

/* A value that is no text, as TOML writes it. */
static enum assay_status set_from_toml(struct train_config *config,
                                       const struct config_key *key,
                                       const char *text, struct error *err)
{
    struct str line = {0};
    struct toml *toml = NULL;
    struct error ignored = {0};
    enum assay_status st = str_printf(&line, "v = %s", text);

    if (st) {
        st = error_nomem(err, line.n, "a setting");
        goto done;
    }
    st = toml_read_text(line.text, line.n, key->name, &toml, &ignored);
    if (st == ASSAY_NOMEM)
        st = error_nomem(err, line.n, "a setting");
    else if (st || toml_root(toml)->items.n != 1)
        st = config_refuse(config, key, err, "cannot be '%s'", text);
    else
        st = config_read_value(config, key, toml_root(toml)->items.first, err);
done:
    toml_free(toml);
    str_release(&line);
    return st;
}

enum assay_status train_config_set(struct train_config *config,
                                   const char *name, const char *value,
                                   struct error *err)
{
    const struct config_key *key = config_key_find(name);
    size_t n = strlen(value);

    if (!key)
        return refuse_name(name, err);
    config->lines[key - config_keys] = 0;
    if ((key->type == CONFIG_TEXT || key->type == CONFIG_CHOICE) &&
        value[0] != '"')
        return config_read_value(
            config, key,
            &(struct toml_value){.kind = TOML_STRING, .string = {value, n}},
            err);
    return set_from_toml(config, key, value, err);
}

/* train/config_read.c - what a file says, into the fields. */
#include "train/config_internal.h"

#include "base/nearest.h"

#include <string.h>

static const struct config_key *find_key(const char *section, const char *name)
{
    for (const struct config_key *key = config_keys; key->section; key++) {
        if ((!section || strcmp(key->section, section) == 0) &&
            strcmp(key->name, name) == 0)
            return key;
    }
    return NULL;
}

static bool is_section(const char *name)
{
    for (const struct config_key *key = config_keys; key->section; key++) {
        if (strcmp(key->section, name) == 0)
            return true;
    }
    return false;
}

/* A key with a NUL in it is none of ours, whatever it begins with. */
static const char *key_name(const struct toml_value *value)
{
    return strlen(value->key.text) == value->key.n ? value->key.text : "";
}

static enum assay_status refuse_key(const char *section,
                                    const struct toml_value *value,
                                    struct error *err)
{
    const char *name = key_name(value);
    const struct config_key *elsewhere = find_key(NULL, name);
    struct nearest nearest = nearest_to(name);

    for (const struct config_key *key = config_keys; key->section; key++) {
        if (strcmp(key->section, section) == 0)
            nearest_offer(&nearest, key->name);
    }
    if (elsewhere)
        return toml_complain(value, err,
                             "unknown key %s in [%s]; it belongs to [%s]", name,
                             section, elsewhere->section);
    if (nearest.candidate)
        return toml_complain(value, err,
                             "unknown key %s in [%s]; did you mean %s?", name,
                             section, nearest.candidate);
    return toml_complain(value, err,
                         "unknown key %s in [%s]; 'assay train --defaults' "
                         "shows all there are",
                         name, section);
}

static enum assay_status read_section(struct train_config *config,
                                      const struct toml_value *table,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (const struct toml_value *value = table->items.first; value && !st;
         value = value->next) {
        const struct config_key *key =
            find_key(table->key.text, key_name(value));

        if (!key)
            return refuse_key(table->key.text, value, err);
        config->lines[key - config_keys] = value->key_place.line;
        st = config_read_value(config, key, value, err);
    }
    return st;
}

static enum assay_status refuse_section(const struct toml_value *value,
                                        struct error *err)
{
    const char *name = key_name(value);
    const struct config_key *key = find_key(NULL, name);
    struct nearest nearest = nearest_to(name);

    if (key && value->kind != TOML_TABLE)
        return toml_complain(value, err,
                             "%s stands in no section; it belongs to [%s]",
                             name, key->section);
    for (key = config_keys; key->section; key++)
        nearest_offer(&nearest, key->section);
    if (nearest.candidate)
        return toml_complain(value, err,
                             "unknown section [%s]; did you mean [%s]?", name,
                             nearest.candidate);
    return toml_complain(value, err,
                         "unknown section [%s]; 'assay train --defaults' shows "
                         "all there are",
                         name);
}

static enum assay_status read_root(struct train_config *config,
                                   const struct toml_value *root,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (const struct toml_value *value = root->items.first; value && !st;
         value = value->next) {
        if (!is_section(key_name(value)))
            return refuse_section(value, err);
        if (value->kind != TOML_TABLE)
            return toml_complain(value, err, "%s is a section: [%s]",
                                 value->key.text, value->key.text);
        st = read_section(config, value, err);
    }
    return st;
}

static enum assay_status read_document(const struct toml *toml,
                                       const char *name,
                                       struct train_config *out,
                                       struct error *err)
{
    enum assay_status st;

    out->path = arena_strdup(&out->texts, name);
    st = out->path ? read_root(out, toml_root(toml), err)
                   : error_nomem(err, strlen(name), "a file name");
    if (st)
        train_config_release(out);
    return st;
}

enum assay_status train_config_read_text(const char *text, size_t n,
                                         const char *name,
                                         struct train_config *out,
                                         struct error *err)
{
    struct toml *toml = NULL;
    enum assay_status st;

    *out = train_config_defaults();
    st = toml_read_text(text, n, name, &toml, err);
    if (!st)
        st = read_document(toml, name, out, err);
    toml_free(toml);
    return st;
}

enum assay_status train_config_read(const char *path, struct train_config *out,
                                    struct error *err)
{
    struct toml *toml = NULL;
    enum assay_status st;

    *out = train_config_defaults();
    st = toml_read_file(path, &toml, err);
    if (!st)
        st = read_document(toml, path, out, err);
    toml_free(toml);
    return st;
}

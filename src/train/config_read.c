/* train/config_read.c - settings from a file or a command line, and whether
 * they can work. */
#include "train/config_internal.h"

#include "backend/backend.h"
#include "base/nearest.h"
#include "formats/model_kind.h"
#include "models/models.h"
#include "train/train_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first n characters of section; NULL: any section. */
static const struct config_key *config_find(const char *section, size_t n,
                                            const char *name)
{
    for (const struct config_key *key = config_keys; key->section; key++) {
        if ((!section ||
             (strncmp(key->section, section, n) == 0 && !key->section[n])) &&
            strcmp(key->name, name) == 0)
            return key;
    }
    return NULL;
}

const struct config_key *config_key_find(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot ? config_find(name, (size_t)(dot - name), dot + 1) : NULL;
}

static bool is_section(const char *name)
{
    for (const struct config_key *key = config_keys; key->section; key++) {
        if (strcmp(key->section, name) == 0)
            return true;
    }
    return false;
}

/* A key with a NUL in it is never one of ours, however it begins. */
static const char *key_name(const struct toml_value *value)
{
    return strlen(value->key.text) == value->key.n ? value->key.text : "";
}

static enum assay_status refuse_key(const char *section,
                                    const struct toml_value *value,
                                    struct error *err)
{
    const char *name = key_name(value);
    const struct config_key *elsewhere = config_find(NULL, 0, name);
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
    return toml_complain(
        value, err,
        "unknown key %s in [%s]; 'assay train --defaults' lists all keys", name,
        section);
}

static enum assay_status read_section(struct train_config *config,
                                      const struct toml_value *table,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (const struct toml_value *value = table->items.first; value && !st;
         value = value->next) {
        const struct config_key *key =
            config_find(table->key.text, table->key.n, key_name(value));

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
    const struct config_key *key = config_find(NULL, 0, name);
    struct nearest nearest = nearest_to(name);

    if (key && value->kind != TOML_TABLE)
        return toml_complain(value, err,
                             "%s is outside of any section; it belongs to [%s]",
                             name, key->section);
    if (value->kind != TOML_TABLE)
        return toml_complain(value, err,
                             "%s is outside of any section, and not the name "
                             "of a setting; 'assay train --defaults' lists all",
                             name);
    for (key = config_keys; key->section; key++)
        nearest_offer(&nearest, key->section);
    if (nearest.candidate)
        return toml_complain(value, err,
                             "unknown section [%s]; did you mean [%s]?", name,
                             nearest.candidate);
    return toml_complain(
        value, err,
        "unknown section [%s]; 'assay train --defaults' lists all sections",
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

/* st: of reading toml, which is freed. */
static enum assay_status config_take(enum assay_status st, struct toml *toml,
                                     const char *name, struct train_config *out,
                                     struct error *err)
{
    *out = train_config_defaults();
    if (!st) {
        out->path = arena_strdup(&out->texts, name);
        st = out->path ? read_root(out, toml_root(toml), err)
                       : error_nomem(err, strlen(name), "a file name");
    }
    if (st)
        train_config_release(out);
    toml_free(toml);
    return st;
}

enum assay_status train_config_read_text(const char *text, size_t n,
                                         const char *name,
                                         struct train_config *out,
                                         struct error *err)
{
    struct toml *toml = NULL;
    enum assay_status st = toml_read_text(text, n, name, &toml, err);

    return config_take(st, toml, name, out, err);
}

enum assay_status train_config_read(const char *path, struct train_config *out,
                                    struct error *err)
{
    struct toml *toml = NULL;
    enum assay_status st = toml_read_file(path, &toml, err);

    return config_take(st, toml, path, out, err);
}

/* ---- from a command line ------------------------------------------------ */

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
                         "unknown setting '%s'; did you mean '%s'?", name,
                         best);
    return error_set(err, ASSAY_BAD_USAGE,
                     "unknown setting '%s'; 'assay train --defaults' lists "
                     "them all, as in training.batch_size",
                     name);
}

/* For a value that is not a string. */
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

/* ---- checking ----------------------------------------------------------- */

static enum assay_status config_check_model(const struct train_config *config,
                                            struct error *err)
{
    const struct config_key *key = config_key_find("model.name");
    const char *name = config->model.name;
    struct nearest nearest = nearest_to(name);

    if (model_full_name(name) ||
        (train_file_is(name) && access(name, R_OK) == 0))
        return ASSAY_OK;
    if (train_file_is(name))
        return config_refuse(config, key, err,
                             "is \"%s\", and there is no such file", name);
    if (access(name, F_OK) == 0) {
        enum assay_status st = model_kind_check(name, err);

        if (st)
            return st;
    }
    for (const char *const *known = model_names(); *known; known++)
        nearest_offer(&nearest, *known);
    if (nearest.candidate)
        return config_refuse(config, key, err,
                             "is \"%s\", and there is no such model; did you "
                             "mean \"%s\"?",
                             name, nearest.candidate);
    return config_refuse(
        config, key, err,
        "is \"%s\", and there is no such model; 'assay help run' lists the "
        "built-in models, and files end in .net or .onnx",
        name);
}

/* "cuda", "cuda:0" */
static bool is_cuda(const char *device)
{
    const char *number = device + strlen("cuda:");

    if (strcmp(device, "cuda") == 0)
        return true;
    return strncmp(device, "cuda:", strlen("cuda:")) == 0 && *number &&
           number[strspn(number, "0123456789")] == '\0';
}

enum assay_status train_device(const struct train_config *config,
                               const struct device **out, struct error *err)
{
    const char *device = config->training.device;
    enum assay_status st = device_find(device, out, err);

    if (!st && strcmp(device, "auto") == 0 && !(*out)->backend->can_backward)
        *out = device_cpu();
    if (st)
        error_hint(err, "--device cpu trains on the processors");
    return st;
}

static enum assay_status check_device(const struct train_config *config,
                                      struct error *err)
{
    const struct config_key *key = config_key_find("training.device");
    const char *device = config->training.device;
    const struct device *found;
    enum assay_status st;
    char place[sizeof err->text];

    if (strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0 &&
        !is_cuda(device))
        return config_refuse(config, key, err,
                             "is \"%s\"; it must be \"auto\", \"cpu\" or "
                             "\"cuda:0\"",
                             device);
    st = train_device(config, &found, err);
    if (st)
        error_context(err, "%s",
                      train_config_place(config, key, place, sizeof place));
    return st;
}

/* The processors train in fp32. */
static enum assay_status check_precision(const struct train_config *config,
                                         struct error *err)
{
    const struct config_key *key = config_key_find("training.precision");
    enum precision precision = (enum precision)config->training.precision;
    const struct device *device;
    enum assay_status st = train_device(config, &device, err);

    if (st || device->backend->precision ||
        (precision != PRECISION_FP16 && precision != PRECISION_BF16))
        return st;
    return config_refuse(config, key, err,
                         "is %s, which takes a GPU; %s trains in fp32",
                         precision_name(precision), device->name);
}

enum assay_status train_config_check(const struct train_config *config,
                                     struct error *err)
{
    enum assay_status st = config_check_model(config, err);

    if (!st)
        st = check_device(config, err);
    return st ? st : check_precision(config, err);
}

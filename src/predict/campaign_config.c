/* predict/campaign_config.c - see campaign_config.h. */
#include "predict/campaign_config.h"

#include "base/ini.h"
#include "base/nearest.h"

#include <string.h>

/* ---- keys --------------------------------------------------------------- */

enum key_kind {
    KEY_TEXT,
    KEY_TEXTS,
    KEY_NUMBER,
    KEY_NUMBERS,
    KEY_LOGS, /* numbers or texts */
    KEY_FLAG
};

struct key {
    const char *name;
    enum key_kind kind;
    size_t offset;
    int64_t min, max; /* of numbers */
};

struct section {
    const char *name;
    size_t has_offset; /* of the flag that it is there */
    const struct key *keys;
    size_t n_keys;
};

#define PLACE(part, field) offsetof(struct campaign_config, part.field)
#define TEXT(part, field)                                                      \
    {                                                                          \
#field, KEY_TEXT, PLACE(part, field), 0, 0                             \
    }
#define TEXTS(part, field)                                                     \
    {                                                                          \
#field, KEY_TEXTS, PLACE(part, field), 0, 0                            \
    }
#define FLAG(part, field)                                                      \
    {                                                                          \
#field, KEY_FLAG, PLACE(part, field), 0, 0                             \
    }
#define NUMBER(part, field, low, high)                                         \
    {                                                                          \
#field, KEY_NUMBER, PLACE(part, field), low, high                      \
    }
#define NUMBERS(part, field, low, high)                                        \
    {                                                                          \
#field, KEY_NUMBERS, PLACE(part, field), low, high                     \
    }
#define LOGS(part, field)                                                      \
    {                                                                          \
#field, KEY_LOGS, PLACE(part, field), 0, PRUNE_MOST_PERCENT            \
    }

static const struct key create_keys[] = {
    TEXTS(create, networks),
    NUMBERS(create, pruning_perc, 0, PRUNE_MOST_PERCENT),
    TEXT(create, mode),
    TEXT(create, model_desc_dir),
    TEXT(create, model_path),
    NUMBER(create, repeats, 1, 1000),
    NUMBER(create, seed, 0, INT64_MAX),
};

static const struct key profile_keys[] = {
    FLAG(profile, create_config),
    TEXT(profile, dataset),
    TEXTS(profile, network),
    NUMBERS(profile, bs, 1, CAMPAIGN_MOST_BATCH),
    TEXTS(profile, stage),
    TEXTS(profile, profile_variables),
    TEXT(profile, device_model_loc),
    TEXT(profile, local_model_loc),
    FLAG(profile, run_profiling),
    NUMBER(profile, gpu_id, 0, 1024),
    FLAG(profile, save),
    TEXT(profile, device),
    FLAG(profile, till_first_fail),
    NUMBER(profile, rounds, 1, 100),
    TEXT(profile, log_dir),
    TEXT(profile, test_config),
};

static const struct key fingerprint_keys[] = {
    FLAG(fingerprint, evaluate),
    FLAG(fingerprint, overwrite),
    TEXTS(fingerprint, stage),
    FLAG(fingerprint, memory_model),
    FLAG(fingerprint, latency_model),
    TEXTS(fingerprint, train_nets),
    LOGS(fingerprint, train_logs),
    TEXTS(fingerprint, eval_nets),
    LOGS(fingerprint, eval_logs),
    TEXTS(fingerprint, memory_logs),
    TEXTS(fingerprint, eval_memory_logs),
    TEXTS(fingerprint, latency_logs),
    TEXTS(fingerprint, eval_latency_logs),
};

#define KEYS(keys) keys, sizeof(keys) / sizeof *(keys)

static const struct section sections[] = {
    {"create_network_dataset", offsetof(struct campaign_config, has_create),
     KEYS(create_keys)},
    {"profile", offsetof(struct campaign_config, has_profile),
     KEYS(profile_keys)},
    {"fingerprint", offsetof(struct campaign_config, has_fingerprint),
     KEYS(fingerprint_keys)},
};

enum { n_sections = sizeof sections / sizeof *sections };

/* ---- values ------------------------------------------------------------- */

static enum assay_status get_text(struct campaign_config *config,
                                  const struct toml_value *value,
                                  const char **out, struct error *err)
{
    if (value->kind != TOML_STRING)
        return toml_complain(value, err, "%s is a text", value->key.text);
    *out = arena_strdup(&config->arena, value->string.text);
    return *out ? ASSAY_OK : error_nomem(err, value->string.n, "a text");
}

static enum assay_status get_number(const struct toml_value *value,
                                    const struct key *key, int64_t *out,
                                    struct error *err)
{
    if (value->kind != TOML_INTEGER)
        return toml_complain(value, err, "%s: whole numbers are wanted",
                             key->name);
    if (value->integer < key->min || value->integer > key->max)
        return toml_complain(value, err,
                             "%s: %lld is not between %lld and "
                             "%lld",
                             key->name, (long long)value->integer,
                             (long long)key->min, (long long)key->max);
    *out = value->integer;
    return ASSAY_OK;
}

/* A list, or one value alone. */
static const struct toml_value *first_item(const struct toml_value *value,
                                           size_t *n)
{
    *n = value->kind == TOML_ARRAY ? value->items.n : 1;
    return value->kind == TOML_ARRAY ? value->items.first : value;
}

static enum assay_status get_texts(struct campaign_config *config,
                                   const struct toml_value *value,
                                   struct config_texts *out, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    const struct toml_value *item = first_item(value, &out->n);

    out->items = arena_alloc(&config->arena, (out->n + 1) * sizeof *out->items);
    if (!out->items)
        return error_nomem(err, out->n * sizeof *out->items, "a list");
    for (size_t i = 0; !st && i < out->n; i++, item = item->next) {
        if (item->kind != TOML_STRING)
            return toml_complain(value, err, "%s: texts are wanted",
                                 value->key.text);
        st = get_text(config, item, &out->items[i], err);
    }
    return st;
}

static enum assay_status get_numbers(struct campaign_config *config,
                                     const struct toml_value *value,
                                     const struct key *key,
                                     struct config_numbers *out,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;
    const struct toml_value *item = first_item(value, &out->n);

    out->items = arena_alloc(&config->arena, (out->n + 1) * sizeof *out->items);
    if (!out->items)
        return error_nomem(err, out->n * sizeof *out->items, "a list");
    for (size_t i = 0; !st && i < out->n; i++, item = item->next)
        st = get_number(item, key, &out->items[i], err);
    return st;
}

static enum assay_status get_logs(struct campaign_config *config,
                                  const struct toml_value *value,
                                  const struct key *key,
                                  struct config_logs *out, struct error *err)
{
    size_t n;
    const struct toml_value *first = first_item(value, &n);

    return n && first->kind == TOML_STRING
               ? get_texts(config, value, &out->folders, err)
               : get_numbers(config, value, key, &out->levels, err);
}

static enum assay_status get_value(struct campaign_config *config,
                                   const struct toml_value *value,
                                   const struct key *key, struct error *err)
{
    void *at = (char *)config + key->offset;

    switch (key->kind) {
    case KEY_TEXT:
        return get_text(config, value, at, err);
    case KEY_TEXTS:
        return get_texts(config, value, at, err);
    case KEY_NUMBER:
        return get_number(value, key, at, err);
    case KEY_NUMBERS:
        return get_numbers(config, value, key, at, err);
    case KEY_LOGS:
        return get_logs(config, value, key, at, err);
    case KEY_FLAG:
        if (value->kind != TOML_BOOL)
            return toml_complain(value, err, "%s is True or False", key->name);
        *(bool *)at = value->boolean;
        return ASSAY_OK;
    }
    return ASSAY_OK;
}

/* ---- sections ----------------------------------------------------------- */

static enum assay_status get_key(struct campaign_config *config,
                                 const struct section *section,
                                 const struct toml_value *value,
                                 struct error *err)
{
    struct nearest nearest = nearest_to(value->key.text);

    for (size_t i = 0; i < section->n_keys; i++) {
        if (strcmp(section->keys[i].name, value->key.text) == 0)
            return get_value(config, value, &section->keys[i], err);
        nearest_offer(&nearest, section->keys[i].name);
    }
    if (nearest.candidate)
        return toml_complain(value, err,
                             "[%s] has no key '%.60s'; is '%s' meant?",
                             section->name, value->key.text, nearest.candidate);
    return toml_complain(value, err, "[%s] has no key '%.60s'", section->name,
                         value->key.text);
}

static enum assay_status get_section(struct campaign_config *config,
                                     const struct toml_value *table,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < n_sections; i++) {
        if (strcmp(sections[i].name, table->key.text) != 0)
            continue;
        if (table->kind != TOML_TABLE)
            return toml_complain(table, err, "%s is a section",
                                 sections[i].name);
        *(bool *)((char *)config + sections[i].has_offset) = true;
        for (const struct toml_value *value = table->items.first; !st && value;
             value = value->next)
            st = get_key(config, &sections[i], value, err);
        return st;
    }
    return toml_complain(table, err,
                         "there is no section '%.60s'; there are "
                         "create_network_dataset, profile and fingerprint",
                         table->key.text);
}

/* ---- what the values must be -------------------------------------------- */

static enum assay_status find_mode(struct campaign_config *config,
                                   struct error *err)
{
    static const struct {
        const char *name;
        enum prune_mode mode;
    } modes[] = {{"random", PRUNE_RANDOM},
                 {"l1", PRUNE_L1},
                 {"l1-norm", PRUNE_L1},
                 {"l1_norm", PRUNE_L1},
                 {"random_weighted", PRUNE_RANDOM_WEIGHTED}};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, config->create.mode) == 0) {
            config->mode = modes[i].mode;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_INPUT,
                     "mode '%.60s' is none of random, l1 and random_weighted",
                     config->create.mode);
}

/* Marks which of the names were asked for. */
static enum assay_status mark_names(const struct config_texts *texts,
                                    const char *const *names, bool *marks,
                                    const char *what, struct error *err)
{
    for (size_t i = 0; i < texts->n; i++) {
        size_t k = 0;

        while (names[k] && strcmp(names[k], texts->items[i]) != 0)
            k++;
        if (!names[k])
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s '%.60s' is neither %s nor %s", what,
                             texts->items[i], names[0], names[1]);
        marks[k] = true;
    }
    return ASSAY_OK;
}

static enum assay_status need(bool is_there, const char *section,
                              const char *key, struct error *err)
{
    return is_there ? ASSAY_OK
                    : error_set(err, ASSAY_BAD_INPUT, "[%s] has no %s", section,
                                key);
}

static enum assay_status check_create(struct campaign_config *config,
                                      struct error *err)
{
    const struct create_config *create = &config->create;
    enum assay_status st =
        need(create->networks.n, "create_network_dataset", "networks", err);

    if (!st)
        st = need(create->pruning_perc.n, "create_network_dataset",
                  "pruning_perc", err);
    if (!st)
        st = need(create->model_path != NULL, "create_network_dataset",
                  "model_path", err);
    return st ? st : find_mode(config, err);
}

static enum assay_status check_profile(struct campaign_config *config,
                                       struct error *err)
{
    const struct profile_config *profile = &config->profile;
    bool lists_tests = profile->create_config ||
                       (profile->run_profiling && !profile->test_config);
    enum assay_status st =
        need(profile->bs.n || !lists_tests, "profile", "bs", err);

    if (!st)
        st = need(profile->log_dir || !profile->run_profiling, "profile",
                  "log_dir", err);
    if (!st)
        st = mark_names(&profile->stage, stage_names, config->has_stage,
                        "stage", err);
    if (!st)
        st = mark_names(&profile->profile_variables, target_names,
                        config->has_target, "profile_variables", err);
    if (!st && strcmp(profile->dataset, "imagenet") != 0 &&
        strcmp(profile->dataset, "cifar10") != 0 &&
        strcmp(profile->dataset, "cifar100") != 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "dataset '%.60s' is none of imagenet, cifar10 and "
                       "cifar100",
                       profile->dataset);
    return st;
}

static void set_defaults(struct campaign_config *config)
{
    static const char *stages[] = {"training", "inference"};
    static const char *variables[] = {"latency", "memory"};

    config->create.mode = "random";
    config->create.repeats = 1;
    config->profile.run_profiling = true;
    config->profile.rounds = 3;
    config->profile.dataset = "imagenet";
    config->profile.stage = (struct config_texts){stages, 2};
    config->profile.profile_variables = (struct config_texts){variables, 2};
    config->fingerprint.stage = config->profile.stage;
    config->fingerprint.memory_model = true;
    config->fingerprint.latency_model = true;
}

static enum assay_status check(struct campaign_config *config,
                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!config->has_create && !config->has_profile && !config->has_fingerprint)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it asks for nothing: it has none of the sections "
                         "create_network_dataset, profile and fingerprint");
    if (config->has_create)
        st = check_create(config, err);
    if (!st && config->has_profile)
        st = check_profile(config, err);
    if (!st && config->has_fingerprint)
        st = mark_names(&config->fingerprint.stage, stage_names,
                        config->learns_stage, "stage", err);
    return st;
}

void campaign_config_release(struct campaign_config *config)
{
    arena_release(&config->arena);
    *config = (struct campaign_config){0};
}

enum assay_status campaign_config_read(struct campaign_config *config,
                                       const char *path, struct error *err)
{
    size_t n = strlen(path);
    bool is_toml = n > 5 && strcmp(path + n - 5, ".toml") == 0;
    struct toml *toml;
    enum assay_status st = is_toml ? toml_read_file(path, &toml, err)
                                   : ini_read_file(path, &toml, err);

    if (st)
        return st;
    set_defaults(config);
    for (const struct toml_value *table = toml_root(toml)->items.first;
         !st && table; table = table->next)
        st = get_section(config, table, err);
    if (!st) {
        st = check(config, err);
        if (st)
            error_context(err, "%s", path);
    }
    toml_free(toml);
    return st;
}

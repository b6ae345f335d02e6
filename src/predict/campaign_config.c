/* predict/campaign_config.c - see campaign_config.h. */
#include "predict/campaign_config.h"

#include "base/ini.h"
#include "base/nearest.h"
#include "base/str.h"

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
    int64_t min, max;         /* of numbers */
    const char *const *words; /* that texts are among; NULL: any */
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
#field, KEY_TEXT, PLACE(part, field), 0, 0, NULL                       \
    }
#define WORD(part, field, words)                                               \
    {                                                                          \
#field, KEY_TEXT, PLACE(part, field), 0, 0, words                      \
    }
#define TEXTS(part, field)                                                     \
    {                                                                          \
#field, KEY_TEXTS, PLACE(part, field), 0, 0, NULL                      \
    }
#define WORDS(part, field, words)                                              \
    {                                                                          \
#field, KEY_TEXTS, PLACE(part, field), 0, 0, words                     \
    }
#define FLAG(part, field)                                                      \
    {                                                                          \
#field, KEY_FLAG, PLACE(part, field), 0, 0, NULL                       \
    }
#define NUMBER(part, field, low, high)                                         \
    {                                                                          \
#field, KEY_NUMBER, PLACE(part, field), low, high, NULL                \
    }
#define NUMBERS(part, field, low, high)                                        \
    {                                                                          \
#field, KEY_NUMBERS, PLACE(part, field), low, high, NULL               \
    }
#define LOGS(part, field)                                                      \
    {                                                                          \
#field, KEY_LOGS, PLACE(part, field), 0, PRUNE_MOST_PERCENT, NULL      \
    }

static const char *const datasets[] = {"imagenet", "cifar10", "cifar100", NULL};

static const char *const modes[] = {"random",  "l1",      "random_weighted",
                                    "l1-norm", "l1_norm", NULL};
static const enum prune_mode mode_values[] = {
    PRUNE_RANDOM, PRUNE_L1, PRUNE_RANDOM_WEIGHTED, PRUNE_L1, PRUNE_L1};

static const struct key create_keys[] = {
    TEXTS(create, networks),
    NUMBERS(create, pruning_perc, 0, PRUNE_MOST_PERCENT),
    WORD(create, mode, modes),
    TEXT(create, model_desc_dir),
    TEXT(create, model_path),
    NUMBER(create, repeats, 1, 1000),
    NUMBER(create, seed, 0, INT64_MAX),
};

static const struct key profile_keys[] = {
    FLAG(profile, create_config),
    WORD(profile, dataset, datasets),
    TEXTS(profile, network),
    NUMBERS(profile, bs, 1, CAMPAIGN_MOST_BATCH),
    WORDS(profile, stage, stage_names),
    WORDS(profile, profile_variables, target_names),
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
    WORDS(fingerprint, stage, stage_names),
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

static size_t find_word(const char *const *words, const char *text)
{
    size_t i = 0;

    while (words[i] && strcmp(words[i], text) != 0)
        i++;
    return i;
}

static enum assay_status check_word(const struct toml_value *value,
                                    const struct key *key, struct error *err)
{
    struct str all = {0};
    enum assay_status st = ASSAY_OK;

    if (!key->words || key->words[find_word(key->words, value->string.text)])
        return ASSAY_OK;
    for (size_t i = 0; !st && key->words[i]; i++)
        st = str_printf(&all, "%s%s", i ? ", " : "", key->words[i]);
    st = st ? error_nomem(err, all.n, "a message")
            : toml_complain(value, err, "%s '%.60s' is none of %s", key->name,
                            value->string.text, str_text(&all));
    str_release(&all);
    return st;
}

/* Names and paths go into scripts, tables and onto screens, a line each. */
static enum assay_status check_characters(const struct toml_value *value,
                                          const struct key *key,
                                          struct error *err)
{
    for (size_t i = 0; i < value->string.n; i++) {
        unsigned char c = (unsigned char)value->string.text[i];

        if (c < ' ' || c == 0x7f)
            return toml_complain(value, err,
                                 "%s has a control character (0x%02x)",
                                 key->name, c);
    }
    return ASSAY_OK;
}

static enum assay_status get_text(struct campaign_config *config,
                                  const struct toml_value *value,
                                  const struct key *key, const char **out,
                                  struct error *err)
{
    enum assay_status st;

    if (value->kind != TOML_STRING)
        return toml_complain(value, err, "%s is a text", key->name);
    st = check_word(value, key, err);
    if (!st)
        st = check_characters(value, key, err);
    if (st)
        return st;
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
                                   const struct key *key,
                                   struct config_texts *out, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    const struct toml_value *item = first_item(value, &out->n);

    out->items = arena_alloc(&config->arena, (out->n + 1) * sizeof *out->items);
    if (!out->items)
        return error_nomem(err, out->n * sizeof *out->items, "a list");
    for (size_t i = 0; !st && i < out->n; i++, item = item->next) {
        if (item->kind != TOML_STRING)
            return toml_complain(value, err, "%s: texts are wanted", key->name);
        st = get_text(config, item, key, &out->items[i], err);
    }
    return st;
}

static enum assay_status campaign_config_get_numbers(
    struct campaign_config *config, const struct toml_value *value,
    const struct key *key, struct config_numbers *out, struct error *err)
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
               ? get_texts(config, value, key, &out->folders, err)
               : campaign_config_get_numbers(config, value, key, &out->levels,
                                             err);
}

static enum assay_status
campaign_config_get_value(struct campaign_config *config,
                          const struct toml_value *value, const struct key *key,
                          struct error *err)
{
    void *at = (char *)config + key->offset;

    switch (key->kind) {
    case KEY_TEXT:
        return get_text(config, value, key, at, err);
    case KEY_TEXTS:
        return get_texts(config, value, key, at, err);
    case KEY_NUMBER:
        return get_number(value, key, at, err);
    case KEY_NUMBERS:
        return campaign_config_get_numbers(config, value, key, at, err);
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
            return campaign_config_get_value(config, value, &section->keys[i],
                                             err);
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

/* Marks which of the names were asked for. */
static void mark_names(const struct config_texts *texts,
                       const char *const *names, bool *marks)
{
    for (size_t i = 0; i < texts->n; i++)
        marks[find_word(names, texts->items[i])] = true;
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
    config->mode = mode_values[find_word(modes, create->mode)];
    return st;
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
    mark_names(&profile->stage, stage_names, config->has_stage);
    mark_names(&profile->profile_variables, target_names, config->has_target);
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

static enum assay_status campaign_config_check(struct campaign_config *config,
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
    if (config->has_fingerprint)
        mark_names(&config->fingerprint.stage, stage_names,
                   config->learns_stage);
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
        st = campaign_config_check(config, err);
        if (st)
            error_context(err, "%s", path);
    }
    toml_free(toml);
    return st;
}

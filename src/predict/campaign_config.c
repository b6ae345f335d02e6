/* predict/campaign_config.c - see campaign_config.h. */
#include "predict/campaign_config.h"

#include "base/ini.h"
#include "base/nearest.h"
#include "base/str.h"
#include "predict/torch_runner.h"

#include <string.h>

/* ---- keys --------------------------------------------------------------- */

enum key_kind {
    KEY_TEXT,
    KEY_TEXTS,
    KEY_NUMBER,
    KEY_NUMBERS,
    KEY_LOGS, /* numbers or strings */
    KEY_FLAG
};

struct key {
    const char *name;
    enum key_kind kind;
    size_t offset;
    int64_t min, max;         /* of numbers */
    const char *const *words; /* allowed strings; NULL: any */
};

struct section {
    const char *name;
    size_t has_offset; /* of the flag that is set if it is there */
    const struct key *keys;
    size_t n_keys;
};

#define KEY(part, field, key_kind)                                             \
    .name = #field, .kind = key_kind,                                          \
    .offset = offsetof(struct campaign_config, part.field)

static const char *const datasets[] = {"imagenet", "cifar10", "cifar100", NULL};

static const char *const modes[] = {"random",  "l1",      "random_weighted",
                                    "l1-norm", "l1_norm", NULL};
static const enum prune_mode mode_values[] = {
    PRUNE_RANDOM, PRUNE_L1, PRUNE_RANDOM_WEIGHTED, PRUNE_L1, PRUNE_L1};

static const struct key create_keys[] = {
    {KEY(create, networks, KEY_TEXTS)},
    {KEY(create, pruning_perc, KEY_NUMBERS), .max = PRUNE_MOST_PERCENT},
    {KEY(create, mode, KEY_TEXT), .words = modes},
    {KEY(create, model_desc_dir, KEY_TEXT)},
    {KEY(create, model_path, KEY_TEXT)},
    {KEY(create, repeats, KEY_NUMBER), .min = 1, .max = 1000},
    {KEY(create, seed, KEY_NUMBER), .max = INT64_MAX},
};

static const struct key profile_keys[] = {
    {KEY(profile, create_config, KEY_FLAG)},
    {KEY(profile, dataset, KEY_TEXT), .words = datasets},
    {KEY(profile, network, KEY_TEXTS)},
    {KEY(profile, bs, KEY_NUMBERS), .min = 1, .max = CAMPAIGN_MOST_BATCH},
    {KEY(profile, stage, KEY_TEXTS), .words = stage_names},
    {KEY(profile, profile_variables, KEY_TEXTS), .words = target_names},
    {KEY(profile, device_model_loc, KEY_TEXT)},
    {KEY(profile, local_model_loc, KEY_TEXT)},
    {KEY(profile, run_profiling, KEY_FLAG)},
    {KEY(profile, gpu_id, KEY_NUMBER), .min = -1, .max = 1024},
    {KEY(profile, save, KEY_FLAG)},
    {KEY(profile, device, KEY_TEXT)},
    {KEY(profile, framework, KEY_TEXT), .words = framework_names + 1},
    {KEY(profile, till_first_fail, KEY_FLAG)},
    {KEY(profile, rounds, KEY_NUMBER), .min = 1, .max = 100},
    {KEY(profile, log_dir, KEY_TEXT)},
    {KEY(profile, test_config, KEY_TEXT)},
};

static const struct key fingerprint_keys[] = {
    {KEY(fingerprint, evaluate, KEY_FLAG)},
    {KEY(fingerprint, overwrite, KEY_FLAG)},
    {KEY(fingerprint, stage, KEY_TEXTS), .words = stage_names},
    {KEY(fingerprint, memory_model, KEY_FLAG)},
    {KEY(fingerprint, latency_model, KEY_FLAG)},
    {KEY(fingerprint, train_nets, KEY_TEXTS)},
    {KEY(fingerprint, train_logs, KEY_LOGS), .max = PRUNE_MOST_PERCENT},
    {KEY(fingerprint, eval_nets, KEY_TEXTS)},
    {KEY(fingerprint, eval_logs, KEY_LOGS), .max = PRUNE_MOST_PERCENT},
    {KEY(fingerprint, memory_logs, KEY_TEXTS)},
    {KEY(fingerprint, eval_memory_logs, KEY_TEXTS)},
    {KEY(fingerprint, latency_logs, KEY_TEXTS)},
    {KEY(fingerprint, eval_latency_logs, KEY_TEXTS)},
};

/* Keys of perf4sight's own files, in any section, with what takes their
 * place. */
static const struct {
    const char *name, *instead;
} ignored_keys[] = {
    {"subset_name", "model_path and local_model_loc name the folders"},
    {"loc", "fingerprints are written to log_dir"},
    {"performance_model_type", "the method is chosen on rows held back"},
    {"performance_model_version", "the method is chosen on rows held back"},
    {"backfill_mem_avail", "free memory is measured with every test"},
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
            : toml_complain(value, err, "%s is '%.60s'; it must be one of %s",
                            key->name, value->string.text, str_text(&all));
    str_release(&all);
    return st;
}

/* Names and paths go into scripts, tables and screens, one per line. */
static enum assay_status check_characters(const struct toml_value *value,
                                          const struct key *key,
                                          struct error *err)
{
    for (size_t i = 0; i < value->string.n; i++) {
        unsigned char c = (unsigned char)value->string.text[i];

        if (c < ' ' || c == 0x7f)
            return toml_complain(value, err,
                                 "%s contains a control character (0x%02x)",
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
        return toml_complain(value, err, "%s must be a string", key->name);
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
        return toml_complain(value, err, "%s must be a whole number",
                             key->name);
    if (value->integer < key->min || value->integer > key->max)
        return toml_complain(value, err,
                             "%s is %lld; it must be from %lld to %lld",
                             key->name, (long long)value->integer,
                             (long long)key->min, (long long)key->max);
    *out = value->integer;
    return ASSAY_OK;
}

/* A list, or a single value. */
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
            return toml_complain(value, err, "%s must be a list of strings",
                                 key->name);
        st = get_text(config, item, key, &out->items[i], err);
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
               ? get_texts(config, value, key, &out->folders, err)
               : get_numbers(config, value, key, &out->levels, err);
}

static enum assay_status get_value(struct campaign_config *config,
                                   const struct toml_value *value,
                                   const struct key *key, struct error *err)
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
        return get_numbers(config, value, key, at, err);
    case KEY_LOGS:
        return get_logs(config, value, key, at, err);
    case KEY_FLAG:
        if (value->kind != TOML_BOOL)
            return toml_complain(value, err, "%s must be True or False",
                                 key->name);
        *(bool *)at = value->boolean;
        return ASSAY_OK;
    }
    return ASSAY_OK;
}

/* ---- sections ----------------------------------------------------------- */

/* Notes a key that means nothing here; *is_known is false for others. */
static enum assay_status ignore_key(struct campaign_config *config,
                                    const struct toml_value *value,
                                    bool *is_known, struct error *err)
{
    const char *instead = NULL;

    for (size_t i = 0; i < sizeof ignored_keys / sizeof *ignored_keys; i++) {
        if (strcmp(ignored_keys[i].name, value->key.text) == 0)
            instead = ignored_keys[i].instead;
    }
    *is_known = instead != NULL;
    return instead && str_printf(&config->ignored,
                                 "%s: line %u: %s means nothing here: %s\n",
                                 value->file, value->key_place.line,
                                 value->key.text, instead)
               ? error_nomem(err, 128, "a note")
               : ASSAY_OK;
}

static enum assay_status get_key(struct campaign_config *config,
                                 const struct section *section,
                                 const struct toml_value *value,
                                 struct error *err)
{
    struct nearest nearest = nearest_to(value->key.text);
    bool is_ignored;
    enum assay_status st = ignore_key(config, value, &is_ignored, err);

    if (st || is_ignored)
        return st;
    for (size_t i = 0; i < section->n_keys; i++) {
        if (strcmp(section->keys[i].name, value->key.text) == 0)
            return get_value(config, value, &section->keys[i], err);
        nearest_offer(&nearest, section->keys[i].name);
    }
    if (nearest.candidate)
        return toml_complain(value, err,
                             "unknown key '%.60s' in [%s]; did you mean '%s'?",
                             value->key.text, section->name, nearest.candidate);
    return toml_complain(value, err, "unknown key '%.60s' in [%s]",
                         value->key.text, section->name);
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
            return toml_complain(table, err, "%s must be a section",
                                 sections[i].name);
        *(bool *)((char *)config + sections[i].has_offset) = true;
        for (const struct toml_value *value = table->items.first; !st && value;
             value = value->next)
            st = get_key(config, &sections[i], value, err);
        return st;
    }
    return toml_complain(table, err,
                         "unknown section '%.60s'; it must be "
                         "create_network_dataset, profile or fingerprint",
                         table->key.text);
}

/* ---- what the values must be -------------------------------------------- */

/* Marks the names that were asked for. */
static void mark_names(const struct config_texts *texts,
                       const char *const *names, bool *marks)
{
    for (size_t i = 0; i < texts->n; i++)
        marks[find_word(names, texts->items[i])] = true;
}

/* What a section cannot do without. */
static enum assay_status check_needs(const struct campaign_config *config,
                                     struct error *err)
{
    const struct create_config *create = &config->create;
    const struct profile_config *profile = &config->profile;
    bool creates = config->has_create, profiles = config->has_profile;
    bool lists_tests = profile->create_config ||
                       (profile->run_profiling && !profile->test_config);
    const struct {
        bool is_missing;
        const char *section, *key;
    } needs[] = {
        {creates && !create->networks.n, sections[0].name, "networks"},
        {creates && !create->pruning_perc.n, sections[0].name, "pruning_perc"},
        {creates && !create->model_path, sections[0].name, "model_path"},
        {profiles && lists_tests && !profile->bs.n, "profile", "bs"},
        {profiles && profile->run_profiling && !profile->log_dir, "profile",
         "log_dir"},
    };

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].is_missing)
            return error_set(err, ASSAY_BAD_INPUT, "[%s] has no %s",
                             needs[i].section, needs[i].key);
    }
    return ASSAY_OK;
}

static void set_defaults(struct campaign_config *config)
{
    static const char *stages[] = {"training", "inference"};
    static const char *variables[] = {"latency", "memory"};

    config->create.mode = "random";
    config->create.repeats = 1;
    config->profile.run_profiling = true;
    config->profile.gpu_id = -1;
    config->profile.dataset = "imagenet";
    config->profile.framework = framework_names[FRAMEWORK_ASSAY];
    config->profile.stage = (struct config_texts){stages, 2};
    config->profile.profile_variables = (struct config_texts){variables, 2};
    config->fingerprint.stage = config->profile.stage;
    config->fingerprint.memory_model = true;
    config->fingerprint.latency_model = true;
}

static enum assay_status check_sections(struct campaign_config *config,
                                        struct error *err)
{
    if (!config->has_create && !config->has_profile && !config->has_fingerprint)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it asks for nothing: it has none of the sections "
                         "create_network_dataset, profile and fingerprint");
    config->mode = mode_values[find_word(modes, config->create.mode)];
    config->framework =
        (enum framework)find_word(framework_names, config->profile.framework);
    if (config->has_profile) {
        mark_names(&config->profile.stage, stage_names, config->has_stage);
        mark_names(&config->profile.profile_variables, target_names,
                   config->has_target);
    }
    if (config->has_fingerprint)
        mark_names(&config->fingerprint.stage, stage_names,
                   config->learns_stage);
    return check_needs(config, err);
}

bool campaign_config_needs_python(const struct campaign_config *config)
{
    const struct config_texts *networks = &config->create.networks;

    for (size_t i = 0; i < networks->n; i++) {
        if (torch_is_source(networks->items[i]))
            return true;
    }
    return config->has_profile && config->profile.run_profiling &&
           config->framework == FRAMEWORK_TORCH;
}

void campaign_config_release(struct campaign_config *config)
{
    arena_release(&config->arena);
    str_release(&config->ignored);
    *config = (struct campaign_config){0};
}

enum assay_status campaign_config_read(struct campaign_config *config,
                                       const char *path, struct error *err)
{
    struct toml *toml;
    enum assay_status st = str_ends_with(path, ".toml")
                               ? toml_read_file(path, &toml, err)
                               : ini_read_file(path, &toml, err);

    if (st)
        return st;
    set_defaults(config);
    for (const struct toml_value *table = toml_root(toml)->items.first;
         !st && table; table = table->next)
        st = get_section(config, table, err);
    if (!st) {
        st = check_sections(config, err);
        if (st)
            error_context(err, "%s", path);
    }
    toml_free(toml);
    return st;
}

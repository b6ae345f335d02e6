/* predict/campaign_tests.c - see campaign.h: the list of tests, made of a
 * folder of networks, or read from a file of tests. */
#include "predict/campaign.h"

#include "base/file.h"
#include "base/ini.h"
#include "base/mem.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void campaign_tests_release(struct campaign_tests *tests)
{
    arena_release(&tests->arena);
    mem_free(tests->items);
    *tests = (struct campaign_tests){0};
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), n_ending = strlen(ending);

    return n > n_ending && strcmp(text + n - n_ending, ending) == 0;
}

/* ---- names of files -------------------------------------------------------
 */

/* "resnet50_30_2.net": a network, a level and a repeat, which may be missing.
 */
struct file_name {
    char network[64];
    int64_t level, repeat;
};

/* The number behind the last "_" of a text that ends at *n, which goes before
 * it. */
static bool take_number(const char *text, size_t *n, int64_t *number)
{
    size_t at = *n;

    *number = 0;
    while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (at == *n || at < 2 || text[at - 1] != '_' || *n - at > 9)
        return false;
    for (size_t i = at; i < *n; i++)
        *number = *number * 10 + (text[i] - '0');
    *n = at - 1;
    return true;
}

/* A file that no level was given to is at 0 %. */
static bool split_name(const char *path, struct file_name *name)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t n = dot ? (size_t)(dot - base) : strlen(base);
    int64_t last, before;

    *name = (struct file_name){0};
    if (take_number(base, &n, &last)) {
        size_t kept = n;

        name->level = last;
        if (take_number(base, &n, &before)) {
            name->level = before;
            name->repeat = last;
        } else {
            n = kept;
        }
    }
    if (n >= sizeof name->network || name->level > PRUNE_MOST_PERCENT)
        return false;
    memcpy(name->network, base, n);
    return true;
}

/* ---- tests -------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static enum assay_status add_test(struct campaign_tests *tests,
                                  const struct campaign_test *test,
                                  struct error *err)
{
    struct campaign_test *moved = vec_reserve(tests->items, &tests->capacity,
                                              tests->n + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "the list of tests");
    tests->items = moved;
    moved[tests->n++] = *test;
    return ASSAY_OK;
}

/* What is measured of each file. */
struct plan {
    const bool *has_stage, *has_target;
    int64_t *batches; /* from small to large */
    size_t n_batches;
};

static enum assay_status add_series(struct campaign_tests *tests,
                                    const struct plan *plan,
                                    struct campaign_test test,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int target = 0; !st && target < N_TARGETS; target++) {
        if (!plan->has_target[target])
            continue;
        test.target = (enum target)target;
        test.series = tests->n_series++;
        for (size_t i = 0; !st && i < plan->n_batches; i++) {
            test.batch = plan->batches[i];
            st = add_test(tests, &test, err);
        }
    }
    return st;
}

static enum assay_status add_file(struct campaign_tests *tests,
                                  const struct plan *plan, const char *path,
                                  struct error *err)
{
    struct file_name name;
    struct campaign_test test = {0};
    enum assay_status st = ASSAY_OK;

    if (ends_with(path, ".py"))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "'%.100s' is a network written in Python, which is "
                         "not run here; name a .net or .onnx file",
                         path);
    if (!split_name(path, &name))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%.120s: a network is called NAME_LEVEL.net, with a "
                         "level of 0 to %d",
                         path, PRUNE_MOST_PERCENT);
    test.file = arena_strdup(&tests->arena, path);
    test.network = arena_strdup(&tests->arena, name.network);
    test.level = name.level;
    test.repeat = name.repeat;
    if (!test.file || !test.network)
        return error_nomem(err, strlen(path), "the list of tests");
    for (int stage = 0; !st && stage < N_STAGES; stage++) {
        test.stage = (enum stage)stage;
        if (plan->has_stage[stage])
            st = add_series(tests, plan, test, err);
    }
    return st;
}

/* ---- from a folder --------------------------------------------------------
 */

struct file_list {
    char **items;
    size_t n, capacity;
};

static void file_list_release(struct file_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->items[i]);
    mem_free(list->items);
}

static int by_name(const void *a, const void *b)
{
    struct file_name x, y;
    const char *p = *(char *const *)a, *q = *(char *const *)b;
    int order;

    split_name(p, &x);
    split_name(q, &y);
    order = strcmp(x.network, y.network);
    if (!order && x.level != y.level)
        order = x.level < y.level ? -1 : 1;
    return order ? order : strcmp(p, q);
}

static bool is_wanted(const struct campaign_config *config, const char *name)
{
    const struct config_texts *networks = &config->profile.network;
    struct file_name file;

    if ((!ends_with(name, ".net") && !ends_with(name, ".onnx")) ||
        !split_name(name, &file))
        return false;
    for (size_t i = 0; i < networks->n; i++) {
        if (strcmp(network_canonical(networks->items[i]),
                   network_canonical(file.network)) == 0)
            return true;
    }
    return networks->n == 0;
}

static enum assay_status list_folder(const struct campaign_config *config,
                                     const char *folder, struct file_list *list,
                                     struct error *err)
{
    DIR *open = opendir(folder);
    enum assay_status st = ASSAY_OK;
    struct dirent *entry;

    if (!open)
        return error_errno(err, errno, "opening the folder of networks %s",
                           folder);
    while (!st && (entry = readdir(open))) {
        struct str path = {0};
        char **moved;

        if (!is_wanted(config, entry->d_name))
            continue;
        moved = vec_reserve(list->items, &list->capacity, list->n + 1,
                            sizeof *moved);
        if (!moved || str_printf(&path, "%s/%s", folder, entry->d_name)) {
            st = error_nomem(err, 64, "the list of networks");
        } else {
            list->items = moved;
            list->items[list->n++] = path.text; /* the list's from here on */
        }
    }
    closedir(open);
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, by_name);
    return st;
}

static enum assay_status list_from_folder(const struct campaign_config *config,
                                          const struct plan *plan,
                                          struct campaign_tests *tests,
                                          struct error *err)
{
    const char *folder = config->profile.local_model_loc;
    struct file_list list = {0};
    enum assay_status st;

    if (!folder)
        folder = config->create.model_path;
    if (!folder)
        return error_set(err, ASSAY_BAD_INPUT,
                         "[profile] has no local_model_loc: where the networks "
                         "are");
    st = list_folder(config, folder, &list, err);
    for (size_t i = 0; !st && i < list.n; i++)
        st = add_file(tests, plan, list.items[i], err);
    if (!st && !list.n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no networks of those that are asked for, called "
                       "NAME_LEVEL.net",
                       folder);
    file_list_release(&list);
    return st;
}

/* ---- from a file of tests -------------------------------------------------
 */

static enum assay_status list_from_section(const struct toml_value *section,
                                           const struct plan *plan,
                                           struct campaign_tests *tests,
                                           struct error *err)
{
    const struct toml_value *models = toml_find(section, "model");
    enum assay_status st = ASSAY_OK;

    if (!models || models->kind != TOML_ARRAY)
        return toml_complain(section, err, "[%s] has no list of models",
                             section->key.text);
    for (const struct toml_value *model = models->items.first; !st && model;
         model = model->next) {
        if (model->kind != TOML_STRING)
            return toml_complain(models, err, "models are texts");
        st = add_file(tests, plan, model->string.text, err);
    }
    return st;
}

static enum assay_status list_from_file(const struct campaign_config *config,
                                        const struct plan *plan,
                                        struct campaign_tests *tests,
                                        struct error *err)
{
    struct toml *toml;
    enum assay_status st =
        ini_read_file(config->profile.test_config, &toml, err);

    if (st)
        return st;
    for (const struct toml_value *section = toml_root(toml)->items.first;
         !st && section; section = section->next)
        st = list_from_section(section, plan, tests, err);
    toml_free(toml);
    return st;
}

enum assay_status campaign_list_tests(const struct campaign_config *config,
                                      struct campaign_tests *tests,
                                      struct error *err)
{
    const struct profile_config *profile = &config->profile;
    struct plan plan = {.has_stage = config->has_stage,
                        .has_target = config->has_target,
                        .n_batches = profile->bs.n};
    enum assay_status st;

    plan.batches =
        arena_alloc(&tests->arena, plan.n_batches * sizeof *plan.batches);
    if (!plan.batches)
        return error_nomem(err, plan.n_batches * sizeof *plan.batches,
                           "the list of tests");
    memcpy(plan.batches, profile->bs.items,
           plan.n_batches * sizeof *plan.batches);
    qsort(plan.batches, plan.n_batches, sizeof *plan.batches, by_size);
    st = profile->test_config && !profile->create_config
             ? list_from_file(config, &plan, tests, err)
             : list_from_folder(config, &plan, tests, err);
    if (st)
        campaign_tests_release(tests);
    return st;
}

/* ---- writing ------------------------------------------------------------ */

static void put_texts(struct sink *sink, const char *key,
                      const struct config_texts *texts)
{
    sink_printf(sink, "%s= [", key);
    for (size_t i = 0; i < texts->n; i++)
        sink_printf(sink, "%s'%s'", i ? ", " : "", texts->items[i]);
    sink_puts(sink, "]\n");
}

/* The path on the device. */
static void put_model(struct sink *sink, const struct profile_config *profile,
                      const char *file)
{
    const char *slash = strrchr(file, '/');

    if (profile->device_model_loc)
        sink_printf(sink, "'%s/%s'", profile->device_model_loc,
                    slash ? slash + 1 : file);
    else
        sink_printf(sink, "'%s'", file);
}

static void put_tests(const struct campaign_config *config,
                      const struct campaign_tests *tests, struct sink *sink)
{
    const struct profile_config *profile = &config->profile;
    const char *last = "";

    sink_printf(sink, "[%s]\n",
                profile->network.n ? profile->network.items[0] : "networks");
    put_texts(sink, "test_var", &profile->profile_variables);
    sink_puts(sink, "bs= [");
    for (size_t i = 0; i < profile->bs.n; i++)
        sink_printf(sink, "%s%lld", i ? ", " : "",
                    (long long)profile->bs.items[i]);
    sink_printf(sink, "]\ndataset= ['%s']\n", profile->dataset);
    put_texts(sink, "net_name", &profile->network);
    put_texts(sink, "exec_stage", &profile->stage);
    sink_puts(sink, "model= [");
    for (size_t i = 0; i < tests->n; i++) {
        if (strcmp(tests->items[i].file, last) == 0)
            continue;
        sink_puts(sink, last[0] ? ",\n        " : "");
        last = tests->items[i].file;
        put_model(sink, profile, last);
    }
    sink_puts(sink, "]\n");
}

enum assay_status campaign_write_tests(const struct campaign_config *config,
                                       const struct campaign_tests *tests,
                                       const char *path, struct error *err)
{
    struct output *output;
    enum assay_status st = output_open(path, &output, err);

    if (st)
        return st;
    put_tests(config, tests, output_sink(output));
    return output_commit(output, err);
}

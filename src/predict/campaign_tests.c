/* predict/campaign_tests.c - see campaign.h: the list of tests, from a folder
 * of networks or a file of tests, and the rows it will lead to. */
#include "predict/campaign.h"

#include "base/file.h"
#include "base/ini.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "predict/campaign_internal.h"
#include "predict/campaign_names.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void campaign_tests_release(struct campaign_tests *tests)
{
    arena_release(&tests->arena);
    mem_free(tests->items);
    *tests = (struct campaign_tests){0};
}

/* ---- tests -------------------------------------------------------------- */

static int by_batch(const void *a, const void *b)
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

/* What to measure for each file. */
struct test_plan {
    const struct campaign_config *config;
    bool has_stage[N_STAGES], has_target[N_TARGETS];
    int64_t *batches; /* in rising order */
    size_t n_batches;
};

/* Makes room for so many batch sizes, in the arena of the tests. */
static enum assay_status plan_reserve(struct test_plan *plan, size_t n,
                                      struct campaign_tests *tests,
                                      struct error *err)
{
    plan->n_batches = n;
    plan->batches = arena_alloc(&tests->arena, (n + 1) * sizeof(int64_t));
    return plan->batches
               ? ASSAY_OK
               : error_nomem(err, n * sizeof(int64_t), "the list of tests");
}

static void plan_sort(struct test_plan *plan)
{
    if (plan->n_batches)
        qsort(plan->batches, plan->n_batches, sizeof *plan->batches, by_batch);
}

static enum assay_status add_series(struct campaign_tests *tests,
                                    const struct test_plan *plan,
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
                                  const struct test_plan *plan,
                                  const char *path, struct error *err)
{
    struct network_file name;
    struct campaign_test test = {.framework = plan->config->framework};
    enum assay_status st = ASSAY_OK;

    if (str_ends_with(path, ".py"))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "'%.100s' is a network written in Python; a file of "
                         "tests names .net or .onnx files",
                         path);
    if (!network_file_split(plan->config, path, &name))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%.120s: the name of a network must be "
                         "NAME_LEVEL.net, with a level of 0 to %d",
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

/* ---- from a folder ------------------------------------------------------ */

struct listed {
    char *path;
    struct network_file name;
};

struct file_list {
    struct listed *items;
    size_t n, capacity;
};

static void file_list_release(struct file_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        mem_free(list->items[i].path);
    mem_free(list->items);
}

static int by_network(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    int order = strcmp(x->name.network, y->name.network);

    if (!order && x->name.level != y->name.level)
        order = x->name.level < y->name.level ? -1 : 1;
    return order ? order : strcmp(x->path, y->path);
}

static bool is_asked_for(const struct campaign_config *config, const char *file,
                         struct network_file *name)
{
    const struct config_texts *networks = &config->profile.network;

    if ((!str_ends_with(file, ".net") && !str_ends_with(file, ".onnx")) ||
        !network_file_split(config, file, name))
        return false;
    for (size_t i = 0; i < networks->n; i++) {
        if (strcmp(network_canonical(networks->items[i]),
                   network_canonical(name->network)) == 0)
            return true;
    }
    return networks->n == 0;
}

static enum assay_status
list_network_files(const struct campaign_config *config, const char *folder,
                   struct file_list *list, struct error *err)
{
    DIR *open = opendir(folder);
    enum assay_status st = ASSAY_OK;
    struct dirent *entry;

    if (!open)
        return error_errno(err, errno, "opening the folder of networks %s",
                           folder);
    while (!st && (entry = readdir(open))) {
        struct network_file name;
        struct str path = {0};
        struct listed *moved;

        if (!is_asked_for(config, entry->d_name, &name))
            continue;
        moved = vec_reserve(list->items, &list->capacity, list->n + 1,
                            sizeof *moved);
        if (!moved || str_printf(&path, "%s/%s", folder, entry->d_name)) {
            st = error_nomem(err, 64, "the list of networks");
        } else {
            list->items = moved;
            list->items[list->n++] = /* which owns the path from here on */
                (struct listed){path.text, name};
        }
    }
    closedir(open);
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, by_network);
    return st;
}

static enum assay_status list_from_folder(const struct campaign_config *config,
                                          const struct test_plan *plan,
                                          struct campaign_tests *tests,
                                          struct error *err)
{
    const char *folder = config->profile.local_model_loc;
    struct file_list list = {0};
    enum assay_status st;

    if (!folder)
        folder = config->create.model_path;
    if (!folder)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "[profile] has no local_model_loc, the folder of the networks");
    st = list_network_files(config, folder, &list, err);
    for (size_t i = 0; !st && i < list.n; i++)
        st = add_file(tests, plan, list.items[i].path, err);
    if (!st && !list.n)
        st = error_set(
            err, ASSAY_BAD_INPUT,
            "%s has none of the networks asked for, named NAME_LEVEL.net",
            folder);
    file_list_release(&list);
    return st;
}

/* ---- from a file of tests ----------------------------------------------- */

/* Reads the batches of a section of tests. */
static enum assay_status take_batches(const struct toml_value *section,
                                      struct campaign_tests *tests,
                                      struct test_plan *plan, struct error *err)
{
    const struct toml_value *list = toml_find(section, "bs");
    enum assay_status st;
    size_t n = 0;

    if (!list && plan->n_batches)
        return ASSAY_OK;
    if (!list || list->kind != TOML_ARRAY || !list->items.n)
        return toml_complain(list ? list : section, err,
                             "[%s] has no list of batches, such as bs= [1, 2]",
                             section->key.text);
    st = plan_reserve(plan, list->items.n, tests, err);
    for (const struct toml_value *item = list->items.first; !st && item;
         item = item->next) {
        if (item->kind != TOML_INTEGER || item->integer < 1 ||
            item->integer > CAMPAIGN_MOST_BATCH)
            return toml_complain(list, err, "bs: batches must be from 1 to %d",
                                 CAMPAIGN_MOST_BATCH);
        plan->batches[n++] = item->integer;
    }
    plan_sort(plan);
    return st;
}

/* Marks which of two names a list in a section has; leaves the marks as they
 * are if there is no list. */
static enum assay_status take_names(const struct toml_value *section,
                                    const char *key, const char *const *names,
                                    bool *marks, struct error *err)
{
    const struct toml_value *list = toml_find(section, key);

    if (!list)
        return ASSAY_OK;
    if (list->kind != TOML_ARRAY)
        return toml_complain(list, err, "%s must be a list of %s and %s", key,
                             names[0], names[1]);
    marks[0] = marks[1] = false;
    for (const struct toml_value *item = list->items.first; item;
         item = item->next) {
        const char *text = item->kind == TOML_STRING ? item->string.text : "";

        if (strcmp(text, names[0]) != 0 && strcmp(text, names[1]) != 0)
            return toml_complain(list, err, "%s must be a list of %s and %s",
                                 key, names[0], names[1]);
        marks[strcmp(text, names[1]) == 0] = true;
    }
    return ASSAY_OK;
}

static enum assay_status list_from_section(const struct toml_value *section,
                                           const struct test_plan *plan,
                                           struct campaign_tests *tests,
                                           struct error *err)
{
    const struct toml_value *models = toml_find(section, "model");
    struct test_plan own = *plan;
    enum assay_status st = take_batches(section, tests, &own, err);

    if (!st)
        st = take_names(section, "exec_stage", stage_names, own.has_stage, err);
    if (!st)
        st = take_names(section, "test_var", target_names, own.has_target, err);
    if (!st && (!models || models->kind != TOML_ARRAY))
        st = toml_complain(section, err, "[%s] has no list of models",
                           section->key.text);
    if (st)
        return st;
    for (const struct toml_value *model = models->items.first; !st && model;
         model = model->next) {
        if (model->kind != TOML_STRING)
            return toml_complain(models, err, "models must be strings");
        st = add_file(tests, &own, model->string.text, err);
    }
    return st;
}

static enum assay_status list_from_file(const struct campaign_config *config,
                                        const struct test_plan *plan,
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
    struct test_plan plan = {.config = config};
    enum assay_status st = plan_reserve(&plan, profile->bs.n, tests, err);

    if (st)
        return st;
    if (plan.n_batches)
        memcpy(plan.batches, profile->bs.items,
               plan.n_batches * sizeof *plan.batches);
    memcpy(plan.has_stage, config->has_stage, sizeof plan.has_stage);
    memcpy(plan.has_target, config->has_target, sizeof plan.has_target);
    plan_sort(&plan);
    st = profile->test_config && !profile->create_config
             ? list_from_file(config, &plan, tests, err)
             : list_from_folder(config, &plan, tests, err);
    if (!st)
        st = campaign_order_tests(tests, err);
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

static void put_model_path(struct sink *sink,
                           const struct profile_config *profile,
                           const char *file)
{
    const char *slash = strrchr(file, '/');

    if (profile->device_model_loc)
        sink_printf(sink, "'%s/%s'", profile->device_model_loc,
                    slash ? slash + 1 : file);
    else
        sink_printf(sink, "'%s'", file);
}

/* Whether a test before it is of the same file. */
static bool is_file_listed(const struct campaign_tests *tests, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (tests->items[k].file == tests->items[i].file)
            return true;
    }
    return false;
}

static void put_tests(const struct campaign_config *config,
                      const struct campaign_tests *tests, struct sink *sink)
{
    const struct profile_config *profile = &config->profile;

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
        if (is_file_listed(tests, i))
            continue;
        sink_puts(sink, i ? ",\n        " : "");
        put_model_path(sink, profile, tests->items[i].file);
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

struct expecting {
    struct data_set *set;
    struct campaign_log *log; /* NULL: there is none yet */
};

static enum assay_status expect_row(struct data_set *set,
                                    const struct campaign_test *test,
                                    bool is_passed, struct error *err)
{
    struct measurement row = {.batch = (double)test->batch,
                              .stage = test->stage,
                              .framework = test->framework,
                              .value = {NAN, NAN}};
    enum assay_status st;

    if (!is_passed)
        return ASSAY_OK;
    row.value[test->target] = 1;
    st = data_set_describe(set, test->network, test->level, &row.description,
                           err);
    return st ? st : data_set_add_row(set, &row, err);
}

static enum assay_status expect_logged(void *context,
                                       const struct campaign_test *test,
                                       const struct campaign_result *result,
                                       struct error *err)
{
    const struct expecting *expecting = context;

    return expect_row(expecting->set, test, result->is_passed, err);
}

/* Tests that are in the log were already counted. */
static enum assay_status expect_test(const struct expecting *expecting,
                                     const struct campaign_test *test,
                                     struct error *err)
{
    struct campaign_result before = {0};
    enum assay_status st =
        expecting->log ? campaign_log_find(expecting->log, test, &before, err)
                       : ASSAY_OK;

    if (st || before.n_rounds)
        return st;
    return expect_row(expecting->set, test, true, err);
}

enum assay_status campaign_expect_rows(const struct campaign_tests *tests,
                                       struct campaign_log *log,
                                       struct data_set *set, struct error *err)
{
    struct expecting expecting = {set, log};
    enum assay_status st =
        log ? campaign_log_each(log, expect_logged, &expecting, err) : ASSAY_OK;

    for (size_t i = 0; !st && i < tests->n; i++)
        st = expect_test(&expecting, &tests->items[i], err);
    return st;
}

/* cli/inputs.c - see inputs.h. */
#include "cli/inputs.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/file_roles.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "store/store.h"

#include <string.h>

const char *const run_endings[] = {STORE_SUFFIX, STORE_PART_SUFFIX, NULL};

void inputs_note(const struct run *run, const char *name)
{
    if (run_health_of(run)->is_incomplete)
        message_note("%s is incomplete: its program is still running or died",
                     name);
}

enum assay_status inputs_load(const char *path, struct run **out,
                              struct error *err)
{
    enum assay_status st = store_load(path, out, err);

    if (!st)
        inputs_note(*out, path);
    return st;
}

/* Iterations of two models have no meaningful mean. */
static enum assay_status inputs_check_model(const struct run *run,
                                            const struct run *next,
                                            const char *path, const char *first,
                                            struct error *err)
{
    const char *own = run_fact(run, "model.name");
    const char *other = run_fact(next, "model.name");

    if (!own || !other || strcmp(own, other) == 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s is a run of %s, but %s of %s; only runs of one model "
                     "can be joined; compare others with `assay compare`",
                     first, own, path, other);
}

static enum assay_status inputs_join_next(struct run *run, const char *path,
                                          const char *first, struct error *err)
{
    struct run *next = NULL;
    enum assay_status st = store_load(path, &next, err);

    if (!st)
        st = inputs_check_model(run, next, path, first, err);
    if (!st) {
        st = run_merge(run, next, err);
        if (st)
            error_context(err, "joining %s", path);
    }
    run_free(next);
    return st;
}

enum assay_status inputs_join(const struct words *paths, struct run **out,
                              struct error *err)
{
    struct run *run = NULL;
    enum assay_status st = store_load(paths->items[0], &run, err);

    *out = NULL;
    for (size_t i = 1; i < paths->n && !st; i++)
        st = inputs_join_next(run, paths->items[i], paths->items[0], err);
    if (st) {
        run_free(run);
        return st;
    }
    *out = run;
    return ASSAY_OK;
}

enum assay_status inputs_name(const struct words *paths, struct str *out,
                              struct error *err)
{
    enum assay_status st = str_append(out, paths->items[0]);

    if (!st && paths->n > 1)
        st = str_printf(out, " and %zu more", paths->n - 1);
    return st ? error_nomem(err, out->n, "a name") : ASSAY_OK;
}

enum assay_status inputs_name_output(const char *given, const char *what,
                                     const char *ending,
                                     const struct words *runs, struct str *out,
                                     struct error *err)
{
    enum assay_status st;

    if (given)
        return str_append(out, given) ? error_nomem(err, 64, "a file name")
                                      : ASSAY_OK;
    st = result_name_of_run(runs->items[runs->n - 1], ending, out, err);
    return st ? st : file_roles_check_one(what, out->text, runs, err);
}

void run_list_release(struct run_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        run_free(list->items[i]);
    mem_free(list->items);
    *list = (struct run_list){0};
}

enum assay_status run_list_load(struct run_list *list,
                                const struct words *paths, struct error *err)
{
    enum assay_status st;

    list->items = mem_array(paths->n, sizeof *list->items);
    if (!list->items)
        return error_nomem(err, paths->n * sizeof *list->items, "the runs");
    for (size_t i = 0; i < paths->n; i++) {
        st = inputs_load(paths->items[i], &list->items[i], err);
        if (st)
            return st;
        list->n++;
    }
    return ASSAY_OK;
}

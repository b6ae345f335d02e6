/* serve/run_folder.c - see run_folder.h. */
#include "serve/run_folder.h"

#include "base/mem.h"
#include "base/vec.h"
#include "run/compare.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_ENTRIES = 10000 };

static void entries_release(struct folder_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free(entries[i].name);
    mem_free(entries);
}

void folder_release(struct run_folder *folder)
{
    entries_release(folder->entries, folder->n);
    folder->entries = NULL;
    folder->n = folder->capacity = 0;
}

const struct folder_entry *folder_find(const struct run_folder *folder,
                                       const char *name)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (strcmp(folder->entries[i].name, name) == 0)
            return &folder->entries[i];
    }
    return NULL;
}

enum assay_status folder_load(const struct run_folder *folder, const char *name,
                              struct run **out, struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (str_printf(&path, "%s/%s", folder->path, name))
        st = error_nomem(err, strlen(name), "the path of a run");
    else
        st = store_load(path.text, out, err);
    str_release(&path);
    return st;
}

/* ---- what is known about a file ----------------------------------------- */

static enum entry_kind entry_kind_by_name(const char *name)
{
    if (str_ends_with(name, STORE_SUFFIX))
        return ENTRY_RUN;
    if (str_ends_with(name, STORE_PART_SUFFIX) &&
        strstr(name, STORE_SUFFIX "."))
        return ENTRY_RECORDING;
    return ENTRY_FOREIGN;
}

static void entry_text(char to[ENTRY_TEXT], const char *text)
{
    snprintf(to, ENTRY_TEXT, "%s", text ? text : "");
}

static void entry_describe(struct folder_entry *entry, const struct run *run)
{
    const struct run_memory *memory = run_memory_of(run);
    const char *model = run_fact(run, "model.name");
    struct scope_stats stats;

    entry_text(entry->model, model ? model : run_scope(run, RUN_ROOT)->name);
    entry_text(entry->started, run_fact(run, "time.started"));
    entry->n_iterations = run_iteration_count(run);
    if (memory->peak_bytes != RUN_UNKNOWN)
        entry->peak_bytes = (double)memory->peak_bytes;
    if (run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, NULL) == ASSAY_OK) {
        entry->mean_ns = stats.mean_ns;
        entry->p95_ns = stats.p95_ns;
    }
    if (run_health_of(run)->is_incomplete)
        entry->kind = ENTRY_RECORDING;
}

static enum assay_status entry_learn(struct folder_entry *entry,
                                     const struct run_folder *folder,
                                     struct error *err)
{
    struct error why = {0};
    struct run *run = NULL;
    enum assay_status st;

    entry->mean_ns = entry->p95_ns = entry->peak_bytes = entry->change = NAN;
    entry->kind = entry_kind_by_name(entry->name);
    if (entry->kind == ENTRY_FOREIGN)
        return ASSAY_OK;
    st = folder_load(folder, entry->name, &run, &why);
    if (st == ASSAY_NOMEM)
        return error_set(err, st, "%s", why.text);
    if (st) {
        entry->kind = ENTRY_DAMAGED;
        snprintf(entry->why, sizeof entry->why, "%s", why.text);
        return ASSAY_OK;
    }
    entry_describe(entry, run);
    run_free(run);
    return ASSAY_OK;
}

/* ---- the runs before ------------------------------------------------------
 */

/* By model, then by the time a run began, then by name; others come last. */
static int entries_order(const void *left, const void *right)
{
    const struct folder_entry *a = left, *b = right;
    int order = (int)a->kind / 2 - (int)b->kind / 2;

    if (!order)
        order = strcmp(a->model, b->model);
    if (!order)
        order = strcmp(a->started, b->started);
    return order ? order : strcmp(a->name, b->name);
}

static double entry_change(const struct comparison *comparison)
{
    const struct compare_row *whole = compare_row(comparison, 0);

    return whole->is_counted ? whole->ratio : isnan(whole->ratio) ? NAN : 0;
}

/* By the rules of `assay compare`. Runs that cannot be compared are not. */
static void entry_compare(struct folder_entry *entry,
                          const struct folder_entry *before,
                          const struct run_folder *folder)
{
    struct run *a = NULL, *b = NULL;
    struct comparison *comparison = NULL;

    if (entry->compared_ns == before->changed_ns)
        return;
    entry->compared_ns = before->changed_ns;
    entry->change = NAN;
    if (folder_load(folder, before->name, &a, NULL) == ASSAY_OK &&
        folder_load(folder, entry->name, &b, NULL) == ASSAY_OK) {
        struct compare_side sides[] = {{(const struct run *const *)&a, 1},
                                       {(const struct run *const *)&b, 1}};

        if (compare_new(&sides[0], &sides[1], NULL, &comparison, NULL) ==
            ASSAY_OK)
            entry->change = entry_change(comparison);
    }
    compare_free(comparison);
    run_free(a);
    run_free(b);
}

/* ---- the folder ------------------------------------------------------------
 */

static enum assay_status folder_take(struct run_folder *now,
                                     const struct run_folder *before,
                                     const char *name, const struct stat *about,
                                     struct error *err)
{
    const struct folder_entry *known = folder_find(before, name);
    struct folder_entry entry = {.changed_ns = (int64_t)about->st_mtim.tv_sec *
                                                   1000000000 +
                                               about->st_mtim.tv_nsec,
                                 .bytes = about->st_size};

    if (known && known->changed_ns == entry.changed_ns &&
        known->bytes == entry.bytes)
        entry = *known;
    else
        known = NULL;
    entry.name = mem_strdup(name);
    if (!entry.name || !vec_grow(&now->entries, &now->capacity, now->n + 1,
                                 sizeof *now->entries)) {
        mem_free(entry.name);
        return error_nomem(err, strlen(name), "the files of a folder");
    }
    now->entries[now->n++] = entry;
    return known ? ASSAY_OK : entry_learn(&now->entries[now->n - 1], now, err);
}

static enum assay_status folder_scan(struct run_folder *now,
                                     const struct run_folder *before, DIR *dir,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;
    const struct dirent *item;

    while (!st && now->n < MOST_ENTRIES && (item = readdir(dir))) {
        struct stat about;

        if (item->d_name[0] == '.' ||
            fstatat(dirfd(dir), item->d_name, &about, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(about.st_mode))
            continue;
        st = folder_take(now, before, item->d_name, &about, err);
    }
    return st;
}

enum assay_status folder_refresh(struct run_folder *folder, struct error *err)
{
    struct run_folder now = {.path = folder->path};
    DIR *dir = opendir(folder->path);
    enum assay_status st;

    if (!dir)
        return error_set(err, ASSAY_IO, "reading %s: %s", folder->path,
                         strerror(errno));
    st = folder_scan(&now, folder, dir, err);
    closedir(dir);
    if (st) {
        folder_release(&now);
        return st;
    }
    if (now.n)
        qsort(now.entries, now.n, sizeof *now.entries, entries_order);
    for (size_t i = 1; i < now.n; i++) {
        struct folder_entry *entry = &now.entries[i];

        if (entry->kind == ENTRY_RUN && entry[-1].kind == ENTRY_RUN &&
            strcmp(entry->model, entry[-1].model) == 0)
            entry_compare(entry, entry - 1, &now);
    }
    folder_release(folder);
    *folder = now;
    return ASSAY_OK;
}

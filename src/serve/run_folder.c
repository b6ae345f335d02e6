/* serve/run_folder.c - see run_folder.h. */
#include "serve/run_folder.h"

#include "base/mem.h"
#include "base/vec.h"
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

static enum assay_status entry_learn(struct folder_entry *entry,
                                     const struct run_folder *folder,
                                     struct error *err)
{
    struct error why = {0};
    struct run *run = NULL;
    enum assay_status st;

    entry->point.verdict.ratio = NAN;
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
    trend_describe(run, &entry->point);
    if (run_health_of(run)->is_incomplete)
        entry->kind = ENTRY_RECORDING;
    run_free(run);
    return ASSAY_OK;
}

/* ---- the runs before ------------------------------------------------------
 */

/* By model, the complete runs first, then by the second in which a run began,
 * then by when its file was written, then by name; others come last. */
static int entries_order(const void *left, const void *right)
{
    const struct folder_entry *a = left, *b = right;
    int order = (int)a->kind / 2 - (int)b->kind / 2;

    if (!order)
        order = strcmp(a->point.model, b->point.model);
    if (!order)
        order = (int)a->kind - (int)b->kind;
    if (!order)
        order = strcmp(a->point.started, b->point.started);
    if (!order && *a->point.started && a->changed_ns != b->changed_ns)
        order = a->changed_ns < b->changed_ns ? -1 : 1;
    return order ? order : strcmp(a->name, b->name);
}

uint64_t entry_stamp(const struct folder_entry *entry)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (const char *at = entry->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    hash = (hash ^ (uint64_t)entry->changed_ns) * 0x100000001b3u;
    return ((hash ^ (uint64_t)entry->bytes) * 0x100000001b3u) | 1;
}

/* By the rules of `assay compare`, unless that was done before. A run that
 * cannot be loaded any more is not judged. */
static enum assay_status entry_judge(struct folder_entry *entry,
                                     const struct folder_entry *base,
                                     const struct run_folder *folder,
                                     struct error *err)
{
    uint64_t stamp = entry_stamp(base);
    struct run *a = NULL, *b = NULL;
    enum assay_status st = ASSAY_OK;

    if (entry->judged_by == stamp)
        return ASSAY_OK;
    entry->judged_by = stamp;
    entry->point.verdict = (struct trend_verdict){.ratio = NAN};
    if (folder_load(folder, base->name, &a, NULL) == ASSAY_OK &&
        folder_load(folder, entry->name, &b, NULL) == ASSAY_OK)
        st = trend_judge(a, b, folder->budgets, &entry->point.verdict, err);
    run_free(a);
    run_free(b);
    return st;
}

/* What the i-th entry is judged against: the base if it is of the same model,
 * otherwise the run before it; NULL: nothing. */
static const struct folder_entry *
folder_base_of(const struct run_folder *folder, size_t i)
{
    const struct folder_entry *entry = &folder->entries[i];
    const struct folder_entry *base =
        folder->base ? folder_find(folder, folder->base) : NULL;

    if (entry->kind != ENTRY_RUN)
        return NULL;
    if (base && base->kind == ENTRY_RUN &&
        strcmp(base->point.model, entry->point.model) == 0)
        return base == entry ? NULL : base;
    if (i == 0 || entry[-1].kind != ENTRY_RUN ||
        strcmp(entry[-1].point.model, entry->point.model) != 0)
        return NULL;
    return entry - 1;
}

static enum assay_status folder_judge(struct run_folder *folder,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < folder->n; i++) {
        const struct folder_entry *base = folder_base_of(folder, i);

        folder->entries[i].point.base = base ? base->name : NULL;
        if (base) {
            st = entry_judge(&folder->entries[i], base, folder, err);
            continue;
        }
        folder->entries[i].judged_by = 0;
        folder->entries[i].point.verdict = (struct trend_verdict){.ratio = NAN};
    }
    return st;
}

enum assay_status folder_check_base(const struct run_folder *folder,
                                    struct error *err)
{
    const struct folder_entry *base =
        folder->base ? folder_find(folder, folder->base) : NULL;

    if (!folder->base || (base && base->kind == ENTRY_RUN))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "--baseline: %s has no complete run named %s",
                     folder->path, folder->base);
}

enum assay_status folder_trend(const struct run_folder *folder,
                               const char *model, struct trend *trend,
                               struct error *err)
{
    struct trend_point *points =
        mem_array(folder->n ? folder->n : 1, sizeof *points);
    size_t n = 0;

    if (!points)
        return error_nomem(err, folder->n * sizeof *points, "a trend");
    for (size_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (entry->kind != ENTRY_RUN ||
            (model && strcmp(model, entry->point.model) != 0))
            continue;
        points[n] = entry->point;
        points[n++].name = entry->name;
    }
    trend->points = points;
    trend->n = n;
    trend->base = folder->base;
    trend->above = folder->budgets->n && !folder->budgets->items[0].scope
                       ? folder->budgets->items[0].above
                       : NAN;
    return ASSAY_OK;
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
    struct run_folder now = {
        .path = folder->path, .budgets = folder->budgets, .base = folder->base};
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
    st = folder_judge(&now, err);
    if (st) {
        folder_release(&now);
        return st;
    }
    folder_release(folder);
    *folder = now;
    return ASSAY_OK;
}

/* data/pets_strays.c - files in the folders that belong to no sample.
 *
 * The published archives have some: leftovers of MATLAB and macOS, and images
 * that no list names. */
#include "data/pets_internal.h"

#include "base/file.h"
#include "base/map.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds the names in a list; a missing list is noted. */
static enum assay_status add_listed(struct dataset *dataset, const char *path,
                                    struct map *names, struct error *err)
{
    enum { most_bytes = 64 << 20 };
    struct str text = {0};
    struct error why = {0};
    enum assay_status st = file_read(path, most_bytes, &text, &why);

    if (st == ASSAY_NOMEM)
        error_set(err, st, "%s", why.text);
    else if (st)
        st = dataset_note(dataset, err, "%s", why.text);
    for (const char *at = str_text(&text); !st && *at;) {
        size_t n = strcspn(at, "\n"), n_name = strcspn(at, " \t\r\n");

        if (n_name && map_put(names, at, n_name, 1))
            st = error_nomem(err, n_name, "a list of images");
        at += n + (at[n] == '\n');
    }
    str_release(&text);
    return st;
}

static enum assay_status add_all_listed(struct dataset *dataset,
                                        const char *root, struct map *names,
                                        struct error *err)
{
    static const char *const lists[] = {"list", "trainval", "test"};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof lists / sizeof *lists; i++) {
        const char *path = NULL;

        st = dataset_text(dataset, &path, err, "%s/annotations/%s.txt", root,
                          lists[i]);
        if (!st)
            st = add_listed(dataset, path, names, err);
    }
    return st;
}

/* Why a file belongs to no sample; NULL if it does. */
static const char *why_stray(const char *name, const char *ending,
                             const struct map *names)
{
    size_t n = strlen(name), n_ending = strlen(ending);

    if (strncmp(name, "._", 2) == 0)
        return "metadata of macOS";
    if (n > 4 && strcmp(name + n - 4, ".mat") == 0)
        return "a leftover of MATLAB";
    if (n <= n_ending || strcmp(name + n - n_ending, ending) != 0)
        return "of an unknown kind";
    return map_find(names, name, n - n_ending, NULL) ? NULL : "in no list";
}

static enum assay_status note_strays(struct dataset *dataset, const char *root,
                                     const char *folder, const char *ending,
                                     const struct map *names, struct error *err)
{
    const char *path = NULL;
    enum assay_status st =
        dataset_text(dataset, &path, err, "%s/%s", root, folder);
    const struct dirent *entry;
    DIR *dir;

    if (st)
        return st;
    dir = opendir(path);
    if (!dir)
        return dataset_note(dataset, err, "cannot read %s: %s", path,
                            strerror(errno));
    while (!st && (entry = readdir(dir)) != NULL) {
        const char *why = why_stray(entry->d_name, ending, names);
        bool is_folder =
            strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;

        if (why && !is_folder)
            st = dataset_note(dataset, err, "%s/%s is %s", path, entry->d_name,
                              why);
    }
    closedir(dir);
    return st;
}

enum assay_status pets_list_strays(struct dataset *dataset, const char *root,
                                   struct error *err)
{
    static const struct {
        const char *folder, *ending;
    } folders[] = {{"images", ".jpg"},
                   {"annotations/xmls", ".xml"},
                   {"annotations/trimaps", ".png"}};
    size_t before = dataset->n_odd;
    struct map names = {0};
    enum assay_status st = add_all_listed(dataset, root, &names, err);

    for (size_t i = 0; !st && i < sizeof folders / sizeof *folders; i++)
        st = note_strays(dataset, root, folders[i].folder, folders[i].ending,
                         &names, err);
    if (dataset->n_odd > before)
        qsort(dataset->odd + before, dataset->n_odd - before,
              sizeof *dataset->odd, dataset_by_text);
    map_release(&names);
    return st;
}

/* data/imagefolder.c - one folder per class, with its images anywhere
 * inside. */
#include "data/dataset_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MOST_DEPTH = 32 };

/* Names of a folder, in the arena. Start from {0}. */
struct folder_names {
    const char **items;
    size_t n, capacity;
};

static enum assay_status add_name(struct dataset *dataset,
                                  struct folder_names *names,
                                  const char *folder, const char *name,
                                  struct error *err)
{
    const char **moved = vec_reserve(names->items, &names->capacity,
                                     names->n + 1, sizeof *names->items);
    enum assay_status st;

    if (!moved)
        return error_nomem(err, sizeof *moved, "the list of a folder");
    names->items = moved;
    st = dataset_text(dataset, &names->items[names->n], err, "%s/%s", folder,
                      name);
    names->n += st ? 0 : 1;
    return st;
}

static bool is_image(const char *name)
{
    static const char *const endings[] = {".jpg",  ".jpeg", ".png", ".webp",
                                          ".bmp",  ".tif",  ".ppm", ".pgm",
                                          ".tiff", ".gif"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    }
    return false;
}

/* Appends the folders, or the images, in a folder, sorted. Skips hidden
 * ones. */
static enum assay_status list_entries(struct dataset *dataset,
                                      const char *folder, bool wants_folders,
                                      struct folder_names *names,
                                      struct error *err)
{
    DIR *dir = opendir(folder);
    size_t before = names->n;
    const struct dirent *entry;
    enum assay_status st = ASSAY_OK;

    if (!dir)
        return error_errno(err, errno, "cannot read the folder %s", folder);
    while (!st && (entry = readdir(dir)) != NULL) {
        struct stat info;

        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(dir), entry->d_name, &info, 0))
            continue;
        if (wants_folders ? S_ISDIR(info.st_mode)
                          : S_ISREG(info.st_mode) && is_image(entry->d_name))
            st = add_name(dataset, names, folder, entry->d_name, err);
    }
    closedir(dir);
    if (names->n > before)
        qsort(names->items + before, names->n - before, sizeof *names->items,
              dataset_by_text);
    return st;
}

/* Lists the folder and all folders in it, sorted. */
static enum assay_status list_tree(struct dataset *dataset, const char *root,
                                   struct folder_names *folders,
                                   struct error *err)
{
    size_t level = 0, level_end;
    enum assay_status st = ASSAY_OK;
    const char **first = vec_reserve(folders->items, &folders->capacity, 1,
                                     sizeof *folders->items);

    if (!first)
        return error_nomem(err, sizeof *first, "the list of a folder");
    folders->items = first;
    first[folders->n++] = root;
    for (int depth = 0; !st && level < folders->n; depth++) {
        if (depth == MOST_DEPTH)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s has folders nested to a depth of %d; a link "
                             "in it may lead back",
                             root, MOST_DEPTH);
        for (level_end = folders->n; !st && level < level_end; level++)
            st = list_entries(dataset, folders->items[level], true, folders,
                              err);
    }
    if (!st)
        qsort(folders->items, folders->n, sizeof *folders->items,
              dataset_by_text);
    return st;
}

static enum assay_status add_class(struct dataset *dataset, const char *folder,
                                   struct error *err)
{
    const char *name = strrchr(folder, '/') + 1;
    struct dataset_target image = {.label = (int64_t)dataset->n_classes};
    struct folder_names folders = {0}, files = {0};
    enum assay_status st = dataset_add_class(dataset, name, strlen(name), err);

    if (!st)
        st = list_tree(dataset, folder, &folders, err);
    for (size_t i = 0; !st && i < folders.n; i++)
        st = list_entries(dataset, folders.items[i], false, &files, err);
    for (size_t i = 0; !st && i < files.n; i++) {
        image.path = files.items[i];
        st = dataset_add_image(dataset, &image, err);
    }
    mem_free(folders.items);
    mem_free(files.items);
    return st;
}

/* Finds the folder of a split by one of its names; the path itself if it has no
 * split. */
static enum assay_status find_split_root(struct dataset *dataset,
                                         const struct dataset_options *options,
                                         const char **root, struct error *err)
{
    static const char *const called[2][2] = {
        [DATASET_TRAIN] = {"train", "training"},
        [DATASET_TEST] = {"test", "val"},
    };
    const char *const *names = called[options->split];
    const char *path = options->path;
    bool has_other = folder_has(path, called[!options->split][0]) ||
                     folder_has(path, called[!options->split][1]);

    for (size_t i = 0; i < 2; i++) {
        if (folder_has(path, names[i]))
            return dataset_text(dataset, root, err, "%s/%s", path, names[i]);
    }
    if (has_other)
        return error_set(
            err, ASSAY_NOT_FOUND,
            "%s has no folder for this split; looked for %s/ and %s/", path,
            names[0], names[1]);
    return dataset_text(dataset, root, err, "%s", path);
}

/* Images are sorted by class, so a limit takes some of each. */
static void spread_limit(struct dataset *dataset, size_t limit)
{
    size_t n = dataset->n;

    if (!limit || limit >= n)
        return;
    for (size_t i = 0; i < limit; i++) {
        size_t from = (size_t)((double)i * (double)n / (double)limit);

        dataset->images[i] = dataset->images[from];
        dataset->images[i].id = (int64_t)i;
    }
    dataset->n = limit;
}

static enum assay_status imagefolder_open(struct dataset *dataset,
                                          const struct dataset_options *options,
                                          struct error *err)
{
    struct folder_names folders = {0};
    const char *root = NULL;
    enum assay_status st = find_split_root(dataset, options, &root, err);

    if (!st)
        st = list_entries(dataset, root, true, &folders, err);
    for (size_t i = 0; !st && i < folders.n; i++)
        st = add_class(dataset, folders.items[i], err);
    if (!st && dataset->n == 0)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no images in %s; looked for one folder per class with "
                       "JPEG or PNG files in it, and found %zu folders",
                       root, folders.n);
    if (!st)
        spread_limit(dataset, options->limit);
    mem_free(folders.items);
    return st;
}

const struct dataset_class imagefolder_class = {.name = "imagefolder",
                                                .open = imagefolder_open};

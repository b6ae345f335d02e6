/* data/coco.c - finds the files of a COCO dataset. */
#include "base/file.h"
#include "data/coco_read.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "instances_";
static const char suffix[] = ".json";

/* "val2017" of "annotations/instances_val2017.json"; 0 if it is named
 * differently. */
static size_t coco_split_name(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    size_t n = strlen(file);

    if (strncmp(file, prefix, strlen(prefix)) != 0 ||
        n <= strlen(prefix) + strlen(suffix) ||
        strcmp(file + n - strlen(suffix), suffix) != 0)
        return 0;
    *name = file + strlen(prefix);
    return n - strlen(prefix) - strlen(suffix);
}

/* Prefers later years: the last in alphabetical order. */
static enum assay_status take_later(struct dataset *dataset, const char *folder,
                                    const char *file, const char *split,
                                    const char **best, struct error *err)
{
    const char *name = NULL, *path;
    size_t n = coco_split_name(file, &name);
    enum assay_status st;

    if (n == 0 || strncmp(name, split, strlen(split)) != 0)
        return ASSAY_OK;
    st = dataset_text(dataset, &path, err, "%s/%s", folder, file);
    if (!st && (!*best || strcmp(path, *best) > 0))
        *best = path;
    return st;
}

/* Finds annotations/instances_SPLIT*.json in a folder. */
static enum assay_status coco_find_file(struct dataset *dataset,
                                        const char *root, const char *split,
                                        const char **path, struct error *err)
{
    const char *folder;
    const struct dirent *entry;
    enum assay_status st =
        dataset_text(dataset, &folder, err, "%s/annotations", root);
    DIR *dir;

    if (st)
        return st;
    dir = opendir(folder);
    *path = NULL;
    while (!st && dir && (entry = readdir(dir)) != NULL)
        st = take_later(dataset, folder, entry->d_name, split, path, err);
    if (dir)
        closedir(dir);
    if (!st && !*path)
        st = error_set(
            err, ASSAY_NOT_FOUND,
            "no COCO annotations in %s; looked for "
            "annotations/instances_%s*.json; you can also name the file",
            root, split);
    return st;
}

static bool is_there(const char *folder, const char *name)
{
    struct str path = {0};
    bool is = !str_printf(&path, "%s/%s", folder, name) &&
              access(path.text, F_OK) == 0;

    str_release(&path);
    return is;
}

/* Whether a name leads out of the folder of images. */
static bool leads_out(const char *name)
{
    if (name[0] == '/')
        return true;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return true;
    }
    return false;
}

/* Finds the folder that has the first image. */
static enum assay_status coco_find_images(struct dataset *dataset,
                                          const char *file, const char **folder,
                                          struct error *err)
{
    /* Relative to the file's own folder; has_name: followed by "val2017". */
    static const struct {
        const char *between;
        bool has_name;
    } places[] = {{"/../", true},     {"/../images/", true}, {"/", true},
                  {"/images/", true}, {"/../images", false}, {"/images", false},
                  {"", false}};
    const char *slash = strrchr(file, '/'), *name = "";
    const char *here = slash ? file : ".";
    int n_here = slash ? (int)(slash - file) : 1;
    int n_name = (int)coco_split_name(file, &name);
    const char *first = dataset->n ? dataset->images[0].path : ".";

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        enum assay_status st;

        if (places[i].has_name && !n_name)
            continue;
        st = dataset_text(dataset, folder, err, "%.*s%s%.*s", n_here, here,
                          places[i].between, places[i].has_name ? n_name : 0,
                          name);
        if (st || is_there(*folder, first))
            return st;
    }
    return error_set(err, ASSAY_NOT_FOUND,
                     "the images of %s are missing; looked for %s next to it, "
                     "in images/%s%.*s, and the same one folder up",
                     file, first, n_name ? " and " : "", n_name, name);
}

/* Turns the names in the file into paths. */
static enum assay_status set_paths(struct dataset *dataset, const char *file,
                                   struct error *err)
{
    const char *folder = NULL;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < dataset->n; i++) {
        if (leads_out(dataset->images[i].path))
            return error_set(
                err, ASSAY_BAD_INPUT,
                "%s: the image '%s' would be outside the folder of images",
                file, dataset->images[i].path);
    }
    st = coco_find_images(dataset, file, &folder, err);
    for (size_t i = 0; !st && i < dataset->n; i++)
        st = dataset_text(dataset, &dataset->images[i].path, err, "%s/%s",
                          folder, dataset->images[i].path);
    return st;
}

static enum assay_status coco_open(struct dataset *dataset,
                                   const struct dataset_options *options,
                                   struct error *err)
{
    static const char *const splits[] = {
        [DATASET_TRAIN] = "train", [DATASET_TEST] = "val"};
    struct coco_source source = {.path = options->path};
    struct stat info;
    enum assay_status st = ASSAY_OK;

    if (stat(options->path, &info))
        return error_errno(err, errno, "cannot read %s", options->path);
    if (S_ISDIR(info.st_mode))
        st = coco_find_file(dataset, options->path, splits[options->split],
                            &source.path, err);
    if (!st)
        st = file_check_input(source.path, err);
    if (!st)
        st = coco_read(dataset, &source, options, err);
    if (!st && dataset->n == 0)
        st = error_set(err, ASSAY_BAD_INPUT, "%s lists no images", source.path);
    if (options->has_no_pictures)
        return st;
    return st ? st : set_paths(dataset, source.path, err);
}

const struct dataset_class coco_class = {.name = "coco", .open = coco_open};

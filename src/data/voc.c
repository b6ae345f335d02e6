/* data/voc.c - Pascal VOC: lists of images, with one XML file each. */
#include "data/dataset_internal.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/voc_read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The classes of the challenge, whose labels stay the same even if a part of it
 * lacks some. */
static const char *const voc_classes[] = {
    "aeroplane",   "bicycle", "bird",  "boat",      "bottle",
    "bus",         "car",     "cat",   "chair",     "cow",
    "diningtable", "dog",     "horse", "motorbike", "person",
    "pottedplant", "sheep",   "sofa",  "train",     "tvmonitor"};

enum { N_VOC_CLASSES = sizeof voc_classes / sizeof *voc_classes };

/* Start from {0}. */
struct voc_reading {
    struct dataset *dataset;
    const char *root;
    const char *folder; /* of the XML files */
    size_t limit;
    bool has_no_pictures;
    struct map labels; /* from names to indices among the classes seen */
};

/* ---- finding it ------------------------------------------------------- */

static bool voc_is_root(const char *path, bool has_no_pictures)
{
    return folder_has(path, "Annotations") &&
           (has_no_pictures || folder_has(path, "JPEGImages"));
}

/* The path itself, or the latest year in it (VOC2012), or in its VOCdevkit. */
static enum assay_status voc_find_root(struct dataset *dataset,
                                       const char *path, bool has_no_pictures,
                                       const char **root, struct error *err)
{
    static const char *const years[] = {
        "VOC2012", "VOC2007", "VOCdevkit/VOC2012", "VOCdevkit/VOC2007"};
    enum assay_status st = dataset_text(dataset, root, err, "%s", path);

    for (size_t i = 0; !st && !voc_is_root(*root, has_no_pictures) &&
                       i < sizeof years / sizeof *years;
         i++)
        st = dataset_text(dataset, root, err, "%s/%s", path, years[i]);
    if (!st && !voc_is_root(*root, has_no_pictures))
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no Pascal VOC in %s; looked for Annotations/ and "
                       "JPEGImages/ there, and in VOC2012/, VOC2007/ and "
                       "VOCdevkit/",
                       path);
    return st;
}

/* Reads the list of a split: the first of two that exists. */
static enum assay_status voc_read_list(const char *root,
                                       enum dataset_split split,
                                       struct str *text, struct error *err)
{
    enum { most_bytes = 64 << 20 };
    static const char *const lists[2][2] = {
        [DATASET_TRAIN] = {"train.txt", "trainval.txt"},
        [DATASET_TEST] = {"test.txt", "val.txt"},
    };
    struct str path = {0};
    enum assay_status st = ASSAY_OK;
    bool is_there = false;

    for (size_t i = 0; !st && !is_there && i < 2; i++) {
        str_clear(&path);
        if (str_printf(&path, "%s/ImageSets/Main/%s", root, lists[split][i]))
            st = error_nomem(err, strlen(root), "a file name");
        else
            is_there = access(path.text, F_OK) == 0;
    }
    if (!st && !is_there)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no list of images in %s; looked for "
                       "ImageSets/Main/%s and %s",
                       root, lists[split][0], lists[split][1]);
    if (!st)
        st = file_read(path.text, most_bytes, text, err);
    str_release(&path);
    return st;
}

/* ---- one image -------------------------------------------------------- */

/* Finds the photograph; the challenge only has JPEGs, but others use the
 * layout. */
static enum assay_status find_photo(struct voc_reading *reading, const char *id,
                                    int n_id, const char **path,
                                    struct error *err)
{
    static const char *const endings[] = {"jpg", "jpeg", "png", "JPG"};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        st = dataset_text(reading->dataset, path, err, "%s/JPEGImages/%.*s.%s",
                          reading->root, n_id, id, endings[i]);
        if (st || access(*path, F_OK) == 0)
            return st;
    }
    return error_set(err, ASSAY_NOT_FOUND,
                     "the photograph %.*s is missing; looked for "
                     "%s/JPEGImages/%.*s.jpg, .jpeg and .png",
                     n_id, id, reading->root, n_id, id);
}

/* Until all classes are known, labels count them in the order seen. */
static enum assay_status voc_find_name(struct voc_reading *reading,
                                       const char *name, size_t *label,
                                       struct error *err)
{
    struct dataset *dataset = reading->dataset;
    uint64_t place;

    if (map_find_text(&reading->labels, name, &place)) {
        *label = (size_t)place;
        return ASSAY_OK;
    }
    *label = dataset->n_classes;
    if (map_put_text(&reading->labels, name, *label))
        return error_nomem(err, strlen(name), "the name of a class");
    return dataset_add_class(dataset, name, strlen(name), err);
}

static enum assay_status keep_objects(struct voc_reading *reading,
                                      const struct voc_annotation *annotation,
                                      struct dataset_target *image,
                                      struct error *err)
{
    size_t bytes = annotation->n * sizeof(struct dataset_object);
    struct dataset_object *objects =
        arena_alloc(&reading->dataset->memory, bytes);
    enum assay_status st = ASSAY_OK;

    if (!objects)
        return error_nomem(err, bytes, "the objects of an image");
    for (size_t i = 0; !st && i < annotation->n; i++) {
        objects[i] = annotation->objects[i].object;
        st = voc_find_name(reading, annotation->objects[i].name,
                           &objects[i].label, err);
    }
    image->objects = objects;
    image->n_objects = annotation->n;
    image->width = annotation->width;
    image->height = annotation->height;
    return st;
}

static enum assay_status voc_read_image(struct voc_reading *reading,
                                        const char *id, int n_id,
                                        struct error *err)
{
    enum { most_bytes = 16 << 20 };
    struct dataset_target image = {.label = -1};
    struct voc_annotation annotation = {0};
    struct arena memory = {0};
    struct str path = {0}, text = {0};
    enum assay_status st = ASSAY_OK;

    if (str_printf(&path, "%s/%.*s.xml", reading->folder, n_id, id))
        st = error_nomem(err, (size_t)n_id, "a file name");
    if (!st)
        st = file_read(path.text, most_bytes, &text, err);
    if (!st)
        st = voc_read_text(text.text, text.n, path.text, &memory, &annotation,
                           err);
    if (!st && reading->has_no_pictures)
        st = dataset_text(reading->dataset, &image.path, err, "%.*s", n_id, id);
    else if (!st)
        st = find_photo(reading, id, n_id, &image.path, err);
    if (!st)
        st = keep_objects(reading, &annotation, &image, err);
    if (!st)
        st = dataset_add_image(reading->dataset, &image, err);
    voc_annotation_release(&annotation);
    arena_release(&memory);
    str_release(&text);
    str_release(&path);
    return st;
}

/* One id per line; lists of single classes have a number after it. */
static enum assay_status read_images(struct voc_reading *reading,
                                     const char *text, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && *text) {
        size_t n = strcspn(text, "\n"), n_id = strcspn(text, " \t\r\n");

        if (reading->limit && reading->dataset->n == reading->limit)
            break;
        if (n_id > 0 && (memchr(text, '/', n_id) || n_id > 255))
            st = error_set(err, ASSAY_BAD_INPUT,
                           "the list of images has '%.*s'; it must have names "
                           "without a folder",
                           n_id > 60 ? 60 : (int)n_id, text);
        else if (n_id > 0)
            st = voc_read_image(reading, text, (int)n_id, err);
        text += n + (text[n] == '\n');
    }
    return st;
}

/* Whether a name is that of an XML file. */
static bool voc_is_xml(const char *name)
{
    return name[0] != '.' && str_ends_with(name, ".xml");
}

/* All XML files of the folder, by name, where no list says which. */
static enum assay_status read_folder(struct voc_reading *reading,
                                     struct error *err)
{
    DIR *dir = opendir(reading->folder);
    const char **names = NULL;
    size_t n = 0, capacity = 0;
    const struct dirent *entry;
    enum assay_status st = ASSAY_OK;

    if (!dir)
        return error_errno(err, errno, "reading %s", reading->folder);
    while (!st && (entry = readdir(dir)) != NULL) {
        if (!voc_is_xml(entry->d_name))
            continue;
        if (!vec_grow(&names, &capacity, n + 1, sizeof *names))
            st = error_nomem(err, sizeof *names, "a file name");
        else
            st = dataset_text(reading->dataset, &names[n++], err, "%s",
                              entry->d_name);
    }
    closedir(dir);
    if (!st && n == 0)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no Pascal VOC in %s; looked for XML files and for "
                       "Annotations/ there, and in VOC2012/, VOC2007/ and "
                       "VOCdevkit/",
                       reading->folder);
    if (!st)
        qsort(names, n, sizeof *names, dataset_by_text);
    for (size_t i = 0; !st && i < n; i++) {
        if (reading->limit && reading->dataset->n == reading->limit)
            break;
        st = voc_read_image(reading, names[i], (int)strlen(names[i]) - 4, err);
    }
    mem_free(names);
    return st;
}

/* ---- classes ---------------------------------------------------------- */

static bool is_voc_class(const char *name)
{
    return bsearch(&name, voc_classes, N_VOC_CLASSES, sizeof *voc_classes,
                   dataset_by_text) != NULL;
}

/* The twenty of the challenge if no other was seen; else all that were,
 * sorted. */
static enum assay_status name_classes(struct dataset *dataset,
                                      struct error *err)
{
    bool are_voc = true;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < dataset->n_classes; i++)
        are_voc = are_voc && is_voc_class(dataset->classes[i]);
    if (are_voc)
        dataset->n_classes = 0;
    for (size_t i = 0; !st && are_voc && i < N_VOC_CLASSES; i++)
        st = dataset_add_class(dataset, voc_classes[i], strlen(voc_classes[i]),
                               err);
    if (!st)
        qsort(dataset->classes, dataset->n_classes, sizeof *dataset->classes,
              dataset_by_text);
    return st;
}

/* Turns indices in the order seen into labels. */
static enum assay_status settle_labels(struct dataset *dataset,
                                       struct error *err)
{
    size_t n_met = dataset->n_classes;
    const char **met = mem_array(n_met, sizeof *met);
    enum assay_status st;

    if (!met)
        return error_nomem(err, n_met * sizeof *met, "the classes");
    if (n_met)
        memcpy(met, dataset->classes, n_met * sizeof *met);
    st = name_classes(dataset, err);
    for (size_t i = 0; !st && i < dataset->n; i++) {
        /* In the arena, and ours to change until the dataset is open. */
        struct dataset_object *objects =
            (struct dataset_object *)dataset->images[i].objects;

        for (size_t k = 0; k < dataset->images[i].n_objects; k++) {
            const char **found =
                bsearch(&met[objects[k].label], dataset->classes,
                        dataset->n_classes, sizeof *found, dataset_by_text);

            objects[k].label = (size_t)(found - dataset->classes);
        }
    }
    mem_free(met);
    return st;
}

/* Reads the annotations of images that are not here: those of a split if there
 * are lists of them, otherwise all in the folder. */
static enum assay_status voc_open_bare(struct voc_reading *reading,
                                       const struct dataset_options *options,
                                       struct error *err)
{
    struct str list = {0};
    enum assay_status st = voc_find_root(reading->dataset, options->path, true,
                                         &reading->root, NULL);

    if (st == ASSAY_NOMEM)
        return error_nomem(err, strlen(options->path), "a file name");
    if (st) {
        reading->folder = options->path;
        return read_folder(reading, err);
    }
    st = dataset_text(reading->dataset, &reading->folder, err, "%s/Annotations",
                      reading->root);
    if (st)
        return st;
    if (!folder_has(reading->root, "ImageSets"))
        return read_folder(reading, err);
    st = voc_read_list(reading->root, options->split, &list, err);
    if (!st)
        st = read_images(reading, str_text(&list), err);
    str_release(&list);
    return st;
}

static enum assay_status voc_open_full(struct voc_reading *reading,
                                       const struct dataset_options *options,
                                       struct error *err)
{
    struct str list = {0};
    enum assay_status st = voc_find_root(reading->dataset, options->path, false,
                                         &reading->root, err);

    if (!st)
        st = dataset_text(reading->dataset, &reading->folder, err,
                          "%s/Annotations", reading->root);
    if (!st)
        st = voc_read_list(reading->root, options->split, &list, err);
    if (!st)
        st = read_images(reading, str_text(&list), err);
    if (!st && reading->dataset->n == 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the list of images of %s is empty", reading->root);
    str_release(&list);
    return st;
}

static enum assay_status voc_open(struct dataset *dataset,
                                  const struct dataset_options *options,
                                  struct error *err)
{
    struct voc_reading reading = {.dataset = dataset,
                                  .limit = options->limit,
                                  .has_no_pictures = options->has_no_pictures};
    enum assay_status st = options->has_no_pictures
                               ? voc_open_bare(&reading, options, err)
                               : voc_open_full(&reading, options, err);

    if (!st)
        st = settle_labels(dataset, err);
    dataset->has_objects = true;
    map_release(&reading.labels);
    return st;
}

const struct dataset_class voc_class = {.name = "voc", .open = voc_open};

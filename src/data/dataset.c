/* data/dataset.c - see dataset.h. */
#include "data/dataset_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct dataset_class *const classes[N_DATASET_KINDS] = {
    [DATASET_CIFAR10] = &cifar10_class,
    [DATASET_CIFAR100] = &cifar100_class,
    [DATASET_IMAGEFOLDER] = &imagefolder_class,
    [DATASET_COCO] = &coco_class,
    [DATASET_VOC] = &voc_class,
    [DATASET_PETS] = &pets_class,
    [DATASET_SYNTHETIC] = &synthetic_class,
};

const char *dataset_kind_name(enum dataset_kind kind)
{
    return classes[kind]->name;
}

/* ---- opening ---------------------------------------------------------- */

enum assay_status dataset_open(const struct dataset_options *options,
                               struct dataset **out, struct error *err)
{
    struct dataset *dataset = mem_zalloc(sizeof *dataset);
    struct stat info;
    enum assay_status st;

    *out = NULL;
    if (!dataset)
        return error_nomem(err, sizeof *dataset, "a dataset");
    dataset->class = classes[options->kind];
    if (!dataset->class->is_made_up && !options->path)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "a dataset of kind %s needs a folder; say which",
                       dataset->class->name);
    else if (!dataset->class->is_made_up && stat(options->path, &info))
        st = error_errno(err, errno, "cannot read the dataset %s",
                         options->path);
    else
        st = dataset->class->open(dataset, options, err);
    if (st)
        dataset_close(dataset);
    else
        *out = dataset;
    return st;
}

void dataset_close(struct dataset *dataset)
{
    if (!dataset)
        return;
    if (dataset->class->close)
        dataset->class->close(dataset->content);
    mem_free(dataset->classes);
    mem_free(dataset->class_ids);
    mem_free(dataset->images);
    mem_free(dataset->odd);
    arena_release(&dataset->memory);
    mem_free(dataset);
}

/* ---- filling ---------------------------------------------------------- */

enum assay_status dataset_add_class(struct dataset *dataset, const char *name,
                                    size_t n, struct error *err)
{
    const char **moved =
        vec_reserve(dataset->classes, &dataset->classes_capacity,
                    dataset->n_classes + 1, sizeof *moved);
    char *copy = arena_strndup(&dataset->memory, name, n);

    if (moved)
        dataset->classes = moved;
    if (!moved || !copy)
        return error_nomem(err, n + sizeof *moved, "the name of a class");
    moved[dataset->n_classes++] = copy;
    return ASSAY_OK;
}

enum assay_status dataset_add_image(struct dataset *dataset,
                                    const struct dataset_target *image,
                                    struct error *err)
{
    struct dataset_target *moved =
        vec_reserve(dataset->images, &dataset->images_capacity, dataset->n + 1,
                    sizeof *moved);

    if (!moved)
        return error_nomem(err, (dataset->n + 1) * sizeof *moved,
                           "the images of a dataset");
    dataset->images = moved;
    moved[dataset->n] = *image;
    moved[dataset->n].id = (int64_t)dataset->n;
    dataset->n++;
    return ASSAY_OK;
}

static enum assay_status keep_text(struct dataset *dataset, const char **out,
                                   struct error *err, const char *format,
                                   va_list args)
{
    struct str text = {0};
    enum assay_status st = str_vprintf(&text, format, args);

    *out = st ? NULL : arena_strdup(&dataset->memory, str_text(&text));
    str_release(&text);
    return *out ? ASSAY_OK : error_nomem(err, 64, "a file name");
}

enum assay_status dataset_text(struct dataset *dataset, const char **out,
                               struct error *err, const char *format, ...)
{
    enum assay_status st;
    va_list args;

    va_start(args, format);
    st = keep_text(dataset, out, err, format, args);
    va_end(args);
    return st;
}

enum assay_status dataset_note(struct dataset *dataset, struct error *err,
                               const char *format, ...)
{
    const char **moved = vec_reserve(dataset->odd, &dataset->odd_capacity,
                                     dataset->n_odd + 1, sizeof *moved);
    enum assay_status st;
    va_list args;

    if (!moved)
        return error_nomem(err, sizeof *moved, "the notes on a dataset");
    dataset->odd = moved;
    va_start(args, format);
    st = keep_text(dataset, &moved[dataset->n_odd], err, format, args);
    va_end(args);
    dataset->n_odd += st ? 0 : 1;
    return st;
}

int dataset_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Allocates nothing, so that false always means "not there". */
bool folder_has(const char *path, const char *name)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat info;
    bool is =
        fd >= 0 && fstatat(fd, name, &info, 0) == 0 && S_ISDIR(info.st_mode);

    if (fd >= 0)
        close(fd);
    return is;
}

/* ---- reading ---------------------------------------------------------- */

size_t dataset_count(const struct dataset *dataset)
{
    return dataset->n;
}

size_t dataset_class_count(const struct dataset *dataset)
{
    return dataset->n_classes;
}

const char *dataset_class_name(const struct dataset *dataset, size_t label)
{
    return dataset->classes[label];
}

int64_t dataset_class_id(const struct dataset *dataset, size_t label)
{
    return dataset->class_ids ? dataset->class_ids[label] : (int64_t)label;
}

bool dataset_has_objects(const struct dataset *dataset)
{
    return dataset->has_objects;
}

bool dataset_has_classes(const struct dataset *dataset)
{
    return !dataset->has_objects || dataset->has_both;
}

size_t dataset_odd_count(const struct dataset *dataset)
{
    return dataset->n_odd;
}

const char *dataset_odd(const struct dataset *dataset, size_t i)
{
    return dataset->odd[i];
}

bool dataset_is_at_hand(const struct dataset *dataset, size_t i)
{
    return dataset->class->is_at_hand ? dataset->class->is_at_hand(dataset, i)
                                      : !dataset->class->target;
}

enum assay_status dataset_target(const struct dataset *dataset, size_t i,
                                 struct dataset_target *out, struct error *err)
{
    if (dataset->class->target)
        return dataset->class->target(dataset, i, out, err);
    *out = dataset->images[i];
    return ASSAY_OK;
}

enum assay_status dataset_picture(const struct dataset *dataset, size_t i,
                                  struct picture *out, struct error *err)
{
    if (dataset->class->picture)
        return dataset->class->picture(dataset, i, out, err);
    return picture_read(dataset->images[i].path, out, err);
}

enum assay_status dataset_check_size(const struct dataset_target *target,
                                     const struct picture *picture,
                                     struct error *err)
{
    if (!target->width || !target->height ||
        (target->width == picture->width && target->height == picture->height))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s has %dx%d pixels, but its annotation says %dx%d",
                     target->path, picture->width, picture->height,
                     target->width, target->height);
}

static enum assay_status box_mask(const struct dataset_object *object,
                                  int width, int height, struct mask *out,
                                  struct error *err)
{
    double left = object->x, top = object->y;
    double right = left + object->width, bottom = top + object->height;
    const double corners[] = {left,  top,    left,  bottom,
                              right, bottom, right, top};
    const struct polygon box = {corners, 4};

    return mask_from_polygons(&box, 1, width, height, out, err);
}

enum assay_status dataset_object_mask(const struct dataset_object *object,
                                      int width, int height, struct mask *out,
                                      struct error *err)
{
    const struct dataset_shape *shape = &object->shape;

    if (shape->polygons)
        return mask_from_polygons(shape->polygons, shape->n_polygons, width,
                                  height, out, err);
    if (shape->runs)
        return mask_from_runs(shape->runs, shape->n_runs, width, height, out,
                              err);
    if (shape->text)
        return mask_from_text(shape->text, shape->n_text, width, height, out,
                              err);
    return box_mask(object, width, height, out, err);
}

/* data/pets.c - Oxford-IIIT Pet: lists of images, with an XML file and a trimap
 * each.
 *
 * The box comes from the XML file and is the animal's head; if there is none,
 * as in the whole test split, it is that of the animal in the trimap. The
 * trimap is read when the sample is first used, and only if needed. */
#include "data/pets_internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/voc_read.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* In the order of the numbers in the lists, spelled as in torchvision. */
static const char *const breeds[] = {
    "Abyssinian",
    "American Bulldog",
    "American Pit Bull Terrier",
    "Basset Hound",
    "Beagle",
    "Bengal",
    "Birman",
    "Bombay",
    "Boxer",
    "British Shorthair",
    "Chihuahua",
    "Egyptian Mau",
    "English Cocker Spaniel",
    "English Setter",
    "German Shorthaired",
    "Great Pyrenees",
    "Havanese",
    "Japanese Chin",
    "Keeshond",
    "Leonberger",
    "Maine Coon",
    "Miniature Pinscher",
    "Newfoundland",
    "Persian",
    "Pomeranian",
    "Pug",
    "Ragdoll",
    "Russian Blue",
    "Saint Bernard",
    "Samoyed",
    "Scottish Terrier",
    "Shiba Inu",
    "Siamese",
    "Sphynx",
    "Staffordshire Bull Terrier",
    "Wheaten Terrier",
    "Yorkshire Terrier",
};

enum { N_BREEDS = sizeof breeds / sizeof *breeds };

/* What is read later. */
struct pet {
    const char *trimap; /* or NULL */
    bool is_settled;    /* its objects are final */
};

/* The lock guards pets, the objects of images and the arena. */
struct pets {
    pthread_mutex_t lock;
    struct pet *items; /* one per image */
    size_t capacity;
    bool keeps_shapes;
};

static void pets_close(void *content)
{
    struct pets *pets = content;

    if (!pets)
        return;
    pthread_mutex_destroy(&pets->lock);
    mem_free(pets->items);
    mem_free(pets);
}

/* ---- boxes of XML files ----------------------------------------------- */

/* Whether it overlaps the image, whose size may be unknown. */
static bool is_inside(const struct dataset_object *object,
                      const struct voc_annotation *annotation)
{
    return object->width > 0 && object->height > 0 &&
           object->x + object->width > 0 && object->y + object->height > 0 &&
           (!annotation->width || object->x < annotation->width) &&
           (!annotation->height || object->y < annotation->height);
}

static bool reaches_out(const struct dataset_object *object,
                        const struct voc_annotation *annotation)
{
    return object->x < 0 || object->y < 0 ||
           (annotation->width &&
            object->x + object->width > annotation->width + 1) ||
           (annotation->height &&
            object->y + object->height > annotation->height + 1);
}

static enum assay_status
pets_keep_boxes(struct dataset *dataset,
                const struct voc_annotation *annotation, const char *path,
                struct dataset_target *image, struct error *err)
{
    struct dataset_object *objects =
        arena_alloc(&dataset->memory, annotation->n * sizeof *objects);
    enum assay_status st = ASSAY_OK;

    if (!objects)
        return error_nomem(err, annotation->n * sizeof *objects, "boxes");
    for (size_t i = 0; !st && i < annotation->n; i++) {
        const struct dataset_object *object = &annotation->objects[i].object;

        if (!is_inside(object, annotation)) {
            st = dataset_note(dataset, err,
                              "%s: a box has no size or lies outside the image",
                              path);
            continue;
        }
        if (reaches_out(object, annotation))
            st = dataset_note(dataset, err,
                              "%s: a box reaches out of the image and is cut",
                              path);
        objects[image->n_objects] = *object;
        objects[image->n_objects++].label = (size_t)image->label;
    }
    image->objects = objects;
    image->width = annotation->width;
    image->height = annotation->height;
    return st;
}

/* An XML file that cannot be used is noted, and treated as missing. */
static enum assay_status read_boxes(struct dataset *dataset, const char *path,
                                    bool has_trimap,
                                    struct dataset_target *image,
                                    struct error *err)
{
    enum { most_bytes = 16 << 20 };
    const char *instead = has_trimap ? ": using the trimap's" : "";
    struct voc_annotation annotation = {0};
    struct arena memory = {0};
    struct str text = {0};
    struct error why = {0};
    enum assay_status st = file_read(path, most_bytes, &text, &why);

    if (!st)
        st = voc_read_text(str_text(&text), text.n, path, &memory, &annotation,
                           &why);
    if (!st)
        st = pets_keep_boxes(dataset, &annotation, path, image, err);
    else if (st == ASSAY_NOMEM)
        error_set(err, st, "%s", why.text);
    else
        st = dataset_note(dataset, err, "%s%s", why.text, instead);
    if (!st && image->n_objects == 0 && !why.status)
        st =
            dataset_note(dataset, err, "%s has no usable box%s", path, instead);
    voc_annotation_release(&annotation);
    arena_release(&memory);
    str_release(&text);
    return st;
}

/* ---- lists ------------------------------------------------------------ */

static enum assay_status add_pet(struct dataset *dataset,
                                 const struct dataset_target *image,
                                 const char *trimap, struct error *err)
{
    struct pets *pets = dataset->content;
    struct pet *moved = vec_reserve(pets->items, &pets->capacity,
                                    dataset->n + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "the images of a dataset");
    pets->items = moved;
    moved[dataset->n] = (struct pet){
        .trimap = trimap,
        .is_settled = image->n_objects && !(pets->keeps_shapes && trimap)};
    return dataset_add_image(dataset, image, err);
}

/* If something is missing, leaves the sample out or does without. */
static enum assay_status pets_read_image(struct dataset *dataset,
                                         const char *root, const char *id,
                                         int n_id, int64_t label,
                                         struct error *err)
{
    struct dataset_target image = {.label = label};
    const char *xml = NULL, *trimap = NULL;
    enum assay_status st = dataset_text(dataset, &image.path, err,
                                        "%s/images/%.*s.jpg", root, n_id, id);

    if (!st && access(image.path, F_OK))
        return dataset_note(dataset, err, "%s is missing: left out",
                            image.path);
    if (!st)
        st = dataset_text(dataset, &xml, err, "%s/annotations/xmls/%.*s.xml",
                          root, n_id, id);
    if (!st)
        st = dataset_text(dataset, &trimap, err,
                          "%s/annotations/trimaps/%.*s.png", root, n_id, id);
    if (!st && access(trimap, F_OK))
        trimap = NULL;
    if (!st && access(xml, F_OK) == 0)
        st = read_boxes(dataset, xml, trimap != NULL, &image, err);
    if (!st && !trimap && image.n_objects == 0)
        return dataset_note(
            dataset, err, "%s has no box and no trimap: left out", image.path);
    return st ? st : add_pet(dataset, &image, trimap, err);
}

/* "Abyssinian_100 1 1 1": the name, the number of the breed, and two more. */
static enum assay_status pets_read_line(struct dataset *dataset,
                                        const char *root, const char *list,
                                        size_t line, const char *text,
                                        struct error *err)
{
    enum { most_name = 200 };
    size_t n_id = strcspn(text, " \t\r\n");
    const char *number = text + n_id + strspn(text + n_id, " \t");
    size_t n_digits = strspn(number, "0123456789");
    int64_t breed = 0;

    if (n_id == 0 || text[0] == '#')
        return ASSAY_OK;
    for (size_t i = 0; i < n_digits && breed <= N_BREEDS; i++)
        breed = breed * 10 + (number[i] - '0');
    if (breed < 1 || breed > N_BREEDS)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s: line %zu: '%.*s' has no breed from 1 to %d", list,
                         line, n_id > 60 ? 60 : (int)n_id, text, N_BREEDS);
    if (memchr(text, '/', n_id) || n_id > most_name)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s: line %zu: '%.*s' is not the name of an image",
                         list, line, n_id > 60 ? 60 : (int)n_id, text);
    return pets_read_image(dataset, root, text, (int)n_id, breed - 1, err);
}

static enum assay_status pets_read_list(struct dataset *dataset,
                                        const char *root,
                                        const struct dataset_options *options,
                                        struct error *err)
{
    enum { most_bytes = 64 << 20 };
    const char *path = NULL, *at;
    struct str text = {0};
    size_t line = 1, limit = options->limit ? options->limit : SIZE_MAX;
    enum assay_status st =
        dataset_text(dataset, &path, err, "%s/annotations/%s.txt", root,
                     options->split == DATASET_TRAIN ? "trainval" : "test");

    if (!st && access(path, F_OK))
        st = error_set(err, ASSAY_NOT_FOUND,
                       "there is no %s; 'assay data fetch oxford-iiit-pet' "
                       "downloads what is missing",
                       path);
    if (!st)
        st = file_read(path, most_bytes, &text, err);
    at = str_text(&text);
    for (; !st && *at && dataset->n < limit; line++) {
        size_t n = strcspn(at, "\n");

        st = pets_read_line(dataset, root, path, line, at, err);
        at += n + (at[n] == '\n');
    }
    if (!st && dataset->n == 0 && dataset->n_odd == 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s names no images; was it copied completely?", path);
    else if (!st && dataset->n == 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s: none of its images can be used: %s", path,
                       dataset->odd[0]);
    str_release(&text);
    return st;
}

/* ---- opening ---------------------------------------------------------- */

static bool pets_is_root(const char *path)
{
    return folder_has(path, "images") && folder_has(path, "annotations");
}

static enum assay_status pets_find_root(struct dataset *dataset,
                                        const char *path, const char **root,
                                        struct error *err)
{
    enum assay_status st = dataset_text(dataset, root, err, "%s", path);

    if (!st && !pets_is_root(*root))
        st = dataset_text(dataset, root, err, "%s/oxford-iiit-pet", path);
    if (!st && !pets_is_root(*root))
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no Oxford-IIIT Pet in %s; looked for images/ and "
                       "annotations/ there and in oxford-iiit-pet/; 'assay "
                       "data fetch oxford-iiit-pet' downloads it",
                       path);
    return st;
}

static enum assay_status pets_open(struct dataset *dataset,
                                   const struct dataset_options *options,
                                   struct error *err)
{
    struct pets *pets = mem_zalloc(sizeof *pets);
    const char *root = NULL;
    enum assay_status st;

    dataset->content = pets;
    if (!pets)
        return error_nomem(err, sizeof *pets, "a dataset");
    pthread_mutex_init(&pets->lock, NULL);
    pets->keeps_shapes = options->keeps_shapes;
    dataset->has_objects = dataset->has_both = true;
    st = pets_find_root(dataset, options->path, &root, err);
    for (size_t i = 0; !st && i < N_BREEDS; i++)
        st = dataset_add_class(dataset, breeds[i], strlen(breeds[i]), err);
    if (!st)
        st = pets_read_list(dataset, root, options, err);
    if (!st && options->lists_strays)
        st = pets_list_strays(dataset, root, err);
    return st;
}

/* ---- trimaps ---------------------------------------------------------- */

/* A map of an image: 1 is the animal, 2 the background, 3 the border between
 * them. Start from {0}. */
struct trimap {
    int width, height;
    uint8_t *is_pet; /* 0 and 1, rows from the top */
};

enum { value_pet = 1, value_border = 3 };

static void trimap_release(struct trimap *trimap)
{
    mem_free(trimap->is_pet);
    *trimap = (struct trimap){0};
}

static enum assay_status take_values(const struct picture *picture,
                                     const char *path, struct trimap *out,
                                     struct error *err)
{
    size_t n = (size_t)picture->width * (size_t)picture->height;

    for (size_t i = 0; i < n; i++) {
        uint8_t value = picture->rgb[3 * i];

        if (value < value_pet || value > value_border)
            return error_set(
                err, ASSAY_BAD_INPUT,
                "%s is not a trimap: a pixel is %d; it must be 1, 2 or 3", path,
                value);
        out->is_pet[i] = value == value_pet;
    }
    return ASSAY_OK;
}

static enum assay_status trimap_read(const char *path, struct trimap *out,
                                     struct error *err)
{
    struct picture picture = {0};
    enum assay_status st = picture_read(path, &picture, err);

    *out = (struct trimap){.width = picture.width, .height = picture.height};
    if (st)
        return st;
    out->is_pet = mem_array((size_t)picture.width, (size_t)picture.height);
    st = out->is_pet ? take_values(&picture, path, out, err)
                     : error_nomem(err, (size_t)picture.width, "a trimap");
    picture_release(&picture);
    if (st)
        trimap_release(out);
    return st;
}

/* The box around the animal; false if there is none. */
static bool trimap_box(const struct trimap *trimap,
                       struct dataset_object *object)
{
    int left = trimap->width, top = trimap->height, right = -1, bottom = -1;
    const uint8_t *is_pet = trimap->is_pet;

    for (int y = 0; y < trimap->height; y++) {
        for (int x = 0; x < trimap->width; x++) {
            if (!*is_pet++)
                continue;
            left = x < left ? x : left;
            right = x > right ? x : right;
            top = y < top ? y : top;
            bottom = y;
        }
    }
    object->x = left;
    object->y = top;
    object->width = right + 1 - left;
    object->height = bottom + 1 - top;
    object->area = object->width * object->height;
    return right >= 0;
}

/* The part of the animal inside a box, as COCO's compressed text; nothing if it
 * is empty. */
static enum assay_status trimap_text(const struct trimap *trimap,
                                     const struct dataset_object *object,
                                     struct str *text, struct error *err)
{
    size_t width = (size_t)trimap->width, height = (size_t)trimap->height;
    uint8_t *inside = mem_array(width, height);
    struct mask mask = {0};
    enum assay_status st;

    if (!inside)
        return error_nomem(err, width * height, "a mask");
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++)
            inside[y * width + x] = trimap->is_pet[y * width + x] &&
                                    (double)x >= object->x &&
                                    (double)x < object->x + object->width &&
                                    (double)y >= object->y &&
                                    (double)y < object->y + object->height;
    }
    st = mask_from_pixels(inside, trimap->width, trimap->height, &mask, err);
    if (!st && mask_area(&mask) > 0 && mask_to_text(&mask, text))
        st = error_nomem(err, width * height, "a mask");
    mask_release(&mask);
    mem_free(inside);
    return st;
}

/* ---- boxes and masks of trimaps --------------------------------------- */

/* With the lock held. */
static enum assay_status keep_shape(struct dataset *dataset,
                                    const struct trimap *trimap,
                                    struct dataset_object *object,
                                    struct error *err)
{
    struct str text = {0};
    enum assay_status st = trimap_text(trimap, object, &text, err);

    if (!st && text.n) {
        object->shape.text = arena_strndup(&dataset->memory, text.text, text.n);
        object->shape.n_text = text.n;
        if (!object->shape.text)
            st = error_nomem(err, text.n, "a mask");
    }
    str_release(&text);
    return st;
}

/* With the lock held. Makes new objects, because others may be reading the old
 * ones. */
static enum assay_status pets_settle(struct dataset *dataset, size_t i,
                                     const struct trimap *trimap,
                                     struct error *err)
{
    struct pets *pets = dataset->content;
    struct dataset_target *image = &dataset->images[i];
    size_t n = image->n_objects ? image->n_objects : 1;
    struct dataset_object *objects =
        arena_alloc(&dataset->memory, n * sizeof *objects);
    enum assay_status st = ASSAY_OK;

    if (!objects)
        return error_nomem(err, n * sizeof *objects, "boxes");
    if (image->n_objects) {
        memcpy(objects, image->objects, n * sizeof *objects);
    } else {
        objects[0] = (struct dataset_object){.label = (size_t)image->label};
        if (!trimap_box(trimap, &objects[0]))
            return error_set(err, ASSAY_BAD_INPUT, "%s shows no animal",
                             pets->items[i].trimap);
    }
    for (size_t k = 0; !st && pets->keeps_shapes && k < n; k++)
        st = keep_shape(dataset, trimap, &objects[k], err);
    if (st)
        return st;
    image->objects = objects;
    image->n_objects = n;
    image->width = trimap->width;
    image->height = trimap->height;
    pets->items[i].is_settled = true;
    return ASSAY_OK;
}

static enum assay_status check_trimap(const struct dataset_target *image,
                                      const char *path,
                                      const struct trimap *trimap,
                                      struct error *err)
{
    if (!image->width || !image->height ||
        (image->width == trimap->width && image->height == trimap->height))
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT,
        "%s has %dx%d pixels, but the XML file says that the image has %dx%d",
        path, trimap->width, trimap->height, image->width, image->height);
}

static bool pets_is_at_hand(const struct dataset *dataset, size_t i)
{
    struct pets *pets = dataset->content;
    bool is;

    pthread_mutex_lock(&pets->lock);
    is = pets->items[i].is_settled;
    pthread_mutex_unlock(&pets->lock);
    return is;
}

/* Two threads may read the same trimap: the first to finish keeps it. */
static enum assay_status pets_target(const struct dataset *dataset, size_t i,
                                     struct dataset_target *out,
                                     struct error *err)
{
    struct pets *pets = dataset->content;
    struct trimap trimap = {0};
    enum assay_status st = ASSAY_OK;

    if (!pets_is_at_hand(dataset, i))
        st = trimap_read(pets->items[i].trimap, &trimap, err);
    pthread_mutex_lock(&pets->lock);
    if (!st && !pets->items[i].is_settled)
        st = check_trimap(&dataset->images[i], pets->items[i].trimap, &trimap,
                          err);
    if (!st && !pets->items[i].is_settled) /* ours to change under the lock */
        st = pets_settle((struct dataset *)dataset, i, &trimap, err);
    *out = dataset->images[i];
    pthread_mutex_unlock(&pets->lock);
    trimap_release(&trimap);
    return st;
}

const struct dataset_class pets_class = {
    .name = "oxford-iiit-pet",
    .open = pets_open,
    .target = pets_target,
    .is_at_hand = pets_is_at_hand,
    .close = pets_close,
};

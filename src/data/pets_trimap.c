/* data/pets_trimap.c - which pixels are the animal. */
#include "data/pets_internal.h"

#include "base/mem.h"

#include <math.h>

enum { value_pet = 1, value_border = 3 };

void trimap_release(struct trimap *trimap)
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
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s is no trimap: a pixel is %d; 1, 2 and 3 are "
                             "wanted",
                             path, value);
        out->is_pet[i] = value == value_pet;
    }
    return ASSAY_OK;
}

enum assay_status trimap_read(const char *path, struct trimap *out,
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

bool trimap_box(const struct trimap *trimap, struct dataset_object *object)
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

enum assay_status trimap_text(const struct trimap *trimap,
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

/* vision/recipe.c - see recipe.h. */
#include "vision/recipe.h"

#include "picture/picture_resize.h"

#include <assay/span.h>
#include <math.h>

struct recipe recipe_defaults(void)
{
    return (struct recipe){
        .fit = FIT_STRETCH, .pad = 114, .scale = 1 / 255.0, .std = {1, 1, 1}};
}

struct recipe recipe_of_variant(enum model_variant variant)
{
    static const struct {
        int size, shorter;
        double mean[3], std[3];
    } presets[] = {
        [MODEL_IMAGENET] = {224,
                            256,
                            {0.485, 0.456, 0.406},
                            {0.229, 0.224, 0.225}},
        [MODEL_CIFAR10] = {32,
                           32,
                           {0.4914, 0.4822, 0.4465},
                           {0.2470, 0.2435, 0.2616}},
        [MODEL_CIFAR100] = {32,
                            32,
                            {0.5071, 0.4867, 0.4408},
                            {0.2675, 0.2565, 0.2761}},
    };
    struct recipe recipe = recipe_defaults();

    recipe.width = recipe.height = presets[variant].size;
    recipe.fit = FIT_CROP;
    recipe.shorter = presets[variant].shorter;
    for (int c = 0; c < 3; c++) {
        recipe.mean[c] = presets[variant].mean[c];
        recipe.std[c] = presets[variant].std[c];
    }
    return recipe;
}

/* As torchvision's resize() and center_crop(): the longer side is truncated to
 * whole pixels, the crop's offset rounds half to even. */
static void place_crop(const struct recipe *recipe, int width, int height,
                       struct placement *place)
{
    double shorter = width < height ? width : height;
    double factor = recipe->shorter / shorter;

    place->width = width <= height
                       ? recipe->shorter
                       : (int)(recipe->shorter * (double)width / height);
    place->height = height <= width
                        ? recipe->shorter
                        : (int)(recipe->shorter * (double)height / width);
    place->x_scale = place->y_scale = factor;
    place->left = -nearbyint((place->width - recipe->width) / 2.0);
    place->top = -nearbyint((place->height - recipe->height) / 2.0);
}

static void place_box(const struct recipe *recipe, int width, int height,
                      struct placement *place)
{
    double across = (double)recipe->width / width;
    double down = (double)recipe->height / height;
    double factor = across < down ? across : down;

    place->width = (int)lround(width * factor);
    place->height = (int)lround(height * factor);
    place->x_scale = place->y_scale = factor;
    if (recipe->fit == FIT_LETTERBOX) { /* whole pixels */
        int left = (recipe->width - place->width) / 2;
        int top = (recipe->height - place->height) / 2;

        place->left = left;
        place->top = top;
    }
}

struct placement recipe_place(const struct recipe *recipe, int width,
                              int height)
{
    struct placement place = {.width = recipe->width,
                              .height = recipe->height,
                              .x_scale = (double)recipe->width / width,
                              .y_scale = (double)recipe->height / height};

    switch (recipe->fit) {
    case FIT_STRETCH:
        break;
    case FIT_LETTERBOX:
    case FIT_CORNER:
        place_box(recipe, width, height, &place);
        break;
    case FIT_CROP:
        place_crop(recipe, width, height, &place);
        break;
    }
    return place;
}

static int channels_of(const struct recipe *recipe)
{
    return recipe->order == ORDER_GREY ? 1 : 3;
}

size_t recipe_elements(const struct recipe *recipe)
{
    return (size_t)recipe->width * (size_t)recipe->height *
           (size_t)channels_of(recipe);
}

/* The float for each of the 256 values of a channel. */
struct values {
    float of[3][256];
};

static void recipe_list_values(const struct recipe *recipe,
                               struct values *values)
{
    for (int c = 0; c < channels_of(recipe); c++) {
        for (int i = 0; i < 256; i++)
            values->of[c][i] =
                (float)((i * recipe->scale - recipe->mean[c]) / recipe->std[c]);
    }
}

/* ITU-R 601, rounded as in Pillow. */
static uint8_t grey_of(const uint8_t *rgb)
{
    return (
        uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >>
                 16);
}

/* Writes n pixels of one channel, `step` floats apart. */
static void recipe_write_channel(const struct recipe *recipe,
                                 const float *values, int channel,
                                 const uint8_t *rgb, int64_t n, float *to,
                                 int64_t step)
{
    int source = recipe->order == ORDER_BGR ? 2 - channel : channel;

    if (recipe->order == ORDER_GREY) {
        for (int64_t i = 0; i < n; i++)
            to[i * step] = values[grey_of(rgb + 3 * i)];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        to[i * step] = values[rgb[3 * i + source]];
}

/* The part of a row or column that the photograph covers. */
struct covered {
    int64_t first, end;
};

static struct covered covered_by(int64_t begin, int64_t size, int64_t most)
{
    int64_t end = begin + size;

    return (struct covered){.first = begin < 0 ? 0 : begin,
                            .end = end > most ? most : end};
}

static void recipe_write_pixels(const struct recipe *recipe,
                                const struct picture *resized,
                                const struct placement *place, float *out)
{
    int64_t left = (int64_t)place->left, top = (int64_t)place->top;
    struct covered rows = covered_by(top, resized->height, recipe->height);
    struct covered cols = covered_by(left, resized->width, recipe->width);
    int64_t plane = (int64_t)recipe->width * recipe->height;
    int channels = channels_of(recipe);
    int64_t step = recipe->is_channels_last ? channels : 1;
    struct values values;

    recipe_list_values(recipe, &values);
    for (int c = 0; c < channels; c++) {
        float *to = out + (recipe->is_channels_last ? c : c * plane);

        for (int64_t i = 0; i < plane; i++)
            to[i * step] = values.of[c][recipe->pad];
        for (int64_t i = rows.first; i < rows.end; i++)
            recipe_write_channel(
                recipe, values.of[c], c,
                resized->rgb +
                    3 * ((i - top) * resized->width + cols.first - left),
                cols.end - cols.first,
                to + (i * recipe->width + cols.first) * step, step);
    }
}

enum assay_status recipe_apply(const struct recipe *recipe,
                               const struct picture *picture, float *out,
                               struct error *err)
{
    struct placement place =
        recipe_place(recipe, picture->width, picture->height);
    enum resize_filter filter =
        recipe->fit == FIT_CROP ? RESIZE_AREA : RESIZE_POINTS;
    struct picture resized;
    enum assay_status st;

    if (place.width < 1 || place.height < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%dx%d pixels leave nothing when resized to %dx%d",
                         picture->width, picture->height, recipe->width,
                         recipe->height);
    assay_begin("resize");
    st = picture_resize(picture, place.width, place.height, filter, &resized,
                        err);
    assay_end();
    if (st)
        return st;
    assay_begin("to_tensor");
    recipe_write_pixels(recipe, &resized, &place, out);
    assay_end();
    picture_release(&resized);
    return ASSAY_OK;
}

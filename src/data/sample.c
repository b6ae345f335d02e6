/* data/sample.c - see sample_internal.h. */
#include "data/sample_internal.h"

#include "base/mem.h"
#include "data/dataset_internal.h"

#include <math.h>

void sample_release(struct made_sample *sample)
{
    tensor_release(&sample->image);
    tensor_release(&sample->masks);
    mem_free(sample->boxes);
    mem_free(sample->labels);
    *sample = (struct made_sample){0};
}

/* ---- pixels ----------------------------------------------------------- */

/* The values of a channel from 0 to 1. Divides like torchvision, because
 * multiplying by 1/255 rounds differently. */
static void list_shares(float shares[256])
{
    for (int i = 0; i < 256; i++)
        shares[i] = (float)i / 255;
}

static void spread_row(const uint8_t *rgb, int width, bool is_flipped,
                       const float *shares, float *to)
{
    if (is_flipped) {
        for (int x = 0; x < width; x++)
            to[width - 1 - x] = shares[rgb[3 * x]];
    } else {
        for (int x = 0; x < width; x++)
            to[x] = shares[rgb[3 * x]];
    }
}

static void sample_spread(const struct picture *picture, bool is_flipped,
                          float *out)
{
    size_t width = (size_t)picture->width, height = (size_t)picture->height;
    float shares[256];

    list_shares(shares);
    for (size_t y = 0; y < height; y++) {
        for (size_t c = 0; c < 3; c++)
            spread_row(picture->rgb + 3 * y * width + c, picture->width,
                       is_flipped, shares, out + (c * height + y) * width);
    }
}

static void mirror_floats(float *row, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        float kept = row[i];

        row[i] = row[n - 1 - i];
        row[n - 1 - i] = kept;
    }
}

static void mirror_bytes(uint8_t *row, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        uint8_t kept = row[i];

        row[i] = row[n - 1 - i];
        row[n - 1 - i] = kept;
    }
}

enum assay_status sample_tensor(const struct sample_options *options,
                                enum dtype dtype, const struct shape *shape,
                                struct tensor *out, struct error *err)
{
    enum assay_status st = tensor_new(options->pool, dtype, shape, out, err);

    if (!st)
        buffer_set_owner(out->buffer, OWNER_IMAGES);
    return st;
}

/* ---- boxes ------------------------------------------------------------ */

bool sample_cut_box(const struct dataset_object *object, int width, int height,
                    float box[4], bool *is_cut)
{
    /* Annotators round: one pixel outside is not a mistake. */
    const double tolerance = 1;
    double right = object->x + object->width;
    double bottom = object->y + object->height;
    double most_x = width ? width : HUGE_VAL;
    double most_y = height ? height : HUGE_VAL;

    *is_cut = object->x < -tolerance || object->y < -tolerance ||
              right > most_x + tolerance || bottom > most_y + tolerance;
    box[0] = (float)fmax(object->x, 0);
    box[1] = (float)fmax(object->y, 0);
    box[2] = (float)fmin(right, most_x);
    box[3] = (float)fmin(bottom, most_y);
    return box[2] > box[0] && box[3] > box[1];
}

static void flip_box(float box[4], int width)
{
    float left = box[0];

    box[0] = (float)width - box[2];
    box[2] = (float)width - left;
}

/* Writes the pixels of an object. */
static enum assay_status write_mask(const struct dataset_object *object,
                                    const struct picture *picture,
                                    bool is_flipped, uint8_t *pixels,
                                    struct error *err)
{
    size_t width = (size_t)picture->width;
    struct mask mask = {0};
    enum assay_status st = dataset_object_mask(object, picture->width,
                                               picture->height, &mask, err);

    if (!st)
        mask_to_pixels(&mask, pixels);
    for (int y = 0; !st && is_flipped && y < picture->height; y++)
        mirror_bytes(pixels + (size_t)y * width, width);
    mask_release(&mask);
    return st;
}

/* Leaves crowds out, as torchvision's training does. */
static void sample_keep_boxes(const struct sample_options *options,
                              const struct dataset_target *target,
                              const struct picture *picture, bool is_flipped,
                              size_t *objects, struct made_sample *out)
{
    for (size_t i = 0; i < target->n_objects; i++) {
        const struct dataset_object *object = &target->objects[i];
        bool is_cut;

        if (object->is_crowd)
            continue;
        if (!sample_cut_box(object, picture->width, picture->height,
                            out->boxes[out->n], &is_cut)) {
            out->n_left_out++;
            continue;
        }
        out->n_cut += is_cut;
        if (is_flipped)
            flip_box(out->boxes[out->n], picture->width);
        out->labels[out->n] = options->labels[object->label];
        objects[out->n++] = i;
    }
}

static enum assay_status make_masks(const struct sample_options *options,
                                    const struct dataset_target *target,
                                    const struct picture *picture,
                                    bool is_flipped, const size_t *objects,
                                    struct made_sample *out, struct error *err)
{
    struct shape shape = shape_of(3, (int64_t)out->n, (int64_t)picture->height,
                                  (int64_t)picture->width);
    size_t plane = (size_t)picture->height * (size_t)picture->width;
    enum assay_status st =
        sample_tensor(options, DTYPE_U8, &shape, &out->masks, err);

    for (size_t k = 0; !st && k < out->n; k++)
        st = write_mask(&target->objects[objects[k]], picture, is_flipped,
                        (uint8_t *)tensor_data(&out->masks) + k * plane, err);
    return st;
}

static enum assay_status make_objects(const struct sample_options *options,
                                      const struct dataset_target *target,
                                      const struct picture *picture,
                                      bool is_flipped, struct made_sample *out,
                                      struct error *err)
{
    size_t *objects = mem_array(target->n_objects, sizeof *objects);
    enum assay_status st = ASSAY_OK;

    out->boxes = mem_array(target->n_objects, sizeof *out->boxes);
    out->labels = mem_array(target->n_objects, sizeof *out->labels);
    if (!objects || !out->boxes || !out->labels)
        st = error_nomem(err, target->n_objects * sizeof *out->boxes,
                         "the boxes of an image");
    if (!st)
        sample_keep_boxes(options, target, picture, is_flipped, objects, out);
    if (!st && out->n == 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s: none of its %zu boxes overlaps its %dx%d pixels",
                       target->path, target->n_objects, picture->width,
                       picture->height);
    if (!st && options->has_masks)
        st =
            make_masks(options, target, picture, is_flipped, objects, out, err);
    mem_free(objects);
    return st;
}

/* ---- samples ---------------------------------------------------------- */

static enum assay_status make_detection(const struct sample_options *options,
                                        const struct dataset_target *target,
                                        const struct picture *picture,
                                        bool is_flipped,
                                        struct made_sample *out,
                                        struct error *err)
{
    struct shape shape = shape_of(3, (int64_t)3, (int64_t)picture->height,
                                  (int64_t)picture->width);
    enum assay_status st = dataset_check_size(target, picture, err);

    if (!st)
        st = make_objects(options, target, picture, is_flipped, out, err);
    if (!st)
        st = sample_tensor(options, DTYPE_F32, &shape, &out->image, err);
    if (!st)
        sample_spread(picture, is_flipped, tensor_f32(&out->image));
    return st;
}

static enum assay_status make_class(const struct sample_options *options,
                                    const struct dataset_target *target,
                                    const struct picture *picture,
                                    bool is_flipped, float *image,
                                    struct made_sample *out, struct error *err)
{
    const struct sample_fit *fit = options->fit;
    size_t width = (size_t)fit->width, rows = 3 * (size_t)fit->height;
    enum assay_status st;

    if (target->label < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s does not have a single class", target->path);
    out->label = options->labels[target->label];
    st = fit->apply(fit->context, picture, image, err);
    if (st)
        error_context(err, "%s", target->path);
    for (size_t y = 0; !st && is_flipped && y < rows; y++)
        mirror_floats(image + y * width, width);
    return st;
}

enum assay_status sample_make(const struct sample_options *options, size_t i,
                              struct random *random, float *image,
                              struct made_sample *out, struct error *err)
{
    bool is_flipped = options->flips && random_below(random, 2) == 1;
    struct dataset_target target;
    struct picture picture = {0};
    enum assay_status st = dataset_target(options->dataset, i, &target, err);

    *out = (struct made_sample){0};
    if (!st)
        st = dataset_picture(options->dataset, i, &picture, err);
    if (!st && options->fit)
        st =
            make_class(options, &target, &picture, is_flipped, image, out, err);
    else if (!st)
        st = make_detection(options, &target, &picture, is_flipped, out, err);
    picture_release(&picture);
    if (st)
        sample_release(out);
    return st;
}

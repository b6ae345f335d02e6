/* vision/photo_tensor.c - see photo_tensor.h. */
#include "vision/photo_tensor.h"

/* Copies one channel of the interleaved pixels. Divides as torchvision's
 * to_tensor does: a product with 1/255 rounds differently. */
static void spread_channel(const uint8_t *rgb, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)rgb[3 * i] / 255;
}

void photo_spread(const struct picture *picture, float *out)
{
    size_t n = (size_t)picture->height * (size_t)picture->width;

    for (size_t c = 0; c < 3; c++)
        spread_channel(picture->rgb + c, n, out + c * n);
}

enum assay_status photo_pixels(const struct picture *picture,
                               struct tensor *out, struct error *err)
{
    struct shape shape = shape_of(3, (int64_t)picture->height,
                                  (int64_t)picture->width, (int64_t)3);

    *out = (struct tensor){.dtype = DTYPE_U8, .shape = shape};
    return buffer_wrap(picture->rgb, tensor_bytes(out), NULL, NULL,
                       &out->buffer, err);
}

enum assay_status photo_tensor(const struct picture *picture, struct pool *pool,
                               struct tensor *out, struct error *err)
{
    struct shape shape = shape_of(3, (int64_t)3, (int64_t)picture->height,
                                  (int64_t)picture->width);
    enum assay_status st = tensor_new(pool, DTYPE_F32, &shape, out, err);

    if (st)
        return st;
    buffer_set_owner(out->buffer, OWNER_IMAGES);
    photo_spread(picture, tensor_f32(out));
    return ASSAY_OK;
}

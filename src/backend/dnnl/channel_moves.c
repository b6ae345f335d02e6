/* backend/dnnl/channel_moves.c - channels from one blocked map to another, at
 * other places within their blocks. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/variants.h"

#include <omp.h>
#include <string.h>

/* A run of channels that lies in one block of either map: n lanes of every
 * pixel. */
VARIANTS(void, move_lanes,
         (const float *from, float *to, int64_t pixels, int64_t block,
          int64_t n),
         (from, to, pixels, block, n))
{
    if (n == block) {
        memcpy(to, from, (size_t)(pixels * block) * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < pixels; i++) {
        for (int64_t c = 0; c < n; c++)
            to[i * block + c] = from[i * block + c];
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Some pixels of an image, whose first ones are at `from` and `to`. */
static void move_image(const float *from, int64_t first, float *to, int64_t at,
                       int64_t n, const struct channel_blocks *blocks,
                       int64_t pixels)
{
    int64_t block = blocks->block, plane = blocks->plane;

    while (n > 0) {
        int64_t run = least(block - first % block, block - at % block);

        run = least(run, n);
        move_lanes(from + first / block * plane * block + first % block,
                   to + at / block * plane * block + at % block, pixels, block,
                   run);
        first += run;
        at += run;
        n -= run;
    }
}

/* Parts of an image that are worth a thread each. */
static int64_t move_parts(const struct channel_blocks *blocks, int64_t n)
{
    enum { part = 1 << 13 }; /* elements */
    int64_t parts = least(n * blocks->plane / part, omp_get_max_threads());

    parts = least(parts, blocks->plane);
    return parts > 1 ? parts : 1;
}

void move_channels(const struct tensor *from, int64_t first,
                   const struct tensor *to, int64_t at, int64_t n)
{
    struct channel_blocks source, target;
    int64_t source_size, target_size, parts, total;

    if (!layout_blocks(from, &source) || !layout_blocks(to, &target))
        return; /* the caller has seen to it */
    source_size = source.n_blocks * source.plane * source.block;
    target_size = target.n_blocks * target.plane * target.block;
    parts = move_parts(&target, n);
    total = target.images * parts;
#pragma omp parallel for if (total > 1 && n * target.plane * target.images >   \
                                              parallel_elements)
    for (int64_t i = 0; i < total; i++) {
        int64_t image = i / parts, part = i % parts;
        int64_t begin = target.plane * part / parts;
        int64_t end = target.plane * (part + 1) / parts;

        move_image(
            tensor_f32(from) + image * source_size + begin * target.block,
            first, tensor_f32(to) + image * target_size + begin * target.block,
            at, n, &target, end - begin);
    }
}

void clear_last_lanes(const struct tensor *map)
{
    struct channel_blocks blocks;
    int64_t used;

    if (!layout_blocks(map, &blocks))
        return;
    used = map->shape.dims[1] % blocks.block;
    for (int64_t i = 0; used && i < blocks.images; i++) {
        float *last = tensor_f32(map) + ((i + 1) * blocks.n_blocks - 1) *
                                            blocks.plane * blocks.block;

        for (int64_t p = 0; p < blocks.plane; p++)
            memset(last + p * blocks.block + used, 0,
                   (size_t)(blocks.block - used) * sizeof *last);
    }
}

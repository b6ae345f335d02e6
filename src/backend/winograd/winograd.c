/* backend/winograd/winograd.c - see winograd.h: which tiles are worked on
 * together, and by whom. */
#include "backend/winograd/winograd_internal.h"

#include "base/processor.h"

#include <omp.h>

/* What one thread keeps in its caches: transformed tiles, and the products of
 * a part of the output blocks. */
static const int64_t tiles_bytes = 768 << 10, products_bytes = 256 << 10;

/* Weights are read once for each block of tiles: so many at least, that they
 * may come from memory, and at most, that some are left for every thread. */
enum { least_tiles = 24, most_tiles = 96 };

static const struct winograd_kernels *winograd_kernels(void)
{
#ifdef __x86_64__
    if (processor_level() >= PROCESSOR_AVX512)
        return &winograd_avx512;
    if (processor_level() >= PROCESSOR_AVX2 && __builtin_cpu_supports("fma"))
        return &winograd_avx2;
#endif
    return NULL;
}

int64_t winograd_lanes(void)
{
    const struct winograd_kernels *kernels = winograd_kernels();

    return kernels ? kernels->lanes : 0;
}

const char *winograd_instructions(void)
{
    return winograd_kernels()->name;
}

/* ---- the plan ------------------------------------------------------------ */

static int64_t winograd_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t winograd_round_up(int64_t a, int64_t step)
{
    return winograd_ceil_div(a, step) * step;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* A point's tiles begin in another set of the caches than those of the point
 * before, or else all points of a tile would fall on a few. */
static int64_t point_floats(const struct winograd *winograd)
{
    static const int64_t cache_line = 16;

    return winograd_round_up(winograd->block_tiles, winograd->kernels->group) *
               winograd->in_blocks * winograd->kernels->lanes +
           cache_line;
}

static int64_t transformed_floats(const struct winograd *winograd)
{
    return winograd_round_up(winograd->points * winograd->point_floats, 16);
}

static int64_t product_floats(const struct winograd *winograd)
{
    return winograd->part_blocks * winograd->block_tiles * winograd->points *
           winograd->kernels->lanes;
}

/* Divides the tiles evenly into so many blocks. Whole thirds of a group are
 * multiplied. */
static void divide_tiles(struct winograd *winograd, int64_t n)
{
    winograd->block_tiles = winograd_round_up(
        winograd_ceil_div(winograd->n_tiles, n), winograd->kernels->group / 3);
    winograd->n_blocks =
        winograd_ceil_div(winograd->n_tiles, winograd->block_tiles);
    winograd->point_floats = point_floats(winograd);
}

static void divide_outputs(struct winograd *winograd, int64_t part_blocks)
{
    winograd->part_blocks = part_blocks;
    winograd->n_parts = winograd_ceil_div(winograd->out_blocks, part_blocks);
}

/* Output blocks at a time: as many as the caches have room for. */
static int64_t most_outputs(const struct winograd *winograd)
{
    int64_t each = winograd->block_tiles * winograd->points *
                   winograd->kernels->lanes * (int64_t)sizeof(float);

    return winograd_round_up(
        clamp(products_bytes / each, WINOGRAD_PANEL, winograd->out_blocks),
        WINOGRAD_PANEL);
}

/* What the last thread is done with, in tiles times panels, where all share the
 * tiles: to read the weights of a panel takes as long as some tiles. */
static int64_t shared_work(const struct winograd *winograd)
{
    enum { tiles_of_weights = 6 };
    int64_t jobs = winograd->n_blocks * winograd->n_parts;

    return winograd_ceil_div(jobs, winograd->n_threads) *
           (winograd->part_blocks / WINOGRAD_PANEL) *
           (winograd->block_tiles + tiles_of_weights);
}

/* At least n blocks of tiles, and so many parts of the outputs, that all
 * threads are done at the same time. */
static void divide_shared(struct winograd *winograd, int64_t n)
{
    int64_t end = n + 2 * (int64_t)winograd->n_threads;
    struct winograd best = {.n_blocks = 0};

    for (; n < end; n++) {
        divide_tiles(winograd, n);
        for (int64_t most = most_outputs(winograd); most > 0;
             most -= WINOGRAD_PANEL) {
            divide_outputs(winograd, most);
            if (!best.n_blocks || shared_work(winograd) < shared_work(&best))
                best = *winograd;
        }
    }
    *winograd = best;
}

/* In blocks of that many tiles at most: one after the other for each thread if
 * there are several for each. */
static void divide_work(struct winograd *winograd, int64_t most_tiles_at_once)
{
    int64_t n = winograd_ceil_div(winograd->n_tiles, most_tiles_at_once);
    int64_t wanted = 2 * (int64_t)winograd->n_threads;
    int64_t groups = winograd->shape.groups;

    winograd->is_shared = groups == 1 && n < wanted;
    if (winograd->is_shared) {
        divide_shared(winograd, n);
        return;
    }
    if (groups == 1)
        n = winograd_round_up(n, winograd->n_threads);
    else if (n * groups < wanted)
        n = winograd_ceil_div(wanted, groups);
    divide_tiles(winograd, n);
    divide_outputs(winograd, most_outputs(winograd));
}

bool winograd_plan(enum winograd_tile tile, const struct winograd_shape *shape,
                   int n_threads, size_t most_bytes, struct winograd *out)
{
    const struct winograd_kernels *kernels = winograd_kernels();
    int64_t side = shape->stride == 2 ? 5 : (int64_t)tile + shape->taps - 1;
    int64_t each, most;

    if (!kernels)
        return false;
    *out = (struct winograd){
        .kernels = kernels,
        .shape = *shape,
        .tile = tile,
        .n_threads = n_threads > 1 ? n_threads : 1,
        .side = side,
        .points = side * side,
        .weight_side = shape->stride == 2 ? side - 1 : side,
        .tiles_across =
            winograd_ceil_div(shape->out_width, tile * shape->dilation),
        .tiles_down =
            winograd_ceil_div(shape->out_height, tile * shape->dilation),
        .in_blocks = winograd_ceil_div(shape->in_channels, kernels->lanes),
        .out_blocks = winograd_ceil_div(shape->out_channels, kernels->lanes)};
    out->n_tiles = shape->images * shape->dilation * shape->dilation *
                   out->tiles_down * out->tiles_across;
    each =
        out->points * out->in_blocks * kernels->lanes * (int64_t)sizeof(float);
    most = clamp(tiles_bytes / each, least_tiles, most_tiles);
    most = winograd_round_up(most, kernels->group);
    do {
        divide_work(out, most);
        most -= kernels->group;
    } while (most > 0 && winograd_scratch_bytes(out) > most_bytes);
    return true;
}

int64_t winograd_group_floats(const struct winograd *winograd)
{
    return winograd->weight_side * winograd->weight_side *
           winograd->shape.in_channels * winograd->out_blocks *
           winograd->kernels->lanes;
}

size_t winograd_weight_bytes(const struct winograd *winograd)
{
    return sizeof(float) *
           (size_t)(winograd->shape.groups * winograd_group_floats(winograd));
}

size_t winograd_scratch_bytes(const struct winograd *winograd)
{
    int64_t n = winograd->is_shared ? winograd->n_blocks : winograd->n_threads;

    return sizeof(float) *
           (size_t)(n * transformed_floats(winograd) +
                    winograd->n_threads * product_floats(winograd));
}

/* ---- running ------------------------------------------------------------- */

static struct winograd_tiles tiles_of(const struct winograd *winograd,
                                      int64_t block)
{
    int64_t first = block * winograd->block_tiles;
    int64_t left = winograd->n_tiles - first;

    return (struct winograd_tiles){
        .first = first,
        .n = left < winograd->block_tiles ? left : winograd->block_tiles};
}

static void run_outputs(const struct winograd *winograd,
                        const struct winograd_call *call, int64_t block,
                        int64_t n, const float *transformed, float *products)
{
    struct winograd_tiles tiles = tiles_of(winograd, block);
    int64_t first = n * winograd->part_blocks;
    int64_t left = winograd->out_blocks - first;
    int64_t n_blocks =
        left < winograd->part_blocks ? left : winograd->part_blocks;

    winograd->kernels->multiply(winograd, tiles, first, n_blocks, transformed,
                                call->weights, products);
    for (int64_t b = 0; b < n_blocks; b++)
        winograd->kernels->write(winograd, tiles, first + b,
                                 products + b * winograd->block_tiles *
                                                winograd->points *
                                                winograd->kernels->lanes,
                                 call);
}

/* The memory for a thread's products, behind the transformed tiles of n. */
static float *products_of(const struct winograd *winograd,
                          const struct winograd_call *call, int64_t n)
{
    return call->scratch + n * transformed_floats(winograd) +
           omp_get_thread_num() * product_floats(winograd);
}

/* What a group reads and writes. */
static struct winograd_call winograd_call_of(const struct winograd *winograd,
                                             const struct winograd_call *call,
                                             int64_t group)
{
    const struct winograd_shape *shape = &winograd->shape;
    int64_t lanes = winograd->kernels->lanes;
    struct winograd_call own = *call;

    own.x += group * winograd->in_blocks * shape->in_height * shape->in_width *
             lanes;
    own.y += group * winograd->out_blocks * shape->out_height *
             shape->out_width * lanes;
    own.weights += group * winograd_group_floats(winograd);
    if (own.bias)
        own.bias += group * shape->out_channels;
    return own;
}

/* Each thread takes one block of tiles of a group after the other. */
static void run_blocks(const struct winograd *winograd,
                       const struct winograd_call *call)
{
    int64_t n_blocks = winograd->n_blocks;

#pragma omp parallel num_threads(winograd->n_threads)
    {
        float *transformed =
            call->scratch + omp_get_thread_num() * transformed_floats(winograd);
        float *products = products_of(winograd, call, winograd->n_threads);

#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < winograd->shape.groups * n_blocks; i++) {
            struct winograd_call own =
                winograd_call_of(winograd, call, i / n_blocks);
            int64_t block = i % n_blocks;

            for (int64_t c = 0; c < winograd->in_blocks; c++)
                winograd->kernels->read(winograd, tiles_of(winograd, block), c,
                                        own.x, transformed);
            for (int64_t n = 0; n < winograd->n_parts; n++)
                run_outputs(winograd, &own, block, n, transformed, products);
        }
    }
}

/* All threads transform all tiles, then each takes one part of the outputs
 * after the other. */
static void run_shared(const struct winograd *winograd,
                       const struct winograd_call *call)
{
    int64_t floats = transformed_floats(winograd);

#pragma omp parallel num_threads(winograd->n_threads)
    {
        float *products = products_of(winograd, call, winograd->n_blocks);

#pragma omp for collapse(2) schedule(dynamic)
        for (int64_t block = 0; block < winograd->n_blocks; block++) {
            for (int64_t c = 0; c < winograd->in_blocks; c++)
                winograd->kernels->read(winograd, tiles_of(winograd, block), c,
                                        call->x,
                                        call->scratch + block * floats);
        }
#pragma omp for collapse(2) schedule(dynamic)
        for (int64_t n = 0; n < winograd->n_parts; n++) {
            for (int64_t block = 0; block < winograd->n_blocks; block++)
                run_outputs(winograd, call, block, n,
                            call->scratch + block * floats, products);
        }
    }
}

void winograd_run(const struct winograd *winograd,
                  const struct winograd_call *call)
{
    if (winograd->is_shared)
        run_shared(winograd, call);
    else
        run_blocks(winograd, call);
}

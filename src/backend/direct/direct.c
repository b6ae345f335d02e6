/* backend/direct/direct.c - see direct.h: weights as the kernels want them, and
 * who computes what. */
#include "backend/direct/direct_internal.h"

#include "base/processor.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

/* Pieces of work for each thread, so that none waits long for the last. */
enum { pieces_each = 4 };

static const int64_t few_products = DIRECT_FEW_PRODUCTS;
/* As many take the time of one in a channel of its own, where nothing is read
 * twice. */
static const int64_t own_channel = 4;

const struct direct_kernels *direct_kernels(void)
{
#ifdef __x86_64__
    if (processor_level() >= PROCESSOR_AVX512)
        return &direct_avx512;
    if (processor_level() >= PROCESSOR_AVX2 && __builtin_cpu_supports("fma"))
        return &direct_avx2;
#endif
    return NULL;
}

int64_t direct_lanes(void)
{
    const struct direct_kernels *kernels = direct_kernels();

    return kernels ? kernels->lanes : 0;
}

const char *direct_instructions(void)
{
    return direct_kernels()->name;
}

/* Floats of a line of x with the zeros around it, as far as it is read. */
static int64_t stem_line(const struct direct_shape *shape)
{
    return (shape->out_width - 1) * shape->stride + shape->kernel;
}

static bool takes_stem(const struct direct_shape *shape)
{
    return shape->in_channels <= DIRECT_STEM_CHANNELS && shape->kernel > 1 &&
           shape->kernel <= DIRECT_STEM_KERNEL &&
           (shape->stride == 1 || shape->stride == 2 || shape->stride == 4) &&
           shape->left < shape->kernel && shape->top < shape->kernel &&
           stem_line(shape) * shape->in_channels * shape->kernel <=
               DIRECT_STEM_FLOATS;
}

/* Groups of a whole block are no trouble to oneDNN. */
static bool takes_groups(const struct direct_shape *shape)
{
    int64_t lanes = direct_lanes(), group = shape->group;

    return shape->kernel == 3 && (shape->stride == 1 || shape->stride == 2) &&
           group > 1 && group < lanes && lanes % group == 0 &&
           shape->in_channels == shape->out_channels;
}

bool direct_takes(enum direct_kind kind, const struct direct_shape *shape)
{
    int64_t kernel = shape->kernel, stride = shape->stride;

    switch (kind) {
    case DIRECT_POINTWISE:
        return kernel == 1 && (stride == 1 || stride == 2);
    case DIRECT_STEM:
        return takes_stem(shape);
    case DIRECT_GROUPED:
        return takes_groups(shape);
    case DIRECT_DEPTHWISE:
        break;
    }
    return (kernel == 3 || kernel == 5) && (stride == 1 || stride == 2);
}

/* With short vectors the others waste little on channels that are not there. */
static int64_t find_narrow(enum direct_kind kind,
                           const struct direct_shape *shape)
{
    if (kind != DIRECT_POINTWISE || shape->in_channels < direct_lanes())
        return 0;
    if (shape->out_channels == 1)
        return 1;
    return shape->out_channels <= DIRECT_NARROW && direct_lanes() == 16
               ? DIRECT_NARROW
               : 0;
}

/* ---- the plan ------------------------------------------------------------ */

/* What is read of x at a time: it stays in the cache that a core has for
 * itself, beside the weights of a panel, while all panels pass. The larger it
 * is, the fewer times the weights are read. */
static int64_t piece_bytes(void)
{
    static const int64_t least = 96 << 10, most = 512 << 10;
    int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE) / 3;

    return bytes < least ? least : bytes > most ? most : bytes;
}

static int64_t out_pixels(const struct direct *direct)
{
    return direct->shape.out_height * direct->shape.out_width;
}

static int64_t count_panels(const struct direct *direct)
{
    return (direct->out_blocks + DIRECT_PANEL - 1) / DIRECT_PANEL;
}

/* Time for the panel of a piece: few pixels at once take longer each. */
static int64_t piece_time(int64_t pixels)
{
    enum { whole = 12, third = 4 };
    int64_t rest = pixels % whole;

    return pixels - rest + rest / third * (third + 1) + rest % third * 3;
}

/* What the busiest thread has to do, with so many pixels at a time: each has
 * panels of pieces that follow each other. */
static int64_t find_longest(const struct direct *direct, int64_t step)
{
    int64_t pixels = out_pixels(direct), panels = count_panels(direct);
    int64_t pieces = (pixels + step - 1) / step, longest = 0, done = 0;
    int64_t n = direct->shape.images * pieces * panels;
    int64_t threads = direct->n_threads;

    for (int64_t t = 0; t < threads; t++) {
        int64_t end = done + n / threads + (t < n % threads), time = 0;

        for (; done < end; done++) {
            int64_t left = pixels - done / panels % pieces * step;

            time += piece_time(left < step ? left : step);
        }
        longest = time > longest ? time : longest;
    }
    return longest;
}

/* Pixels at a time: what the cache holds, or less where a thread would wait
 * for others then. Threads that share a piece read what others have made: that
 * takes about a share of a panel's time, longer where their caches are far
 * apart. */
static int64_t find_step(const struct direct *direct)
{
    /* Pixels that are in registers at once, or a third of them. */
    static const int64_t tiles[] = {12, 4};
    enum {
        most_more = 4,
        shared_share = 3,
        n_tiles = sizeof tiles / sizeof *tiles
    };
    int64_t pixels = out_pixels(direct), best = 0, shortest = INT64_MAX;
    int64_t bytes = pixels * direct->in_blocks * direct->kernels->lanes *
                    (int64_t)sizeof(float);
    int64_t least = bytes / piece_bytes() + 1;

    for (int64_t i = 0; i < (most_more * direct->n_threads + 1) * n_tiles;
         i++) {
        int64_t n = least + i / n_tiles, tile = tiles[i % n_tiles];
        int64_t step = ((pixels + n - 1) / n + tile - 1) / tile * tile;
        int64_t longest = find_longest(direct, step);
        int64_t pieces = (pixels + step - 1) / step;

        if (direct->shape.images * pieces % direct->n_threads)
            longest += piece_time(step) / shared_share;
        if (longest < shortest - shortest / 64) {
            best = step;
            shortest = longest;
        }
    }
    return best;
}

bool direct_plan(enum direct_kind kind, const struct direct_shape *shape,
                 int n_threads, struct direct *out)
{
    int64_t lanes = direct_lanes();

    if (!lanes)
        return false;
    *out =
        (struct direct){.kernels = direct_kernels(),
                        .kind = kind,
                        .shape = *shape,
                        .in_blocks = (shape->in_channels + lanes - 1) / lanes,
                        .out_blocks = (shape->out_channels + lanes - 1) / lanes,
                        .narrow = find_narrow(kind, shape),
                        .n_threads = n_threads > 1 ? n_threads : 1};
    if (kind == DIRECT_POINTWISE)
        out->step = find_step(out);
    return true;
}

/* ---- weights ------------------------------------------------------------- */

/* Numbers for each output channel. */
static int64_t each_channel(const struct direct *direct)
{
    int64_t places = direct->shape.kernel * direct->shape.kernel;

    switch (direct->kind) {
    case DIRECT_DEPTHWISE:
        return places;
    case DIRECT_GROUPED:
        return places * direct->shape.group;
    case DIRECT_POINTWISE:
    case DIRECT_STEM:
        break;
    }
    return direct->shape.in_channels * places;
}

size_t direct_weight_bytes(const struct direct *direct)
{
    if (direct->narrow)
        return (size_t)(direct->in_blocks * direct->narrow *
                        direct->kernels->lanes) *
               sizeof(float);
    return (size_t)(direct->out_blocks * each_channel(direct) *
                    direct->kernels->lanes) *
           sizeof(float);
}

/* Depthwise and in groups each block is on its own. */
static bool has_panels(const struct direct *direct)
{
    return direct->kind == DIRECT_POINTWISE || direct->kind == DIRECT_STEM;
}

/* Blocks of the panel that a block is in. */
static int64_t panel_blocks(const struct direct *direct, int64_t first)
{
    int64_t left = direct->out_blocks - first;

    return has_panels(direct) && left >= DIRECT_PANEL ? DIRECT_PANEL : 1;
}

/* Weights of the panel that begins with a block; 0 after the last. */
static int64_t panel_floats(const struct direct *direct, int64_t first)
{
    return first < direct->out_blocks
               ? panel_blocks(direct, first) * direct->shape.in_channels *
                     direct->kernels->lanes
               : 0;
}

static void pack_narrow(const struct direct *direct, const float *weights,
                        float *packed)
{
    int64_t lanes = direct->kernels->lanes, each = direct->shape.in_channels;

    for (int64_t o = 0; o < direct->shape.out_channels; o++) {
        for (int64_t c = 0; c < each; c++)
            packed[(c / lanes * direct->narrow + o) * lanes + c % lanes] =
                weights[o * each + c];
    }
}

void direct_pack(const struct direct *direct, const float *weights,
                 float *packed)
{
    int64_t lanes = direct->kernels->lanes, each = each_channel(direct);

    memset(packed, 0, direct_weight_bytes(direct));
    if (direct->narrow) {
        pack_narrow(direct, weights, packed);
        return;
    }
    for (int64_t o = 0; o < direct->shape.out_channels; o++) {
        int64_t block = o / lanes;
        int64_t first =
            has_panels(direct) ? block / DIRECT_PANEL * DIRECT_PANEL : block;
        int64_t n = panel_blocks(direct, first);
        float *to = packed + (first * each + block - first) * lanes + o % lanes;

        for (int64_t i = 0; i < each; i++)
            to[i * n * lanes] = weights[o * each + i];
    }
}

/* The bias of n blocks, 0 after the last channel. */
static void copy_bias(const struct direct *direct, const float *bias,
                      int64_t first, int64_t n, float *to)
{
    int64_t lanes = direct->kernels->lanes;
    int64_t left = direct->shape.out_channels - first * lanes;

    memset(to, 0, (size_t)(n * lanes) * sizeof *to);
    if (bias)
        memcpy(to, bias + first * lanes,
               (size_t)(left < n * lanes ? left : n * lanes) * sizeof *to);
}

/* ---- pointwise ----------------------------------------------------------- */

/* Pixels of one image, where the kernels find them: in x, or brought together
 * in a thread's scratch memory. */
struct piece {
    int64_t image, first, n;
    const float *x;
    int64_t x_plane;
};

static void run_panel(const struct direct *direct,
                      const struct direct_call *call, const struct piece *piece,
                      int64_t block)
{
    const struct direct_shape *shape = &direct->shape;
    int64_t lanes = direct->kernels->lanes;
    int64_t plane = out_pixels(direct) * lanes;
    int64_t n_blocks = panel_blocks(direct, block);
    float bias[DIRECT_PANEL * DIRECT_MOST_LANES];
    struct direct_pixels pixels = {
        .x = piece->x,
        .weights = call->weights + block * shape->in_channels * lanes,
        .bias = bias,
        .next = call->weights + (block + n_blocks) * shape->in_channels * lanes,
        .next_floats = panel_floats(direct, block + n_blocks),
        .y = call->y + (piece->image * direct->out_blocks + block) * plane +
             piece->first * lanes,
        .n = piece->n,
        .n_blocks = n_blocks,
        .in_channels = shape->in_channels,
        .x_plane = piece->x_plane,
        .y_plane = plane,
        .y_step = lanes,
        .sums_step = lanes,
        .narrow = direct->narrow,
        .then = &call->then};

    copy_bias(direct, call->bias, block, n_blocks, bias);
    if (call->adds)
        pixels.sums = pixels.y;
    if (direct->narrow)
        direct->kernels->narrow(&pixels);
    else
        direct->kernels->pointwise(&pixels);
}

static bool gathers(const struct direct *direct, bool has_before)
{
    return direct->kind == DIRECT_POINTWISE &&
           (has_before || direct->shape.stride > 1);
}

static int64_t gathered_floats(const struct direct *direct)
{
    return direct->in_blocks * direct->step * direct->kernels->lanes;
}

size_t direct_scratch_bytes(const struct direct *direct, bool has_before)
{
    return gathers(direct, has_before)
               ? (size_t)(direct->n_threads * gathered_floats(direct)) *
                     sizeof(float)
               : 0;
}

/* The n-th piece of all images. */
static struct piece find_piece(const struct direct *direct,
                               const struct direct_call *call, int64_t n)
{
    const struct direct_shape *shape = &direct->shape;
    int64_t lanes = direct->kernels->lanes, pixels = out_pixels(direct);
    int64_t pieces = (pixels + direct->step - 1) / direct->step;
    int64_t plane = shape->in_height * shape->in_width * lanes;
    struct piece piece = {.image = n / pieces,
                          .first = n % pieces * direct->step,
                          .x_plane = plane};
    int64_t left = pixels - piece.first;

    piece.n = left < direct->step ? left : direct->step;
    piece.x = call->x + piece.image * direct->in_blocks * plane;
    return piece;
}

/* Brings the pixels together, or says where they are. */
static void read_piece(const struct direct *direct,
                       const struct direct_call *call, struct piece *piece)
{
    int64_t lanes = direct->kernels->lanes;
    float *to;

    if (!gathers(direct, call->before.scale != NULL)) {
        piece->x += piece->first * lanes;
        return;
    }
    to = call->scratch + omp_get_thread_num() * gathered_floats(direct);
    direct->kernels->gather(
        &(struct direct_gather){.x = piece->x,
                                .to = to,
                                .first = piece->first,
                                .n = piece->n,
                                .n_blocks = direct->in_blocks,
                                .to_plane = direct->step * lanes,
                                .shape = &direct->shape,
                                .before = &call->before});
    piece->x = to;
    piece->x_plane = direct->step * lanes;
}

/* Each thread has panels that follow each other, and so the next one mostly of
 * the same piece. */
static void run_pointwise(const struct direct *direct,
                          const struct direct_call *call)
{
    const struct direct_shape *shape = &direct->shape;
    int64_t pixels = out_pixels(direct), panels = count_panels(direct);
    int64_t pieces = (pixels + direct->step - 1) / direct->step;
    int64_t n = shape->images * pieces * panels;

#pragma omp parallel num_threads(                                              \
    direct->n_threads) if (n > 1 && shape->images * pixels *                   \
                                            shape->out_channels *              \
                                            shape->in_channels >               \
                                        few_products)
    {
        struct piece piece = {.n = 0};
        int64_t held = -1;

#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) {
            if (i / panels != held) {
                held = i / panels;
                piece = find_piece(direct, call, held);
                read_piece(direct, call, &piece);
            }
            run_panel(direct, call, &piece, i % panels * DIRECT_PANEL);
        }
    }
}

/* ---- depthwise, grouped ---------------------------------------------------
 */

/* See struct direct_rows. */
static void number_groups(const struct direct *direct, int32_t *numbers)
{
    int64_t lanes = direct->kernels->lanes, group = direct->shape.group;

    for (int64_t c = 0; c < group; c++) {
        for (int64_t i = 0; i < lanes; i++)
            numbers[c * lanes + i] = (int32_t)(i / group * group + c);
    }
}

static void run_some_rows(const struct direct *direct,
                          const struct direct_call *call,
                          const int32_t *numbers, int64_t plane, int64_t first,
                          int64_t end)
{
    const struct direct_shape *shape = &direct->shape;
    int64_t lanes = direct->kernels->lanes, block = plane % direct->in_blocks;
    float bias[DIRECT_MOST_LANES];

    struct direct_rows rows = {
        .x = call->x + plane * shape->in_height * shape->in_width * lanes,
        .weights = call->weights + block * each_channel(direct) * lanes,
        .bias = bias,
        .y = call->y + plane * shape->out_height * shape->out_width * lanes,
        .first = first,
        .end = end,
        .numbers = numbers,
        .shape = shape,
        .then = &call->then};

    copy_bias(direct, call->bias, block, 1, bias);
    if (direct->kind == DIRECT_GROUPED)
        direct->kernels->grouped(&rows);
    else
        direct->kernels->depthwise(&rows);
}

/* Rows at a time: a few, and as many pieces for every thread; all of them where
 * the last piece would be much smaller. */
static int64_t piece_rows(int64_t rows)
{
    static const int64_t most = 16;
    int64_t threads = omp_get_max_threads();
    int64_t pieces = (rows + most * threads - 1) / (most * threads) * threads;
    int64_t step = (rows + pieces - 1) / pieces;
    int64_t missing = (rows + step - 1) / step * step - rows;

    return rows <= most && missing * 4 >= step ? rows : step;
}

/* All channels of some rows, then those of the next, as pointwise ones take
 * them: what a thread reads here it made there, and its cache has it. */
static void run_planes(const struct direct *direct,
                       const struct direct_call *call)
{
    const struct direct_shape *shape = &direct->shape;
    int64_t blocks = direct->in_blocks, step = piece_rows(shape->out_height);
    int64_t parts = (shape->out_height + step - 1) / step;
    int64_t products = shape->images * blocks * shape->out_height *
                       shape->out_width * direct->kernels->lanes *
                       each_channel(direct);
    int32_t numbers[DIRECT_MOST_LANES * DIRECT_MOST_LANES];

    if (direct->kind == DIRECT_GROUPED)
        number_groups(direct, numbers);
#pragma omp parallel for if (products > few_products / own_channel)
    for (int64_t i = 0; i < shape->images * parts * blocks; i++) {
        int64_t image = i / blocks / parts;
        int64_t first = i / blocks % parts * step, end = first + step;

        run_some_rows(direct, call, numbers, image * blocks + i % blocks, first,
                      end < shape->out_height ? end : shape->out_height);
    }
}

/* ---- stems --------------------------------------------------------------- */

static void run_stem(const struct direct *direct,
                     const struct direct_call *call)
{
    enum { least_rows = 4 };
    const struct direct_shape *shape = &direct->shape;
    int64_t pieces = omp_get_max_threads() * pieces_each;
    int64_t step = (shape->out_height + pieces - 1) / pieces;
    int64_t x_floats = shape->in_channels * shape->in_height * shape->in_width;
    int64_t y_floats = direct->out_blocks * shape->out_height *
                       shape->out_width * direct->kernels->lanes;

    step = step < least_rows ? least_rows : step;
    pieces = (shape->out_height + step - 1) / step;
#pragma omp parallel for schedule(                                             \
    dynamic) if (y_floats * each_channel(direct) * shape->images >             \
                 few_products)
    for (int64_t i = 0; i < shape->images * pieces; i++) {
        int64_t image = i / pieces, first = i % pieces * step;
        int64_t end = first + step;

        direct->kernels->stem(&(struct direct_stem){
            .x = call->x + image * x_floats,
            .weights = call->weights,
            .bias = call->bias,
            .y = call->y + image * y_floats,
            .first = first,
            .end = end < shape->out_height ? end : shape->out_height,
            .line_floats = stem_line(shape),
            .shape = shape,
            .then = &call->then});
    }
}

void direct_run(const struct direct *direct, const struct direct_call *call)
{
    switch (direct->kind) {
    case DIRECT_POINTWISE:
        run_pointwise(direct, call);
        break;
    case DIRECT_DEPTHWISE:
    case DIRECT_GROUPED:
        run_planes(direct, call);
        break;
    case DIRECT_STEM:
        run_stem(direct, call);
        break;
    }
}

void direct_pick(const struct direct_picked *picked)
{
    direct_kernels()->picked(picked);
}

void direct_multiply(const struct direct_product *product)
{
    const struct direct_kernels *kernels = direct_kernels();

#pragma omp parallel for if (product->out * product->in > few_products)
    for (int64_t first = 0; first < product->out; first += DIRECT_STREAMS)
        kernels->multiply(product, first);
}

void direct_respond(const struct direct_responses *responses)
{
    const struct direct_kernels *kernels = direct_kernels();
    int64_t n = responses->images * responses->n_blocks;
    int64_t pixels = responses->pixels, lanes = kernels->lanes;

#pragma omp parallel for collapse(2) if (n * pixels * lanes * 8 > few_products)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t p = 0; p < pixels; p += DIRECT_RESPONSES) {
            int64_t left = pixels - p, at = (i * pixels + p) * lanes;
            int64_t block = i % responses->n_blocks;

            kernels->respond(&(struct direct_response){
                .x = responses->x + at,
                .has_before = block > 0,
                .has_after = block < responses->n_blocks - 1,
                .y = responses->y + at,
                .n = left < DIRECT_RESPONSES ? left : DIRECT_RESPONSES,
                .plane_floats = pixels * lanes,
                .before = responses->before,
                .after = responses->after,
                .scale = responses->scale,
                .bias = responses->bias,
                .beta = responses->beta});
        }
    }
}

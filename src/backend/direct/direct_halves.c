/* backend/direct/direct_halves.c - see direct.h: matrices by packed weights,
 * with seven products of halves instead of eight.
 *
 * Rows, inputs and outputs are halved: x is [A11 A12; A21 A22], the weights are
 * [B11 B12; B21 B22]. These are Strassen's products in Winograd's order, as in
 * Higham, Accuracy and Stability of Numerical Algorithms (2002), section 23.1,
 * at one level only: sums then lose a bit or two, about what Winograd's
 * convolutions lose. Sums of weights are made when they are packed. */
#include "backend/direct/direct_internal.h"

#include <omp.h>
#include <string.h>

enum { group_panels = 4, most_depth = 384 };

/* What is multiplied on the left: parts of x, and sums of them. */
enum operand { A11, A12, A22, S1, S2, S3, S4, N_OPERANDS };

/* Where products go, and what is added to them: memory for one group of
 * panels, or a quarter of y. */
enum place { NOWHERE, FIRST, SECOND, THIRD, C11, C12, C21 };

/* The order of the products, and of their weights: signs of B11, B12, B21 and
 * B22. */
static const struct step {
    enum operand left;
    enum place from, to;
    float signs[4];
} steps[] = {
    {A11, NOWHERE, FIRST, {1, 0, 0, 0}}, {A12, FIRST, C11, {0, 0, 1, 0}},
    {S2, FIRST, FIRST, {1, -1, 0, 1}},   {S3, FIRST, SECOND, {0, -1, 0, 1}},
    {A22, SECOND, C21, {-1, 1, 1, -1}},  {S1, NOWHERE, THIRD, {-1, 1, 0, 0}},
    {S4, FIRST, C12, {0, 0, 0, 1}}};

enum { n_steps = sizeof steps / sizeof *steps, joined_step = 5 };

/* How the work is divided: blocks of rows and groups of panels. A block is
 * halved into `upper` rows and at most as many. */
struct halves {
    int64_t rows, upper, n_blocks;
    int64_t in, out, n_panels; /* of a half */
    int64_t n_groups;
    int64_t depth, n_depths; /* sums are made in so many pieces */
    int64_t step;            /* from row to row of an operand's copy */
    bool copies;             /* also what is not a sum */
};

static int64_t halves_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows that begin at the same place of a page push each other out of the
 * nearest cache. */
static bool halves_copies(int64_t in)
{
    enum { page_floats = 1024 };

    return in % page_floats == 0;
}

static struct halves divide_halves(int64_t rows, int64_t in, int64_t out)
{
    enum { block_rows = 200, apart = 16 };
    int64_t threads = omp_get_max_threads();
    int64_t panel = DIRECT_PANEL * direct_kernels()->lanes;
    struct halves h = {.in = in / 2, .out = out / 2, .n_groups = 1};

    h.n_blocks = halves_divide_up(rows, block_rows);
    h.n_panels = halves_divide_up(h.out, panel);
    if (h.n_blocks >= 2 * threads || h.n_blocks % threads == 0)
        h.n_blocks = halves_divide_up(h.n_blocks, threads) * threads;
    else
        h.n_groups = threads;
    h.n_groups *= halves_divide_up(h.n_panels, group_panels * h.n_groups);
    h.n_groups = h.n_groups < h.n_panels ? h.n_groups : h.n_panels;
    h.rows = halves_divide_up(rows, h.n_blocks);
    h.upper = halves_divide_up(h.rows, 2);
    h.n_blocks = halves_divide_up(rows, h.rows);
    h.n_depths = halves_divide_up(h.in, most_depth);
    h.depth = halves_divide_up(h.in, h.n_depths);
    h.depth = halves_divide_up(h.depth, apart) * apart;
    h.step = h.in + apart;
    h.copies = halves_copies(in);
    return h;
}

bool direct_halves_takes(int64_t rows, int64_t in, int64_t out)
{
    enum { least_rows = 96, least_in = 128, least_out = 128 };
    const struct direct_kernels *kernels = direct_kernels();

    return kernels && rows >= least_rows && in >= least_in && in % 2 == 0 &&
           out >= least_out && out % (2 * kernels->lanes) == 0;
}

size_t direct_halves_weight_bytes(int64_t in, int64_t out)
{
    return (size_t)(n_steps * (in / 2) * (out / 2)) * sizeof(float);
}

/* Outputs of a panel; the last may have fewer. */
static int64_t panel_outputs(const struct halves *h, int64_t panel)
{
    int64_t width = DIRECT_PANEL * direct_kernels()->lanes;
    int64_t left = h->out - panel * width;

    return left < width ? left : width;
}

uint64_t direct_halves_flops(int64_t rows, int64_t in, int64_t out)
{
    enum { sums_of_x = 4, sums_of_y = 7 };
    uint64_t a = (uint64_t)rows * (uint64_t)in / 4;
    uint64_t c = (uint64_t)rows * (uint64_t)out / 4;

    return n_steps * c * (uint64_t)in + sums_of_x * a + sums_of_y * c;
}

/* The panels of a half lie one after the other, each with its seven sums of
 * weights. */
static const float *halves_weights(const struct halves *h, const float *weights,
                                   int64_t panel, int64_t step, int64_t first)
{
    int64_t at = panel * DIRECT_PANEL * direct_kernels()->lanes;

    return weights + at * h->in * n_steps +
           (step * h->in + first) * panel_outputs(h, panel);
}

void direct_halves_pack(int64_t in, int64_t out, const float *weights,
                        int64_t in_step, int64_t out_step, float *packed)
{
    int64_t width = DIRECT_PANEL * direct_kernels()->lanes;
    int64_t half_in = in / 2, half_out = out / 2;
    int64_t right = half_out * out_step, below = half_in * in_step;

    for (int64_t at = 0; at < half_out; at += width) {
        int64_t held = half_out - at < width ? half_out - at : width;

        for (int k = 0; k < n_steps; k++) {
            const float *signs = steps[k].signs;

            for (int64_t c = 0; c < half_in; c++) {
                const float *from = weights + c * in_step + at * out_step;

                for (int64_t o = 0; o < held; o++, from += out_step)
                    *packed++ = signs[0] * from[0] + signs[1] * from[right] +
                                signs[2] * from[below] +
                                signs[3] * from[below + right];
            }
        }
    }
}

/* Floats of a block's operands, and of a thread's places. */
static int64_t operands_floats(const struct halves *h)
{
    return (h->copies ? N_OPERANDS : N_OPERANDS - S1) * h->upper * h->step;
}

static int64_t places_floats(const struct halves *h)
{
    int64_t panels = halves_divide_up(h->n_panels, h->n_groups);

    return 3 * h->upper * panels * DIRECT_PANEL * direct_kernels()->lanes;
}

size_t direct_halves_scratch(int64_t rows, int64_t in, int64_t out)
{
    struct halves h = divide_halves(rows, in, out);

    return (size_t)(h.n_blocks * operands_floats(&h) +
                    omp_get_max_threads() * places_floats(&h)) *
           sizeof(float);
}

/* ---- operands ------------------------------------------------------------ */

/* A matrix's first row, and floats from row to row. */
struct side {
    const float *at;
    int64_t step;
};

static struct side find_operand(const struct direct_dense *dense,
                                const struct halves *h, int64_t block,
                                enum operand which)
{
    const float *x = dense->x + block * h->rows * dense->in;
    const float *copies = dense->scratch + block * operands_floats(h);
    int64_t below = h->upper * dense->in;

    if (which >= S1)
        return (struct side){copies + (which - S1) * h->upper * h->step,
                             h->step};
    if (h->copies)
        return (struct side){
            copies + (N_OPERANDS - S1 + which) * h->upper * h->step, h->step};
    return (struct side){which == A11   ? x
                         : which == A12 ? x + h->in
                                        : x + below + h->in,
                         dense->in};
}

static int64_t block_rows_of(const struct direct_dense *dense,
                             const struct halves *h, int64_t block)
{
    int64_t left = dense->rows - block * h->rows;

    return left < h->rows ? left : h->rows;
}

/* Sums of row i of a block's upper half and of the row below it, or of zeros
 * where there is none. */
static void make_operands(const struct direct_dense *dense,
                          const struct halves *h, int64_t block, int64_t i)
{
    int64_t rows = block_rows_of(dense, h, block), all = h->upper * h->step;
    const float *x = dense->x + (block * h->rows + i) * dense->in;
    bool has_upper = i < rows, has_lower = h->upper + i < rows;
    float *to = dense->scratch + block * operands_floats(h) + i * h->step;
    size_t bytes = (size_t)h->in * sizeof *to;

    direct_kernels()->halve(&(struct direct_halved){
        .upper = has_upper ? x : NULL,
        .lower = has_lower ? x + h->upper * dense->in : NULL,
        .n = h->in,
        .sums = to,
        .step = all});
    if (!h->copies)
        return;
    to += (N_OPERANDS - S1) * all;
    if (has_upper) {
        memcpy(to + A11 * all, x, bytes);
        memcpy(to + A12 * all, x + h->in, bytes);
    }
    if (has_lower)
        memcpy(to + A22 * all, x + h->upper * dense->in + h->in, bytes);
}

/* ---- products ------------------------------------------------------------ */

/* A group of panels of a block. */
struct task {
    const struct direct_dense *dense;
    const struct halves *h;
    int64_t block, rows;         /* rows of the block */
    int64_t first_panel, panels; /* of the group */
    float *places;
};

static bool is_place_of_y(enum place place)
{
    return place >= C11;
}

/* Where a panel's part of a place begins, and floats from row to row. */
static float *halves_place(const struct task *task, enum place place,
                           int64_t panel, int64_t *step)
{
    const struct halves *h = task->h;
    int64_t width = DIRECT_PANEL * direct_kernels()->lanes;
    int64_t held = task->panels * width;
    int64_t row = task->block * h->rows + (place == C21 ? h->upper : 0);
    int64_t column = panel * width + (place == C12 ? h->out : 0);

    if (is_place_of_y(place)) {
        *step = task->dense->out;
        return task->dense->y + row * *step + column;
    }
    *step = held;
    return task->places + (place - FIRST) * h->upper * held +
           (panel - task->first_panel) * width;
}

static int64_t rows_of_place(const struct task *task, enum place place)
{
    int64_t upper = task->h->upper;

    if (place == SECOND || place == C21)
        return task->rows - upper;
    return task->rows < upper ? task->rows : upper;
}

static const float *halves_bias(const struct task *task, enum place place,
                                int64_t panel)
{
    static const float zeros[DIRECT_PANEL * DIRECT_MOST_LANES];
    int64_t width = DIRECT_PANEL * direct_kernels()->lanes;
    const float *bias = task->dense->bias;

    if (!bias || !is_place_of_y(place))
        return zeros;
    return bias + panel * width + (place == C12 ? task->h->out : 0);
}

/* What follows the last piece of the sums of a quarter of y. */
static void set_end(const struct task *task, enum place place,
                    struct direct_pixels *pixels)
{
    static const struct activation relu = {.has_relu = true};
    const struct direct_dense *dense = task->dense;

    if (!is_place_of_y(place))
        return;
    if (dense->has_relu)
        pixels->then = &relu;
    pixels->has_gelu = dense->has_gelu;
    if (dense->plus)
        pixels->plus = dense->plus + (pixels->y - dense->y);
}

/* The weights that are used next: of the next panel, or of the first one of
 * the group for the next product. */
static void set_next(const struct task *task, int64_t panel, int64_t step,
                     int64_t depth_at, int64_t depth,
                     struct direct_pixels *pixels)
{
    const struct halves *h = task->h;
    bool is_last = panel + 1 == task->first_panel + task->panels;

    if (is_last && depth_at + depth == h->in)
        step++;
    if (step == n_steps)
        return;
    if (is_last)
        depth_at = depth_at + depth == h->in ? 0 : depth_at + depth;
    panel = is_last ? task->first_panel : panel + 1;
    pixels->next =
        halves_weights(h, task->dense->weights, panel, step, depth_at);
    depth = h->in - depth_at < h->depth ? h->in - depth_at : h->depth;
    pixels->next_floats = depth * panel_outputs(h, panel);
}

/* One product of a panel, and one piece of its sums. */
static void halves_multiply(const struct task *task, int64_t k, int64_t panel,
                            int64_t first)
{
    static const struct activation nothing = {0};
    const struct halves *h = task->h;
    const struct step *step = &steps[k];
    int64_t lanes = direct_kernels()->lanes, left = h->in - first;
    int64_t depth = left < h->depth ? left : h->depth, y_step, sums_step = 0;
    struct side x = find_operand(task->dense, h, task->block, step->left);
    enum place from = first ? step->to : step->from;
    float *y = halves_place(task, step->to, panel, &y_step);
    struct direct_pixels pixels = {
        .x = x.at + first,
        .weights = halves_weights(h, task->dense->weights, panel, k, first),
        .bias = halves_bias(task, first ? NOWHERE : step->to, panel),
        .y = y,
        .n = rows_of_place(task, step->to),
        .n_blocks = panel_outputs(h, panel) / lanes,
        .in_channels = depth,
        .x_plane = lanes,
        .x_step = x.step,
        .y_plane = lanes,
        .y_step = y_step,
        .then = &nothing};

    if (from != NOWHERE)
        pixels.sums = halves_place(task, from, panel, &sums_step);
    pixels.sums_step = sums_step;
    set_next(task, panel, k, first, depth, &pixels);
    if (first + depth == h->in)
        set_end(task, step->to, &pixels);
    if (pixels.n > 0)
        direct_kernels()->rows(&pixels);
}

/* C22 is the second place and the third, which also goes to the first. */
static void run_join(const struct task *task)
{
    static const struct activation nothing = {0};
    const struct halves *h = task->h;
    const struct direct_dense *dense = task->dense;
    int64_t width = DIRECT_PANEL * direct_kernels()->lanes;
    int64_t at = task->first_panel * width, step;
    int64_t left = h->out - at, wide = task->panels * width;
    struct direct_pixels pixels = {.then = &nothing};
    struct direct_joined joined = {
        .first = halves_place(task, FIRST, task->first_panel, &step),
        .second = halves_place(task, SECOND, task->first_panel, &step),
        .third = halves_place(task, THIRD, task->first_panel, &step),
        .bias = dense->bias ? dense->bias + h->out + at : NULL,
        .n_first = rows_of_place(task, FIRST),
        .n = rows_of_place(task, SECOND),
        .width = left < wide ? left : wide,
        .step = step,
        .pixels = &pixels};

    pixels.y = dense->y + (task->block * h->rows + h->upper) * dense->out +
               h->out + at;
    pixels.y_step = dense->out;
    set_end(task, C21, &pixels);
    direct_kernels()->join(&joined);
}

static void run_task(const struct task *task)
{
    const struct halves *h = task->h;

    for (int64_t k = 0; k < n_steps; k++) {
        for (int64_t first = 0; first < h->in; first += h->depth) {
            for (int64_t i = 0; i < task->panels; i++)
                halves_multiply(task, k, task->first_panel + i, first);
        }
        if (k == joined_step)
            run_join(task);
    }
}

static void run_group(const struct direct_dense *dense, const struct halves *h,
                      int64_t at)
{
    int64_t group = at % h->n_groups, block = at / h->n_groups;
    int64_t first = group * h->n_panels / h->n_groups;
    float *places = dense->scratch + h->n_blocks * operands_floats(h);

    run_task(&(struct task){
        .dense = dense,
        .h = h,
        .block = block,
        .rows = block_rows_of(dense, h, block),
        .first_panel = first,
        .panels = (group + 1) * h->n_panels / h->n_groups - first,
        .places = places + omp_get_thread_num() * places_floats(h)});
}

/* For all threads of a region. Where a block is one task, the thread that made
 * its operands takes it. */
static void halves_run_blocks(const struct direct_dense *dense,
                              const struct halves *h)
{
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < h->n_blocks; i++)
        run_group(dense, h, i);
}

/* The same where it is several: whoever is free takes the next one. */
static void halves_run_groups(const struct direct_dense *dense,
                              const struct halves *h)
{
#pragma omp for schedule(dynamic) nowait
    for (int64_t i = 0; i < h->n_blocks * h->n_groups; i++)
        run_group(dense, h, i);
}

void direct_halves_run(const struct direct_dense *dense)
{
    struct halves h = divide_halves(dense->rows, dense->in, dense->out);

#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < h.n_blocks * h.upper; i++)
            make_operands(dense, &h, i / h.upper, i % h.upper);
        if (h.n_groups == 1)
            halves_run_blocks(dense, &h);
        else
            halves_run_groups(dense, &h);
    }
}

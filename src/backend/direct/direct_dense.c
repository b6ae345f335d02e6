/* backend/direct/direct_dense.c - see direct.h: matrices by packed weights.
 *
 * The loops are those of convolutions of 1x1: as many rows as the core's own
 * cache holds, and of these a panel of outputs after the other. Long sums are
 * made in pieces. */
#include "backend/direct/direct_internal.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

/* Rows that are in registers at once. */
enum { tile_rows = 12 };

/* How the work is divided: pieces of rows and of panels for the threads, pieces
 * of the sums one after the other. */
struct division {
    int64_t rows, n_rows;     /* of a piece, and how many pieces */
    int64_t panels, n_panels; /* of a piece, and of all */
    int64_t depth;            /* of a piece */
    int64_t n_groups;         /* pieces of panels */
};

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t out_blocks(int64_t out)
{
    return out / direct_kernels()->lanes;
}

/* Numbers of the rows that are copied at a time. */
static int64_t piece_floats(void)
{
    static const int64_t least = 48 << 10, most = 160 << 10;
    int64_t floats = sysconf(_SC_LEVEL2_CACHE_SIZE) / 8 * 5 / 4;

    return floats < least ? least : floats > most ? most : floats;
}

/* Panels are divided among threads where that is even: then each reads weights
 * of its own. Otherwise rows are. */
static struct division divide_dense(int64_t rows, int64_t in, int64_t out)
{
    static const int64_t most_depth = 768;
    int64_t threads = omp_get_max_threads(), lanes = direct_kernels()->lanes;
    struct division d = {.n_groups = 1};
    int64_t held;

    d.n_panels = divide_up(out_blocks(out), DIRECT_PANEL);
    d.depth = divide_up(divide_up(in, divide_up(in, most_depth)), lanes);
    d.depth *= lanes;
    held = piece_floats() / d.depth / tile_rows * tile_rows;
    held = held < tile_rows ? tile_rows : held;
    d.n_rows = divide_up(rows, held);
    if (d.n_rows < threads &&
        (d.n_panels % threads == 0 || d.n_panels >= 4 * threads))
        d.n_groups = divide_up(threads, d.n_rows);
    else
        d.n_rows = divide_up(d.n_rows, threads) * threads;
    d.rows = divide_up(divide_up(rows, d.n_rows), tile_rows) * tile_rows;
    d.n_rows = divide_up(rows, d.rows);
    d.panels = divide_up(d.n_panels, d.n_groups);
    return d;
}

bool direct_dense_takes(int64_t out)
{
    const struct direct_kernels *kernels = direct_kernels();

    return kernels && out > 0 && out % kernels->lanes == 0;
}

size_t direct_dense_weight_bytes(int64_t in, int64_t out)
{
    return (size_t)(in * out) * sizeof(float);
}

/* The panels of a piece of the sums lie together. */
void direct_dense_pack(int64_t in, int64_t out, const float *weights,
                       int64_t in_step, int64_t out_step, float *packed)
{
    int64_t lanes = direct_kernels()->lanes, panel = DIRECT_PANEL * lanes;
    int64_t depth = divide_dense(1, in, out).depth;

    for (int64_t first = 0; first < in; first += depth) {
        int64_t n = in - first < depth ? in - first : depth;

        for (int64_t o = 0; o < out; o++) {
            int64_t at = o / panel * panel;
            int64_t width = out - at < panel ? out - at : panel;
            float *to = packed + first * out + at * n + o - at;

            for (int64_t c = 0; c < n; c++)
                to[c * width] = weights[(first + c) * in_step + o * out_step];
        }
    }
}

/* Rows that begin at the same place of a page push each other out of the
 * nearest cache: those are copied to blocks first. */
static bool copies_rows(int64_t in)
{
    enum { page_floats = 1024 };

    return in % page_floats == 0;
}

size_t direct_dense_scratch(int64_t rows, int64_t in, int64_t out)
{
    struct division d = divide_dense(rows, in, out);

    return copies_rows(in)
               ? (size_t)(omp_get_max_threads() * d.rows * d.depth) *
                     sizeof(float)
               : 0;
}

/* A block; its size is a constant. */
static inline void copy_block(const float *x, int64_t lanes, float *to)
{
    memcpy(to, x, (size_t)lanes * sizeof *to);
}

/* n rows of `depth` numbers to blocks. */
static void dense_copy_rows(const float *x, int64_t step, int64_t n,
                            int64_t depth, int64_t lanes, float *to)
{
    enum { wide = 16, small = 8 };
    int64_t whole = depth / lanes * lanes;

    for (int64_t i = 0; i < n; i++, x += step) {
        for (int64_t c = 0; c < whole; c += lanes) {
            if (lanes == wide)
                copy_block(x + c, wide, to + c * n + i * lanes);
            else
                copy_block(x + c, small, to + c * n + i * lanes);
        }
        memcpy(to + whole * n + i * lanes, x + whole,
               (size_t)(depth - whole) * sizeof *to);
    }
}

/* The weights of a panel for one piece of the sums. */
struct dense_weights {
    const float *at;
    int64_t floats; /* 0: there is no such panel */
};

static struct dense_weights weights_of_panel(const struct direct_dense *dense,
                                             const struct division *d,
                                             int64_t first, int64_t panel)
{
    int64_t width = DIRECT_PANEL * direct_kernels()->lanes, at = panel * width;
    int64_t depth = dense->in - first, left = dense->out - at;

    if (depth <= 0)
        return (struct dense_weights){NULL, 0};
    depth = depth < d->depth ? depth : d->depth;
    return (struct dense_weights){
        .at = dense->weights + first * dense->out + at * depth,
        .floats = (left < width ? left : width) * depth};
}

/* Some rows, and what of the outputs they are multiplied to. */
struct dense_piece {
    int64_t first_row, n_rows;
    int64_t first_panel, end;
    float *copies; /* of the rows, where they are copied */
};

/* One panel, and one piece of its sums. */
static void run_dense_panel(const struct direct_dense *dense,
                            const struct division *d,
                            const struct dense_piece *piece, int64_t first,
                            int64_t panel)
{
    static const struct activation nothing = {0}, relu = {.has_relu = true};
    static const float zeros[DIRECT_PANEL * DIRECT_MOST_LANES];
    const struct direct_kernels *kernels = direct_kernels();
    int64_t width = DIRECT_PANEL * kernels->lanes, at = panel * width;
    int64_t left = dense->in - first;
    int64_t depth = left < d->depth ? left : d->depth;
    bool is_last = first + depth == dense->in;
    bool is_copied = copies_rows(dense->in);
    float *y = dense->y + piece->first_row * dense->out + at;
    struct dense_weights next =
        panel + 1 < piece->end
            ? weights_of_panel(dense, d, first, panel + 1)
            : weights_of_panel(dense, d, first + depth, piece->first_panel);

    kernels->rows(&(struct direct_pixels){
        .x = is_copied ? piece->copies
                       : dense->x + piece->first_row * dense->in + first,
        .weights = weights_of_panel(dense, d, first, panel).at,
        .bias = first || !dense->bias ? zeros : dense->bias + at,
        .next = next.at,
        .next_floats = next.floats,
        .y = y,
        .n = piece->n_rows,
        .n_blocks = at + width <= dense->out ? DIRECT_PANEL : 1,
        .in_channels = depth,
        .x_plane = is_copied ? piece->n_rows * kernels->lanes : kernels->lanes,
        .x_step = is_copied ? kernels->lanes : dense->in,
        .y_plane = kernels->lanes,
        .y_step = dense->out,
        .sums = first ? y : NULL,
        .sums_step = dense->out,
        .then = is_last && dense->has_relu ? &relu : &nothing,
        .has_gelu = is_last && dense->has_gelu,
        .plus = is_last && dense->plus ? dense->plus + (y - dense->y) : NULL});
}

static void run_dense_piece(const struct direct_dense *dense,
                            const struct division *d, int64_t at, float *copies)
{
    struct dense_piece piece = {.first_row = at / d->n_groups * d->rows,
                                .first_panel = at % d->n_groups * d->panels,
                                .copies = copies};
    int64_t left = dense->rows - piece.first_row;

    piece.n_rows = left < d->rows ? left : d->rows;
    piece.end = piece.first_panel + d->panels;
    piece.end = piece.end < d->n_panels ? piece.end : d->n_panels;
    for (int64_t first = 0; first < dense->in; first += d->depth) {
        int64_t depth = dense->in - first;

        if (copies_rows(dense->in))
            dense_copy_rows(dense->x + piece.first_row * dense->in + first,
                            dense->in, piece.n_rows,
                            depth < d->depth ? depth : d->depth,
                            direct_kernels()->lanes, copies);
        for (int64_t p = piece.first_panel; p < piece.end; p++)
            run_dense_panel(dense, d, &piece, first, p);
    }
}

void direct_dense_run(const struct direct_dense *dense)
{
    struct division d = divide_dense(dense->rows, dense->in, dense->out);

#pragma omp parallel for schedule(                                             \
    static) if (dense->rows * dense->in * dense->out > DIRECT_FEW_PRODUCTS)
    for (int64_t i = 0; i < d.n_rows * d.n_groups; i++)
        run_dense_piece(dense, &d, i,
                        dense->scratch ? dense->scratch + omp_get_thread_num() *
                                                              d.rows * d.depth
                                       : NULL);
}

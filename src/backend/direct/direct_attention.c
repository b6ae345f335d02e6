/* backend/direct/direct_attention.c - see direct.h: attention, head by head.
 *
 * Scores of a few rows at a time stay in the nearest caches: they are made by
 * the product with k, become shares in place, and are multiplied with v. */
#include "backend/direct/direct_internal.h"

#include <omp.h>
#include <string.h>

/* Rows whose scores are there at once: whole tiles of 12. */
enum { attention_rows = 36 };

/* What a thread works with. */
struct attention_place {
    float *k, *v, *scores;
    float *rows;   /* of y, where these do not end with a vector */
    int64_t width; /* of a row of scores */
    int64_t e_width;
};

static int64_t attention_panel(void)
{
    return DIRECT_PANEL * direct_kernels()->lanes;
}

/* Columns, filled up to whole vectors. */
static int64_t attention_width(int64_t m)
{
    int64_t lanes = direct_kernels()->lanes;

    return (m + lanes - 1) / lanes * lanes;
}

static int64_t place_floats(int64_t d, int64_t m, int64_t e)
{
    return attention_width(m) * (d + attention_rows) +
           attention_width(e) * (m + attention_rows);
}

static struct attention_place place_at(const struct direct_attention *a,
                                       float *at)
{
    struct attention_place place = {.k = at,
                                    .width = attention_width(a->m),
                                    .e_width = attention_width(a->e)};

    place.v = place.k + place.width * a->d;
    place.scores = place.v + place.e_width * a->m;
    place.rows = place.scores + place.width * attention_rows;
    return place;
}

size_t direct_attention_scratch(int64_t d, int64_t m, int64_t e)
{
    return (size_t)(omp_get_max_threads() * place_floats(d, m, e)) *
           sizeof(float);
}

/* Some numbers of a row, and zeros up to `wide`. Whole blocks are of a size
 * that the compiler knows: a call for each row takes longer than the copy. */
static void attention_copy(const float *from, int64_t there, int64_t wide,
                           float *to)
{
    enum { block = 8 };
    int64_t j = 0;

    for (; j + block <= there; j += block)
        memcpy(to + j, from + j, block * sizeof *to);
    for (; j < there; j++)
        to[j] = from[j];
    for (; j < wide; j++)
        to[j] = 0;
}

/* A matrix of n columns to panels of as many as fill `width`. */
static void attention_pack(const float *from, int64_t rows, int64_t n,
                           int64_t width, float *to)
{
    int64_t panel = attention_panel();

    for (int64_t at = 0; at < width; at += panel) {
        int64_t wide = width - at < panel ? width - at : panel;
        int64_t there = n - at < wide ? n - at : wide;

        for (int64_t i = 0; i < rows; i++, to += wide)
            attention_copy(from + i * n + at, there, wide, to);
    }
}

/* Some rows of x, of `depth` numbers each, by packed weights. */
static void attention_multiply(const float *x, int64_t x_step, int64_t rows,
                               int64_t depth, const float *weights, float *y,
                               int64_t width)
{
    static const struct activation nothing = {0};
    static const float zeros[DIRECT_PANEL * DIRECT_MOST_LANES];
    const struct direct_kernels *kernels = direct_kernels();
    int64_t panel = attention_panel();

    for (int64_t at = 0; at < width; at += panel)
        kernels->rows(&(struct direct_pixels){
            .x = x,
            .weights = weights + at * depth,
            .bias = zeros,
            .y = y + at,
            .n = rows,
            .n_blocks = width - at < panel ? 1 : DIRECT_PANEL,
            .in_channels = depth,
            .x_plane = kernels->lanes,
            .x_step = x_step,
            .y_plane = kernels->lanes,
            .y_step = width,
            .then = &nothing});
}

static const float *summand_of(const struct direct_summand *summand,
                               int64_t batch, int64_t head)
{
    return summand->at ? summand->at + batch * summand->batch_step +
                             head * summand->head_step
                       : NULL;
}

/* The scores of some rows by v. */
static void attention_gather(const struct direct_attention *a,
                             const struct attention_place *place, int64_t rows,
                             float *y)
{
    bool is_whole = place->e_width == a->e;

    attention_multiply(place->scores, place->width, rows, a->m, place->v,
                       is_whole ? y : place->rows, place->e_width);
    for (int64_t i = 0; !is_whole && i < rows; i++)
        memcpy(y + i * a->e, place->rows + i * place->e_width,
               (size_t)a->e * sizeof *y);
}

static void run_head(const struct direct_attention *a, int64_t item,
                     const struct attention_place *place)
{
    const float *plus = summand_of(&a->plus, item / a->heads, item % a->heads);
    const float *mask = summand_of(&a->mask, item / a->heads, item % a->heads);
    const float *q = a->q + item * a->n * a->d;
    float *y = a->y + item * a->n * a->e;

    attention_pack(a->k + item * a->d * a->m, a->d, a->m, place->width,
                   place->k);
    attention_pack(a->v + item * a->m * a->e, a->m, a->e, place->e_width,
                   place->v);
    for (int64_t first = 0; first < a->n; first += attention_rows) {
        int64_t left = a->n - first;
        int64_t rows = left < attention_rows ? left : attention_rows;

        attention_multiply(q + first * a->d, a->d, rows, a->d, place->k,
                           place->scores, place->width);
        direct_kernels()->attend(
            &(struct direct_attended){.x = place->scores,
                                      .plus = plus ? plus + first * a->m : NULL,
                                      .mask = mask ? mask + first * a->m : NULL,
                                      .rows = rows,
                                      .n = a->m,
                                      .step = place->width});
        attention_gather(a, place, rows, y + first * a->e);
    }
}

void direct_attention_run(const struct direct_attention *a)
{
    int64_t items = a->batch * a->heads;
    int64_t floats = place_floats(a->d, a->m, a->e);

#pragma omp parallel for schedule(                                             \
    static) if (items * a->n * a->m * (a->d + a->e) > DIRECT_FEW_PRODUCTS)
    for (int64_t i = 0; i < items; i++) {
        struct attention_place place =
            place_at(a, a->scratch + omp_get_thread_num() * floats);

        run_head(a, i, &place);
    }
}

/* ops/detection/roi_pool.c - see roi_pool_internal.h.
 *
 * The weight of a point is the product of one for its row and one for its
 * column, so the points of a bin come down to a few rows and columns. These are
 * found once per box; then 16 channels at a time are summed. */
#include "ops/detection/roi_pool_internal.h"

#include "base/variants.h"

#include <math.h>
#include <string.h>

enum { ROI_MAX_TAPS = 2 * ROI_ALIGN_MAX_RATIO, ROI_HALF = ROI_LANES / 2 };

/* A block of channels, a half and a quarter of one. */
typedef float roi_vector __attribute__((vector_size(64), aligned(4)));
typedef float roi_half __attribute__((vector_size(32), aligned(4)));
typedef float roi_quad __attribute__((vector_size(16), aligned(4)));

/* What a row (or a column) of bins reads: indices of the axis's lines, which
 * become offsets from the first value. */
struct roi_bin {
    int32_t n;
    float weight[ROI_MAX_TAPS];
    int64_t at[ROI_MAX_TAPS];
};

/* One side of a box: the lines of the map that it reads, ascending, each once.
 * A plan is two of them: down, across. */
struct roi_axis {
    int32_t n_lines;
    struct roi_bin *bins;
    int32_t *lines;
};

struct plan {
    int32_t n_lines[2];
    struct roi_bin bins[];
};

struct roi_side roi_make_side(float start, float length, int64_t bins,
                              int64_t points, int64_t size)
{
    float bin = length / (float)bins;

    if (points <= 0)
        points = (int64_t)ceilf(fminf(fmaxf(bin, 1), ROI_MAX_POINTS));
    return (struct roi_side){start, bin, points, size};
}

bool roi_point(const struct roi_side *side, int64_t bin, int64_t i,
               struct tap *tap)
{
    float at = side->start + (float)bin * side->bin +
               ((float)i + 0.5F) * side->bin / (float)side->points;

    *tap = (struct tap){0};
    if (!(at >= -1 && at <= (float)side->size))
        return false;
    if (at < 0)
        at = 0;
    tap->low = (int64_t)at;
    if (tap->low >= side->size - 1) {
        tap->low = tap->high = side->size - 1;
        at = (float)tap->low;
    } else {
        tap->high = tap->low + 1;
    }
    tap->high_weight = at - (float)tap->low;
    tap->low_weight = 1 - tap->high_weight;
    return true;
}

static size_t roi_round_up(size_t bytes)
{
    return (bytes + POOL_ALIGNMENT - 1) / POOL_ALIGNMENT * POOL_ALIGNMENT;
}

static size_t axis_lines(int64_t size, int64_t points)
{
    return (size_t)(size * points * 2);
}

size_t roi_plan_bytes(int64_t size, int64_t points)
{
    return roi_round_up(sizeof(struct plan) +
                        2 * (size_t)size * sizeof(struct roi_bin) +
                        2 * axis_lines(size, points) * sizeof(int32_t));
}

size_t roi_pool_scratch_bytes(int64_t size, int64_t points)
{
    size_t n_lines = axis_lines(size, points);
    size_t n_bins = (size_t)(size * size);

    return roi_round_up((n_bins + n_lines * n_lines) * ROI_LANES *
                        sizeof(float));
}

/* which: 0 down, 1 across. */
static struct roi_axis roi_plan_axis(const struct roi *roi, const void *memory,
                                     int which)
{
    const struct plan *plan = memory;
    struct roi_bin *bins = (struct roi_bin *)plan->bins;
    int32_t *lines = (int32_t *)(bins + 2 * roi->size);

    return (struct roi_axis){
        .n_lines = plan->n_lines[which],
        .bins = bins + which * roi->size,
        .lines =
            lines + (size_t)which * axis_lines(roi->size, roi->down.points)};
}

/* The index of a line, which may be new. Points ascend, so an old line is one
 * of the last two. */
static int32_t line_index(struct roi_axis *axis, int32_t line)
{
    int32_t at = axis->n_lines - 1;

    if (at > 0 && axis->lines[at - 1] == line)
        return at - 1;
    if (at < 0 || axis->lines[at] != line) {
        axis->lines[++at] = line;
        axis->n_lines = at + 1;
    }
    return at;
}

static void bin_add(struct roi_bin *bin, int32_t at, float weight)
{
    for (int32_t i = 0; i < bin->n; i++) {
        if (bin->at[i] == at) {
            bin->weight[i] += weight;
            return;
        }
    }
    bin->at[bin->n] = at;
    bin->weight[bin->n++] = weight;
}

static int32_t fill_axis(struct roi_axis axis, int64_t n_bins,
                         const struct roi_side *side)
{
    float share = 1 / (float)side->points;

    axis.n_lines = 0;
    for (int64_t i = 0; i < n_bins; i++) {
        struct roi_bin *bin = &axis.bins[i];

        bin->n = 0;
        for (int64_t k = 0; k < side->points; k++) {
            struct tap tap;

            if (!roi_point(side, i, k, &tap))
                continue;
            bin_add(bin, line_index(&axis, (int32_t)tap.low),
                    share * tap.low_weight);
            bin_add(bin, line_index(&axis, (int32_t)tap.high),
                    share * tap.high_weight);
        }
    }
    return axis.n_lines;
}

/* From a pixel to its neighbour; what is gathered of a dense map lies in blocks
 * of 16. */
static int64_t pixel_floats(const struct roi_map *map)
{
    return map->block ? map->block : ROI_LANES;
}

/* Turns line indices into offsets; of a dense map only those lines are
 * gathered.
 */
static void set_offsets(struct roi_axis axis, const struct roi *roi,
                        int64_t step)
{
    for (int64_t i = 0; i < roi->size; i++) {
        struct roi_bin *bin = &axis.bins[i];

        for (int32_t k = 0; k < bin->n; k++) {
            if (roi->map->block)
                bin->at[k] = axis.lines[bin->at[k]];
            bin->at[k] *= step;
        }
    }
}

void roi_plan(const struct roi *roi, void *memory)
{
    const struct roi_map *map = roi->map;
    struct plan *plan = memory;
    struct roi_axis down = roi_plan_axis(roi, plan, 0);
    struct roi_axis across = roi_plan_axis(roi, plan, 1);

    plan->n_lines[0] = fill_axis(down, roi->size, &roi->down);
    plan->n_lines[1] = fill_axis(across, roi->size, &roi->across);
    set_offsets(across, roi, pixel_floats(map));
    set_offsets(down, roi,
                (map->block ? map->width : plan->n_lines[1]) *
                    pixel_floats(map));
}

/* Where a map's block of 16 channels begins; of smaller blocks the first one of
 * two. *second: from there to its other eight channels; 0: there are none. */
static int64_t find_block(const struct roi *roi, int64_t block, int64_t *second)
{
    const struct roi_map *map = roi->map;
    int64_t plane = map->height * map->width;
    int64_t n_blocks = (map->channels + map->block - 1) / map->block;
    int64_t first = block * ROI_LANES / map->block;

    *second = map->block == ROI_LANES ? ROI_HALF
              : first + 1 < n_blocks  ? plane * map->block
                                      : 0;
    return (roi->image * n_blocks + first) * plane * map->block;
}

/* The channels of a point; where there is no second half, the first one twice.
 */
VARIANT_PART void roi_read(const float *at, int64_t second, roi_vector *value)
{
    if (second == ROI_HALF)
        *value = *(const roi_vector *)(const void *)at;
    else
        *value = __builtin_shufflevector(
            *(const roi_half *)(const void *)at,
            *(const roi_half *)(const void *)(at + second), 0, 1, 2, 3, 4, 5, 6,
            7, 8, 9, 10, 11, 12, 13, 14, 15);
}

VARIANT_PART void sum_halves(const struct roi_bin *down,
                             const struct roi_bin *across, int64_t size,
                             const float *points, int64_t second, float *tile)
{
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < size; k++, tile += ROI_LANES) {
            roi_vector sum = {0};

            for (int32_t r = 0; r < down[i].n; r++) {
                const float *row = points + down[i].at[r];
                roi_vector of_row = {0};

                for (int32_t c = 0; c < across[k].n; c++) {
                    roi_vector point;

                    roi_read(row + across[k].at[c], second, &point);
                    of_row += across[k].weight[c] * point;
                }
                sum += down[i].weight[r] * of_row;
            }
            *(roi_vector *)(void *)tile = sum;
        }
    }
}

/* Sums all bins, for 16 channels; the second half of them is that far behind
 * the first. */
VARIANTS(void, sum_bins,
         (const struct roi_bin *down, const struct roi_bin *across,
          int64_t size, const float *points, int64_t second, float *tile),
         (down, across, size, points, second, tile))
{
    if (second == ROI_HALF)
        sum_halves(down, across, size, points, ROI_HALF, tile);
    else
        sum_halves(down, across, size, points, second, tile);
}

/* Whether lines i to i + 3 are neighbours in the map. */
static bool roi_has_four(const struct roi_axis *axis, int32_t i)
{
    return i + 3 < axis->n_lines && axis->lines[i + 3] == axis->lines[i] + 3;
}

/* to[i][k] = from[k][i], 4 x 4. */
static void roi_transpose(const float *from, int64_t from_stride, float *to,
                          int64_t to_stride)
{
    roi_quad a = *(const roi_quad *)(const void *)from;
    roi_quad b = *(const roi_quad *)(const void *)(from + from_stride);
    roi_quad c = *(const roi_quad *)(const void *)(from + 2 * from_stride);
    roi_quad d = *(const roi_quad *)(const void *)(from + 3 * from_stride);
    roi_quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    roi_quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    roi_quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    roi_quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    *(roi_quad *)(void *)to =
        __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(roi_quad *)(void *)(to + to_stride) =
        __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(roi_quad *)(void *)(to + 2 * to_stride) =
        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(roi_quad *)(void *)(to + 3 * to_stride) =
        __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

/* Gathers columns of a row of a dense map, with their 16 channels adjacent. */
static void gather_row(const struct roi_axis *across, const float *row,
                       int64_t plane, int64_t n_channels, float *to)
{
    for (int32_t i = 0; i < across->n_lines;) {
        const float *from = row + across->lines[i];
        bool has_four = n_channels == ROI_LANES && roi_has_four(across, i);
        float *at = to + i * ROI_LANES;

        if (has_four) {
            for (int c = 0; c < ROI_LANES; c += 4)
                roi_transpose(from + c * plane, plane, at + c, ROI_LANES);
            i += 4;
        } else {
            for (int64_t c = 0; c < ROI_LANES; c++)
                at[c] = c < n_channels ? from[c * plane] : 0;
            i++;
        }
    }
}

static void roi_pool_write_block(const float *tile, int64_t n_bins,
                                 int64_t n_channels, float *output)
{
    for (int64_t c = 0; c < n_channels;) {
        bool has_four = c + 4 <= n_channels;
        int64_t i = 0;

        for (; has_four && i + 4 <= n_bins; i += 4)
            roi_transpose(tile + i * ROI_LANES + c, ROI_LANES,
                          output + c * n_bins + i, n_bins);
        for (; i < n_bins; i++) {
            for (int64_t k = c; k < c + (has_four ? 4 : 1); k++)
                output[k * n_bins + i] = tile[i * ROI_LANES + k];
        }
        c += has_four ? 4 : 1;
    }
}

void roi_pool_block(const struct roi *roi, const void *plan, int64_t block,
                    float *scratch, float *output)
{
    const struct roi_map *map = roi->map;
    struct roi_axis down = roi_plan_axis(roi, plan, 0);
    struct roi_axis across = roi_plan_axis(roi, plan, 1);
    int64_t plane = map->height * map->width, n_bins = roi->size * roi->size;
    int64_t left = map->channels - block * ROI_LANES;
    int64_t n_channels = left < ROI_LANES ? left : ROI_LANES;
    float *tile = scratch, *gathered = tile + n_bins * ROI_LANES;
    const float *points = gathered;
    int64_t second = ROI_HALF;

    if (map->block) {
        points = map->data + find_block(roi, block, &second);
    } else {
        const float *from =
            map->data +
            (roi->image * map->channels + block * ROI_LANES) * plane;

        for (int32_t i = 0; i < down.n_lines; i++)
            gather_row(&across, from + down.lines[i] * map->width, plane,
                       n_channels, gathered + i * across.n_lines * ROI_LANES);
    }
    sum_bins(down.bins, across.bins, roi->size, points, second, tile);
    roi_pool_write_block(tile, n_bins, n_channels,
                         output + block * ROI_LANES * n_bins);
}

/* ---- backward ------------------------------------------------------------ */

/* Reads dy [c,bins] of a block as [bins,16]; missing channels are 0. */
static void roi_spread_read_block(const float *dy, int64_t n_bins,
                                  int64_t n_channels, float *tile)
{
    int64_t i = 0;

    for (; n_channels == ROI_LANES && i + 4 <= n_bins; i += 4) {
        for (int64_t c = 0; c < ROI_LANES; c += 4)
            roi_transpose(dy + c * n_bins + i, n_bins, tile + i * ROI_LANES + c,
                          ROI_LANES);
    }
    for (; i < n_bins; i++) {
        for (int64_t c = 0; c < ROI_LANES; c++)
            tile[i * ROI_LANES + c] = c < n_channels ? dy[c * n_bins + i] : 0;
    }
}

/* Adds to the channels of a point; where there is no second half, that of
 * `more` is 0. */
VARIANT_PART void roi_add(float *at, int64_t second, const roi_vector *more)
{
    if (second == ROI_HALF) {
        *(roi_vector *)(void *)at += *more;
        return;
    }
    *(roi_half *)(void *)at +=
        __builtin_shufflevector(*more, *more, 0, 1, 2, 3, 4, 5, 6, 7);
    *(roi_half *)(void *)(at + second) +=
        __builtin_shufflevector(*more, *more, 8, 9, 10, 11, 12, 13, 14, 15);
}

VARIANT_PART void spread_halves(const struct roi_bin *down,
                                const struct roi_bin *across, int64_t size,
                                const float *tile, int64_t second,
                                float *points)
{
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < size; k++, tile += ROI_LANES) {
            roi_vector dy = *(const roi_vector *)(const void *)tile;

            for (int32_t r = 0; r < down[i].n; r++) {
                float *row = points + down[i].at[r];
                roi_vector of_row = down[i].weight[r] * dy;

                for (int32_t c = 0; c < across[k].n; c++) {
                    roi_vector share = across[k].weight[c] * of_row;

                    roi_add(row + across[k].at[c], second, &share);
                }
            }
        }
    }
}

/* Every point of a bin gets its share of the bin's dy. */
VARIANTS(void, spread_bins,
         (const struct roi_bin *down, const struct roi_bin *across,
          int64_t size, const float *tile, int64_t second, float *points),
         (down, across, size, tile, second, points))
{
    if (second == ROI_HALF)
        spread_halves(down, across, size, tile, ROI_HALF, points);
    else
        spread_halves(down, across, size, tile, second, points);
}

/* Adds four points of four channels to four rows of a dense map. */
static void add_four(const float *points, int64_t plane, float *row)
{
    float side[16];

    roi_transpose(points, ROI_LANES, side, 4);
    for (int64_t c = 0; c < 4; c++)
        *(roi_quad *)(void *)(row + c * plane) +=
            *(const roi_quad *)(const void *)(side + 4 * c);
}

/* Adds a line of points to the rows of a dense map. */
static void roi_spread_add_row(const struct roi_axis *across,
                               const float *points, int64_t n_channels,
                               int64_t plane, float *row)
{
    for (int32_t i = 0; i < across->n_lines;) {
        bool has_four = n_channels == ROI_LANES && roi_has_four(across, i);
        const float *from = points + (int64_t)i * ROI_LANES;
        float *to = row + across->lines[i];

        for (int64_t c = 0; has_four && c < ROI_LANES; c += 4)
            add_four(from + c, plane, to + c * plane);
        for (int64_t c = 0; !has_four && c < n_channels; c++)
            to[c * plane] += from[c];
        i += has_four ? 4 : 1;
    }
}

void roi_spread_block(const struct roi *roi, const void *plan, int64_t block,
                      float *scratch, const float *dy, float *map)
{
    const struct roi_map *shape = roi->map;
    struct roi_axis down = roi_plan_axis(roi, plan, 0);
    struct roi_axis across = roi_plan_axis(roi, plan, 1);
    int64_t plane = shape->height * shape->width;
    int64_t n_bins = roi->size * roi->size;
    int64_t left = shape->channels - block * ROI_LANES;
    int64_t n_channels = left < ROI_LANES ? left : ROI_LANES;
    float *tile = scratch, *points = tile + n_bins * ROI_LANES;

    roi_spread_read_block(dy + block * ROI_LANES * n_bins, n_bins, n_channels,
                          tile);
    if (shape->block) {
        int64_t second, at = find_block(roi, block, &second);

        spread_bins(down.bins, across.bins, roi->size, tile, second, map + at);
        return;
    }
    memset(points, 0,
           (size_t)down.n_lines * (size_t)across.n_lines * ROI_LANES *
               sizeof *points);
    spread_bins(down.bins, across.bins, roi->size, tile, ROI_HALF, points);
    map += (roi->image * shape->channels + block * ROI_LANES) * plane;
    for (int32_t i = 0; i < down.n_lines; i++)
        roi_spread_add_row(
            &across, points + (int64_t)i * across.n_lines * ROI_LANES,
            n_channels, plane, map + down.lines[i] * shape->width);
}

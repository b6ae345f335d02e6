/* ops/roi_pool.c - see roi_pool.h.
 *
 * The weights of a point are a product of one for its row and one for its
 * column, so the points of a bin come down to a few rows and columns, found
 * once for a box; then 16 channels at a time are summed up. */
#include "ops/roi_pool.h"

#include "ops/threads.h"

#include <string.h>

enum { lanes = 16, max_taps = 2 * ROI_ALIGN_MAX_RATIO };

typedef float vector __attribute__((vector_size(64), aligned(4)));

/* What a row (or a column) of bins reads. */
struct bin {
    int n;
    int at[max_taps]; /* index into the axis's lines */
    float weight[max_taps];
};

/* One direction of a box: the lines of the map that it reads, in rising
 * order, each once. */
struct axis {
    int64_t n_lines;
    int64_t lines[ROI_ALIGN_MAX_SIZE * max_taps];
    int64_t offsets[ROI_ALIGN_MAX_SIZE * max_taps]; /* in what is read */
    struct bin bins[ROI_ALIGN_MAX_SIZE];
};

struct scratch {
    struct axis down, across;
    float values[]; /* the output of a block, then what it reads */
};

static size_t tile_values(const struct roi_align_attrs *attrs)
{
    return (size_t)(attrs->size * attrs->size) * lanes;
}

size_t roi_pool_scratch_bytes(const struct roi_align_attrs *attrs)
{
    size_t taps = 2 * (size_t)attrs->sampling_ratio;
    size_t values = tile_values(attrs) * (1 + taps * taps);
    size_t bytes = sizeof(struct scratch) + values * sizeof(float);

    return (bytes + POOL_ALIGNMENT - 1) / POOL_ALIGNMENT * POOL_ALIGNMENT;
}

/* Samples come in rising order, so that a line is one of the last two or new.
 */
static int line_index(struct axis *axis, int64_t line)
{
    int64_t at = axis->n_lines - 1;

    if (at > 0 && axis->lines[at - 1] == line)
        return (int)at - 1;
    if (at < 0 || axis->lines[at] != line) {
        axis->lines[++at] = line;
        axis->n_lines = at + 1;
    }
    return (int)at;
}

static void bin_add(struct bin *bin, int at, float weight)
{
    for (int i = 0; i < bin->n; i++) {
        if (bin->at[i] == at) {
            bin->weight[i] += weight;
            return;
        }
    }
    bin->at[bin->n] = at;
    bin->weight[bin->n++] = weight;
}

static void axis_make(struct axis *axis, const struct roi *roi, float start,
                      float bin_size, int64_t extent)
{
    float share = 1 / (float)roi->sampling_ratio;

    axis->n_lines = 0;
    for (int64_t i = 0; i < roi->size; i++) {
        struct bin *bin = &axis->bins[i];

        bin->n = 0;
        for (int64_t k = 0; k < roi->sampling_ratio; k++) {
            struct tap tap;

            if (!roi_sample(start, bin_size, i, k, roi->sampling_ratio, extent,
                            &tap))
                continue;
            bin_add(bin, line_index(axis, tap.low), share * tap.low_weight);
            bin_add(bin, line_index(axis, tap.high), share * tap.high_weight);
        }
    }
}

/* One block of channels: size x size sums of 16 channels. */
OP_CLONES
static void sum_bins(const struct axis *down, const struct axis *across,
                     int64_t size, const float *from, float *tile)
{
    for (int64_t row = 0; row < size; row++) {
        const struct bin *rows = &down->bins[row];

        for (int64_t col = 0; col < size; col++, tile += lanes) {
            const struct bin *cols = &across->bins[col];
            vector sum = {0};

            for (int i = 0; i < rows->n; i++) {
                const float *line = from + down->offsets[rows->at[i]];
                vector of_row = {0};

                for (int k = 0; k < cols->n; k++) {
                    const float *point = line + across->offsets[cols->at[k]];

                    of_row +=
                        cols->weight[k] * *(const vector *)(const void *)point;
                }
                sum += rows->weight[i] * of_row;
            }
            *(vector *)(void *)tile = sum;
        }
    }
}

/* Brings the points that are read of a dense map's block together. */
static void gather_block(const struct axis *down, const struct axis *across,
                         const float *from, int64_t plane, int64_t width,
                         int64_t n_channels, float *to)
{
    for (int64_t i = 0; i < down->n_lines; i++) {
        const float *row = from + down->lines[i] * width;

        for (int64_t k = 0; k < across->n_lines; k++, to += lanes) {
            const float *point = row + across->lines[k];

            for (int64_t c = 0; c < n_channels; c++)
                to[c] = point[c * plane];
        }
    }
}

static void write_block(const float *tile, int64_t n_bins, int64_t n_channels,
                        float *output)
{
    for (int64_t c = 0; c < n_channels; c++) {
        for (int64_t i = 0; i < n_bins; i++)
            *output++ = tile[i * lanes + c];
    }
}

static void set_offsets(struct axis *axis, bool is_gathered, int64_t step)
{
    for (int64_t i = 0; i < axis->n_lines; i++)
        axis->offsets[i] = (is_gathered ? i : axis->lines[i]) * step;
}

void roi_pool(const struct roi *roi, void *memory, float *output)
{
    const struct roi_map *map = roi->map;
    struct scratch *scratch = memory;
    struct axis *down = &scratch->down, *across = &scratch->across;
    int64_t plane = map->height * map->width, n_bins = roi->size * roi->size;
    int64_t n_blocks = (map->channels + lanes - 1) / lanes;
    float *tile = scratch->values, *points = tile + n_bins * lanes;
    bool is_gathered = !map->is_blocked;

    axis_make(down, roi, roi->y, roi->bin_height, map->height);
    axis_make(across, roi, roi->x, roi->bin_width, map->width);
    set_offsets(across, is_gathered, lanes);
    set_offsets(down, is_gathered,
                (is_gathered ? across->n_lines : map->width) * lanes);
    if (is_gathered)
        memset(points, 0,
               (size_t)(down->n_lines * across->n_lines) * lanes *
                   sizeof *points);
    for (int64_t i = 0; i < n_blocks; i++) {
        int64_t left = map->channels - i * lanes;
        int64_t n_channels = left < lanes ? left : lanes;
        const float *from = points;

        if (is_gathered)
            gather_block(down, across,
                         map->data +
                             (roi->image * map->channels + i * lanes) * plane,
                         plane, map->width, n_channels, points);
        else
            from = map->data + (roi->image * n_blocks + i) * plane * lanes;
        sum_bins(down, across, roi->size, from, tile);
        write_block(tile, n_bins, n_channels, output);
        output += n_channels * n_bins;
    }
}

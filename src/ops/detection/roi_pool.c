/* ops/detection/roi_pool.c - see roi_pool_internal.h.
 *
 * The weight of a point is a product of one for its row and one for its
 * column, so the points of a bin come down to a few rows and columns, found
 * once for a box; then 16 channels at a time are summed up. */
#include "ops/detection/roi_pool_internal.h"

#include "base/variants.h"
#include "ops/detection/roi_plan_internal.h"

struct plan {
    int32_t n_lines[2];
    struct roi_bin bins[];
};

static size_t axis_lines(int64_t size, int64_t sampling_ratio)
{
    return (size_t)(size * sampling_ratio * 2);
}

size_t roi_plan_bytes(const struct roi_align_attrs *attrs)
{
    return sizeof(struct plan) +
           2 * (size_t)attrs->size * sizeof(struct roi_bin) +
           2 * axis_lines(attrs->size, attrs->sampling_ratio) * sizeof(int32_t);
}

size_t roi_pool_scratch_bytes(const struct roi_align_attrs *attrs)
{
    size_t n_lines = axis_lines(attrs->size, attrs->sampling_ratio);
    size_t n_bins = (size_t)(attrs->size * attrs->size);

    return (n_bins + n_lines * n_lines) * ROI_LANES * sizeof(float);
}

struct roi_axis roi_plan_axis(const struct roi *roi, const void *memory,
                              int which)
{
    const struct plan *plan = memory;
    struct roi_bin *bins = (struct roi_bin *)plan->bins;
    int32_t *lines = (int32_t *)(bins + 2 * roi->size);

    return (struct roi_axis){
        .n_lines = plan->n_lines[which],
        .bins = bins + which * roi->size,
        .lines =
            lines + (size_t)which * axis_lines(roi->size, roi->sampling_ratio)};
}

/* Samples come in rising order, so that a line is one of the last two or new.
 */
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

static int32_t fill_axis(struct roi_axis axis, const struct roi *roi,
                         float start, float bin_size, int64_t extent)
{
    float share = 1 / (float)roi->sampling_ratio;

    axis.n_lines = 0;
    for (int64_t i = 0; i < roi->size; i++) {
        struct roi_bin *bin = &axis.bins[i];

        bin->n = 0;
        for (int64_t k = 0; k < roi->sampling_ratio; k++) {
            struct tap tap;

            if (!roi_sample(start, bin_size, i, k, roi->sampling_ratio, extent,
                            &tap))
                continue;
            bin_add(bin, line_index(&axis, (int32_t)tap.low),
                    share * tap.low_weight);
            bin_add(bin, line_index(&axis, (int32_t)tap.high),
                    share * tap.high_weight);
        }
    }
    return axis.n_lines;
}

/* From lines to values: of a dense map only those lines are there. */
static void set_offsets(struct roi_axis axis, const struct roi *roi,
                        int64_t step)
{
    for (int64_t i = 0; i < roi->size; i++) {
        struct roi_bin *bin = &axis.bins[i];

        for (int32_t k = 0; k < bin->n; k++) {
            if (roi->map->is_blocked)
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

    plan->n_lines[0] =
        fill_axis(down, roi, roi->y, roi->bin_height, map->height);
    plan->n_lines[1] =
        fill_axis(across, roi, roi->x, roi->bin_width, map->width);
    set_offsets(across, roi, ROI_LANES);
    set_offsets(down, roi,
                (map->is_blocked ? map->width : plan->n_lines[1]) * ROI_LANES);
}

/* size x size sums of 16 channels. */
VARIANTS(void, sum_bins,
         (const struct roi_bin *down, const struct roi_bin *across,
          int64_t size, const float *points, float *tile),
         (down, across, size, points, tile))
{
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < size; k++, tile += ROI_LANES) {
            roi_vector sum = {0};

            for (int32_t r = 0; r < down[i].n; r++) {
                const float *row = points + down[i].at[r];
                roi_vector of_row = {0};

                for (int32_t c = 0; c < across[k].n; c++)
                    of_row +=
                        across[k].weight[c] *
                        *(const roi_vector *)(const void *)(row +
                                                            across[k].at[c]);
                sum += down[i].weight[r] * of_row;
            }
            *(roi_vector *)(void *)tile = sum;
        }
    }
}

/* Columns of a dense map's row, 16 channels of each side by side. */
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

    if (map->is_blocked) {
        int64_t n_blocks = (map->channels + ROI_LANES - 1) / ROI_LANES;

        points =
            map->data + (roi->image * n_blocks + block) * plane * ROI_LANES;
    } else {
        const float *from =
            map->data +
            (roi->image * map->channels + block * ROI_LANES) * plane;

        for (int32_t i = 0; i < down.n_lines; i++)
            gather_row(&across, from + down.lines[i] * map->width, plane,
                       n_channels, gathered + i * across.n_lines * ROI_LANES);
    }
    sum_bins(down.bins, across.bins, roi->size, points, tile);
    roi_pool_write_block(tile, n_bins, n_channels,
                         output + block * ROI_LANES * n_bins);
}

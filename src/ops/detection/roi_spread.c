/* ops/detection/roi_spread.c - the way back from a box's features to the map
 * they were pooled from, 16 channels at a time; see roi_pool_internal.h. */
#include "base/variants.h"
#include "ops/detection/roi_plan_internal.h"

#include <string.h>

/* dy [c,bins] of a block as [bins,16]; channels that are not there are 0. */
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

/* Every point of a bin gets its share of the bin's dy. */
VARIANTS(void, spread_bins,
         (const struct roi_bin *down, const struct roi_bin *across,
          int64_t size, const float *tile, float *points),
         (down, across, size, tile, points))
{
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < size; k++, tile += ROI_LANES) {
            roi_vector dy = *(const roi_vector *)(const void *)tile;

            for (int32_t r = 0; r < down[i].n; r++) {
                float *row = points + down[i].at[r];
                roi_vector of_row = down[i].weight[r] * dy;

                for (int32_t c = 0; c < across[k].n; c++)
                    *(roi_vector *)(void *)(row + across[k].at[c]) +=
                        across[k].weight[c] * of_row;
            }
        }
    }
}

/* Four points of four channels, into as many rows of a dense map. */
static void add_four(const float *points, int64_t plane, float *row)
{
    float side[16];

    roi_transpose(points, ROI_LANES, side, 4);
    for (int64_t c = 0; c < 4; c++)
        *(roi_quad *)(void *)(row + c * plane) +=
            *(const roi_quad *)(const void *)(side + 4 * c);
}

/* A line of points, into the rows of a dense map. */
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
    int64_t n_blocks = (shape->channels + ROI_LANES - 1) / ROI_LANES;
    int64_t left = shape->channels - block * ROI_LANES;
    int64_t n_channels = left < ROI_LANES ? left : ROI_LANES;
    float *tile = scratch, *points = tile + n_bins * ROI_LANES;

    roi_spread_read_block(dy + block * ROI_LANES * n_bins, n_bins, n_channels,
                          tile);
    if (shape->is_blocked) {
        spread_bins(down.bins, across.bins, roi->size, tile,
                    map + (roi->image * n_blocks + block) * plane * ROI_LANES);
        return;
    }
    memset(points, 0,
           (size_t)down.n_lines * (size_t)across.n_lines * ROI_LANES *
               sizeof *points);
    spread_bins(down.bins, across.bins, roi->size, tile, points);
    map += (roi->image * shape->channels + block * ROI_LANES) * plane;
    for (int32_t i = 0; i < down.n_lines; i++)
        roi_spread_add_row(
            &across, points + (int64_t)i * across.n_lines * ROI_LANES,
            n_channels, plane, map + down.lines[i] * shape->width);
}

/* vision/decode_grid.c - YOLOX and NanoDet: boxes relative to the cells of
 * three grids over the model's input. */
#include "vision/candidates_internal.h"
#include "vision/decoder.h"

#include <math.h>

enum { n_grids = 3, first_stride = 8 };

/* Cells row by row. */
static size_t grid_across(const struct found_source *source, int stride)
{
    return (size_t)((source->recipe->width + stride - 1) / stride);
}

/* ---- YOLOX: [n, cells, 5 + classes] ------------------------------------- */

/* A row: offset of the center from the cell, in strides; logarithms of the
 * size, in strides; whether there is an object; the classes. */
enum {
    YOLOX_X,
    YOLOX_Y,
    YOLOX_WIDTH,
    YOLOX_HEIGHT,
    YOLOX_OBJECT,
    YOLOX_CLASSES
};

bool decode_yolox_fits(const struct found_source *source)
{
    const struct tensor *output = &source->outputs[0];

    return source->n_outputs >= 1 && output->dtype == DTYPE_F32 &&
           output->shape.rank == 3 && output->shape.dims[2] > YOLOX_CLASSES &&
           output->shape.dims[0] > (int64_t)source->image &&
           (size_t)output->shape.dims[1] ==
               candidates_cells_of(source->recipe, first_stride, n_grids);
}

size_t decode_yolox_classes(const struct found_source *source)
{
    return (size_t)source->outputs[0].shape.dims[2] - YOLOX_CLASSES;
}

static void take_yolox(const struct found_source *source, const float *row,
                       size_t n_classes, struct candidates *list)
{
    for (int g = 0; g < n_grids; g++) {
        int stride = first_stride << g;
        size_t n = candidates_cells(source->recipe, stride);
        size_t across = grid_across(source, stride);
        float scale = (float)stride;

        for (size_t i = 0; i < n; i++, row += YOLOX_CLASSES + n_classes) {
            size_t down = i / across;
            float x = ((float)(i % across) + row[YOLOX_X]) * scale;
            float y = ((float)down + row[YOLOX_Y]) * scale;
            float half_w = expf(row[YOLOX_WIDTH]) * scale / 2;
            float half_h = expf(row[YOLOX_HEIGHT]) * scale / 2;
            size_t best = candidates_best(row + YOLOX_CLASSES, n_classes, 1);
            struct box box = {x - half_w, y - half_h, x + half_w, y + half_h};

            candidates_add(list, box,
                           row[YOLOX_OBJECT] * row[YOLOX_CLASSES + best],
                           (int64_t)best);
        }
    }
}

enum assay_status decode_yolox(const struct found_source *source,
                               struct found *found, struct error *err)
{
    const struct tensor *output = &source->outputs[0];
    size_t n_classes = decode_yolox_classes(source);
    size_t n_cells = (size_t)output->shape.dims[1];
    struct candidates list;
    enum assay_status st = candidates_init(&list, source, n_cells, err);

    if (st)
        return st;
    take_yolox(source,
               tensor_f32(output) +
                   source->image * n_cells * (YOLOX_CLASSES + n_classes),
               n_classes, &list);
    st = candidates_keep_best(&list, source, n_classes, found, err);
    candidates_release(&list);
    return st;
}

/* ---- NanoDet: per grid [cells, classes] and [cells, 4 * 8] -------------- */

/* The distance from the middle of a cell to each side of the box is the mean of
 * a distribution over 0 to 7 strides. */
enum { nanodet_bins = 8, nanodet_box = 4 * nanodet_bins };

struct nanodet_grid {
    const struct tensor *scores, *boxes;
};

/* [cells, values], also with a batch of one in front. */
static bool nanodet_is_list(const struct tensor *output, size_t n_cells,
                            size_t *n_values)
{
    const struct shape *shape = &output->shape;
    int first = shape->rank == 3;

    if (output->dtype != DTYPE_F32 || (shape->rank != 2 && shape->rank != 3) ||
        (first && shape->dims[0] != 1) || (size_t)shape->dims[first] != n_cells)
        return false;
    *n_values = (size_t)shape->dims[first + 1];
    return true;
}

/* Outputs may come in any order, whatever they are called. */
static bool nanodet_find(const struct found_source *source,
                         struct nanodet_grid grids[n_grids], size_t *n_classes)
{
    *n_classes = 0;
    if (source->n_outputs != 2 * n_grids || source->image)
        return false;
    for (int g = 0; g < n_grids; g++) {
        size_t n = candidates_cells(source->recipe, first_stride << g);
        size_t n_values = 0;

        grids[g] = (struct nanodet_grid){0};
        for (size_t i = 0; i < source->n_outputs; i++) {
            const struct tensor *output = &source->outputs[i];

            if (!nanodet_is_list(output, n, &n_values))
                continue;
            if (n_values == nanodet_box) {
                grids[g].boxes = output;
            } else {
                grids[g].scores = output;
                if (g && n_values != *n_classes)
                    return false;
                *n_classes = n_values;
            }
        }
        if (!grids[g].boxes || !grids[g].scores)
            return false;
    }
    return true;
}

bool decode_nanodet_fits(const struct found_source *source)
{
    struct nanodet_grid grids[n_grids];
    size_t n_classes;

    return nanodet_find(source, grids, &n_classes);
}

size_t decode_nanodet_classes(const struct found_source *source)
{
    struct nanodet_grid grids[n_grids];
    size_t n_classes;

    return nanodet_find(source, grids, &n_classes) ? n_classes : 0;
}

/* The mean of the distribution that a softmax makes of the values. */
static float nanodet_mean(const float *values)
{
    float largest = values[candidates_best(values, nanodet_bins, 1)];
    float sum = 0, mean = 0;

    for (int i = 0; i < nanodet_bins; i++) {
        float share = expf(values[i] - largest);

        sum += share;
        mean += share * (float)i;
    }
    return mean / sum;
}

static void take_nanodet(const struct found_source *source, int stride,
                         const struct nanodet_grid *grid, size_t n_classes,
                         struct candidates *list)
{
    size_t n = candidates_cells(source->recipe, stride);
    size_t across = grid_across(source, stride);
    const float *scores = tensor_f32(grid->scores);
    const float *sides = tensor_f32(grid->boxes);
    float scale = (float)stride;

    for (size_t i = 0; i < n; i++, scores += n_classes, sides += nanodet_box) {
        size_t down = i / across;
        float x = ((float)(i % across) + 0.5F) * scale;
        float y = ((float)down + 0.5F) * scale;
        size_t best = candidates_best(scores, n_classes, 1);
        struct box box;

        if (!(scores[best] > list->least_score))
            continue;
        box = (struct box){
            .x1 = x - nanodet_mean(sides) * scale,
            .y1 = y - nanodet_mean(sides + nanodet_bins) * scale,
            .x2 = x + nanodet_mean(sides + 2 * nanodet_bins) * scale,
            .y2 = y + nanodet_mean(sides + 3 * nanodet_bins) * scale,
        };
        candidates_add(list, box, scores[best], (int64_t)best);
    }
}

enum assay_status decode_nanodet(const struct found_source *source,
                                 struct found *found, struct error *err)
{
    struct nanodet_grid grids[n_grids];
    size_t n_classes = 0;
    struct candidates list;
    enum assay_status st = candidates_init(
        &list, source,
        candidates_cells_of(source->recipe, first_stride, n_grids), err);

    if (st)
        return st;
    (void)nanodet_find(source, grids, &n_classes); /* they fit */
    for (int g = 0; g < n_grids; g++)
        take_nanodet(source, first_stride << g, &grids[g], n_classes, &list);
    st = candidates_keep_best(&list, source, n_classes, found, err);
    candidates_release(&list);
    return st;
}

/* ops/detection/nms.c - see nms.h. */
#include "ops/detection/nms.h"

#include "base/variants.h"
#include "ops/math/score_rank_internal.h"
#include "ops/op_threads.h"

#include <math.h>
#include <string.h>

/* Up to this many boxes torchvision separates the groups by shifting their
 * boxes, which costs some precision of the coordinates. */
enum { max_moved = 1000 };

/* Boxes are compared with blocks of so many kept ones, as many as a uint32_t
 * has bits. */
enum { block = 32 };

/* Kept boxes by coordinate. The last block is filled up with boxes that overlap
 * nothing. */
struct kept_boxes {
    float *x1, *y1, *x2, *y2, *area;
    size_t n;
};

struct nms {
    const struct nms_input *input;
    float shift; /* between groups; 0: none */
    struct buffer *memory;
    uint64_t *ranks, *scratch;
    uint32_t *members; /* positions in ranks, group by group */
    uint32_t *starts;  /* of each group in members, and the end */
    bool *is_kept;     /* by position in ranks */
    float *columns[5]; /* of struct kept_boxes, for all groups */
};

static struct box nms_box_at(const struct nms *nms, uint32_t i)
{
    struct box box = nms->input->boxes[i];
    float by = (float)nms->input->groups[i] * nms->shift;

    box.x1 += by;
    box.y1 += by;
    box.x2 += by;
    box.y2 += by;
    return box;
}

static float nms_group_shift(const struct nms_input *input)
{
    float most = input->n ? input->boxes[0].x1 : 0;

    if (input->n > max_moved)
        return 0;
    for (size_t i = 0; i < input->n; i++) {
        const float *box = &input->boxes[i].x1;

        for (int k = 0; k < 4; k++)
            most = box[k] > most ? box[k] : most;
    }
    return most + 1;
}

/* Which boxes of the block may overlap by more than iou, a bit for each. Avoids
 * divisions by testing against slightly less; the caller checks again. */
VARIANT_PART uint32_t block_may_overlap(const struct kept_boxes *kept,
                                        size_t at, struct box box, float area,
                                        float iou)
{
    const float *x1 = kept->x1 + at, *y1 = kept->y1 + at, *x2 = kept->x2 + at,
                *y2 = kept->y2 + at, *areas = kept->area + at;
    float enough = iou * (1 - 1e-6F);
    uint32_t which = 0;

    for (int i = 0; i < block; i++) {
        float left = x1[i] > box.x1 ? x1[i] : box.x1;
        float top = y1[i] > box.y1 ? y1[i] : box.y1;
        float right = x2[i] < box.x2 ? x2[i] : box.x2;
        float bottom = y2[i] < box.y2 ? y2[i] : box.y2;
        float width = right - left > 0 ? right - left : 0;
        float height = bottom - top > 0 ? bottom - top : 0;
        float both = width * height;
        bool may = both + 1e-30F >= enough * (areas[i] + area - both);

        which |= may ? UINT32_C(1) << i : 0;
    }
    return which;
}

/* Of those that may. */
static bool block_overlaps(const struct kept_boxes *kept, size_t at,
                           uint32_t which, struct box box, float area,
                           float iou)
{
    for (size_t i = at; which; i++, which >>= 1) {
        struct box better = {kept->x1[i], kept->y1[i], kept->x2[i],
                             kept->y2[i]};

        if ((which & 1) && box_overlap(better, kept->area[i], box, area) > iou)
            return true;
    }
    return false;
}

VARIANTS(bool, overlaps_kept,
         (const struct kept_boxes *kept, struct box box, float area, float iou),
         (kept, box, area, iou))
{
    for (size_t at = 0; at < kept->n; at += block) {
        uint32_t which = block_may_overlap(kept, at, box, area, iou);

        if (which && block_overlaps(kept, at, which, box, area, iou))
            return true;
    }
    return false;
}

static void nms_keep(struct kept_boxes *kept, struct box box, float area)
{
    size_t at = kept->n++;

    for (size_t i = at; at % block == 0 && i < at + block; i++) {
        kept->x1[i] = kept->y1[i] = 1;
        kept->x2[i] = kept->y2[i] = kept->area[i] = 0;
    }
    kept->x1[at] = box.x1;
    kept->y1[at] = box.y1;
    kept->x2[at] = box.x2;
    kept->y2[at] = box.y2;
    kept->area[at] = area;
}

/* ---- a single group of many boxes ---------------------------------------
 */

/* Cells from left to right, as wide as the widest box: a box overlaps only
 * those that begin in its own cell or in one next to it. Exporters shift the
 * boxes of each class to a place of its own, so most are far apart. What is
 * beyond the last cell counts as in it: there should be more than classes. */
enum { max_cells = 256, few_boxes = 256 };

struct nms_cells {
    float first, width;
    int n;
    struct kept_boxes kept[max_cells];
    struct box around[max_cells]; /* all that were kept */
};

static int nms_cell_of(const struct nms_cells *cells, struct box box)
{
    float at;

    if (cells->n == 1)
        return 0;
    at = (box.x1 - cells->first) / cells->width;
    return at < (float)(cells->n - 1) ? (int)at : cells->n - 1;
}

/* Whether a box may overlap one that a cell has kept. */
static bool nms_reaches(const struct nms_cells *cells, int cell, struct box box)
{
    const struct box *around = &cells->around[cell];

    return cells->n == 1 || (box.x1 <= around->x2 && box.x2 >= around->x1 &&
                             box.y1 <= around->y2 && box.y2 >= around->y1);
}

static void nms_reach_out(struct nms_cells *cells, int cell, struct box box)
{
    struct box *around = &cells->around[cell];

    *around =
        cells->kept[cell].n
            ? (struct box){fminf(around->x1, box.x1), fminf(around->y1, box.y1),
                           fmaxf(around->x2, box.x2), fmaxf(around->y2, box.y2)}
            : box;
}

static struct kept_boxes nms_columns_at(const struct nms *nms, size_t at)
{
    return (struct kept_boxes){nms->columns[0] + at, nms->columns[1] + at,
                               nms->columns[2] + at, nms->columns[3] + at,
                               nms->columns[4] + at, 0};
}

/* How many there are and where they begin: one where a box is not finite. */
static void nms_measure_cells(const struct nms *nms, struct nms_cells *cells)
{
    float low = INFINITY, high = -INFINITY, width = 0, n;

    cells->n = 1;
    for (size_t i = 0; i < nms->input->n; i++) {
        struct box box = nms_box_at(nms, (uint32_t)i);

        if (!isfinite(box.x1) || !isfinite(box.x2) || !isfinite(box.y1) ||
            !isfinite(box.y2))
            return;
        low = fminf(low, box.x1);
        high = fmaxf(high, box.x1);
        width = fmaxf(width, box.x2 - box.x1);
    }
    cells->first = low;
    cells->width = width * 1.001F; /* what rounding may take */
    n = (high - low) / cells->width;
    if (isfinite(n))
        cells->n = n < max_cells - 1 ? (int)n + 1 : max_cells;
}

/* Room for all boxes of each cell, filled up to blocks. */
static void nms_place_cells(const struct nms *nms, struct nms_cells *cells)
{
    size_t counts[max_cells] = {0}, at = 0;

    for (size_t i = 0; i < nms->input->n; i++)
        counts[nms_cell_of(cells, nms_box_at(nms, (uint32_t)i))]++;
    for (int i = 0; i < cells->n; i++) {
        cells->kept[i] = nms_columns_at(nms, at);
        cells->around[i] =
            (struct box){INFINITY, INFINITY, -INFINITY, -INFINITY};
        at += (counts[i] + block - 1) / block * block;
    }
}

static void nms_find_cells(const struct nms *nms, size_t group,
                           struct nms_cells *cells)
{
    cells->n = 1;
    if (nms->input->n_groups == 1 && nms->input->n > few_boxes &&
        nms->input->iou >= 0)
        nms_measure_cells(nms, cells);
    if (cells->n > 1)
        nms_place_cells(nms, cells);
    else
        cells->kept[0] =
            nms_columns_at(nms, nms->starts[group] + group * block);
}

static void nms_run_group(const struct nms *nms, size_t group)
{
    struct nms_cells cells;

    nms_find_cells(nms, group, &cells);
    for (size_t i = nms->starts[group]; i < nms->starts[group + 1]; i++) {
        uint32_t position = nms->members[i];
        struct box box = nms_box_at(nms, rank_index(nms->ranks[position]));
        float area = box_area(box);
        int cell = nms_cell_of(&cells, box), last = cell + 1;
        bool overlaps = false;

        last = last < cells.n ? last : cells.n - 1;
        for (int c = cell > 0 ? cell - 1 : 0; !overlaps && c <= last; c++)
            overlaps =
                nms_reaches(&cells, c, box) &&
                overlaps_kept(&cells.kept[c], box, area, nms->input->iou);
        if (overlaps)
            continue;
        nms_reach_out(&cells, cell, box);
        nms_keep(&cells.kept[cell], box, area);
        nms->is_kept[position] = true;
    }
}

/* The rule in plain form, for all groups at once. */
static void nms_run_reference(const struct nms *nms)
{
    const struct nms_input *input = nms->input;

    for (size_t i = 0; i < input->n; i++) {
        uint32_t worse = rank_index(nms->ranks[i]);
        struct box box = nms_box_at(nms, worse);

        nms->is_kept[i] = true;
        for (size_t k = 0; k < i && nms->is_kept[i]; k++) {
            uint32_t better = rank_index(nms->ranks[k]);
            struct box other = nms_box_at(nms, better);

            if (nms->is_kept[k] &&
                input->groups[better] == input->groups[worse] &&
                box_overlap(other, box_area(other), box, box_area(box)) >
                    input->iou)
                nms->is_kept[i] = false;
        }
    }
}

static void nms_find_members(struct nms *nms)
{
    const struct nms_input *input = nms->input;
    uint32_t *starts = nms->starts;

    memset(starts, 0, (input->n_groups + 1) * sizeof *starts);
    for (size_t i = 0; i < input->n; i++)
        starts[input->groups[i] + 1]++;
    for (size_t i = 0; i < input->n_groups; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < input->n; i++) {
        int64_t group = input->groups[rank_index(nms->ranks[i])];

        nms->members[starts[group]++] = (uint32_t)i;
    }
    /* Each start has advanced to the next group's. */
    memmove(starts + 1, starts, input->n_groups * sizeof *starts);
    starts[0] = 0;
}

static enum assay_status nms_take_memory(struct nms *nms, struct pool *pool,
                                         struct error *err)
{
    size_t n = nms->input->n, n_groups = nms->input->n_groups;
    size_t column = n + (n_groups == 1 ? max_cells : n_groups) * block;
    size_t bytes = 2 * n * sizeof(uint64_t) +
                   (n + n_groups + 1) * sizeof(uint32_t) +
                   5 * column * sizeof(float) + n * sizeof(bool);
    enum assay_status st;

    if (n > UINT32_MAX || n_groups > UINT32_MAX)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%zu boxes in %zu groups are too many", n, n_groups);
    st = pool_take_scratch(pool, bytes, "comparing boxes", &nms->memory, err);
    if (st)
        return st;
    nms->ranks = buffer_data(nms->memory);
    nms->scratch = nms->ranks + n;
    nms->columns[0] = (float *)(void *)(nms->scratch + n);
    for (int i = 1; i < 5; i++)
        nms->columns[i] = nms->columns[i - 1] + column;
    nms->members = (uint32_t *)(void *)(nms->columns[4] + column);
    nms->starts = nms->members + n;
    nms->is_kept = (bool *)(nms->starts + n_groups + 1);
    return ASSAY_OK;
}

enum assay_status nms_run(const struct op_context *context,
                          const struct nms_input *input, uint32_t *kept,
                          size_t *n_kept, struct error *err)
{
    struct nms nms = {.input = input, .shift = nms_group_shift(input)};
    enum assay_status st = nms_take_memory(&nms, context->pool, err);

    *n_kept = 0;
    if (st)
        return st;
    for (size_t i = 0; i < input->n; i++) {
        nms.ranks[i] = rank_of(input->scores[i], (uint32_t)i);
        nms.is_kept[i] = false;
    }
    rank_sort(nms.ranks, nms.scratch, input->n);
    if (context->is_reference) {
        nms_run_reference(&nms);
    } else {
        nms_find_members(&nms);
#pragma omp parallel for num_threads(op_threads(context))                      \
    schedule(dynamic) if (input->n_groups > 1 && input->n > 256)
        for (size_t group = 0; group < input->n_groups; group++)
            nms_run_group(&nms, group);
    }
    for (size_t i = 0; i < input->n; i++) {
        if (nms.is_kept[i])
            kept[(*n_kept)++] = rank_index(nms.ranks[i]);
    }
    buffer_release(nms.memory);
    return ASSAY_OK;
}

/* ops/detection/box_match.c - see box_match.h.
 *
 * The table of all overlaps is never stored: with many anchors and objects it
 * would be larger than the images. */
#include "ops/detection/box_match.h"

#include "ops/op_threads.h"

enum { line_floats = 16 }; /* of a line of the cache */

struct matching {
    const struct match_rule *rule;
    const struct box *boxes, *objects;
    size_t n, n_objects;
    int64_t *matches;
    float *areas; /* of the objects */
    size_t step;  /* from the lists of one thread to those of the next: as
                     whole lines of the cache, which they write all the time */
    float *most;  /* per thread: the largest overlap of each object */
    float *row;   /* per thread: the overlaps of one box */
};

/* The object that box i overlaps most, the first of equals. Writes all overlaps
 * to row. */
static int64_t find_object(const struct matching *matching, size_t i,
                           float *row)
{
    struct box box = matching->boxes[i];
    float area = box_area(box);
    size_t best = 0;

    for (size_t k = 0; k < matching->n_objects; k++) {
        row[k] =
            box_overlap(matching->objects[k], matching->areas[k], box, area);
        best = row[k] > row[best] ? k : best;
    }
    return (int64_t)best;
}

static void match_one(const struct matching *matching, size_t i, float *row,
                      float *most)
{
    int64_t found = find_object(matching, i, row);
    float part = row[found];

    for (size_t k = 0; k < matching->n_objects; k++)
        most[k] = row[k] > most[k] ? row[k] : most[k];
    if (part < matching->rule->low)
        found = MATCH_BACKGROUND;
    else if (part < matching->rule->high)
        found = MATCH_BETWEEN;
    matching->matches[i] = found;
}

/* Matches a box that overlaps some object as much as any box does; it may
 * overlap another object more. */
static void box_match_keep_best(const struct matching *matching, size_t i,
                                float *row)
{
    int64_t found = find_object(matching, i, row);

    for (size_t k = 0; k < matching->n_objects; k++) {
        if (row[k] == matching->most[k])
            matching->matches[i] = found;
    }
}

static void box_match_all(const struct op_context *context,
                          const struct matching *matching)
{
    size_t m = matching->n_objects, n_threads = (size_t)op_threads(context);

#pragma omp parallel num_threads(op_threads(context))
    {
        size_t mine = (size_t)op_thread() * matching->step;

#pragma omp for
        for (size_t i = 0; i < matching->n; i++)
            match_one(matching, i, matching->row + mine, matching->most + mine);
    }
    for (size_t i = m; i < n_threads * m; i++) {
        float own = matching->most[i / m * matching->step + i % m];
        float *most = &matching->most[i % m];

        *most = own > *most ? own : *most;
    }
    if (!matching->rule->keeps_best)
        return;
#pragma omp parallel for num_threads(op_threads(context))
    for (size_t i = 0; i < matching->n; i++)
        box_match_keep_best(
            matching, i, matching->row + (size_t)op_thread() * matching->step);
}

enum assay_status box_match(const struct op_context *context,
                            const struct match_rule *rule,
                            const struct box *boxes, size_t n,
                            const struct box *objects, size_t n_objects,
                            int64_t *matches, struct error *err)
{
    struct matching matching = {.rule = rule,
                                .boxes = boxes,
                                .objects = objects,
                                .n = n,
                                .n_objects = n_objects,
                                .matches = matches};
    size_t step = (n_objects + line_floats - 1) / line_floats * line_floats;
    size_t n_each = step * (size_t)op_threads(context);
    struct buffer *memory;
    enum assay_status st;

    if (n_objects == 0) {
        for (size_t i = 0; i < n; i++)
            matches[i] = MATCH_BACKGROUND;
        return ASSAY_OK;
    }
    st = pool_take_scratch(context->pool, (step + 2 * n_each) * sizeof(float),
                           "matching boxes", &memory, err);
    if (st)
        return st;
    matching.areas = buffer_data(memory);
    matching.step = step;
    matching.most = matching.areas + step;
    matching.row = matching.most + n_each;
    for (size_t i = 0; i < n_objects; i++)
        matching.areas[i] = box_area(objects[i]);
    for (size_t i = 0; i < n_each; i++)
        matching.most[i] = 0;
    box_match_all(context, &matching);
    buffer_release(memory);
    return ASSAY_OK;
}

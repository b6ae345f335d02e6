/* data/detections.c - see detections.h. */
#include "data/detections_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdlib.h>

void detections_release(struct detections *detections)
{
    mem_free(detections->items);
    arena_release(&detections->memory);
    *detections = (struct detections){0};
}

enum assay_status detections_add(struct detections *detections,
                                 const struct detection *detection,
                                 struct error *err)
{
    if (!vec_grow(&detections->items, &detections->capacity, detections->n + 1,
                  sizeof *detections->items))
        return error_nomem(err, sizeof *detection, "a result");
    if (detections->n == 0)
        detections->has_boxes = detection->has_box;
    detections->items[detections->n] = *detection;
    detections->items[detections->n].number = detections->n;
    detections->n++;
    return ASSAY_OK;
}

enum assay_status detections_leave_out(struct detections *detections, size_t n,
                                       struct error *err, const char *format,
                                       ...)
{
    struct str text = {0};
    enum assay_status st;
    va_list args;

    detections->n_left_out += n;
    if (detections->left_out)
        return ASSAY_OK;
    va_start(args, format);
    st = str_vprintf(&text, format, args);
    va_end(args);
    if (!st)
        detections->left_out =
            arena_strdup(&detections->memory, str_text(&text));
    str_release(&text);
    return detections->left_out ? ASSAY_OK
                                : error_nomem(err, 32, "a name of a class");
}

static int detections_by_image(const void *a, const void *b)
{
    const struct detection *x = a, *y = b;

    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

void detections_settle(struct detections *detections)
{
    if (detections->n > 0)
        qsort(detections->items, detections->n, sizeof *detections->items,
              detections_by_image);
}

enum assay_status detections_check(const struct detections *detections,
                                   const char *name, struct error *err)
{
    if (detections->n > 0)
        return ASSAY_OK;
    if (detections->n_left_out == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has no results, so there is nothing to evaluate",
                         name);
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s: none of the %zu results is of a class that the "
                     "annotations have (the first is of %s); is this the right "
                     "pair of files?",
                     name, detections->n_left_out, detections->left_out);
}

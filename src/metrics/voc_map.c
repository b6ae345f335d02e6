/* metrics/voc_map.c - see voc_map.h. */
#include "metrics/voc_map.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

enum voc_outcome { VOC_WRONG, VOC_RIGHT, VOC_IGNORED };

struct voc_ranked {
    double score;
    size_t number;
    enum voc_outcome outcome;
};

struct voc_class {
    struct voc_ranked *ranked;
    size_t n, capacity;
    uint64_t n_objects; /* that are not difficult */
};

struct voc_map {
    double least_overlap;
    struct voc_class *classes;
    size_t n_classes;
};

enum assay_status voc_map_new(size_t n_classes, double least_overlap,
                              struct voc_map **out, struct error *err)
{
    struct voc_map *map = mem_zalloc(sizeof *map);

    *out = NULL;
    if (map)
        map->classes = mem_array(n_classes, sizeof *map->classes);
    if (!map || !map->classes) {
        mem_free(map);
        return error_nomem(err, n_classes * sizeof(struct voc_class),
                           "an evaluation");
    }
    map->least_overlap = least_overlap;
    map->n_classes = n_classes;
    *out = map;
    return ASSAY_OK;
}

void voc_map_free(struct voc_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->n_classes; i++)
        mem_free(map->classes[i].ranked);
    mem_free(map->classes);
    mem_free(map);
}

/* ---- an image --------------------------------------------------------- */

static double voc_overlap(const struct coco_truth *truth,
                          const struct coco_found *found)
{
    double width = fmin(truth->x + truth->width, found->x + found->width) -
                   fmax(truth->x, found->x);
    double height = fmin(truth->y + truth->height, found->y + found->height) -
                    fmax(truth->y, found->y);

    if (width <= 0 || height <= 0)
        return 0;
    return width * height /
           (truth->width * truth->height + found->width * found->height -
            width * height);
}

/* Only the object that it overlaps most counts, even if that one is taken. */
static enum voc_outcome voc_match(const struct voc_map *map,
                                  const struct coco_truth *truths,
                                  size_t n_truths, bool *is_taken,
                                  const struct coco_found *found)
{
    double most = -1;
    size_t best = 0;

    for (size_t i = 0; i < n_truths; i++) {
        double overlap;

        if (truths[i].category != found->category)
            continue;
        overlap = voc_overlap(&truths[i], found);
        if (overlap > most) {
            most = overlap;
            best = i;
        }
    }
    if (most < map->least_overlap)
        return VOC_WRONG;
    if (truths[best].is_ignored)
        return VOC_IGNORED;
    if (is_taken[best])
        return VOC_WRONG;
    is_taken[best] = true;
    return VOC_RIGHT;
}

static int voc_is_surer(double score, size_t number, double other,
                        size_t other_number)
{
    if (score != other)
        return score > other ? -1 : 1;
    return (number > other_number) - (number < other_number);
}

static int voc_founds_by_score(const void *a, const void *b)
{
    const struct coco_found *x = *(const struct coco_found *const *)a;
    const struct coco_found *y = *(const struct coco_found *const *)b;

    return voc_is_surer(x->score, x->number, y->score, y->number);
}

static enum assay_status voc_keep(struct voc_class *class,
                                  const struct coco_found *found,
                                  enum voc_outcome outcome, struct error *err)
{
    if (!vec_grow(&class->ranked, &class->capacity, class->n + 1,
                  sizeof *class->ranked))
        return error_nomem(err, sizeof *class->ranked, "a detection");
    class->ranked[class->n++] =
        (struct voc_ranked){found->score, found->number, outcome};
    return ASSAY_OK;
}

enum assay_status voc_map_add(struct voc_map *map,
                              const struct coco_truth *truths, size_t n_truths,
                              const struct coco_found *founds, size_t n_founds,
                              struct error *err)
{
    const struct coco_found **sorted = mem_array(n_founds, sizeof *sorted);
    bool *is_taken = mem_array(n_truths, sizeof *is_taken);
    enum assay_status st = ASSAY_OK;

    if (!sorted || !is_taken) {
        st = error_nomem(err, n_founds * sizeof *sorted,
                         "the objects of an image");
        goto done;
    }
    for (size_t i = 0; i < n_truths; i++)
        map->classes[truths[i].category].n_objects += !truths[i].is_ignored;
    for (size_t i = 0; i < n_founds; i++)
        sorted[i] = &founds[i];
    if (n_founds > 0)
        qsort(sorted, n_founds, sizeof *sorted, voc_founds_by_score);
    for (size_t i = 0; !st && i < n_founds; i++)
        st = voc_keep(&map->classes[sorted[i]->category], sorted[i],
                      voc_match(map, truths, n_truths, is_taken, sorted[i]),
                      err);
done:
    mem_free(sorted);
    mem_free(is_taken);
    return st;
}

/* ---- figures ---------------------------------------------------------- */

static int voc_ranked_by_score(const void *a, const void *b)
{
    const struct voc_ranked *x = a, *y = b;

    return voc_is_surer(x->score, x->number, y->score, y->number);
}

/* Precision and recall after each detection that counts. */
struct voc_curve {
    double *precision, *recall;
    size_t n;
};

static void voc_go_down(const struct voc_ranked *ranked, size_t n,
                        struct voc_figures *figures, struct voc_curve *curve)
{
    for (size_t i = 0; i < n; i++) {
        double right;

        if (ranked[i].outcome == VOC_IGNORED)
            continue;
        figures->n_right += ranked[i].outcome == VOC_RIGHT;
        figures->n_wrong += ranked[i].outcome == VOC_WRONG;
        right = (double)figures->n_right;
        curve->recall[curve->n] = right / (double)figures->n_objects;
        curve->precision[curve->n++] =
            right / (right + (double)figures->n_wrong);
    }
    for (size_t i = curve->n; i-- > 1;)
        curve->precision[i - 1] =
            fmax(curve->precision[i - 1], curve->precision[i]);
}

/* The best precision at this recall or a higher one. */
static double voc_precision_at(const struct voc_curve *curve, double recall)
{
    for (size_t i = 0; i < curve->n; i++) {
        if (curve->recall[i] >= recall)
            return curve->precision[i];
    }
    return 0;
}

static void voc_average(const struct voc_curve *curve,
                        struct voc_figures *figures)
{
    enum { n_points = 11 };
    double before = 0;

    figures->ap_11 = figures->ap_all = 0;
    for (int i = 0; i < n_points; i++)
        figures->ap_11 += voc_precision_at(curve, i * .1) / n_points;
    for (size_t i = 0; i < curve->n; i++) {
        figures->ap_all += (curve->recall[i] - before) * curve->precision[i];
        before = curve->recall[i];
    }
    figures->recall = before;
}

enum assay_status voc_map_class(const struct voc_map *map, size_t class,
                                struct voc_figures *out,
                                double points[N_COCO_RECALLS],
                                struct error *err)
{
    const struct voc_class *kept = &map->classes[class];
    struct voc_ranked *ranked = mem_array(kept->n, sizeof *ranked);
    struct voc_curve curve = {
        .precision = mem_array(kept->n, sizeof *curve.precision),
        .recall = mem_array(kept->n, sizeof *curve.recall)};
    enum assay_status st = ASSAY_OK;

    *out = (struct voc_figures){.ap_11 = NAN,
                                .ap_all = NAN,
                                .recall = NAN,
                                .precision = NAN,
                                .n_objects = kept->n_objects};
    if (!ranked || !curve.precision || !curve.recall) {
        st = error_nomem(err, kept->n * sizeof *ranked,
                         "the ranking of detections");
        goto done;
    }
    for (size_t i = 0; i < kept->n; i++)
        ranked[i] = kept->ranked[i];
    if (kept->n > 0)
        qsort(ranked, kept->n, sizeof *ranked, voc_ranked_by_score);
    voc_go_down(ranked, kept->n, out, &curve);
    if (curve.n > 0)
        out->precision = (double)out->n_right / (double)curve.n;
    if (kept->n_objects > 0)
        voc_average(&curve, out);
    for (size_t i = 0; points && i < N_COCO_RECALLS; i++)
        points[i] =
            kept->n_objects > 0 ? voc_precision_at(&curve, (double)i / 100) : 0;
done:
    mem_free(ranked);
    mem_free(curve.precision);
    mem_free(curve.recall);
    return st;
}

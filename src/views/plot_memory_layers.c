/* views/plot_memory_layers.c - live bytes by whose they are, on top of each
 * other, with the colours of the report's page. */
#include "views/plot_memory_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double mebibyte = 1 << 20;

#define INK(hex)                                                               \
    {                                                                          \
        ((hex) >> 16 & 255) / 255.0, ((hex) >> 8 & 255) / 255.0,               \
            ((hex)&255) / 255.0, 1                                             \
    }

/* From the bottom; what the pool rounds up is the rest. */
static const struct {
    const char *name, *label;
    struct ink ink;
} categories[] = {
    {"weights", "weights", INK(0xb58bd1)},
    {"optimizer", "optimizer state", INK(0x9fb25a)},
    {"gradients", "gradients", INK(0xd98aa8)},
    {"scratch", "scratch", INK(0xd9a860)},
    {"images", "images", INK(0x7fb4d8)},
    {"activations", "activations", INK(0x6fb7a0)},
    {"other", "other", INK(0xb9bfc6)},
    {"fragmentation", "rounded up by the pool", INK(0xdcd3bf)},
    {"outside the pool", "outside the pool", INK(0x9aa2ac)},
};

enum {
    N_CATEGORIES = sizeof categories / sizeof categories[0],
    ROUNDED = N_CATEGORIES - 2
};

struct ink memory_plot_ink(const char *kind)
{
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        if (strcmp(kind, categories[i].name) == 0 ||
            strcmp(kind, categories[i].label) == 0)
            return categories[i].ink;
    }
    return categories[ROUNDED - 1].ink;
}

/* A category over time, read from its beginning to its end. */
struct layer {
    const struct counter *counter;
    size_t category, next;
    double value; /* at the time that was asked for last */
};

static double layer_at(struct layer *layer, int64_t time_ns)
{
    const struct counter *counter = layer->counter;

    while (layer->next < counter->n_points &&
           counter->points[layer->next].time_ns <= time_ns)
        layer->value = fmax(counter->points[layer->next++].value, 0);
    return layer->value;
}

static bool layer_holds(const struct counter *counter)
{
    for (size_t i = 0; i < counter->n_points; i++) {
        if (counter->points[i].value > 0)
            return true;
    }
    return false;
}

static size_t layers_find(const struct run *run, struct layer *layers)
{
    size_t n = 0;

    for (size_t k = 0; k < ROUNDED; k++) {
        char name[64];

        snprintf(name, sizeof name, RUN_LIVE_BYTES ".host.%s",
                 categories[k].name);
        for (uint32_t i = 0; i < run_counters(run); i++) {
            const struct counter *counter = run_counter(run, i);

            if (strcmp(counter->name, name) != 0 || !layer_holds(counter))
                continue;
            layers[n++] = (struct layer){.counter = counter, .category = k};
            break;
        }
    }
    return n;
}

/* All times at which something changes. */
struct moments {
    int64_t *items;
    size_t n;
};

static int moments_order(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

static void moments_add(struct moments *moments, const struct counter *counter)
{
    for (size_t i = 0; i < counter->n_points; i++)
        moments->items[moments->n++] = counter->points[i].time_ns;
}

static enum assay_status moments_find(struct moments *moments,
                                      const struct counter *live,
                                      const struct layer *layers, size_t n,
                                      struct error *err)
{
    size_t most = live->n_points, kept = 0;

    for (size_t k = 0; k < n; k++)
        most += layers[k].counter->n_points;
    moments->items = mem_array(most, sizeof *moments->items);
    if (!moments->items)
        return error_nomem(err, most * sizeof *moments->items, "a plot");
    moments_add(moments, live);
    for (size_t k = 0; k < n; k++)
        moments_add(moments, layers[k].counter);
    qsort(moments->items, moments->n, sizeof *moments->items, moments_order);
    for (size_t i = 0; i < moments->n; i++) {
        int64_t at = moments->items[i];

        if (at >= live->points[0].time_ns &&
            at <= live->points[live->n_points - 1].time_ns &&
            (kept == 0 || at != moments->items[kept - 1]))
            moments->items[kept++] = at;
    }
    moments->n = kept;
    return ASSAY_OK;
}

/* The sum of the first n layers as steps: memory stays constant until it
 * changes. Never more than all live bytes, which it is if there are none. */
static size_t layers_steps(const struct memory_curve *curve,
                           const struct moments *moments, struct layer *layers,
                           size_t n, struct spot *spots)
{
    struct layer live = {.counter = curve->live};
    size_t n_spots = 0;

    for (size_t k = 0; k < n; k++)
        layers[k].next = 0;
    for (size_t i = 0; i < moments->n; i++) {
        int64_t at = moments->items[i];
        double most = layer_at(&live, at), sum = n ? 0 : most;
        struct spot spot;

        for (size_t k = 0; k < n; k++)
            sum += layer_at(&layers[k], at);
        spot.x =
            axis_place(&curve->across, (double)(at - moments->items[0]) / 1e6);
        spot.y = axis_place(&curve->up, fmin(sum, most) / mebibyte);
        if (i > 0) {
            spots[n_spots] = (struct spot){spot.x, spots[n_spots - 1].y};
            n_spots++;
        }
        spots[n_spots++] = spot;
    }
    return n_spots;
}

static void layers_fill(struct plot *plot, const struct memory_curve *curve,
                        struct spot *spots, size_t n, struct ink ink)
{
    spots[n] = (struct spot){spots[n - 1].x, curve->up.from};
    spots[n + 1] = (struct spot){spots[0].x, curve->up.from};
    sheet_polygon(plot->sheet, spots, n + 2, ink);
}

/* What the colours mean, from the bottom of the pile. */
static void layers_legend(struct plot *plot, const struct memory_curve *curve,
                          const struct layer *layers, size_t n)
{
    double x = curve->area.x;
    double y = plot->area.y + plot->area.height - 8;

    for (size_t k = 0; k <= n; k++) {
        size_t i = k < n ? layers[k].category : ROUNDED;

        sheet_rectangle(plot->sheet, (struct area){x, y, 8, 8},
                        categories[i].ink);
        sheet_text(plot->sheet, (struct spot){x + 12, y + 8}, SHEET_LEFT,
                   PLOT_TEXT, plot_faint_ink, categories[i].label);
        x += 26 + sheet_text_width(plot->sheet, PLOT_TEXT, categories[i].label);
    }
}

bool memory_plot_has_layers(const struct run *run)
{
    struct layer layers[N_CATEGORIES];

    return layers_find(run, layers) > 0;
}

/* The highest first, each over the one before. */
static void layers_draw(struct plot *plot, const struct memory_curve *curve,
                        const struct moments *moments, struct layer *layers,
                        size_t n, struct spot *spots)
{
    struct ink all = n ? categories[ROUNDED].ink : plot_main_ink;
    size_t n_spots = layers_steps(curve, moments, layers, 0, spots);

    if (!n) {
        sheet_path(plot->sheet, spots, n_spots, plot_main_ink, 1.2);
        all.alpha = 0.18;
    }
    layers_fill(plot, curve, spots, n_spots, all);
    for (size_t k = n; k > 0; k--) {
        n_spots = layers_steps(curve, moments, layers, k, spots);
        layers_fill(plot, curve, spots, n_spots,
                    categories[layers[k - 1].category].ink);
    }
    if (n)
        layers_legend(plot, curve, layers, n);
}

enum assay_status memory_plot_draw_layers(struct plot *plot,
                                          const struct memory_curve *curve,
                                          struct error *err)
{
    struct layer layers[N_CATEGORIES] = {0};
    size_t n = layers_find(plot->run, layers);
    struct moments moments = {0};
    struct spot *spots = NULL;
    enum assay_status st = moments_find(&moments, curve->live, layers, n, err);

    if (!st) {
        spots = mem_array(2 * moments.n + 2, sizeof *spots);
        if (!spots)
            st = error_nomem(err, moments.n * sizeof *spots, "a plot");
    }
    if (!st)
        layers_draw(plot, curve, &moments, layers, n, spots);
    mem_free(spots);
    mem_free(moments.items);
    return st;
}

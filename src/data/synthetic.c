/* data/synthetic.c - coloured shapes on a textured ground, from a seed.
 *
 * Objects are chosen when the dataset is opened; pixels are painted on demand,
 * from the masks of the objects, so that a mask covers exactly what was
 * painted. */
#include "data/dataset_internal.h"

#include "base/mem.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum {
    default_side = 256,
    least_side = 16,
    most_side = 8192,
    default_classes = 3,
    most_classes = 1000,
    default_samples = 1000,
    most_objects = 4, /* per image */
    tries = 20,       /* to find room for an object */
    round_corners = 40
};

enum figure { FIGURE_RECTANGLE, FIGURE_CIRCLE, FIGURE_TRIANGLE, N_FIGURES };

struct synthetic {
    uint64_t seed;
    size_t n_classes;
};

static const double pi = 3.14159265358979323846;

/* Each image has one generator for its objects, and one for its pixels. */
static struct random stream(const struct synthetic *synthetic, size_t image,
                            bool is_of_pixels)
{
    return random_stream(synthetic->seed, 2 * (uint64_t)image + is_of_pixels);
}

static double draw_between(struct random *random, double low, double high)
{
    return low + (high - low) * random_unit(random);
}

/* ---- objects ---------------------------------------------------------- */

struct synthetic_frame {
    double left, top, width, height;
};

static size_t count_corners(enum figure figure)
{
    return figure == FIGURE_CIRCLE      ? round_corners
           : figure == FIGURE_RECTANGLE ? 4
                                        : 3;
}

static void set_corners(enum figure figure, const struct synthetic_frame *frame,
                        double *corners)
{
    double right = frame->left + frame->width;
    double bottom = frame->top + frame->height;
    double middle = frame->left + frame->width / 2;
    const double rectangle[] = {frame->left, frame->top, right,
                                frame->top,  right,      bottom,
                                frame->left, bottom};
    const double triangle[] = {middle, frame->top,  right,
                               bottom, frame->left, bottom};

    if (figure == FIGURE_RECTANGLE)
        memcpy(corners, rectangle, sizeof rectangle);
    else if (figure == FIGURE_TRIANGLE)
        memcpy(corners, triangle, sizeof triangle);
    for (int i = 0; figure == FIGURE_CIRCLE && i < round_corners; i++) {
        double angle = 2 * pi * i / round_corners;

        corners[2 * i] = middle + frame->width / 2 * cos(angle);
        corners[2 * i + 1] = frame->top + frame->height / 2 * (1 + sin(angle));
    }
}

/* Uses whole pixels, so that the shape fills its box. */
static struct synthetic_frame
draw_frame(struct random *random, enum figure figure, int width, int height)
{
    int shorter = width < height ? width : height;
    double stretch =
        figure == FIGURE_CIRCLE ? 1 : draw_between(random, 0.7, 1 / 0.7);
    double side = draw_between(random, 0.2, 0.45) * shorter;
    struct synthetic_frame frame = {.width = round(side * sqrt(stretch)),
                                    .height = round(side / sqrt(stretch))};

    frame.left = round(draw_between(random, 0, width - frame.width));
    frame.top = round(draw_between(random, 0, height - frame.height));
    return frame;
}

static bool frame_is_free(const struct synthetic_frame *frame,
                          const struct dataset_object *objects, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct dataset_object *other = &objects[i];

        if (frame->left < other->x + other->width &&
            other->x < frame->left + frame->width &&
            frame->top < other->y + other->height &&
            other->y < frame->top + frame->height)
            return false;
    }
    return true;
}

static enum assay_status add_object(struct dataset *dataset, size_t label,
                                    const struct synthetic_frame *frame,
                                    struct dataset_object *out,
                                    struct error *err)
{
    enum figure figure = (enum figure)(label % N_FIGURES);
    size_t n = count_corners(figure);
    double *corners = arena_alloc(&dataset->memory, 2 * n * sizeof *corners);
    struct polygon *polygon = arena_alloc(&dataset->memory, sizeof *polygon);

    if (!corners || !polygon)
        return error_nomem(err, n * sizeof *corners, "a synthetic object");
    set_corners(figure, frame, corners);
    *polygon = (struct polygon){corners, n};
    *out = (struct dataset_object){
        .x = frame->left,
        .y = frame->top,
        .width = frame->width,
        .height = frame->height,
        .area = frame->width * frame->height,
        .label = label,
        .shape = {.polygons = polygon, .n_polygons = 1},
    };
    return ASSAY_OK;
}

/* Objects do not overlap: one that finds no room is left out. */
static enum assay_status add_synthetic(struct dataset *dataset,
                                       const struct synthetic_options *options,
                                       struct error *err)
{
    const struct synthetic *synthetic = dataset->content;
    struct random random = stream(synthetic, dataset->n, false);
    size_t wanted =
        options->has_one ? 1 : 1 + random_below(&random, most_objects);
    struct dataset_object objects[most_objects];
    struct dataset_target image = {
        .label = -1, .width = options->width, .height = options->height};
    struct dataset_object *kept;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < wanted; i++) {
        size_t label = random_below(&random, synthetic->n_classes);
        bool has_room = false;
        struct synthetic_frame frame;

        for (int k = 0; !has_room && k < tries; k++) {
            frame = draw_frame(&random, (enum figure)(label % N_FIGURES),
                               options->width, options->height);
            has_room = frame_is_free(&frame, objects, image.n_objects);
        }
        if (has_room)
            st = add_object(dataset, label, &frame, &objects[image.n_objects++],
                            err);
    }
    kept = arena_alloc(&dataset->memory, sizeof objects);
    if (!st && !kept)
        st = error_nomem(err, sizeof objects, "the objects of an image");
    if (!st)
        st = dataset_text(dataset, &image.path, err, "synthetic image %zu",
                          dataset->n);
    if (st)
        return st;
    memcpy(kept, objects, image.n_objects * sizeof *kept);
    image.objects = kept;
    image.label = options->has_one ? (int64_t)kept[0].label : -1;
    return dataset_add_image(dataset, &image, err);
}

/* ---- opening ---------------------------------------------------------- */

static enum assay_status check_synthetic(struct synthetic_options *options,
                                         struct error *err)
{
    options->width = options->width ? options->width : default_side;
    options->height = options->height ? options->height : default_side;
    options->n_classes =
        options->n_classes ? options->n_classes : default_classes;
    if (options->width < least_side || options->height < least_side ||
        options->width > most_side || options->height > most_side)
        return error_set(
            err, ASSAY_BAD_USAGE,
            "synthetic images cannot be %dx%d; sides must be from %d to %d",
            options->width, options->height, least_side, most_side);
    if (options->n_classes > most_classes)
        return error_set(err, ASSAY_BAD_USAGE,
                         "synthetic images have at most %d classes, not %zu",
                         most_classes, options->n_classes);
    return ASSAY_OK;
}

static enum assay_status add_classes(struct dataset *dataset, size_t n,
                                     struct error *err)
{
    static const char *const names[N_FIGURES] = {
        [FIGURE_RECTANGLE] = "rectangle",
        [FIGURE_CIRCLE] = "circle",
        [FIGURE_TRIANGLE] = "triangle",
    };
    char name[32];
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        if (i < N_FIGURES)
            snprintf(name, sizeof name, "%s", names[i]);
        else
            snprintf(name, sizeof name, "%s %zu", names[i % N_FIGURES],
                     i / N_FIGURES + 1);
        st = dataset_add_class(dataset, name, strlen(name), err);
    }
    return st;
}

static enum assay_status synthetic_open(struct dataset *dataset,
                                        const struct dataset_options *options,
                                        struct error *err)
{
    struct synthetic_options wanted = options->synthetic;
    size_t n = options->limit ? options->limit : default_samples;
    struct synthetic *synthetic = mem_zalloc(sizeof *synthetic);
    enum assay_status st;

    dataset->content = synthetic;
    if (!synthetic)
        return error_nomem(err, sizeof *synthetic, "a dataset");
    st = check_synthetic(&wanted, err);
    synthetic->n_classes = wanted.n_classes;
    synthetic->seed = 2 * wanted.seed + (options->split == DATASET_TEST);
    dataset->has_objects = true;
    dataset->has_both = wanted.has_one;
    if (!st)
        st = add_classes(dataset, wanted.n_classes, err);
    while (!st && dataset->n < n)
        st = add_synthetic(dataset, &wanted, err);
    return st;
}

/* ---- pixels ----------------------------------------------------------- */

static uint8_t clamp_to_byte(double value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* A random wave along one side. */
static void fill_wave(struct random *random, double *wave, int n)
{
    double length = draw_between(random, 8, 64),
           from = draw_between(random, 0, 2 * pi);
    double height = draw_between(random, 5, 25);

    for (int i = 0; i < n; i++)
        wave[i] = height * sin(from + 2 * pi * i / length);
}

static void paint_ground(struct random *random, const double *across,
                         const double *down, struct picture *picture)
{
    double grey = draw_between(random, 70, 180);
    double tint[3];
    uint8_t *rgb = picture->rgb;

    for (int c = 0; c < 3; c++)
        tint[c] = grey + draw_between(random, -20, 20);
    for (int y = 0; y < picture->height; y++) {
        for (int x = 0; x < picture->width; x++) {
            uint64_t noise = random_u64(random);

            for (int c = 0; c < 3; c++, noise >>= 8)
                *rgb++ = clamp_to_byte(tint[c] + across[x] + down[y] +
                                       (double)(noise & 31) - 16);
        }
    }
}

/* Hue from 0 to 1 around the circle. */
static void mix_colour(double hue, double strength, double value, double rgb[3])
{
    for (int c = 0; c < 3; c++) {
        double k = fmod(5 - 2 * c + 6 * hue, 6);
        double near = fmin(fmin(k, 4 - k), 1);

        rgb[c] = 255 * value * (1 - strength * fmax(near, 0));
    }
}

static void paint_object(struct random *random, double hue,
                         const uint8_t *covered, struct picture *picture)
{
    size_t n = (size_t)picture->width * (size_t)picture->height;
    double rgb[3];

    mix_colour(hue, draw_between(random, 0.75, 1),
               draw_between(random, 0.65, 1), rgb);
    for (size_t i = 0; i < n; i++) {
        uint64_t noise = covered[i] ? random_u64(random) : 0;

        for (int c = 0; covered[i] && c < 3; c++, noise >>= 8)
            picture->rgb[3 * i + (size_t)c] =
                clamp_to_byte(rgb[c] + (double)(noise & 15) - 8);
    }
}

static enum assay_status paint(const struct dataset *dataset, size_t i,
                               uint8_t *covered, struct picture *picture,
                               struct error *err)
{
    const struct synthetic *synthetic = dataset->content;
    const struct dataset_target *image = &dataset->images[i];
    struct random random = stream(synthetic, i, true);
    struct mask mask = {0};
    enum assay_status st = ASSAY_OK;
    double *waves =
        mem_array((size_t)image->width + (size_t)image->height, sizeof *waves);

    if (!waves)
        return error_nomem(err, sizeof *waves, "a texture");
    fill_wave(&random, waves, image->width);
    fill_wave(&random, waves + image->width, image->height);
    paint_ground(&random, waves, waves + image->width, picture);
    for (size_t k = 0; !st && k < image->n_objects; k++) {
        double hue = ((double)image->objects[k].label +
                      draw_between(&random, -0.1, 0.1) + 1) /
                     (double)synthetic->n_classes;

        st = dataset_object_mask(&image->objects[k], image->width,
                                 image->height, &mask, err);
        if (!st) {
            mask_to_pixels(&mask, covered);
            paint_object(&random, hue, covered, picture);
        }
    }
    mask_release(&mask);
    mem_free(waves);
    return st;
}

static enum assay_status synthetic_picture(const struct dataset *dataset,
                                           size_t i, struct picture *out,
                                           struct error *err)
{
    const struct dataset_target *image = &dataset->images[i];
    enum assay_status st = picture_init(out, image->width, image->height, err);
    uint8_t *covered = NULL;

    if (st)
        return st;
    covered = mem_array((size_t)image->width, (size_t)image->height);
    st = covered ? paint(dataset, i, covered, out, err)
                 : error_nomem(err, (size_t)image->width, "a mask");
    mem_free(covered);
    if (st)
        picture_release(out);
    return st;
}

const struct dataset_class synthetic_class = {
    .name = "synthetic",
    .is_made_up = true,
    .open = synthetic_open,
    .picture = synthetic_picture,
    .close = mem_free,
};

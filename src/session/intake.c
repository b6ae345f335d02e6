/* session/intake.c - see intake.h. */
#include "session/intake.h"

#include "base/mem.h"
#include "ops/detection/detection_transform.h"
#include "picture/picture.h"

#include <inttypes.h>

void intake_release(struct intake *intake)
{
    mem_free(intake->paths);
    mem_free(intake->sizes);
    photos_release(&intake->drawn);
    *intake = (struct intake){0};
}

static void intake_stretch(struct intake_sizes *sizes, bool is_first,
                           int64_t width, int64_t height)
{
    if (is_first || width < sizes->least_width)
        sizes->least_width = width;
    if (is_first || height < sizes->least_height)
        sizes->least_height = height;
    if (is_first || width > sizes->most_width)
        sizes->most_width = width;
    if (is_first || height > sizes->most_height)
        sizes->most_height = height;
}

/* What the model reads of a photograph; a recipe makes them all one size. */
static void find_size(const struct session_options *options,
                      const struct picture *picture, int64_t *width,
                      int64_t *height)
{
    struct detection_transform_attrs transform = {
        .min_size = options->model.build.min_size,
        .max_size = options->model.build.max_size};
    struct placement place;

    if (options->vision.decode == DECODE_DETECTOR) {
        detection_transform_size(&transform, picture->height, picture->width,
                                 height, width);
        return;
    }
    *width = *height = 1;
    if (options->vision.recipe.width && options->vision.recipe.height) {
        place = recipe_place(&options->vision.recipe, picture->width,
                             picture->height);
        *width = place.width < 1 ? 0 : options->vision.recipe.width;
        *height = place.height < 1 ? 0 : options->vision.recipe.height;
    }
}

/* Adds the photograph if it can be used. */
static enum assay_status look_at(const struct session_options *options,
                                 const char *path, struct intake *intake,
                                 struct error *err)
{
    int64_t height = 0, width = 0;
    struct picture picture;
    enum assay_status st = picture_read(path, &picture, err);

    if (st)
        return st;
    find_size(options, &picture, &width, &height);
    if (height < 1 || width < 1)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has %dx%d pixels; resized to %" PRId64 "x%" PRId64
                       ", nothing would be left of it",
                       path, picture.width, picture.height, width, height);
    if (!st) {
        intake_stretch(&intake->resized, intake->n == 0, width, height);
        intake->sizes[intake->n] = (struct intake_size){width, height};
        intake->paths[intake->n++] = path;
    }
    picture_release(&picture);
    return st;
}

void intake_set_size(struct intake *intake, int64_t width, int64_t height)
{
    for (size_t i = 0; i < intake->n; i++)
        intake->sizes[i] = (struct intake_size){width, height};
    intake->resized = (struct intake_sizes){.least_width = width,
                                            .most_width = width,
                                            .least_height = height,
                                            .most_height = height};
}

enum assay_status intake_photos(const struct session_options *options,
                                const struct photos *photos,
                                struct intake *intake, struct error *err)
{
    struct error first = {0};
    size_t room = options->vision.is_random ? 1 : photos->n;

    intake->paths = mem_array(room, sizeof *intake->paths);
    intake->sizes = mem_array(room, sizeof *intake->sizes);
    if (!intake->paths || !intake->sizes)
        return error_nomem(err, room * sizeof *intake->sizes,
                           "the list of photographs");
    if (options->vision.is_random) {
        intake->sizes[0] = (struct intake_size){1, 1};
        intake->n = 1;
        return ASSAY_OK;
    }
    for (size_t i = 0; i < photos->n; i++) {
        struct error why = {0};
        enum assay_status st = look_at(options, photos->paths[i], intake, &why);

        if (st == ASSAY_NOMEM)
            return error_set(err, st, "%s", why.text);
        if (!st)
            continue;
        if (!intake->n_skipped++)
            first = why;
        if (photos->n > 1)
            sink_printf(options->warnings, "skipped: %s\n", why.text);
    }
    if (intake->n)
        return ASSAY_OK;
    if (photos->n == 1)
        return error_set(err, ASSAY_BAD_INPUT, "%s", first.text);
    return error_set(err, ASSAY_BAD_INPUT,
                     "none of the %zu photographs can be used", photos->n);
}

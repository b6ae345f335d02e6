/* data/census.c - see census.h. */
#include "data/census.h"

#include "base/mem.h"
#include "base/str.h"
#include "data/dataset_internal.h"
#include "data/sample_internal.h"

void census_release(struct census *census)
{
    mem_free(census->n_of_class);
    *census = (struct census){0};
}

static enum assay_status tell_box(const struct dataset_target *target,
                                  const struct dataset_object *object,
                                  const char *what,
                                  const struct census_options *options,
                                  struct error *err)
{
    struct str line = {0};
    enum assay_status st;

    if (!options->odd)
        return ASSAY_OK;
    st = str_printf(&line, "%s: the box %g,%g %gx%g %s", target->path,
                    object->x, object->y, object->width, object->height, what);
    if (!st)
        options->odd(options->context, line.text);
    str_release(&line);
    return st ? error_nomem(err, 128, "a line of a census") : ASSAY_OK;
}

static void count_size(struct census *census, int width, int height)
{
    bool is_first = census->n_sized++ == 0;

    if (is_first || width < census->least_width)
        census->least_width = width;
    if (is_first || height < census->least_height)
        census->least_height = height;
    if (width > census->most_width)
        census->most_width = width;
    if (height > census->most_height)
        census->most_height = height;
}

static enum assay_status count_box(const struct dataset_target *target,
                                   const struct dataset_object *object,
                                   const struct census_options *options,
                                   struct census *census, struct error *err)
{
    float box[4];
    bool is_cut;

    if (object->is_crowd) {
        census->n_crowds++;
        return ASSAY_OK;
    }
    if (!sample_cut_box(object, target->width, target->height, box, &is_cut)) {
        census->n_left_out++;
        return tell_box(target, object, "lies outside the image", options, err);
    }
    census->n_cut += is_cut;
    census->n_boxes++;
    census->n_of_class[object->label]++;
    return is_cut ? tell_box(target, object, "reaches out of the image",
                             options, err)
                  : ASSAY_OK;
}

static enum assay_status count_target(const struct dataset *dataset,
                                      const struct dataset_target *target,
                                      const struct census_options *options,
                                      struct census *census, struct error *err)
{
    size_t before = census->n_boxes;
    enum assay_status st = ASSAY_OK;

    if (!dataset_has_objects(dataset)) {
        if (target->label >= 0)
            census->n_of_class[target->label]++;
        return ASSAY_OK;
    }
    for (size_t i = 0; !st && i < target->n_objects; i++)
        st = count_box(target, &target->objects[i], options, census, err);
    census->n_without += census->n_boxes == before;
    return st;
}

/* Sets the size of the target to the image's. */
static enum assay_status census_read_image(const struct dataset *dataset,
                                           size_t i,
                                           struct dataset_target *target,
                                           struct error *err)
{
    struct picture picture;
    enum assay_status st = dataset_picture(dataset, i, &picture, err);

    if (st)
        return st;
    st = dataset_check_size(target, &picture, err);
    target->width = picture.width;
    target->height = picture.height;
    picture_release(&picture);
    return st;
}

static enum assay_status
census_count_sample(const struct dataset *dataset, size_t i,
                    const struct census_options *options, struct census *census,
                    struct error *err)
{
    struct dataset_target target = {0};
    struct error why = {0};
    enum assay_status st = dataset_target(dataset, i, &target, &why);

    if (!st && options->reads_images)
        st = census_read_image(dataset, i, &target, &why);
    if (st == ASSAY_NOMEM)
        return error_set(err, st, "%s", why.text);
    if (st) {
        census->n_bad++;
        if (options->odd)
            options->odd(options->context, why.text);
        return ASSAY_OK;
    }
    if (target.width && target.height)
        count_size(census, target.width, target.height);
    return count_target(dataset, &target, options, census, err);
}

enum assay_status census_dataset(const struct dataset *dataset,
                                 const struct census_options *options,
                                 struct census *out, struct error *err)
{
    size_t n_classes = dataset_class_count(dataset);
    enum assay_status st = ASSAY_OK;

    *out = (struct census){.n_samples = dataset_count(dataset)};
    out->n_of_class = mem_array(n_classes, sizeof *out->n_of_class);
    if (!out->n_of_class)
        return error_nomem(err, n_classes * sizeof *out->n_of_class,
                           "the counts of classes");
    if (options->progress)
        options->progress->total = out->n_samples;
    for (size_t i = 0; !st && i < out->n_samples; i++) {
        st = census_count_sample(dataset, i, options, out, err);
        if (options->progress)
            progress_update(options->progress, i + 1);
    }
    return st;
}

/* vision/model_inputs.c - see model_inputs.h. */
#include "vision/model_inputs.h"

#include "base/mem.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

void model_inputs_release(struct model_inputs *inputs)
{
    for (size_t i = 0; inputs->values && i < inputs->n; i++)
        tensor_release(&inputs->values[i]);
    for (size_t i = 0; inputs->sides && i < inputs->n; i++)
        side_input_release(&inputs->sides[i]);
    mem_free(inputs->values);
    mem_free(inputs->sides);
    mem_free(inputs->shapes);
    *inputs = (struct model_inputs){0};
}

/* The axes of an input of images. */
struct image_axes {
    bool has_batch; /* axis 0; else it is a single image */
    int channel, height, width;
};

/* [n,c,h,w] or [n,h,w,c] with one or three channels, or a single image with
 * three, as for torchvision's exported detectors. False if it does not look
 * like images. */
static bool find_axes(const struct shape *shape, struct image_axes *axes)
{
    int first = shape->rank == 4;
    const int64_t *dims = shape->dims + first;
    bool is_first, is_last;

    if (shape->rank != 3 && shape->rank != 4)
        return false;
    is_first = dims[0] == 3 || (first && dims[0] == 1);
    is_last = dims[2] == 3 || (first && dims[2] == 1);
    axes->has_batch = first;
    axes->channel = is_first ? first : first + 2;
    axes->height = is_first ? first + 1 : first;
    axes->width = axes->height + 1;
    return is_first || is_last;
}

int64_t model_inputs_images(const struct shape *shape)
{
    struct image_axes axes;

    return shape->rank == 0 || (find_axes(shape, &axes) && !axes.has_batch)
               ? 1
               : shape->dims[0];
}

static const struct value *model_inputs_value(const struct graph *graph,
                                              size_t input)
{
    return graph_value(graph, graph_input_at(graph, input));
}

static bool looks_like_images(const struct graph *graph, size_t input)
{
    const struct shape *shape = graph_input_shape(graph, input);
    struct image_axes axes;

    return shape && model_inputs_value(graph, input)->dtype == DTYPE_F32 &&
           find_axes(shape, &axes);
}

/* Fills in free sizes: the batch and the recipe's. */
static void fill_image(struct shape *shape, const struct image_axes *axes,
                       const struct recipe *recipe, int64_t batch)
{
    if (axes->has_batch && shape->dims[0] < 0)
        shape->dims[0] = batch;
    if (shape->dims[axes->height] < 0 && recipe->height)
        shape->dims[axes->height] = recipe->height;
    if (shape->dims[axes->width] < 0 && recipe->width)
        shape->dims[axes->width] = recipe->width;
}

static enum assay_status check_sizes(const struct graph *graph, size_t input,
                                     const struct shape *shape,
                                     struct error *err)
{
    const char *name = model_inputs_value(graph, input)->name;
    struct shape possible = *shape;
    char text[64], example[64];
    bool is_free = false;

    for (int i = 0; i < shape->rank; i++) {
        is_free |= shape->dims[i] < 0;
        if (shape->dims[i] < 0)
            possible.dims[i] = i || shape->rank < 4 ? 640 : 1;
    }
    if (!is_free)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "input '%s' is %s and leaves a size (-1) free; give it a "
                     "shape, such as %s=%s",
                     name, shape_text(shape, text, sizeof text), name,
                     shape_text(&possible, example, sizeof example));
}

static bool reads_photographs(const struct vision_options *options)
{
    return options->decode == DECODE_DETECTOR;
}

/* The declared shape; else a photograph of a common shape, or a batch of the
 * recipe's size. */
static struct shape model_inputs_shape(const struct model_source *model,
                                       const struct vision_options *options,
                                       const struct graph *graph, size_t input)
{
    const struct shape *declared = graph_input_shape(graph, input);
    int64_t side = model->build.min_size;

    if (declared)
        return *declared;
    if (reads_photographs(options) && options->recipe.height)
        return shape_of(3, (int64_t)3, (int64_t)options->recipe.height,
                        (int64_t)options->recipe.width);
    if (reads_photographs(options))
        return shape_of(3, (int64_t)3, side, side * 4 / 3);
    return shape_of(4, (int64_t)-1, (int64_t)3, (int64_t)options->recipe.height,
                    (int64_t)options->recipe.width);
}

static enum assay_status refuse_batch(const struct model_inputs *inputs,
                                      int64_t batch, struct error *err)
{
    size_t input = inputs->image < inputs->n ? inputs->image : 0;
    char text[64];

    return error_set(err, ASSAY_BAD_USAGE,
                     "the model's input is %s; a batch of %lld does not fit",
                     shape_text(&inputs->shapes[input], text, sizeof text),
                     (long long)batch);
}

/* A file may fix its batch; another size would be counted but not computed. */
static enum assay_status
model_inputs_check_batch(const struct model_inputs *inputs, int64_t batch,
                         struct error *err)
{
    if (batch == 1)
        return ASSAY_OK;
    if (!inputs->n)
        return error_set(err, ASSAY_BAD_USAGE,
                         "the model has no inputs; a batch of %lld does not "
                         "fit",
                         (long long)batch);
    for (size_t i = 0; i < inputs->n; i++) {
        if (model_inputs_images(&inputs->shapes[i]) == batch)
            return ASSAY_OK;
    }
    return refuse_batch(inputs, batch, err);
}

static enum assay_status settle_shapes(struct model_inputs *inputs,
                                       const struct model_source *model,
                                       const struct vision_options *options,
                                       const struct graph *graph,
                                       struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < inputs->n; i++) {
        struct shape *shape = &inputs->shapes[i];
        struct image_axes axes;

        *shape = model_inputs_shape(model, options, graph, i);
        if (find_axes(shape, &axes))
            fill_image(shape, &axes, &options->recipe, model->build.n_images);
        else if (shape->rank > 0 && shape->dims[0] < 0)
            shape->dims[0] = model->build.n_images;
        st = check_sizes(graph, i, shape, err);
    }
    if (!st && !reads_photographs(options))
        st = model_inputs_check_batch(inputs, model->build.n_images, err);
    return st;
}

/* Gives the recipe the size, the layout and the channels of the input. */
static enum assay_status settle_recipe(struct model_inputs *inputs,
                                       const struct model_source *model,
                                       const struct vision_options *options,
                                       struct error *err)
{
    const struct shape *shape = &inputs->shapes[inputs->image];
    const int64_t *dims = shape->dims;
    struct recipe *recipe = &inputs->recipe;
    struct image_axes axes = {0};
    char text[64];

    (void)find_axes(shape, &axes); /* they are images */
    *recipe = options->recipe;
    recipe->is_channels_last = axes.channel > axes.height;
    recipe->height = (int)dims[axes.height];
    recipe->width = (int)dims[axes.width];
    if (dims[axes.channel] == 1)
        recipe->order = ORDER_GREY;
    if ((options->recipe.width && options->recipe.width != recipe->width) ||
        (options->recipe.height && options->recipe.height != recipe->height))
        return error_set(err, ASSAY_BAD_USAGE,
                         "images of %dx%d do not fit the model's input %s",
                         options->recipe.width, options->recipe.height,
                         shape_text(shape, text, sizeof text));
    if (model_inputs_images(shape) != model->build.n_images)
        return refuse_batch(inputs, model->build.n_images, err);
    return ASSAY_OK;
}

/* From 0 to 1; integers are 0 or 1, which is a valid index anywhere. */
static void fill_random(struct tensor *tensor, struct random *random)
{
    size_t n = tensor_elements(tensor), bytes = dtype_bytes(tensor->dtype);
    char *data = tensor_data(tensor);

    for (size_t i = 0; i < n; i++) {
        if (tensor->dtype == DTYPE_F32)
            ((float *)data)[i] = (float)random_unit(random);
        else if (tensor->dtype == DTYPE_F64)
            ((double *)data)[i] = random_unit(random);
        else
            data[i * bytes] = (char)(random_u64(random) & 1);
    }
}

static enum assay_status make_random(struct model_inputs *inputs,
                                     const struct graph *graph, uint64_t seed,
                                     struct pool *pool, struct error *err)
{
    struct random random = random_seed(seed);
    uint32_t owner = pool_set_owner(pool, OWNER_IMAGES);
    enum assay_status st = ASSAY_OK;

    inputs->values = mem_array(inputs->n, sizeof *inputs->values);
    if (!inputs->values)
        st = error_nomem(err, inputs->n * sizeof *inputs->values, "the inputs");
    for (size_t i = 0; !st && i < inputs->n; i++) {
        enum dtype dtype = model_inputs_value(graph, i)->dtype;

        st = tensor_new(pool, dtype, &inputs->shapes[i], &inputs->values[i],
                        err);
        if (st)
            break;
        memset(tensor_data(&inputs->values[i]), 0,
               tensor_bytes(&inputs->values[i]));
        fill_random(&inputs->values[i], &random);
    }
    pool_set_owner(pool, owner);
    return st;
}

enum assay_status model_inputs_shapes(struct model_inputs *inputs,
                                      const struct model_source *model,
                                      const struct vision_options *options,
                                      const struct graph *graph,
                                      struct error *err)
{
    inputs->n = inputs->image = graph_input_count(graph);
    inputs->kind = INPUTS_RANDOM;
    inputs->shapes = mem_array(inputs->n, sizeof *inputs->shapes);
    if (!inputs->shapes)
        return error_nomem(err, inputs->n * sizeof *inputs->shapes,
                           "the inputs of a model");
    return settle_shapes(inputs, model, options, graph, err);
}

/* ---- which input is what ------------------------------------------------- */

static size_t model_inputs_find(const struct graph *graph, const char *name)
{
    size_t i = 0;

    while (i < graph_input_count(graph) &&
           strcmp(model_inputs_value(graph, i)->name, name) != 0)
        i++;
    return i;
}

static enum assay_status model_inputs_refuse_name(const struct graph *graph,
                                                  const char *option,
                                                  const char *name,
                                                  struct error *err)
{
    char text[128] = "";
    size_t n = 0;

    for (size_t i = 0; i < graph_input_count(graph) && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "",
                              model_inputs_value(graph, i)->name);
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s: the model has no input '%.60s'; its inputs are %s",
                     option, name, text);
}

/* Whether its channels are left free, so that it may take images. */
static bool may_be_images(const struct graph *graph, size_t input)
{
    const struct shape *shape = graph_input_shape(graph, input);

    return shape && shape->rank == 4 &&
           model_inputs_value(graph, input)->dtype == DTYPE_F32 &&
           (shape->dims[1] < 0 || shape->dims[3] < 0);
}

static enum assay_status refuse_photographs(const struct model_source *model,
                                            const struct graph *graph,
                                            struct error *err)
{
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        const char *name = model_inputs_value(graph, i)->name;
        char text[64];

        if (may_be_images(graph, i))
            return error_set(
                err, ASSAY_BAD_USAGE,
                "input '%s' is %s and leaves its channels (-1) free; if it "
                "takes images, give it a shape: --shape %s=1x3x640x640",
                name,
                shape_text(graph_input_shape(graph, i), text, sizeof text),
                name);
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     graph_input_count(graph)
                         ? "the inputs of %s are not images; leave the "
                           "photographs out for random values"
                         : "%s has no inputs; leave the photographs out",
                     model->name);
}

/* The only input that looks like images, or the named one. */
static enum assay_status find_image(const struct vision_options *options,
                                    const struct graph *graph, size_t *image,
                                    struct error *err)
{
    size_t n = graph_input_count(graph), named;

    *image = n;
    if (options->image_input) {
        named = model_inputs_find(graph, options->image_input);
        if (named == n)
            return model_inputs_refuse_name(graph, "--input",
                                            options->image_input, err);
        if (!looks_like_images(graph, named))
            return error_set(err, ASSAY_BAD_USAGE,
                             "--input: '%s' does not take images of float32, "
                             "such as 1x3x640x640",
                             options->image_input);
        *image = named;
        return ASSAY_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (!looks_like_images(graph, i))
            continue;
        if (*image < n && !options->is_random)
            return error_set(err, ASSAY_BAD_USAGE,
                             "'%s' and '%s' both look like images; name the "
                             "one for the photographs, --input %s, and give "
                             "the other with --set",
                             model_inputs_value(graph, *image)->name,
                             model_inputs_value(graph, i)->name,
                             model_inputs_value(graph, *image)->name);
        if (*image == n)
            *image = i;
    }
    return ASSAY_OK;
}

static enum assay_status take_settings(struct model_inputs *inputs,
                                       const struct vision_options *options,
                                       const struct graph *graph,
                                       struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < options->n_settings; i++) {
        const struct input_setting *setting = &options->settings[i];
        size_t input = model_inputs_find(graph, setting->input);

        if (input == inputs->n)
            return model_inputs_refuse_name(graph, "--set", setting->input,
                                            err);
        if (input == inputs->image && !options->is_random)
            return error_set(err, ASSAY_BAD_USAGE,
                             "--set: input '%s' gets the photographs",
                             setting->input);
        st = side_input_give(&inputs->sides[input], setting->text, err);
        if (st)
            error_context(err, "--set %s", setting->input);
    }
    return st;
}

static enum assay_status settle_sides(struct model_inputs *inputs,
                                      const struct model_source *model,
                                      const struct vision_options *options,
                                      const struct graph *graph,
                                      struct error *err)
{
    enum assay_status st;

    inputs->sides = mem_array(inputs->n, sizeof *inputs->sides);
    if (!inputs->sides)
        return error_nomem(err, inputs->n * sizeof *inputs->sides,
                           "the inputs of a model");
    for (size_t i = 0; i < inputs->n; i++)
        side_input_init(&inputs->sides[i], model_inputs_value(graph, i)->name,
                        model_inputs_value(graph, i)->dtype, &inputs->shapes[i],
                        model->build.n_images);
    st = take_settings(inputs, options, graph, err);
    for (size_t i = 0; !st && !options->is_random && i < inputs->n; i++) {
        if (i != inputs->image && !side_input_is_known(&inputs->sides[i]))
            st = side_input_refuse(&inputs->sides[i], err);
    }
    return st;
}

void model_inputs_describe(const struct model_inputs *inputs, size_t input,
                           int width, int height, size_t at, void *data)
{
    if (input != inputs->image)
        side_input_write(&inputs->sides[input], &inputs->recipe, width, height,
                         at, data);
}

void model_inputs_size(const struct model_inputs *inputs, size_t at,
                       double *width, double *height)
{
    for (size_t i = 0; inputs->sides && i < inputs->n; i++) {
        if (i != inputs->image &&
            side_input_size(&inputs->sides[i], at, width, height))
            return;
    }
    *width = inputs->recipe.width;
    *height = inputs->recipe.height;
}

/* Random images are photographs that have the model's size already. */
static void set_known(struct model_inputs *inputs, int64_t batch)
{
    const struct shape *shape = &inputs->shapes[inputs->image];
    bool has_image = inputs->image < inputs->n;
    struct recipe *recipe = &inputs->recipe;
    struct image_axes axes = {0};

    *recipe = recipe_defaults();
    if (has_image && find_axes(shape, &axes)) {
        recipe->width = (int)shape->dims[axes.width];
        recipe->height = (int)shape->dims[axes.height];
    }
    for (size_t i = 0; i < inputs->n; i++) {
        const struct side_input *side = &inputs->sides[i];

        for (size_t k = 0; k < (size_t)batch && k < side->n_images; k++) {
            if (side->numbers || (has_image && i != inputs->image))
                side_input_write(side, recipe, recipe->width, recipe->height, k,
                                 tensor_data(&inputs->values[i]));
        }
    }
}

static enum assay_status settle_random(struct model_inputs *inputs,
                                       const struct model_source *model,
                                       const struct graph *graph,
                                       struct pool *pool, struct error *err)
{
    enum assay_status st = make_random(inputs, graph, model->seed, pool, err);

    if (!st)
        set_known(inputs, model->build.n_images);
    return st;
}

enum assay_status model_inputs_settle(struct model_inputs *inputs,
                                      const struct model_source *model,
                                      const struct vision_options *options,
                                      const struct graph *graph,
                                      struct pool *pool, struct error *err)
{
    size_t image = 0;
    enum assay_status st = ASSAY_OK;

    if (reads_photographs(options) && !options->is_random)
        return ASSAY_OK;
    if (model->is_file)
        st = find_image(options, graph, &image, err);
    if (!st && image == graph_input_count(graph) && !options->is_random)
        st = refuse_photographs(model, graph, err);
    if (!st)
        st = model_inputs_shapes(inputs, model, options, graph, err);
    inputs->image = image;
    if (!st)
        st = settle_sides(inputs, model, options, graph, err);
    if (st)
        return st;
    if (options->is_random)
        return settle_random(inputs, model, graph, pool, err);
    inputs->kind = INPUTS_BATCH;
    return settle_recipe(inputs, model, options, err);
}

enum assay_status model_inputs_text(const struct model_inputs *inputs,
                                    const struct graph *graph, struct str *text,
                                    struct error *err)
{
    enum assay_status st = inputs->n ? ASSAY_OK : str_append(text, "none");
    char shape[64];

    for (size_t i = 0; !st && i < inputs->n; i++) {
        const struct value *value = model_inputs_value(graph, i);

        st = str_printf(text, "%s%s %s", i ? ", " : "", value->name,
                        shape_text(&inputs->shapes[i], shape, sizeof shape));
        if (!st && value->dtype != DTYPE_F32)
            st = str_printf(text, " %s", dtype_name(value->dtype));
    }
    return st ? error_nomem(err, text->n, "the inputs of a model") : ASSAY_OK;
}

/* train/train_data.c - see train_internal.h. */
#include "train/train_internal.h"

#include "train/config_internal.h"

#include <string.h>
#include <sys/stat.h>

enum { COCO_CLASSES = 91 }; /* its numbers go to 90; 0 is the background */

/* ---- the dataset ------------------------------------------------------- */

static enum dataset_kind dataset_kind_of(const struct train_config *config)
{
    static const enum dataset_kind kinds[] = {
        [TRAIN_PETS] = DATASET_PETS,
        [TRAIN_COCO] = DATASET_COCO,
        [TRAIN_VOC] = DATASET_VOC,
        [TRAIN_CIFAR10] = DATASET_CIFAR10,
        [TRAIN_CIFAR100] = DATASET_CIFAR100,
        [TRAIN_IMAGEFOLDER] = DATASET_IMAGEFOLDER,
        [TRAIN_SYNTHETIC] = DATASET_SYNTHETIC,
    };

    return kinds[config->dataset.kind];
}

static bool is_detector(const struct train_plan *plan)
{
    return plan->task == TASK_DETECTION;
}

static bool has_masks(const struct train_plan *plan)
{
    static const char prefix[] = "maskrcnn";

    return is_detector(plan) &&
           strncmp(plan->model, prefix, sizeof prefix - 1) == 0;
}

/* As large as the images asked for, else the dataset's own default. */
static struct synthetic_options synthetic(const struct train_config *config,
                                          const struct train_plan *plan)
{
    int64_t side = config->dataset.image_size, n = config->model.num_classes;

    return (struct synthetic_options){
        .width = side > 0 ? (int)side : 0,
        .height = side > 0 ? (int)side : 0,
        .n_classes = n > 0 ? (size_t)(n - is_detector(plan)) : 0,
        .seed = plan->seed,
        .has_one = !is_detector(plan),
    };
}

/* Where the dataset is, and how to describe it. */
static enum assay_status name_dataset(const struct train_config *config,
                                      struct str *path, struct str *words,
                                      struct error *err)
{
    const char *kind =
        train_dataset_name((enum train_dataset)config->dataset.kind);
    enum assay_status st = str_append(words, kind);

    if (!st && config->dataset.root)
        st = str_append(path, config->dataset.root);
    else if (!st)
        st = str_printf(path, "data/%s", kind);
    if (!st && config->dataset.kind != TRAIN_SYNTHETIC)
        st = str_printf(words, " in %s", path->text);
    return st ? error_nomem(err, path->n, "the name of a dataset") : st;
}

/* The first failure that most users meet, so it says how to go on. */
static enum assay_status dataset_check_folder(const struct train_config *config,
                                              const char *path,
                                              struct error *err)
{
    struct stat info;

    if (stat(path, &info) == 0)
        return ASSAY_OK;
    if (config->dataset.kind == TRAIN_PETS)
        return error_set(err, ASSAY_NOT_FOUND,
                         "there is no dataset in %s; 'assay data fetch %s' "
                         "downloads it, --synthetic trains without one",
                         path, train_dataset_name(TRAIN_PETS));
    return error_set(
        err, ASSAY_NOT_FOUND,
        "there is no dataset in %s; say where it is with --set "
        "dataset.root=FOLDER, or train without one with --synthetic",
        path);
}

/* Warns of what the dataset left out before anything is read. */
static void tell_odd(const struct train_data *data)
{
    enum { most_told = 10 };
    size_t n = dataset_odd_count(data->dataset);

    for (size_t i = 0; data->warnings && i < n && i < most_told; i++)
        sink_printf(data->warnings, "odd: %s\n", dataset_odd(data->dataset, i));
    if (data->warnings && n > most_told)
        sink_printf(data->warnings,
                    "odd: and %zu more; 'assay data show' lists them\n",
                    n - most_told);
}

enum assay_status train_data_open(struct train_data *data,
                                  const struct train_config *config,
                                  struct train_plan *plan, struct error *err)
{
    struct dataset_options options = {
        .kind = dataset_kind_of(config),
        .split = DATASET_TRAIN,
        .limit = (size_t)config->dataset.limit,
        .keeps_shapes = has_masks(plan),
        .synthetic = synthetic(config, plan),
    };
    struct str path = {0};
    enum assay_status st = name_dataset(config, &path, &plan->dataset, err);

    if (!st && config->dataset.kind != TRAIN_SYNTHETIC) {
        options.path = path.text;
        st = dataset_check_folder(config, path.text, err);
    }
    if (!st)
        st = dataset_open(&options, &data->dataset, err);
    if (!st)
        tell_odd(data);
    str_release(&path);
    return st;
}

void train_data_close(struct train_data *data)
{
    loader_free(data->loader);
    dataset_close(data->dataset);
    *data = (struct train_data){0};
}

/* Classes of the labels, including the background if there is one. */
static int64_t dataset_labels(const struct train_data *data,
                              const struct train_plan *plan)
{
    return (int64_t)dataset_class_count(data->dataset) + is_detector(plan);
}

int64_t train_data_classes(const struct train_data *data,
                           const struct train_config *config,
                           const struct train_plan *plan)
{
    if (config->model.num_classes > 0)
        return config->model.num_classes;
    if (config->dataset.kind == TRAIN_COCO)
        return COCO_CLASSES;
    return dataset_labels(data, plan);
}

/* ---- the loader -------------------------------------------------------- */

static enum assay_status apply_recipe(const void *context,
                                      const struct picture *picture, float *out,
                                      struct error *err)
{
    return recipe_apply(context, picture, out, err);
}

/* The preset of the model's variant, scaled to the side asked for. */
static void set_fit(struct train_data *data, const struct model_options *build)
{
    struct recipe *recipe = &data->recipe;
    double factor;

    *recipe = recipe_of_variant(build->variant);
    factor = (double)build->image_size / recipe->width;
    recipe->shorter = (int)(recipe->shorter * factor + 0.5);
    recipe->width = recipe->height = (int)build->image_size;
    data->fit = (struct sample_fit){.width = recipe->width,
                                    .height = recipe->height,
                                    .apply = apply_recipe,
                                    .context = recipe};
}

static void tell_skipped(void *context, const char *why)
{
    struct train_data *data = context;

    if (data->warnings)
        sink_printf(data->warnings, "skipped: %s\n", why);
}

/* The number of steps asked for, else that of the epochs. */
static void count_steps(const struct train_config *config,
                        struct train_plan *plan)
{
    uint64_t epoch = plan->epoch_steps;

    plan->n_steps = (uint64_t)config->training.steps;
    plan->n_epochs = (uint64_t)config->training.num_epochs;
    if (plan->n_steps)
        plan->n_epochs = (plan->n_steps + epoch - 1) / epoch;
    else
        plan->n_steps = plan->n_epochs * epoch;
}

/* If the user's number of classes does not fit, names that setting. */
static enum assay_status train_data_refuse(const struct train_data *data,
                                           const struct train_config *config,
                                           const struct train_plan *plan,
                                           enum assay_status st,
                                           const struct error *why,
                                           struct error *err)
{
    int64_t given = config->model.num_classes;

    if (st == ASSAY_BAD_USAGE && given > 0 &&
        given != dataset_labels(data, plan))
        return config_refuse(config, config_key_find("model.num_classes"), err,
                             "does not fit: %s", why->text);
    return error_set(err, st, "%s", why->text);
}

enum assay_status train_data_start(struct train_data *data,
                                   const struct train_config *config,
                                   struct pool *pool, struct train_plan *plan,
                                   struct error *err)
{
    bool detects = is_detector(plan);
    struct loader_options options = {
        .dataset = data->dataset,
        .pool = pool,
        .fit = detects ? NULL : &data->fit,
        .has_masks = has_masks(plan),
        .flips = config->dataset.flip,
        .n_classes =
            plan->is_file ? dataset_labels(data, plan) : plan->build.n_classes,
        .batch_size = (size_t)config->training.batch_size,
        .n_workers = (size_t)config->training.num_workers,
        .prefetch_factor = (size_t)config->training.prefetch_factor,
        .seed = plan->seed,
        .shuffles = true,
        .drops_last = detects, /* a detector has one input per image */
        .fills = detects,
        .listener = {tell_skipped, data},
    };
    struct error why = {0};
    enum assay_status st;

    st = plan->is_file
             ? train_file_check_classes(plan, dataset_labels(data, plan), err)
             : ASSAY_OK;
    if (st)
        return st;
    if (!detects)
        set_fit(data, &plan->build);
    st = loader_new(&options, &data->loader, &why);
    if (st)
        return train_data_refuse(data, config, plan, st, &why, err);
    plan->n_samples = loader_samples(data->loader);
    plan->n_workers = (int)options.n_workers;
    plan->epoch_steps = loader_source(data->loader).epoch_batches;
    count_steps(config, plan);
    return ASSAY_OK;
}

/* data/loader_make.c - makes a loader; the order of its samples, and its pace.
 */
#include "data/loader_parts_internal.h"

#include "base/mem.h"
#include "data/loader.h"

#include <math.h>
#include <string.h>

/* ---- checking the options --------------------------------------------- */

static enum assay_status check_numbers(const struct loader_options *options,
                                       struct error *err)
{
    if (options->batch_size == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a batch needs images; batch_size must be at least 1");
    if (options->n_workers && options->prefetch_factor == 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "workers must be at least one batch ahead; "
                         "prefetch_factor must be at least 1");
    return ASSAY_OK;
}

static enum assay_status check_dataset(const struct loader_options *options,
                                       struct error *err)
{
    const struct dataset *dataset = options->dataset;

    if (dataset_count(dataset) == 0)
        return error_set(err, ASSAY_BAD_INPUT, "the dataset has no images");
    if (!options->fit && !dataset_has_objects(dataset))
        return error_set(err, ASSAY_BAD_USAGE,
                         "a detector learns boxes, but this dataset has one "
                         "class per image; train a classifier on it");
    if (options->fit && !dataset_has_classes(dataset))
        return error_set(
            err, ASSAY_BAD_USAGE,
            "a classifier learns one class per image, but images of this "
            "dataset have several; train a detector on it");
    return ASSAY_OK;
}

/* COCO's numbers have gaps, which its published models keep. */
static bool has_fitting_ids(const struct dataset *dataset, int64_t n_classes)
{
    for (size_t i = 0; i < dataset_class_count(dataset); i++) {
        int64_t id = dataset_class_id(dataset, i);

        if (id < 1 || id >= n_classes)
            return false;
    }
    return true;
}

static enum assay_status choose_labels(struct loader *loader, struct error *err)
{
    const struct loader_options *options = &loader->options;
    size_t n = dataset_class_count(options->dataset);
    int64_t first = options->fit ? 0 : 1;
    bool is_dense = options->n_classes == (int64_t)n + first;

    if (!is_dense && (options->fit ||
                      !has_fitting_ids(options->dataset, options->n_classes)))
        return error_set(err, ASSAY_BAD_USAGE,
                         "the model has %lld classes, and the dataset %zu%s: "
                         "num_classes = %zu would fit",
                         (long long)options->n_classes, n,
                         first ? " besides the background" : "",
                         n + (size_t)first);
    loader->labels = mem_array(n, sizeof *loader->labels);
    if (!loader->labels)
        return error_nomem(err, n * sizeof *loader->labels, "the labels");
    for (size_t i = 0; i < n; i++)
        loader->labels[i] = is_dense ? (int64_t)i + first
                                     : dataset_class_id(options->dataset, i);
    return ASSAY_OK;
}

/* ---- which samples ---------------------------------------------------- */

static bool has_object(const struct dataset_target *target)
{
    for (size_t i = 0; i < target->n_objects; i++) {
        float box[4];
        bool is_cut;

        if (!target->objects[i].is_crowd &&
            sample_cut_box(&target->objects[i], target->width, target->height,
                           box, &is_cut))
            return true;
    }
    return false;
}

/* Leaves out images without an object: a detector learns nothing from them. */
static enum assay_status choose_samples(struct loader *loader,
                                        struct error *err)
{
    const struct loader_options *options = &loader->options;
    size_t n = dataset_count(options->dataset);
    struct loader_order *order = &loader->order;
    enum assay_status st = ASSAY_OK;

    *order = (struct loader_order){.seed = options->seed,
                                   .shuffles = options->shuffles};
    order->usable = mem_array(n, sizeof *order->usable);
    order->samples = mem_array(n, sizeof *order->samples);
    loader->is_told = mem_array(n, sizeof *loader->is_told);
    if (!order->usable || !order->samples || !loader->is_told)
        return error_nomem(err, n * sizeof *order->usable, "the samples");
    for (size_t i = 0; !st && i < n; i++) {
        struct dataset_target target;
        bool is_known =
            !options->fit && dataset_is_at_hand(options->dataset, i);

        if (is_known)
            st = dataset_target(options->dataset, i, &target, err);
        if (!st && (!is_known || has_object(&target)))
            order->usable[order->n++] = i;
    }
    loader->counts.n_without = n - order->n;
    if (!st && order->n == 0)
        st = error_set(
            err, ASSAY_BAD_INPUT,
            "none of the %zu images of the dataset has a box to learn", n);
    if (!st && options->drops_last && order->n < options->batch_size)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "%zu images do not make one batch of %zu", order->n,
                       options->batch_size);
    return st;
}

/* ---- making one ------------------------------------------------------- */

static enum assay_status make_loader_slots(struct loader *loader,
                                           struct error *err)
{
    const struct loader_options *options = &loader->options;
    size_t most = options->batch_size < loader->order.n ? options->batch_size
                                                        : loader->order.n;
    size_t n;

    if (!mem_mul(options->n_workers, options->prefetch_factor, &n))
        return error_nomem(err, SIZE_MAX, "the batches ahead");
    n = n ? n : 1;
    loader->slots = mem_array(n, sizeof *loader->slots);
    loader->threads = mem_array(options->n_workers, sizeof *loader->threads);
    if (!loader->slots || !loader->threads)
        return error_nomem(err, n * sizeof *loader->slots, "the batches ahead");
    for (; loader->n_slots < n; loader->n_slots++) {
        struct slot *slot = &loader->slots[loader->n_slots];

        slot->cells = mem_array(most, sizeof *slot->cells);
        if (!slot->cells)
            return error_nomem(err, most * sizeof *slot->cells, "a batch");
    }
    return ASSAY_OK;
}

enum assay_status loader_new(const struct loader_options *options,
                             struct loader **out, struct error *err)
{
    struct loader *loader;
    enum assay_status st = check_numbers(options, err);

    *out = NULL;
    if (!st)
        st = check_dataset(options, err);
    if (st)
        return st;
    loader = mem_zalloc(sizeof *loader);
    if (!loader)
        return error_nomem(err, sizeof *loader, "a loader");
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->has_work, NULL);
    pthread_cond_init(&loader->has_batch, NULL);
    loader->options = *options;
    if (!options->clock.now_ns)
        loader->options.clock = clock_real();
    st = choose_labels(loader, err);
    if (!st)
        st = choose_samples(loader, err);
    if (!st)
        st = make_loader_slots(loader, err);
    loader->sample = (struct sample_options){.dataset = options->dataset,
                                             .pool = options->pool,
                                             .fit = options->fit,
                                             .has_masks = options->has_masks,
                                             .flips = options->flips,
                                             .labels = loader->labels};
    if (st)
        loader_free(loader);
    else
        *out = loader;
    return st;
}

void loader_free(struct loader *loader)
{
    if (!loader)
        return;
    loader_stop(loader);
    for (size_t i = 0; i < loader->n_slots; i++) {
        slot_clear(&loader->slots[i]);
        mem_free(loader->slots[i].cells);
    }
    pthread_mutex_destroy(&loader->lock);
    pthread_cond_destroy(&loader->has_work);
    pthread_cond_destroy(&loader->has_batch);
    mem_free(loader->slots);
    mem_free(loader->threads);
    mem_free(loader->labels);
    mem_free(loader->order.usable);
    mem_free(loader->order.samples);
    mem_free(loader->is_told);
    mem_free(loader);
}

/* ---- reading it ------------------------------------------------------- */

struct batch_source loader_source(struct loader *loader)
{
    size_t n = loader->order.n, batch = loader->options.batch_size;

    return (struct batch_source){
        .begin = loader_begin,
        .next = loader_next,
        .is_ready = loader_is_ready,
        .context = loader,
        .epoch_batches =
            loader->options.drops_last ? n / batch : (n + batch - 1) / batch,
    };
}

size_t loader_samples(const struct loader *loader)
{
    return loader->order.n;
}

struct loader_pace loader_pace(const struct loader *loader)
{
    return loader->pace;
}

struct loader_counts loader_counts(const struct loader *loader)
{
    return loader->counts;
}

/* ---- the order of an epoch --------------------------------------------- */

void loader_order_set(struct loader_order *order, uint64_t epoch)
{
    struct random random = random_stream(order->seed, epoch);

    if (order->is_set && (order->epoch == epoch || !order->shuffles))
        return;
    memcpy(order->samples, order->usable, order->n * sizeof *order->samples);
    for (size_t i = order->n; order->shuffles && i > 1; i--) {
        size_t other = random_below(&random, i), kept = order->samples[i - 1];

        order->samples[i - 1] = order->samples[other];
        order->samples[other] = kept;
    }
    order->epoch = epoch;
    order->is_set = true;
}

struct random loader_order_random(const struct loader_order *order,
                                  struct batch_place place)
{
    struct random random = random_stream(order->seed, place.epoch);

    return random_stream(random_u64(&random), place.index);
}

/* ---- its pace ---------------------------------------------------------- */

double loader_stall_share(const struct loader_pace *pace)
{
    int64_t all_ns = pace->wait_ns + pace->between_ns;

    return all_ns > 0 ? (double)pace->wait_ns / (double)all_ns : 0;
}

int64_t loader_image_ns(const struct loader_pace *pace)
{
    return pace->n_images ? pace->made_ns / (int64_t)pace->n_images : 0;
}

size_t loader_wanted_workers(const struct loader_pace *pace)
{
    double made_ns, step_ns;

    if (pace->n_batches < 2 || pace->between_ns <= 0)
        return 0;
    made_ns = (double)pace->made_ns / (double)pace->n_batches;
    step_ns = (double)pace->between_ns / (double)(pace->n_batches - 1);
    return (size_t)fmin(fmax(ceil(made_ns / step_ns), 1), 1e6);
}

/* Batches: which ones come, in which order, and with what contents. */
#include "batches.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- fingerprints ----------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t mix_tensor(uint64_t hash, const struct tensor *tensor)
{
    if (!tensor->buffer)
        return hash;
    hash = mix(hash, tensor->shape.dims,
               (size_t)tensor->shape.rank * sizeof *tensor->shape.dims);
    return mix(hash, tensor_data(tensor), tensor_bytes(tensor));
}

static uint64_t mix_batch(uint64_t hash, const struct batch *batch)
{
    hash = mix(hash, &batch->first, sizeof batch->first);
    hash = mix(hash, &batch->after, sizeof batch->after);
    for (size_t i = 0; i < batch->n_tensors; i++)
        hash = mix_tensor(hash, &batch->images[i]);
    for (size_t i = 0; i < batch->n_masks; i++)
        hash = mix_tensor(hash, &batch->masks[i]);
    hash = mix_tensor(hash, &batch->labels);
    hash = mix_tensor(hash, &batch->boxes);
    return mix_tensor(hash, &batch->counts);
}

/* Of all batches that are left. */
static uint64_t mix_all(struct loader *loader)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    struct batch batch;

    while (next(loader, &batch)) {
        hash = mix_batch(hash, &batch);
        batch_release(&batch);
    }
    return hash;
}

/* ---- order ------------------------------------------------------------ */

TEST(without_shuffling_samples_come_in_the_order_of_the_dataset)
{
    struct dataset *dataset = folders("plain", 7, 0, 0);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 3);
    struct loader *loader = begin(&options);
    struct batch batch;

    CHECK_INT(loader_source(loader).epoch_batches, 3);
    for (int i = 0; i < 3; i++) {
        size_t n = i < 2 ? 3 : 1;

        CHECK(next(loader, &batch));
        CHECK_INT(batch.n_images, n);
        CHECK_INT(batch.n_tensors, 1);
        CHECK_INT(batch.images[0].shape.dims[0], n);
        CHECK_INT(batch.first.index, 3 * i);
        for (size_t k = 0; k < n; k++) {
            CHECK_INT(tensor_i64(&batch.labels)[k], 3 * i + (int)k);
            CHECK_NEAR(tensor_f32(&batch.images[0])[12 * k], 3 * i + (int)k, 0);
        }
        batch_release(&batch);
    }
    CHECK(!next(loader, &batch));
    CHECK(!next(loader, &batch)); /* and it stays at the end */
    end(loader, pool, dataset);
}

TEST(the_smaller_batch_at_the_end_can_be_dropped)
{
    struct dataset *dataset = folders("drop", 7, 0, 0);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 3);
    struct loader *loader;
    struct batch batch;
    int n = 0;

    options.drops_last = true;
    options.n_epochs = 2;
    loader = begin(&options);
    CHECK_INT(loader_source(loader).epoch_batches, 2);
    for (; next(loader, &batch); n++) {
        CHECK_INT(batch.n_images, 3);
        CHECK_INT(batch.first.epoch, n / 2);
        CHECK_INT(batch.after.epoch, (n + 1) / 2);
        batch_release(&batch);
    }
    CHECK_INT(n, 4);
    end(loader, pool, dataset);
}

TEST(an_epoch_has_every_sample_once_and_the_next_has_another_order)
{
    enum { n_samples = 20 };
    struct dataset *dataset = folders("shuffled", n_samples, 0, 0);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 6);
    struct loader *loader;
    struct batch batch;
    int64_t met[2][n_samples];
    size_t n = 0;

    options.n_epochs = 2;
    options.shuffles = true;
    options.n_workers = 2;
    loader = begin(&options);
    while (next(loader, &batch)) {
        for (size_t i = 0; i < batch.n_images; i++, n++)
            met[n / n_samples][n % n_samples] = tensor_i64(&batch.labels)[i];
        batch_release(&batch);
    }
    CHECK_INT(n, 2 * n_samples);
    CHECK(memcmp(met[0], met[1], sizeof met[0]) != 0);
    for (int epoch = 0; epoch < 2; epoch++) {
        bool is_met[n_samples] = {false};

        for (int i = 0; i < n_samples; i++) {
            CHECK(!is_met[met[epoch][i]]);
            is_met[met[epoch][i]] = true;
        }
        CHECK(met[epoch][0] != 0 || met[epoch][1] != 1 || met[epoch][2] != 2);
    }
    end(loader, pool, dataset);
}

/* Everything random, and everything that a batch has. */
static uint64_t mix_shapes(size_t n_workers, size_t prefetch, uint64_t seed,
                           struct batch_place place)
{
    struct dataset *dataset = shapes(11);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 3);
    struct loader *loader;
    uint64_t hash;

    options.n_workers = n_workers;
    options.prefetch_factor = prefetch;
    options.seed = seed;
    options.shuffles = options.flips = options.has_masks = true;
    options.n_epochs = 3;
    loader = begin_at(&options, place);
    hash = mix_all(loader);
    end(loader, pool, dataset);
    return hash;
}

TEST(batches_are_the_same_whatever_the_number_of_workers)
{
    const struct batch_place start = {0};
    uint64_t alone = mix_shapes(0, 1, 5, start);

    CHECK(mix_shapes(1, 1, 5, start) == alone);
    CHECK(mix_shapes(3, 2, 5, start) == alone);
    CHECK(mix_shapes(8, 3, 5, start) == alone);
    CHECK(mix_shapes(0, 1, 6, start) != alone);
}

TEST(a_loader_continues_from_any_place_as_if_it_had_got_there)
{
    struct dataset *dataset = shapes(11);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 3);
    struct loader *loader;
    struct batch batch;
    uint64_t rest;
    struct batch_place after[6];

    options.shuffles = options.flips = options.has_masks = true;
    options.seed = 5;
    options.n_epochs = 3;
    loader = begin(&options);
    for (int i = 0; i < 6; i++) {
        CHECK(next(loader, &batch));
        after[i] = batch.after;
        batch_release(&batch);
    }
    rest = mix_all(loader);
    CHECK_INT(after[3].epoch, 1); /* 11 samples make four batches */
    CHECK_INT(after[3].index, 0);
    CHECK_INT(after[5].epoch, 1);
    CHECK_INT(after[5].index, 6);
    CHECK(mix_shapes(2, 2, 5, after[5]) == rest);
    end(loader, pool, dataset);
}

TEST(a_place_beyond_the_dataset_is_refused)
{
    struct dataset *dataset = shapes(4);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 2);
    struct loader *loader = begin(&options);
    struct batch_source source = loader_source(loader);

    CHECK_INT(source.begin(source.context,
                           (struct batch_place){.epoch = 1, .index = 5}, &err),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "sample 5");
    end(loader, pool, dataset);
}

/* ---- the contents of a batch ------------------------------------------ */

TEST(a_detector_gets_pixels_boxes_labels_and_masks)
{
    struct dataset *dataset = shapes(3);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 3);
    struct loader *loader;
    struct batch batch;
    size_t at = 0;

    options.has_masks = true;
    loader = begin(&options);
    CHECK(next(loader, &batch));
    CHECK_INT(batch.n_tensors, 3);
    CHECK_INT(batch.n_masks, 3);
    for (size_t i = 0; i < 3; i++) {
        struct dataset_target target;
        struct picture picture;
        struct mask mask = {0};
        uint8_t pixels[40 * 32];

        CHECK_INT(dataset_target(dataset, i, &target, &err), ASSAY_OK);
        CHECK_INT(dataset_picture(dataset, i, &picture, &err), ASSAY_OK);
        CHECK_INT(batch.images[i].shape.dims[1], 32);
        for (int k = 0; k < 40 * 32 * 3; k++)
            CHECK(tensor_f32(&batch.images[i])[k % 3 * 40 * 32 + k / 3] ==
                  (float)picture.rgb[k] / 255);
        CHECK_INT(tensor_i64(&batch.counts)[i], target.n_objects);
        for (size_t k = 0; k < target.n_objects; k++, at++) {
            const struct dataset_object *object = &target.objects[k];
            const float *box = tensor_f32(&batch.boxes) + 4 * at;

            CHECK_NEAR(box[0], object->x, 0);
            CHECK_NEAR(box[1], object->y, 0);
            CHECK_NEAR(box[2], object->x + object->width, 0);
            CHECK_NEAR(box[3], object->y + object->height, 0);
            CHECK_INT(tensor_i64(&batch.labels)[at], object->label + 1);
            CHECK_INT(dataset_object_mask(object, 40, 32, &mask, &err), 0);
            mask_to_pixels(&mask, pixels);
            CHECK_INT(memcmp((uint8_t *)tensor_data(&batch.masks[i]) +
                                 k * sizeof pixels,
                             pixels, sizeof pixels),
                      0);
        }
        mask_release(&mask);
        picture_release(&picture);
    }
    CHECK_INT(batch.labels.shape.dims[0], at);
    batch_release(&batch);
    end(loader, pool, dataset);
}

static void check_mirrored(const struct batch *plain, const struct batch *other)
{
    const float *a = tensor_f32(&plain->images[0]);
    const float *b = tensor_f32(&other->images[0]);
    const uint8_t *m = tensor_data(&plain->masks[0]);
    const uint8_t *n = tensor_data(&other->masks[0]);
    int64_t rows = 32 * tensor_i64(&plain->counts)[0];

    for (int row = 0; row < 3 * 32; row++) {
        for (int x = 0; x < 40; x++)
            CHECK(a[row * 40 + x] == b[row * 40 + 39 - x]);
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int x = 0; x < 40; x++)
            CHECK(m[row * 40 + x] == n[row * 40 + 39 - x]);
    }
    for (int64_t i = 0; i < tensor_i64(&plain->counts)[0]; i++) {
        const float *box = tensor_f32(&plain->boxes) + 4 * i;
        const float *flipped = tensor_f32(&other->boxes) + 4 * i;

        CHECK_NEAR(flipped[0], 40 - box[2], 0);
        CHECK_NEAR(flipped[1], box[1], 0);
        CHECK_NEAR(flipped[2], 40 - box[0], 0);
        CHECK_NEAR(flipped[3], box[3], 0);
    }
}

TEST(about_half_are_flipped_with_their_boxes_and_masks)
{
    enum { n_samples = 40 };
    struct dataset *dataset = shapes(n_samples);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 1);
    struct loader *plain, *flipping;
    int n_flipped = 0;

    options.has_masks = true;
    plain = begin(&options);
    options.flips = true;
    flipping = begin(&options);
    for (int i = 0; i < n_samples; i++) {
        struct batch a, b;
        bool is_same;

        CHECK(next(plain, &a) && next(flipping, &b));
        is_same = memcmp(tensor_data(&a.images[0]), tensor_data(&b.images[0]),
                         tensor_bytes(&a.images[0])) == 0;
        n_flipped += !is_same;
        if (!is_same)
            check_mirrored(&a, &b);
        batch_release(&a);
        batch_release(&b);
    }
    CHECK(n_flipped > n_samples / 4 && n_flipped < n_samples * 3 / 4);
    loader_free(plain);
    end(flipping, pool, dataset);
}

/* Left 1, right 2. */
static enum assay_status take_sides(const void *context,
                                    const struct picture *picture, float *out,
                                    struct error *e)
{
    (void)context, (void)picture, (void)e;
    for (int i = 0; i < 3 * 2 * 2; i++)
        out[i] = (float)(1 + i % 2);
    return ASSAY_OK;
}

TEST(images_of_classifiers_are_flipped_too)
{
    const struct sample_fit sides = {2, 2, take_sides, NULL};
    struct dataset *dataset = folders("sides", 30, 0, 0);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 30);
    struct loader *loader;
    struct batch batch;
    int n_flipped = 0;

    options.fit = &sides;
    options.flips = true;
    loader = begin(&options);
    CHECK(next(loader, &batch));
    for (int i = 0; i < 30; i++) {
        const float *image = tensor_f32(&batch.images[0]) + 12 * i;

        for (int row = 0; row < 6; row++)
            CHECK_NEAR(image[2 * row] + image[2 * row + 1], 3, 0);
        n_flipped += image[10] == 2;
        CHECK(image[0] == image[10]);
    }
    CHECK(n_flipped > 5 && n_flipped < 25);
    batch_release(&batch);
    end(loader, pool, dataset);
}

/* ---- limits and ends -------------------------------------------------- */

struct counted {
    atomic_int n_begun, n_taken; /* images */
    atomic_int most_ahead;
};

static enum assay_status count_ahead(const void *context,
                                     const struct picture *picture, float *out,
                                     struct error *e)
{
    struct counted *counted = (struct counted *)context;
    int ahead = atomic_fetch_add(&counted->n_begun, 1) + 1 - counted->n_taken;

    if (ahead > counted->most_ahead)
        counted->most_ahead = ahead;
    return take_red(NULL, picture, out, e);
}

TEST(no_more_batches_are_ahead_than_asked_for)
{
    struct dataset *dataset = folders("ahead", 24, 0, 0);
    struct counted counted = {0};
    const struct sample_fit fit = {2, 2, count_ahead, &counted};
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 2);
    struct loader *loader;
    struct batch batch;

    options.fit = &fit;
    options.n_workers = 3;
    options.prefetch_factor = 2;
    options.n_epochs = 4;
    loader = begin(&options);
    while (next(loader, &batch)) {
        CHECK(batch.n_ready <= 6);
        atomic_fetch_add(&counted.n_taken, 2);
        batch_release(&batch);
    }
    /* Six batches and the one that was just taken from its slot. */
    CHECK(counted.most_ahead <= (6 + 1) * 2);
    CHECK_INT(counted.n_begun, 24 * 4);
    end(loader, pool, dataset);
}

/* A worker starts by allocating memory; this observer sees that, like a
 * recorder that asks for the name of the thread. */
struct names_seen {
    pthread_t main;
    atomic_int n_others; /* threads with a wrong name */
};

static void look_at_name(void *context, const struct pool_change *change)
{
    struct names_seen *seen = context;
    char name[16] = "";

    (void)change;
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (!pthread_equal(pthread_self(), seen->main) &&
        strncmp(name, "loader ", 7) != 0)
        atomic_fetch_add(&seen->n_others, 1);
}

TEST(workers_have_their_names_before_they_allocate_memory)
{
    struct names_seen seen = {.main = pthread_self()};

    for (int i = 0; i < 30; i++) {
        struct dataset *dataset = folders("named", 4, 0, 0);
        struct pool *pool = new_pool();
        struct loader_options options = classifier(dataset, pool, 1);
        struct loader *loader;
        struct batch batch;

        options.n_workers = 4;
        pool_observe(pool, (struct pool_observer){look_at_name, &seen});
        loader = begin(&options);
        while (next(loader, &batch))
            batch_release(&batch);
        end(loader, pool, dataset);
    }
    CHECK_INT(seen.n_others, 0);
}

TEST(a_loader_stops_cleanly_in_the_middle_of_its_work)
{
    for (int i = 0; i < 20; i++) {
        struct dataset *dataset = shapes(50);
        long before = mem_live();
        struct pool *pool = new_pool();
        struct loader_options options = detector(dataset, pool, 2);
        struct loader *loader;
        struct batch batch;

        options.n_workers = 3;
        options.n_epochs = 0;
        loader = begin(&options);
        for (int k = 0; k < i % 3; k++) {
            CHECK(next(loader, &batch));
            batch_release(&batch);
        }
        loader_free(loader);
        CHECK_INT(pool_usage(pool).live_bytes, 0);
        pool_free(pool);
        CHECK_INT(mem_live(), before);
        dataset_close(dataset);
    }
}

TEST(running_out_of_memory_loses_nothing_and_skips_nothing)
{
    struct dataset *dataset = shapes(4);
    long before = mem_live();
    enum assay_status st = ASSAY_NOMEM;

    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        struct heard heard = {0};
        struct pool *pool = new_pool();
        struct loader_options options = detector(dataset, pool, 2);
        struct loader *loader = NULL;
        struct batch batch = {0};

        options.has_masks = true;
        options.listener = (struct loader_listener){hear, &heard};
        err = (struct error){0};
        mem_fail_at(nth);
        st = loader_new(&options, &loader, &err);
        for (int i = 0; !st && i < 2; i++) {
            struct batch_source source = loader_source(loader);

            if (i == 0)
                st =
                    source.begin(source.context, (struct batch_place){0}, &err);
            if (!st)
                st = source.next(source.context, &batch, &err);
            CHECK(st || batch.n_images == 2);
            batch_release(&batch);
        }
        mem_fail_at(-1);
        CHECK_INT(heard.n, 0);
        loader_free(loader);
        pool_free(pool);
        CHECK_INT(mem_live(), before);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
    dataset_close(dataset);
}

/* ---- pace ------------------------------------------------------------- */

TEST(the_pace_shows_the_waiting_and_how_many_workers_would_do)
{
    /* Ten steps of 80 ms and 20 ms of waiting; a batch takes 200 ms to make. */
    const struct loader_pace slow = {.n_batches = 11,
                                     .n_images = 44,
                                     .made_ns = 11 * INT64_C(200000000),
                                     .first_wait_ns = INT64_C(900000000),
                                     .wait_ns = 10 * INT64_C(20000000),
                                     .between_ns = 10 * INT64_C(80000000)};
    const struct loader_pace none = {.n_batches = 1, .n_images = 4};

    CHECK_NEAR(loader_stall_share(&slow), 0.2, 1e-12);
    CHECK_INT(loader_image_ns(&slow), 50000000);
    CHECK_INT(loader_wanted_workers(&slow), 3); /* 2.5 of them */
    CHECK_NEAR(loader_stall_share(&none), 0, 0);
    CHECK_INT(loader_wanted_workers(&none), 0);
}

/* Every call is a millisecond later. */
static int64_t count_looks(void *context)
{
    return ++*(int64_t *)context * 1000000;
}

TEST(waiting_making_and_the_time_between_are_measured_separately)
{
    struct dataset *dataset = folders("pace", 4, 0, 0);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 2);
    int64_t looks = 0;
    struct loader *loader;
    struct loader_pace pace;
    struct batch batch;

    options.clock = (struct clock){count_looks, &looks};
    loader = begin(&options);
    for (int i = 0; i < 2; i++) {
        CHECK(next(loader, &batch));
        /* Asked, began and ended twice, got: five calls after the first. */
        CHECK_INT(batch.wait_ns, 5000000);
        CHECK_INT(batch.made_ns, 2000000);
        batch_release(&batch);
        looks += 10; /* the step */
    }
    pace = loader_pace(loader);
    CHECK_INT(pace.n_batches, 2);
    CHECK_INT(pace.n_images, 4);
    CHECK_INT(pace.first_wait_ns, 5000000);
    CHECK_INT(pace.wait_ns, 5000000);
    CHECK_INT(pace.between_ns, 11000000);
    CHECK_INT(pace.made_ns, 4000000);
    end(loader, pool, dataset);
}

/* Batches: which come, in which order, and what happens to samples that are no
 * good. */
#include "base/mem.h"
#include "data/loader.h"
#include "made_files.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct error err;

/* ---- datasets ---------------------------------------------------------- */

static struct dataset *shapes(size_t n)
{
    const struct dataset_options options = {
        .kind = DATASET_SYNTHETIC,
        .limit = n,
        .synthetic = {.width = 40, .height = 32, .seed = 7}};
    struct dataset *dataset;

    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

/* n classes with an image each, so that a label tells which one it is; those
 * from `broken` on, so many, are no pictures. */
static struct dataset *folders(const char *name, size_t n, size_t broken,
                               size_t n_broken)
{
    const struct dataset_options options = {.kind = DATASET_IMAGEFOLDER,
                                            .path = test_path(name)};
    struct dataset *dataset;
    char path[1024];

    for (size_t i = 0; i < n; i++) {
        const uint8_t grey[3] = {(uint8_t)i, (uint8_t)i, (uint8_t)i};

        snprintf(path, sizeof path, "%s/%03zu/it.png", test_path(name), i);
        if (i >= broken && i < broken + n_broken)
            write_text(path, "this is no picture");
        else
            write_photo(path, 3, 2, grey);
    }
    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

/* The upper left pixel's red, three times. */
static enum assay_status take_red(const void *context,
                                  const struct picture *picture, float *out,
                                  struct error *e)
{
    (void)context, (void)e;
    for (int i = 0; i < 3 * 2 * 2; i++)
        out[i] = (float)picture->rgb[0];
    return ASSAY_OK;
}

static const struct sample_fit red_fit = {2, 2, take_red, NULL};

/* ---- loaders ------------------------------------------------------------ */

static struct loader_options classifier(const struct dataset *dataset,
                                        struct pool *pool, size_t batch)
{
    return (struct loader_options){.dataset = dataset,
                                   .pool = pool,
                                   .fit = &red_fit,
                                   .n_classes =
                                       (int64_t)dataset_class_count(dataset),
                                   .batch_size = batch,
                                   .prefetch_factor = 2,
                                   .n_epochs = 1};
}

static struct loader_options detector(const struct dataset *dataset,
                                      struct pool *pool, size_t batch)
{
    struct loader_options options = classifier(dataset, pool, batch);

    options.fit = NULL;
    options.n_classes++;
    return options;
}

static struct pool *new_pool(void)
{
    struct pool *pool;

    err = (struct error){0};
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    return pool;
}

static struct loader *begin_at(const struct loader_options *options,
                               struct batch_place place)
{
    struct batch_source source;
    struct loader *loader;

    err = (struct error){0};
    CHECK_STATUS(loader_new(options, &loader, &err), ASSAY_OK, &err);
    source = loader_source(loader);
    CHECK_STATUS(source.begin(source.context, place, &err), ASSAY_OK, &err);
    return loader;
}

static struct loader *begin(const struct loader_options *options)
{
    return begin_at(options, (struct batch_place){0});
}

/* False at the end. The caller releases the batch. */
static bool next(struct loader *loader, struct batch *batch)
{
    struct batch_source source = loader_source(loader);

    *batch = (struct batch){0};
    CHECK_STATUS(source.next(source.context, batch, &err), ASSAY_OK, &err);
    return batch->n_images > 0;
}

static void end(struct loader *loader, struct pool *pool,
                struct dataset *dataset)
{
    loader_free(loader);
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    pool_free(pool);
    dataset_close(dataset);
}

/* ---- fingerprints -------------------------------------------------------- */

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

/* Of all that is left. */
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

/* ---- order ----------------------------------------------------------------
 */

TEST(without_shuffling_samples_come_as_the_dataset_has_them)
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
    CHECK(!next(loader, &batch)); /* and stays at the end */
    end(loader, pool, dataset);
}

TEST(the_batch_that_is_smaller_can_be_dropped)
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

TEST(an_epoch_has_every_sample_once_and_the_next_another_order)
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

/* Everything that is drawn, and everything that a batch has. */
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

TEST(a_loader_goes_on_from_any_place_as_if_it_had_come_there)
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
    CHECK_INT(after[3].epoch, 1); /* 11 samples are four batches */
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

/* ---- what is in a batch ----------------------------------------------------
 */

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

/* ---- samples that are no good -----------------------------------------------
 */

struct heard {
    int n;
    char last[256];
};

static void hear(void *context, const char *why)
{
    struct heard *heard = context;

    heard->n++;
    snprintf(heard->last, sizeof heard->last, "%s", why);
}

static void check_skipping(const char *name, size_t n_workers)
{
    struct dataset *dataset = folders(name, 8, 1, 1);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 4);
    struct heard heard = {0};
    struct loader *loader;
    struct batch batch;

    options.n_workers = n_workers;
    options.listener = (struct loader_listener){hear, &heard};
    options.n_epochs = 2;
    loader = begin(&options);
    for (int i = 0; i < 4; i++) {
        CHECK(next(loader, &batch));
        CHECK_INT(batch.n_images, i % 2 ? 4 : 3);
        CHECK_INT(batch.n_skipped, i % 2 ? 0 : 1);
        CHECK_INT(batch.images[0].shape.dims[0], batch.n_images);
        if (i % 2 == 0) { /* the others have moved up */
            CHECK_INT(tensor_i64(&batch.labels)[1], 2);
            CHECK_NEAR(tensor_f32(&batch.images[0])[12], 2, 0);
            CHECK_NEAR(tensor_f32(&batch.images[0])[24], 3, 0);
        }
        batch_release(&batch);
    }
    CHECK(!next(loader, &batch));
    CHECK_INT(heard.n, 1);
    CHECK_HAS(heard.last, "001/it.png");
    CHECK_INT(loader_counts(loader).n_skipped, 1);
    end(loader, pool, dataset);
}

TEST(a_broken_image_is_named_once_and_left_out_of_every_epoch)
{
    check_skipping("broken", 0);
    check_skipping("broken", 3);
}

TEST(a_batch_of_broken_images_is_passed_over)
{
    struct dataset *dataset = folders("gap", 6, 2, 2);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 2);
    struct loader *loader = begin(&options);
    struct batch batch;

    CHECK(next(loader, &batch));
    batch_release(&batch);
    CHECK(next(loader, &batch));
    CHECK_INT(tensor_i64(&batch.labels)[0], 4);
    CHECK_INT(batch.first.index, 4);
    CHECK_INT(batch.n_skipped, 2);
    batch_release(&batch);
    CHECK(!next(loader, &batch));
    end(loader, pool, dataset);
}

TEST(a_dataset_of_broken_images_is_an_error_and_no_endless_search)
{
    struct dataset *dataset = folders("all", 5, 0, 5);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 2);
    struct loader *loader;
    struct batch_source source;
    struct batch batch = {0};

    options.n_epochs = 0;
    options.n_workers = 2;
    loader = begin(&options);
    source = loader_source(loader);
    CHECK_INT(source.next(source.context, &batch, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "none of the 5 images");
    CHECK_HAS(err.text, "it.png");
    batch_release(&batch);
    end(loader, pool, dataset);
}

/* A Pascal VOC dataset with images of 20x10 pixels. */
static struct dataset *annotated(const char *name, const char *const *xmls,
                                 size_t n)
{
    static const uint8_t grey[3] = {9, 9, 9};
    const struct dataset_options options = {.kind = DATASET_VOC,
                                            .path = test_path(name)};
    struct dataset *dataset;
    struct str list = {0};
    char path[1024], text[4096];

    for (size_t i = 0; i < n; i++) {
        str_printf(&list, "%zu\n", i);
        snprintf(path, sizeof path, "%s/JPEGImages/%zu.png", test_path(name),
                 i);
        write_photo(path, 20, 10, grey);
        snprintf(path, sizeof path, "%s/Annotations/%zu.xml", test_path(name),
                 i);
        snprintf(text, sizeof text, "<annotation>%s</annotation>", xmls[i]);
        write_text(path, text);
    }
    snprintf(path, sizeof path, "%s/ImageSets/Main/train.txt", test_path(name));
    write_text(path, list.text);
    str_release(&list);
    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

#define SIZE(w, h) "<size><width>" w "</width><height>" h "</height></size>"
#define BOX(a, b, c, d)                                                        \
    "<object><name>cat</name><bndbox><xmin>" a "</xmin><ymin>" b               \
    "</ymin><xmax>" c "</xmax><ymax>" d "</ymax></bndbox></object>"

TEST(boxes_are_cut_to_the_image_and_those_outside_left_out)
{
    const char *const xmls[] = {
        SIZE("20", "10") BOX("11", "3", "40", "8"),
        SIZE("20", "10") BOX("2", "2", "4", "4") BOX("31", "2", "35", "4")
            BOX("5", "5", "4", "9"),
    };
    struct dataset *dataset = annotated("cut", xmls, 2);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 2);
    struct loader *loader = begin(&options);
    struct batch batch;

    CHECK(next(loader, &batch));
    CHECK_INT(batch.n_images, 2);
    CHECK_INT(tensor_i64(&batch.counts)[0], 1);
    CHECK_INT(tensor_i64(&batch.counts)[1], 1);
    CHECK_NEAR(tensor_f32(&batch.boxes)[0], 10, 0);
    CHECK_NEAR(tensor_f32(&batch.boxes)[1], 2, 0);
    CHECK_NEAR(tensor_f32(&batch.boxes)[2], 20, 0);
    CHECK_NEAR(tensor_f32(&batch.boxes)[3], 8, 0);
    CHECK_INT(loader_counts(loader).n_cut_boxes, 1);
    CHECK_INT(loader_counts(loader).n_left_boxes, 2);
    batch_release(&batch);
    end(loader, pool, dataset);
}

TEST(images_without_a_box_are_never_asked_for)
{
    const char *const xmls[] = {SIZE("20", "10"),
                                SIZE("20", "10") BOX("1", "1", "5", "5"),
                                SIZE("20", "10") BOX("31", "1", "35", "5")};
    struct dataset *dataset = annotated("without", xmls, 3);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 2);
    struct loader *loader = begin(&options);
    struct batch batch;

    CHECK_INT(loader_samples(loader), 1);
    CHECK_INT(loader_counts(loader).n_without, 2);
    CHECK(next(loader, &batch));
    CHECK_INT(batch.n_images, 1);
    batch_release(&batch);
    CHECK(!next(loader, &batch));
    end(loader, pool, dataset);
}

TEST(an_image_of_another_size_than_its_annotation_is_skipped_by_name)
{
    const char *const xmls[] = {SIZE("30", "10") BOX("1", "1", "5", "5"),
                                BOX("1", "1", "5", "5")};
    struct dataset *dataset = annotated("sizes", xmls, 2);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 2);
    struct heard heard = {0};
    struct loader *loader;
    struct batch batch;

    options.listener = (struct loader_listener){hear, &heard};
    loader = begin(&options);
    CHECK(next(loader, &batch));
    CHECK_INT(batch.n_images, 1);
    CHECK_HAS(heard.last, "0.png has 20x10 pixels");
    CHECK_HAS(heard.last, "30x10");
    batch_release(&batch);
    end(loader, pool, dataset);
}

/* ---- classes
 * ----------------------------------------------------------------- */

static void check_refused(const struct loader_options *options, const char *why)
{
    struct loader *loader;

    err = (struct error){0};
    CHECK_STATUS(loader_new(options, &loader, &err), ASSAY_BAD_USAGE, &err);
    CHECK(loader == NULL);
    CHECK_HAS(err.text, why);
}

TEST(a_number_of_classes_that_is_not_the_datasets_is_refused)
{
    struct dataset *dataset = shapes(2);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 1);

    options.n_classes = 91;
    check_refused(&options, "num_classes = 4");
    options.n_classes = 3;
    check_refused(&options, "3 beside the background");
    pool_free(pool);
    dataset_close(dataset);
    dataset = folders("classes", 3, 0, 0);
    options = classifier(dataset, NULL, 1);
    options.n_classes = 4;
    check_refused(&options, "num_classes = 3");
    dataset_close(dataset);
}

TEST(a_task_that_the_dataset_has_no_answers_for_is_refused)
{
    struct dataset *dataset = shapes(2);
    struct loader_options options = classifier(dataset, NULL, 1);

    check_refused(&options, "train a detector");
    options.batch_size = 0;
    check_refused(&options, "batch_size");
    options = classifier(dataset, NULL, 1);
    options.n_workers = 1;
    options.prefetch_factor = 0;
    check_refused(&options, "prefetch_factor");
    dataset_close(dataset);
    dataset = folders("task", 2, 0, 0);
    options = detector(dataset, NULL, 1);
    check_refused(&options, "train a classifier");
    options = classifier(dataset, NULL, 3);
    options.drops_last = true;
    check_refused(&options, "2 images do not make one batch of 3");
    dataset_close(dataset);
}

TEST(cocos_numbers_are_labels_where_the_model_has_room_for_them)
{
    static const char json[] =
        "{\"images\":[{\"id\":5,\"file_name\":\"a.png\",\"width\":4,"
        "\"height\":4}],\"categories\":[{\"id\":3,\"name\":\"car\"},"
        "{\"id\":90,\"name\":\"brush\"}],\"annotations\":[{\"id\":1,"
        "\"image_id\":5,\"category_id\":90,\"bbox\":[0,0,2,2],\"area\":4,"
        "\"iscrowd\":0},{\"id\":2,\"image_id\":5,\"category_id\":3,"
        "\"bbox\":[0,0,3,3],\"area\":9,\"iscrowd\":1,\"segmentation\":"
        "{\"size\":[4,4],\"counts\":[0,16]}}]}";
    static const uint8_t grey[3] = {5, 5, 5};
    const struct dataset_options open = {.kind = DATASET_COCO,
                                         .path = test_path("coco/all.json")};
    const int64_t n_classes[] = {91, 3}, labels[] = {90, 2};
    struct pool *pool = new_pool();
    struct dataset *dataset;

    write_text(test_path("coco/all.json"), json);
    write_photo(test_path("coco/a.png"), 4, 4, grey);
    CHECK_STATUS(dataset_open(&open, &dataset, &err), ASSAY_OK, &err);
    for (int i = 0; i < 2; i++) {
        struct loader_options options = detector(dataset, pool, 1);
        struct loader *loader;
        struct batch batch;

        options.n_classes = n_classes[i];
        loader = begin(&options);
        CHECK(next(loader, &batch));
        CHECK_INT(tensor_i64(&batch.counts)[0], 1); /* a crowd is none */
        CHECK_INT(tensor_i64(&batch.labels)[0], labels[i]);
        batch_release(&batch);
        loader_free(loader);
    }
    end(NULL, pool, dataset);
}

/* ---- bounds and ends
 * ---------------------------------------------------------- */

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
    /* Six batches and the one that has just been taken from its slot. */
    CHECK(counted.most_ahead <= (6 + 1) * 2);
    CHECK_INT(counted.n_begun, 24 * 4);
    end(loader, pool, dataset);
}

TEST(a_loader_that_is_in_the_middle_of_it_stops_cleanly)
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

/* ---- pace
 * ------------------------------------------------------------------------ */

TEST(the_pace_says_what_was_waited_for_and_how_many_workers_would_do)
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

/* Every look at it is a millisecond later. */
static int64_t count_looks(void *context)
{
    return ++*(int64_t *)context * 1000000;
}

TEST(waiting_and_making_are_measured_apart_from_what_lies_between)
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
        /* Asked, began and ended twice, got: five looks after the first. */
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

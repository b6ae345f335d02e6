/* Samples that cannot go into a batch, and options that do not fit. */
#include "batches.h"

/* ---- unusable samples ------------------------------------------------- */

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
        if (i % 2 == 0) { /* the others moved up */
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

static uint64_t sum_filled(struct dataset *dataset, size_t n_workers)
{
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 4);
    struct heard heard = {0};
    struct loader *loader;
    struct batch batch;
    uint64_t sum = 0;

    options.n_workers = n_workers;
    options.fills = options.shuffles = true;
    options.n_epochs = 3;
    options.listener = (struct loader_listener){hear, &heard};
    loader = begin(&options);
    for (int i = 0; i < 6; i++) {
        CHECK(next(loader, &batch));
        CHECK_INT(batch.n_images, 4);
        for (size_t k = 0; k < 4; k++) {
            int64_t label = tensor_i64(&batch.labels)[k];

            CHECK(label != 1 && label != 2);
            CHECK_NEAR(tensor_f32(&batch.images[0])[12 * k], (double)label, 0);
            sum = sum * 11 + (uint64_t)label;
        }
        batch_release(&batch);
    }
    CHECK_INT(heard.n, 2);
    CHECK_INT(loader_counts(loader).n_skipped, 2);
    loader_free(loader);
    pool_free(pool);
    return sum;
}

TEST(gaps_can_be_filled_so_that_batches_stay_full)
{
    struct dataset *dataset = folders("fill", 8, 1, 2);

    CHECK(sum_filled(dataset, 0) == sum_filled(dataset, 3));
    dataset_close(dataset);
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

TEST(a_dataset_of_broken_images_is_an_error_not_an_endless_search)
{
    struct dataset *dataset = folders("all", 5, 0, 5);
    struct pool *pool = new_pool();
    struct loader_options options = classifier(dataset, pool, 2);
    struct loader *loader;
    struct batch_source source;
    struct batch batch = {0};

    options.n_epochs = 0;
    options.n_workers = 2;
    for (int i = 0; i < 2; i++) {
        options.fills = i == 1;
        loader = begin(&options);
        source = loader_source(loader);
        CHECK_INT(source.next(source.context, &batch, &err), ASSAY_BAD_INPUT);
        CHECK_HAS(err.text, "none of the 5 images");
        CHECK_HAS(err.text, "it.png");
        batch_release(&batch);
        loader_free(loader);
    }
    end(NULL, pool, dataset);
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

TEST(boxes_are_cut_to_the_image_and_those_outside_are_left_out)
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

TEST(images_without_a_box_are_never_used)
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

/* ---- classes ---------------------------------------------------------- */

static void check_refused(const struct loader_options *options, const char *why)
{
    struct loader *loader;

    err = (struct error){0};
    CHECK_STATUS(loader_new(options, &loader, &err), ASSAY_BAD_USAGE, &err);
    CHECK(loader == NULL);
    CHECK_HAS(err.text, why);
}

TEST(a_number_of_classes_other_than_the_datasets_is_refused)
{
    struct dataset *dataset = shapes(2);
    struct pool *pool = new_pool();
    struct loader_options options = detector(dataset, pool, 1);

    options.n_classes = 91;
    check_refused(&options, "num_classes = 4");
    options.n_classes = 3;
    check_refused(&options, "3 besides the background");
    pool_free(pool);
    dataset_close(dataset);
    dataset = folders("classes", 3, 0, 0);
    options = classifier(dataset, NULL, 1);
    options.n_classes = 4;
    check_refused(&options, "num_classes = 3");
    dataset_close(dataset);
}

TEST(a_task_without_answers_in_the_dataset_is_refused)
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

TEST(cocos_numbers_are_labels_if_the_model_has_room_for_them)
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
        CHECK_INT(tensor_i64(&batch.counts)[0], 1); /* a crowd does not count */
        CHECK_INT(tensor_i64(&batch.labels)[0], labels[i]);
        batch_release(&batch);
        loader_free(loader);
    }
    end(NULL, pool, dataset);
}

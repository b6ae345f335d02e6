/* Oxford-IIIT Pet: a real slice of it, and small ones with every oddity. */
#include "base/mem.h"
#include "data/loader.h"
#include "made_files.h"

#include <unistd.h>

static struct error err;

/* ---- a small one ------------------------------------------------------ */

static const char *in_root(const char *name, const char *file)
{
    static char path[4][1200];
    static int i;

    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", test_path(name), file);
    return path[i];
}

static void write_image(const char *name, const char *id, int width, int height)
{
    static const uint8_t grey[3] = {50, 50, 50};
    char file[200];

    snprintf(file, sizeof file, "images/%s.jpg", id);
    write_photo(in_root(name, file), width, height, grey);
}

/* Grey PNG files with the given value in the pixels from `first` up to `end` of
 * each row from `top` up to `bottom`; 3 around them, and 2 elsewhere. */
static void write_trimap(const char *name, const char *id, int width,
                         int height, const int box[4], uint8_t value)
{
    struct picture picture;
    struct str bytes = {0};
    struct sink sink = sink_to_str(&bytes);
    char file[200];

    CHECK_STATUS(picture_init(&picture, width, height, &err), ASSAY_OK, &err);
    for (int i = 0; i < width * height; i++) {
        int x = i % width, y = i / width;
        bool is_in = x >= box[0] && x < box[2] && y >= box[1] && y < box[3];
        bool is_border = x >= box[0] - 1 && x < box[2] + 1 && y >= box[1] - 1 &&
                         y < box[3] + 1;

        memset(picture.rgb + 3 * i, is_in ? value : is_border ? 3 : 2, 3);
    }
    CHECK_STATUS(picture_write_png(&picture, &sink, &err), ASSAY_OK, &err);
    snprintf(file, sizeof file, "annotations/trimaps/%s.png", id);
    write_file(in_root(name, file), bytes.text, bytes.n);
    picture_release(&picture);
    str_release(&bytes);
}

#define SIZE "<size><width>20</width><height>10</height></size>"
#define BOX(a, b, c, d)                                                        \
    "<object><name>cat</name><bndbox><xmin>" a "</xmin><ymin>" b               \
    "</ymin><xmax>" c "</xmax><ymax>" d "</ymax></bndbox></object>"

static void write_xml(const char *name, const char *id, const char *content)
{
    char file[200], text[2000];

    snprintf(file, sizeof file, "annotations/xmls/%s.xml", id);
    snprintf(text, sizeof text, "<annotation>%s</annotation>", content);
    write_text(in_root(name, file), text);
}

static void write_list(const char *name, const char *text)
{
    write_text(in_root(name, "annotations/trainval.txt"), text);
    write_text(in_root(name, "annotations/test.txt"), "");
    write_text(in_root(name, "annotations/list.txt"), text);
}

static const int pet_box[4] = {4, 2, 9, 7};

/* An image of 20x10 with a trimap, and an XML file unless it is NULL. */
static void write_sample(const char *name, const char *id, const char *xml)
{
    write_image(name, id, 20, 10);
    write_trimap(name, id, 20, 10, pet_box, 1);
    if (xml)
        write_xml(name, id, xml);
}

static struct dataset *open_pets(const char *path, enum dataset_split split,
                                 bool keeps_shapes)
{
    const struct dataset_options options = {.kind = DATASET_PETS,
                                            .split = split,
                                            .path = path,
                                            .keeps_shapes = keeps_shapes,
                                            .lists_strays = true};
    struct dataset *dataset;

    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

static bool is_odd(const struct dataset *dataset, const char *what,
                   const char *why)
{
    for (size_t i = 0; i < dataset_odd_count(dataset); i++) {
        if (strstr(dataset_odd(dataset, i), what) &&
            strstr(dataset_odd(dataset, i), why))
            return true;
    }
    return false;
}

static struct dataset_target target_of(const struct dataset *dataset, size_t i)
{
    struct dataset_target target = {0};

    err = (struct error){0};
    CHECK_STATUS(dataset_target(dataset, i, &target, &err), ASSAY_OK, &err);
    return target;
}

static void check_box(const struct dataset_target *target, double x, double y,
                      double width, double height)
{
    CHECK_INT(target->n_objects, 1);
    CHECK_NEAR(target->objects[0].x, x, 0);
    CHECK_NEAR(target->objects[0].y, y, 0);
    CHECK_NEAR(target->objects[0].width, width, 0);
    CHECK_NEAR(target->objects[0].height, height, 0);
    CHECK_INT(target->objects[0].label, target->label);
}

/* ---- reading ---------------------------------------------------------- */

TEST(the_box_comes_from_the_xml_file_or_else_from_the_trimap)
{
    struct dataset_target target;
    struct dataset *dataset;

    write_sample("boxes", "beagle_1", SIZE BOX("3", "2", "12", "6"));
    write_sample("boxes", "Bombay_7", NULL);
    write_list("boxes", "#Image CLASS-ID SPECIES BREED ID\n"
                        "beagle_1 5 2 4\nBombay_7 8 1 4\n");
    dataset = open_pets(test_path("boxes"), DATASET_TRAIN, false);
    CHECK_INT(dataset_count(dataset), 2);
    CHECK_INT(dataset_odd_count(dataset), 0);
    CHECK(dataset_has_objects(dataset));
    target = target_of(dataset, 0);
    CHECK_STR(dataset_class_name(dataset, (size_t)target.label), "Beagle");
    check_box(&target, 2, 1, 10, 5);
    CHECK(dataset_is_at_hand(dataset, 0));
    CHECK(!dataset_is_at_hand(dataset, 1));
    target = target_of(dataset, 1);
    CHECK_STR(dataset_class_name(dataset, (size_t)target.label), "Bombay");
    check_box(&target, 4, 2, 5, 5);
    CHECK_INT(target.width, 20);
    CHECK(dataset_is_at_hand(dataset, 1));
    dataset_close(dataset);
}

TEST(masks_are_the_part_of_the_animal_inside_the_box)
{
    struct dataset_target target;
    struct mask mask = {0};
    struct dataset *dataset;
    uint8_t pixels[20 * 10];

    write_sample("masks", "a_1", SIZE BOX("1", "1", "6", "4"));
    write_sample("masks", "a_2", NULL);
    write_list("masks", "a_1 1 1 1\na_2 1 1 1\n");
    dataset = open_pets(test_path("masks"), DATASET_TRAIN, true);
    for (size_t i = 0; i < 2; i++) {
        target = target_of(dataset, i);
        CHECK_INT(dataset_object_mask(&target.objects[0], 20, 10, &mask, &err),
                  ASSAY_OK);
        mask_to_pixels(&mask, pixels);
        for (int k = 0; k < 200; k++) {
            int x = k % 20, y = k / 20;
            bool is_pet = x >= 4 && x < 9 && y >= 2 && y < 7;
            bool is_in = i == 1 || (x < 6 && y < 4);

            CHECK_INT(pixels[k], is_pet && is_in);
        }
    }
    mask_release(&mask);
    dataset_close(dataset);
}

TEST(a_real_slice_is_read_as_torchvision_reads_it)
{
    const char *path = test_shared("datasets/oxford-iiit-pet");
    struct dataset_target target;
    struct dataset *dataset;
    struct mask mask = {0};

    if (!path)
        SKIP("shared data: no datasets/oxford-iiit-pet");
    dataset = open_pets(path, DATASET_TRAIN, true);
    CHECK_INT(dataset_count(dataset), 57);
    CHECK_INT(dataset_class_count(dataset), 37);
    CHECK_STR(dataset_class_name(dataset, 2), "American Pit Bull Terrier");
    CHECK_STR(dataset_class_name(dataset, 36), "Yorkshire Terrier");
    target = target_of(dataset, 1);
    CHECK_INT(target.label, 3);
    check_box(&target, 210, 19, 196, 217);
    CHECK_INT(dataset_object_mask(&target.objects[0], 500, 333, &mask, &err),
              ASSAY_OK);
    CHECK_INT(mask_area(&mask), 30216);
    CHECK(is_odd(dataset, "images/Abyssinian_34.jpg", "in no list"));
    CHECK_INT(dataset_odd_count(dataset), 5);
    dataset_close(dataset);

    dataset = open_pets(path, DATASET_TEST, true);
    CHECK_INT(dataset_count(dataset), 11);
    target = target_of(dataset, 0); /* a PNG named .jpg */
    check_box(&target, 0, 0, 181, 150);
    CHECK_INT(dataset_object_mask(&target.objects[0], 200, 150, &mask, &err),
              ASSAY_OK);
    CHECK_INT(mask_area(&mask), 23185);
    mask_release(&mask);
    dataset_close(dataset);
}

/* ---- oddities --------------------------------------------------------- */

TEST(missing_files_leave_a_sample_out_and_are_named)
{
    struct dataset *dataset;

    write_sample("missing", "here_1", SIZE BOX("1", "1", "4", "4"));
    write_image("missing", "bare_1", 20, 10);
    write_list("missing", "gone_1 1 1 1\nbare_1 1 1 1\nhere_1 1 1 1\n");
    dataset = open_pets(test_path("missing"), DATASET_TRAIN, false);
    CHECK_INT(dataset_count(dataset), 1);
    CHECK(is_odd(dataset, "images/gone_1.jpg", "missing"));
    CHECK(is_odd(dataset, "images/bare_1.jpg", "no box and no trimap"));
    dataset_close(dataset);
}

TEST(an_xml_file_without_a_usable_box_gives_way_to_the_trimap)
{
    static const char *const xmls[] = {SIZE, SIZE BOX("31", "1", "35", "4"),
                                       SIZE BOX("5", "5", "4", "9"),
                                       SIZE "<object>", "&nothing;"};
    static const char *const whys[] = {"no usable box", "outside", "no size",
                                       "mismatched", "undefined entity"};
    struct dataset *dataset;
    struct str list = {0};
    char id[20];

    for (size_t i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "x_%zu", i);
        write_sample("noboxes", id, xmls[i]);
        str_printf(&list, "%s 3 1 1\n", id);
    }
    write_list("noboxes", list.text);
    dataset = open_pets(test_path("noboxes"), DATASET_TRAIN, false);
    CHECK_INT(dataset_count(dataset), 5);
    for (size_t i = 0; i < 5; i++) {
        struct dataset_target target = target_of(dataset, i);

        snprintf(id, sizeof id, "x_%zu.xml", i);
        CHECK(is_odd(dataset, id, whys[i]));
        CHECK(is_odd(dataset, id, "using the trimap's"));
        check_box(&target, 4, 2, 5, 5);
    }
    dataset_close(dataset);
    str_release(&list);
}

TEST(a_box_that_reaches_out_of_the_image_is_kept_and_reported)
{
    struct dataset_target target;
    struct dataset *dataset;

    write_sample("out", "x_1", SIZE BOX("15", "1", "40", "5"));
    write_list("out", "x_1 1 1 1\n");
    dataset = open_pets(test_path("out"), DATASET_TRAIN, false);
    target = target_of(dataset, 0);
    check_box(&target, 14, 0, 26, 5);
    CHECK(is_odd(dataset, "x_1.xml", "reaches out"));
    dataset_close(dataset);
}

static void check_target_fails(const char *name, const char *why)
{
    struct dataset *dataset = open_pets(test_path(name), DATASET_TRAIN, true);
    struct dataset_target target;

    err = (struct error){0};
    CHECK_INT(dataset_target(dataset, 0, &target, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "x_1.png");
    CHECK_HAS(err.text, why);
    dataset_close(dataset);
}

TEST(a_bad_trimap_or_one_of_another_size_is_an_error_of_its_sample)
{
    const int nothing[4] = {0};

    write_image("empty", "x_1", 20, 10);
    write_trimap("empty", "x_1", 20, 10, nothing, 1);
    write_list("empty", "x_1 1 1 1\n");
    check_target_fails("empty", "no animal");

    write_image("values", "x_1", 20, 10);
    write_trimap("values", "x_1", 20, 10, pet_box, 7);
    write_list("values", "x_1 1 1 1\n");
    check_target_fails("values", "a pixel is 7");

    write_image("small", "x_1", 20, 10);
    write_trimap("small", "x_1", 19, 10, pet_box, 1);
    write_xml("small", "x_1", SIZE BOX("1", "1", "4", "4"));
    write_list("small", "x_1 1 1 1\n");
    check_target_fails("small", "19x10");
}

static void hear(void *context, const char *why)
{
    snprintf(context, 256, "%s", why);
}

TEST(an_image_that_does_not_match_its_trimap_is_skipped_by_name)
{
    struct loader_options options = {.n_classes = 38, .batch_size = 2};
    struct batch_source source;
    struct dataset *dataset;
    struct loader *loader;
    struct batch batch = {0};
    struct pool *pool;
    char heard[256] = "";

    write_sample("match", "x_1", NULL);
    write_image("match", "x_2", 30, 10);
    write_trimap("match", "x_2", 20, 10, pet_box, 1);
    write_list("match", "x_1 1 1 1\nx_2 1 1 1\n");
    dataset = open_pets(test_path("match"), DATASET_TRAIN, false);
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    options.dataset = dataset;
    options.pool = pool;
    options.listener = (struct loader_listener){hear, heard};
    CHECK_STATUS(loader_new(&options, &loader, &err), ASSAY_OK, &err);
    source = loader_source(loader);
    CHECK_INT(source.begin(loader, (struct batch_place){0}, &err), ASSAY_OK);
    CHECK_STATUS(source.next(loader, &batch, &err), ASSAY_OK, &err);
    CHECK_INT(batch.n_images, 1);
    CHECK_INT(tensor_i64(&batch.labels)[0], 1);
    CHECK_HAS(heard, "x_2.jpg has 30x10");
    batch_release(&batch);
    loader_free(loader);
    pool_free(pool);
    dataset_close(dataset);
}

/* A sum over boxes and masks of two epochs; trimaps are read in the first. */
static uint64_t sum_batches(size_t n_workers)
{
    struct dataset *dataset =
        open_pets(test_path("workers"), DATASET_TRAIN, true);
    struct loader_options options = {.dataset = dataset,
                                     .has_masks = true,
                                     .n_classes = 38,
                                     .batch_size = 3,
                                     .n_workers = n_workers,
                                     .prefetch_factor = 4,
                                     .n_epochs = 2,
                                     .shuffles = true};
    struct batch_source source;
    struct loader *loader;
    struct batch batch = {0};
    uint64_t sum = 0;
    enum assay_status st;

    CHECK_STATUS(pool_new(&options.pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(loader_new(&options, &loader, &err), ASSAY_OK, &err);
    source = loader_source(loader);
    CHECK_INT(source.begin(loader, (struct batch_place){0}, &err), ASSAY_OK);
    while (!(st = source.next(loader, &batch, &err)) && batch.n_images) {
        for (size_t i = 0; i < batch.n_images; i++) {
            const uint8_t *mask = tensor_data(&batch.masks[i]);

            CHECK_INT(tensor_bytes(&batch.masks[i]), 200);
            for (int k = 0; k < 200; k++)
                sum = sum * 31 + mask[k];
            sum += (uint64_t)tensor_f32(&batch.boxes)[4 * i + 2];
        }
        batch_release(&batch);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
    loader_free(loader);
    pool_free(options.pool);
    dataset_close(dataset);
    return sum;
}

TEST(trimaps_can_be_read_by_several_workers)
{
    struct str list = {0};

    for (int i = 0; i < 12; i++) {
        const int box[4] = {i, 1, i + 5, 6};
        char id[20];

        snprintf(id, sizeof id, "x_%d", i);
        write_image("workers", id, 20, 10);
        write_trimap("workers", id, 20, 10, box, 1);
        str_printf(&list, "%s 1 1 1\n", id);
    }
    write_list("workers", list.text);
    str_release(&list);
    CHECK(sum_batches(0) == sum_batches(4));
}

TEST(leftovers_in_the_folders_are_named_and_are_not_samples)
{
    struct dataset *dataset;

    write_sample("strays", "x_1", SIZE BOX("1", "1", "4", "4"));
    write_list("strays", "x_1 1 1 1\n");
    write_text(in_root("strays", "images/x_1.mat"), "MATLAB");
    write_text(in_root("strays", "images/x_9.jpg"), "");
    write_text(in_root("strays", "annotations/trimaps/._x_1.png"), "mac");
    write_text(in_root("strays", "annotations/xmls/notes.txt"), "hm");
    dataset = open_pets(test_path("strays"), DATASET_TRAIN, false);
    CHECK_INT(dataset_count(dataset), 1);
    CHECK(is_odd(dataset, "images/x_1.mat", "MATLAB"));
    CHECK(is_odd(dataset, "images/x_9.jpg", "in no list"));
    CHECK(is_odd(dataset, "trimaps/._x_1.png", "macOS"));
    CHECK(is_odd(dataset, "xmls/notes.txt", "unknown kind"));
    CHECK_INT(dataset_odd_count(dataset), 4);
    dataset_close(dataset);
}

/* ---- refusals --------------------------------------------------------- */

static void check_refused(const char *name, enum dataset_split split,
                          enum assay_status want, const char *why)
{
    const struct dataset_options options = {
        .kind = DATASET_PETS, .path = test_path(name), .split = split};
    long before = mem_live();
    struct dataset *dataset;

    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), want, &err);
    CHECK(dataset == NULL);
    CHECK_HAS(err.text, why);
    CHECK_INT(mem_live(), before);
}

TEST(what_cannot_be_a_dataset_is_refused_with_what_was_looked_for)
{
    write_text(in_root("other", "images/readme"), "");
    check_refused("other", DATASET_TRAIN, ASSAY_NOT_FOUND, "annotations/");
    write_sample("lists", "x_1", SIZE BOX("1", "1", "4", "4"));
    check_refused("lists", DATASET_TRAIN, ASSAY_NOT_FOUND,
                  "trainval.txt; 'assay data");
    write_list("lists", "x_1 1 1 1\n");
    check_refused("lists", DATASET_TEST, ASSAY_BAD_INPUT,
                  "test.txt names no images");
    write_list("lists", "x_1 38 1 1\n");
    check_refused("lists", DATASET_TRAIN, ASSAY_BAD_INPUT, "line 1: 'x_1'");
    write_list("lists", "# so\nx_1\n");
    check_refused("lists", DATASET_TRAIN, ASSAY_BAD_INPUT, "line 2: 'x_1'");
    write_list("lists", "../x_1 1 1 1\n");
    check_refused("lists", DATASET_TRAIN, ASSAY_BAD_INPUT, "not the name");
    write_list("lists", "gone 1 1 1\n");
    check_refused("lists", DATASET_TRAIN, ASSAY_BAD_INPUT,
                  "none of its images can be used");
}

TEST(the_folder_above_it_works_too)
{
    struct dataset *dataset;

    write_sample("above/oxford-iiit-pet", "x_1", NULL);
    write_list("above/oxford-iiit-pet", "x_1 1 1 1\n");
    dataset = open_pets(test_path("above"), DATASET_TRAIN, false);
    CHECK_INT(dataset_count(dataset), 1);
    dataset_close(dataset);
}

TEST(running_out_of_memory_is_reported_and_loses_nothing)
{
    const struct dataset_options options = {.kind = DATASET_PETS,
                                            .path = test_path("memory"),
                                            .keeps_shapes = true,
                                            .lists_strays = true};
    long before = mem_live();
    enum assay_status st = ASSAY_NOMEM;

    write_sample("memory", "x_1", SIZE);
    write_sample("memory", "x_2", SIZE BOX("1", "1", "4", "4"));
    write_list("memory", "x_1 1 1 1\nx_2 1 1 1\n");
    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        struct dataset *dataset = NULL;
        struct dataset_target target;

        err = (struct error){0};
        mem_fail_at(nth);
        st = dataset_open(&options, &dataset, &err);
        for (size_t i = 0; !st && i < 2; i++)
            st = dataset_target(dataset, i, &target, &err);
        mem_fail_at(-1);
        dataset_close(dataset);
        CHECK_INT(mem_live(), before);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
}

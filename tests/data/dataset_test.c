/* Datasets as folders: what is found, in which order, and what is reported if
 * something is missing. */
#include "base/mem.h"
#include "data/dataset.h"
#include "made_files.h"

/* ---- making small ones -------------------------------------------------- */

/* Records whose label is the last of `labels`, with red, green and blue of 1,
 * 2, 3 plus the label. */
static void write_cifar(const char *path, size_t head, const uint8_t *labels,
                        size_t n)
{
    struct str bytes = {0};

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 1; k < head; k++)
            str_append_char(&bytes, 19); /* the group */
        str_append_char(&bytes, (char)labels[i]);
        for (int c = 1; c <= 3; c++) {
            for (int k = 0; k < 1024; k++)
                str_append_char(&bytes, (char)(k == 33 ? 99 : c + labels[i]));
        }
    }
    write_file(path, bytes.text, bytes.n);
    str_release(&bytes);
}

static struct dataset *open_good(enum dataset_kind kind, const char *path,
                                 enum dataset_split split, size_t limit)
{
    const struct dataset_options options = {
        .kind = kind, .split = split, .path = path, .limit = limit};
    struct dataset *dataset;
    struct error err = {0};

    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

static void check_refused(enum dataset_kind kind, const char *path,
                          enum dataset_split split, enum assay_status want,
                          const char *why)
{
    const struct dataset_options options = {
        .kind = kind, .split = split, .path = path};
    long before = mem_live();
    struct dataset *dataset;
    struct error err = {0};

    CHECK_STATUS(dataset_open(&options, &dataset, &err), want, &err);
    CHECK(dataset == NULL);
    CHECK_HAS(err.text, why);
    CHECK_INT(mem_live(), before);
}

static struct dataset_target target_of(const struct dataset *dataset, size_t i)
{
    struct dataset_target target = {0};
    struct error err = {0};

    CHECK_STATUS(dataset_target(dataset, i, &target, &err), ASSAY_OK, &err);
    return target;
}

/* ---- CIFAR -------------------------------------------------------------- */

static const char ten_names[] = "airplane\nautomobile\nbird\ncat\ndeer\ndog\n"
                                "frog\nhorse\nship\ntruck\n\n";

static void write_cifar10(const char *name)
{
    char path[1024];

    for (int i = 0; i < 6; i++) {
        const uint8_t labels[] = {(uint8_t)i, 9};

        snprintf(path, sizeof path, "%s/data_batch_%d.bin", test_path(name), i);
        if (i == 0)
            snprintf(path, sizeof path, "%s/test_batch.bin", test_path(name));
        write_cifar(path, 1, labels, 2);
    }
    snprintf(path, sizeof path, "%s/batches.meta.txt", test_path(name));
    write_text(path, ten_names);
}

TEST(cifar10_is_five_files_and_one)
{
    struct dataset *dataset;
    struct picture picture;
    struct error err = {0};

    write_cifar10("ten/cifar-10-batches-bin");
    dataset = open_good(DATASET_CIFAR10, test_path("ten"), DATASET_TRAIN, 0);
    CHECK_INT(dataset_count(dataset), 10);
    CHECK_INT(dataset_class_count(dataset), 10);
    CHECK_STR(dataset_class_name(dataset, 9), "truck");
    CHECK(!dataset_has_objects(dataset));
    CHECK_INT(target_of(dataset, 4).label, 3); /* the third file's first */
    CHECK_INT(target_of(dataset, 5).label, 9);
    CHECK_HAS(target_of(dataset, 5).path, "data_batch_3.bin");
    CHECK_STATUS(dataset_picture(dataset, 4, &picture, &err), ASSAY_OK, &err);
    CHECK_INT(picture.width, 32);
    CHECK_INT(picture.rgb[0], 4);
    CHECK_INT(picture.rgb[1], 5);
    CHECK_INT(picture.rgb[2], 6);
    CHECK_INT(picture.rgb[(32 + 1) * 3], 99); /* second row, second column */
    picture_release(&picture);
    dataset_close(dataset);
}

TEST(the_folder_of_cifar10_itself_works_and_a_limit_cuts_it)
{
    struct dataset *dataset;

    write_cifar10("ten2");
    dataset = open_good(DATASET_CIFAR10, test_path("ten2"), DATASET_TEST, 1);
    CHECK_INT(dataset_count(dataset), 1);
    CHECK_INT(target_of(dataset, 0).label, 0);
    dataset_close(dataset);
}

TEST(cifar100_has_the_group_before_the_label)
{
    const uint8_t labels[] = {42, 100};
    struct dataset *dataset;
    struct dataset_target target;
    struct str names = {0};
    struct error err = {0};

    write_cifar(test_path("hundred/cifar-100-binary/test.bin"), 2, labels, 2);
    for (int i = 0; i < 100; i++)
        str_printf(&names, "class_%d\n", i);
    write_text(test_path("hundred/cifar-100-binary/fine_label_names.txt"),
               names.text);
    str_release(&names);
    dataset =
        open_good(DATASET_CIFAR100, test_path("hundred"), DATASET_TEST, 0);
    CHECK_INT(target_of(dataset, 0).label, 42);
    CHECK_STR(dataset_class_name(dataset, 42), "class_42");
    CHECK_STATUS(dataset_target(dataset, 1, &target, &err), ASSAY_BAD_INPUT,
                 &err);
    CHECK_HAS(err.text, "sample 1 has class 100, but CIFAR-100 has 100");
    dataset_close(dataset);
}

TEST(a_cifar_file_of_another_size_is_refused)
{
    write_text(test_path("odd/test_batch.bin"), "too short");
    write_text(test_path("odd/batches.meta.txt"), ten_names);
    check_refused(DATASET_CIFAR10, test_path("odd"), DATASET_TEST,
                  ASSAY_BAD_INPUT, "it has 9 bytes, but a sample has 3073");
}

TEST(the_message_says_which_files_of_cifar_were_looked_for)
{
    write_text(test_path("none/readme.txt"), "x");
    check_refused(DATASET_CIFAR10, test_path("none"), DATASET_TEST,
                  ASSAY_NOT_FOUND,
                  "looked for test_batch.bin and "
                  "cifar-10-batches-bin/test_batch.bin");
    write_text(test_path("python/cifar-100-python/train"), "x");
    check_refused(DATASET_CIFAR100, test_path("python"), DATASET_TEST,
                  ASSAY_NOT_FOUND, "the Python version of CIFAR-100");
    check_refused(DATASET_CIFAR10, test_path("nowhere"), DATASET_TEST,
                  ASSAY_NOT_FOUND, "No such file");
}

/* ---- folders of classes ------------------------------------------------- */

TEST(folders_are_classes_in_the_order_of_their_names)
{
    struct dataset *dataset;
    struct picture picture;
    struct error err = {0};

    write_photo(test_path("pets/val/dog/b.png"), 4, 3, (const uint8_t[3]){20});
    write_photo(test_path("pets/val/cat/z.PNG"), 4, 3, (const uint8_t[3]){11});
    write_photo(test_path("pets/val/cat/inner/a.png"), 4, 3,
                (const uint8_t[3]){12});
    write_text(test_path("pets/val/cat/notes.txt"), "no image");
    write_text(test_path("pets/val/.hidden/a.png"), "no class");
    write_text(test_path("pets/val/empty/notes.txt"), "no image");
    dataset =
        open_good(DATASET_IMAGEFOLDER, test_path("pets"), DATASET_TEST, 0);
    CHECK_INT(dataset_class_count(dataset), 3);
    CHECK_STR(dataset_class_name(dataset, 0), "cat");
    CHECK_STR(dataset_class_name(dataset, 1), "dog");
    CHECK_INT(dataset_count(dataset), 3);
    CHECK_HAS(target_of(dataset, 0).path, "cat/z.PNG");
    CHECK_HAS(target_of(dataset, 1).path, "cat/inner/a.png");
    CHECK_INT(target_of(dataset, 2).label, 1);
    CHECK_STATUS(dataset_picture(dataset, 2, &picture, &err), ASSAY_OK, &err);
    CHECK_INT(picture.rgb[0], 20);
    picture_release(&picture);
    dataset_close(dataset);
}

TEST(a_limit_takes_some_of_each_class)
{
    struct dataset *dataset;
    char name[64];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "even/%c/%d.png", i < 4 ? 'a' : 'b', i);
        write_photo(test_path(name), 2, 2, (const uint8_t[3]){0});
    }
    dataset =
        open_good(DATASET_IMAGEFOLDER, test_path("even"), DATASET_TEST, 2);
    CHECK_INT(dataset_count(dataset), 2);
    CHECK_INT(target_of(dataset, 0).label, 0);
    CHECK_INT(target_of(dataset, 1).label, 1);
    dataset_close(dataset);
}

TEST(the_message_says_which_split_was_looked_for)
{
    write_photo(test_path("half/train/dog/b.png"), 4, 3,
                (const uint8_t[3]){20});
    check_refused(DATASET_IMAGEFOLDER, test_path("half"), DATASET_TEST,
                  ASSAY_NOT_FOUND, "looked for test/ and val/");
    write_text(test_path("bare/notes.txt"), "x");
    check_refused(DATASET_IMAGEFOLDER, test_path("bare"), DATASET_TEST,
                  ASSAY_NOT_FOUND, "found 0 folders");
}

/* ---- COCO --------------------------------------------------------------- */

static const char one_image[] =
    "{\"images\":[{\"id\":1,\"file_name\":\"%s\"}],\"annotations\":[],"
    "\"categories\":[]}";

static void write_coco(const char *path, const char *image)
{
    char text[256];

    snprintf(text, sizeof text, one_image, image);
    write_text(path, text);
}

TEST(coco_images_are_found_next_to_the_annotations)
{
    struct dataset *dataset;

    write_coco(test_path("coco/annotations/instances_val2014.json"), "old.png");
    write_coco(test_path("coco/annotations/instances_val2017.json"), "new.png");
    write_photo(test_path("coco/val2017/new.png"), 2, 2, (const uint8_t[3]){0});
    dataset = open_good(DATASET_COCO, test_path("coco"), DATASET_TEST, 0);
    CHECK_HAS(target_of(dataset, 0).path, "val2017/new.png");
    CHECK(dataset_has_objects(dataset));
    dataset_close(dataset);
    check_refused(DATASET_COCO, test_path("coco"), DATASET_TRAIN,
                  ASSAY_NOT_FOUND,
                  "looked for annotations/instances_train*.json");
}

TEST(a_coco_file_finds_the_images_around_it)
{
    struct dataset *dataset;

    write_coco(test_path("roboflow/notes.json"), "a.png");
    write_photo(test_path("roboflow/a.png"), 2, 2, (const uint8_t[3]){0});
    dataset = open_good(DATASET_COCO, test_path("roboflow/notes.json"),
                        DATASET_TEST, 0);
    CHECK_HAS(target_of(dataset, 0).path, "roboflow/a.png");
    dataset_close(dataset);
    write_coco(test_path("alone/notes.json"), "a.png");
    check_refused(DATASET_COCO, test_path("alone/notes.json"), DATASET_TEST,
                  ASSAY_NOT_FOUND, "are missing; looked for a.png");
}

TEST(coco_images_outside_the_folder_are_refused)
{
    write_coco(test_path("evil/a.json"), "x/../../etc/passwd");
    check_refused(DATASET_COCO, test_path("evil/a.json"), DATASET_TEST,
                  ASSAY_BAD_INPUT, "outside the folder");
    write_coco(test_path("evil/b.json"), "/etc/passwd");
    check_refused(DATASET_COCO, test_path("evil/b.json"), DATASET_TEST,
                  ASSAY_BAD_INPUT, "outside the folder");
}

/* ---- Pascal VOC --------------------------------------------------------- */

static void write_voc(const char *root, const char *id, const char *class_name)
{
    char path[1024], text[512];

    snprintf(path, sizeof path, "%s/JPEGImages/%s.jpg", root, id);
    write_photo(path, 3, 3, (const uint8_t[3]){7});
    snprintf(path, sizeof path, "%s/Annotations/%s.xml", root, id);
    snprintf(text, sizeof text,
             "<annotation><object><name>%s</name><bndbox><xmin>1</xmin>"
             "<ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object>"
             "</annotation>",
             class_name);
    write_text(path, text);
}

TEST(voc_lists_name_the_images_and_the_twenty_classes_keep_their_labels)
{
    char root[512], list[600];
    struct dataset *dataset;

    snprintf(root, sizeof root, "%s", test_path("voc/VOCdevkit/VOC2012"));
    write_voc(root, "000002", "tvmonitor");
    write_voc(root, "000001", "dog");
    write_voc(root, "000003", "cat");
    snprintf(list, sizeof list, "%s/ImageSets/Main/val.txt", root);
    write_text(list, "000002\r\n000001  1\n\n");
    dataset = open_good(DATASET_VOC, test_path("voc"), DATASET_TEST, 0);
    CHECK_INT(dataset_count(dataset), 2);
    CHECK_INT(dataset_class_count(dataset), 20);
    CHECK_INT(target_of(dataset, 0).objects[0].label, 19);
    CHECK_INT(target_of(dataset, 1).objects[0].label, 11);
    CHECK_STR(dataset_class_name(dataset, 11), "dog");
    dataset_close(dataset);
    check_refused(DATASET_VOC, test_path("voc"), DATASET_TRAIN, ASSAY_NOT_FOUND,
                  "looked for ImageSets/Main/train.txt and trainval.txt");
}

TEST(classes_of_other_datasets_in_the_format_are_sorted)
{
    char root[512], list[600];
    struct dataset *dataset;

    snprintf(root, sizeof root, "%s", test_path("masks"));
    write_voc(root, "a", "without_mask");
    write_voc(root, "b", "with_mask");
    write_voc(root, "c", "without_mask");
    snprintf(list, sizeof list, "%s/ImageSets/Main/train.txt", root);
    write_text(list, "a\nb\nc\n");
    dataset = open_good(DATASET_VOC, root, DATASET_TRAIN, 2);
    CHECK_INT(dataset_count(dataset), 2);
    CHECK_INT(dataset_class_count(dataset), 2);
    CHECK_STR(dataset_class_name(dataset, 0), "with_mask");
    CHECK_INT(target_of(dataset, 0).objects[0].label, 1);
    CHECK_INT(target_of(dataset, 1).objects[0].label, 0);
    dataset_close(dataset);
}

TEST(a_missing_voc_photograph_is_named)
{
    char root[512], list[600];

    snprintf(root, sizeof root, "%s", test_path("holes"));
    write_voc(root, "a", "dog");
    snprintf(list, sizeof list, "%s/JPEGImages/a.jpg", root);
    remove(list);
    snprintf(list, sizeof list, "%s/ImageSets/Main/train.txt", root);
    write_text(list, "a\n");
    check_refused(DATASET_VOC, root, DATASET_TRAIN, ASSAY_NOT_FOUND,
                  "the photograph a is missing");
    write_text(list, "../a\n");
    check_refused(DATASET_VOC, root, DATASET_TRAIN, ASSAY_BAD_INPUT,
                  "names without a folder");
    check_refused(DATASET_VOC, test_path("none"), DATASET_TRAIN,
                  ASSAY_NOT_FOUND, "looked for Annotations/ and JPEGImages/");
}

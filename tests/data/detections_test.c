/* Result files: what is read, and what is said about those that are wrong. */
#include "base/mem.h"
#include "data/dataset_internal.h"
#include "data/detections.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char annotations[] =
    "{\"images\":[{\"id\":9,\"file_name\":\"b.jpg\",\"width\":6,\"height\":4},"
    "{\"id\":7,\"file_name\":\"a.jpg\",\"width\":5,\"height\":4}],"
    "\"annotations\":[],"
    "\"categories\":[{\"id\":18,\"name\":\"dog\"},{\"id\":3,\"name\":\"car\"}]"
    "}";

static struct dataset *coco_dataset(void)
{
    const struct coco_source source = {"gt.json", annotations,
                                       sizeof annotations - 1};
    const struct dataset_options options = {.has_no_pictures = true};
    struct dataset *dataset = mem_zalloc(sizeof *dataset);
    struct error err = {0};

    CHECK(dataset != NULL);
    dataset->class = &coco_class;
    CHECK_STATUS(coco_read(dataset, &source, &options, &err), ASSAY_OK, &err);
    return dataset;
}

static enum assay_status read_results(const char *text, bool keeps_shapes,
                                      struct detections *out, struct error *err)
{
    const struct coco_source source = {"dt.json", text, strlen(text)};
    struct dataset *dataset = coco_dataset();
    enum assay_status st =
        coco_results_read(dataset, &source, keeps_shapes, out, err);

    dataset_close(dataset);
    return st;
}

#define RESULT(image, category, score, rest)                                   \
    "{\"image_id\":" #image ",\"category_id\":" #category                      \
    ",\"score\":" #score rest "}"
#define BOX ",\"bbox\":[1,2,3,1.5]"

TEST(results_come_image_by_image_in_the_order_of_the_file)
{
    struct detections read = {0};
    struct error err = {0};

    CHECK_STATUS(read_results("[" RESULT(9, 18, 0.5, BOX) "," RESULT(
                                  7, 3, 0.25, BOX) "," RESULT(9, 3, 1, BOX) "]",
                              false, &read, &err),
                 ASSAY_OK, &err);
    CHECK_INT(read.n, 3);
    CHECK_INT(read.items[0].image, 0); /* id 7 */
    CHECK_INT(read.items[0].number, 1);
    CHECK_INT(read.items[0].object.label, 0); /* id 3 */
    CHECK_NEAR(read.items[0].score, 0.25, 0);
    CHECK_NEAR(read.items[0].object.height, 1.5, 0);
    CHECK_INT(read.items[1].number, 0);
    CHECK_INT(read.items[1].object.label, 1);
    CHECK_INT(read.items[2].number, 2);
    CHECK(read.has_boxes);
    detections_release(&read);
}

TEST(shapes_are_kept_if_asked_for_or_if_there_is_no_box)
{
    static const char both[] = "[" RESULT(
        7, 3, 1,
        BOX ",\"segmentation\":{\"size\":[4,5],\"counts\":[1,19]}") "]";
    static const char shape[] = "[" RESULT(
        7, 3, 1, ",\"segmentation\":{\"size\":[4,5],\"counts\":[1,19]}") "]";
    struct detections read = {0};
    struct error err = {0};

    CHECK_STATUS(read_results(both, false, &read, &err), ASSAY_OK, &err);
    CHECK(read.items[0].object.shape.runs == NULL);
    detections_release(&read);
    CHECK_STATUS(read_results(both, true, &read, &err), ASSAY_OK, &err);
    CHECK_INT(read.items[0].object.shape.n_runs, 2);
    detections_release(&read);
    CHECK_STATUS(read_results(shape, false, &read, &err), ASSAY_OK, &err);
    CHECK_INT(read.items[0].object.shape.n_runs, 2);
    CHECK(!read.items[0].has_box && !read.has_boxes);
    detections_release(&read);
}

TEST(results_of_unknown_categories_are_counted)
{
    struct detections read = {0};
    struct error err = {0};

    CHECK_STATUS(read_results("[" RESULT(9, 91, 1, BOX) "," RESULT(
                                  9, 92, 1, BOX) "," RESULT(9, 3, 1, BOX) "]",
                              false, &read, &err),
                 ASSAY_OK, &err);
    CHECK_INT(read.n, 1);
    CHECK_INT(read.n_left_out, 2);
    CHECK_STR(read.left_out, "category 91");
    detections_release(&read);
}

static void check_refused(const char *text, const char *why)
{
    struct detections read = {0};
    struct error err = {0};

    CHECK_STATUS(read_results(text, true, &read, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "dt.json");
    CHECK_HAS(err.text, why);
    detections_release(&read);
}

TEST(wrong_results_are_refused_with_the_reason)
{
    check_refused("[]", "no results");
    check_refused("", "no JSON value");
    check_refused("{\"images\":[]}", "annotations go to --annotations");
    check_refused("[3]", "must be an object");
    check_refused("[" RESULT(8, 3, 1, BOX) "]",
                  "image 8, which the annotations do not have");
    check_refused("[" RESULT(9, 91, 1, BOX) "]",
                  "none of the 1 results is of a class");
    check_refused("[" RESULT(9, 3, NaN, BOX) "]",
                  "a score must be a finite number");
    check_refused("[" RESULT(9, 3, 1e999, BOX) "]",
                  "a score must be a finite number");
    check_refused("[" RESULT(9, 3, null, BOX) "]",
                  "a score must be a finite number");
    check_refused("[" RESULT(9, 3, "1", BOX) "]",
                  "a score must be a finite number");
    check_refused("[{\"image_id\":9,\"category_id\":3" BOX "}]",
                  "without image_id, category_id or score");
    check_refused("[" RESULT(9, 3, 1, "") "]", "without bbox or segmentation");
    check_refused("[" RESULT(9, 3, 1, ",\"bbox\":[1,2,3]") "]", "four numbers");
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    static const char text[] =
        "[" RESULT(9, 3, 1, BOX) "," RESULT(9, 91, 1, BOX) "," RESULT(
            7, 3, 1,
            ",\"segmentation\":{\"size\":[4,5],\"counts\":\"d0\"}") "]";
    const struct coco_source source = {"dt.json", text, sizeof text - 1};
    struct dataset *dataset = coco_dataset();
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct detections read = {0};

        mem_fail_at(nth++);
        st = coco_results_read(dataset, &source, true, &read, NULL);
        mem_fail_at(-1);
        detections_release(&read);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    dataset_close(dataset);
}

/* ---- Pascal VOC -------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(test_path(name), "w");

    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

#define XML(class)                                                             \
    "<annotation><size><width>50</width><height>40</height></size><object>"    \
    "<name>" class "</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>10</"     \
                   "xmax>"                                                     \
                   "<ymax>20</ymax></bndbox></object></annotation>"

/* Two images, without photographs. */
static struct dataset *voc_dataset(void)
{
    struct dataset_options options = {.kind = DATASET_VOC,
                                      .has_no_pictures = true};
    struct dataset *dataset;
    struct error err = {0};

    mkdir(test_path("xml"), 0700);
    write_file("xml/000005.xml", XML("dog"));
    write_file("xml/000007.xml", XML("cat"));
    options.path = test_path("xml");
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    CHECK_INT(dataset_count(dataset), 2);
    return dataset;
}

/* Pixels count from 1 and the last is included, in XML and results alike. */
TEST(voc_results_take_the_class_from_the_file_name)
{
    struct dataset *dataset = voc_dataset();
    struct detections read = {0};
    struct error err = {0};

    mkdir(test_path("found"), 0700);
    write_file("found/comp4_det_test_dog.txt",
               "000007 0.25 1 2 10 20\n\n000005 1e-3 1.5 2 10 20\r\n");
    write_file("found/comp4_det_test_cat.txt", "");
    write_file("found/comp4_det_test_cow.txt", "000005 1 2 3 4 5");
    CHECK_STATUS(voc_results_read(dataset, test_path("found"), &read, &err),
                 ASSAY_OK, &err);
    CHECK_INT(read.n, 3);
    CHECK_INT(read.items[0].image, 0);
    CHECK_STR(dataset_class_name(dataset, read.items[0].object.label), "cow");
    CHECK_STR(dataset_class_name(dataset, read.items[1].object.label), "dog");
    CHECK_NEAR(read.items[1].score, 1e-3, 0);
    CHECK_NEAR(read.items[1].object.x, .5, 0);
    CHECK_NEAR(read.items[1].object.width, 9.5, 0);
    CHECK_NEAR(read.items[2].object.x, 0, 0);
    CHECK_NEAR(read.items[2].object.height, 19, 0);
    detections_release(&read);
    dataset_close(dataset);
}

static void check_line(const char *line, const char *why)
{
    struct dataset *dataset = voc_dataset();
    struct detections read = {0};
    struct error err = {0};

    CHECK_STATUS(voc_results_read_text(dataset, line, strlen(line), 0,
                                       "dog.txt", &read, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "dog.txt: line 1: ");
    CHECK_HAS(err.text, why);
    detections_release(&read);
    dataset_close(dataset);
}

TEST(wrong_lines_of_voc_are_refused_with_the_reason)
{
    check_line("000005 0.5 1 2 3", "expected 'IMAGE SCORE");
    check_line("000005 0.5 1 2 3 4 5", "expected 'IMAGE SCORE");
    check_line("000006 0.5 1 2 3 4", "image '000006', which the annotations");
    check_line("000005 nan 1 2 3 4", "the score 'nan' is not a number");
    check_line("000005 0.5 1 2 3 x", "'x' is not a side of a box");
}

TEST(two_files_of_a_class_are_refused)
{
    struct dataset *dataset = voc_dataset();
    struct detections read = {0};
    struct error err = {0};

    mkdir(test_path("twice"), 0700);
    write_file("twice/comp3_det_test_dog.txt", "000005 1 1 2 3 4\n");
    write_file("twice/comp4_det_test_dog.txt", "000005 1 1 2 3 4\n");
    CHECK_STATUS(voc_results_read(dataset, test_path("twice"), &read, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "two result files of the class dog");
    detections_release(&read);
    dataset_close(dataset);
}

TEST(a_file_of_an_unknown_class_is_named)
{
    struct dataset *dataset = voc_dataset();
    struct detections read = {0};
    struct error err = {0};

    write_file("comp4_det_test_unicorn.txt", "000005 1 1 2 3 4\n");
    CHECK_STATUS(voc_results_read(dataset,
                                  test_path("comp4_det_test_unicorn.txt"),
                                  &read, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "none of the 1 results is of a class");
    detections_release(&read);
    dataset_close(dataset);
}

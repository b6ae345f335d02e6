/* Pascal VOC: one annotation, and a small dataset of them. */
#include "base/mem.h"
#include "data/voc_read.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char dog[] =
    "<?xml version=\"1.0\"?>\n"
    "<annotation><filename>a.jpg</filename>"
    "<size><width>50</width><height>40</height><depth>3</depth></size>"
    "<object><name> dog </name><difficult>1</difficult>"
    "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>10</xmax><ymax>4.5</ymax>"
    "</bndbox>"
    "<part><name>head</name><bndbox><xmin>3</xmin><ymin>3</ymin>"
    "<xmax>4</xmax><ymax>4</ymax></bndbox></part></object>"
    "<object><name>cat &amp; co</name>"
    "<bndbox><xmin>5</xmin><ymin>5</ymin><xmax>5</xmax><ymax>5</ymax></bndbox>"
    "</object></annotation>";

TEST(boxes_count_pixels_from_one_and_include_the_last)
{
    struct voc_annotation read;
    struct arena memory = {0};
    struct error err = {0};

    CHECK_STATUS(voc_read_text(dog, strlen(dog), "a.xml", &memory, &read, &err),
                 ASSAY_OK, &err);
    CHECK_INT(read.width, 50);
    CHECK_INT(read.height, 40);
    CHECK_INT(read.n, 2);
    CHECK_STR(read.objects[0].name, "dog"); /* not its head */
    CHECK_NEAR(read.objects[0].object.x, 0, 0);
    CHECK_NEAR(read.objects[0].object.y, 1, 0);
    CHECK_NEAR(read.objects[0].object.width, 10, 0);
    CHECK_NEAR(read.objects[0].object.height, 3.5, 0);
    CHECK_NEAR(read.objects[0].object.area, 35, 0);
    CHECK(read.objects[0].object.is_difficult);
    CHECK_STR(read.objects[1].name, "cat & co");
    CHECK_NEAR(read.objects[1].object.area, 1, 0);
    CHECK(!read.objects[1].object.is_difficult);
    voc_annotation_release(&read);
    arena_release(&memory);
}

static void check_refused(const char *text, const char *why)
{
    struct voc_annotation read;
    struct arena memory = {0};
    struct error err = {0};

    CHECK_STATUS(
        voc_read_text(text, strlen(text), "a.xml", &memory, &read, &err),
        ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "a.xml: line ");
    CHECK_HAS(err.text, why);
    voc_annotation_release(&read);
    arena_release(&memory);
}

TEST(what_is_not_an_annotation_is_refused_with_its_line)
{
    check_refused("", "no element");
    check_refused("<html/>", "begin with <annotation>");
    check_refused("<annotation>\n<object></annotation>", "line 2: mismatched");
    check_refused("<annotation><object><name>a</name></object></annotation>",
                  "without a name or a bndbox");
    check_refused("<annotation><object><bndbox><xmin>x</xmin></bndbox></object>"
                  "</annotation>",
                  "not a number");
    check_refused("<annotation><size><width>-1</width></size></annotation>",
                  "the image size");
    check_refused("<!DOCTYPE a [<!ENTITY b \"cc\">]><annotation>&b;"
                  "</annotation>",
                  "declares entities");
    check_refused("<annotation><object><name>a</name><bndbox><xmin>9</xmin>"
                  "<ymin>1</ymin><xmax>1</xmax><ymax>1</ymax></bndbox>"
                  "</object></annotation>",
                  "ends before it begins");
}

TEST(deeply_nested_elements_are_refused)
{
    struct str text = {0};

    str_append(&text, "<annotation>");
    for (int i = 0; i < 1000; i++)
        str_append(&text, "<deep>");
    check_refused(text.text, "nested too deeply");
    str_release(&text);
}

TEST(reading_leaks_nothing_whichever_allocation_fails)
{
    long before = mem_live();
    enum assay_status st;
    long nth = 0;

    do {
        struct voc_annotation read;
        struct arena memory = {0};

        mem_fail_at(nth++);
        st = voc_read_text(dog, strlen(dog), "a.xml", &memory, &read, NULL);
        mem_fail_at(-1);
        voc_annotation_release(&read);
        arena_release(&memory);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
}

/* Real files of another dataset in this format. */
TEST(the_annotations_of_the_oxford_pets_are_read)
{
    const char *folder =
        test_shared("datasets/oxford-iiit-pet/annotations/xmls");
    const struct dirent *entry;
    size_t n = 0;
    DIR *dir;

    if (!folder)
        SKIP("../shared/data/datasets/oxford-iiit-pet is missing");
    dir = opendir(folder);
    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        struct voc_annotation read;
        struct arena memory = {0};
        struct error err = {0};
        char path[1024], text[8192];
        FILE *file;
        size_t n_text;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        file = fopen(path, "r");
        CHECK(file != NULL);
        n_text = fread(text, 1, sizeof text, file);
        fclose(file);
        CHECK_STATUS(voc_read_text(text, n_text, path, &memory, &read, &err),
                     ASSAY_OK, &err);
        CHECK(read.n >= 1 && read.width > 0);
        CHECK(strcmp(read.objects[0].name, "cat") == 0 ||
              strcmp(read.objects[0].name, "dog") == 0);
        voc_annotation_release(&read);
        arena_release(&memory);
        n++;
    }
    closedir(dir);
    CHECK_INT(n, 58); /* files that exist */
}

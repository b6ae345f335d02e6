/* Drawings know the run they belong to, and leave other files alone. */
#include "picture/drawn.h"

#include "base/file.h"
#include "picture/picture.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;

/* Writes a small drawing for the owner to a file of the test's folder. */
static void draw(const char *name, const struct drawn_owner *owner)
{
    struct output *output;
    struct picture picture;
    char comment[64];

    drawn_write_comment(owner, comment, sizeof comment);
    CHECK_STATUS(picture_init(&picture, 4, 3, &err), ASSAY_OK, &err);
    CHECK_STATUS(output_open(test_path(name), &output, &err), ASSAY_OK, &err);
    CHECK_STATUS(picture_write_jpeg_with(&picture, 90, comment,
                                         output_sink(output), &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
    picture_release(&picture);
}

/* The name for the drawing of dog.jpg. */
static void check_name(const struct drawn_owner *owner, const char *wanted)
{
    static const char *const paths[] = {"photos/dog.jpg"};
    struct photos drawn = {0};

    CHECK_STATUS(
        drawn_choose_names(&drawn, paths, 1, test_path(""), owner, &err),
        ASSAY_OK, &err);
    CHECK_INT(drawn.n, 1);
    CHECK_STR(drawn.paths[0], wanted);
    photos_release(&drawn);
}

TEST(a_drawing_names_its_run_and_can_still_be_decoded)
{
    struct drawn_owner owner = drawn_owner_new("a.assay"), read;
    struct picture picture;
    struct str bytes = {0};

    draw("own_targets.jpg", &owner);
    CHECK_STATUS(file_read(test_path("own_targets.jpg"), 1 << 20, &bytes, &err),
                 ASSAY_OK, &err);
    CHECK(drawn_read_owner(bytes.text, bytes.n, &read));
    CHECK_STR(read.run, owner.run);
    CHECK_STR(read.file, owner.file);
    CHECK_STATUS(picture_read(test_path("own_targets.jpg"), &picture, &err),
                 ASSAY_OK, &err);
    CHECK_INT(picture.width, 4);
    picture_release(&picture);
    str_release(&bytes);
}

TEST(every_run_has_an_id_of_its_own_and_every_file_a_digest)
{
    struct drawn_owner a = drawn_owner_new("a.assay");
    struct drawn_owner again = drawn_owner_new("a.assay");
    struct drawn_owner b = drawn_owner_new("b.assay");

    CHECK(strcmp(a.run, again.run) != 0);
    CHECK_STR(a.file, again.file);
    CHECK(strcmp(a.file, b.file) != 0);
}

TEST(a_drawing_replaces_only_those_of_its_own_run_file)
{
    struct drawn_owner a = drawn_owner_new("a.assay");
    struct drawn_owner again = drawn_owner_new("a.assay");
    struct drawn_owner b = drawn_owner_new("b.assay");

    check_name(&a, "dog_targets.jpg");
    draw("dog_targets.jpg", &a);
    check_name(&again, "dog_targets.jpg");
    check_name(&b, "dog.2_targets.jpg");
    draw("dog.2_targets.jpg", &b);
    check_name(&again, "dog_targets.jpg");
    check_name(&b, "dog.2_targets.jpg");
}

TEST(a_file_that_is_not_a_drawing_is_never_replaced)
{
    static const char *const paths[] = {"cat.jpg"};
    struct drawn_owner owner = drawn_owner_new("a.assay");
    FILE *file = fopen(test_path("cat_targets.jpg"), "w");
    struct photos drawn = {0};

    CHECK(file && fputs("mine", file) >= 0 && fclose(file) == 0);
    CHECK_STATUS(
        drawn_choose_names(&drawn, paths, 1, test_path(""), &owner, &err),
        ASSAY_OK, &err);
    CHECK_STR(drawn.paths[0], "cat.2_targets.jpg");
    photos_release(&drawn);
}

TEST(bytes_that_are_not_a_drawing_have_no_owner)
{
    static const char *const files[] = {
        "",
        "\xff",
        "\xff\xd8",
        "\xff\xd8\xff\xfe",
        "\xff\xd8\xff\xfe\x40\x40x",
        "\xff\xd8\xff\xda assay run 0123456789abcdef file 0"};
    struct drawn_owner owner;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        CHECK(!drawn_read_owner(files[i], strlen(files[i]), &owner));
}

/* Which photographs an argument means: picture/photos.h. */
#include "base/mem.h"
#include "encoded.h"
#include "picture/photos.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* A folder with these files; made once. */
static const char *album(void)
{
    static const char *const names[] = {
        "b.jpg", "A.PNG", "c.jpeg", "e.txt", ".hidden.jpg", "b_targets.jpg"};
    const char *folder = test_path("album");
    char path[600];

    if (mkdir(folder, 0700))
        return folder;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        write_text(path, "something");
    }
    snprintf(path, sizeof path, "%s/d_without_suffix", folder);
    write_text(path, "\xff\xd8\xff\xe0 and so on");
    snprintf(path, sizeof path, "%s/f.webp", folder);
    write_text(path, "RIFF....WEBPVP8 ");
    snprintf(path, sizeof path, "%s/inside.jpg", folder);
    CHECK_INT(mkdir(path, 0700), 0);
    return folder;
}

static void check_names(const struct photos *photos, const char *const *names,
                        size_t n)
{
    CHECK_INT(photos->n, n);
    for (size_t i = 0; i < n; i++) {
        const char *slash = strrchr(photos->paths[i], '/');

        CHECK_STR(slash ? slash + 1 : photos->paths[i], names[i]);
    }
}

TEST(a_folder_gives_its_images_sorted_by_name)
{
    static const char *const names[] = {"A.PNG", "b.jpg", "c.jpeg",
                                        "d_without_suffix", "f.webp"};
    struct photos photos = {0};
    struct error err = {0};

    CHECK_STATUS(photos_add(&photos, album(), &err), ASSAY_OK, &err);
    check_names(&photos, names, 5);
    CHECK_INT(access(photos.paths[0], R_OK), 0);
    photos_release(&photos);
}

TEST(several_arguments_keep_their_order)
{
    static const char *const names[] = {
        "single.jpg",       "A.PNG",  "b.jpg",     "c.jpeg",
        "d_without_suffix", "f.webp", "single.jpg"};
    const char *single = test_path("single.jpg");
    struct photos photos = {0};
    struct error err = {0};

    write_text(single, "whatever it is");
    CHECK_STATUS(photos_add(&photos, single, &err), ASSAY_OK, &err);
    CHECK_STATUS(photos_add(&photos, album(), &err), ASSAY_OK, &err);
    CHECK_STATUS(photos_add(&photos, single, &err), ASSAY_OK, &err);
    check_names(&photos, names, 7);
    photos_release(&photos);
}

TEST(the_lines_of_a_list_are_relative_to_it)
{
    const char *list = test_path("list.txt");
    struct photos photos = {0};
    struct error err = {0};
    char want[600];

    write_text(list,
               "# a comment\r\nsub/one.jpg\r\n\n  \n/two.png \nthree.jpg");
    CHECK_STATUS(photos_add(&photos, list, &err), ASSAY_OK, &err);
    CHECK_INT(photos.n, 3);
    snprintf(want, sizeof want, "%.*s/sub/one.jpg",
             (int)(strrchr(list, '/') - list), list);
    CHECK_STR(photos.paths[0], want);
    CHECK_STR(photos.paths[1], "/two.png");
    CHECK_STR(strrchr(photos.paths[2], '/'), "/three.jpg");
    photos_release(&photos);
}

TEST(a_list_in_the_current_folder_needs_no_folder)
{
    struct photos photos = {0};
    struct error err = {0};
    char before[600];

    CHECK(getcwd(before, sizeof before) != NULL);
    write_text(test_path("here.txt"), "one.jpg\n");
    CHECK_INT(chdir(test_path("")), 0);
    CHECK_STATUS(photos_add(&photos, "here.txt", &err), ASSAY_OK, &err);
    CHECK_STR(photos.paths[0], "one.jpg");
    CHECK_INT(chdir(before), 0);
    photos_release(&photos);
}

static void check_refused(const char *argument, enum assay_status status,
                          const char *says)
{
    struct photos photos = {0};
    struct error err = {0};

    CHECK_STATUS(photos_add(&photos, "/dev/null", &err), ASSAY_OK, &err);
    CHECK_STATUS(photos_add(&photos, argument, &err), status, &err);
    CHECK_HAS(err.text, says);
    CHECK_INT(photos.n, 1);
    photos_release(&photos);
}

TEST(an_argument_without_photographs_says_what_was_looked_for)
{
    const char *folder = test_path("nothing");
    const char *list = test_path("empty.txt");
    const char *binary = test_path("binary.txt");

    CHECK_INT(mkdir(folder, 0700), 0);
    write_text(list, "# nothing\n\n");
    write_file(binary, "a\0b", 3);
    check_refused(folder, ASSAY_BAD_INPUT, "looked for JPEG and PNG files");
    check_refused(list, ASSAY_BAD_INPUT, "should have one path per line");
    check_refused(binary, ASSAY_BAD_INPUT, "is not a text");
    check_refused("/nowhere/x.jpg", ASSAY_NOT_FOUND,
                  "cannot read /nowhere/x.jpg: No such file");
}

TEST(the_drawn_file_is_named_after_the_photograph)
{
    static const char *const cases[][2] = {
        {"a.b/street.png", "street_targets.jpg"},
        {"street", "street_targets.jpg"},
        {"/x/two.dots.jpeg", "two.dots_targets.jpg"},
        {".png", ".png_targets.jpg"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str name = {0};

        CHECK_INT(photos_drawn_name(cases[i][0], &name, NULL), ASSAY_OK);
        CHECK_STR(name.text, cases[i][1]);
        str_release(&name);
    }
}

TEST(photographs_with_one_name_are_drawn_into_separate_files)
{
    static const char *const paths[] = {"a/dog.jpg", "b/dog.jpg", "dog.2.png",
                                        "cat.jpg", "dog.png"};
    static const char *const names[] = {"dog_targets.jpg", "dog.2_targets.jpg",
                                        "dog.2.2_targets.jpg",
                                        "cat_targets.jpg", "dog.3_targets.jpg"};
    struct photos drawn = {0};

    CHECK_INT(photos_name_drawn(&drawn, paths, 5, NULL), ASSAY_OK);
    CHECK_INT(drawn.n, 5);
    for (size_t i = 0; i < 5; i++)
        CHECK_STR(drawn.paths[i], names[i]);
    photos_release(&drawn);
}

TEST(listing_leaks_nothing_whichever_allocation_fails)
{
    const char *list = test_path("some.txt");
    const char *arguments[] = {album(), list};
    long before = mem_live();

    write_text(list, "one.jpg\ntwo.jpg\n");
    for (size_t i = 0; i < 2; i++) {
        enum assay_status st;
        long nth = 0;

        do {
            struct photos photos = {0};

            mem_fail_at(nth++);
            st = photos_add(&photos, arguments[i], NULL);
            mem_fail_at(-1);
            CHECK(st == ASSAY_OK || photos.n == 0);
            photos_release(&photos);
            CHECK_INT(mem_live(), before);
        } while (st == ASSAY_NOMEM);
        CHECK_INT(st, ASSAY_OK);
        CHECK(nth > 3);
    }
}

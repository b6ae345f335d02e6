/* What base/place.h promises. */
#include "base/place.h"
#include "test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_file(const char *name)
{
    FILE *file = fopen(test_path(name), "w");

    CHECK(file && fclose(file) == 0);
}

static bool are_same(const char *a, const char *b)
{
    struct place first, second;

    CHECK(place_find(test_path(a), &first));
    CHECK(place_find(test_path(b), &second));
    return place_is_same(&first, &second);
}

TEST(all_paths_to_a_file_are_the_same_place)
{
    make_file("file");
    make_file("other");
    CHECK_INT(mkdir(test_path("folder"), 0777), 0);
    CHECK_INT(symlink("../file", test_path("folder/link")), 0);
    CHECK_INT(link(test_path("file"), test_path("folder/hard")), 0);
    CHECK(are_same("file", "file"));
    CHECK(are_same("file", "./folder/../file"));
    CHECK(are_same("file", "folder/link"));
    CHECK(are_same("file", "folder/hard"));
    CHECK(!are_same("file", "other"));
    CHECK(!are_same("file", "new"));
}

TEST(new_files_are_the_same_if_folder_and_name_are)
{
    CHECK_INT(mkdir(test_path("one"), 0777), 0);
    CHECK_INT(mkdir(test_path("two"), 0777), 0);
    CHECK_INT(symlink("one", test_path("way")), 0);
    CHECK_INT(symlink("../one/new", test_path("two/next")), 0);
    CHECK_INT(symlink("two/next", test_path("first")), 0);
    CHECK(are_same("one/new", "one/new"));
    CHECK(are_same("one/new", "way/new"));
    CHECK(are_same("one/new", "two/../one/new"));
    CHECK(are_same("one/new", "two/next"));
    CHECK(are_same("one/new", "first"));
    CHECK(!are_same("one/new", "one/newer"));
    CHECK(!are_same("one/new", "two/new"));
}

TEST(a_path_that_cannot_be_a_file_has_no_place)
{
    struct place place;

    CHECK_INT(mkfifo(test_path("pipe"), 0600), 0);
    CHECK_INT(symlink("round", test_path("round")), 0);
    CHECK(!place_find("/dev/null", &place));
    CHECK(!place_find(test_path("pipe"), &place));
    CHECK(!place_find(test_path("."), &place));
    CHECK(!place_find(test_path("nowhere/file"), &place));
    CHECK(!place_find(test_path("round"), &place));
    CHECK(!place_find("", &place));
}

/* Archives: those that tar programs write, and malicious ones. */
#include "archives.h"
#include "base/file.h"
#include "base/mem.h"
#include "data/unpack.h"
#include "made_files.h"

#include <stdlib.h>
#include <unistd.h>

static struct error err;
static struct unpacked done;

static enum assay_status unpack(const char *archive, const char *folder,
                                uint64_t most_bytes)
{
    err = (struct error){0};
    return unpack_archive(&(struct unpack){.archive = archive,
                                           .folder = folder,
                                           .most_bytes = most_bytes},
                          &done, &err);
}

/* Ends the archive and unpacks it into the folder "to". */
static enum assay_status unpack_tar(struct str *tar, uint64_t most_bytes)
{
    enum assay_status st;

    add_end(tar);
    write_gzip(test_path("made.tar.gz"), tar);
    str_release(tar);
    st = unpack(test_path("made.tar.gz"), test_path("to"), most_bytes);
    return st;
}

static void check_file(const char *path, const char *want)
{
    struct str text = {0};
    struct error why = {0};

    CHECK_STATUS(file_read(test_path(path), 1 << 20, &text, &why), ASSAY_OK,
                 &why);
    CHECK_STR(str_text(&text), want);
    str_release(&text);
}

static bool is_there(const char *path)
{
    struct stat info;

    return lstat(test_path(path), &info) == 0;
}

static void check_refused(struct str *tar, const char *why)
{
    CHECK_STATUS(unpack_tar(tar, 1000), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "made.tar.gz");
    CHECK_HAS(err.text, why);
}

/* ---- good ones --------------------------------------------------------- */

TEST(files_and_folders_are_unpacked_where_they_belong)
{
    struct str tar = {0};

    add_entry(&tar, '5', "./images/", "", 0);
    add_file(&tar, "./images/a.jpg", "one");
    add_file(&tar, "annotations//deep/./b.txt", "two");
    add_file(&tar, "empty", "");
    CHECK_STATUS(unpack_tar(&tar, 1000), ASSAY_OK, &err);
    check_file("to/images/a.jpg", "one");
    check_file("to/annotations/deep/b.txt", "two");
    check_file("to/empty", "");
    CHECK_INT(done.n_files, 3);
    CHECK_INT(done.n_bytes, 6);
}

TEST(an_existing_file_is_replaced_and_not_written_into)
{
    struct str tar = {0};

    write_text(test_path("other"), "mine");
    write_text(test_path("to/x"), "before");
    unlink(test_path("to/linked"));
    CHECK_INT(link(test_path("other"), test_path("to/linked")), 0);
    add_file(&tar, "x", "new");
    add_file(&tar, "linked", "new");
    CHECK_STATUS(unpack_tar(&tar, 1000), ASSAY_OK, &err);
    check_file("to/x", "new");
    check_file("to/linked", "new");
    check_file("other", "mine");
}

TEST(archives_of_tar_programs_are_read_with_long_names)
{
    static const char *const forms[] = {"ustar", "gnu", "pax"};
    char command[2000], path[600];

    if (access("/usr/bin/python3", X_OK))
        SKIP("python3: no /usr/bin/python3 to write archives");
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command,
                 "/usr/bin/python3 %s/tests/data/make_archive.py %s %s",
                 TEST_SOURCE_DIR, forms[i], test_path("real.tar.gz"));
        CHECK_INT(system(command), 0);
        snprintf(path, sizeof path, "form_%s", forms[i]);
        CHECK_STATUS(unpack(test_path("real.tar.gz"), test_path(path), 1 << 20),
                     ASSAY_OK, &err);
        CHECK_INT(done.n_files, i == 0 ? 3 : 4);
        snprintf(path, sizeof path, "form_%s/pets/%060d/%060d/%060d.txt",
                 forms[i], 0, 0, 0);
        check_file(path, "deep");
        snprintf(path, sizeof path, "form_%s/pets/%0150d.txt", forms[i], 0);
        if (i > 0)
            check_file(path, "long");
        snprintf(path, sizeof path, "form_%s/pets/big", forms[i]);
        CHECK_INT(done.n_bytes, 200000 + 4 * (i ? 3 : 2));
    }
}

TEST(a_gzip_file_of_several_members_is_one_archive)
{
    struct str tar = {0};
    gzFile file;

    add_file(&tar, "members", "of two");
    add_end(&tar);
    for (int i = 0; i < 2; i++) {
        file = gzopen(test_path("members.tar.gz"), i ? "ab" : "wb");
        CHECK_INT(
            gzwrite(file, tar.text + i * 700, i ? (unsigned)tar.n - 700 : 700),
            i ? tar.n - 700 : 700);
        gzclose(file);
    }
    CHECK_STATUS(unpack(test_path("members.tar.gz"), test_path("to"), 100),
                 ASSAY_OK, &err);
    check_file("to/members", "of two");
    str_release(&tar);
}

/* ---- bad ones ---------------------------------------------------------- */

TEST(paths_that_lead_out_of_the_folder_are_refused)
{
    static const char *const paths[] = {"../out", "images/../../out", "..",
                                        "/tmp/assay-out"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct str tar = {0};

        add_file(&tar, paths[i], "harm");
        check_refused(&tar, paths[i][0] == '/' ? "not a path inside" : "'..'");
        CHECK(!is_there("out"));
    }
}

TEST(links_and_devices_are_refused)
{
    static const char types[] = {'1', '2', '3', '4', '6'};

    for (size_t i = 0; i < sizeof types; i++) {
        struct str tar = {0};

        add_entry(&tar, types[i], "way", "", 0);
        add_file(&tar, "way/out", "harm");
        check_refused(&tar, i < 2 ? "'way' in it is a link" : "is a device");
        CHECK(!is_there("to/way"));
    }
}

TEST(existing_links_are_not_followed)
{
    struct str tar = {0};

    mkdir(test_path("elsewhere"), 0777);
    mkdir(test_path("to"), 0777);
    CHECK_INT(symlink(test_path("elsewhere"), test_path("to/gate")), 0);
    add_file(&tar, "gate/out", "harm");
    CHECK(unpack_tar(&tar, 1000) != ASSAY_OK);
    CHECK(!is_there("elsewhere/out"));
    unlink(test_path("to/gate"));
}

TEST(more_bytes_than_allowed_are_refused_before_they_are_written)
{
    struct str tar = {0};

    add_file(&tar, "small", "1234");
    add_entry(&tar, '0', "huge", "", 997);
    check_refused(&tar, "more than");
    CHECK(!is_there("to/huge"));
}

TEST(archives_that_end_early_or_are_damaged_are_refused)
{
    struct str tar = {0};

    add_entry(&tar, '0', "cut", "short", 4000);
    tar.n -= 100;
    write_gzip(test_path("cut.tar.gz"), &tar);
    CHECK_INT(unpack(test_path("cut.tar.gz"), test_path("to"), 10000),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "it is cut off");
    str_release(&tar);

    add_file(&tar, "sum", "x");
    tar.text[3]++;
    check_refused(&tar, "wrong checksum");

    write_text(test_path("cut.tar.gz"), "not an archive");
    CHECK_INT(unpack(test_path("cut.tar.gz"), test_path("to"), 10000),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "cut.tar.gz is damaged");
}

TEST(a_cut_gzip_file_is_reported_even_after_the_last_entry)
{
    struct str tar = {0}, whole = {0};

    add_file(&tar, "x", "y");
    add_end(&tar);
    write_gzip(test_path("tail.tar.gz"), &tar);
    CHECK_INT(file_read(test_path("tail.tar.gz"), 1 << 20, &whole, &err), 0);
    write_file(test_path("tail.tar.gz"), whole.text, whole.n - 4);
    CHECK_INT(unpack(test_path("tail.tar.gz"), test_path("to"), 100),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "cut off");
    whole.text[whole.n - 5]++;
    write_file(test_path("tail.tar.gz"), whole.text, whole.n);
    CHECK_INT(unpack(test_path("tail.tar.gz"), test_path("to"), 100),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "damaged");
    str_release(&tar);
    str_release(&whole);
}

TEST(names_and_records_that_are_too_long_or_missing_are_refused)
{
    static const char *const records[] = {"12 path=abc", "x path=a\n",
                                          "99 path=a\n", "3 \n",
                                          "9 size=x\n",  "7 path\n"};
    struct str tar = {0};
    char name[5000];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    add_entry(&tar, 'L', "././@LongLink", name, sizeof name - 1);
    check_refused(&tar, "too long");
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        add_entry(&tar, 'x', "pax", records[i], strlen(records[i]));
        check_refused(&tar, "no records");
    }
}

TEST(unpacking_loses_no_memory_whichever_allocation_fails)
{
    struct str tar = {0};
    long before = mem_live();
    enum assay_status st = ASSAY_NOMEM;

    add_file(&tar, "a/b", "content");
    add_end(&tar);
    write_gzip(test_path("memory.tar.gz"), &tar);
    str_release(&tar);
    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        mem_fail_at(nth);
        st = unpack(test_path("memory.tar.gz"), test_path("to"), 100);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
}

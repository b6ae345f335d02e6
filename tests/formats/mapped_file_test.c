/* Mapped files, and changes by others while they are in use. */
#include "base/file_guard.h"
#include "base/mem.h"
#include "formats/mapped_file_internal.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error err;

static const char *write_ones(const char *name, size_t n)
{
    const char *path = test_path(name);
    char *ones = mem_alloc(n);
    FILE *file = fopen(path, "wb");

    CHECK(file && ones);
    memset(ones, 1, n);
    CHECK_INT(fwrite(ones, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
    mem_free(ones);
    err = (struct error){0};
    return path;
}

TEST(a_large_file_that_shrinks_is_reported)
{
    const size_t n = (size_t)4 << 20;
    const char *path = write_ones("large", n);
    struct buffer *file = NULL;
    const char *bytes;

    file_guard_catch();
    CHECK_STATUS(mapped_file_open(path, &file, &err), ASSAY_OK, &err);
    bytes = buffer_data(file);
    CHECK_INT(bytes[n - 1], 1);
    CHECK_INT(truncate(path, 10), 0);
    CHECK_INT(bytes[n - 1], 0);
    CHECK_INT(bytes[n / 2], 0);
    CHECK_INT(file_guards_hold(ASSAY_OK, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, path);
    buffer_release(file);
}

TEST(a_small_file_that_shrinks_stays_readable)
{
    enum { n = 100000 };
    const char *path = write_ones("small", n);
    struct buffer *file = NULL;

    CHECK_STATUS(mapped_file_open(path, &file, &err), ASSAY_OK, &err);
    CHECK_INT(truncate(path, 0), 0);
    CHECK_INT(buffer_bytes(file), n);
    CHECK_INT(((const char *)buffer_data(file))[n - 1], 1);
    CHECK_INT(file_guards_check(ASSAY_OK, &err), ASSAY_OK);
    buffer_release(file);
}

TEST(opening_leaks_nothing_whichever_allocation_fails)
{
    const char *paths[] = {write_ones("small2", 1000),
                           write_ones("large2", (size_t)2 << 20)};

    for (size_t i = 0; i < 2; i++) {
        enum assay_status st = ASSAY_NOMEM;

        for (long nth = 0; st == ASSAY_NOMEM; nth++) {
            long before = mem_live();
            struct buffer *file;

            err = (struct error){0};
            mem_fail_at(nth);
            st = mapped_file_open(paths[i], &file, &err);
            mem_fail_at(-1);
            buffer_release(file);
            CHECK_INT(mem_live(), before);
        }
        CHECK_INT(st, ASSAY_OK);
    }
}

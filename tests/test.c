/* tests/test.c - see test.h. */
#include "test.h"

#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_tests = 512 };

static struct CMUnitTest tests[max_tests];
static size_t n_tests;
static char folder[64];

void test_register(const char *name, void (*body)(void **))
{
    if (n_tests == max_tests) {
        fprintf(stderr, "more than %d tests in one program\n", max_tests);
        exit(1);
    }
    tests[n_tests++] = (struct CMUnitTest){.name = name, .test_func = body};
}

void test_check_int(long long got, long long want, const char *what,
                    const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s is %lld, not %lld\n", what, got, want);
    _fail(file, line);
}

void test_check_str(const char *got, const char *want, const char *what,
                    const char *file, int line)
{
    if (got && want && strcmp(got, want) == 0)
        return;
    print_error("%s is\n%s\nand not\n%s\n", what, got ? got : "(null)",
                want ? want : "(null)");
    _fail(file, line);
}

void test_check_near(double got, double want, double tolerance,
                     const char *what, const char *file, int line)
{
    if (fabs(got - want) <= tolerance)
        return;
    print_error("%s is %.12g, not %.12g within %g\n", what, got, want,
                tolerance);
    _fail(file, line);
}

void test_check_has(const char *text, const char *part, const char *file,
                    int line)
{
    if (text && strstr(text, part))
        return;
    print_error("no \"%s\" in\n%s\n", part, text ? text : "(null)");
    _fail(file, line);
}

void test_check_status(int got, int want, const char *text, const char *what,
                       const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s is %d, not %d: %s\n", what, got, want, text);
    _fail(file, line);
}

void test_skip(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("skipped: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    skip();
}

static int remove_entry(const char *path, const struct stat *info, int kind,
                        struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static pid_t folder_owner;

static void remove_folder(void)
{
    if (folder[0] && getpid() == folder_owner)
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_path(const char *name)
{
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];

    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/assay-test-XXXXXX");
        if (!mkdtemp(folder)) {
            perror("mkdtemp");
            exit(1);
        }
        folder_owner = getpid();
        atexit(remove_folder);
    }
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static size_t find_parts(const char *name, char *path, size_t size)
{
    char pattern[1024];
    glob_t found = {0};
    size_t n;

    snprintf(pattern, sizeof pattern, "%.900s.[1-9]*-??????.part",
             test_path(name));
    n = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    snprintf(path, size, "%s", n ? found.gl_pathv[0] : "");
    globfree(&found);
    return n;
}

size_t test_part_count(const char *name)
{
    char ignored[1024];

    return find_parts(name, ignored, sizeof ignored);
}

const char *test_part(const char *name)
{
    static char path[1024];

    CHECK(find_parts(name, path, sizeof path) <= 1);
    return path;
}

const char *test_shared(const char *name)
{
    static char paths[8][1024];
    static size_t next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof paths[0], "%s/data/%s", TEST_SHARED_DIR, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* A request that is too large must come back as NULL under AddressSanitizer
 * too: the code that handles it is what is being tested. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:print_suppressions=0";
}

/* fontconfig keeps what it knows in pointers that LeakSanitizer does not see
 * as such. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig";
}

int main(int argc, char **argv)
{
    size_t kept = 0;

    for (size_t i = 0; i < n_tests; i++) {
        if (argc < 2 || fnmatch(argv[1], tests[i].name, 0) == 0)
            tests[kept++] = tests[i];
    }
    return _cmocka_run_group_tests(argv[0], tests, kept, NULL, NULL) ? 1 : 0;
}

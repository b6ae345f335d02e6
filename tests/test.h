/* tests/test.h - TEST and CHECK_*, a thin layer over cmocka.
 *
 * A test file is a program: it includes this, writes TEST(a_sentence) { ... }
 * and links with test.c, which finds them all. `NAME_test PATTERN` runs those
 * whose name matches (with * and ?).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

/* Whether a sanitizer watches. Everything is slow then, and what repeats only
 * for a statistic or runs code that is not ours need not run as often. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_IS_SANITIZED 1
#endif
#endif
#ifndef TEST_IS_SANITIZED
#define TEST_IS_SANITIZED 0
#endif

void test_register(const char *name, void (*body)(void **));

#define TEST(name)                                                             \
    static void name(void **state);                                            \
    __attribute__((constructor)) static void register_##name(void)             \
    {                                                                          \
        test_register(#name, name);                                            \
    }                                                                          \
    static void name(__attribute__((unused)) void **state)

#define CHECK(condition) assert_true(condition)
#define CHECK_INT(got, want)                                                   \
    test_check_int((long long)(got), (long long)(want), #got, __FILE__,        \
                   __LINE__)
#define CHECK_STR(got, want) test_check_str(got, want, #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, want, tolerance)                                       \
    test_check_near(got, want, tolerance, #got, __FILE__, __LINE__)
/* The text contains the part. */
#define CHECK_HAS(text, part) test_check_has(text, part, __FILE__, __LINE__)
/* A status: prints the error's text where it is not the wanted one. */
#define CHECK_STATUS(got, want, err)                                           \
    test_check_status((int)(got), (int)(want), (err)->text, #got, __FILE__,    \
                      __LINE__)
/* Ends the test as skipped, and says why. */
#define SKIP(...) test_skip(__VA_ARGS__)
/* The same where it is the processor that the test cannot be made on, with any
 * ASSAY_CPU: these are counted apart. */
#define SKIP_PROCESSOR(why) test_skip("processor: %s", why)

void test_check_int(long long got, long long want, const char *what,
                    const char *file, int line);
void test_check_str(const char *got, const char *want, const char *what,
                    const char *file, int line);
void test_check_near(double got, double want, double tolerance,
                     const char *what, const char *file, int line);
void test_check_has(const char *text, const char *part, const char *file,
                    int line);
void test_check_status(int got, int want, const char *text, const char *what,
                       const char *file, int line);
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A folder of this test program's own, made empty when first asked for and
 * removed at its end; "NAME" inside it. The answer is good until the next 8
 * calls. */
const char *test_path(const char *name);

/* What the run file "NAME" in that folder is called before it is finished: how
 * many such files there are, and the path of the only one, good until the next
 * call ("" where there is none). */
size_t test_part_count(const char *name);
const char *test_part(const char *name);

/* A file under ../shared/data, or NULL where that folder is missing. */
const char *test_shared(const char *name);

#endif

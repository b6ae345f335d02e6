/* What base/mem.h promises. */
#include "base/mem.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

TEST(live_blocks_and_bytes_are_counted)
{
    long blocks = mem_live();
    size_t bytes = mem_live_bytes();
    char *a = mem_alloc(1000), *b = mem_array(10, 100), *c;

    CHECK_INT(mem_live(), blocks + 2);
    CHECK(mem_live_bytes() >= bytes + 2000);
    c = mem_realloc(a, 100000);
    CHECK_INT(mem_live(), blocks + 2);
    CHECK(mem_peak_bytes() >= bytes + 101000);
    mem_free(b);
    mem_free(c);
    mem_free(NULL);
    CHECK_INT(mem_live(), blocks);
    CHECK_INT(mem_live_bytes(), bytes);
}

TEST(the_nth_request_and_all_after_it_fail)
{
    void *a;

    mem_fail_at(1);
    a = mem_alloc(1);
    CHECK(a != NULL);
    CHECK(mem_alloc(1) == NULL);
    CHECK(mem_array(1, 1) == NULL);
    CHECK(mem_realloc(a, 10) == NULL);
    CHECK(mem_alloc_aligned(64, 1) == NULL);
    CHECK(mem_map(1) == NULL);
    mem_fail_once_at(0);
    CHECK(mem_strdup("x") == NULL);
    mem_free(a);
    a = mem_strdup("x");
    CHECK_STR(a, "x");
    mem_free(a);
    mem_fail_at(-1);
}

enum { n_threads = 4, n_requests = 1000000 }; /* each */

static atomic_long n_granted;

static void *request_many(void *unused)
{
    for (int i = 0; i < n_requests; i++) {
        void *block = mem_alloc(1);

        atomic_fetch_add(&n_granted, block != NULL);
        mem_free(block);
    }
    return unused;
}

static long count_granted_together(void)
{
    pthread_t threads[n_threads];

    atomic_store(&n_granted, 0);
    for (int i = 0; i < n_threads; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, request_many, NULL), 0);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&n_granted);
}

TEST(requests_of_several_threads_are_counted_once_each)
{
    static const long most = n_threads * n_requests;
    long granted;

    mem_fail_at(most / 2);
    granted = count_granted_together();
    mem_fail_at(-1);
    CHECK_INT(granted, most / 2);
    mem_fail_once_at(most / 2);
    granted = count_granted_together();
    mem_fail_at(-1);
    CHECK_INT(granted, most - 1);
}

TEST(mapped_pages_are_zeroed_counted_and_given_back)
{
    static const size_t sizes[] = {1, 4096, 1 << 20, (2 << 20) + 1, 5 << 20};
    long blocks = mem_live();
    size_t bytes = mem_live_bytes();

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = mem_map(sizes[i]);

        CHECK(block != NULL);
        CHECK_INT((uintptr_t)block % 4096, 0);
        CHECK(block[0] == 0 && block[sizes[i] - 1] == 0);
        block[0] = block[sizes[i] - 1] = 1;
        CHECK_INT(mem_live(), blocks + 1);
        CHECK(mem_live_bytes() >= bytes + sizes[i]);
        mem_unmap(block, sizes[i]);
        CHECK_INT(mem_live_bytes(), bytes);
    }
    CHECK(mem_map(SIZE_MAX) == NULL);
    CHECK(mem_map(SIZE_MAX / 4) == NULL);
    mem_unmap(NULL, 1);
    CHECK_INT(mem_live(), blocks);
}

TEST(overflowing_products_and_sums_are_detected)
{
    size_t n = 0;

    CHECK(mem_mul(3, 4, &n));
    CHECK_INT(n, 12);
    CHECK(!mem_mul(SIZE_MAX / 2, 3, &n));
    CHECK(!mem_add(SIZE_MAX, 1, &n));
    CHECK(mem_array(SIZE_MAX / 2, 3) == NULL);
}

TEST(aligned_blocks_are_aligned)
{
    void *block = mem_alloc_aligned(64, 100);

    CHECK_INT((uintptr_t)block % 64, 0);
    mem_free(block);
}

TEST(copies_stop_at_the_length_or_the_nul)
{
    char *a = mem_strndup("abcdef", 3), *b = mem_strndup("ab", 10);

    CHECK_STR(a, "abc");
    CHECK_STR(b, "ab");
    mem_free(a);
    mem_free(b);
}

/* What tensor/tensor.h and tensor/pool.h promise. */
#include "base/mem.h"
#include "tensor/tensor.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct error err;

static struct pool *new_pool(void)
{
    struct pool *pool;

    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    return pool;
}

TEST(a_tensor_is_aligned_and_as_large_as_its_shape_says)
{
    struct pool *pool = new_pool();
    struct shape shape = shape_of(3, (int64_t)2, (int64_t)3, (int64_t)5);
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, DTYPE_I64, &shape, &tensor, &err), ASSAY_OK);
    CHECK_INT(tensor_elements(&tensor), 30);
    CHECK_INT(tensor_bytes(&tensor), 240);
    CHECK_INT((uintptr_t)tensor_data(&tensor) % POOL_ALIGNMENT, 0);
    memset(tensor_data(&tensor), 1, 240);
    tensor_release(&tensor);
    tensor_release(&tensor);
    pool_free(pool);
}

TEST(a_buffer_counts_in_its_pool_and_wrapped_memory_does_not)
{
    struct pool *pool = new_pool();
    struct buffer *taken, *wrapped;
    char own[8];

    CHECK_INT(pool_take(pool, 1000, "a test", &taken, &err), ASSAY_OK);
    CHECK_INT(buffer_wrap(own, sizeof own, NULL, NULL, &wrapped, &err),
              ASSAY_OK);
    CHECK(buffer_pool_bytes(taken) >= 1000);
    CHECK_INT(buffer_pool_bytes(taken), pool_usage(pool).live_bytes);
    CHECK_INT(buffer_pool_bytes(wrapped), 0);
    buffer_release(taken);
    buffer_release(wrapped);
    pool_free(pool);
}

TEST(shapes_that_cannot_be_are_refused_with_their_text)
{
    struct pool *pool = new_pool();
    struct shape huge = shape_of(2, INT64_MAX, INT64_MAX);
    struct shape negative = shape_of(2, (int64_t)4, (int64_t)-1);
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &huge, &tensor, &err),
              ASSAY_BAD_INPUT);
    err = (struct error){0};
    CHECK_INT(tensor_new(pool, DTYPE_F32, &negative, &tensor, &err),
              ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "a tensor of 4x-1 elements cannot be");
    CHECK(tensor.buffer == NULL);
    pool_free(pool);
}

TEST(a_shape_too_long_for_its_text_is_cut)
{
    struct shape shape = shape_of(4, (int64_t)1000000, (int64_t)1000000,
                                  (int64_t)1000000, (int64_t)7);
    struct shape scalar = {0};
    char text[16];

    CHECK_STR(shape_text(&shape, text, sizeof text), "1000000x1000...");
    CHECK_STR(shape_text(&scalar, text, sizeof text), "scalar");
}

TEST(data_lives_until_the_last_reference_goes)
{
    struct pool *pool = new_pool();
    struct shape shape = shape_of(1, (int64_t)1000);
    struct tensor a, b;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &a, &err), ASSAY_OK);
    b = tensor_share(&a);
    tensor_release(&a);
    CHECK(pool_usage(pool).live_bytes >= 4000);
    tensor_f32(&b)[999] = 1;
    tensor_release(&b);
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    pool_free(pool);
}

TEST(a_buffer_that_was_given_back_is_used_again)
{
    struct pool *pool = new_pool();
    struct buffer *a, *b;
    void *data;

    CHECK_INT(pool_take(pool, 100000, "x", &a, &err), ASSAY_OK);
    data = buffer_data(a);
    buffer_release(a);
    CHECK_INT(pool_take(pool, 99000, "x", &b, &err), ASSAY_OK);
    CHECK(buffer_data(b) == data);
    CHECK_INT(buffer_bytes(b), 99000);
    buffer_release(b);
    CHECK_INT(pool_usage(pool).held_bytes, pool_usage(pool).cached_bytes);
    pool_trim(pool);
    CHECK_INT(pool_usage(pool).held_bytes, 0);
    pool_free(pool);
}

TEST(no_buffer_is_more_than_an_eighth_too_large)
{
    struct pool *pool = new_pool();

    for (size_t bytes = 512; bytes < 3000000; bytes = bytes * 9 / 8 + 1) {
        struct buffer *buffer;

        CHECK_INT(pool_take(pool, bytes, "x", &buffer, &err), ASSAY_OK);
        CHECK(pool_usage(pool).live_bytes >= bytes);
        CHECK(pool_usage(pool).live_bytes <= bytes + bytes / 8 + 1);
        buffer_release(buffer);
        pool_trim(pool);
    }
    pool_free(pool);
}

/* Whether the page is still there. */
static bool is_mapped(void *page)
{
    unsigned char resident;

    return mincore(page, 1, &resident) == 0;
}

TEST(the_pages_of_a_large_buffer_go_back_whatever_lies_behind_it)
{
    struct pool *pool = new_pool();
    struct buffer *large, *behind;
    void *page;

    CHECK_INT(pool_take(pool, 3 << 20, "x", &large, &err), ASSAY_OK);
    CHECK_INT(pool_take(pool, 1000, "x", &behind, &err), ASSAY_OK);
    page = buffer_data(large);
    memset(page, 1, 3 << 20);
    CHECK(is_mapped(page));
    buffer_release(large);
    pool_trim(pool);
    CHECK(!is_mapped(page));
    buffer_release(behind);
    pool_free(pool);
}

TEST(a_thrifty_pool_holds_little_more_than_was_live_at_most)
{
    enum { large = 20 << 20 };
    struct pool *pool = new_pool();
    struct buffer *buffers[3], *more;

    CHECK(!pool_set_thrifty(pool, true));
    for (int i = 0; i < 3; i++)
        CHECK_INT(pool_take(pool, large, "x", &buffers[i], &err), ASSAY_OK);
    for (int i = 0; i < 3; i++)
        buffer_release(buffers[i]);
    CHECK_INT(pool_take(pool, 1000, "x", &more, &err), ASSAY_OK);
    CHECK_INT(pool_usage(pool).cached_bytes, 3 * large);
    buffer_release(more);
    /* Two of the three go: 3 * large were live, which hold for this too. */
    CHECK_INT(pool_take(pool, 2 * large, "x", &more, &err), ASSAY_OK);
    CHECK_INT(pool_usage(pool).cached_bytes / large, 1);
    CHECK(pool_set_thrifty(pool, false));
    buffer_release(more);
    CHECK_INT(pool_take(pool, large, "x", &more, &err), ASSAY_OK);
    CHECK_INT(pool_usage(pool).cached_bytes / large, 2);
    buffer_release(more);
    pool_free(pool);
}

static int n_lasting;

static void *take_of_host(struct space *space, size_t bytes)
{
    (void)space;
    return space_host.take(&space_host, bytes);
}

static void *take_counted(struct space *space, size_t bytes)
{
    n_lasting++;
    return take_of_host(space, bytes);
}

static void give_to_host(struct space *space, void *data, size_t bytes)
{
    (void)space;
    space_host.give(&space_host, data, bytes);
}

TEST(weights_are_taken_apart_and_do_not_wait)
{
    struct space space = {.name = "apart",
                          .take = take_of_host,
                          .take_lasting = take_counted,
                          .give = give_to_host};
    struct buffer *map, *weights;
    struct pool *pool;

    CHECK_INT(pool_new_in(&space, &pool, &err), ASSAY_OK);
    CHECK_INT(pool_take(pool, 4096, "x", &map, &err), ASSAY_OK);
    buffer_release(map);
    pool_set_owner(pool, OWNER_WEIGHTS);
    CHECK_INT(pool_take(pool, 4096, "x", &weights, &err), ASSAY_OK);
    CHECK_INT(n_lasting, 1);
    CHECK_INT(pool_usage(pool).cached_bytes, 4096); /* the map's */
    buffer_release(weights);
    CHECK_INT(pool_usage(pool).held_bytes, 4096);
    pool_free(pool);
}

TEST(a_thrifty_pool_gives_back_what_waited_longest)
{
    enum { large = 48 << 20, larger = 60 << 20, n = 3 };
    static const int order[n] = {1, 0, 2};
    struct buffer *buffers[n], *more, *again[n - 1];
    const void *data[n];
    struct pool *pool = new_pool();

    pool_set_thrifty(pool, true);
    for (int i = 0; i < n; i++) {
        CHECK_INT(pool_take(pool, large, "x", &buffers[i], &err), ASSAY_OK);
        data[i] = buffer_data(buffers[i]);
    }
    for (int i = 0; i < n; i++)
        buffer_release(buffers[order[i]]);
    CHECK_INT(pool_take(pool, larger, "x", &more, &err), ASSAY_OK);
    CHECK_INT(pool_usage(pool).cached_bytes, 2 * large);
    for (int i = 0; i < n - 1; i++) {
        CHECK_INT(pool_take(pool, large, "x", &again[i], &err), ASSAY_OK);
        CHECK(buffer_data(again[i]) == data[0] ||
              buffer_data(again[i]) == data[2]);
    }
    for (int i = 0; i < n - 1; i++)
        buffer_release(again[i]);
    buffer_release(more);
    pool_free(pool);
}

struct heard {
    int64_t bytes, asked_bytes, weights;
};

static void add_up(void *context, const struct pool_change *change)
{
    struct heard *heard = context;

    if (!change->is_handed_over) {
        heard->bytes += change->bytes;
        heard->asked_bytes += change->asked_bytes;
    }
    if (change->owner == OWNER_WEIGHTS)
        heard->weights += change->asked_bytes;
    if (change->is_handed_over && change->owner_before == OWNER_WEIGHTS)
        heard->weights -= change->asked_bytes;
}

TEST(the_observer_hears_of_every_byte_and_whose_it_is)
{
    struct pool *pool = new_pool();
    struct buffer *buffer;
    struct heard heard = {0};

    pool_observe(pool, (struct pool_observer){add_up, &heard});
    CHECK_INT(pool_take(pool, 5000, "x", &buffer, &err), ASSAY_OK);
    CHECK_INT(heard.bytes, pool_usage(pool).live_bytes);
    CHECK_INT(heard.asked_bytes, 5000);
    buffer_set_owner(buffer, OWNER_WEIGHTS);
    CHECK_INT(heard.bytes, pool_usage(pool).live_bytes);
    CHECK_INT(heard.weights, 5000);
    CHECK_INT(pool_live_of(pool, OWNER_WEIGHTS), 5000);
    buffer_set_owner(buffer, OWNER_SCRATCH);
    CHECK_INT(heard.weights, 0);
    buffer_release(buffer);
    CHECK_INT(heard.bytes, 0);
    CHECK_INT(heard.asked_bytes, 0);
    CHECK(pool_usage(pool).peak_bytes >= 5000);
    pool_reset_peak(pool);
    CHECK_INT(pool_usage(pool).peak_bytes, 0);
    pool_free(pool);
}

/* ---- owners ------------------------------------------------------------ */

static struct buffer *take(struct pool *pool, uint32_t owner, size_t bytes)
{
    uint32_t before = pool_set_owner(pool, owner);
    struct buffer *buffer;

    CHECK_INT(pool_take(pool, bytes, "x", &buffer, &err), ASSAY_OK);
    CHECK_INT(pool_set_owner(pool, before), owner);
    return buffer;
}

/* 4096 and 8192 are sizes of the pool; 5000 is not. */
TEST(the_peak_knows_what_each_owner_had_asked_for)
{
    enum { FIRST = OWNER_MODULE, SECOND = OWNER_MODULE + 40 };
    struct pool *pool = new_pool();
    struct buffer *weights = take(pool, OWNER_WEIGHTS, 8192);
    struct buffer *first = take(pool, FIRST, 5000), *second, *later, *scratch;
    size_t asked = 8192 + 5000 + 4096 + 100;

    CHECK_INT(pool_take_scratch(pool, 100, "x", &scratch, &err), ASSAY_OK);
    second = take(pool, SECOND, 4096);
    buffer_release(first);
    later = take(pool, FIRST, 2000);
    CHECK_INT(pool_peak_of(pool, OWNER_WEIGHTS), 8192);
    CHECK_INT(pool_peak_of(pool, FIRST), 5000);
    CHECK_INT(pool_peak_of(pool, SECOND), 4096);
    CHECK_INT(pool_peak_of(pool, OWNER_SCRATCH), 100);
    CHECK_INT(pool_peak_of(pool, SECOND + 1), 0);
    CHECK_INT(pool_owner_count(pool), SECOND + 1);
    CHECK(pool_usage(pool).peak_bytes > asked);
    buffer_release(scratch);
    buffer_release(later);
    buffer_release(second);
    buffer_release(weights);
    pool_free(pool);
}

TEST(a_new_peak_has_new_shares_and_a_lower_one_has_none)
{
    struct pool *pool = new_pool();
    struct buffer *large = take(pool, OWNER_MODULE, 65536), *small;

    buffer_release(large);
    small = take(pool, OWNER_IMAGES, 4096);
    buffer_release(small);
    CHECK_INT(pool_peak_of(pool, OWNER_MODULE), 65536);
    CHECK_INT(pool_peak_of(pool, OWNER_IMAGES), 0);
    pool_reset_peak(pool);
    small = take(pool, OWNER_IMAGES, 4096);
    CHECK_INT(pool_peak_of(pool, OWNER_MODULE), 0);
    CHECK_INT(pool_peak_of(pool, OWNER_IMAGES), 4096);
    buffer_release(small);
    pool_free(pool);
}

/* What a kernel wrote into the memory of its input is its own. */
TEST(a_buffer_that_changes_hands_counts_for_the_new_owner)
{
    struct pool *pool = new_pool();
    struct buffer *buffer = take(pool, OWNER_MODULE, 4096), *wrapped;
    char memory[16];

    buffer_set_owner(buffer, OWNER_MODULE + 1);
    CHECK_INT(buffer_owner(buffer), OWNER_MODULE + 1);
    buffer_release(buffer);
    CHECK_INT(pool_peak_of(pool, OWNER_MODULE), 0);
    CHECK_INT(pool_peak_of(pool, OWNER_MODULE + 1), 4096);
    CHECK_INT(buffer_wrap(memory, sizeof memory, NULL, NULL, &wrapped, &err),
              ASSAY_OK);
    buffer_set_owner(wrapped, OWNER_IMAGES);
    buffer_release(wrapped);
    pool_free(pool);
}

TEST(without_memory_for_more_owners_the_bytes_are_of_no_one)
{
    struct pool *pool = new_pool();
    struct buffer *buffer;

    mem_fail_once_at(0);
    CHECK_INT(pool_set_owner(pool, 100000), OWNER_OTHER);
    mem_fail_once_at(-1);
    CHECK_INT(pool_take(pool, 4096, "x", &buffer, &err), ASSAY_OK);
    CHECK_INT(buffer_owner(buffer), OWNER_OTHER);
    buffer_release(buffer);
    CHECK_INT(pool_peak_of(pool, OWNER_OTHER), 4096);
    pool_free(pool);
}

TEST(what_waits_is_given_back_when_memory_ends)
{
    struct pool *pool = new_pool();
    struct buffer *buffer;

    CHECK_INT(pool_take(pool, 1000000, "x", &buffer, &err), ASSAY_OK);
    buffer_release(buffer);
    mem_fail_once_at(0);
    CHECK_STATUS(pool_take(pool, 10, "x", &buffer, &err), ASSAY_OK, &err);
    CHECK_INT(pool_usage(pool).cached_bytes, 0);
    buffer_release(buffer);
    mem_fail_at(0);
    CHECK_INT(pool_take(pool, 1 << 24, "the features", &buffer, &err),
              ASSAY_NOMEM);
    mem_fail_at(-1);
    CHECK_STR(err.text, "out of memory: 16.0 MiB needed for the features");
    pool_free(pool);
}

static void count_release(void *context)
{
    ++*(int *)context;
}

TEST(wrapped_memory_is_released_once)
{
    float data[4] = {1, 2, 3, 4};
    struct buffer *buffer;
    int released = 0;

    CHECK_INT(
        buffer_wrap(data, sizeof data, count_release, &released, &buffer, &err),
        ASSAY_OK);
    buffer_share(buffer);
    buffer_release(buffer);
    CHECK_INT(released, 0);
    buffer_release(buffer);
    CHECK_INT(released, 1);
}

/* Four pages of a file, each byte 7, mapped privately and changed to 9. */
static struct buffer *map_and_change(size_t page, unsigned char **data)
{
    FILE *file = fopen(test_path("pages"), "w+b");
    struct buffer *buffer;

    CHECK(file);
    for (size_t i = 0; i < 4 * page; i++)
        fputc(7, file);
    fflush(file);
    *data = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                 fileno(file), 0);
    fclose(file);
    CHECK(*data != MAP_FAILED);
    memset(*data, 9, 4 * page);
    CHECK_INT(buffer_wrap_file(*data, 4 * page, NULL, NULL, &buffer, &err),
              ASSAY_OK);
    return buffer;
}

TEST(unloaded_bytes_are_read_again_and_their_neighbours_stay)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *data;
    struct buffer *buffer = map_and_change(page, &data);

    buffer_unload(buffer, 10, 3 * page);
    CHECK_INT(data[10], 9);
    CHECK_INT(data[page - 1], 9);
    CHECK_INT(data[page], 7);
    CHECK_INT(data[3 * page - 1], 7);
    CHECK_INT(data[3 * page], 9);
    buffer_unload(buffer, 3 * page + 10, 20);
    CHECK_INT(data[3 * page + 15], 9);
    buffer_release(buffer);
    munmap(data, 4 * page);
}

TEST(unloading_memory_that_is_no_file_changes_nothing)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct shape shape = shape_of(1, (int64_t)(4 * page));
    struct pool *pool = new_pool();
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, DTYPE_U8, &shape, &tensor, &err), ASSAY_OK);
    memset(tensor_data(&tensor), 9, 4 * page);
    tensor_unload(&tensor);
    for (size_t i = 0; i < 4 * page; i += page)
        CHECK_INT(((unsigned char *)tensor_data(&tensor))[i], 9);
    tensor_release(&tensor);
    pool_free(pool);
}

/* ---- several threads --------------------------------------------------- */

static atomic_bool is_over;

/* As a loader's worker does: more than the pool's limit, too. */
static void *take_until_over(void *pool)
{
    struct error unused;

    while (!atomic_load(&is_over)) {
        struct buffer *buffer, *refused;

        unused = (struct error){0};
        if (pool_take(pool, 50 << 20, "x", &buffer, &unused) == ASSAY_OK)
            buffer_set_owner(buffer, OWNER_IMAGES);
        if (pool_take(pool, 1 << 30, "y", &refused, &unused) == ASSAY_OK)
            buffer_release(refused);
        buffer_release(buffer);
    }
    return NULL;
}

TEST(threads_share_a_pool_whose_settings_change)
{
    enum { n_threads = 3, n_rounds = 2000 };
    struct pool *pool = new_pool();
    pthread_t threads[n_threads];
    struct buffer *buffer;

    pool_set_limit(pool, 200 << 20);
    atomic_store(&is_over, false);
    for (int i = 0; i < n_threads; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, take_until_over, pool), 0);
    for (uint32_t i = 0; i < n_rounds; i++) {
        bool before = pool_set_thrifty(pool, true);
        uint32_t owner = pool_set_owner(pool, OWNER_MODULE + i);

        CHECK_INT(pool_take(pool, 1000, "z", &buffer, &err), ASSAY_OK);
        CHECK_INT(buffer_owner(buffer), OWNER_MODULE + i);
        buffer_release(buffer);
        pool_set_owner(pool, owner);
        CHECK(pool_set_thrifty(pool, before));
        CHECK(pool_owner_count(pool) > OWNER_MODULE + i);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    pool_free(pool);
}

/* tests/backend/cuda_activity_test.c - whose is what a GPU did, on records that
 * are made up. */
#include "test.h"

#include "backend/cuda/cuda_cupti.h"
#include "base/mem.h"

#include <string.h>

enum { MOST = 16 };

struct seen {
    struct queue_timing timings[MOST];
    size_t n;
};

static void see(void *context, const struct queue_timing *timing)
{
    struct seen *seen = context;

    CHECK(seen->n < MOST);
    seen->timings[seen->n++] = *timing;
}

/* A call that was made at a time for a tag, and what it launched. */
static void put_call(struct cuda_activities *book, uint32_t correlation,
                     uint32_t tag, int64_t at)
{
    cuda_activity_tagged(book, correlation, tag);
    cuda_activity_called(book, correlation, at);
}

static void put_ran(struct cuda_activities *book, uint32_t correlation,
                    int64_t begin, int64_t end)
{
    cuda_activity_ran(book, &(struct cuda_activity){.correlation = correlation,
                                                    .begin_ns = begin,
                                                    .end_ns = end});
}

TEST(what_ran_belongs_to_the_tag_that_launched_it)
{
    struct cuda_activities book = {0};
    struct seen seen = {0};

    put_call(&book, 1, 7, 100);
    put_call(&book, 2, 8, 110); /* two kernels by one call: a graph */
    put_ran(&book, 2, 300, 400);
    put_ran(&book, 1, 150, 250);
    put_ran(&book, 2, 400, 450);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, 3);
    CHECK_INT(seen.timings[0].tag, 7);
    CHECK_INT(seen.timings[0].launched_ns, 100);
    CHECK_INT(seen.timings[0].begin_ns, 150);
    CHECK_INT(seen.timings[0].end_ns, 250);
    CHECK_INT(seen.timings[1].tag, 8);
    CHECK_INT(seen.timings[1].begin_ns, 300);
    CHECK_INT(seen.timings[2].tag, 8);
    CHECK_INT(seen.timings[2].begin_ns, 400);
    CHECK_INT(book.n_guessed, 0);
    cuda_activities_release(&book);
}

TEST(records_of_a_call_may_come_before_or_after_what_it_launched)
{
    struct cuda_activities book = {0};
    struct seen seen = {0};

    put_ran(&book, 5, 150, 250);
    cuda_activity_called(&book, 5, 120);
    cuda_activity_called(&book, 4, 110); /* launched nothing */
    cuda_activity_tagged(&book, 5, 9);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, 1);
    CHECK_INT(seen.timings[0].tag, 9);
    CHECK_INT(seen.timings[0].launched_ns, 120);
    cuda_activities_release(&book);
}

TEST(a_kernel_that_runs_late_is_still_the_tags_that_launched_it)
{
    struct cuda_activities book = {0};
    struct seen seen = {0};

    put_call(&book, 1, 7, 100);
    put_call(&book, 2, 8, 110);
    put_ran(&book, 1, 150, 250);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, 1);
    CHECK_INT(book.n_notes, 2); /* 1 may be a graph that goes on */
    put_ran(&book, 2, 300, 400);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, 2);
    CHECK_INT(seen.timings[1].tag, 8);
    CHECK_INT(book.n_notes, 1);
    cuda_activities_release(&book);
}

TEST(what_nobody_tagged_follows_what_ran_before)
{
    struct cuda_activities book = {0};
    struct seen seen = {0};

    put_ran(&book, 1, 50, 60);
    put_call(&book, 2, 7, 100);
    put_ran(&book, 2, 150, 250);
    put_ran(&book, 3, 250, 260);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, 3);
    CHECK_INT(seen.timings[0].tag, 0);
    CHECK_INT(seen.timings[0].launched_ns, 50); /* nothing else is known */
    CHECK_INT(seen.timings[2].tag, 7);
    CHECK_INT(book.n_guessed, 2);
    cuda_activities_release(&book);
}

TEST(activity_without_memory_is_counted_as_lost)
{
    struct cuda_activities book = {0};
    struct seen seen = {0};

    mem_fail_once_at(0);
    put_ran(&book, 1, 50, 60);
    CHECK_INT(book.n_lost, 1);
    put_ran(&book, 1, 60, 50); /* ends before it begins */
    CHECK_INT(book.n_lost, 2);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, 0);
    cuda_activities_release(&book);
}

/* ---- CUPTI's records ----------------------------------------------------- */

/* The bytes of a record, as CUPTI writes them: field by field at its place. */
struct raw {
    unsigned char bytes[256];
};

static void raw_put32(struct raw *raw, size_t at, uint32_t value)
{
    memcpy(raw->bytes + at, &value, sizeof value);
}

static void raw_put64(struct raw *raw, size_t at, uint64_t value)
{
    memcpy(raw->bytes + at, &value, sizeof value);
}

static struct raw raw_kernel(uint32_t device, uint32_t correlation,
                             uint64_t start, uint64_t end)
{
    struct raw raw = {{0}};

    raw_put32(&raw, 0, CUPTI_KIND_KERNEL);
    raw_put64(&raw, 16, start);
    raw_put64(&raw, 24, end);
    raw_put32(&raw, 40, device);
    raw_put32(&raw, 92, correlation);
    return raw;
}

static struct raw raw_copy(uint32_t kind, unsigned char way,
                           uint32_t correlation, uint64_t start, uint64_t end)
{
    struct raw raw = {{0}};

    raw_put32(&raw, 0, kind);
    raw.bytes[4] = way;
    raw_put64(&raw, 16, start);
    raw_put64(&raw, 24, end);
    raw_put32(&raw, 44, correlation);
    return raw;
}

static struct raw raw_call(uint32_t kind, uint32_t correlation, uint64_t start)
{
    struct raw raw = {{0}};

    raw_put32(&raw, 0, kind);
    raw_put64(&raw, 8, start);
    raw_put64(&raw, 16, start + 5);
    raw_put32(&raw, 32, correlation);
    return raw;
}

static struct raw raw_external(uint32_t whose, uint64_t id,
                               uint32_t correlation)
{
    struct raw raw = {{0}};

    raw_put32(&raw, 0, CUPTI_KIND_EXTERNAL);
    raw_put32(&raw, 4, whose);
    raw_put64(&raw, 8, id);
    raw_put32(&raw, 16, correlation);
    return raw;
}

TEST(cuptis_records_become_kernels_and_copies_on_our_clock)
{
    const struct raw records[] = {
        raw_external(CUPTI_OUR_TAGS, 7, 1),
        raw_call(CUPTI_KIND_DRIVER, 1, 1100),
        raw_external(CUPTI_OUR_TAGS + 1, 99, 2), /* somebody else's */
        raw_external(CUPTI_OUR_TAGS, 8, 2),
        raw_call(CUPTI_KIND_RUNTIME, 2, 1110),
        raw_kernel(0, 2, 1300, 1400),
        raw_copy(CUPTI_KIND_MEMCPY, CUPTI_COPY_IN, 1, 1200, 1250),
        raw_copy(CUPTI_KIND_MEMCPY, CUPTI_COPY_OUT, 2, 1500, 1510),
        raw_copy(CUPTI_KIND_MEMCPY, 8, 2, 1520, 1530), /* within */
        raw_copy(CUPTI_KIND_MEMSET, 1, 2, 1540, 1550), /* no way there */
        raw_kernel(1, 2, 1300, 1400),                  /* another GPU */
        raw_kernel(0, 2, 0, 0),                        /* never finished */
        raw_call(77, 1, 1),                            /* of another kind */
    };
    static const enum queue_work works[] = {QUEUE_COPY_IN, QUEUE_KERNEL,
                                            QUEUE_COPY_OUT, QUEUE_KERNEL,
                                            QUEUE_KERNEL};
    struct cuda_activities book = {0};
    struct seen seen = {0};

    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        cupti_take(&book, &records[i], 0, 1000);
    cuda_activities_visit(&book, see, &seen);
    CHECK_INT(seen.n, sizeof works / sizeof *works);
    for (size_t i = 0; i < seen.n; i++) {
        CHECK_INT(seen.timings[i].work, works[i]);
        CHECK_INT(seen.timings[i].tag, i == 0 ? 7 : 8);
        CHECK_INT(seen.timings[i].launched_ns, i == 0 ? 100 : 110);
    }
    CHECK_INT(seen.timings[0].begin_ns, 200);
    CHECK_INT(seen.timings[1].end_ns, 400);
    CHECK_INT(book.n_guessed, 0);
    cuda_activities_release(&book);
}

TEST(versions_of_cupti_that_nobody_looked_at_are_refused)
{
    CHECK(cupti_is_known(18)); /* CUDA 11.8 */
    CHECK(cupti_is_known(28)); /* CUDA 12.9 */
    CHECK(cupti_is_known(130001));
    CHECK(!cupti_is_known(0));
    CHECK(!cupti_is_known(17));
    CHECK(!cupti_is_known(29));
    CHECK(cupti_is_known(130202));
    CHECK(!cupti_is_known(130300));
    CHECK(!cupti_is_known(140000));
}

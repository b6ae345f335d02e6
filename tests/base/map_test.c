/* What base/map.h, vec.h, str.h and arena.h promise. */
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

TEST(a_map_finds_each_of_ten_thousand_keys)
{
    struct map map = {0};
    uint64_t value = 7;
    char key[32];

    CHECK(!map_find_text(&map, "k", &value));
    for (uint64_t i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", (int)i);
        CHECK_INT(map_put_text(&map, key, i), ASSAY_OK);
    }
    CHECK_INT(map.n, 10000);
    for (uint64_t i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", (int)i);
        CHECK(map_find_text(&map, key, &value));
        CHECK_INT(value, i);
    }
    CHECK(!map_find_text(&map, "key 10000", &value));
    map_release(&map);
}

TEST(putting_a_key_again_replaces_its_value)
{
    struct map map = {0};
    uint64_t value = 0;

    CHECK_INT(map_put(&map, "a\0b", 3, 1), ASSAY_OK);
    CHECK_INT(map_put(&map, "a\0c", 3, 2), ASSAY_OK);
    CHECK_INT(map_put(&map, "a\0b", 3, 3), ASSAY_OK);
    CHECK_INT(map.n, 2);
    CHECK(map_find(&map, "a\0b", 3, &value));
    CHECK_INT(value, 3);
    map_release(&map);
}

TEST(a_map_is_unchanged_whichever_allocation_fails)
{
    long before = mem_live();

    for (long nth = 0; nth < 40; nth++) {
        struct map map = {0};
        size_t put = 0;
        char key[32];

        mem_fail_at(nth);
        for (int i = 0; i < 2000; i++) {
            snprintf(key, sizeof key, "%d", i);
            if (map_put_text(&map, key, 1))
                break;
            put++;
        }
        mem_fail_at(-1);
        CHECK_INT(map.n, put);
        for (size_t i = 0; i < put; i++) {
            snprintf(key, sizeof key, "%zu", i);
            CHECK(map_find_text(&map, key, NULL));
        }
        map_release(&map);
        CHECK_INT(mem_live(), before);
    }
}

TEST(a_text_grows_and_survives_running_out_of_memory)
{
    struct str str = {0};

    CHECK_STR(str_text(&str), "");
    CHECK_INT(str_printf(&str, "%s-%d", "a", 7), ASSAY_OK);
    CHECK_INT(str_append(&str, "!"), ASSAY_OK);
    mem_fail_at(0);
    CHECK_INT(str_printf(&str, "%200d", 1), ASSAY_NOMEM);
    mem_fail_at(-1);
    CHECK_STR(str_text(&str), "a-7!");
    str_clear(&str);
    CHECK_STR(str_text(&str), "");
    str_release(&str);
}

TEST(a_vector_refuses_sizes_that_overflow)
{
    size_t capacity = 0;

    CHECK(vec_reserve(NULL, &capacity, SIZE_MAX / 2, 8) == NULL);
    CHECK(vec_reserve(NULL, &capacity, SIZE_MAX, 1) == NULL);
    CHECK_INT(capacity, 0);
}

TEST(arena_items_do_not_overlap_and_are_aligned)
{
    struct arena arena = {0};
    char *previous = NULL;

    for (size_t bytes = 1; bytes < 3000; bytes += 7) {
        char *item = arena_alloc(&arena, bytes);

        CHECK(item != NULL);
        CHECK_INT((uintptr_t)item % 16, 0);
        memset(item, (int)(bytes % 251), bytes);
        if (previous)
            CHECK_INT((unsigned char)previous[0], (bytes - 7) % 251);
        previous = item;
    }
    CHECK(arena_alloc(&arena, SIZE_MAX) == NULL);
    arena_release(&arena);
}

/* tests/backend/cuda_pieces_test.c - backend/cuda/cuda_pieces.h: addresses that
 * are handed out, without a GPU. */
#include "backend/cuda/cuda_pieces.h"
#include "test.h"

#include <stdlib.h>

static const uint64_t base = 1 << 20;

TEST(the_smallest_piece_that_fits_is_taken)
{
    struct pieces pieces = {0};
    uint64_t at[4];

    CHECK(pieces_grow(&pieces, base, 16384));
    at[0] = pieces_take(&pieces, 4096);
    at[1] = pieces_take(&pieces, 512);
    at[2] = pieces_take(&pieces, 1024);
    at[3] = pieces_take(&pieces, 512);
    CHECK_INT(at[0], base);
    CHECK_INT(at[3], base + 4096 + 512 + 1024);
    CHECK_INT(pieces_give(&pieces, at[0]), 4096);
    CHECK_INT(pieces_give(&pieces, at[2]), 1024);
    CHECK_INT(pieces_take(&pieces, 1024), at[2]);
    CHECK_INT(pieces_take(&pieces, 2048), at[0]);
    CHECK_INT(pieces_take(&pieces, 2048), at[0] + 2048);
    pieces_release(&pieces);
}

TEST(what_comes_back_is_joined_with_its_neighbours)
{
    struct pieces pieces = {0};
    uint64_t at[4];

    CHECK(pieces_grow(&pieces, base, 4096));
    for (int i = 0; i < 4; i++)
        at[i] = pieces_take(&pieces, 1024);
    CHECK_INT(pieces_take(&pieces, 512), 0);
    CHECK_INT(pieces_give(&pieces, at[1]), 1024);
    CHECK_INT(pieces_give(&pieces, at[3]), 1024);
    CHECK_INT(pieces_take(&pieces, 2048), 0);
    CHECK_INT(pieces_give(&pieces, at[2]), 1024);
    CHECK_INT(pieces_tail(&pieces), 3072);
    CHECK_INT(pieces_take(&pieces, 3072), at[1]);
    CHECK_INT(pieces_give(&pieces, at[2]), 0);
    pieces_release(&pieces);
}

/* A free end is not added a second time. */
TEST(only_what_is_missing_at_the_end_is_added)
{
    struct pieces pieces = {0};

    CHECK_INT(pieces_missing(&pieces, 2048), 2048);
    CHECK(pieces_grow(&pieces, base, 2048));
    CHECK_INT(pieces_take(&pieces, 512), base);
    CHECK_INT(pieces_missing(&pieces, 4096), 4096 - 1536);
    CHECK(pieces_grow(&pieces, 0, 4096 - 1536));
    CHECK_INT(pieces_take(&pieces, 4096), base + 512);
    CHECK_INT(pieces.end, base + 512 + 4096);
    pieces_release(&pieces);
}

TEST(a_free_end_can_be_taken_off)
{
    struct pieces pieces = {0};
    uint64_t at;

    CHECK(pieces_grow(&pieces, base, 4096));
    at = pieces_take(&pieces, 1024);
    CHECK_INT(pieces_tail(&pieces), 3072);
    pieces_shrink(&pieces, 2048);
    CHECK_INT(pieces.end, base + 2048);
    CHECK_INT(pieces_take(&pieces, 2048), 0);
    CHECK_INT(pieces_give(&pieces, at), 1024);
    pieces_shrink(&pieces, 2048);
    CHECK_INT(pieces_tail(&pieces), 0);
    CHECK(pieces_grow(&pieces, base, 512));
    CHECK_INT(pieces_take(&pieces, 512), base);
    pieces_release(&pieces);
}

/* Taken and given at random: pieces never overlap, and in the end all is one
 * again. */
TEST(pieces_never_overlap)
{
    enum { n = 200, units = 1000, rounds = 20000 };
    struct pieces pieces = {0};
    uint64_t at[n] = {0};
    size_t bytes[n] = {0};
    unsigned char used[units] = {0};

    srand(1);
    CHECK(pieces_grow(&pieces, base, (size_t)units * PIECE_BYTES));
    for (int round = 0; round < rounds; round++) {
        int i = rand() % n;
        bool is_taken = at[i] != 0;
        size_t first;

        if (is_taken) {
            CHECK_INT(pieces_give(&pieces, at[i]), bytes[i]);
        } else {
            bytes[i] = pieces_round((size_t)(rand() % 12000));
            at[i] = pieces_take(&pieces, bytes[i]);
        }
        first = (size_t)(at[i] - base) / PIECE_BYTES;
        for (size_t k = 0; at[i] && k < bytes[i] / PIECE_BYTES; k++) {
            CHECK_INT(used[first + k], is_taken);
            used[first + k] = !is_taken;
        }
        if (is_taken)
            at[i] = 0;
    }
    for (int i = 0; i < n; i++) {
        if (at[i])
            CHECK_INT(pieces_give(&pieces, at[i]), bytes[i]);
    }
    CHECK_INT(pieces_tail(&pieces), (size_t)units * PIECE_BYTES);
    pieces_release(&pieces);
}

/* The checksum of zip archives equals zlib's for any length. */
#include "formats/crc32_internal.h"
#include "test.h"

#include <string.h>
#include <zlib.h>

TEST(the_standard_check_value_matches)
{
    CHECK_INT(crc32_of("123456789", 9), 0xcbf43926);
    CHECK_INT(crc32_of("", 0), 0);
}

/* Lengths around the lanes and steps of 16 and 64 bytes, at every offset. */
TEST(any_length_at_any_offset_has_the_same_sum_as_in_zlib)
{
    enum { most = 700 };
    unsigned char bytes[most + 16];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 31 + i / 7);
    for (size_t n = 0; n <= most; n++) {
        for (size_t at = 0; at < 16; at += 5)
            CHECK_INT(crc32_of(bytes + at, n), crc32_z(0, bytes + at, n));
    }
}

TEST(every_bit_counts)
{
    unsigned char bytes[200] = {0};
    uint32_t before = crc32_of(bytes, sizeof bytes);

    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(crc32_of(bytes, sizeof bytes) != before);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

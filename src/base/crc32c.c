/* base/crc32c.c - see crc32c.h: four bits at a time, from a small table. */
#include "base/crc32c.h"

uint32_t crc32c(const void *bytes, size_t n)
{
    /* Remainders of the sixteen 4-bit values by the reflected polynomial
     * 0x82f63b78 (RFC 3720, B.4). */
    static const uint32_t remainders[] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const unsigned char *at = bytes;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ remainders[crc & 15];
        crc = crc >> 4 ^ remainders[crc & 15];
    }
    return ~crc;
}

/* base/md5.c - see md5.h. */
#include "base/md5.h"

#include <string.h>

enum { block_bytes = 64, length_at = 56, n_rounds = 64 };

/* The first 32 bits of the sines of 1 to 64 (RFC 1321, 3.4). */
static const uint32_t sines[n_rounds] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static uint32_t md5_rotate(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static uint32_t little_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[1] << 8 | bytes[0];
}

/* The function of a round, and the word of the block that goes with it. */
static uint32_t md5_mix(int i, const uint32_t v[4], const uint32_t words[16])
{
    switch (i / 16) {
    case 0:
        return ((v[1] & v[2]) | (~v[1] & v[3])) + words[i];
    case 1:
        return ((v[3] & v[1]) | (~v[3] & v[2])) + words[(5 * i + 1) % 16];
    case 2:
        return (v[1] ^ v[2] ^ v[3]) + words[(3 * i + 5) % 16];
    default:
        return (v[2] ^ (v[1] | ~v[3])) + words[7 * i % 16];
    }
}

static void md5_compress(uint32_t state[4], const unsigned char *block)
{
    static const unsigned char turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t words[16], v[4];

    for (int i = 0; i < 16; i++)
        words[i] = little_endian(block + 4 * i);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < n_rounds; i++) {
        uint32_t sum = v[0] + sines[i] + md5_mix(i, v, words);

        v[0] = v[3];
        v[3] = v[2];
        v[2] = v[1];
        v[1] += md5_rotate(sum, turns[i / 16][i % 4]);
    }
    for (int i = 0; i < 4; i++)
        state[i] += v[i];
}

void md5_init(struct md5 *md5)
{
    *md5 =
        (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void md5_update(struct md5 *md5, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;

    while (n > 0) {
        size_t at = md5->n % block_bytes;
        size_t part = block_bytes - at < n ? block_bytes - at : n;

        memcpy(md5->block + at, from, part);
        md5->n += part;
        from += part;
        n -= part;
        if (md5->n % block_bytes == 0)
            md5_compress(md5->state, md5->block);
    }
}

void md5_finish(struct md5 *md5, char hex[MD5_HEX])
{
    static const char digits[] = "0123456789abcdef";
    static const unsigned char padding[block_bytes] = {0x80};
    uint64_t n_bits = md5->n * 8;
    size_t at = md5->n % block_bytes;
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> 8 * i);
    md5_update(md5, padding,
               (at < length_at ? length_at : length_at + block_bytes) - at);
    md5_update(md5, length, sizeof length);
    for (int i = 0; i < MD5_BYTES; i++) {
        unsigned byte = md5->state[i / 4] >> 8 * (i % 4) & 0xff;

        hex[2 * i] = digits[byte >> 4];
        hex[2 * i + 1] = digits[byte & 15];
    }
    hex[2 * MD5_BYTES] = '\0';
}

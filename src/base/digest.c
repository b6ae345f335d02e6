/* base/digest.c - see md5.h and sha256.h. Both work on blocks of 64 bytes,
 * padded at the end with the length of the message in bits. */
#include "base/md5.h"
#include "base/sha256.h"

#include <string.h>

enum { block_bytes = 64, length_at = 56, n_rounds = 64 };

typedef void digest_compress(uint32_t *state, const unsigned char *block);

/* Adds bytes to a message of *total, whose last block is incomplete. */
static void digest_update(digest_compress *compress, uint32_t *state,
                          unsigned char block[block_bytes], uint64_t *total,
                          const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        size_t at = *total % block_bytes;
        size_t part = block_bytes - at < n ? block_bytes - at : n;

        *total += part;
        if (part == block_bytes) {
            compress(state, bytes);
        } else {
            memcpy(block + at, bytes, part);
            if (at + part == block_bytes)
                compress(state, block);
        }
        bytes += part;
        n -= part;
    }
}

static void digest_pad(digest_compress *compress, uint32_t *state,
                       unsigned char block[block_bytes], uint64_t *total,
                       const unsigned char length[8])
{
    static const unsigned char padding[block_bytes] = {0x80};
    size_t at = *total % block_bytes;

    digest_update(compress, state, block, total, padding,
                  (at < length_at ? length_at : length_at + block_bytes) - at);
    digest_update(compress, state, block, total, length, 8);
}

static void digest_hex(const unsigned char *digest, size_t n, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * n] = '\0';
}

/* ---- MD5 ---------------------------------------------------------------- */

/* The first 32 bits of the sines of 1 to 64 (RFC 1321, 3.4). */
static const uint32_t md5_sines[n_rounds] = {
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

/* The function of a round, plus the word of the block it uses. */
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

static void md5_compress(uint32_t *state, const unsigned char *block)
{
    static const unsigned char turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t words[16], v[4];

    for (int i = 0; i < 16; i++)
        words[i] = little_endian(block + 4 * i);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < n_rounds; i++) {
        uint32_t sum = v[0] + md5_sines[i] + md5_mix(i, v, words);

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
    digest_update(md5_compress, md5->state, md5->block, &md5->n, bytes, n);
}

void md5_finish(struct md5 *md5, char hex[MD5_HEX])
{
    uint64_t n_bits = md5->n * 8;
    unsigned char length[8], digest[MD5_BYTES];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> 8 * i);
    digest_pad(md5_compress, md5->state, md5->block, &md5->n, length);
    for (int i = 0; i < MD5_BYTES; i++)
        digest[i] = (unsigned char)(md5->state[i / 4] >> 8 * (i % 4));
    digest_hex(digest, MD5_BYTES, hex);
}

/* ---- SHA-256 ------------------------------------------------------------ */

/* The first 32 bits of the fractional parts of the cube roots of the first 64
 * primes (FIPS 180-4, 4.2.2). */
static const uint32_t sha256_constants[n_rounds] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

static void sha256_expand(const unsigned char *block, uint32_t w[n_rounds])
{
    for (int i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * i);
    for (int i = 16; i < n_rounds; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        uint32_t s0 = sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3;
        uint32_t s1 = sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10;

        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void sha256_compress(uint32_t *state, const unsigned char *block)
{
    uint32_t w[n_rounds], v[8];

    sha256_expand(block, w);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < n_rounds; i++) {
        uint32_t s1 = sha256_rotate(v[4], 6) ^ sha256_rotate(v[4], 11) ^
                      sha256_rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + sha256_constants[i] + w[i];
        uint32_t s0 = sha256_rotate(v[0], 2) ^ sha256_rotate(v[0], 13) ^
                      sha256_rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_init(struct sha256 *sha)
{
    *sha = (struct sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                  0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
    };
}

void sha256_update(struct sha256 *sha, const void *bytes, size_t n)
{
    digest_update(sha256_compress, sha->state, sha->block, &sha->n, bytes, n);
}

void sha256_digest(struct sha256 *sha, unsigned char digest[SHA256_BYTES])
{
    uint64_t n_bits = sha->n * 8;
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    digest_pad(sha256_compress, sha->state, sha->block, &sha->n, length);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_finish(struct sha256 *sha, char hex[SHA256_HEX])
{
    unsigned char digest[SHA256_BYTES];

    sha256_digest(sha, digest);
    digest_hex(digest, SHA256_BYTES, hex);
}

/* base/sha256.c - see sha256.h. */
#include "base/sha256.h"

#include <string.h>

enum { block_bytes = 64, length_at = 56, n_rounds = 64 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64
 * primes (FIPS 180-4, 4.2.2). */
static const uint32_t constants[n_rounds] = {
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

static void sha256_compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[n_rounds], v[8];

    sha256_expand(block, w);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < n_rounds; i++) {
        uint32_t s1 = sha256_rotate(v[4], 6) ^ sha256_rotate(v[4], 11) ^
                      sha256_rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + constants[i] + w[i];
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
    const unsigned char *from = bytes;
    size_t held = (size_t)(sha->n % block_bytes);

    sha->n += n;
    if (held) {
        size_t fill = block_bytes - held < n ? block_bytes - held : n;

        memcpy(sha->block + held, from, fill);
        from += fill;
        n -= fill;
        if (held + fill < block_bytes)
            return;
        sha256_compress(sha->state, sha->block);
    }
    for (; n >= block_bytes; n -= block_bytes, from += block_bytes)
        sha256_compress(sha->state, from);
    if (n)
        memcpy(sha->block, from, n);
}

void sha256_digest(struct sha256 *sha, unsigned char digest[SHA256_BYTES])
{
    static const unsigned char padding[block_bytes] = {0x80};
    size_t held = (size_t)(sha->n % block_bytes);
    uint64_t n_bits = sha->n * 8;
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    sha256_update(sha, padding,
                  (held < length_at ? length_at : length_at + block_bytes) -
                      held);
    sha256_update(sha, length, sizeof length);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_finish(struct sha256 *sha, char hex[SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[SHA256_BYTES];

    sha256_digest(sha, digest);
    for (int i = 0; i < SHA256_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[SHA256_HEX - 1] = '\0';
}

/* base/sha256.h - SHA-256 (FIPS 180-4).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 2 * SHA256_BYTES + 1 };

struct sha256 {
    uint32_t state[8];
    uint64_t n; /* bytes so far */
    unsigned char block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_update(struct sha256 *sha, const void *bytes, size_t n);
/* The digest of all bytes, raw or in lower-case hex; no updates after that. */
void sha256_digest(struct sha256 *sha, unsigned char digest[SHA256_BYTES]);
void sha256_finish(struct sha256 *sha, char hex[SHA256_HEX]);

#endif

/* base/md5.h - MD5 (RFC 1321), for files that are published with an MD5 sum.
 * It detects damage, not malice.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { MD5_BYTES = 16, MD5_HEX = 2 * MD5_BYTES + 1 };

struct md5 {
    uint32_t state[4];
    uint64_t n; /* bytes so far */
    unsigned char block[64];
};

void md5_init(struct md5 *md5);
void md5_update(struct md5 *md5, const void *bytes, size_t n);
/* Writes the digest of all bytes in lower-case hex; no updates after that. */
void md5_finish(struct md5 *md5, char hex[MD5_HEX]);

#endif

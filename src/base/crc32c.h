/* base/crc32c.h - the Castagnoli checksum, used in TFRecord files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t n);

#endif

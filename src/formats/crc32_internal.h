/* formats/crc32_internal.h - the checksum of zip archives, at memory speed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_CRC32_INTERNAL_H
#define FORMATS_CRC32_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* See PKWARE's APPNOTE.TXT, 4.4.7. */
uint32_t crc32_of(const void *bytes, size_t n);

#endif

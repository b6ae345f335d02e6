/* formats/little_endian_internal.h - little-endian numbers at any alignment.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_LITTLE_ENDIAN_INTERNAL_H
#define FORMATS_LITTLE_ENDIAN_INTERNAL_H

#include <stdint.h>

static inline uint16_t le16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t le32(const unsigned char *bytes)
{
    return le16(bytes) | (uint32_t)le16(bytes + 2) << 16;
}

static inline uint64_t le64(const unsigned char *bytes)
{
    return le32(bytes) | (uint64_t)le32(bytes + 4) << 32;
}

static inline void put_le16(unsigned char *bytes, uint16_t number)
{
    bytes[0] = (unsigned char)number;
    bytes[1] = (unsigned char)(number >> 8);
}

static inline void put_le32(unsigned char *bytes, uint32_t number)
{
    put_le16(bytes, (uint16_t)number);
    put_le16(bytes + 2, (uint16_t)(number >> 16));
}

static inline void put_le64(unsigned char *bytes, uint64_t number)
{
    put_le32(bytes, (uint32_t)number);
    put_le32(bytes + 4, (uint32_t)(number >> 32));
}

#endif

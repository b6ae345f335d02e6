/* tests/data/archives.h - tar archives written by hand.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DATA_ARCHIVES_H
#define TESTS_DATA_ARCHIVES_H

#include "base/str.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* Appends an entry of this type; n is the size in its header, which `content`
 * need not have. */
static inline void add_entry(struct str *tar, char type, const char *path,
                             const char *content, size_t n)
{
    unsigned char header[512] = {0};
    unsigned sum = 0;
    size_t padding = (512 - strlen(content) % 512) % 512;

    snprintf((char *)header, 100, "%s", path);
    memcpy(header + 100, "0000644", 8);
    snprintf((char *)header + 124, 12, "%011o", (unsigned)n);
    memcpy(header + 136, "00000000000", 12);
    memcpy(header + 148, "        ", 8);
    header[156] = (unsigned char)type;
    if (type == '2')
        memcpy(header + 157, "/tmp", 5);
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum);
    str_append_n(tar, (char *)header, sizeof header);
    str_append(tar, content);
    while (padding--)
        str_append_char(tar, '\0');
}

static inline void add_file(struct str *tar, const char *path,
                            const char *content)
{
    add_entry(tar, '0', path, content, strlen(content));
}

static inline void add_end(struct str *tar)
{
    for (int i = 0; i < 1024; i++)
        str_append_char(tar, '\0');
}

static inline void write_gzip(const char *path, const struct str *bytes)
{
    gzFile file = gzopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(gzwrite(file, bytes->text, (unsigned)bytes->n), bytes->n);
    CHECK_INT(gzclose(file), Z_OK);
}

#endif

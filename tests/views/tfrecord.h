/* tests/views/tfrecord.h - reads event files without the code that writes
 * them: records, and protobuf's wire format field by field.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_VIEWS_TFRECORD_H
#define TESTS_VIEWS_TFRECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are not read yet. */
struct span {
    const unsigned char *at;
    size_t n;
};

/* The next record; false at the end. Checks both sums with a table made from
 * the polynomial, and fails the test if one is wrong. */
bool tfrecord_next(struct span *file, struct span *record);

/* One field of a message. */
struct field_seen {
    unsigned number;
    uint64_t varint;   /* of wire types 0, 1 and 5 */
    struct span bytes; /* of wire type 2 */
};

/* The next field; false at the end. Fails the test if it is not a message. */
bool message_next(struct span *message, struct field_seen *field);
/* The first field with that number; its bytes are empty if there is none. */
struct field_seen message_field(struct span message, unsigned number);

double field_double(const struct field_seen *field);
float field_float(const struct field_seen *field);
bool field_is(const struct field_seen *field, const char *text);

#endif

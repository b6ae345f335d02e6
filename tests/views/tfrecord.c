/* tests/views/tfrecord.c - see tfrecord.h. */
#include "tfrecord.h"

#include "test.h"

#include <string.h>

static uint64_t little_endian(const unsigned char *at, size_t n)
{
    uint64_t value = 0;

    for (size_t i = n; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* A bit at a time, so that no table can be wrong in the same way. */
static uint32_t slow_crc(const unsigned char *at, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void check_sum(const unsigned char *at, size_t n,
                      const unsigned char *sum)
{
    uint32_t masked = (uint32_t)little_endian(sum, 4) - 0xa282ead8;

    CHECK_INT(masked << 15 | masked >> 17, slow_crc(at, n));
}

bool tfrecord_next(struct span *file, struct span *record)
{
    size_t n;

    if (file->n == 0)
        return false;
    CHECK(file->n >= 16);
    check_sum(file->at, 8, file->at + 8);
    n = (size_t)little_endian(file->at, 8);
    CHECK(n <= file->n - 16);
    check_sum(file->at + 12, n, file->at + 12 + n);
    *record = (struct span){file->at + 12, n};
    file->at += n + 16;
    file->n -= n + 16;
    return true;
}

static uint64_t take_varint(struct span *message)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte;

        CHECK(message->n > 0);
        byte = *message->at++;
        message->n--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return value;
}

static struct span take_bytes(struct span *message, size_t n)
{
    struct span bytes = {message->at, n};

    CHECK(n <= message->n);
    message->at += n;
    message->n -= n;
    return bytes;
}

bool message_next(struct span *message, struct field_seen *field)
{
    uint64_t key;

    if (message->n == 0)
        return false;
    key = take_varint(message);
    *field = (struct field_seen){.number = (unsigned)(key >> 3)};
    switch (key & 7) {
    case 0:
        field->varint = take_varint(message);
        break;
    case 1:
        field->varint = little_endian(take_bytes(message, 8).at, 8);
        break;
    case 2:
        field->bytes = take_bytes(message, (size_t)take_varint(message));
        break;
    default:
        CHECK_INT(key & 7, 5);
        field->varint = little_endian(take_bytes(message, 4).at, 4);
    }
    return true;
}

struct field_seen message_field(struct span message, unsigned number)
{
    struct field_seen field;

    while (message_next(&message, &field)) {
        if (field.number == number)
            return field;
    }
    return (struct field_seen){0};
}

double field_double(const struct field_seen *field)
{
    double value;

    memcpy(&value, &field->varint, sizeof value);
    return value;
}

float field_float(const struct field_seen *field)
{
    uint32_t bits = (uint32_t)field->varint;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

bool field_is(const struct field_seen *field, const char *text)
{
    return field->bytes.n == strlen(text) &&
           memcmp(field->bytes.at, text, field->bytes.n) == 0;
}

/* data/tar.c - see tar.h.
 *
 * POSIX.1-1988 defines the header, POSIX.1-2001 the pax records, and the manual
 * of GNU tar the types L and K. */
#include "data/tar.h"

#include <string.h>

enum {
    block_bytes = 512,
    name_at = 0,
    name_bytes = 100,
    size_at = 124,
    size_bytes = 12,
    sum_at = 148,
    sum_bytes = 8,
    type_at = 156,
    magic_at = 257,
    prefix_at = 345,
    prefix_bytes = 155,
    most_records = 1 << 16 /* bytes of a pax header */
};

static const uint64_t most_size = (uint64_t)1 << 60;

/* What extra headers say about the next entry. Start from {0}. */
struct extras {
    char path[TAR_MOST_PATH + 1];
    bool has_path, has_size;
    uint64_t size;
};

static enum assay_status damaged(const struct tar *tar, const char *what,
                                 struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "%s is damaged: %s",
                     tar->source.name, what);
}

/* ---- bytes ------------------------------------------------------------- */

static enum assay_status read_whole(struct tar *tar, void *bytes, size_t n,
                                    struct error *err)
{
    size_t got = 0;
    enum assay_status st =
        tar->source.read(tar->source.context, bytes, n, &got, err);

    return st || got == n ? st : damaged(tar, "it is cut off", err);
}

static enum assay_status skip(struct tar *tar, uint64_t n, struct error *err)
{
    char bytes[16 * block_bytes];
    enum assay_status st = ASSAY_OK;

    while (!st && n > 0) {
        size_t part = n < sizeof bytes ? (size_t)n : sizeof bytes;

        st = read_whole(tar, bytes, part, err);
        n -= part;
    }
    return st;
}

enum assay_status tar_read(struct tar *tar, void *bytes, size_t n, size_t *got,
                           struct error *err)
{
    size_t part = tar->left < n ? (size_t)tar->left : n;
    enum assay_status st = part ? read_whole(tar, bytes, part, err) : ASSAY_OK;

    *got = st ? 0 : part;
    tar->left -= *got;
    return st;
}

static void begin_content(struct tar *tar, uint64_t size)
{
    tar->left = size;
    tar->padding = (block_bytes - size % block_bytes) % block_bytes;
}

static enum assay_status end_content(struct tar *tar, struct error *err)
{
    uint64_t n = tar->left + tar->padding;

    tar->left = tar->padding = 0;
    return skip(tar, n, err);
}

/* ---- fields ------------------------------------------------------------ */

/* Octal digits with blanks around them; GNU writes larger numbers in binary
 * after a byte of 0x80. False if it is neither, or more than any archive
 * has. */
static bool tar_read_number(const unsigned char *field, size_t n, uint64_t *out)
{
    size_t i = 0;

    *out = 0;
    if (field[0] == 0x80) {
        for (i = 1; i < n; i++) {
            if (*out > most_size >> 8)
                return false;
            *out = *out << 8 | field[i];
        }
        return *out <= most_size;
    }
    while (i < n && field[i] == ' ')
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        *out = *out << 3 | (uint64_t)(field[i] - '0'); /* 12 digits fit */
    return i == n || field[i] == '\0' || field[i] == ' ';
}

static bool has_right_sum(const unsigned char *header)
{
    uint64_t wanted, sum = 0;

    for (size_t i = 0; i < block_bytes; i++)
        sum += i >= sum_at && i < sum_at + sum_bytes ? ' ' : header[i];
    return tar_read_number(header + sum_at, sum_bytes, &wanted) &&
           sum == wanted;
}

static bool is_blank_block(const unsigned char *block)
{
    for (size_t i = 0; i < block_bytes; i++) {
        if (block[i])
            return false;
    }
    return true;
}

/* Copies a field that ends at a NUL or when it is full. */
static size_t copy_field(const unsigned char *field, size_t n, char *to)
{
    size_t length = strnlen((const char *)field, n);

    memcpy(to, field, length);
    to[length] = '\0';
    return length;
}

static void read_path(const unsigned char *header, char *path)
{
    size_t n = 0;

    if (memcmp(header + magic_at, "ustar", 6) == 0 && header[prefix_at]) {
        n = copy_field(header + prefix_at, prefix_bytes, path);
        path[n++] = '/';
    }
    copy_field(header + name_at, name_bytes, path + n);
}

/* ---- headers of headers ------------------------------------------------ */

static enum assay_status read_long_name(struct tar *tar, struct extras *extras,
                                        struct error *err)
{
    uint64_t size = tar->left;
    size_t got;
    enum assay_status st;

    if (size > TAR_MOST_PATH)
        return damaged(tar, "a name is too long", err);
    st = tar_read(tar, extras->path, (size_t)size, &got, err);
    extras->path[st ? 0 : got] = '\0';
    extras->has_path = true;
    return st;
}

static bool tar_read_decimal(const char *text, size_t n, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || *out > most_size / 10)
            return false;
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return n > 0;
}

/* "path=images/a.jpg". Other keys do not matter. */
static bool tar_take_record(const char *text, size_t n, struct extras *extras)
{
    const char *equals = memchr(text, '=', n);
    size_t n_key = equals ? (size_t)(equals - text) : n;
    size_t n_value = equals ? n - n_key - 1 : 0;

    if (!equals)
        return false;
    if (n_key == 4 && memcmp(text, "path", 4) == 0) {
        if (n_value > TAR_MOST_PATH || memchr(equals + 1, '\0', n_value))
            return false;
        memcpy(extras->path, equals + 1, n_value);
        extras->path[n_value] = '\0';
        extras->has_path = true;
    } else if (n_key == 4 && memcmp(text, "size", 4) == 0) {
        extras->has_size = true;
        return tar_read_decimal(equals + 1, n_value, &extras->size);
    }
    return true;
}

/* Records are "LENGTH KEY=VALUE\n", and the length includes itself. */
static bool take_records(const char *text, size_t n, struct extras *extras)
{
    while (n > 0) {
        const char *blank = memchr(text, ' ', n);
        uint64_t length;
        size_t head;

        if (!blank || !tar_read_decimal(text, (size_t)(blank - text), &length))
            return false;
        head = (size_t)(blank - text) + 1;
        if (length > n || length <= head || text[length - 1] != '\n' ||
            !tar_take_record(text + head, (size_t)length - head - 1, extras))
            return false;
        text += length;
        n -= (size_t)length;
    }
    return true;
}

static enum assay_status read_pax(struct tar *tar, struct extras *extras,
                                  struct error *err)
{
    char records[most_records];
    uint64_t size = tar->left;
    size_t got;
    enum assay_status st;

    if (size > sizeof records)
        return damaged(tar, "a header is too long", err);
    st = tar_read(tar, records, (size_t)size, &got, err);
    if (!st && !take_records(records, got, extras))
        st = damaged(tar, "a header has no records", err);
    return st;
}

/* ---- entries ----------------------------------------------------------- */

static enum tar_kind tar_kind_of(char type, const char *path)
{
    size_t n = strlen(path);

    switch (type) {
    case '0':
    case '7':
        return TAR_FILE;
    case '\0': /* before 1988, folders were marked by their names */
        return n > 0 && path[n - 1] == '/' ? TAR_FOLDER : TAR_FILE;
    case '5':
        return TAR_FOLDER;
    case '1':
    case '2':
        return TAR_LINK;
    default:
        return TAR_DEVICE;
    }
}

static void set_entry(struct tar *tar, const unsigned char *header,
                      const struct extras *extras, struct tar_entry *out)
{
    if (extras->has_path)
        memcpy(out->path, extras->path, sizeof out->path);
    else
        read_path(header, out->path);
    if (extras->has_size)
        begin_content(tar, extras->size);
    out->kind = tar_kind_of((char)header[type_at], out->path);
    out->size = tar->left;
}

/* A header about the next entry; false: it is an entry itself. */
static bool take_extras(struct tar *tar, char type, struct extras *extras,
                        enum assay_status *st, struct error *err)
{
    switch (type) {
    case 'L':
        *st = read_long_name(tar, extras, err);
        return true;
    case 'x':
        *st = read_pax(tar, extras, err);
        return true;
    case 'g': /* for all that follow: comments, in practice */
    case 'K': /* the target of a link */
        return true;
    default:
        return false;
    }
}

enum assay_status tar_next(struct tar *tar, struct tar_entry *out, bool *is_end,
                           struct error *err)
{
    unsigned char header[block_bytes];
    struct extras extras = {.has_path = false};
    enum assay_status st = end_content(tar, err);

    *is_end = false;
    while (!st) {
        size_t got = 0;
        uint64_t size = 0;

        st = tar->source.read(tar->source.context, header, sizeof header, &got,
                              err);
        if (!st &&
            (got == 0 || (got == sizeof header && is_blank_block(header)))) {
            *is_end = true;
            return ASSAY_OK;
        }
        if (!st && got < sizeof header)
            st = damaged(tar, "it is cut off", err);
        if (!st && (!has_right_sum(header) ||
                    !tar_read_number(header + size_at, size_bytes, &size)))
            st = damaged(tar, "an entry has a wrong checksum or size", err);
        if (st)
            break;
        begin_content(tar, size);
        if (!take_extras(tar, (char)header[type_at], &extras, &st, err)) {
            set_entry(tar, header, &extras, out);
            return ASSAY_OK;
        }
        if (!st)
            st = end_content(tar, err);
    }
    return st;
}

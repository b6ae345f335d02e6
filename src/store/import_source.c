/* store/import_source.c - the bytes of a trace file, unpacked if needed. */
#include "store/import_internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { packed_bytes = 256 << 10 };

struct trace_file {
    int fd;
    uint64_t n_read; /* bytes of the file */
    char start[16];  /* already read; a pipe cannot be rewound */
    size_t n_start, n_start_given;
    struct progress *progress;
    bool is_gzip, has_inflater;
    bool is_inside; /* a gzip member that has not ended */
    z_stream inflater;
    unsigned char *packed;
};

/* ---- recognising a file ------------------------------------------------ */

static bool source_begins_with(const char *bytes, size_t n, const char *magic,
                               size_t n_magic)
{
    return n >= n_magic && memcmp(bytes, magic, n_magic) == 0;
}

/* A trace is an object or an array; a text begins with a letter or a mark. */
static bool source_is_prose(const char *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && strchr(" \t\r\n", bytes[i]) && bytes[i])
        i++;
    return i < n && ((bytes[i] >= 'a' && bytes[i] <= 'z') ||
                     (bytes[i] >= 'A' && bytes[i] <= 'Z') || bytes[i] == '#');
}

/* Recognises files that people mistake for a trace; the JSON reader refuses all
 * others. */
static enum assay_status source_check_kind(const char *bytes, size_t n,
                                           const char *path, struct error *err)
{
    static const char sqlite[] = "SQLite format 3";

    if (source_begins_with(bytes, n, sqlite, sizeof sqlite))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is already a run file; use assay show", path);
    if (source_begins_with(bytes, n, "\x89PNG", 4) ||
        source_begins_with(bytes, n, "\xff\xd8\xff", 3))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is a picture, not a trace (JSON)", path);
    if (source_begins_with(bytes, n, "PK\x03\x04", 4))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is a zip archive; unpack it first", path);
    if (source_is_prose(bytes, n))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is a text, not a trace (JSON)", path);
    return ASSAY_OK;
}

static voidpf source_alloc(voidpf opaque, uInt n, uInt size)
{
    (void)opaque;
    return mem_array(n, size);
}

static void source_free(voidpf opaque, voidpf block)
{
    (void)opaque;
    mem_free(block);
}

static enum assay_status source_start_inflater(struct trace_file *file,
                                               struct error *err)
{
    enum { gzip_only = 16 };

    file->inflater.zalloc = source_alloc;
    file->inflater.zfree = source_free;
    file->packed = mem_alloc(packed_bytes);
    if (!file->packed ||
        inflateInit2(&file->inflater, MAX_WBITS + gzip_only) != Z_OK)
        return error_nomem(err, packed_bytes, "unpacking gzip");
    file->has_inflater = file->is_inside = true;
    return ASSAY_OK;
}

static enum assay_status source_read_bytes(struct trace_file *file,
                                           void *buffer, size_t size, size_t *n,
                                           struct error *err)
{
    ssize_t got;

    do
        got = read(file->fd, buffer, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_errno(err, errno, "reading at byte %" PRIu64,
                           file->n_read);
    *n = (size_t)got;
    file->n_read += *n;
    return ASSAY_OK;
}

static enum assay_status source_look_at_start(struct trace_file *file,
                                              const char *path,
                                              struct error *err)
{
    enum assay_status st = ASSAY_OK;
    size_t n = 1;

    while (!st && n && file->n_start < sizeof file->start) {
        st = source_read_bytes(file, file->start + file->n_start,
                               sizeof file->start - file->n_start, &n, err);
        file->n_start += st ? 0 : n;
    }
    if (!st && !file->n_start)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s is empty; was it written completely?", path);
    if (!st)
        st = source_check_kind(file->start, file->n_start, path, err);
    if (st)
        return st;
    file->is_gzip =
        source_begins_with(file->start, file->n_start, "\x1f\x8b", 2);
    return file->is_gzip ? source_start_inflater(file, err) : ASSAY_OK;
}

enum assay_status trace_file_open(const char *path, struct progress *progress,
                                  struct trace_file **out, struct error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    enum assay_status st = is_stdin ? ASSAY_OK : file_check_stream(path, err);
    struct trace_file *file;

    *out = NULL;
    if (st)
        return st;
    file = mem_zalloc(sizeof *file);
    if (!file)
        return error_nomem(err, sizeof *file, "opening a trace");
    file->progress = progress;
    file->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        st = error_errno(err, errno, "opening %s", path);
    if (!st)
        st =
            source_look_at_start(file, is_stdin ? "standard input" : path, err);
    if (st) {
        trace_file_close(file);
        return st;
    }
    *out = file;
    return ASSAY_OK;
}

void trace_file_close(struct trace_file *file)
{
    if (!file)
        return;
    if (file->has_inflater)
        inflateEnd(&file->inflater);
    mem_free(file->packed);
    if (file->fd >= 0)
        close(file->fd);
    mem_free(file);
}

/* ---- reading ---------------------------------------------------------- */

static enum assay_status source_read_some(struct trace_file *file, void *buffer,
                                          size_t size, size_t *n,
                                          struct error *err)
{
    size_t left = file->n_start - file->n_start_given;
    enum assay_status st;

    if (left) {
        *n = left < size ? left : size;
        memcpy(buffer, file->start + file->n_start_given, *n);
        file->n_start_given += *n;
        return ASSAY_OK;
    }
    st = source_read_bytes(file, buffer, size, n, err);
    if (!st && file->progress)
        progress_update(file->progress, file->n_read);
    return st;
}

static enum assay_status source_refill(struct trace_file *file,
                                       struct error *err)
{
    z_stream *inflater = &file->inflater;
    enum assay_status st;
    size_t n = 0;

    st = source_read_some(file, file->packed, packed_bytes, &n, err);
    if (!st && n == 0 && file->is_inside)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the gzip data is cut off at byte %" PRIu64,
                       file->n_read);
    inflater->next_in = file->packed;
    inflater->avail_in = (uInt)n;
    return st;
}

/* After a member another may follow. Anything else is padding, which gzip
 * itself ignores too. */
static void source_next_member(struct trace_file *file)
{
    z_stream *inflater = &file->inflater;

    if (inflater->avail_in > 0 && inflater->next_in[0] == 0x1f) {
        inflateReset(inflater);
        file->is_inside = true;
    }
}

static enum assay_status source_inflate(struct trace_file *file, char *buffer,
                                        size_t size, size_t *n,
                                        struct error *err)
{
    z_stream *inflater = &file->inflater;
    int rc;

    inflater->next_out = (unsigned char *)buffer;
    inflater->avail_out = (uInt)size;
    rc = inflate(inflater, Z_NO_FLUSH);
    *n = size - inflater->avail_out;
    if (rc == Z_STREAM_END)
        file->is_inside = false;
    else if (rc == Z_MEM_ERROR)
        return error_nomem(err, size, "unpacking gzip");
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the gzip data is damaged before byte %" PRIu64,
                         file->n_read - inflater->avail_in);
    return ASSAY_OK;
}

static enum assay_status source_read_gzip(struct trace_file *file, char *buffer,
                                          size_t size, size_t *n,
                                          struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *n = 0;
    if (size > UINT32_MAX)
        size = UINT32_MAX;
    while (!st && *n == 0) {
        if (file->inflater.avail_in == 0)
            st = source_refill(file, err);
        if (st)
            return st;
        if (!file->is_inside)
            source_next_member(file);
        if (!file->is_inside)
            return ASSAY_OK;
        st = source_inflate(file, buffer, size, n, err);
    }
    return st;
}

static enum assay_status source_read(void *context, char *buffer, size_t size,
                                     size_t *n, struct error *err)
{
    struct trace_file *file = context;

    return file->is_gzip ? source_read_gzip(file, buffer, size, n, err)
                         : source_read_some(file, buffer, size, n, err);
}

struct json_source trace_file_source(struct trace_file *file)
{
    return (struct json_source){.read = source_read, .context = file};
}

/* data/gzip_file.c - see gzip_file_internal.h. */
#include "data/gzip_file_internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct gzip_file {
    char *path;
    int fd;
    uint64_t size, at;
    z_stream stream;
    bool is_begun; /* the stream */
    bool is_ended; /* a member has, and another may follow */
    unsigned char bytes[1 << 16];
};

static void *gzip_file_take_memory(void *context, unsigned n, unsigned size)
{
    (void)context;
    return mem_array(n, size);
}

static void gzip_file_give_memory(void *context, void *block)
{
    (void)context;
    mem_free(block);
}

static enum assay_status begin_stream(struct gzip_file *file, struct error *err)
{
    enum { gzip_only = 16 };

    file->stream.zalloc = gzip_file_take_memory;
    file->stream.zfree = gzip_file_give_memory;
    file->is_begun = inflateInit2(&file->stream, gzip_only + MAX_WBITS) == Z_OK;
    return file->is_begun ? ASSAY_OK
                          : error_nomem(err, sizeof file->bytes, "zlib");
}

enum assay_status gzip_open(const char *path, struct gzip_file **out,
                            struct error *err)
{
    struct gzip_file *file = mem_zalloc(sizeof *file);
    enum assay_status st;
    struct stat info;

    *out = NULL;
    if (!file)
        return error_nomem(err, sizeof *file, "a gzip file");
    st = file_open(path, &file->fd, err);
    if (!st && fstat(file->fd, &info))
        st = error_errno(err, errno, "opening %s", path);
    if (!st)
        file->size = (uint64_t)info.st_size;
    if (!st) {
        file->path = mem_strdup(path);
        st = file->path ? begin_stream(file, err)
                        : error_nomem(err, strlen(path), "a file name");
    }
    if (st)
        gzip_close(file);
    else
        *out = file;
    return st;
}

void gzip_close(struct gzip_file *file)
{
    if (!file)
        return;
    if (file->is_begun)
        inflateEnd(&file->stream);
    if (file->fd >= 0)
        close(file->fd);
    mem_free(file->path);
    mem_free(file);
}

uint64_t gzip_size(const struct gzip_file *file)
{
    return file->size;
}

uint64_t gzip_at(const struct gzip_file *file)
{
    return file->at;
}

/* More of the file into the buffer, once all of it was used. */
static enum assay_status gzip_file_fill(struct gzip_file *file,
                                        struct error *err)
{
    ssize_t n;

    if (file->stream.avail_in)
        return ASSAY_OK;
    do
        n = read(file->fd, file->bytes, sizeof file->bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_errno(err, errno, "reading %s", file->path);
    file->at += (uint64_t)n;
    file->stream.next_in = file->bytes;
    file->stream.avail_in = (unsigned)n;
    return ASSAY_OK;
}

static enum assay_status gzip_file_explain(const struct gzip_file *file,
                                           int code, struct error *err)
{
    if (code == Z_MEM_ERROR)
        return error_nomem(err, sizeof file->bytes, "zlib");
    if (code == Z_BUF_ERROR)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is cut off; was it copied to the end?",
                         file->path);
    return error_set(err, ASSAY_BAD_INPUT, "%s is damaged: %s", file->path,
                     file->stream.msg ? file->stream.msg : "no gzip file");
}

/* One step of zlib; *is_end where the file has been read to its end. */
static enum assay_status gzip_file_step(struct gzip_file *file, bool *is_end,
                                        struct error *err)
{
    enum assay_status st = gzip_file_fill(file, err);
    bool is_empty = file->stream.avail_in == 0;
    int code;

    if (st)
        return st;
    if (file->is_ended && is_empty) {
        *is_end = true;
        return ASSAY_OK;
    }
    if (file->is_ended) {
        inflateReset(&file->stream);
        file->is_ended = false;
    }
    code = inflate(&file->stream, Z_NO_FLUSH);
    file->is_ended = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END)
        return ASSAY_OK;
    return gzip_file_explain(file, is_empty ? Z_BUF_ERROR : code, err);
}

enum assay_status gzip_read(struct gzip_file *file, void *bytes, size_t n,
                            size_t *got, struct error *err)
{
    unsigned char *to = bytes;
    enum assay_status st = ASSAY_OK;
    bool is_end = false;

    *got = 0;
    while (!st && !is_end && *got < n) {
        size_t part = n - *got < INT_MAX ? n - *got : INT_MAX;

        file->stream.next_out = to + *got;
        file->stream.avail_out = (unsigned)part;
        st = gzip_file_step(file, &is_end, err);
        *got += part - file->stream.avail_out;
    }
    return st;
}

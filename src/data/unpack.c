/* data/unpack.c - see unpack.h. */
#include "data/unpack.h"

#include "base/file.h"
#include "base/mem.h"
#include "data/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- the bytes of a gzip file ------------------------------------------- */

struct gzip_file {
    char *path;
    int fd;
    uint64_t size, at; /* on disk: its size, and how much of it was read */
    z_stream stream;
    bool is_begun; /* the stream */
    bool is_ended; /* a member has ended, and another may follow */
    unsigned char bytes[1 << 16];
};

static void *gzip_alloc(void *context, unsigned n, unsigned size)
{
    (void)context;
    return mem_array(n, size);
}

static void gzip_free(void *context, void *block)
{
    (void)context;
    mem_free(block);
}

static enum assay_status begin_stream(struct gzip_file *file, struct error *err)
{
    enum { gzip_only = 16 };

    file->stream.zalloc = gzip_alloc;
    file->stream.zfree = gzip_free;
    file->is_begun = inflateInit2(&file->stream, gzip_only + MAX_WBITS) == Z_OK;
    return file->is_begun ? ASSAY_OK
                          : error_nomem(err, sizeof file->bytes, "zlib");
}

static void gzip_close(struct gzip_file *file)
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

static enum assay_status gzip_open(const char *path, struct gzip_file **out,
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

/* Refills the buffer once all of it was used. */
static enum assay_status gzip_fill(struct gzip_file *file, struct error *err)
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

static enum assay_status gzip_explain(const struct gzip_file *file, int code,
                                      struct error *err)
{
    if (code == Z_MEM_ERROR)
        return error_nomem(err, sizeof file->bytes, "zlib");
    if (code == Z_BUF_ERROR)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is cut off; was it copied completely?",
                         file->path);
    return error_set(err, ASSAY_BAD_INPUT, "%s is damaged: %s", file->path,
                     file->stream.msg ? file->stream.msg : "not a gzip file");
}

/* One step of zlib; *is_end at the end of the file. */
static enum assay_status gzip_step(struct gzip_file *file, bool *is_end,
                                   struct error *err)
{
    enum assay_status st = gzip_fill(file, err);
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
    return gzip_explain(file, is_empty ? Z_BUF_ERROR : code, err);
}

/* *got is less than n only at the end. A file that is cut off or damaged is
 * ASSAY_BAD_INPUT. */
static enum assay_status gzip_read(struct gzip_file *file, void *bytes,
                                   size_t n, size_t *got, struct error *err)
{
    unsigned char *to = bytes;
    enum assay_status st = ASSAY_OK;
    bool is_end = false;

    *got = 0;
    while (!st && !is_end && *got < n) {
        size_t part = n - *got < INT_MAX ? n - *got : INT_MAX;

        file->stream.next_out = to + *got;
        file->stream.avail_out = (unsigned)part;
        st = gzip_step(file, &is_end, err);
        *got += part - file->stream.avail_out;
    }
    return st;
}

/* ---- paths ------------------------------------------------------------- */

/* An archive being unpacked. */
struct unpacking {
    const struct unpack *unpack;
    struct gzip_file *file;
    struct tar tar;
    int root; /* the folder */
    struct unpacked done;
};

enum assay_status unpack_path(const char *path, struct str *out,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    str_clear(out);
    if (path[0] == '/')
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%.60s' in it is not a path inside a folder", path);
    while (!st && *path) {
        size_t n = strcspn(path, "/");
        bool is_here = n == 0 || (n == 1 && path[0] == '.');

        if (n == 2 && memcmp(path, "..", 2) == 0)
            return error_set(
                err, ASSAY_BAD_INPUT,
                "'..' in one of its paths would lead out of the folder");
        if (!is_here && out->n)
            st = str_append_char(out, '/');
        if (!st && !is_here)
            st = str_append_n(out, path, n);
        path += n + (path[n] == '/');
    }
    if (st)
        return error_nomem(err, TAR_MOST_PATH, "a file name");
    return ASSAY_OK;
}

/* Opens the folder that contains the last part of a path, creating it if
 * needed. Whatever exists must be a folder: no link is followed. */
static enum assay_status open_parent(int root, const char *path, int *out,
                                     const char **last, struct error *err)
{
    enum { flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int folder = fcntl(root, F_DUPFD_CLOEXEC, 0);
    const char *slash;
    char name[256];

    for (; folder >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        size_t n = (size_t)(slash - path);
        int next;

        if (n >= sizeof name) {
            close(folder);
            return error_set(err, ASSAY_BAD_INPUT, "a name in it is too long");
        }
        memcpy(name, path, n);
        name[n] = '\0';
        if (mkdirat(folder, name, 0777) && errno != EEXIST)
            next = -1;
        else
            next = openat(folder, name, flags);
        close(folder);
        folder = next;
    }
    *out = folder;
    *last = path;
    return folder >= 0 ? ASSAY_OK
                       : error_errno(err, errno, "unpacking %s", path);
}

/* ---- entries ----------------------------------------------------------- */

static enum assay_status write_all(int fd, const char *bytes, size_t n,
                                   const char *path, struct error *err)
{
    while (n > 0) {
        ssize_t wrote = write(fd, bytes, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return error_errno(err, errno, "writing %s", path);
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return ASSAY_OK;
}

static enum assay_status copy_content(struct unpacking *unpacking, int fd,
                                      const char *path, struct error *err)
{
    char bytes[1 << 16];
    size_t got = 1;
    enum assay_status st = ASSAY_OK;

    while (!st && got) {
        st = tar_read(&unpacking->tar, bytes, sizeof bytes, &got, err);
        if (!st)
            st = write_all(fd, bytes, got, path, err);
        if (!st && unpacking->unpack->progress)
            progress_update(unpacking->unpack->progress, unpacking->file->at);
    }
    return st;
}

/* Replaces a file that exists, rather than write into it: it may have another
 * name elsewhere. */
static enum assay_status unpack_file(struct unpacking *unpacking, int folder,
                                     const char *name, const char *path,
                                     struct error *err)
{
    enum assay_status st;
    int fd;

    if (unlinkat(folder, name, 0) && errno != ENOENT)
        return error_errno(err, errno, "replacing %s", path);
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_errno(err, errno, "writing %s", path);
    st = copy_content(unpacking, fd, path, err);
    if (close(fd) && !st)
        st = error_errno(err, errno, "writing %s", path);
    return st;
}

static enum assay_status check_entry(struct unpacking *unpacking,
                                     const struct tar_entry *entry,
                                     struct error *err)
{
    uint64_t most = unpacking->unpack->most_bytes;

    if (entry->kind == TAR_LINK || entry->kind == TAR_DEVICE)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "'%.60s' in it is a %s; only files and folders are unpacked",
            entry->path, entry->kind == TAR_LINK ? "link" : "device");
    if (entry->kind == TAR_FILE && entry->size > most - unpacking->done.n_bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its files take more than the expected %llu MB",
                         (unsigned long long)(most / 1000000));
    return ASSAY_OK;
}

static enum assay_status unpack_entry(struct unpacking *unpacking,
                                      const struct tar_entry *entry,
                                      struct error *err)
{
    struct str path = {0};
    const char *name = NULL;
    int folder = -1;
    enum assay_status st = check_entry(unpacking, entry, err);

    if (!st)
        st = unpack_path(entry->path, &path, err);
    if (st || path.n == 0) /* the folder itself */
        goto done;
    if (entry->kind == TAR_FOLDER && str_append_char(&path, '/'))
        st = error_nomem(err, path.n, "a file name");
    if (!st)
        st = open_parent(unpacking->root, path.text, &folder, &name, err);
    if (!st && entry->kind == TAR_FILE) {
        st = unpack_file(unpacking, folder, name, path.text, err);
        unpacking->done.n_files++;
        unpacking->done.n_bytes += entry->size;
    }
    if (folder >= 0)
        close(folder);
done:
    str_release(&path);
    return st;
}

/* ---- archives ---------------------------------------------------------- */

static enum assay_status read_archive(void *context, void *bytes, size_t n,
                                      size_t *got, struct error *err)
{
    return gzip_read(context, bytes, n, got, err);
}

static enum assay_status open_root(struct unpacking *unpacking,
                                   struct error *err)
{
    const char *folder = unpacking->unpack->folder;

    if (mkdir(folder, 0777) && errno != EEXIST)
        return error_errno(err, errno, "cannot create the folder %s", folder);
    unpacking->root = open(folder, O_DIRECTORY | O_CLOEXEC);
    return unpacking->root >= 0
               ? ASSAY_OK
               : error_errno(err, errno, "cannot write to %s", folder);
}

static enum assay_status unpack_entries(struct unpacking *unpacking,
                                        struct error *err)
{
    struct tar_entry entry = {.path = ""};
    bool is_end = false;
    enum assay_status st = ASSAY_OK;

    while (!st && !is_end) {
        st = tar_next(&unpacking->tar, &entry, &is_end, err);
        if (!st && !is_end)
            st = unpack_entry(unpacking, &entry, err);
    }
    return st;
}

/* Reads past the end of the archive: the checksum of gzip comes last. */
static enum assay_status read_to_end(struct unpacking *unpacking,
                                     struct error *err)
{
    char bytes[1 << 16];
    size_t got = sizeof bytes;
    enum assay_status st = ASSAY_OK;

    while (!st && got == sizeof bytes)
        st = gzip_read(unpacking->file, bytes, sizeof bytes, &got, err);
    return st;
}

enum assay_status unpack_archive(const struct unpack *unpack,
                                 struct unpacked *out, struct error *err)
{
    struct unpacking unpacking = {.unpack = unpack, .root = -1};
    enum assay_status st = gzip_open(unpack->archive, &unpacking.file, err);

    *out = (struct unpacked){0};
    if (st)
        return st;
    unpacking.tar.source = (struct tar_source){
        .read = read_archive,
        .context = unpacking.file,
        .name = unpack->archive,
    };
    if (unpack->progress)
        unpack->progress->total = unpacking.file->size;
    st = open_root(&unpacking, err);
    if (!st)
        st = unpack_entries(&unpacking, err);
    if (!st)
        st = read_to_end(&unpacking, err);
    if (st)
        error_context(err, "unpacking %s", unpack->archive);
    if (unpacking.root >= 0)
        close(unpacking.root);
    gzip_close(unpacking.file);
    *out = unpacking.done;
    return st;
}

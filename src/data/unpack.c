/* data/unpack.c - see unpack.h. */
#include "data/unpack.h"

#include "data/gzip_file_internal.h"
#include "data/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An archive while it is unpacked. */
struct unpacking {
    const struct unpack *unpack;
    struct gzip_file *file;
    struct tar tar;
    int root; /* the folder */
    struct unpacked done;
};

/* ---- paths ------------------------------------------------------------- */

enum assay_status unpack_path(const char *path, struct str *out,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    str_clear(out);
    if (path[0] == '/')
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%.60s' in it is no path inside a folder", path);
    while (!st && *path) {
        size_t n = strcspn(path, "/");
        bool is_here = n == 0 || (n == 1 && path[0] == '.');

        if (n == 2 && memcmp(path, "..", 2) == 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "'..' in a path of it would lead out of the "
                             "folder");
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

/* The folder that the last part of a path is in, made where it is missing.
 * What is there already must be folders: no link is followed. */
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
            progress_update(unpacking->unpack->progress,
                            gzip_at(unpacking->file));
    }
    return st;
}

/* A file that is there is replaced, never written into: it may have another
 * name somewhere. */
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
        return error_set(err, ASSAY_BAD_INPUT,
                         "'%.60s' in it is a %s; only files and folders are "
                         "unpacked",
                         entry->path,
                         entry->kind == TAR_LINK ? "link" : "device");
    if (entry->kind == TAR_FILE && entry->size > most - unpacking->done.n_bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its files take more than the %llu MB that it should "
                         "have",
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
        return error_errno(err, errno, "cannot make the folder %s", folder);
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

/* What follows the end of the archive is read too: the sum of gzip is at the
 * very end. */
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
        unpack->progress->total = gzip_size(unpacking.file);
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

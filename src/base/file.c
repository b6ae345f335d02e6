/* base/file.c - see file.h. */
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
    struct sink sink;
    FILE *file;
    char *path;
    char *temporary;  /* next to path, so that the rename stays on one disk */
    bool is_in_place; /* standard output, a device, a pipe: no renaming */
    bool is_unnamed;  /* the temporary has no name until the commit */
};

static void output_free(struct output *output)
{
    mem_free(output->path);
    mem_free(output->temporary);
    mem_free(output);
}

/* mkstemp() makes a file that only its owner can read; a result gets the mode
 * that the user's umask asks for. */
static void apply_umask(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

/* How much of path is its folder; 0: the current one. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;

    return slash && !n ? 1 : n;
}

enum assay_status file_cannot_write(struct error *err, int errnum,
                                    const char *path)
{
    size_t n = folder_length(path);
    char *folder = n && errnum == ENOENT ? mem_strndup(path, n) : NULL;
    struct stat info;
    enum assay_status st;

    if (folder && lstat(folder, &info) && errno == ENOENT)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "cannot write %s: there is no folder %s; make it first",
                       path, folder);
    else
        st = error_errno(err, errnum, "cannot write %s", path);
    mem_free(folder);
    return st;
}

/* A file without a name in the folder of path: a killed program leaves nothing
 * behind. -1 if the file system cannot do that, or if /proc could not name it
 * later. */
static int open_unnamed(const char *path)
{
    size_t n = folder_length(path);
    char *folder;
    int fd;

    if (access("/proc/self/fd", X_OK))
        return -1;
    folder = n ? mem_strndup(path, n) : mem_strdup(".");
    if (!folder)
        return -1;
    fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    mem_free(folder);
    return fd;
}

static enum assay_status open_beside(struct output *output, struct error *err)
{
    struct str name = {0};
    int fd;

    if (str_printf(&name, "%s.tmp-XXXXXX", output->path)) {
        str_release(&name);
        return error_nomem(err, strlen(output->path), "a file name");
    }
    output->temporary = name.text;
    fd = open_unnamed(output->path);
    output->is_unnamed = fd >= 0;
    if (fd < 0)
        fd = mkstemp(output->temporary);
    if (fd < 0)
        return file_cannot_write(err, errno, output->path);
    apply_umask(fd);
    output->file = fdopen(fd, "wb");
    if (!output->file) {
        close(fd);
        if (!output->is_unnamed)
            unlink(output->temporary);
        return error_errno(err, errno, "cannot write %s", output->path);
    }
    return ASSAY_OK;
}

static enum assay_status open_in_place(struct output *output, struct error *err)
{
    output->is_in_place = true;
    output->file =
        strcmp(output->path, "-") == 0 ? stdout : fopen(output->path, "wb");
    if (!output->file)
        return error_errno(err, errno, "cannot write %s", output->path);
    return ASSAY_OK;
}

static enum assay_status open_path(struct output *output, struct error *err)
{
    struct stat info;

    if (strcmp(output->path, "-") == 0)
        return open_in_place(output, err);
    if (stat(output->path, &info) || S_ISREG(info.st_mode))
        return open_beside(output, err);
    if (S_ISDIR(info.st_mode))
        return error_set(err, ASSAY_IO,
                         "cannot write %s: it is a folder, name a file in it",
                         output->path);
    return open_in_place(output, err);
}

enum assay_status output_open(const char *path, struct output **out,
                              struct error *err)
{
    struct output *output = mem_zalloc(sizeof *output);
    enum assay_status st;

    *out = NULL;
    if (!output)
        return error_nomem(err, sizeof *output, "an output file");
    output->path = mem_strdup(path);
    st = output->path ? open_path(output, err)
                      : error_nomem(err, strlen(path), "a file name");
    if (st) {
        output_free(output);
        return st;
    }
    output->sink =
        sink_to_file(output->file,
                     strcmp(path, "-") == 0 ? "standard output" : output->path);
    *out = output;
    return ASSAY_OK;
}

struct sink *output_sink(struct output *output)
{
    return &output->sink;
}

void file_random_letters(char *out, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    size_t got = 0;

    while (got < n) {
        ssize_t more = getrandom(out + got, n - got, 0);

        got += more > 0 ? (size_t)more : 0;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = letters[(unsigned char)out[i] % (sizeof letters - 1)];
    out[n] = '\0';
}

/* Gives the unnamed file the name that a temporary has otherwise. */
static enum assay_status name_file(struct output *output, struct error *err)
{
    enum { n_letters = 6, most_tries = 100 };
    char *end = output->temporary + strlen(output->temporary) - n_letters;
    char descriptor[32];
    int failed = EEXIST;

    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d",
             fileno(output->file));
    for (int i = 0; i < most_tries && failed == EEXIST; i++) {
        file_random_letters(end, n_letters);
        failed = linkat(AT_FDCWD, descriptor, AT_FDCWD, output->temporary,
                        AT_SYMLINK_FOLLOW)
                     ? errno
                     : 0;
    }
    if (failed)
        return error_errno(err, failed, "cannot write %s", output->path);
    output->is_unnamed = false;
    return ASSAY_OK;
}

static enum assay_status finish_file(struct output *output, struct error *err)
{
    enum assay_status st = sink_status(&output->sink, err);

    if (!st && fflush(output->file))
        st = error_errno(err, errno, "writing %s", output->sink.name);
    if (output->file == stdout)
        return st;
    if (!st && !output->is_in_place && fsync(fileno(output->file)))
        st = error_errno(err, errno, "writing %s", output->path);
    if (!st && output->is_unnamed)
        st = name_file(output, err);
    if (fclose(output->file) && !st)
        st = error_errno(err, errno, "writing %s", output->path);
    if (!st && !output->is_in_place && rename(output->temporary, output->path))
        st = error_errno(err, errno, "cannot write %s", output->path);
    return st;
}

static bool has_temporary(const struct output *output)
{
    return !output->is_in_place && !output->is_unnamed;
}

enum assay_status output_commit(struct output *output, struct error *err)
{
    enum assay_status st = finish_file(output, err);

    if (st && has_temporary(output))
        unlink(output->temporary);
    output_free(output);
    return st;
}

void output_discard(struct output *output)
{
    if (!output)
        return;
    if (output->file != stdout)
        fclose(output->file);
    if (has_temporary(output))
        unlink(output->temporary);
    output_free(output);
}

/* ---- reading ------------------------------------------------------------ */

static enum assay_status refuse_folder(const char *path, struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "cannot read %s: it is a folder, not a file", path);
}

static enum assay_status
check_regular(const char *path, const struct stat *info, struct error *err)
{
    const char *kind = S_ISFIFO(info->st_mode)   ? "a pipe"
                       : S_ISSOCK(info->st_mode) ? "a socket"
                                                 : "a device";

    if (S_ISREG(info->st_mode))
        return ASSAY_OK;
    if (S_ISDIR(info->st_mode))
        return refuse_folder(path, err);
    return error_set(err, ASSAY_BAD_INPUT,
                     "cannot read %s: it is %s, not a regular file", path,
                     kind);
}

/* Only regular files are opened: opening alone makes some devices act. If the
 * path becomes something else between the two checks, the open does not block
 * (O_NONBLOCK) and the second check refuses it. */
enum assay_status file_open(const char *path, int *fd, struct error *err)
{
    enum assay_status st;
    struct stat info;

    *fd = -1;
    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    st = check_regular(path, &info, err);
    if (st)
        return st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 || fstat(*fd, &info))
        st = error_errno(err, errno, "cannot read %s", path);
    else
        st = check_regular(path, &info, err);
    if (st && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return st;
}

static enum assay_status check_input(const char *path, bool may_be_stream,
                                     struct error *err)
{
    struct stat info;

    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    if (may_be_stream && S_ISDIR(info.st_mode))
        return refuse_folder(path, err);
    if (!may_be_stream) {
        enum assay_status st = check_regular(path, &info, err);

        if (st)
            return st;
    }
    if (access(path, R_OK))
        return error_errno(err, errno, "cannot read %s", path);
    if (S_ISREG(info.st_mode) && info.st_size == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is empty; was it written completely?", path);
    return ASSAY_OK;
}

enum assay_status file_check_input(const char *path, struct error *err)
{
    return check_input(path, false, err);
}

enum assay_status file_check_stream(const char *path, struct error *err)
{
    return check_input(path, true, err);
}

static enum assay_status file_read_all(FILE *file, const char *path,
                                       size_t max_bytes, struct str *out,
                                       struct error *err)
{
    char chunk[16 * 1024];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0) {
        if (n > max_bytes - out->n)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s is larger than %zu bytes, the limit for such "
                             "a file",
                             path, max_bytes);
        if (str_append_n(out, chunk, n))
            return error_nomem(err, out->n + n, path);
    }
    if (ferror(file))
        return error_errno(err, errno, "reading %s", path);
    return str_append_n(out, "", 0) ? error_nomem(err, 1, path) : ASSAY_OK;
}

enum assay_status file_read(const char *path, size_t max_bytes, struct str *out,
                            struct error *err)
{
    FILE *file = NULL;
    int fd;
    enum assay_status st = file_open(path, &fd, err);

    if (st)
        return st;
    file = fdopen(fd, "rb");
    if (!file) {
        st = error_errno(err, errno, "cannot read %s", path);
        close(fd);
        return st;
    }
    st = file_read_all(file, path, max_bytes, out, err);
    fclose(file);
    if (st)
        str_release(out);
    return st;
}

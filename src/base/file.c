/* base/file.c - see file.h. */
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
    struct sink sink;
    FILE *file;
    bool is_stdout;
    char *path;
    char *temporary; /* beside path, so that the rename stays on one disk */
};

static void output_free(struct output *output)
{
    mem_free(output->path);
    mem_free(output->temporary);
    mem_free(output);
}

/* mkstemp() makes the file readable for its owner only; a result is made with
 * the mode that the user's umask asks for. */
static void apply_umask(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

static enum assay_status open_beside(struct output *output, struct error *err)
{
    struct str name = {0};
    struct stat info;
    int fd;

    if (stat(output->path, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(err, ASSAY_IO,
                         "%s is not a regular file; name another output",
                         output->path);
    if (str_printf(&name, "%s.tmp-XXXXXX", output->path)) {
        str_release(&name);
        return error_nomem(err, strlen(output->path), "a file name");
    }
    output->temporary = name.text;
    fd = mkstemp(output->temporary);
    if (fd < 0) {
        int why = errno;

        mem_free(output->temporary);
        output->temporary = NULL;
        return error_errno(err, why, "cannot write %s", output->path);
    }
    apply_umask(fd);
    output->file = fdopen(fd, "wb");
    if (!output->file) {
        close(fd);
        unlink(output->temporary);
        return error_errno(err, errno, "cannot write %s", output->path);
    }
    return ASSAY_OK;
}

enum assay_status output_open(const char *path, struct output **out,
                              struct error *err)
{
    struct output *output = mem_zalloc(sizeof *output);
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!output)
        return error_nomem(err, sizeof *output, "an output file");
    output->path = mem_strdup(path);
    if (!output->path) {
        st = error_nomem(err, strlen(path), "a file name");
    } else if (strcmp(path, "-") == 0) {
        output->file = stdout;
        output->is_stdout = true;
    } else {
        st = open_beside(output, err);
    }
    if (st) {
        output_free(output);
        return st;
    }
    output->sink = sink_to_file(
        output->file, output->is_stdout ? "standard output" : output->path);
    *out = output;
    return ASSAY_OK;
}

struct sink *output_sink(struct output *output)
{
    return &output->sink;
}

static enum assay_status finish_file(struct output *output, struct error *err)
{
    enum assay_status st = sink_status(&output->sink, err);

    if (!st && fflush(output->file))
        st = error_errno(err, errno, "writing %s", output->sink.name);
    if (output->is_stdout)
        return st;
    if (!st && fsync(fileno(output->file)) && errno != EINVAL)
        st = error_errno(err, errno, "writing %s", output->path);
    if (fclose(output->file) && !st)
        st = error_errno(err, errno, "writing %s", output->path);
    output->file = NULL;
    if (!st && rename(output->temporary, output->path))
        st = error_errno(err, errno, "cannot write %s", output->path);
    return st;
}

enum assay_status output_commit(struct output *output, struct error *err)
{
    enum assay_status st = finish_file(output, err);

    if (st && !output->is_stdout)
        unlink(output->temporary);
    output_free(output);
    return st;
}

void output_discard(struct output *output)
{
    if (!output)
        return;
    if (!output->is_stdout) {
        fclose(output->file);
        unlink(output->temporary);
    }
    output_free(output);
}

enum assay_status file_check_input(const char *path, struct error *err)
{
    struct stat info;

    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    if (S_ISDIR(info.st_mode))
        return error_set(err, ASSAY_BAD_INPUT,
                         "cannot read %s: it is a folder, a file is wanted",
                         path);
    if (access(path, R_OK))
        return error_errno(err, errno, "cannot read %s", path);
    if (S_ISREG(info.st_mode) && info.st_size == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is empty; was it written to the end?", path);
    return ASSAY_OK;
}

static enum assay_status read_all(FILE *file, const char *path,
                                  size_t max_bytes, struct str *out,
                                  struct error *err)
{
    char chunk[16 * 1024];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0) {
        if (n > max_bytes - out->n)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s is larger than %zu bytes, which is more than "
                             "such a file ever is",
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
    enum assay_status st;
    struct stat info;
    FILE *file;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return file_check_input(path, err);
    file = fopen(path, "rb");
    if (!file)
        return error_errno(err, errno, "cannot read %s", path);
    st = read_all(file, path, max_bytes, out, err);
    fclose(file);
    if (st)
        str_release(out);
    return st;
}

/* cli/record_places.c - see record_places.h. */
#include "cli/record_places.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the package --------------------------------------------------------- */

/* From the folder of the program: in a build folder; installed with `make
 * install`; in a virtual environment. */
static const char *const package_patterns[] = {
    "python/assay/start",
    "../lib/python3/dist-packages/assay/start",
    "../lib/python3*/dist-packages/assay/start",
    "../lib/python3*/site-packages/assay/start",
    "../lib64/python3*/site-packages/assay/start",
};

/* The first match, if there is one. */
static enum assay_status package_match(const char *pattern, struct str *out)
{
    enum assay_status st = ASSAY_OK;
    glob_t found = {0};

    if (glob(pattern, GLOB_NOSORT | GLOB_ONLYDIR, NULL, &found) == 0 &&
        found.gl_pathc > 0)
        st = str_append(out, found.gl_pathv[0]);
    globfree(&found);
    return st;
}

/* Characters that mean something to glob(3) stand for themselves. */
static enum assay_status package_append_quoted(struct str *pattern,
                                               const char *path)
{
    enum assay_status st = ASSAY_OK;

    for (; *path && !st; path++) {
        if (strchr("*?[\\", *path))
            st = str_append_char(pattern, '\\');
        if (!st)
            st = str_append_char(pattern, *path);
    }
    return st;
}

enum assay_status record_find_package(struct str *out, struct error *err)
{
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    struct str pattern = {0};
    enum assay_status st = ASSAY_OK;
    char *name;

    if (n < 0)
        return error_errno(err, errno, "finding the program");
    program[n] = '\0';
    name = strrchr(program, '/');
    if (name)
        name[1] = '\0';
    for (size_t i = 0; !st && !out->n &&
                       i < sizeof package_patterns / sizeof *package_patterns;
         i++) {
        str_clear(&pattern);
        st = package_append_quoted(&pattern, program);
        if (!st)
            st = str_append(&pattern, package_patterns[i]);
        if (!st)
            st = package_match(str_text(&pattern), out);
    }
    str_release(&pattern);
    if (st)
        return error_nomem(err, PATH_MAX, "a path");
    return out->n ? ASSAY_OK
                  : error_set(err, ASSAY_NOT_FOUND,
                              "the Python package is not installed beside this "
                              "program; `make install` or `pip install .` "
                              "does that");
}

/* ---- what a program leaves ----------------------------------------------- */

enum assay_status record_check_output(const char *path, struct str *absolute,
                                      struct error *err)
{
    struct output *output = NULL;
    char folder[PATH_MAX];
    enum assay_status st = output_open(path, &output, err);

    output_discard(output);
    if (st)
        return st;
    if (path[0] != '/') {
        if (!getcwd(folder, sizeof folder))
            return error_errno(err, errno, "finding the current folder");
        st = str_printf(absolute, "%s/", folder);
    }
    if (!st)
        st = str_append(absolute, path);
    return st ? error_nomem(err, PATH_MAX, "a path") : ASSAY_OK;
}

struct record_before record_look(const char *path)
{
    struct record_before before = {0};

    before.exists = stat(path, &before.file) == 0;
    clock_gettime(CLOCK_REALTIME_COARSE, &before.now);
    return before;
}

static bool record_is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec >= b.tv_nsec;
}

bool record_is_new(const char *path, const struct record_before *before)
{
    struct stat now;

    if (stat(path, &now))
        return false;
    return !before->exists || now.st_ino != before->file.st_ino ||
           now.st_dev != before->file.st_dev;
}

/* The process in "NAME.PID-LETTERS.part"; 0 if that is another kind of name. */
static pid_t part_process(const char *entry, const char *name)
{
    size_t n = strlen(name);
    char *end;
    long pid;

    if (strncmp(entry, name, n) != 0 || entry[n] != '.' ||
        !str_ends_with(entry, ".part"))
        return 0;
    pid = strtol(entry + n + 1, &end, 10);
    return *end == '-' && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

static bool part_is_left(int folder, const char *entry, const char *name,
                         const struct record_before *before,
                         struct timespec *written)
{
    pid_t pid = part_process(entry, name);
    struct stat file;

    if (!pid || fstatat(folder, entry, &file, 0) ||
        !record_is_later(file.st_mtim, before->now) ||
        (kill(pid, 0) == 0 || errno != ESRCH))
        return false;
    *written = file.st_mtim;
    return true;
}

enum assay_status record_find_part(const char *path,
                                   const struct record_before *before,
                                   struct str *out, struct error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct timespec last = {0}, written;
    struct str folder = {0};
    enum assay_status st =
        slash ? str_append_n(&folder, path, (size_t)(name - path)) : ASSAY_OK;
    DIR *entries = st ? NULL : opendir(folder.n ? folder.text : ".");

    for (struct dirent *entry; entries && !st && (entry = readdir(entries));) {
        if (!part_is_left(dirfd(entries), entry->d_name, name, before,
                          &written) ||
            !record_is_later(written, last))
            continue;
        last = written;
        str_clear(out);
        st = str_printf(out, "%s%s", str_text(&folder), entry->d_name);
    }
    if (entries)
        closedir(entries);
    str_release(&folder);
    return st ? error_nomem(err, PATH_MAX, "a path") : ASSAY_OK;
}

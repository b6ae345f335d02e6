/* store/leftovers.c - parts that nobody will finish.
 *
 * A killed process leaves its part, which can still be shown. Once a run is
 * finished under the same name, older parts are of no more use. Only files that
 * are certainly ours are removed: they have the name and format of a part and
 * belong to this user, there is no process with that id, and nobody claims the
 * file, not on another machine either. */
#include "store/writer_internal.h"

#include "base/claim.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool leftover_is_part(const char *name, const char *final, pid_t *pid)
{
    size_t n = strlen(final);

    return strncmp(name, final, n) == 0 && part_suffix_reads(name + n, pid);
}

static bool leftover_is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* A part is empty if its process was killed before it wrote anything. */
static bool leftover_is_run_file(int fd, const struct stat *info)
{
    enum { id_at = 68 };
    static const char magic[] = "SQLite format 3";
    unsigned char header[100];
    uint32_t id;

    if (info->st_size == 0)
        return true;
    if (pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header, magic, sizeof magic) != 0)
        return false;
    id = (uint32_t)header[id_at] << 24 | (uint32_t)header[id_at + 1] << 16 |
         (uint32_t)header[id_at + 2] << 8 | header[id_at + 3];
    return id == STORE_APPLICATION_ID;
}

static bool leftover_is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec ||
           (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

static bool leftover_is_ours(int fd, struct timespec before)
{
    struct stat info;
    pid_t holder;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           info.st_uid == geteuid() &&
           leftover_is_before(info.st_mtim, before) &&
           leftover_is_run_file(fd, &info) && claim_take(fd, &holder);
}

static void leftover_remove(int folder, const char *name)
{
    struct str journal = {0};
    struct stat info;

    unlinkat(folder, name, 0);
    if (!str_printf(&journal, "%s-journal", name) &&
        fstatat(folder, journal.text, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode))
        unlinkat(folder, journal.text, 0);
    str_release(&journal);
}

/* Opens the folder of a path; NULL if that fails. *name is the file's name in
 * it. */
static DIR *leftovers_open_folder(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    char *folder = slash ? mem_strndup(path, n ? n : 1) : mem_strdup(".");
    DIR *dir = folder ? opendir(folder) : NULL;

    *name = slash ? slash + 1 : path;
    mem_free(folder);
    return dir;
}

void leftovers_remove(const char *final, struct timespec before)
{
    const struct dirent *entry;
    const char *name;
    DIR *dir = leftovers_open_folder(final, &name);
    pid_t pid;

    while (dir && (entry = readdir(dir)) != NULL) {
        int fd;

        if (!leftover_is_part(entry->d_name, name, &pid) ||
            !leftover_is_gone(pid))
            continue;
        fd = openat(dirfd(dir), entry->d_name,
                    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (leftover_is_ours(fd, before))
            leftover_remove(dirfd(dir), entry->d_name);
        close(fd);
    }
    if (dir)
        closedir(dir);
}

void leftovers_hint(const char *path, struct error *err)
{
    const struct dirent *entry;
    const char *name;
    DIR *dir = leftovers_open_folder(path, &name);
    struct str hint = {0};
    pid_t pid;

    while (dir && !hint.n && (entry = readdir(dir)) != NULL) {
        if (leftover_is_part(entry->d_name, name, &pid) &&
            !str_printf(&hint,
                        "its run is not finished: %.*s%s has what was "
                        "recorded",
                        (int)(name - path), path, entry->d_name))
            error_hint(err, hint.text);
    }
    if (dir)
        closedir(dir);
    str_release(&hint);
}

/* store/guard.c - see guard.h. */
#include "store/guard.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of a guest; the system's own follows it in memory. */
struct guest_file {
    sqlite3_file base;
    struct guard *guard;
    int fd; /* of the journal */
};

static struct guest_file *guest_of(sqlite3_file *file)
{
    return (struct guest_file *)file;
}

static sqlite3_file *system_of(sqlite3_file *file)
{
    return (sqlite3_file *)(guest_of(file) + 1);
}

static struct guard *guard_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* ---- a guest's database ----------------------------------------------------
 */

int64_t guard_bytes(const struct guard *guard)
{
    sqlite3_int64 bytes = -1;

    if (guard->is_sized)
        return guard->size;
    if (guard->main && guard->main->pMethods->xFileSize(guard->main, &bytes))
        return -1;
    return bytes;
}

static int main_close(sqlite3_file *file)
{
    guest_of(file)->guard->main = NULL;
    return system_of(file)->pMethods->xClose(system_of(file));
}

static int main_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at)
{
    struct guard *guard = guest_of(file)->guard;
    int64_t size = guard_bytes(guard);
    int rc = guard->main->pMethods->xRead(guard->main, bytes, n, at);

    if (rc && rc != SQLITE_IOERR_SHORT_READ)
        return rc;
    guard_pages_cover(&guard->pages, bytes, n, at);
    if (at + n <= size)
        return SQLITE_OK;
    if (at < size)
        memset((char *)bytes + (size - at), 0, (size_t)(at + n - size));
    else
        memset(bytes, 0, (size_t)n);
    return SQLITE_IOERR_SHORT_READ;
}

static int main_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct guard *guard = guest_of(file)->guard;

    guard->is_sized = true;
    guard->size = size;
    return SQLITE_OK;
}

static int main_write(sqlite3_file *file, const void *bytes, int n,
                      sqlite3_int64 at)
{
    struct guard *guard = guest_of(file)->guard;
    int64_t size = guard_bytes(guard);
    int rc = guard_pages_write(&guard->pages, bytes, n, at);

    return rc || at + n <= size ? rc : main_truncate(file, at + n);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return SQLITE_OK;
}

static int main_size(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = guard_bytes(guest_of(file)->guard);
    return *size < 0 ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

/* A shared lock keeps every writer from the file; nobody needs more to change
 * what is in memory. */
static int main_lock(sqlite3_file *file, int level)
{
    if (level > SQLITE_LOCK_SHARED)
        return SQLITE_OK;
    return system_of(file)->pMethods->xLock(system_of(file), level);
}

static int main_unlock(sqlite3_file *file, int level)
{
    return system_of(file)->pMethods->xUnlock(system_of(file), level);
}

static int main_is_reserved(sqlite3_file *file, int *is_reserved)
{
    return system_of(file)->pMethods->xCheckReservedLock(system_of(file),
                                                         is_reserved);
}

static int file_control(sqlite3_file *file, int what, void *argument)
{
    (void)file;
    (void)what;
    (void)argument;
    return SQLITE_NOTFOUND;
}

/* As the system has them: how long the header of a journal is depends on
 * them. */
static int main_sector(sqlite3_file *file)
{
    return system_of(file)->pMethods->xSectorSize(system_of(file));
}

static int main_characteristics(sqlite3_file *file)
{
    return system_of(file)->pMethods->xDeviceCharacteristics(system_of(file));
}

/* Version 1 has neither shared memory nor mappings. */
static const sqlite3_io_methods main_methods = {
    .iVersion = 1,
    .xClose = main_close,
    .xRead = main_read,
    .xWrite = main_write,
    .xTruncate = main_truncate,
    .xSync = file_sync,
    .xFileSize = main_size,
    .xLock = main_lock,
    .xUnlock = main_unlock,
    .xCheckReservedLock = main_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = main_sector,
    .xDeviceCharacteristics = main_characteristics,
};

/* ---- a guest's journal ----------------------------------------------------
 */

static int journal_close(sqlite3_file *file)
{
    close(guest_of(file)->fd);
    return SQLITE_OK;
}

static int journal_read(sqlite3_file *file, void *bytes, int n,
                        sqlite3_int64 at)
{
    ssize_t got = pread(guest_of(file)->fd, bytes, (size_t)n, at);

    if (got < 0)
        return SQLITE_IOERR_READ;
    memset((char *)bytes + got, 0, (size_t)(n - got));
    return got == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int journal_write(sqlite3_file *file, const void *bytes, int n,
                         sqlite3_int64 at)
{
    (void)file;
    (void)bytes;
    (void)n;
    (void)at;
    return SQLITE_READONLY;
}

static int journal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    (void)file;
    (void)size;
    return SQLITE_READONLY;
}

static int journal_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct stat info;

    if (fstat(guest_of(file)->fd, &info))
        return SQLITE_IOERR_FSTAT;
    *size = info.st_size;
    return SQLITE_OK;
}

static int journal_lock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int journal_is_reserved(sqlite3_file *file, int *is_reserved)
{
    (void)file;
    *is_reserved = 0;
    return SQLITE_OK;
}

static int journal_sector(sqlite3_file *file)
{
    const struct guard *guard = guest_of(file)->guard;

    return guard->main->pMethods->xSectorSize(guard->main);
}

static int journal_characteristics(sqlite3_file *file)
{
    const struct guard *guard = guest_of(file)->guard;

    return guard->main->pMethods->xDeviceCharacteristics(guard->main);
}

static const sqlite3_io_methods journal_methods = {
    .iVersion = 1,
    .xClose = journal_close,
    .xRead = journal_read,
    .xWrite = journal_write,
    .xTruncate = journal_truncate,
    .xSync = file_sync,
    .xFileSize = journal_size,
    .xLock = journal_lock,
    .xUnlock = journal_lock,
    .xCheckReservedLock = journal_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = journal_sector,
    .xDeviceCharacteristics = journal_characteristics,
};

/* ---- files ------------------------------------------------------------- */

/* Links are none of SQLite's journals: it resolves names before. */
bool guard_has_journal(const struct guard *guard)
{
    struct stat info;

    return !guard->is_played_back && lstat(guard->journal, &info) == 0 &&
           S_ISREG(info.st_mode) && info.st_size > 0;
}

/* Both versions in the header are 2 where there may be a write-ahead log. */
static bool is_logged(sqlite3_file *file)
{
    enum { versions_at = 18 };
    unsigned char versions[2] = {0};

    return file->pMethods->xRead(file, versions, sizeof versions,
                                 versions_at) == SQLITE_OK &&
           (versions[0] == 2 || versions[1] == 2);
}

/* SQLite is told that it may write: of what is only readable it would not play
 * a journal back. */
static int open_guest_main(struct guard *guard, const char *name,
                           sqlite3_file *file, int *flags_out)
{
    sqlite3_file *system = system_of(file);
    int rc =
        guard->system->xOpen(guard->system, name, system,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, NULL);

    if (rc)
        return rc;
    guard->has_log = is_logged(system);
    if (guard->has_log) {
        system->pMethods->xClose(system);
        return SQLITE_CANTOPEN;
    }
    *guest_of(file) =
        (struct guest_file){.base = {&main_methods}, .guard = guard};
    guard->main = system;
    if (flags_out)
        *flags_out = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int open_guest_journal(struct guard *guard, sqlite3_file *file,
                              int flags, int *flags_out)
{
    int fd;

    if (!guard_has_journal(guard) || (flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    fd = open(guard->journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return SQLITE_CANTOPEN;
    *guest_of(file) = (struct guest_file){
        .base = {&journal_methods}, .guard = guard, .fd = fd};
    if (flags_out)
        *flags_out = flags;
    return SQLITE_OK;
}

static int open_own_main(struct guard *guard, const char *name,
                         sqlite3_file *file, int flags, int *flags_out)
{
    int rc = guard->system->xOpen(guard->system, name, file, flags, flags_out);

    if (rc)
        return rc;
    guard->has_log = is_logged(file);
    if (!guard->has_log)
        return SQLITE_OK;
    file->pMethods->xClose(file);
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

/* What stands in the place of a journal and is none would be waited for, or
 * written through. */
static int open_own_journal(struct guard *guard, const char *name,
                            sqlite3_file *file, int flags, int *flags_out)
{
    struct stat info;

    if (lstat(name, &info) == 0 && !S_ISREG(info.st_mode))
        return SQLITE_CANTOPEN;
    return guard->system->xOpen(guard->system, name, file, flags, flags_out);
}

static int guard_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                      int flags, int *flags_out)
{
    struct guard *guard = guard_of(vfs);
    bool is_main = name && strcmp(name, guard->path) == 0;
    bool is_journal = name && strcmp(name, guard->journal) == 0;

    file->pMethods = NULL;
    if (is_main && (flags & SQLITE_OPEN_MAIN_DB))
        return guard->is_guest
                   ? open_guest_main(guard, name, file, flags_out)
                   : open_own_main(guard, name, file, flags, flags_out);
    if (is_journal && (flags & SQLITE_OPEN_MAIN_JOURNAL))
        return guard->is_guest
                   ? open_guest_journal(guard, file, flags, flags_out)
                   : open_own_journal(guard, name, file, flags, flags_out);
    return SQLITE_CANTOPEN; /* temporary ones are in memory */
}

static int guard_delete(sqlite3_vfs *vfs, const char *name, int syncs)
{
    struct guard *guard = guard_of(vfs);

    if (strcmp(name, guard->journal) != 0)
        return SQLITE_IOERR_DELETE;
    if (guard->is_guest) {
        guard->is_played_back = true;
        return SQLITE_OK;
    }
    return guard->system->xDelete(guard->system, name, syncs);
}

static int guard_access(sqlite3_vfs *vfs, const char *name, int flags,
                        int *answer)
{
    struct guard *guard = guard_of(vfs);

    *answer = 0;
    if (strcmp(name, guard->journal) == 0)
        *answer = guard_has_journal(guard);
    else if (strcmp(name, guard->path) == 0)
        return guard->system->xAccess(guard->system, name, flags, answer);
    return SQLITE_OK;
}

/* It is resolved already. */
static int guard_full_path(sqlite3_vfs *vfs, const char *name, int n, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)n, "%s", name) < n ? SQLITE_OK
                                                    : SQLITE_CANTOPEN;
}

/* ---- the rest is the system's ---------------------------------------------
 */

static int guard_randomness(sqlite3_vfs *vfs, int n, char *out)
{
    sqlite3_vfs *system = guard_of(vfs)->system;

    return system->xRandomness(system, n, out);
}

static int guard_sleep(sqlite3_vfs *vfs, int microseconds)
{
    sqlite3_vfs *system = guard_of(vfs)->system;

    return system->xSleep(system, microseconds);
}

static int guard_time(sqlite3_vfs *vfs, double *days)
{
    sqlite3_vfs *system = guard_of(vfs)->system;

    return system->xCurrentTime(system, days);
}

static int guard_last_error(sqlite3_vfs *vfs, int n, char *out)
{
    sqlite3_vfs *system = guard_of(vfs)->system;

    return system->xGetLastError(system, n, out);
}

bool guard_init(struct guard *guard)
{
    guard->system = sqlite3_vfs_find(NULL);
    if (!guard->system)
        return false;
    snprintf(guard->name, sizeof guard->name, "assay-%p", (void *)guard);
    guard->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(struct guest_file) + guard->system->szOsFile,
        .mxPathname = guard->system->mxPathname,
        .zName = guard->name,
        .pAppData = guard,
        .xOpen = guard_open,
        .xDelete = guard_delete,
        .xAccess = guard_access,
        .xFullPathname = guard_full_path,
        .xRandomness = guard_randomness,
        .xSleep = guard_sleep,
        .xCurrentTime = guard_time,
        .xGetLastError = guard_last_error,
    };
    return sqlite3_vfs_register(&guard->vfs, 0) == SQLITE_OK;
}

void guard_release(struct guard *guard)
{
    if (guard->system)
        sqlite3_vfs_unregister(&guard->vfs);
    guard_pages_release(&guard->pages);
    mem_free(guard->path);
    mem_free(guard->journal);
}

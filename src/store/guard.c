/* store/guard.c - see guard_internal.h. */
#include "store/guard_internal.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- pages of a guest ---------------------------------------------------- */

/* In a list, for freeing: a map cannot be walked. */
struct guard_page {
    struct guard_page *next;
    unsigned char bytes[];
};

static struct guard_page *guard_page_at(const struct guard_pages *pages,
                                        int64_t at)
{
    uint64_t found = 0;

    map_find(&pages->at, &at, sizeof at, &found);
    return (struct guard_page *)(uintptr_t)found;
}

static void guard_pages_release(struct guard_pages *pages)
{
    struct guard_page *page = pages->last, *next;

    for (; page; page = next) {
        next = page->next;
        mem_free(page);
    }
    map_release(&pages->at);
    *pages = (struct guard_pages){0};
}

static struct guard_page *guard_page_add(struct guard_pages *pages, int64_t at)
{
    struct guard_page *page = mem_alloc(sizeof *page + pages->n_bytes);

    if (!page)
        return NULL;
    if (map_put(&pages->at, &at, sizeof at, (uint64_t)(uintptr_t)page)) {
        mem_free(page);
        return NULL;
    }
    page->next = pages->last;
    pages->last = page;
    return page;
}

/* SQLite writes whole pages. A journal may claim another size halfway, which
 * SQLite passes on; it is refused here. */
static int guard_pages_write(struct guard_pages *pages, const void *bytes,
                             int n, int64_t at)
{
    struct guard_page *page;

    if (!pages->n_bytes)
        pages->n_bytes = (size_t)n;
    if (n <= 0 || (size_t)n != pages->n_bytes || at < 0 || at % n)
        return SQLITE_IOERR_WRITE;
    page = guard_page_at(pages, at);
    if (!page)
        page = guard_page_add(pages, at);
    if (!page)
        return SQLITE_IOERR_NOMEM;
    memcpy(page->bytes, bytes, (size_t)n);
    return SQLITE_OK;
}

/* Copies written pages over bytes that were read from the file. */
static void guard_pages_cover(const struct guard_pages *pages, void *bytes,
                              int n, int64_t at)
{
    int64_t size = (int64_t)pages->n_bytes, end = at + n;

    if (!size)
        return;
    for (int64_t begin = at - at % size; begin < end; begin += size) {
        const struct guard_page *page = guard_page_at(pages, begin);
        int64_t from = begin > at ? begin : at;
        int64_t to = begin + size < end ? begin + size : end;

        if (page)
            memcpy((char *)bytes + (from - at), page->bytes + (from - begin),
                   (size_t)(to - from));
    }
}

/* ---- a guest's database ----------------------------------------------- */

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

static sqlite3_file *guest_system(sqlite3_file *file)
{
    return (sqlite3_file *)(guest_of(file) + 1);
}

static struct guard *guard_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

int64_t guard_bytes(const struct guard *guard)
{
    sqlite3_int64 bytes = -1;

    if (guard->is_sized)
        return guard->size;
    if (guard->main && guard->main->pMethods->xFileSize(guard->main, &bytes))
        return -1;
    return bytes;
}

static int guest_main_close(sqlite3_file *file)
{
    guest_of(file)->guard->main = NULL;
    return guest_system(file)->pMethods->xClose(guest_system(file));
}

static int guest_main_read(sqlite3_file *file, void *bytes, int n,
                           sqlite3_int64 at)
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

static int guest_main_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct guard *guard = guest_of(file)->guard;

    guard->is_sized = true;
    guard->size = size;
    return SQLITE_OK;
}

static int guest_main_write(sqlite3_file *file, const void *bytes, int n,
                            sqlite3_int64 at)
{
    struct guard *guard = guest_of(file)->guard;
    int64_t size = guard_bytes(guard);
    int rc = guard_pages_write(&guard->pages, bytes, n, at);

    return rc || at + n <= size ? rc : guest_main_truncate(file, at + n);
}

static int guest_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return SQLITE_OK;
}

static int guest_main_size(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = guard_bytes(guest_of(file)->guard);
    return *size < 0 ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

/* A shared lock keeps every writer away from the file; changes in memory need
 * no more than that. */
static int guest_main_lock(sqlite3_file *file, int level)
{
    if (level > SQLITE_LOCK_SHARED)
        return SQLITE_OK;
    return guest_system(file)->pMethods->xLock(guest_system(file), level);
}

static int guest_main_unlock(sqlite3_file *file, int level)
{
    return guest_system(file)->pMethods->xUnlock(guest_system(file), level);
}

static int guest_main_is_reserved(sqlite3_file *file, int *is_reserved)
{
    return guest_system(file)->pMethods->xCheckReservedLock(guest_system(file),
                                                            is_reserved);
}

static int guest_control(sqlite3_file *file, int what, void *argument)
{
    (void)file;
    (void)what;
    (void)argument;
    return SQLITE_NOTFOUND;
}

/* The system's: the length of a journal's header depends on these two. */
static int guest_sector(sqlite3_file *file)
{
    sqlite3_file *main = guest_of(file)->guard->main;

    return main->pMethods->xSectorSize(main);
}

static int guest_characteristics(sqlite3_file *file)
{
    sqlite3_file *main = guest_of(file)->guard->main;

    return main->pMethods->xDeviceCharacteristics(main);
}

/* Version 1 has neither shared memory nor mappings. */
static const sqlite3_io_methods guest_main_methods = {
    .iVersion = 1,
    .xClose = guest_main_close,
    .xRead = guest_main_read,
    .xWrite = guest_main_write,
    .xTruncate = guest_main_truncate,
    .xSync = guest_sync,
    .xFileSize = guest_main_size,
    .xLock = guest_main_lock,
    .xUnlock = guest_main_unlock,
    .xCheckReservedLock = guest_main_is_reserved,
    .xFileControl = guest_control,
    .xSectorSize = guest_sector,
    .xDeviceCharacteristics = guest_characteristics,
};

/* ---- a guest's journal ------------------------------------------------ */

static int guest_journal_close(sqlite3_file *file)
{
    close(guest_of(file)->fd);
    return SQLITE_OK;
}

static int guest_journal_read(sqlite3_file *file, void *bytes, int n,
                              sqlite3_int64 at)
{
    ssize_t got = pread(guest_of(file)->fd, bytes, (size_t)n, at);

    if (got < 0)
        return SQLITE_IOERR_READ;
    memset((char *)bytes + got, 0, (size_t)(n - got));
    return got == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int guest_journal_write(sqlite3_file *file, const void *bytes, int n,
                               sqlite3_int64 at)
{
    (void)file;
    (void)bytes;
    (void)n;
    (void)at;
    return SQLITE_READONLY;
}

static int guest_journal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    (void)file;
    (void)size;
    return SQLITE_READONLY;
}

static int guest_journal_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct stat info;

    if (fstat(guest_of(file)->fd, &info))
        return SQLITE_IOERR_FSTAT;
    *size = info.st_size;
    return SQLITE_OK;
}

static int guest_journal_lock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int guest_journal_is_reserved(sqlite3_file *file, int *is_reserved)
{
    (void)file;
    *is_reserved = 0;
    return SQLITE_OK;
}

static const sqlite3_io_methods guest_journal_methods = {
    .iVersion = 1,
    .xClose = guest_journal_close,
    .xRead = guest_journal_read,
    .xWrite = guest_journal_write,
    .xTruncate = guest_journal_truncate,
    .xSync = guest_sync,
    .xFileSize = guest_journal_size,
    .xLock = guest_journal_lock,
    .xUnlock = guest_journal_lock,
    .xCheckReservedLock = guest_journal_is_reserved,
    .xFileControl = guest_control,
    .xSectorSize = guest_sector,
    .xDeviceCharacteristics = guest_characteristics,
};

/* ---- files ------------------------------------------------------------- */

/* A link is never a journal: SQLite resolves names first. */
bool guard_has_journal(const struct guard *guard)
{
    struct stat info;

    return !guard->is_played_back && lstat(guard->journal, &info) == 0 &&
           S_ISREG(info.st_mode) && info.st_size > 0;
}

/* A version in the header is 2 if there may be a write-ahead log. */
static bool guard_is_logged(sqlite3_file *file)
{
    enum { versions_at = 18 };
    unsigned char versions[2] = {0};

    return file->pMethods->xRead(file, versions, sizeof versions,
                                 versions_at) == SQLITE_OK &&
           (versions[0] == 2 || versions[1] == 2);
}

/* Tells SQLite that it may write: without that it plays no journal back. */
static int guard_open_guest_main(struct guard *guard, const char *name,
                                 sqlite3_file *file, int *flags_out)
{
    sqlite3_file *system = guest_system(file);
    int rc =
        guard->system->xOpen(guard->system, name, system,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, NULL);

    if (rc)
        return rc;
    guard->has_log = guard_is_logged(system);
    if (guard->has_log) {
        system->pMethods->xClose(system);
        return SQLITE_CANTOPEN;
    }
    *guest_of(file) =
        (struct guest_file){.base = {&guest_main_methods}, .guard = guard};
    guard->main = system;
    if (flags_out)
        *flags_out = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int guard_open_guest_journal(struct guard *guard, sqlite3_file *file,
                                    int flags, int *flags_out)
{
    int fd;

    if (!guard_has_journal(guard) || (flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    fd = open(guard->journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return SQLITE_CANTOPEN;
    *guest_of(file) = (struct guest_file){
        .base = {&guest_journal_methods}, .guard = guard, .fd = fd};
    if (flags_out)
        *flags_out = flags;
    return SQLITE_OK;
}

static int guard_open_own_main(struct guard *guard, const char *name,
                               sqlite3_file *file, int flags, int *flags_out)
{
    int rc = guard->system->xOpen(guard->system, name, file, flags, flags_out);

    if (rc)
        return rc;
    guard->has_log = guard_is_logged(file);
    if (!guard->has_log)
        return SQLITE_OK;
    file->pMethods->xClose(file);
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

/* SQLite would wait for a pipe in the place of a journal, or write through a
 * link. */
static int guard_open_own_journal(struct guard *guard, const char *name,
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
                   ? guard_open_guest_main(guard, name, file, flags_out)
                   : guard_open_own_main(guard, name, file, flags, flags_out);
    if (is_journal && (flags & SQLITE_OPEN_MAIN_JOURNAL))
        return guard->is_guest
                   ? guard_open_guest_journal(guard, file, flags, flags_out)
                   : guard_open_own_journal(guard, name, file, flags,
                                            flags_out);
    return SQLITE_CANTOPEN; /* temporary files are in memory */
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

/* The name is already resolved. */
static int guard_full_path(sqlite3_vfs *vfs, const char *name, int n, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)n, "%s", name) < n ? SQLITE_OK
                                                    : SQLITE_CANTOPEN;
}

/* ---- the rest is the system's ----------------------------------------- */

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

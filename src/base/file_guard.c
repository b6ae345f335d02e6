/* base/file_guard.c - see file_guard.h.
 *
 * The handler may run at any time on any thread, so it uses only a table of
 * fixed size, which needs no lock. */
#include "base/file_guard.h"

#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { n_places = 256 };

/* A mapping as the handler sees it; begin 0: unused. */
struct guard_place {
    _Atomic uintptr_t begin, end;
    atomic_bool is_damaged;
};

struct file_guard {
    struct guard_place *place;
    char *path;
    struct stat info; /* of the file when it was mapped */
    struct file_guard *next;
};

static struct guard_place places[n_places];
static atomic_bool is_any_damaged, is_catching;
static uintptr_t page_bytes;
static struct sigaction before;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file_guard *guards; /* all of them */

/* ---- the handler -------------------------------------------------------- */

/* Maps zeros from this page to the end, which the file cannot take away. */
static bool fill_with_zeros(struct guard_place *place, uintptr_t at)
{
    uintptr_t page = at / page_bytes * page_bytes;
    uintptr_t end = atomic_load(&place->end);

    atomic_store(&place->is_damaged, true);
    atomic_store(&is_any_damaged, true);
    return mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}

/* A fault elsewhere recurs at once, under the previous action. */
static void answer_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    int errno_before = errno;

    (void)context;
    for (size_t i = 0; i < n_places; i++) {
        uintptr_t begin = atomic_load(&places[i].begin);

        if (begin && at >= begin && at < atomic_load(&places[i].end) &&
            fill_with_zeros(&places[i], at)) {
            errno = errno_before;
            return;
        }
    }
    sigaction(number, &before, NULL);
}

/* Also needed in a child, which has reset the signal. */
static void install(void)
{
    struct sigaction action = {.sa_sigaction = answer_fault,
                               .sa_flags = SA_SIGINFO};
    struct sigaction now;

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) ||
        ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == answer_fault))
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

void file_guard_catch(void)
{
    pthread_mutex_lock(&lock);
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    atomic_store(&is_catching, true);
    install();
    pthread_mutex_unlock(&lock);
}

/* ---- guards ------------------------------------------------------------- */

static struct guard_place *file_guard_find_place(void)
{
    for (size_t i = 0; i < n_places; i++) {
        if (!atomic_load(&places[i].begin))
            return &places[i];
    }
    return NULL;
}

struct file_guard *file_guard_new(void *bytes, size_t n, const char *path,
                                  const struct stat *info)
{
    struct file_guard *guard = mem_zalloc(sizeof *guard);

    if (!guard)
        return NULL;
    guard->path = mem_strdup(path);
    guard->info = *info;
    pthread_mutex_lock(&lock);
    guard->place = guard->path ? file_guard_find_place() : NULL;
    if (guard->place) {
        atomic_store(&guard->place->is_damaged, false);
        atomic_store(&guard->place->end, (uintptr_t)bytes + n);
        atomic_store(&guard->place->begin, (uintptr_t)bytes);
        guard->next = guards;
        guards = guard;
        if (atomic_load(&is_catching))
            install();
    }
    pthread_mutex_unlock(&lock);
    if (guard->place)
        return guard;
    mem_free(guard->path);
    mem_free(guard);
    return NULL;
}

void file_guard_free(struct file_guard *guard)
{
    struct file_guard **at = &guards;

    if (!guard)
        return;
    pthread_mutex_lock(&lock);
    while (*at != guard)
        at = &(*at)->next;
    *at = guard->next;
    atomic_store(&guard->place->begin, 0);
    pthread_mutex_unlock(&lock);
    mem_free(guard->path);
    mem_free(guard);
}

/* Only the mapped file counts, not another one that now has its name. */
static bool has_changed(const struct file_guard *guard)
{
    const struct stat *then = &guard->info;
    struct stat now;

    return stat(guard->path, &now) == 0 && now.st_dev == then->st_dev &&
           now.st_ino == then->st_ino &&
           (now.st_size != then->st_size ||
            now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != then->st_mtim.tv_nsec);
}

/* Reports the first damaged file. */
static enum assay_status check_all(enum assay_status st, bool looks_at_files,
                                   struct error *err)
{
    const struct file_guard *guard;

    pthread_mutex_lock(&lock);
    for (guard = guards; guard; guard = guard->next) {
        if (atomic_load(&guard->place->is_damaged) ||
            (looks_at_files && has_changed(guard)))
            break;
    }
    if (guard) {
        if (err)
            *err = (struct error){0};
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s changed while it was in use; try again when nothing "
                       "writes to it",
                       guard->path);
    }
    pthread_mutex_unlock(&lock);
    return st;
}

enum assay_status file_guards_hold(enum assay_status st, struct error *err)
{
    return atomic_load(&is_any_damaged) ? check_all(st, false, err) : st;
}

enum assay_status file_guards_check(enum assay_status st, struct error *err)
{
    return check_all(st, true, err);
}

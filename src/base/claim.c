/* base/claim.c - see claim.h.
 *
 * Two locks of one byte each: one that only one process can hold, and one whose
 * position is the holder's process id. */
#include "base/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const off_t claim_at = (off_t)1 << 60;
static const off_t most_pid = (off_t)1 << 31;

enum { most_tries = 3000 }; /* a millisecond each */

static struct flock lock_of(off_t at, off_t n)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
}

static pid_t find_holder(int fd)
{
    struct flock lock = lock_of(claim_at + 1, most_pid);

    if (fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type == F_UNLCK)
        return 0;
    return (pid_t)(lock.l_start - claim_at);
}

/* Of a process of this machine; a child that the holder forked keeps the locks
 * until it has ended, too. */
static bool has_ended(pid_t holder)
{
    return kill(holder, 0) && errno == ESRCH;
}

/* A holder has no name for a moment between taking the two locks, and right
 * after releasing them; one that was killed may still be on its way out. */
bool claim_take(int fd, pid_t *holder)
{
    struct flock claim = lock_of(claim_at, 1);
    struct flock name = lock_of(claim_at + getpid(), 1);

    *holder = 0;
    for (int i = 0; fcntl(fd, F_OFD_SETLK, &claim); i++) {
        if (errno != EAGAIN && errno != EACCES)
            return true; /* the file system has no locks */
        *holder = find_holder(fd);
        if (i == most_tries || (*holder && !has_ended(*holder)))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    (void)fcntl(fd, F_OFD_SETLK, &name); /* for messages only */
    return true;
}

/* base/claim.c - see claim.h.
 *
 * Two locks of one byte each: one that only one can have, and one whose place
 * says who that is. */
#include "base/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static const off_t claim_at = (off_t)1 << 60;
static const off_t most_pid = (off_t)1 << 31;

enum { most_tries = 1000 }; /* a millisecond each */

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

/* Between the two locks, and right after it gave them back, a holder has no
 * name: both pass at once. */
bool claim_take(int fd, pid_t *holder)
{
    struct flock claim = lock_of(claim_at, 1);
    struct flock name = lock_of(claim_at + getpid(), 1);

    *holder = 0;
    for (int i = 0; fcntl(fd, F_OFD_SETLK, &claim); i++) {
        if (errno != EAGAIN && errno != EACCES)
            return true; /* a file system without locks */
        *holder = find_holder(fd);
        if (*holder || i == most_tries)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    (void)fcntl(fd, F_OFD_SETLK, &name); /* for messages only */
    return true;
}

/* base/claim.c - see claim.h.
 *
 * Two locks of one byte each: one that only one can have, and one whose place
 * says who that is. */
#include "base/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const off_t claim_at = (off_t)1 << 60;
static const off_t most_pid = (off_t)1 << 31;

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

bool claim_take(int fd, pid_t *holder)
{
    struct flock claim = lock_of(claim_at, 1);
    struct flock name = lock_of(claim_at + getpid(), 1);

    *holder = 0;
    if (fcntl(fd, F_OFD_SETLK, &claim)) {
        bool is_taken = errno == EAGAIN || errno == EACCES;

        if (is_taken)
            *holder = find_holder(fd);
        return !is_taken;
    }
    (void)fcntl(fd, F_OFD_SETLK, &name); /* for messages only */
    return true;
}

/* What base/claim.h promises. */
#include "base/claim.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_file(const char *name)
{
    int fd = open(test_path(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    return fd;
}

/* A process that claims the file and lives until it is killed. */
static pid_t start_holder(const char *name)
{
    int ready[2];
    char byte;
    pid_t pid;

    (void)test_path("");
    CHECK_INT(pipe(ready), 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        pid_t holder;

        if (!claim_take(open_file(name), &holder) ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

TEST(a_claim_names_its_process_and_ends_with_it)
{
    pid_t first = start_holder("one"), holder = -1;
    int fd = open_file("one");

    CHECK(!claim_take(fd, &holder));
    CHECK_INT(holder, first);
    CHECK_INT(kill(first, SIGKILL), 0);
    CHECK_INT(waitpid(first, NULL, 0), first);
    CHECK(claim_take(fd, &holder));
    close(fd);
}

TEST(a_claim_ends_when_its_file_is_closed_and_with_no_other)
{
    int first = open_file("two"), second = open_file("two");
    pid_t holder;

    CHECK(claim_take(first, &holder));
    close(open_file("two")); /* locks of a process would end here */
    CHECK(!claim_take(second, &holder));
    CHECK_INT(holder, getpid());
    close(first);
    CHECK(claim_take(second, &holder));
    close(second);
}

/* SQLite locks bytes from 1 GiB on. */
TEST(other_locks_and_claims_do_not_meet)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = 0,
                         .l_len = 0x40000000 + 512};
    pid_t first = start_holder("three");
    int fd = open_file("three");

    CHECK_INT(fcntl(fd, F_SETLK, &lock), 0);
    CHECK_INT(kill(first, SIGKILL), 0);
    CHECK_INT(waitpid(first, NULL, 0), first);
    close(fd);
}

/* Claims and gives back in turn with others; 1: refused by nobody it knows. */
static int claim_often(const char *name)
{
    for (int i = 0; i < 3000; i++) {
        int fd = open_file(name);
        pid_t holder;

        if (!claim_take(fd, &holder) && holder <= 0)
            return 1;
        close(fd);
    }
    return 0;
}

TEST(whoever_is_refused_is_told_by_whom_also_while_claims_come_and_go)
{
    enum { n_children = 4 };
    pid_t children[n_children];

    (void)test_path("");
    for (int i = 0; i < n_children; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0)
            _exit(claim_often("often"));
    }
    for (int i = 0; i < n_children; i++) {
        int status;

        CHECK_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK_INT(status, 0);
    }
}

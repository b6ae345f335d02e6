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

/* As the test of a campaign that is killed: it outlives its parent a little. */
TEST(a_claim_of_a_dead_process_is_waited_for_while_its_child_ends)
{
    int ready[2], fd = open_file("orphan");
    pid_t first, holder;
    char byte;

    CHECK_INT(pipe(ready), 0);
    first = fork();
    if (first == 0) {
        if (!claim_take(open_file("orphan"), &holder))
            _exit(1);
        if (fork() == 0) { /* has the file open, too */
            usleep(200000);
            _exit(0);
        }
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(kill(first, SIGKILL), 0);
    CHECK_INT(waitpid(first, NULL, 0), first);
    CHECK(claim_take(fd, &holder));
    close(fd);
    close(ready[0]);
    close(ready[1]);
}

TEST(a_claim_ends_only_when_its_own_file_is_closed)
{
    int first = open_file("two"), second = open_file("two");
    pid_t holder;

    CHECK(claim_take(first, &holder));
    close(open_file("two")); /* process-owned locks would end here */
    CHECK(!claim_take(second, &holder));
    CHECK_INT(holder, getpid());
    close(first);
    CHECK(claim_take(second, &holder));
    close(second);
}

/* SQLite locks bytes starting at 1 GiB. */
TEST(claims_and_other_locks_do_not_conflict)
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

/* Takes and releases claims in turn with others; 1: refused by an unknown
 * holder. */
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

TEST(a_refused_process_learns_the_holder_even_as_claims_come_and_go)
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

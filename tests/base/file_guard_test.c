/* Mapped files that shrink or are rewritten are reported, and crash nothing. */
#include "base/child.h"
#include "base/file_guard.h"
#include "base/mem.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_pages = 8 };

static struct error err;

struct mapped {
    const char *path;
    unsigned char *bytes;
    size_t page, n;
    struct stat info;
    struct file_guard *guard;
};

/* A file of ones, mapped and guarded. */
static struct mapped map_ones(const char *name)
{
    struct mapped made = {.path = test_path(name),
                          .page = (size_t)sysconf(_SC_PAGESIZE)};
    unsigned char *ones;
    int fd = open(made.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    made.n = n_pages * made.page;
    ones = mem_alloc(made.n);
    CHECK(fd >= 0 && ones);
    memset(ones, 1, made.n);
    CHECK_INT(write(fd, ones, made.n), made.n);
    mem_free(ones);
    CHECK_INT(fstat(fd, &made.info), 0);
    made.bytes = mmap(NULL, made.n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(made.bytes != MAP_FAILED);
    close(fd);
    made.guard = file_guard_new(made.bytes, made.n, made.path, &made.info);
    CHECK(made.guard);
    err = (struct error){0};
    return made;
}

static void unmap(struct mapped *mapped)
{
    file_guard_free(mapped->guard);
    munmap(mapped->bytes, mapped->n);
    CHECK_INT(file_guards_check(ASSAY_OK, &err), ASSAY_OK);
}

TEST(lost_bytes_read_as_zeros_and_the_file_is_named)
{
    struct mapped file = map_ones("shrunk");

    file_guard_catch();
    CHECK_INT(file_guards_hold(ASSAY_OK, &err), ASSAY_OK);
    CHECK_INT(truncate(file.path, (off_t)file.page), 0);
    CHECK_INT(file.bytes[0], 1);
    CHECK_INT(file.bytes[3 * file.page + 5], 0);
    CHECK_INT(file.bytes[file.n - 1], 0);
    file.bytes[5 * file.page] = 7; /* it can still be written to */
    CHECK_INT(file.bytes[5 * file.page], 7);
    CHECK_INT(file_guards_hold(ASSAY_OK, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, file.path);
    CHECK_HAS(err.text, "changed while it was in use");
    /* It is the reason for any error that these zeros caused. */
    err = (struct error){ASSAY_NOMEM, "no memory"};
    CHECK_INT(file_guards_hold(ASSAY_NOMEM, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "changed while it was in use");
    err = (struct error){0};
    unmap(&file);
    CHECK_INT(file_guards_hold(ASSAY_OK, &err), ASSAY_OK);
}

static void *touch_all(void *context)
{
    const struct mapped *file = context;
    const volatile unsigned char *bytes = file->bytes;

    for (size_t i = 0; i < file->n; i += 64)
        (void)bytes[i];
    return NULL;
}

TEST(several_threads_may_hit_the_same_loss)
{
    struct mapped file = map_ones("threads");
    pthread_t threads[4];

    file_guard_catch();
    CHECK_INT(truncate(file.path, 0), 0);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, touch_all, &file), 0);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(file_guards_hold(ASSAY_OK, &err), ASSAY_BAD_INPUT);
    unmap(&file);
}

TEST(a_rewritten_file_is_reported_although_nothing_is_missing)
{
    struct mapped file = map_ones("rewritten");
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    CHECK_INT(file_guards_check(ASSAY_OK, &err), ASSAY_OK);
    CHECK_INT(utimensat(AT_FDCWD, file.path, times, 0), 0);
    CHECK_INT(file_guards_hold(ASSAY_OK, &err), ASSAY_OK);
    CHECK_INT(file_guards_check(ASSAY_OK, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, file.path);
    err = (struct error){0};
    unmap(&file);
}

TEST(another_file_with_the_same_name_is_not_a_change)
{
    struct mapped file = map_ones("replaced");
    int fd;

    CHECK_INT(unlink(file.path), 0);
    CHECK_INT(file_guards_check(ASSAY_OK, &err), ASSAY_OK);
    fd = open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    close(fd);
    CHECK_INT(file_guards_check(ASSAY_OK, &err), ASSAY_OK);
    CHECK_INT(file.bytes[file.n - 1], 1);
    unmap(&file);
}

static void touch_unguarded(void *context, int line)
{
    struct mapped *file = context;

    (void)line;
    file_guard_catch();
    file_guard_free(file->guard);
    truncate(file->path, 0);
    touch_all(file);
}

TEST(a_fault_elsewhere_still_ends_the_process)
{
    struct mapped file = map_ones("unguarded");
    struct child child;
    int status;

    CHECK_STATUS(child_start(&child, &(struct child_options){.what = "a test"},
                             touch_unguarded, &file, &err),
                 ASSAY_OK, &err);
    status = child_end(&child, false, NULL);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGBUS);
    unmap(&file);
}

TEST(the_number_of_guards_is_limited)
{
    enum { plenty = 300 };
    struct file_guard *guards[plenty];
    struct mapped file = map_ones("many");
    size_t n = 0;

    while (n < plenty) {
        guards[n] = file_guard_new(file.bytes, file.n, file.path, &file.info);
        if (!guards[n])
            break;
        n++;
    }
    CHECK(n > 100 && n < plenty);
    while (n)
        file_guard_free(guards[--n]);
    guards[0] = file_guard_new(file.bytes, file.n, file.path, &file.info);
    CHECK(guards[0]);
    file_guard_free(guards[0]);
    unmap(&file);
}

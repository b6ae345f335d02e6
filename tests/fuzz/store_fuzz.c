/* tests/fuzz/store_fuzz.c - any bytes, read as a run file.
 *
 * SQLite needs a real file; one in /dev/shm does not touch the disk. */
#include "fuzz.h"

#include "run/run.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *file_name(void)
{
    static char name[64];

    if (!name[0])
        snprintf(name, sizeof name, "/dev/shm/assay-store-fuzz-%ld",
                 (long)getpid());
    return name;
}

static void remove_file(void)
{
    unlink(file_name());
}

static int open_file(void)
{
    int fd = open(file_name(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        abort();
    atexit(remove_file);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    struct error err = {0};
    struct run *run;

    if (fd < 0)
        fd = open_file();
    if (ftruncate(fd, 0) || pwrite(fd, bytes, n, 0) != (ssize_t)n)
        abort();
    if (store_load(file_name(), &run, &err)) {
        if (run || !err.text[0])
            abort();
        return 0;
    }
    /* A run that was accepted must also be usable. */
    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        struct scope_stats stats;

        if (run_scope_stats(run, i, RUN_ANY, &stats, &err))
            abort();
    }
    run_free(run);
    return 0;
}

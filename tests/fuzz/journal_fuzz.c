/* tests/fuzz/journal_fuzz.c - any bytes, read as a run file's journal.
 *
 * No file may change, whatever the journal says. */
#include "fuzz.h"

#include "run/run.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char database[64], journal[80];

static void remove_files(void)
{
    unlink(journal);
    unlink(database);
}

static void make_database(void)
{
    struct error err = {0};
    struct run *run;
    uint32_t id;

    snprintf(database, sizeof database, "/dev/shm/assay-journal-fuzz-%ld",
             (long)getpid());
    snprintf(journal, sizeof journal, "%s-journal", database);
    atexit(remove_files);
    if (run_new(&run, &err) ||
        run_scope_add(run, RUN_ROOT, "backbone", "ResNet", &id, &err) ||
        run_seal(run, &err) || store_save(run, database, &err))
        abort();
    run_free(run);
}

static void write_journal(const uint8_t *bytes, size_t n)
{
    int fd = open(journal, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || pwrite(fd, bytes, n, 0) != (ssize_t)n)
        abort();
    close(fd);
}

static int is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct stat before[2], after[2];
    struct error err = {0};
    struct run *run;

    if (!database[0])
        make_database();
    write_journal(bytes, n);
    if (stat(database, &before[0]) || stat(journal, &before[1]))
        abort();
    if (!store_load(database, &run, &err))
        run_free(run);
    else if (run || !err.text[0])
        abort();
    if (stat(database, &after[0]) || stat(journal, &after[1]) ||
        !is_same_file(&before[0], &after[0]) ||
        !is_same_file(&before[1], &after[1]))
        abort();
    return 0;
}

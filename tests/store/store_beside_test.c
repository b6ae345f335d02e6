/* tests/store/store_beside_test.c - files next to a run file, and what its
 * name looks like: neither may change anything else on the disk. */
#include "runs.h"

#include "store/database.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
}

struct bytes {
    char *items;
    size_t n;
};

static struct bytes read_bytes(const char *path)
{
    struct bytes bytes = {calloc(1, 32 << 20), 0};
    FILE *file = fopen(path, "rb");

    CHECK(bytes.items && file);
    bytes.n = fread(bytes.items, 1, 32 << 20, file);
    fclose(file);
    return bytes;
}

static void check_unchanged(const char *path, const struct bytes *before)
{
    struct bytes now = read_bytes(path);

    CHECK_INT(now.n, before->n);
    CHECK(memcmp(now.items, before->items, now.n) == 0);
    free(now.items);
}

static void save_run(const char *path, uint32_t n_iterations)
{
    struct run *run = rich_run(n_iterations);
    struct error err = {0};

    OK(run_seal(run, &err));
    OK(store_save(run, path, &err));
    run_free(run);
}

static uint64_t load_iterations(const char *path)
{
    struct error err = {0};
    struct run *run;
    uint64_t n;

    OK(store_load(path, &run, &err));
    n = run_iteration_count(run);
    run_free(run);
    return n;
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void put_32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* The layout of a journal is that of sqlite.org/fileformat2.html, section 3. */
enum { sector = 512, page = 4096, lock_page = 0x40000000 / page + 1 };
static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9,
                                      0x20, 0xa1, 0x63, 0xd7};

/* For a transaction that began with this many pages and changed none. */
static void put_header(unsigned char bytes[sector], uint32_t n_pages)
{
    memcpy(bytes, magic, sizeof magic);
    put_32(bytes + 8, 0xffffffff); /* in the journal: as many as fit */
    put_32(bytes + 16, n_pages);
    put_32(bytes + 20, sector);
    put_32(bytes + 24, page);
}

/* A journal as a transaction over several databases leaves it: it names the
 * file that says so, and SQLite removes that file after the playback. */
static void write_trap(const char *journal, const char *victim)
{
    unsigned char bytes[sector + 1024] = {0};
    size_t n = strlen(victim), at = sector;
    uint32_t sum = 0;

    put_header(bytes, 1 << 20);
    put_32(bytes + at, lock_page);
    memcpy(bytes + at + 4, victim, n);
    for (size_t i = 0; i < n; i++)
        sum += (unsigned char)victim[i];
    put_32(bytes + at + 4 + n, (uint32_t)n);
    put_32(bytes + at + 8 + n, sum);
    memcpy(bytes + at + 12 + n, magic, sizeof magic);
    write_file(journal, bytes, at + 20 + n);
}

TEST(a_journal_next_to_a_links_target_does_not_delete_a_file)
{
    const char *victim = test_path("victim.txt");
    struct error err = {0};
    struct bytes before;
    struct run *run;

    CHECK_INT(mkdir(test_path("elsewhere"), 0777), 0);
    save_run(test_path("elsewhere/real.assay"), 3);
    write_file(victim, "mine", 4);
    write_trap(test_path("elsewhere/real.assay-journal"), victim);
    CHECK_INT(symlink("elsewhere/real.assay", test_path("link.assay")), 0);
    before = read_bytes(test_path("elsewhere/real.assay"));
    CHECK_INT(store_load(test_path("link.assay"), &run, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "journal that is not its own");
    CHECK_HAS(err.text, "elsewhere/real.assay-journal");
    CHECK(access(victim, F_OK) == 0);
    CHECK(access(test_path("elsewhere/real.assay-journal"), F_OK) == 0);
    check_unchanged(test_path("elsewhere/real.assay"), &before);
    free(before.items);
}

/* The check comes before SQLite looks. Whatever SQLite would do about a trap
 * set in between, it cannot. */
TEST(a_trap_set_late_deletes_nothing_either)
{
    const char *path = test_path("late.assay");
    const char *victim = test_path("late_victim.txt");
    struct database *database;
    struct error err = {0};

    for (int use = DATABASE_READ; use <= DATABASE_WRITE; use++) {
        save_run(path, 3);
        write_file(victim, "mine", 4);
        OK(database_open(path, (enum database_use)use, &database, &err));
        write_trap(test_path("late.assay-journal"), victim);
        sqlite3_exec(database_handle(database), "SELECT * FROM meta", NULL,
                     NULL, NULL);
        database_close(database);
        CHECK(access(victim, F_OK) == 0);
        unlink(test_path("late.assay-journal"));
    }
}

TEST(a_path_that_looks_like_a_uri_is_a_path)
{
    char before[4096];
    struct error err = {0};
    struct run *run;

    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK_INT(chdir(test_path("")), 0);
    save_run("file:two.assay", 2);
    save_run("five.assay", 5);
    save_run("file:five.assay?mode=ro", 3);
    CHECK_INT(load_iterations("file:two.assay"), 2);
    CHECK_INT(load_iterations("file:five.assay?mode=ro"), 3);
    CHECK_INT(store_load("file:five.assay", &run, &err), ASSAY_NOT_FOUND);
    CHECK_INT(chdir(before), 0);
}

/* If anything waited for it, this test would hang. */
TEST(a_pipe_next_to_a_run_file_is_not_waited_for)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    const char *path = test_path("piped.assay");

    save_run(path, 4);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[4096];

        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        CHECK_INT(mkfifo(name, 0666), 0);
        CHECK_INT(load_iterations(path), 4);
        unlink(name);
    }
}

TEST(a_write_ahead_log_is_refused_with_advice)
{
    const char *path = test_path("ahead.assay");
    struct error err = {0};
    struct run *run;

    save_run(path, 4);
    execute(path, "PRAGMA journal_mode=WAL");
    CHECK_INT(store_load(path, &run, &err), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "ahead.assay");
    CHECK_HAS(err.text, "PRAGMA journal_mode=DELETE");
    CHECK(access(test_path("ahead.assay-shm"), F_OK) != 0);
    execute(path, "PRAGMA journal_mode=DELETE");
    CHECK_INT(load_iterations(path), 4);
}

/* ---- a journal of our own --------------------------------------------- */

/* Dies in a transaction that has already changed the database file. */
static void die_writing(const char *path)
{
    sqlite3 *db;

    if (sqlite3_open(path, &db) ||
        sqlite3_exec(
            db,
            "PRAGMA cache_size = 1; PRAGMA synchronous = OFF; BEGIN;"
            "UPDATE meta SET value = 77 WHERE key = 'iterations';"
            "UPDATE scope SET name = 'undone';"
            "CREATE TABLE filler(x);"
            "INSERT INTO filler SELECT zeroblob(5000) FROM stat, stat;",
            NULL, NULL, NULL))
        _exit(1);
    raise(SIGKILL);
}

static void leave_journal(const char *path)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0)
        die_writing(path);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
}

TEST(a_journal_is_played_back_only_in_memory)
{
    const char *path = test_path("hot.assay");
    const char *journal = test_path("hot.assay-journal");
    struct bytes saved, database, pages;
    struct database *opened;
    struct error err = {0};
    struct run *run;

    save_run(path, 6);
    saved = read_bytes(path);
    leave_journal(path);
    database = read_bytes(path);
    pages = read_bytes(journal);
    CHECK(pages.n > 4096 && database.n > saved.n);
    OK(database_open(path, DATABASE_READ, &opened, &err));
    CHECK_INT(sqlite3_exec(database_handle(opened), "SELECT * FROM meta", NULL,
                           NULL, NULL),
              SQLITE_OK);
    CHECK_INT(database_bytes(opened), saved.n);
    database_close(opened);
    for (int i = 0; i < 2; i++) {
        OK(store_load(path, &run, &err));
        CHECK_INT(run_iteration_count(run), 6);
        CHECK_STR(run_scope(run, 1)->name, "backbone");
        run_free(run);
        check_unchanged(path, &database);
        check_unchanged(journal, &pages);
    }
    free(saved.items);
    free(database.items);
    free(pages.items);
}

/* Killed in its first transaction, when the database had no pages: all there is
 * of the journal is its header, and undone the database is empty. */
TEST(a_journal_with_only_a_header_is_played_back)
{
    const char *path = test_path("first.assay");
    const char *journal = test_path("first.assay-journal");
    unsigned char bytes[sector] = {0};
    struct error err = {0};
    struct bytes saved;
    struct run *run;

    save_run(path, 6);
    saved = read_bytes(path);
    put_header(bytes, 0);
    write_file(journal, bytes, sizeof bytes);
    CHECK_INT(store_load(path, &run, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "is empty");
    check_unchanged(path, &saved);
    put_header(bytes, (uint32_t)(saved.n / page));
    write_file(journal, bytes, sizeof bytes);
    CHECK_INT(load_iterations(path), 6);
    free(saved.items);
}

TEST(a_damaged_journal_is_read_without_harm)
{
    const char *path = test_path("worse.assay");
    const char *journal = test_path("worse.assay-journal");
    struct bytes pages;

    save_run(path, 6);
    leave_journal(path);
    pages = read_bytes(journal);
    for (size_t i = 0; i < pages.n; i += 97) {
        char was = pages.items[i];
        struct error err = {0};
        struct run *run;

        pages.items[i] = (char)~was;
        write_file(journal, pages.items, pages.n);
        if (!store_load(path, &run, &err))
            run_free(run);
        check_unchanged(journal, &pages);
        pages.items[i] = was;
    }
    free(pages.items);
}

/* store/writer_internal.h - a run file while it is being written.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_WRITER_INTERNAL_H
#define STORE_WRITER_INTERNAL_H

#include "store/store_internal.h"

#include <sys/types.h>
#include <time.h>

/* This list generates the statements of a writer and their texts. */
#define STORE_STATEMENTS(X)                                                    \
    X(PUT_META, "INSERT INTO meta(key, value) VALUES(?1, ?2)"                  \
                " ON CONFLICT(key) DO UPDATE SET value = ?2")                  \
    X(PUT_FACT, "INSERT INTO fact(key, value) VALUES(?1, ?2)"                  \
                " ON CONFLICT(key) DO UPDATE SET value = ?2")                  \
    X(PUT_HEALTH, "INSERT INTO health(name, count) VALUES(?1, ?2)"             \
                  " ON CONFLICT(name) DO UPDATE SET count = ?2")               \
    X(PUT_SCOPE, "INSERT OR REPLACE INTO scope VALUES(?,?,?,?,?)")             \
    X(PUT_PHASE, "INSERT OR REPLACE INTO phase VALUES(?,?)")                   \
    X(PUT_THREAD, "INSERT OR REPLACE INTO thread VALUES(?,?,?)")               \
    X(PUT_ITERATION, "INSERT INTO iteration VALUES(?,?,?,?)")                  \
    X(PUT_STAT, "INSERT OR REPLACE INTO stat"                                  \
                " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")        \
    X(PUT_COUNTER, "INSERT OR REPLACE INTO counter"                            \
                   " VALUES(?,?,?,?,?,?,?,?,?)")                               \
    X(PUT_WORK, "INSERT OR REPLACE INTO work"                                  \
                " VALUES(?,?,?,?,?,?,?,?,?,?)")                                \
    X(PUT_TEXT, "INSERT OR REPLACE INTO scope_text VALUES(?,?,?)")             \
    X(PUT_EDGE, "INSERT INTO edge VALUES(?,?)")                                \
    X(PUT_SPACE, "INSERT OR REPLACE INTO memory_space"                         \
                 " VALUES(?,?,?,?,?,?)")                                       \
    X(PUT_COUNTER_POINT, "INSERT INTO counter_point VALUES(?,?,?)")            \
    X(PUT_SERIES, "INSERT OR REPLACE INTO series VALUES(?,?,?,?)")             \
    X(PUT_LABEL, "INSERT INTO series_label VALUES(?,?,?)")                     \
    X(PUT_SERIES_POINT, "INSERT INTO series_point VALUES(?,?,?)")              \
    X(PUT_OWNER, "INSERT INTO ledger VALUES(?,?,?,?,?)")                       \
    X(CUT_SERIES_POINTS, "DELETE FROM series_point WHERE series = ?")          \
    X(CUT_EDGES, "DELETE FROM edge WHERE rowid > ?")                           \
    X(CUT_LEDGER, "DELETE FROM ledger WHERE id >= ?")                          \
    X(CUT_ITERATIONS, "DELETE FROM iteration WHERE i >= ?")                    \
    X(CUT_POINTS, "DELETE FROM point WHERE stat = ?")                          \
    X(CUT_COUNTER_POINTS, "DELETE FROM counter_point WHERE counter = ?")       \
    X(CUT_SAMPLES, "DELETE FROM sample WHERE rowid > ?")                       \
    X(GET_SAMPLES, "SELECT * FROM sample WHERE rowid <= ? ORDER BY rowid")

enum statement {
#define STORE_STATEMENT_ENUM(name, sql) name,
    STORE_STATEMENTS(STORE_STATEMENT_ENUM) N_STATEMENTS
#undef STORE_STATEMENT_ENUM
};

/* Many rows are inserted at once, which is twice as fast. */
enum { BULK_ROWS = 50 };

/* Columns of a sample without and with the additions of version 6. */
enum { SAMPLE_COLUMNS = 9, SAMPLE_COLUMNS_EXTENDED = 10 };

struct bulk {
    const char *table;
    int n_columns;
    sqlite3_stmt *many, *one;
};

/* Where the rows of a bulk insert come from. bind() binds item i to the
 * parameters from `at` on and returns SQLite's result code. */
struct bulk_source {
    const void *items;
    int64_t owner;
    bool is_extended; /* samples have all columns */
    int (*bind)(sqlite3_stmt *stmt, int at, const struct bulk_source *source,
                size_t i);
};

/* How much of a cell, counter or series is in the file. */
struct written {
    uint64_t calls, iterations;
    size_t n_points;
    uint32_t stride;
};

enum { PART_LETTERS = 6, PART_SUFFIX = 48 };

struct store_writer {
    struct db db;
    char *path;               /* as the user wrote it */
    char *final, *part;       /* absolute: programs change folders */
    char suffix[PART_SUFFIX]; /* of the part, after the final name */
    int claim;                /* on the part, which this writer owns; or -1 */
    struct timespec began;    /* by the file system's clock */
    sqlite3_stmt *statements[N_STATEMENTS];
    struct bulk samples, points;
    bool is_in_transaction;
    bool has_content;   /* a checkpoint was written */
    bool is_to_rewrite; /* one failed and was rolled back */
    bool is_extended;   /* has all of STORE_VERSION */
    bool is_extended_for_good;

    int64_t n_appended;  /* samples of store_append(); the kept ones follow */
    int64_t n_committed; /* of those, the committed ones */
    uint64_t n_lost;     /* rolled back with a failed transaction */

    size_t n_scopes, n_phases, n_iterations, n_kept, n_edges;
    uint32_t last_iteration;
    uint64_t kept_hash, work_hash, text_hash, ledger_hash;
    struct written *cells;
    size_t n_cells, cells_capacity;
    struct written *counters;
    size_t n_counters, counters_capacity;
    struct written *series; /* calls: number of labels */
    size_t n_series, series_capacity;
};

/* part.c: makes a part next to the file that it will become. final is the
 * absolute path of that; NULL: path is relative to the current folder. */
enum assay_status writer_open(const char *path, const char *final,
                              const char *journal_mode,
                              struct store_writer **out, struct error *err);
/* Closes the database, syncs it to disk and renames the file. */
enum assay_status writer_settle(struct store_writer *writer, struct error *err);
/* Both free the writer; writer_discard() removes the file too. */
void writer_free(struct store_writer *writer);
void writer_discard(struct store_writer *writer);

/* Whether it is the suffix of a part; *pid is its process. */
bool part_suffix_reads(const char *suffix, pid_t *pid);

/* leftovers.c: removes parts of a file that our dead processes left there
 * before that time. */
void leftovers_remove(const char *final, struct timespec before);

/* Starts a row of a statement; end it with row_write(). */
struct row writer_row(struct store_writer *writer, enum statement which,
                      struct error *err);
/* Adds the columns and tables of version 6. Inside a transaction. */
enum assay_status writer_extend(struct store_writer *writer, struct error *err);
/* Whether a sample needs that. */
bool sample_is_extended(const struct sample *sample);
/* Runs a statement that deletes, with its one parameter. */
enum assay_status writer_cut(struct store_writer *writer, enum statement which,
                             int64_t key, struct error *err);

enum assay_status bulk_insert(struct store_writer *writer, struct bulk *bulk,
                              const struct bulk_source *source, size_t first,
                              size_t end, struct error *err);
void bulk_release(struct bulk *bulk);
int bulk_bind_sample(sqlite3_stmt *stmt, int at,
                     const struct bulk_source *source, size_t i);

/* Writes everything that changed, inside a transaction. */
enum assay_status checkpoint_write(struct store_writer *writer,
                                   const struct run *run, bool is_complete,
                                   struct error *err);

/* Grows a list to at least n_needed entries; new ones are zero. */
enum assay_status written_grow(struct written **written, size_t *n,
                               size_t *capacity, size_t n_needed,
                               struct error *err);

/* Its parts in cells_out.c. */
enum assay_status cells_write(struct store_writer *writer,
                              const struct run *run, struct error *err);
enum assay_status counters_write(struct store_writer *writer,
                                 const struct run *run, struct error *err);

#endif

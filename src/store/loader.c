/* store/loader.c - opens a run file and checks that it is one. */
#include "store/loader_internal.h"

#include "base/file.h"

enum { steps_at_once = 1 << 16 };

/* A b-tree made to form a loop would keep SQLite busy forever; an honest file
 * needs a few steps per byte. */
static int loader_spend_steps(void *context)
{
    struct loader *loader = context;

    loader->steps_left -= steps_at_once;
    return loader->steps_left < 0;
}

/* The only value of a statement; *rc is SQLite's result code. */
static int64_t loader_ask(struct loader *loader, const char *sql,
                          const char *argument, int *rc)
{
    sqlite3_stmt *stmt = NULL;
    int64_t answer = 0;

    *rc = sqlite3_prepare_v2(loader->db.handle, sql, -1, &stmt, NULL);
    if (!*rc && argument)
        *rc = sqlite3_bind_text(stmt, 1, argument, -1, SQLITE_STATIC);
    if (!*rc)
        *rc = sqlite3_step(stmt);
    if (*rc == SQLITE_ROW) {
        answer = sqlite3_column_int64(stmt, 0);
        *rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return answer;
}

/* A file rolled back to its beginning is empty; one that was cut off does not
 * end at a page. */
static enum assay_status loader_check_size(struct loader *loader,
                                           struct error *err)
{
    int64_t page_size, bytes;
    int rc;

    page_size = loader_ask(loader, "PRAGMA page_size", NULL, &rc);
    if (rc)
        return db_error(&loader->db, "reading", err);
    bytes = database_bytes(loader->database);
    if (bytes <= 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is empty; was it written completely?",
                         loader->db.path);
    if (page_size <= 0 || bytes % page_size != 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is cut off; was it copied completely?",
                         loader->db.path);
    return ASSAY_OK;
}

static enum assay_status loader_check_header(struct loader *loader,
                                             struct error *err)
{
    const char *path = loader->db.path;
    int64_t application, version;
    enum assay_status st;
    int rc;

    application = loader_ask(loader, "PRAGMA application_id", NULL, &rc);
    if (rc)
        return rc == SQLITE_NOTADB ? kind_refuse(path, err)
                                   : db_error(&loader->db, "reading", err);
    st = loader_check_size(loader, err);
    if (st)
        return st;
    if (application != STORE_APPLICATION_ID)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is not a run file: it is a SQLite database of "
                         "another program",
                         path);
    version = loader_ask(loader, "PRAGMA user_version", NULL, &rc);
    if (rc)
        return db_error(&loader->db, "reading", err);
    if (version < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged: it has no format number", path);
    if (version > STORE_VERSION)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s was written by a newer Assay (format %lld, this "
                         "one reads up to %d); update assay",
                         path, (long long)version, STORE_VERSION);
    loader->version = (int)version;
    return ASSAY_OK;
}

/* A view, a virtual table or a computed column in place of a plain table would
 * make SQLite run code from the file. */
static enum assay_status loader_check_table(struct loader *loader,
                                            const char *name, bool *is_there,
                                            struct error *err)
{
    int rc;

    *is_there = loader_ask(loader,
                           "SELECT count(*) FROM sqlite_schema WHERE name = ?"
                           " AND type = 'table' AND rootpage > 0",
                           name, &rc) == 1;
    if (!rc && *is_there &&
        loader_ask(loader,
                   "SELECT count(*) FROM pragma_table_xinfo(?)"
                   " WHERE hidden <> 0",
                   name, &rc) != 0 &&
        !rc)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged: table %s has computed columns",
                         loader->db.path, name);
    return rc ? db_error(&loader->db, "reading", err) : ASSAY_OK;
}

static enum assay_status loader_check_tables(struct loader *loader,
                                             struct error *err)
{
    static const struct {
        const char *name;
        int since;
    } tables[] = {
        {"meta", 1},         {"fact", 1},    {"health", 1},
        {"scope", 1},        {"phase", 1},   {"thread", 1},
        {"iteration", 1},    {"stat", 1},    {"point", 1},
        {"sample", 1},       {"counter", 2}, {"counter_point", 2},
        {"work", 3},         {"series", 4},  {"series_label", 4},
        {"series_point", 4}, {"ledger", 4},  {"scope_text", 6},
        {"memory_space", 6},
    };

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        bool is_there = true;
        enum assay_status st = ASSAY_OK;

        if (tables[i].since <= loader->version)
            st = loader_check_table(loader, tables[i].name, &is_there, err);
        if (st)
            return st;
        if (!is_there)
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s is damaged: it has no table %s",
                             loader->db.path, tables[i].name);
    }
    return loader_check_table(loader, "edge", &loader->has_edges, err);
}

/* In one transaction: a run that is still being recorded must not change
 * between two tables. */
static enum assay_status loader_read_all(struct loader *loader,
                                         struct error *err)
{
    enum assay_status st;

    if (sqlite3_exec(loader->db.handle, "BEGIN", NULL, NULL, NULL))
        return db_error(&loader->db, "reading", err);
    st = loader_check_header(loader, err);
    if (!st)
        st = loader_check_tables(loader, err);
    if (!st)
        st = run_new(&loader->run, err);
    if (!st)
        st = tables_read(loader, err);
    return st ? st : run_seal(loader->run, err);
}

enum assay_status store_load(const char *path, struct run **out,
                             struct error *err)
{
    struct loader loader = {.db = {.path = path}};
    enum assay_status st = file_check_input(path, err);

    *out = NULL;
    if (st == ASSAY_NOT_FOUND)
        leftovers_hint(path, err);
    if (!st)
        st = database_open(path, DATABASE_READ, &loader.database, err);
    if (!st) {
        loader.db.handle = database_handle(loader.database);
        loader.steps_left = 10000000 + 100 * database_bytes(loader.database);
        sqlite3_progress_handler(loader.db.handle, steps_at_once,
                                 loader_spend_steps, &loader);
        st = loader_read_all(&loader, err);
    }
    database_close(loader.database);
    if (st) {
        run_free(loader.run);
        return st;
    }
    *out = loader.run;
    return ASSAY_OK;
}

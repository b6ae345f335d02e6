/* store/schema.c - the tables of a run file; docs/run-file.md explains them.
 *
 * Version 1 had no peak_bytes, no counters and no memory peak in meta; version
 * 2 had no work; version 3 had no series, no ledger and no executed work;
 * version 4 no bytes kept for a backward pass; version 5 no launches on devices
 * and no texts of work. If you change a table, raise STORE_VERSION and teach
 * tables.c what older files lack.
 *
 * The additions of version 6 are made when something first needs them: a run
 * without any is written as version 5, which older programs read. The table of
 * edges is made then too; it needs no version of its own, because nothing else
 * refers to it and older programs do not look for it. */
#include "store/store_internal.h"

const char store_tables[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value);"
    "CREATE TABLE fact(key TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE health(name TEXT PRIMARY KEY, count INTEGER NOT NULL);"
    "CREATE TABLE scope(id INTEGER PRIMARY KEY, parent INTEGER,"
    " name TEXT NOT NULL, class TEXT NOT NULL, path TEXT);"
    "CREATE TABLE phase(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE thread(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " kind TEXT NOT NULL);"
    "CREATE TABLE iteration(i INTEGER NOT NULL, thread INTEGER NOT NULL,"
    " start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL);"
    "CREATE TABLE stat(id INTEGER PRIMARY KEY, scope INTEGER NOT NULL,"
    " phase INTEGER NOT NULL, thread INTEGER NOT NULL,"
    " outside INTEGER NOT NULL,"
    " total_ns INTEGER NOT NULL, self_ns INTEGER NOT NULL,"
    " bytes INTEGER, peak_bytes INTEGER,"
    " calls INTEGER NOT NULL, call_mean_ns REAL NOT NULL,"
    " call_m2 REAL NOT NULL, call_min_ns INTEGER NOT NULL,"
    " call_max_ns INTEGER NOT NULL, call_sketch BLOB NOT NULL,"
    " iterations INTEGER NOT NULL, iteration_mean_ns REAL NOT NULL,"
    " iteration_m2 REAL NOT NULL, iteration_min_ns INTEGER NOT NULL,"
    " iteration_max_ns INTEGER NOT NULL, iteration_sketch BLOB NOT NULL,"
    " stride INTEGER NOT NULL);"
    "CREATE TABLE point(stat INTEGER NOT NULL, iteration INTEGER NOT NULL,"
    " calls INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
    " self_ns INTEGER NOT NULL,"
    " PRIMARY KEY(stat, iteration)) WITHOUT ROWID;"
    "CREATE TABLE sample(scope INTEGER NOT NULL, phase INTEGER NOT NULL,"
    " thread INTEGER NOT NULL, iteration INTEGER, start_ns INTEGER NOT NULL,"
    " duration_ns INTEGER NOT NULL, self_ns INTEGER NOT NULL,"
    " bytes INTEGER, peak_bytes INTEGER);"
    "CREATE TABLE counter(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " unit TEXT NOT NULL, n INTEGER NOT NULL, mean REAL, min REAL, max REAL,"
    " last REAL, stride INTEGER NOT NULL);"
    "CREATE TABLE counter_point(counter INTEGER NOT NULL,"
    " time_ns INTEGER NOT NULL, value REAL);"
    "CREATE TABLE work(scope INTEGER PRIMARY KEY, macs REAL, flops REAL,"
    " read_bytes REAL, write_bytes REAL, parameters REAL, done_by INTEGER,"
    " done_flops REAL, done_bytes REAL, kept_bytes REAL);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " unit TEXT NOT NULL, stride INTEGER NOT NULL);"
    "CREATE TABLE series_label(series INTEGER NOT NULL, i INTEGER NOT NULL,"
    " label TEXT NOT NULL, PRIMARY KEY(series, i)) WITHOUT ROWID;"
    "CREATE TABLE series_point(series INTEGER NOT NULL,"
    " iteration INTEGER NOT NULL, value REAL NOT NULL,"
    " PRIMARY KEY(series, iteration)) WITHOUT ROWID;"
    "CREATE TABLE ledger(id INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
    " scope INTEGER, bytes INTEGER NOT NULL, what TEXT NOT NULL);";

const char store_extension[] =
    "ALTER TABLE sample ADD COLUMN queued_ns INTEGER;"
    "CREATE TABLE scope_text(scope INTEGER PRIMARY KEY, shapes TEXT NOT NULL,"
    " kernel TEXT NOT NULL);"
    "CREATE TABLE memory_space(id INTEGER PRIMARY KEY, space TEXT NOT NULL,"
    " category TEXT NOT NULL, live_bytes INTEGER NOT NULL,"
    " peak_bytes INTEGER NOT NULL, at_peak_bytes INTEGER NOT NULL);"
    "PRAGMA user_version=6;";

const char store_edges[] =
    "CREATE TABLE IF NOT EXISTS edge(src INTEGER, dst INTEGER);";

const char store_views[] =
    "CREATE VIEW scope_time AS SELECT scope.path, scope.class,"
    " phase.name AS phase, stat.outside, sum(stat.calls) AS calls,"
    " max(stat.iterations) AS iterations,"
    " sum(stat.total_ns) / 1e6 AS total_ms,"
    " sum(stat.self_ns) / 1e6 AS self_ms,"
    " sum(stat.total_ns) / 1e6 / sum(stat.calls) AS mean_ms,"
    " min(stat.call_min_ns) / 1e6 AS min_ms,"
    " max(stat.call_max_ns) / 1e6 AS max_ms,"
    " max(stat.peak_bytes) AS peak_bytes"
    " FROM stat JOIN scope ON scope.id = stat.scope"
    " JOIN phase ON phase.id = stat.phase"
    " GROUP BY stat.scope, stat.phase, stat.outside;"
    "CREATE VIEW scope_point AS SELECT scope.path, phase.name AS phase,"
    " thread.name AS thread, point.iteration, point.calls,"
    " point.total_ns / 1e6 AS total_ms, point.self_ns / 1e6 AS self_ms"
    " FROM point JOIN stat ON stat.id = point.stat"
    " JOIN scope ON scope.id = stat.scope"
    " JOIN phase ON phase.id = stat.phase"
    " JOIN thread ON thread.id = stat.thread;"
    "CREATE VIEW sample_time AS SELECT scope.path, phase.name AS phase,"
    " thread.name AS thread, sample.iteration,"
    " sample.start_ns / 1e6 AS start_ms,"
    " sample.duration_ns / 1e6 AS duration_ms,"
    " sample.self_ns / 1e6 AS self_ms, sample.bytes, sample.peak_bytes"
    " FROM sample JOIN scope ON scope.id = sample.scope"
    " JOIN phase ON phase.id = sample.phase"
    " JOIN thread ON thread.id = sample.thread;"
    "CREATE VIEW scope_work AS SELECT scope.path, scope.class,"
    " work.macs / 1e9 AS gmacs, work.flops / 1e9 AS gflop,"
    " work.read_bytes, work.write_bytes, work.parameters,"
    " work.done_flops / 1e9 AS done_gflop, work.done_bytes,"
    " work.kept_bytes,"
    " doer.path AS done_by FROM work JOIN scope ON scope.id = work.scope"
    " LEFT JOIN scope AS doer ON doer.id = work.done_by;"
    "CREATE VIEW series_value AS SELECT series.name, series_point.iteration,"
    " coalesce(series_label.label, series_point.value) AS value, series.unit"
    " FROM series_point JOIN series ON series.id = series_point.series"
    " LEFT JOIN series_label ON series_label.series = series.id"
    " AND series_label.i = series_point.value;"
    "CREATE VIEW ledger_owner AS SELECT ledger.kind, scope.path, ledger.what,"
    " ledger.bytes / 1048576.0 AS mib FROM ledger"
    " LEFT JOIN scope ON scope.id = ledger.scope;";

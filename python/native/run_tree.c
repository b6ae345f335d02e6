/* run_tree.c - a run file as Python objects; see extension_internal.h. */
#include "extension_internal.h"

static double tree_ms(double ns)
{
    return ns / 1e6;
}

/* One scope as a dictionary; its place in the list is its number. */
static PyObject *tree_scope(struct assay_run *run, uint32_t i)
{
    struct assay_run_stats host = {0}, device = {0};
    struct assay_run_scope scope = {0};
    struct assay_run_work work = {0};
    long parent;

    assay_run_scope_at(run, i, &scope);
    parent = scope.parent == ASSAY_RUN_NONE ? -1 : (long)scope.parent;
    if (assay_run_stats_of(run, i, NULL, ASSAY_LANE_THREAD, &host, NULL))
        host = (struct assay_run_stats){0};
    if (assay_run_stats_of(run, i, NULL, ASSAY_LANE_DEVICE, &device, NULL))
        device = (struct assay_run_stats){0};
    assay_run_work_of(run, i, &work);
    return Py_BuildValue(
        "{s:l,s:s,s:s,s:K,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:i,s:K,s:d,"
        "s:d,s:s}",
        "parent", parent, "name", scope.name, "class", scope.class_name,
        "calls", (unsigned long long)host.calls, "total_ms",
        tree_ms(host.total_ns), "self_ms", tree_ms(host.self_ns), "mean_ms",
        tree_ms(host.mean_ns), "mean_self_ms", tree_ms(host.mean_self_ns),
        "median_ms", tree_ms(host.median_ns), "p95_ms", tree_ms(host.p95_ns),
        "min_ms", tree_ms(host.min_ns), "max_ms", tree_ms(host.max_ns), "macs",
        work.macs, "parameters", work.parameters, "is_outside", host.is_outside,
        "device_calls", (unsigned long long)device.calls, "device_mean_ms",
        tree_ms(device.mean_ns), "device_median_ms", tree_ms(device.median_ns),
        "shapes", work.shapes ? work.shapes : "");
}

static PyObject *tree_scopes(struct assay_run *run)
{
    size_t n = assay_run_scope_count(run);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *scope = tree_scope(run, (uint32_t)i);

        if (!scope || PyList_Append(list, scope))
            Py_CLEAR(list);
        Py_XDECREF(scope);
    }
    return list;
}

static PyObject *tree_facts(const struct assay_run *run)
{
    PyObject *facts = PyDict_New();
    const char *key, *value;

    for (size_t i = 0; facts && i < assay_run_fact_count(run); i++) {
        PyObject *text;

        if (!assay_run_fact_at(run, i, &key, &value))
            continue;
        text =
            PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace");
        if (!text || PyDict_SetItemString(facts, key, text))
            Py_CLEAR(facts);
        Py_XDECREF(text);
    }
    return facts;
}

static PyObject *tree_lanes(const struct assay_run *run)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < assay_run_lane_count(run); i++) {
        enum assay_lane_kind kind = ASSAY_LANE_THREAD;
        const char *name = assay_run_lane(run, (uint32_t)i, &kind);
        PyObject *text =
            PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");

        if (!text || PyList_Append(list, text))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *tree_health(const struct assay_run *run)
{
    struct assay_run_health health = {0};

    assay_run_health_of(run, &health);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:i}", "lost_spans",
                         (unsigned long long)health.lost_spans,
                         "unbalanced_ends",
                         (unsigned long long)health.unbalanced_ends,
                         "open_at_end", (unsigned long long)health.open_at_end,
                         "too_deep", (unsigned long long)health.too_deep,
                         "is_incomplete", health.is_incomplete);
}

/* Each space and category as (space, category, peak, at the space's peak). */
static PyObject *tree_spaces(const struct assay_run *run)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < assay_run_space_count(run); i++) {
        struct assay_run_space row = {0};
        PyObject *item;

        if (!assay_run_space_at(run, i, &row))
            continue;
        item = Py_BuildValue("(ssLL)", row.space, row.category,
                             (long long)row.peak_bytes,
                             (long long)row.at_peak_bytes);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* read(path): the run in a file. */
PyObject *run_tree_read(PyObject *self, PyObject *args)
{
    struct assay_error error = {0};
    PyObject *path, *result = NULL;
    struct assay_run *run = NULL;
    enum assay_status status;

    (void)self;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    status = assay_run_open(PyBytes_AsString(path), &run, &error);
    Py_DECREF(path);
    if (status)
        return raise_status(status, &error);
    result = Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:K,s:d}", "scopes", tree_scopes(run), "facts",
        tree_facts(run), "lanes", tree_lanes(run), "health", tree_health(run),
        "spaces", tree_spaces(run), "iterations",
        (unsigned long long)assay_run_iteration_total(run), "duration_ms",
        tree_ms((double)assay_run_duration_ns(run)));
    assay_run_close(run);
    return result;
}

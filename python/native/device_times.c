/* device_times.c - which iterations have device times, and by what; see
 * extension_internal.h.
 *
 * Both kernel_times.c and cuda_events.c cost the program microseconds per
 * module, so that only the first iterations and some of the later ones have
 * device times, unless all kernels are asked for. */
#include "extension_internal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

/* The first iterations, and then one of so many, are timed. */
enum { TIMED_EVERY = 8 };

static struct {
    bool has_kernels; /* otherwise events */
    bool has_all;     /* every iteration */
    bool is_timed;    /* this one */
    uint64_t n_iterations, n_timed;
} device;

void device_next_iteration(bool is_warm_up)
{
    uint64_t i = device.n_iterations;

    device.is_timed =
        !is_warm_up &&
        (device.has_all || i < DEVICE_TIMED_FIRST || i % TIMED_EVERY == 0);
    device.n_iterations += !is_warm_up;
    device.n_timed += device.is_timed;
    kernels_time(device.is_timed);
}

void device_begin(struct device_mark *mark, assay_scope_t scope, bool is_leaf,
                  bool is_outermost)
{
    *mark = (struct device_mark){0};
    if (!device.is_timed)
        return;
    if (device.has_kernels) {
        mark->outer = kernels_begin(scope);
        mark->is_inside = true;
    } else if (is_leaf) {
        cuda_begin(&mark->events, is_outermost);
    }
}

void device_end(struct device_mark *mark, assay_scope_t scope, bool is_leaf)
{
    if (mark->is_inside)
        kernels_end(mark->outer);
    if (mark->events.event)
        cuda_end(&mark->events, is_leaf ? scope : ASSAY_SCOPE_NONE);
}

/* ---- opening and closing --------------------------------------------------
 */

static void device_start(bool has_kernels, bool has_all)
{
    device.has_kernels = has_kernels;
    device.has_all = has_all;
    if (!watch.has_device) {
        device.n_iterations = device.n_timed = 0;
        device.is_timed = true; /* until the first iteration */
        if (iteration_is_open())
            device_next_iteration(iteration_is_warm_up());
    }
    watch.has_device = true;
    kernels_time(device.is_timed);
}

/* The texts of a list; *bytes owns them. NULL with an exception. */
static const char **device_texts(PyObject *list, PyObject **bytes, size_t *n)
{
    Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : 0;
    const char **texts = calloc((size_t)size + 1, sizeof *texts);

    *bytes = texts ? PyList_New(0) : PyErr_NoMemory();
    *n = 0;
    for (Py_ssize_t i = 0; *bytes && i < size; i++) {
        PyObject *text = NULL;
        bool is_added = PyUnicode_FSConverter(PyList_GetItem(list, i), &text) &&
                        PyList_Append(*bytes, text) == 0;

        if (is_added)
            texts[(*n)++] = PyBytes_AsString(text);
        else
            Py_CLEAR(*bytes);
        Py_XDECREF(text);
    }
    if (*bytes)
        return texts;
    free(texts);
    return NULL;
}

/* device_open_kernels(files, has_all): by CUPTI, which is in one of the files,
 * and no longer by events. Returns which version; an OSError says why not. */
PyObject *device_open_kernels(PyObject *self, PyObject *args)
{
    const char *problem, *timed_by, **files;
    PyObject *list, *bytes;
    size_t n_files;
    int has_all;

    (void)self;
    if (!PyArg_ParseTuple(args, "Op", &list, &has_all))
        return NULL;
    files = device_texts(list, &bytes, &n_files);
    if (!files)
        return NULL;
    problem = kernels_open(files, n_files, has_all, &timed_by);
    free(files);
    Py_DECREF(bytes);
    if (problem) {
        PyErr_SetString(PyExc_OSError, problem);
        return NULL;
    }
    cuda_close();
    device_start(true, has_all);
    return PyUnicode_FromString(timed_by);
}

/* device_open_events(current_stream, current_device, device, is_fixed): whether
 * the stream stays the same until cuda_unfix(). */
PyObject *device_open_events(PyObject *self, PyObject *args)
{
    (void)self;
    if (!cuda_open(args))
        return NULL;
    device_start(false, false);
    Py_RETURN_NONE;
}

static void device_state_lost(uint64_t n_lost)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, n_lost);
    if (n_lost)
        assay_fact("device.lost_kernels", text);
}

/* device_leave_kernels(): somebody else needs CUPTI. Whether it was in use. */
PyObject *device_leave_kernels(PyObject *self, PyObject *unused)
{
    bool was_used = watch.has_device && device.has_kernels;

    (void)self, (void)unused;
    if (was_used) {
        device.has_kernels = false;
        device.is_timed = false; /* until there are events */
        device_state_lost(kernels_close());
    }
    return PyBool_FromLong(was_used);
}

/* In a forked child the device is its parent's: the driver and CUPTI wait there
 * for threads that do not exist. */
static void device_forget(void)
{
    watch.has_device = device.is_timed = false;
    kernels_forget();
    cuda_forget();
}

int device_watch_forks(void)
{
    if (!pthread_atfork(NULL, NULL, device_forget))
        return 0;
    PyErr_NoMemory();
    return -1;
}

PyObject *device_close(PyObject *self, PyObject *unused)
{
    char text[32];

    (void)self, (void)unused;
    if (!watch.has_device)
        Py_RETURN_NONE;
    watch.has_device = false;
    device.is_timed = false;
    device_state_lost(kernels_close());
    cuda_close();
    /* Views divide device times by the iterations that have them. */
    snprintf(text, sizeof text, "%" PRIu64, device.n_timed);
    if (device.n_timed < device.n_iterations)
        assay_fact("device.timed_iterations", text);
    Py_RETURN_NONE;
}

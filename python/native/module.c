/* module.c - assay._native: the recorder for Python; see extension_internal.h.
 */
#include "extension_internal.h"

#include <pthread.h>
#include <string.h>

PyObject *raise_status(enum assay_status status,
                       const struct assay_error *error)
{
    PyObject *kind = PyExc_RuntimeError;

    if (status == ASSAY_NOMEM)
        kind = PyExc_MemoryError;
    else if (status == ASSAY_IO || status == ASSAY_NOT_FOUND)
        kind = PyExc_OSError;
    else if (status == ASSAY_BAD_INPUT)
        kind = PyExc_ValueError;
    PyErr_SetString(kind,
                    error->text[0] ? error->text : assay_status_text(status));
    return NULL;
}

/* ---- iterations ---------------------------------------------------------- */

/* Which iteration is under way. Only the thread that started the recording
 * begins and ends them: another one may be gone when it would have to. */
static struct {
    bool is_open, is_warm_up, is_by_loader, has_backward;
    pthread_t owner;
    enum stage reached;
    const struct place *model; /* the first one called in it */
    int n_spans;        /* spans of Python open on the owner: no change then */
    unsigned n_warm_up; /* iterations of the warm-up that are still to come */
} now;

uint64_t iteration_number;

static bool iteration_is_ours(void)
{
    return pthread_equal(now.owner, pthread_self()) != 0;
}

bool iteration_is_open(void)
{
    return now.is_open;
}

bool iteration_is_warm_up(void)
{
    return now.is_warm_up;
}

static void iteration_set(bool is_open)
{
    work_tell_counted();
    if (now.is_open)
        assay_iteration_end();
    now.is_open = is_open;
    now.model = NULL;
    iteration_number++;
    memory_next_iteration();
    if (is_open) {
        work_next_iteration();
        now.is_warm_up = now.n_warm_up > 0;
        device_next_iteration(now.is_warm_up);
        now.n_warm_up -= now.n_warm_up > 0;
        assay_iteration_begin();
    }
}

void iteration_reach(const struct place *place)
{
    bool is_next, is_model = place->stage == STAGE_MODEL;

    if (now.is_by_loader || now.n_spans > 0 || !iteration_is_ours())
        return;
    is_next =
        place->stage < now.reached || (is_model && now.model == place &&
                                       !(calls_have_grad && now.has_backward));
    if (!now.is_open || is_next)
        iteration_set(true);
    if (is_model && !now.model)
        now.model = place;
    now.reached = place->stage;
}

/* iteration(is_open): a loader begins or ends an iteration. */
static PyObject *native_iteration(PyObject *self, PyObject *args)
{
    int is_open;

    (void)self;
    if (!PyArg_ParseTuple(args, "p", &is_open))
        return NULL;
    now.is_by_loader = true;
    if (assay_is_recording() && iteration_is_ours() && now.n_spans == 0)
        iteration_set(is_open);
    Py_RETURN_NONE;
}

/* reached(is_backward): something after the model happens. */
static PyObject *native_reached(PyObject *self, PyObject *args)
{
    int is_backward;

    (void)self;
    if (!PyArg_ParseTuple(args, "p", &is_backward))
        return NULL;
    if (iteration_is_ours() && now.is_open) {
        now.reached = STAGE_AFTER;
        now.has_backward |= is_backward;
    }
    Py_RETURN_NONE;
}

/* ---- start and stop ------------------------------------------------------ */

static PyObject *native_start(PyObject *self, PyObject *args)
{
    struct assay_options options = {0};
    struct assay_error error = {0};
    enum assay_status status;
    PyObject *path;
    int has_some;

    (void)self;
    if (!PyArg_ParseTuple(args, "O&zzIp", PyUnicode_FSConverter, &path,
                          &options.program, &options.class_name,
                          &options.warm_up, &has_some))
        return NULL;
    if (has_some)
        options.keep_first = DEVICE_TIMED_FIRST;
    memset(&now, 0, sizeof now);
    now.owner = pthread_self();
    now.n_warm_up = options.warm_up;
    iteration_number++;
    Py_BEGIN_ALLOW_THREADS status =
        assay_start(PyBytes_AsString(path), &options, &error);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status)
        return raise_status(status, &error);
    Py_RETURN_NONE;
}

static PyObject *native_stop(PyObject *self, PyObject *unused)
{
    struct assay_error error = {0};
    enum assay_status status;

    (void)self, (void)unused;
    if (now.is_open && iteration_is_ours())
        iteration_set(false);
    now.is_open = false;
    work_tell_counted();
    memory_release_all();
    Py_BEGIN_ALLOW_THREADS status = assay_stop(&error);
    Py_END_ALLOW_THREADS if (status) return raise_status(status, &error);
    Py_RETURN_NONE;
}

static PyObject *native_is_recording(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(assay_is_recording());
}

/* Keeps a function, or NULL for None. */
static void watch_keep(PyObject **kept, PyObject *function)
{
    Py_CLEAR(*kept);
    if (function != Py_None) {
        Py_INCREF(function);
        *kept = function;
    }
}

/* watch(is_on, has_backward, is_grad_enabled, work_of, on_top, module) */
static PyObject *native_watch(PyObject *self, PyObject *args)
{
    PyObject *is_grad_enabled, *work_of, *on_top, *module;
    int is_on, has_backward;

    (void)self;
    if (!PyArg_ParseTuple(args, "ppOOOO", &is_on, &has_backward,
                          &is_grad_enabled, &work_of, &on_top, &module))
        return NULL;
    watch.is_on = is_on;
    watch.is_open = on_top != Py_None;
    watch.has_backward = has_backward;
    watch_keep(&watch.is_grad_enabled, is_grad_enabled);
    watch_keep(&watch.work_of, work_of);
    watch_keep(&watch.on_top, on_top);
    watch_keep(&watch.module, module);
    if (!is_on) {
        /* What is waited for from now on is no part of the last iteration. */
        if (now.is_open && iteration_is_ours() && now.n_spans == 0)
            iteration_set(false);
        places_forget();
    }
    Py_RETURN_NONE;
}

/* know(object, stage, group, path, class_name, backward, class_above,
 * without_grad): the object is at the top of the tree, a model with all its
 * modules, if the path is None; otherwise it is at that path below a group
 * there. The last three are where the backward pass is (struct backward_name)
 * and the name at the top for calls without gradients, or None. */
static PyObject *native_know(PyObject *self, PyObject *args)
{
    const char *group, *class_name, *without_grad;
    struct backward_name backward;
    PyObject *object, *path;
    struct place *top;
    int stage, failed;

    (void)self;
    if (!PyArg_ParseTuple(args, "OisOzzzz", &object, &stage, &group, &path,
                          &class_name, &backward.path, &backward.class_above,
                          &without_grad))
        return NULL;
    top = places_top(group, class_name, &backward, (enum stage)stage);
    if (!top)
        return NULL;
    if (without_grad) {
        top->without_grad =
            places_top(without_grad, class_name, NULL, (enum stage)stage);
        if (!top->without_grad)
            return NULL;
    }
    failed = path == Py_None ? places_add_modules(object, top)
                             : places_add_object(object, path, top);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- spans and values ---------------------------------------------------- */

/* Spans of Python that are open on this thread, for what is launched in them;
 * those that are nested deeper are not noted. Kept small, as in node_hooks.c.
 */
enum { MOST_NESTED = 8 };
static __thread struct {
    assay_scope_t outer;
    bool is_inside;
} nested[MOST_NESTED];
static __thread unsigned n_nested;

static void nested_begin(void)
{
    struct device_mark mark = {0};

    if (watch.has_device)
        device_begin(&mark, assay_scope_here(), false, true);
    if (n_nested < MOST_NESTED) {
        nested[n_nested].outer = mark.outer;
        nested[n_nested].is_inside = mark.is_inside;
    } else {
        device_end(&mark, ASSAY_SCOPE_NONE, false);
    }
    n_nested++;
}

static void nested_end(void)
{
    struct device_mark mark = {0};

    if (n_nested == 0 || --n_nested >= MOST_NESTED)
        return;
    mark.outer = nested[n_nested].outer;
    mark.is_inside = nested[n_nested].is_inside;
    device_end(&mark, ASSAY_SCOPE_NONE, false);
}

static PyObject *native_begin(PyObject *self, PyObject *args)
{
    const char *name, *class_name = NULL;

    (void)self;
    if (!PyArg_ParseTuple(args, "s|z", &name, &class_name))
        return NULL;
    if (iteration_is_ours())
        now.n_spans++;
    assay_begin_class(name, class_name);
    nested_begin();
    Py_RETURN_NONE;
}

static PyObject *native_end(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    nested_end();
    assay_end();
    if (iteration_is_ours() && now.n_spans > 0)
        now.n_spans--;
    Py_RETURN_NONE;
}

static PyObject *native_fact(PyObject *self, PyObject *args)
{
    const char *key, *value;

    (void)self;
    if (!PyArg_ParseTuple(args, "ss", &key, &value))
        return NULL;
    assay_fact(key, value);
    Py_RETURN_NONE;
}

static PyObject *native_counter(PyObject *self, PyObject *args)
{
    const char *name, *unit;
    double value;

    (void)self;
    if (!PyArg_ParseTuple(args, "szd", &name, &unit, &value))
        return NULL;
    assay_counter(name, unit, value);
    Py_RETURN_NONE;
}

/* memory(space, category, delta): the category by its text. */
static PyObject *native_memory(PyObject *self, PyObject *args)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        ASSAY_MEMORY_LIST(TEXT)
#undef TEXT
    };
    const char *space, *category;
    long long delta;

    (void)self;
    if (!PyArg_ParseTuple(args, "ssL", &space, &category, &delta))
        return NULL;
    for (int i = 0; i <= ASSAY_MEMORY_OTHER; i++) {
        if (strcmp(texts[i], category) == 0) {
            memory_change(space, (enum assay_memory_category)i, delta);
            Py_RETURN_NONE;
        }
    }
    PyErr_Format(PyExc_ValueError, "no category of memory is called '%s'",
                 category);
    return NULL;
}

static PyObject *native_clock(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLongLong(assay_clock_ns());
}

/* span_at(lane, path, class, begin_ns, end_ns): a span that ended, of another
 * process. */
static PyObject *native_span_at(PyObject *self, PyObject *args)
{
    const char *lane, *path, *class_name;
    long long begin_ns, end_ns;

    (void)self;
    if (!PyArg_ParseTuple(args, "sszLL", &lane, &path, &class_name, &begin_ns,
                          &end_ns))
        return NULL;
    if (assay_is_recording())
        assay_span_at(assay_lane_open(lane, ASSAY_LANE_THREAD),
                      assay_scope_path(path, class_name), begin_ns, end_ns,
                      NULL);
    Py_RETURN_NONE;
}

/* claim(value): the nodes behind these tensors belong to no module. */
static PyObject *native_claim(PyObject *self, PyObject *value)
{
    (void)self;
    if (backward_claim(value, NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", native_start, METH_VARARGS,
     "start(path, program, class_name, warm_up, has_some): starts a recording. "
     "has_some: a GPU is timed in some iterations, and these are kept in "
     "full."},
    {"stop", native_stop, METH_NOARGS, "Ends it; the file is in place then."},
    {"is_recording", native_is_recording, METH_NOARGS, NULL},
    {"watch", native_watch, METH_VARARGS,
     "watch(is_on, has_backward, is_grad_enabled, work_of, on_top, module)"},
    {"know", native_know, METH_VARARGS,
     "know(object, stage, group, path, class_name, backward, class_above, "
     "without_grad)"},
    {"iteration", native_iteration, METH_VARARGS, "iteration(is_open)"},
    {"reached", native_reached, METH_VARARGS, "reached(is_backward)"},
    {"begin", native_begin, METH_VARARGS, "begin(name, class_name=None)"},
    {"end", native_end, METH_NOARGS, "Ends the innermost span."},
    {"fact", native_fact, METH_VARARGS, "fact(key, value)"},
    {"counter", native_counter, METH_VARARGS, "counter(name, unit, value)"},
    {"memory", native_memory, METH_VARARGS, "memory(space, category, delta)"},
    {"memory_ask", memory_ask, METH_VARARGS, "memory_ask(function, space)"},
    {"clock_ns", native_clock, METH_NOARGS, "The recorder's clock."},
    {"span_at", native_span_at, METH_VARARGS,
     "span_at(lane, path, class_name, begin_ns, end_ns)"},
    {"claim", native_claim, METH_O, "claim(tensors)"},
    {"backward_depth", backward_depth, METH_NOARGS, NULL},
    {"backward_close", backward_close, METH_O, NULL},
    {"backward_here", backward_here, METH_NOARGS, NULL},
    {"device_open_kernels", device_open_kernels, METH_VARARGS,
     "device_open_kernels(files, has_all)"},
    {"device_open_events", device_open_events, METH_VARARGS,
     "device_open_events(current_stream, current_device, device, is_fixed)"},
    {"device_leave_kernels", device_leave_kernels, METH_NOARGS, NULL},
    {"device_close", device_close, METH_NOARGS, NULL},
    {"cuda_unfix", cuda_unfix, METH_NOARGS, NULL},
    {"read", run_tree_read, METH_VARARGS, "read(path): a run as a dictionary"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "assay._native",
    .m_doc = "Assay's recorder, in C. Use the package `assay`.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (!module)
        return NULL;
    if (calls_add_types(module) || backward_add_types(module) ||
        work_add_types() || device_watch_forks() ||
        PyModule_AddStringConstant(module, "version", ASSAY_VERSION)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}

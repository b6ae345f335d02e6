/* node_hooks.c - the backward pass by module: hooks before and after the nodes
 * of autograd; see extension_internal.h.
 *
 * When a module ends, the nodes behind its outputs that nobody claimed are
 * those its own operations made: its children claimed theirs before, and what
 * lies behind its inputs was claimed when it began. A mark in a node's
 * `metadata` says that it is claimed, so nothing here keeps a graph alive. The
 * hooks return nothing, which leaves gradients as they are. */
#include "extension_internal.h"

#include <stdlib.h>
#include <string.h>

/* Called by the engine before or after a node, on its thread. */
struct node_hook {
    PyObject ob_base;
    struct place *place;
    bool is_after;
};

/* Nodes that this thread is inside of: one per nested backward pass. Kept
 * small: the recorder needs static thread-local memory, of which a process has
 * little left for libraries that are loaded late. */
enum { MAX_NESTED = 8 };
static __thread struct {
    struct device_mark mark;
    struct place *place;
} inside[MAX_NESTED];
static __thread long n_inside;

/* Of the backward pass that began last. */
static assay_scope_t backward_scope = ASSAY_SCOPE_NONE;

/* The scope of a place's own nodes. If it has modules in it, their nodes run
 * at other times: it only groups them, and its own operations are one more. */
static assay_scope_t node_scope(struct place *place)
{
    if (!place->has_inner)
        return place->backward;
    if (place->own_backward == ASSAY_SCOPE_NONE)
        place->own_backward = assay_scope(place->backward, "operations", NULL);
    return place->own_backward;
}

static void node_begin(struct place *place)
{
    if (n_inside < MAX_NESTED) {
        assay_scope_t scope = node_scope(place);

        inside[n_inside].place = place;
        inside[n_inside].mark = (struct device_mark){0};
        assay_begin_scope(scope);
        work_report_backward(place, scope);
        if (watch.has_device) {
            kernels_base(backward_scope);
            device_begin(&inside[n_inside].mark, scope, true, false);
        }
    }
    n_inside++;
}

static void node_end(void)
{
    if (n_inside == 0)
        return;
    n_inside--;
    if (n_inside >= MAX_NESTED)
        return;
    device_end(&inside[n_inside].mark, node_scope(inside[n_inside].place),
               true);
    memory_release(inside[n_inside].place);
    memory_sample();
    assay_end();
}

static PyObject *node_hook_call(PyObject *self, PyObject *args,
                                PyObject *kwargs)
{
    struct node_hook *hook = (struct node_hook *)self;

    (void)args, (void)kwargs;
    if (assay_is_recording() && watch.is_on) {
        if (hook->is_after)
            node_end();
        else
            node_begin(hook->place);
    }
    Py_RETURN_NONE;
}

PyObject *backward_here(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    backward_scope = assay_scope_here();
    Py_RETURN_NONE;
}

PyObject *backward_depth(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(n_inside);
}

PyObject *backward_close(PyObject *self, PyObject *depth)
{
    long to = PyLong_AsLong(depth);

    (void)self;
    if (to == -1 && PyErr_Occurred())
        return NULL;
    while (n_inside > to)
        node_end();
    Py_RETURN_NONE;
}

static PyTypeObject *hook_type;
static PyObject *text_grad_fn, *text_metadata, *text_next_functions, *mark;
static PyObject *text_prehook, *text_hook;

/* Nodes that were claimed last: the output of a module is the input of the
 * next, and a look at a node's metadata takes longer than one here. They are
 * let go at the end of the outermost call. */
enum { N_RECENT = 4 };
static __thread PyObject *recent[N_RECENT];
static __thread unsigned next_recent;

static bool recent_has(const PyObject *node)
{
    for (int i = 0; i < N_RECENT; i++) {
        if (recent[i] == node)
            return true;
    }
    return false;
}

static void recent_add(PyObject *node)
{
    PyObject *old = recent[next_recent % N_RECENT];

    Py_INCREF(node);
    recent[next_recent++ % N_RECENT] = node;
    Py_XDECREF(old);
}

void backward_forget(void)
{
    for (int i = 0; i < N_RECENT; i++)
        Py_CLEAR(recent[i]);
}

int backward_add_types(PyObject *module)
{
    static PyType_Slot slots[] = {{Py_tp_call, (void *)node_hook_call},
                                  {0, NULL}};
    static PyType_Spec spec = {.name = "assay._native.NodeHook",
                               .basicsize = sizeof(struct node_hook),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};

    (void)module;
    hook_type = (PyTypeObject *)PyType_FromSpec(&spec);
    text_grad_fn = PyUnicode_InternFromString("grad_fn");
    text_metadata = PyUnicode_InternFromString("metadata");
    text_next_functions = PyUnicode_InternFromString("next_functions");
    text_prehook = PyUnicode_InternFromString("register_prehook");
    text_hook = PyUnicode_InternFromString("register_hook");
    mark = PyUnicode_InternFromString("assay");
    return hook_type && text_grad_fn && text_metadata && text_next_functions &&
                   text_prehook && text_hook && mark
               ? 0
               : -1;
}

static PyObject *hook_of(struct place *place, bool is_after)
{
    struct node_hook *hook;

    if (!place->hooks[is_after]) {
        hook = (struct node_hook *)PyType_GenericAlloc(hook_type, 0);
        if (!hook)
            return NULL;
        hook->place = place;
        hook->is_after = is_after;
        place->hooks[is_after] = (PyObject *)hook;
    }
    return place->hooks[is_after];
}

static int node_register(PyObject *node, PyObject *method, PyObject *hook)
{
    PyObject *handle =
        hook ? PyObject_CallMethodObjArgs(node, method, hook, NULL) : NULL;

    Py_XDECREF(handle);
    return handle ? 0 : -1;
}

/* 1: it was unclaimed and is the place's now; 0: it was claimed; -1: neither,
 * with an exception. */
static int node_claim(PyObject *node, struct place *place)
{
    PyObject *metadata = PyObject_GetAttr(node, text_metadata);
    int is_claimed = metadata ? PyDict_Contains(metadata, mark) : -1;

    if (is_claimed == 0 && PyDict_SetItem(metadata, mark, Py_True))
        is_claimed = -1;
    Py_XDECREF(metadata);
    if (is_claimed)
        return is_claimed < 0 ? -1 : 0;
    if (!place || place->backward == ASSAY_SCOPE_NONE)
        return 1;
    if (node_register(node, text_prehook, hook_of(place, false)) ||
        node_register(node, text_hook, hook_of(place, true)))
        return -1;
    return 1;
}

static PyTypeObject *accumulate_type; /* torch's AccumulateGrad, once seen */

/* Whether a node only adds a gradient to that of a parameter. */
static bool node_accumulates(PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);
    PyObject *name;

    if (accumulate_type)
        return type == accumulate_type;
    name = PyObject_GetAttrString((PyObject *)type, "__name__");
    if (name && PyUnicode_CompareWithASCIIString(name, "AccumulateGrad") == 0) {
        Py_INCREF((PyObject *)type);
        accumulate_type = type;
    }
    Py_XDECREF(name);
    PyErr_Clear();
    return type == accumulate_type;
}

/* Adds the nodes that feed a node to the list. */
static int node_add_next(PyObject *node, PyObject *list)
{
    PyObject *pairs = PyObject_GetAttr(node, text_next_functions);
    int failed = pairs ? 0 : -1;

    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(pairs); i++) {
        PyObject *next = PyTuple_GetItem(PyTuple_GetItem(pairs, i), 0);

        if (!next)
            failed = -1;
        else if (next != Py_None && !recent_has(next) &&
                 !node_accumulates(next))
            failed = PyList_Append(list, next);
    }
    Py_XDECREF(pairs);
    return failed;
}

static int nodes_claim(PyObject *first, struct place *place)
{
    PyObject *list = PyList_New(0);
    int failed = list ? PyList_Append(list, first) : -1;

    while (!failed && PyList_Size(list) > 0) {
        Py_ssize_t last = PyList_Size(list) - 1;
        PyObject *node = PyList_GetItem(list, last);
        int claimed;

        Py_INCREF(node);
        failed = PyList_SetSlice(list, last, last + 1, NULL);
        claimed = failed ? -1 : node_claim(node, place);
        if (claimed < 0)
            failed = -1;
        else if (claimed)
            failed = node_add_next(node, list);
        Py_DECREF(node);
    }
    Py_XDECREF(list);
    return failed;
}

enum { MAX_DEPTH = 4 }; /* of tensors in tuples in dictionaries */

static int value_claim(PyObject *value, struct place *place, int depth);

static int sequence_claim(PyObject *value, struct place *place, int depth)
{
    Py_ssize_t n = PySequence_Size(value);
    int failed = 0;

    for (Py_ssize_t i = 0; !failed && i < n; i++) {
        PyObject *item = PySequence_GetItem(value, i);

        failed = item ? value_claim(item, place, depth + 1) : -1;
        Py_XDECREF(item);
    }
    return failed;
}

static int dictionary_claim(PyObject *value, struct place *place, int depth)
{
    PyObject *key, *item;
    Py_ssize_t at = 0;
    int failed = 0;

    while (!failed && PyDict_Next(value, &at, &key, &item))
        failed = value_claim(item, place, depth + 1);
    return failed;
}

static int value_claim(PyObject *value, struct place *place, int depth)
{
    PyObject *node;
    int failed = 0;

    if (depth > MAX_DEPTH || PyUnicode_Check(value) || PyLong_Check(value) ||
        PyFloat_Check(value) || value == Py_None)
        return 0;
    if (PyTuple_Check(value) || PyList_Check(value))
        return sequence_claim(value, place, depth);
    if (PyDict_Check(value))
        return dictionary_claim(value, place, depth);
    node = PyObject_GetAttr(value, text_grad_fn);
    if (!node) { /* not a tensor */
        PyErr_Clear();
        return 0;
    }
    if (node != Py_None && !recent_has(node)) {
        failed = nodes_claim(node, place);
        if (!failed)
            recent_add(node);
    }
    Py_DECREF(node);
    return failed;
}

int backward_claim(PyObject *value, struct place *place)
{
    return value_claim(value, place, 0);
}

int backward_claim_inputs(const struct arguments *args, struct place *place)
{
    Py_ssize_t n = args->n + (args->kwnames ? PyTuple_Size(args->kwnames) : 0);
    int failed = 0;

    for (Py_ssize_t i = 1; !failed && i < n; i++)
        failed = value_claim(arguments_at(args, i), place, 0);
    if (!failed && args->kwargs)
        failed = dictionary_claim(args->kwargs, place, 0);
    return failed;
}

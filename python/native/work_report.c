/* work_report.c - reports the work of a leaf module's call; see
 * extension_internal.h.
 *
 * A function in Python computes it once for each shape of the input; a call
 * with a known shape costs a comparison. A module that is called several times
 * in an iteration gets its shapes in the same order every time: the one that
 * followed last time is looked at first. Calls in an iteration are counted, and
 * reported together at its end: a report by each call would cost the program
 * more than the span does. The work of the backward pass is reported when it
 * comes: once for each call, by the first nodes.
 *
 * Asking a tensor for its shape costs the most of all. Where a module has had
 * one shape, it is asked for in some iterations only: all of the first ones,
 * then one of so many, and all again after a change, be it of the inputs of
 * the model or of any module. */
#include "extension_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_KNOWN = 16, /* of a place; then the oldest is replaced */
    CALM_AFTER = 3,  /* iterations without a change */
    ASKED_EVERY = 8, /* then */
};

static struct {
    bool is_on;      /* shapes are asked for in this iteration */
    bool has_change; /* something was not as expected in it */
    unsigned n_calm; /* iterations in a row without a change */
    uint64_t n_iterations;
} asked;

/* The work of a call with inputs of a shape. */
struct known_work {
    PyObject *shape;
    bool has_grad;    /* a segment that is recomputed has none the first time */
    bool is_on_host;  /* its outputs */
    unsigned n_calls; /* that are still to be reported */
    struct known_work *next_counted;
    struct place *place;
    struct assay_work forward, backward;
    char shapes[160];
};

static PyObject *text_shape, *text_requires_grad;

static struct known_work *first_counted; /* those with n_calls > 0 */

int work_add_types(void)
{
    text_shape = PyUnicode_InternFromString("shape");
    text_requires_grad = PyUnicode_InternFromString("requires_grad");
    return text_shape && text_requires_grad ? 0 : -1;
}

/* ---- when shapes are asked for --------------------------------------------
 */

void work_next_iteration(void)
{
    if (asked.is_on)
        asked.n_calm = asked.has_change ? 0 : asked.n_calm + 1;
    asked.has_change = false;
    asked.is_on =
        asked.n_calm < CALM_AFTER || asked.n_iterations % ASKED_EVERY == 0;
    asked.n_iterations++;
}

/* Adds the shape of a tensor to a list; anything else has none. */
static int shapes_add(PyObject *list, PyObject *value)
{
    PyObject *shape = PyObject_GetAttr(value, text_shape);
    int failed = shape ? PyList_Append(list, shape) : 0;

    if (!shape)
        PyErr_Clear();
    Py_XDECREF(shape);
    return failed;
}

/* The shapes of tensors and of lists of tensors. NULL with an exception. */
static PyObject *shapes_of(const struct arguments *args)
{
    PyObject *list = PyList_New(0);
    int failed = list ? 0 : -1;

    for (Py_ssize_t i = 1; !failed && i < args->n; i++) {
        PyObject *value = arguments_at(args, i);

        if (!PyList_Check(value))
            failed = shapes_add(list, value);
        for (Py_ssize_t j = 0;
             !failed && PyList_Check(value) && j < PyList_Size(value); j++)
            failed = shapes_add(list, PyList_GetItem(value, j));
    }
    if (failed)
        Py_CLEAR(list);
    return list;
}

int work_look_at_inputs(struct place *place, const struct arguments *args)
{
    PyObject *shapes = shapes_of(args);
    int is_same = !shapes ? -1
                  : place->inputs
                      ? PyObject_RichCompareBool(shapes, place->inputs, Py_EQ)
                      : 0;

    if (is_same != 1) {
        asked.is_on = asked.has_change = true;
        Py_XDECREF(place->inputs);
        place->inputs = shapes;
        shapes = NULL;
    }
    Py_XDECREF(shapes);
    return is_same < 0 ? -1 : 0;
}

/* Whether a call is taken to be as the last one. */
static bool work_is_as_before(const struct place *place, bool has_grad)
{
    return !asked.is_on && place->n_known == 1 && place->last_known &&
           place->last_known->has_grad == has_grad && iteration_is_open();
}

/* ---- calls ----------------------------------------------------------------
 */

/* The shape of the first tensor argument. New reference, NULL if there is
 * none. */
static PyObject *work_shape(const struct arguments *args)
{
    PyObject *shape = NULL;

    if (args->n > 1)
        shape = PyObject_GetAttr(arguments_at(args, 1), text_shape);
    if (!shape)
        PyErr_Clear();
    return shape;
}

/* Whether there will be a backward pass. */
static bool work_has_grad(PyObject *result)
{
    PyObject *answer =
        calls_have_grad ? PyObject_GetAttr(result, text_requires_grad) : NULL;
    bool has = answer == Py_True;

    if (!answer)
        PyErr_Clear();
    Py_XDECREF(answer);
    return has;
}

static bool known_fill(struct known_work *known, PyObject *answer)
{
    struct assay_work work = {0}, backward = {0};
    PyObject *text = NULL, *bytes;
    int is_on_host = 0;

    if (!answer || !PyTuple_Check(answer) ||
        !PyArg_ParseTuple(answer, "ddddddUpdddd", &work.macs, &work.flops,
                          &work.bytes_read, &work.bytes_written,
                          &work.kept_bytes, &work.parameters, &text,
                          &is_on_host, &backward.macs, &backward.bytes_read,
                          &backward.bytes_written, &work.done_bytes))
        return false;
    bytes = PyUnicode_AsUTF8String(text);
    if (!bytes)
        return false;
    snprintf(known->shapes, sizeof known->shapes, "%s",
             PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    work.shapes = known->shapes[0] ? known->shapes : NULL;
    /* PyTorch's kernels do not say what they execute: as the direct algorithm.
     */
    work.done_flops = 2 * work.macs + work.flops;
    backward.done_flops = 2 * backward.macs;
    backward.done_bytes = backward.bytes_read + backward.bytes_written;
    known->forward = work;
    known->backward = backward;
    known->is_on_host = is_on_host;
    return true;
}

static void known_free(struct known_work *known)
{
    if (known)
        Py_XDECREF(known->shape);
    free(known);
}

/* Reports calls. The number of parameters and the shapes of the last call stay
 * the same in most recordings: they are told when they are new. */
static void known_tell(const struct known_work *known, double n_calls)
{
    struct place *place = known->place;
    struct assay_work work = known->forward;

    work.macs *= n_calls;
    work.flops *= n_calls;
    work.bytes_read *= n_calls;
    work.bytes_written *= n_calls;
    work.done_flops *= n_calls;
    work.done_bytes *= n_calls;
    work.kept_bytes *= n_calls;
    if (place->told)
        work.parameters = 0;
    if (place->last_known != known || place->told == known)
        work.shapes = NULL;
    else
        place->told = known;
    assay_scope_work(place->forward, &work);
}

void work_tell_counted(void)
{
    while (first_counted) {
        struct known_work *known = first_counted;

        first_counted = known->next_counted;
        known_tell(known, known->n_calls);
        known->n_calls = 0;
    }
}

static void known_count(struct known_work *known)
{
    if (known->n_calls++ > 0)
        return;
    known->next_counted = first_counted;
    first_counted = known;
}

void work_forget(struct place *place)
{
    work_tell_counted();
    place->told = place->last_known = NULL;
    Py_CLEAR(place->inputs);
    for (unsigned i = 0; i < place->n_known; i++)
        known_free(place->known[i]);
    free(place->known);
    place->known = NULL;
    place->n_known = place->next_known = 0;
    Py_CLEAR(place->work_function);
}

/* NULL: not known, or with an exception. */
static struct known_work *known_find(struct place *place, PyObject *shape,
                                     bool has_grad)
{
    for (unsigned i = 0; i < place->n_known; i++) {
        unsigned at = (place->next_known + i) % place->n_known;
        struct known_work *known = place->known[at];
        int is_same = known->has_grad == has_grad
                          ? PyObject_RichCompareBool(shape, known->shape, Py_EQ)
                          : 0;

        if (is_same < 0)
            return NULL;
        if (is_same) {
            asked.has_change |= i > 0;
            place->next_known = at + 1;
            return known;
        }
    }
    return NULL;
}

/* What Python says of a call. While it does, other threads may run: they may
 * report calls of the same place, and make it forget everything. New reference,
 * NULL with an exception. */
static PyObject *known_ask(struct place *place, const struct arguments *args,
                           PyObject *result)
{
    PyObject *function = place->work_function, *answer = NULL;
    PyObject *tuple = arguments_tuple(args);

    Py_XINCREF(function);
    if (tuple && function)
        answer = PyObject_CallFunctionObjArgs(function, arguments_at(args, 0),
                                              tuple, result, NULL);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "the work of a call is not known");
    Py_XDECREF(function);
    Py_XDECREF(tuple);
    return answer;
}

/* Takes it over if there is room; false with an exception. */
static bool known_keep(struct place *place, struct known_work *known)
{
    unsigned at = place->n_known;

    if (!place->known)
        place->known = calloc(MOST_KNOWN, sizeof *place->known);
    if (!place->known) {
        PyErr_NoMemory();
        return false;
    }
    if (at == MOST_KNOWN) {
        work_tell_counted();
        place->told = NULL;
        at = place->next_known % MOST_KNOWN;
        known_free(place->known[at]);
    } else {
        place->n_known++;
    }
    place->known[at] = known;
    place->next_known = at + 1;
    return true;
}

/* Computes the work of a call. NULL with an exception. */
static struct known_work *known_add(struct place *place, PyObject *shape,
                                    const struct arguments *args,
                                    PyObject *result)
{
    PyObject *answer = known_ask(place, args, result);
    struct known_work *known = calloc(1, sizeof *known);
    bool is_filled = known && known_fill(known, answer);

    Py_XDECREF(answer);
    if (is_filled) {
        Py_INCREF(shape);
        known->shape = shape;
        known->place = place;
        if (known_keep(place, known))
            return known;
    }
    known_free(known);
    return NULL;
}

static void work_tell(struct place *place, struct known_work *known)
{
    place->last_known = known;
    if (iteration_is_open())
        known_count(known);
    else
        known_tell(known, 1);
    place->kept_bytes =
        known->is_on_host ? (int64_t)known->forward.kept_bytes : 0;
    if (place->called_in != iteration_number)
        place->n_backward_to_come = 0;
    place->called_in = iteration_number;
    if (known->backward.macs > 0) {
        place->n_backward_to_come++;
        place->backward_work = known->backward;
    }
}

int work_report(struct place *place, const struct arguments *args,
                PyObject *result)
{
    struct known_work *known;
    bool has_grad = work_has_grad(result);
    PyObject *shape;

    if (work_is_as_before(place, has_grad)) {
        work_tell(place, place->last_known);
        return 0;
    }
    shape = work_shape(args);
    place->kept_bytes = 0;
    if (!shape)
        return 0;
    known = known_find(place, shape, has_grad);
    if (!known && !PyErr_Occurred()) {
        asked.has_change = true;
        known = known_add(place, shape, args, result);
        if (known)
            known->has_grad = has_grad;
        else
            Py_CLEAR(place->work_function); /* it will not do better later */
    }
    Py_DECREF(shape);
    if (!known)
        return -1;
    work_tell(place, known);
    return 0;
}

void work_report_backward(struct place *place, assay_scope_t scope)
{
    if (place->n_backward_to_come == 0)
        return;
    place->n_backward_to_come--;
    assay_scope_work(scope, &place->backward_work);
}

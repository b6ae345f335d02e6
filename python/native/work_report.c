/* work_report.c - reports the work of a leaf module's call; see
 * extension_internal.h.
 *
 * A function in Python computes it once for each shape of the input; a call
 * with a known shape costs a comparison. A module that is called several times
 * in an iteration gets its shapes in the same order every time: the one that
 * followed last time is looked at first. The work of the backward pass is
 * reported when it comes: once for each call, by the first nodes. */
#include "extension_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KNOWN = 16 }; /* of a place; then the oldest is replaced */

/* The work of a call with inputs of a shape. */
struct known_work {
    PyObject *shape;
    bool has_grad;   /* a segment that is recomputed has none the first time */
    bool is_on_host; /* its outputs */
    struct assay_work forward, backward;
    char shapes[160];
};

static PyObject *text_shape, *text_requires_grad;

int work_add_types(void)
{
    text_shape = PyUnicode_InternFromString("shape");
    text_requires_grad = PyUnicode_InternFromString("requires_grad");
    return text_shape && text_requires_grad ? 0 : -1;
}

/* The shape of the first tensor argument. New reference, NULL if there is
 * none. */
static PyObject *work_shape(PyObject *args)
{
    PyObject *shape = NULL;

    if (PyTuple_Size(args) > 1)
        shape = PyObject_GetAttr(PyTuple_GetItem(args, 1), text_shape);
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
        !PyArg_ParseTuple(answer, "ddddddUpddd", &work.macs, &work.flops,
                          &work.bytes_read, &work.bytes_written,
                          &work.kept_bytes, &work.parameters, &text,
                          &is_on_host, &backward.macs, &backward.bytes_read,
                          &backward.bytes_written))
        return false;
    bytes = PyUnicode_AsUTF8String(text);
    if (!bytes)
        return false;
    snprintf(known->shapes, sizeof known->shapes, "%s",
             PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    work.shapes = known->shapes[0] ? known->shapes : NULL;
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

void work_forget(struct place *place)
{
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
            place->next_known = at + 1;
            return known;
        }
    }
    return NULL;
}

/* Computes the work of a call. NULL with an exception. */
static struct known_work *known_add(struct place *place, PyObject *shape,
                                    PyObject *args, PyObject *result)
{
    struct known_work *known = calloc(1, sizeof *known);
    PyObject *answer = NULL;
    unsigned at = place->n_known;

    if (!place->known)
        place->known = calloc(MOST_KNOWN, sizeof *place->known);
    if (known && place->known)
        answer = PyObject_CallFunctionObjArgs(
            place->work_function, PyTuple_GetItem(args, 0), args, result, NULL);
    else
        PyErr_NoMemory();
    if (!known || !known_fill(known, answer)) {
        Py_XDECREF(answer);
        free(known);
        return NULL;
    }
    Py_DECREF(answer);
    Py_INCREF(shape);
    known->shape = shape;
    if (at == MOST_KNOWN)
        at = place->next_known % MOST_KNOWN;
    else
        place->n_known++;
    known_free(place->known[at]);
    place->known[at] = known;
    place->next_known = at + 1;
    return known;
}

static void work_tell(struct place *place, const struct known_work *known)
{
    assay_work(&known->forward);
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

int work_report(struct place *place, PyObject *args, PyObject *result)
{
    PyObject *shape = work_shape(args);
    struct known_work *known;
    bool has_grad;

    place->kept_bytes = 0;
    if (!shape)
        return 0;
    has_grad = work_has_grad(result);
    known = known_find(place, shape, has_grad);
    if (!known && !PyErr_Occurred()) {
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

/* work_report.c - reports the work of a leaf module's call; see
 * extension_internal.h.
 *
 * A function in Python computes it once for each shape of the input; a call
 * with the shape of the last one costs a comparison. The work of the backward
 * pass is reported when it comes: once for each call, by the first nodes. */
#include "extension_internal.h"

#include <string.h>

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

/* Whether there will be a backward pass. A segment that is recomputed has none
 * the first time. */
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

static int work_compute(struct place *place, PyObject *args, PyObject *result)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(
        place->work_function, PyTuple_GetItem(args, 0), args, result, NULL);
    struct assay_work work = {0}, backward = {0};
    const char *shapes = "";
    PyObject *text = NULL;
    int is_on_host = 0, failed = -1;

    if (answer && PyTuple_Check(answer) &&
        PyArg_ParseTuple(answer, "ddddddUpddd", &work.macs, &work.flops,
                         &work.bytes_read, &work.bytes_written,
                         &work.kept_bytes, &work.parameters, &text, &is_on_host,
                         &backward.macs, &backward.bytes_read,
                         &backward.bytes_written)) {
        PyObject *bytes = PyUnicode_AsUTF8String(text);

        shapes = bytes ? PyBytes_AsString(bytes) : "";
        snprintf(place->shapes, sizeof place->shapes, "%s", shapes);
        Py_XDECREF(bytes);
        work.shapes = place->shapes[0] ? place->shapes : NULL;
        place->work = work;
        place->backward_work = backward;
        place->is_on_host = is_on_host;
        failed = bytes ? 0 : -1;
    }
    Py_XDECREF(answer);
    return failed;
}

int work_report(struct place *place, PyObject *args, PyObject *result)
{
    PyObject *shape = work_shape(args);
    bool has_grad = work_has_grad(result);
    int is_same = 0;

    if (!shape)
        return 0;
    if (place->shape && place->work_has_grad == has_grad)
        is_same = PyObject_RichCompareBool(shape, place->shape, Py_EQ);
    if (is_same == 0) {
        Py_CLEAR(place->shape);
        if (work_compute(place, args, result)) {
            Py_DECREF(shape);
            Py_CLEAR(place->work_function); /* it will not do better later */
            return -1;
        }
        place->shape = shape;
        place->work_has_grad = has_grad;
        Py_INCREF(shape);
    }
    Py_DECREF(shape);
    if (is_same < 0)
        return -1;
    assay_work(&place->work);
    if (place->called_in != iteration_number)
        place->n_backward_to_come = 0;
    place->called_in = iteration_number;
    place->n_backward_to_come += place->backward_work.macs > 0;
    return 0;
}

void work_report_backward(struct place *place, assay_scope_t scope)
{
    if (place->n_backward_to_come == 0)
        return;
    place->n_backward_to_come--;
    assay_scope_work(scope, &place->backward_work);
}

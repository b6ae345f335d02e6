/* work_report.c - reports the work of a leaf module's call; see
 * extension_internal.h.
 *
 * A function in Python computes it once for each shape of the input; a call
 * with the shape of the last one costs a comparison. */
#include "extension_internal.h"

#include <string.h>

/* The shape of the first tensor argument. New reference, NULL if there is
 * none. */
static PyObject *work_shape(PyObject *args)
{
    PyObject *shape = NULL;

    if (PyTuple_Size(args) > 1)
        shape = PyObject_GetAttrString(PyTuple_GetItem(args, 1), "shape");
    if (!shape)
        PyErr_Clear();
    return shape;
}

static int work_compute(struct place *place, PyObject *args, PyObject *result)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(
        place->work_function, PyTuple_GetItem(args, 0), args, result, NULL);
    struct assay_work work = {0};
    const char *shapes = "";
    PyObject *text = NULL;
    int is_on_host = 0, failed = -1;

    if (answer && PyTuple_Check(answer) &&
        PyArg_ParseTuple(answer, "ddddddUp", &work.macs, &work.flops,
                         &work.bytes_read, &work.bytes_written,
                         &work.kept_bytes, &work.parameters, &text,
                         &is_on_host)) {
        PyObject *bytes = PyUnicode_AsUTF8String(text);

        shapes = bytes ? PyBytes_AsString(bytes) : "";
        snprintf(place->shapes, sizeof place->shapes, "%s", shapes);
        Py_XDECREF(bytes);
        work.shapes = place->shapes[0] ? place->shapes : NULL;
        place->work = work;
        place->is_on_host = is_on_host;
        failed = bytes ? 0 : -1;
    }
    Py_XDECREF(answer);
    return failed;
}

int work_report(struct place *place, PyObject *args, PyObject *result)
{
    PyObject *shape = work_shape(args);
    int is_same;

    if (!shape)
        return 0;
    is_same =
        place->shape ? PyObject_RichCompareBool(shape, place->shape, Py_EQ) : 0;
    if (is_same == 0) {
        Py_CLEAR(place->shape);
        if (work_compute(place, args, result)) {
            Py_DECREF(shape);
            Py_CLEAR(place->work_function); /* it will not do better later */
            return -1;
        }
        place->shape = shape;
        Py_INCREF(shape);
    }
    Py_DECREF(shape);
    if (is_same < 0)
        return -1;
    assay_work(&place->work);
    return 0;
}

/* calls.c - calls of modules and transforms; see extension_internal.h.
 *
 * torch.nn.Module.__call__, and that of a transform's class, is replaced by a
 * Method: an object in C that opens a span, calls the original and closes the
 * span. One span encloses hooks of the user's too, and an exception closes it
 * as any other end does, which a pair of forward hooks cannot do in PyTorch
 * 1.x. */
#include "extension_internal.h"

struct watch watch;
__thread struct place *calls_open;
__thread bool calls_have_grad;

/* A method of a class: calls the original and records the call. */
struct method {
    PyObject ob_base;
    PyObject *original; /* owned */
};

/* Whether operations are recorded for a backward pass. */
static bool call_has_grad(void)
{
    PyObject *answer;
    bool has = false;

    if (!watch.has_backward || !watch.is_grad_enabled)
        return false;
    answer = PyObject_CallObject(watch.is_grad_enabled, NULL);
    if (answer)
        has = answer == Py_True;
    else
        PyErr_Clear();
    Py_XDECREF(answer);
    return has;
}

/* What we add must never break the program: a failure is dropped. */
static void call_drop_failure(int failed)
{
    if (failed)
        PyErr_Clear();
}

/* The compiler must see the modules as they are: it would otherwise cut the
 * region at our method. */
static PyObject *call_compiled(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *original = ((struct method *)self)->original, *module, *result;

    module = watch.module;
    if (!module || PyObject_SetAttrString(module, "__call__", original))
        return NULL;
    Py_INCREF(module);
    result = PyObject_Call(original, args, kwargs);
    if (watch.is_on) {
        PyObject *type, *value, *trace;

        PyErr_Fetch(&type, &value, &trace);
        call_drop_failure(PyObject_SetAttrString(module, "__call__", self));
        PyErr_Restore(type, value, trace);
    }
    Py_DECREF(module);
    return result;
}

static PyObject *call_recorded(struct place *place, PyObject *self,
                               PyObject *args, PyObject *kwargs)
{
    PyObject *original = ((struct method *)self)->original;
    struct place *outer = calls_open;
    struct device_mark mark = {0};
    PyObject *result;

    if (!outer)
        iteration_reach(place);
    if (calls_have_grad)
        call_drop_failure(backward_claim_inputs(args, kwargs, outer));
    assay_begin_scope(place->forward);
    if (watch.has_device)
        device_begin(&mark, place->forward, !place->has_inner, true);
    calls_open = place;
    if (place->has_inner)
        memory_sample();
    result = place->is_compiled && watch.module
                 ? call_compiled(self, args, kwargs)
                 : PyObject_Call(original, args, kwargs);
    calls_open = outer;
    device_end(&mark, place->forward, !place->has_inner);
    if (result && place->work_function)
        call_drop_failure(work_report(place, args, result));
    if (result && calls_have_grad)
        memory_keep(place);
    memory_sample();
    assay_end();
    if (result && calls_have_grad)
        call_drop_failure(backward_claim(result, place));
    if (!outer)
        backward_forget();
    return result;
}

/* args[0] is the object whose method this is. */
static PyObject *method_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *original = ((struct method *)self)->original;
    struct place *place = NULL;

    if (assay_is_recording() && watch.is_on && PyTuple_Size(args) > 0) {
        if (!calls_open)
            calls_have_grad = call_has_grad();
        place = places_of_call(PyTuple_GetItem(args, 0), calls_open);
        if (!place)
            PyErr_Clear();
    }
    return place ? call_recorded(place, self, args, kwargs)
                 : PyObject_Call(original, args, kwargs);
}

static PyObject *method_type_of_bound; /* types.MethodType */

/* object.method, as a Python function does it. */
static PyObject *method_bind(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (!object || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyObject_CallFunctionObjArgs(method_type_of_bound, self, object,
                                        NULL);
}

/* What asks for the function's name, signature or documentation gets the
 * original's. */
static PyObject *method_attribute(PyObject *self, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(self, name);

    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(((struct method *)self)->original, name);
}

static PyObject *method_new(PyTypeObject *type, PyObject *args,
                            PyObject *kwargs)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct method *method;
    PyObject *original;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O:Method", &original))
        return NULL;
    method = (struct method *)allocate(type, 0);
    if (!method)
        return NULL;
    Py_INCREF(original);
    method->original = original;
    return (PyObject *)method;
}

static int method_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct method *)self)->original);
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(self));
#endif
    return 0;
}

static int method_clear(PyObject *self)
{
    Py_CLEAR(((struct method *)self)->original);
    return 0;
}

static void method_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(self);
    method_clear(self);
    release(self);
    Py_DECREF(type);
}

int calls_add_types(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Method(function): the function, with its calls recorded "
                    "under the place of its first argument."},
        {Py_tp_new, (void *)method_new},
        {Py_tp_call, (void *)method_call},
        {Py_tp_descr_get, (void *)method_bind},
        {Py_tp_getattro, (void *)method_attribute},
        {Py_tp_traverse, (void *)method_traverse},
        {Py_tp_clear, (void *)method_clear},
        {Py_tp_dealloc, (void *)method_free},
        {0, NULL}};
    static PyType_Spec spec = {.name = "assay._native.Method",
                               .basicsize = sizeof(struct method),
                               .flags = Py_TPFLAGS_DEFAULT |
                                        Py_TPFLAGS_HAVE_GC |
                                        Py_TPFLAGS_METHOD_DESCRIPTOR,
                               .slots = slots};
    PyObject *types = PyImport_ImportModule("types");
    PyObject *type = types ? PyType_FromSpec(&spec) : NULL;

    if (type)
        method_type_of_bound = PyObject_GetAttrString(types, "MethodType");
    Py_XDECREF(types);
    if (!type || !method_type_of_bound ||
        PyModule_AddObject(module, "Method", type)) {
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}

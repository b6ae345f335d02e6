/* calls.c - calls of modules and transforms; see extension_internal.h.
 *
 * torch.nn.Module.__call__, and that of a transform's class, is replaced by a
 * Method: an object in C that opens a span, calls the original and closes the
 * span. One span encloses hooks of the user's too, and an exception closes it
 * as any other end does, which a pair of forward hooks cannot do in PyTorch
 * 1.x. */
#include "extension_internal.h"

#include <dlfcn.h>
#include <stddef.h>
#include <structmember.h>

struct watch watch;
__thread struct place *calls_open;
__thread bool calls_have_grad;

/* How Python calls without making a tuple; part of the stable ABI since 3.12,
 * and the same in 3.11. */
typedef PyObject *vector_call(PyObject *callable, PyObject *const *args,
                              size_t n, PyObject *kwnames);

/* A bit of the number of arguments is for the callee's use. */
static const size_t vector_flag = (size_t)1 << (8 * sizeof(size_t) - 1);
enum { TYPE_HAS_VECTOR = 1 << 11 }; /* Py_TPFLAGS_HAVE_VECTORCALL */

static vector_call *call_vector; /* NULL: this Python has none to offer */

/* A method of a class: calls the original and records the call. */
struct method {
    PyObject ob_base;
    PyObject *original; /* owned */
    vector_call *vector;
};

static PyObject *call_original(PyObject *self, const struct arguments *args)
{
    PyObject *original = ((struct method *)self)->original;

    return args->tuple ? PyObject_Call(original, args->tuple, args->kwargs)
                       : call_vector(original, args->items, args->n_and_flag,
                                     args->kwnames);
}

PyObject *arguments_tuple(const struct arguments *args)
{
    PyObject *tuple = args->tuple ? args->tuple : PyTuple_New(args->n);

    if (tuple == args->tuple) {
        Py_XINCREF(tuple);
        return tuple;
    }
    for (Py_ssize_t i = 0; tuple && i < args->n; i++) {
        Py_INCREF(args->items[i]);
        PyTuple_SetItem(tuple, i, args->items[i]);
    }
    return tuple;
}

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
static PyObject *call_compiled(PyObject *self, const struct arguments *args)
{
    PyObject *original = ((struct method *)self)->original, *module, *result;

    module = watch.module;
    if (!module || PyObject_SetAttrString(module, "__call__", original))
        return NULL;
    Py_INCREF(module);
    result = call_original(self, args);
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
                               const struct arguments *args)
{
    struct place *outer = calls_open;
    struct device_mark mark = {0};
    PyObject *result;

    if (!outer) {
        iteration_reach(place);
        call_drop_failure(work_look_at_inputs(place, args));
    }
    if (calls_have_grad)
        call_drop_failure(backward_claim_inputs(args, outer));
    assay_begin_scope(place->forward);
    if (watch.has_device)
        device_begin(&mark, place->forward, !place->has_inner, true);
    calls_open = place;
    if (place->has_inner)
        memory_sample();
    result = place->is_compiled && watch.module ? call_compiled(self, args)
                                                : call_original(self, args);
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

/* The first argument is the object whose method this is. */
static PyObject *method_call(PyObject *self, const struct arguments *args)
{
    struct place *place = NULL;

    if (assay_is_recording() && watch.is_on && args->n > 0) {
        if (!calls_open)
            calls_have_grad = call_has_grad();
        place = places_of_call(arguments_at(args, 0), calls_open);
        if (!place)
            PyErr_Clear();
    }
    return place ? call_recorded(place, self, args) : call_original(self, args);
}

static PyObject *method_call_tuple(PyObject *self, PyObject *tuple,
                                   PyObject *kwargs)
{
    return method_call(self, &(struct arguments){.n = PyTuple_Size(tuple),
                                                 .tuple = tuple,
                                                 .kwargs = kwargs});
}

static PyObject *method_call_vector(PyObject *self, PyObject *const *items,
                                    size_t n, PyObject *kwnames)
{
    return method_call(self,
                       &(struct arguments){.n = (Py_ssize_t)(n & ~vector_flag),
                                           .items = items,
                                           .n_and_flag = n,
                                           .kwnames = kwnames});
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
    method->vector = method_call_vector;
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
    static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                                     offsetof(struct method, vector), READONLY,
                                     NULL},
                                    {NULL, 0, 0, 0, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Method(function): the function, with its calls recorded "
                    "under the place of its first argument."},
        {Py_tp_new, (void *)method_new},
        {Py_tp_call, (void *)method_call_tuple},
        {Py_tp_members, members},
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
    PyObject *types = PyImport_ImportModule("types"), *type;

    *(void **)&call_vector = dlsym(RTLD_DEFAULT, "PyObject_Vectorcall");
    if (call_vector)
        spec.flags |= TYPE_HAS_VECTOR;
    type = types ? PyType_FromSpec(&spec) : NULL;
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

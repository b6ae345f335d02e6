/* memory_watch.c - memory by module; see extension_internal.h.
 *
 * PyTorch counts no memory on CPUs. There, activations are the outputs that
 * leaf modules keep for the backward pass: they are taken when the module
 * returns and given back when its first node has run, or when the next
 * iteration begins if there is no backward pass. Weights, gradients and the
 * optimizer's state come from memory_books.py.
 *
 * On a GPU, PyTorch's allocator says how much is taken in total. Asking costs
 * tens of microseconds, so it is asked in one of many iterations: at the end of
 * a module, and at the beginning of one with modules in it. Activations are
 * what the other categories do not explain. */
#include "extension_internal.h"

#include <string.h>

/* Every so many iterations the allocator is asked. */
enum { SAMPLED_EVERY = 256 };

static struct place *first_live; /* places with live_bytes, by next_live */

static struct {
    PyObject *ask; /* the allocator's bytes; NULL: there is no GPU */
    char space[32];
    int64_t last_bytes;
    uint64_t n_iterations;
    bool is_on; /* in this iteration */
} sampled;

void memory_keep(struct place *place)
{
    int64_t bytes = place->kept_bytes;

    if (bytes <= 0)
        return;
    if (place->live_bytes == 0) {
        place->next_live = first_live;
        first_live = place;
    }
    place->live_bytes += bytes;
    assay_bytes(bytes);
    assay_memory(NULL, ASSAY_MEMORY_ACTIVATIONS, bytes);
}

/* It stays in the list, with nothing to give back. */
void memory_release(struct place *place)
{
    if (place->live_bytes <= 0)
        return;
    assay_bytes(-place->live_bytes);
    assay_memory(NULL, ASSAY_MEMORY_ACTIVATIONS, -place->live_bytes);
    place->live_bytes = -1;
}

void memory_release_all(void)
{
    while (first_live) {
        struct place *place = first_live;

        first_live = place->next_live;
        memory_release(place);
        place->live_bytes = 0;
        place->next_live = NULL;
    }
}

void memory_next_iteration(void)
{
    memory_release_all();
    if (sampled.ask)
        sampled.is_on = sampled.n_iterations++ % SAMPLED_EVERY == 0;
}

void memory_sample(void)
{
    PyObject *answer;
    long long bytes;

    if (!sampled.is_on)
        return;
    answer = PyObject_CallObject(sampled.ask, NULL);
    bytes = answer ? PyLong_AsLongLong(answer) : -1;
    Py_XDECREF(answer);
    if (bytes < 0) {
        PyErr_Clear();
        sampled.is_on = false;
        return;
    }
    assay_bytes(bytes - sampled.last_bytes);
    assay_memory(sampled.space, ASSAY_MEMORY_ACTIVATIONS,
                 bytes - sampled.last_bytes);
    sampled.last_bytes = bytes;
}

void memory_change(const char *space, enum assay_memory_category category,
                   int64_t delta)
{
    bool is_sampled = sampled.ask && strcmp(space, sampled.space) == 0;

    assay_memory(space, category, delta);
    if (is_sampled) /* part of what the allocator says in any case */
        assay_memory(space, ASSAY_MEMORY_ACTIVATIONS, -delta);
    else
        assay_bytes(delta);
}

/* memory_ask(function, space): function() is what a GPU's allocator has given
 * out; None: nobody is asked. */
PyObject *memory_ask(PyObject *self, PyObject *args)
{
    PyObject *function;
    const char *space;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &function, &space))
        return NULL;
    Py_CLEAR(sampled.ask);
    memset(&sampled, 0, sizeof sampled);
    if (function != Py_None) {
        Py_INCREF(function);
        sampled.ask = function;
        sampled.is_on = true;
        snprintf(sampled.space, sizeof sampled.space, "%s", space);
    }
    Py_RETURN_NONE;
}

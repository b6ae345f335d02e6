/* places.c - where a module is in the tree of scopes; see extension_internal.h.
 *
 * The tree is that of calls: a module called by another one lies below it,
 * under its path from there. Two tables: objects by address, and the places of
 * calls by (place around it, address). Objects are held weakly; an entry whose
 * object has died is not found, because another object may have its address. */
#include "extension_internal.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    const void *key[2];  /* NULL, NULL: free */
    PyObject *weak;      /* reference to the object with that address */
    PyObject *path;      /* of an object */
    struct place *place; /* of a call; of an object: the top-level place */
};

struct table {
    struct entry *entries;
    size_t n, capacity; /* a power of two */
};

static struct table objects, calls;

enum { FIRST_CAPACITY = 256, MAX_RENAMINGS = 64 };

/* How often modules were listed again because an unknown one was called. */
static unsigned n_renamings;

static size_t table_slot(const struct table *table, const void *a,
                         const void *b)
{
    uint64_t mixed = ((uintptr_t)a >> 4) * UINT64_C(0x9E3779B97F4A7C15) ^
                     ((uintptr_t)b >> 4) * UINT64_C(0xC2B2AE3D27D4EB4F);
    size_t at = (size_t)(mixed >> 20) & (table->capacity - 1);

    while (table->entries[at].weak &&
           (table->entries[at].key[0] != a || table->entries[at].key[1] != b))
        at = (at + 1) & (table->capacity - 1);
    return at;
}

static void entry_release(struct entry *entry)
{
    Py_XDECREF(entry->weak);
    Py_XDECREF(entry->path);
    *entry = (struct entry){0};
}

static bool entry_is_alive(const struct entry *entry)
{
    return PyWeakref_GetObject(entry->weak) == entry->key[0];
}

/* Makes room for one more; entries of dead objects go. */
static int table_grow(struct table *table)
{
    struct table grown = {0};
    size_t n_alive = 0;

    if (table->n * 2 < table->capacity)
        return 0;
    for (size_t i = 0; i < table->capacity; i++)
        n_alive += table->entries[i].weak && entry_is_alive(&table->entries[i]);
    grown.capacity = FIRST_CAPACITY;
    while (grown.capacity < n_alive * 4)
        grown.capacity *= 2;
    grown.entries = calloc(grown.capacity, sizeof *grown.entries);
    if (!grown.entries) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < table->capacity; i++) {
        struct entry *entry = &table->entries[i];

        if (entry->weak && entry_is_alive(entry)) {
            grown.entries[table_slot(&grown, entry->key[0], entry->key[1])] =
                *entry;
            grown.n++;
        } else {
            entry_release(entry);
        }
    }
    free(table->entries);
    *table = grown;
    return 0;
}

static struct entry *table_find(const struct table *table, const void *a,
                                const void *b)
{
    struct entry *entry;

    if (table->capacity == 0)
        return NULL;
    entry = &table->entries[table_slot(table, a, b)];
    return entry->weak && entry_is_alive(entry) ? entry : NULL;
}

/* The entry of that key, new or with its contents replaced. */
static struct entry *table_put(struct table *table, PyObject *object,
                               const void *b, PyObject *path,
                               struct place *place)
{
    PyObject *weak = PyWeakref_NewRef(object, NULL);
    struct entry *entry;

    if (!weak || table_grow(table)) {
        Py_XDECREF(weak);
        return NULL;
    }
    entry = &table->entries[table_slot(table, object, b)];
    table->n += !entry->weak;
    entry_release(entry);
    Py_XINCREF(path);
    *entry = (struct entry){{object, b}, weak, path, place};
    return entry;
}

static void table_clear(struct table *table)
{
    for (size_t i = 0; i < table->capacity; i++)
        entry_release(&table->entries[i]);
    free(table->entries);
    *table = (struct table){0};
}

void places_forget(void)
{
    table_clear(&objects);
    table_clear(&calls);
    n_renamings = 0;
}

/* ---- places -------------------------------------------------------------- */

enum { N_BUCKETS = 1024 };

static struct place *places_by_scope[N_BUCKETS];

/* The place of a scope, made if it is the first time. */
static struct place *place_of_scope(assay_scope_t scope)
{
    struct place **bucket = &places_by_scope[scope % N_BUCKETS], *place;

    for (place = *bucket; place; place = place->next_same_hash) {
        if (place->forward == scope)
            return place;
    }
    place = calloc(1, sizeof *place);
    if (!place || scope == ASSAY_SCOPE_NONE) {
        free(place);
        PyErr_NoMemory();
        return NULL;
    }
    *place = (struct place){.next_same_hash = *bucket,
                            .forward = scope,
                            .backward = ASSAY_SCOPE_NONE,
                            .own_backward = ASSAY_SCOPE_NONE};
    *bucket = place;
    return place;
}

static int place_set_path(struct place *place, PyObject *path)
{
    Py_XINCREF(path);
    Py_XDECREF(place->path);
    place->path = path;
    return path ? 0 : -1;
}

/* The scope of a backward pass: at the top of the tree, or below the first part
 * of its path, whose class is given. It is not looked up by its path alone: an
 * earlier recording may have left a scope of that name and another class. */
static assay_scope_t scope_of_backward(const struct backward_name *backward,
                                       const char *class_name)
{
    const char *below = strchr(backward->path, '.');
    char first[64];

    if (!below)
        return assay_scope(ASSAY_SCOPE_ROOT, backward->path, class_name);
    snprintf(first, sizeof first, "%.*s", (int)(below - backward->path),
             backward->path);
    return assay_scope(
        assay_scope(ASSAY_SCOPE_ROOT, first, backward->class_above), below + 1,
        class_name);
}

struct place *places_top(const char *name, const char *class_name,
                         const struct backward_name *backward, enum stage stage)
{
    struct place *place =
        place_of_scope(assay_scope(ASSAY_SCOPE_ROOT, name, class_name));
    PyObject *path;

    if (!place)
        return NULL;
    place->stage = stage;
    if (backward && backward->path)
        place->backward = scope_of_backward(backward, class_name);
    path = PyUnicode_FromString("");
    if (place_set_path(place, path))
        return NULL;
    Py_DECREF(path);
    return place;
}

/* Copies the name of the object's class. */
static int object_class(PyObject *object, char *buffer, size_t size)
{
    PyObject *class_name =
        PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    PyObject *bytes = class_name ? PyUnicode_AsUTF8String(class_name) : NULL;

    if (bytes)
        snprintf(buffer, size, "%s", PyBytes_AsString(bytes));
    Py_XDECREF(bytes);
    Py_XDECREF(class_name);
    return bytes ? 0 : -1;
}

/* Remembers the class at a path, for modules that are never called. */
static int place_note_class(struct place *top, PyObject *path, PyObject *object)
{
    char class_name[128];
    PyObject *bytes;
    int failed;

    if (!top->classes)
        top->classes = PyDict_New();
    if (!top->classes || object_class(object, class_name, sizeof class_name))
        return -1;
    bytes = PyBytes_FromString(class_name);
    failed = bytes ? PyDict_SetItem(top->classes, path, bytes) : -1;
    Py_XDECREF(bytes);
    return failed;
}

int places_add_object(PyObject *object, PyObject *path, struct place *top)
{
    if (place_note_class(top, path, object) ||
        (top->without_grad &&
         place_note_class(top->without_grad, path, object)))
        return -1;
    return table_put(&objects, object, NULL, path, top) ? 0 : -1;
}

int places_add_modules(PyObject *module, struct place *top)
{
    PyObject *pairs = PyObject_CallMethod(module, "named_modules", NULL);
    PyObject *all = pairs ? PySequence_List(pairs) : NULL;
    int failed = all ? 0 : -1;

    for (Py_ssize_t i = 0; !failed && i < PyList_Size(all); i++) {
        PyObject *path, *part;

        failed = PyArg_ParseTuple(PyList_GetItem(all, i), "OO", &path, &part)
                     ? places_add_object(part, path, top)
                     : -1;
    }
    Py_XDECREF(all);
    Py_XDECREF(pairs);
    return failed;
}

/* The part of a module's path below the place around it. Text of `path`. */
static const char *path_below(const char *path, const char *around)
{
    size_t n = strlen(around);

    if (n == 0)
        return path;
    return strncmp(path, around, n) == 0 && path[n] == '.' ? path + n + 1
                                                           : path;
}

/* The class of the module at a path; "" if none is known there. */
static void class_at(const struct place *parent, const char *path, size_t n,
                     char *buffer, size_t size)
{
    PyObject *key = PyUnicode_FromStringAndSize(path, (Py_ssize_t)n), *known;

    while (parent->parent)
        parent = parent->parent;
    known =
        key && parent->classes ? PyDict_GetItem(parent->classes, key) : NULL;
    buffer[0] = '\0';
    if (known)
        snprintf(buffer, size, "%s", PyBytes_AsString(known));
    Py_XDECREF(key);
}

/* The scopes from `below` on, a part of the path. */
static void scopes_below(const struct place *parent, assay_scope_t scopes[2],
                         const char *path, const char *below,
                         const char *class_name)
{
    char part[256], group[128];

    scopes[0] = parent->forward;
    scopes[1] = parent->backward;
    while (*below) {
        size_t n = strcspn(below, ".");
        bool is_last = below[n] == '\0';

        snprintf(part, sizeof part, "%.*s", (int)n, below);
        if (!is_last)
            class_at(parent, path, (size_t)(below + n - path), group,
                     sizeof group);
        for (int i = 0; i < 2; i++)
            scopes[i] = scopes[i] == ASSAY_SCOPE_NONE
                            ? ASSAY_SCOPE_NONE
                            : assay_scope(scopes[i], part,
                                          is_last    ? class_name
                                          : group[0] ? group
                                                     : NULL);
        below += is_last ? n : n + 1;
    }
}

static struct place *place_below(PyObject *object, struct place *parent,
                                 PyObject *path)
{
    PyObject *own = path ? PyUnicode_AsUTF8String(path) : NULL;
    PyObject *around = PyUnicode_AsUTF8String(parent->path);
    struct place *place = NULL;
    assay_scope_t scopes[2];
    char class_name[128];
    const char *whole = class_name, *below = class_name;

    if ((path && !own) || !around ||
        object_class(object, class_name, sizeof class_name))
        goto done;
    if (own && PyBytes_Size(own) > 0) {
        whole = PyBytes_AsString(own);
        below = path_below(whole, PyBytes_AsString(around));
    }
    scopes_below(parent, scopes, whole, below, class_name);
    place = place_of_scope(scopes[0]);
    if (!place)
        goto done;
    place->parent = parent;
    parent->has_inner = true;
    place->backward = scopes[1];
    place->stage = parent->stage;
    if (place_set_path(place, path ? path : parent->path))
        place = NULL;
done:
    Py_XDECREF(own);
    Py_XDECREF(around);
    return place;
}

/* Asks which function computes the work of the module's calls. While Python
 * answers, another thread may ask the same. */
static int place_ask_work(struct place *place, PyObject *object)
{
    PyObject *function, *old;

    work_forget(place);
    if (!watch.work_of)
        return 0;
    function = PyObject_CallFunctionObjArgs(watch.work_of, object, NULL);
    if (!function)
        return -1;
    old = place->work_function;
    if (function == Py_None)
        Py_CLEAR(function);
    place->work_function = function;
    Py_XDECREF(old);
    return 0;
}

/* Whether the object is a new part of a model: lists the model's again. */
static struct entry *objects_find_again(PyObject *object, struct place *open)
{
    struct place *top = open;
    struct entry *model = NULL;

    if (n_renamings++ >= MAX_RENAMINGS)
        return NULL;
    while (top && top->parent)
        top = top->parent;
    for (size_t i = 0; i < objects.capacity && !model; i++) {
        struct entry *entry = &objects.entries[i];

        if (entry->weak && entry->place == top && entry_is_alive(entry) &&
            PyObject_IsTrue(entry->path) == 0)
            model = entry;
    }
    if (!model)
        return NULL;
    if (places_add_modules((PyObject *)model->key[0], top))
        PyErr_Clear();
    return table_find(&objects, object, NULL);
}

/* Asks Python to name an object that is called at the top of the tree. */
static struct entry *objects_ask(PyObject *object)
{
    PyObject *answer =
        watch.on_top ? PyObject_CallFunctionObjArgs(watch.on_top, object, NULL)
                     : NULL;

    Py_XDECREF(answer);
    return answer ? table_find(&objects, object, NULL) : NULL;
}

/* Calls without gradients have a tree of their own, if the place says so. */
static struct place *top_of_call(struct place *top)
{
    return top->without_grad && !calls_have_grad ? top->without_grad : top;
}

struct place *places_of_call(PyObject *object, struct place *open)
{
    static const char with_grad, without_grad; /* keys of calls at the top */
    const void *around = open              ? (const void *)open
                         : calls_have_grad ? &with_grad
                                           : &without_grad;
    struct entry *entry = table_find(&calls, object, around);
    struct place *place, *parent;
    char class_name[128];

    if (__builtin_expect(entry != NULL, 1))
        return entry->place;
    entry = table_find(&objects, object, NULL);
    if (!entry && !watch.is_open)
        return NULL;
    if (!entry && open)
        entry = objects_find_again(object, open);
    if (!entry && !open)
        entry = objects_ask(object);
    parent = open ? open : entry ? top_of_call(entry->place) : NULL;
    if (!parent)
        return NULL;
    if (!open && PyObject_IsTrue(entry->path) == 0)
        place = parent; /* the model itself */
    else
        place = place_below(object, parent, entry ? entry->path : NULL);
    if (place && object_class(object, class_name, sizeof class_name) == 0)
        place->is_compiled = strcmp(class_name, "OptimizedModule") == 0;
    if (!place || place_ask_work(place, object) ||
        !table_put(&calls, object, around, NULL, place))
        return NULL;
    return place;
}

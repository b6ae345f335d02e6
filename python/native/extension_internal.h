/* python/native/extension_internal.h - what the files of the extension share.
 *
 * module.c is the module `assay._native` and its functions, places.c knows
 * where a torch module is in the tree of scopes, calls.c replaces __call__ of
 * classes by objects in C, node_hooks.c hooks the nodes of autograd,
 * device_times.c has what a GPU does timed: by kernel_times.c, with
 * cupti_calls.c and kernel_names.c, or by cuda_events.c. memory_watch.c counts
 * memory, work_report.c work, run_tree.c reads runs.
 *
 * Everything runs under the interpreter's lock, which protects all state here;
 * what belongs to a thread is thread-local. Stands on include/assay/ and
 * Python's stable ABI (3.9) alone; PyTorch is reached through its Python
 * interface.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EXTENSION_INTERNAL_H
#define EXTENSION_INTERNAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <assay/lane.h>
#include <assay/memory.h>
#include <assay/run.h>
#include <assay/span.h>
#include <assay/work.h>
#include <stdbool.h>
#include <stdint.h>

/* Python's tables hold functions as void *. */
#pragma GCC diagnostic ignored "-Wpedantic"

/* ---- places.c: where a module is in the tree ---------------------------- */

/* What a place at the top of the tree is for, in the order of an iteration. */
enum stage { STAGE_PREPROCESS, STAGE_MODEL, STAGE_AFTER };

struct known_work;

/* A scope, and all that is worth keeping for it. There is one per scope for
 * the life of the process: hooks of autograd nodes refer to it. */
struct place {
    struct place *next_same_hash;
    struct place *parent;       /* NULL at the top */
    struct place *without_grad; /* of a model: for calls without gradients */
    assay_scope_t forward, backward; /* ASSAY_SCOPE_NONE: not wanted */
    assay_scope_t
        own_backward; /* of a module with modules in it: its own ops */
    bool has_inner;   /* modules are called inside it */
    enum stage stage;
    bool is_compiled;  /* torch.compile() made it: no scopes inside */
    PyObject *path;    /* text: of the module in its model, "" for the model */
    PyObject *classes; /* at the top: of the modules below, by path; or NULL */
    /* How the work of a call is found: work_report.c. */
    PyObject *work_function; /* NULL: unknown */
    PyObject *inputs; /* at the top: their shapes in the last call, or NULL */
    struct known_work **known; /* by shapes */
    unsigned n_known, next_known;
    struct known_work *last_known; /* of the last call */
    const struct known_work *told; /* whose shapes are in the run */
    int64_t kept_bytes; /* of the last call's outputs, if on the host */
    struct assay_work backward_work;
    /* Calls in an iteration whose backward pass has not begun. */
    unsigned n_backward_to_come;
    uint64_t called_in;
    /* What its outputs keep until the backward pass; -1: given back. */
    int64_t live_bytes;
    struct place *next_live;
    PyObject *hooks[2]; /* of nodes, before and after; NULL: not made yet */
};

/* Makes a module known: its place is found by its path below the top-level
 * place. The object is referred to weakly. -1 with an exception. */
int places_add_object(PyObject *object, PyObject *path, struct place *top);
/* The same for a module and all below it. */
int places_add_modules(PyObject *module, struct place *top);
/* Where the backward pass of a place at the top is: "backward", or
 * "backward.loss" and then the class of the first of the two. */
struct backward_name {
    const char *path; /* NULL: nowhere */
    const char *class_above;
};

/* A place at the top of the tree; backward may be NULL. NULL with an
 * exception. */
struct place *places_top(const char *name, const char *class_name,
                         const struct backward_name *backward,
                         enum stage stage);

/* The place of an object that is called while `open` is the innermost open
 * place of the thread (NULL: none). NULL without an exception: it is not to be
 * recorded; with one: that failed. */
struct place *places_of_call(PyObject *object, struct place *open);

/* Forgets all objects, but no place. */
void places_forget(void);

/* ---- calls.c: calls of modules and transforms --------------------------- */

/* How the calls are recorded. */
struct watch {
    bool is_on;
    bool is_open;              /* modules nobody named are recorded too */
    bool has_backward;         /* hook the nodes of autograd */
    bool has_device;           /* time the GPU */
    PyObject *is_grad_enabled; /* torch's function; NULL: never */
    PyObject *work_of;         /* module -> function or None; NULL: none */
    PyObject *on_top;          /* names an unknown module; NULL: none */
    PyObject *module;          /* torch.nn.Module; NULL: not recorded */
};

extern struct watch watch;

/* The innermost open place of this thread, and whether gradients are recorded
 * since its outermost one. */
extern __thread struct place *calls_open;
extern __thread bool calls_have_grad;

/* The arguments of a call, in one of the two ways in which Python passes them;
 * the first is the module. */
struct arguments {
    Py_ssize_t n;           /* those without a name */
    PyObject *tuple;        /* NULL: they are items */
    PyObject *kwargs;       /* a dictionary, or NULL */
    PyObject *const *items; /* then those of kwnames */
    size_t n_and_flag;
    PyObject *kwnames; /* a tuple, or NULL */
};

/* Borrowed. */
static inline PyObject *arguments_at(const struct arguments *args, Py_ssize_t i)
{
    return args->tuple ? PyTuple_GetItem(args->tuple, i) : args->items[i];
}

/* Those without a name. New reference. */
PyObject *arguments_tuple(const struct arguments *args);

int calls_add_types(PyObject *module);

/* ---- iterations, in module.c -------------------------------------------- */

/* Grows with every iteration of every recording. */
extern uint64_t iteration_number;

/* Whether one is under way. */
bool iteration_is_open(void);
bool iteration_is_warm_up(void);
/* A call begins at the top of the tree: starts an iteration if it is the first
 * thing of one. */
void iteration_reach(const struct place *place);

/* ---- node_hooks.c: nodes of autograd --------------------------------------
 */

/* Gives the nodes behind the tensors of `value` that nobody claimed yet to a
 * place; NULL: to nobody. -1 with an exception. */
int backward_claim(PyObject *value, struct place *place);
/* The same for the arguments of a call. */
int backward_claim_inputs(const struct arguments *args, struct place *place);
int backward_add_types(PyObject *module);
/* The outermost call of this thread is over. */
void backward_forget(void);
/* The innermost open span is a backward pass. */
PyObject *backward_here(PyObject *self, PyObject *unused);
/* Ends spans that a failed node left open on this thread. */
PyObject *backward_depth(PyObject *self, PyObject *unused);
PyObject *backward_close(PyObject *self, PyObject *depth);

/* ---- work of leaf modules, in work_report.c ----------------------------- */

int work_add_types(void);
/* Another object may be at the place. */
void work_forget(struct place *place);
/* Reports the calls of the iteration that ends. */
void work_tell_counted(void);
void work_next_iteration(void);
/* A call that no other one encloses. */
int work_look_at_inputs(struct place *place, const struct arguments *args);
int work_report(struct place *place, const struct arguments *args,
                PyObject *result);
/* A node of the place runs. */
void work_report_backward(struct place *place, assay_scope_t scope);

/* ---- memory_watch.c: memory by module ----------------------------------- */

/* The module's outputs are kept for the backward pass; they no longer are. */
void memory_keep(struct place *place);
void memory_release(struct place *place);
/* Gives back all that is kept. */
void memory_release_all(void);
void memory_next_iteration(void);
/* Asks a GPU's allocator, in some of the iterations. */
void memory_sample(void);
/* A category other than activations grows or shrinks. */
void memory_change(const char *space, enum assay_memory_category category,
                   int64_t delta);
PyObject *memory_ask(PyObject *self, PyObject *args);

/* ---- cuda_events.c: times on the current stream ------------------------- */

struct cuda_event;
struct stream;

struct cuda_mark {
    struct cuda_event *event; /* NULL: none was recorded */
    struct stream *stream;
    int64_t launched_ns;
};

/* args: see device_open_events(). False with an exception. */
bool cuda_open(PyObject *args);
/* Waits until the device has done what was recorded, two seconds at most. */
void cuda_close(void);
/* In a forked child, where the thread that reads events is not. */
void cuda_forget(void);
/* Somebody sets a stream. */
PyObject *cuda_unfix(PyObject *self, PyObject *unused);
/* is_outermost: nothing else of this thread is being timed. */
void cuda_begin(struct cuda_mark *mark, bool is_outermost);
/* ASSAY_SCOPE_NONE: the mark is dropped. */
void cuda_end(struct cuda_mark *mark, assay_scope_t scope);

/* ---- kernel_times.c: kernels and copies, by CUPTI ------------------------ */

enum kernel_work { WORK_KERNEL, WORK_COPY_IN, WORK_COPY_OUT };

/* Something that a device ran; times on CUPTI's clock, 0: not yet. */
struct kernel_ran {
    uint32_t correlation, device, stream;
    enum kernel_work work;
    uint64_t start, end;
    const char *name;
};

/* What cupti_read() finds; the caller has the lock. */
void kernels_ran(const struct kernel_ran *record);
/* For the thread that is about to launch something. */
void kernels_called(uint32_t correlation);

/* NULL, or why they cannot be recorded. */
const char *kernels_open(const char *const *files, size_t n_files, bool has_all,
                         const char **timed_by);
/* Waits until the device has done what was launched. Returns how many records
 * were lost. */
uint64_t kernels_close(void);
/* In a forked child, where the thread that reads records is not. */
void kernels_forget(void);
/* Whether what is launched from now on is timed. */
void kernels_time(bool is_timed);
/* What this thread launches is for the scope until kernels_end(), which gets
 * what it returns. */
assay_scope_t kernels_begin(assay_scope_t scope);
void kernels_end(assay_scope_t outer);
/* The same, without an end, for a thread that has begun no scope. */
void kernels_base(assay_scope_t scope);

/* ---- kernel_names.c -------------------------------------------------------
 */

/* The scope of a kernel below that of what launched it. */
assay_scope_t kernel_scope(assay_scope_t scope, const char *name);

/* ---- cupti_calls.c: the library -------------------------------------------
 */

typedef void cupti_wants_buffer(uint8_t **buffer, size_t *size,
                                size_t *most_records);
typedef void cupti_has_buffer(void *context, uint32_t stream, uint8_t *buffer,
                              size_t size, size_t valid);

/* The text is the version, or why it cannot be used. */
bool cupti_open(const char *const *files, size_t n_files, char *text,
                size_t size);
/* How far its clock is ahead of assay_clock_ns(); 0: unknown. */
int64_t cupti_ahead_ns(void);
enum { CUPTI_IS_TAKEN = 39 }; /* an error: it has a subscriber */

/* Returns CUPTI's error. */
int cupti_start(cupti_wants_buffer *wants, cupti_has_buffer *has);
void cupti_stop(void);
/* Whether what is launched from now on is recorded. */
void cupti_record(bool is_on);
/* Brings records that are complete; is_last: all that there are. */
void cupti_flush(bool is_last);
void cupti_read(uint8_t *buffer, size_t valid);

/* ---- device_times.c: what a GPU did for a scope ---------------------------
 */

struct device_mark {
    struct cuda_mark events;
    bool is_inside; /* for kernels, with the scope around it */
    assay_scope_t outer;
};

enum { DEVICE_TIMED_FIRST = 4 }; /* iterations that are timed in any case */

/* Lets forked children leave the device alone. -1 with an exception. */
int device_watch_forks(void);
/* Decides whether the iteration that begins is timed. */
void device_next_iteration(bool is_warm_up);
/* What this thread launches until device_end() is for the scope. is_leaf: no
 * module is called inside. Events can time only leaves, because they would
 * count twice what a module inside does. */
void device_begin(struct device_mark *mark, assay_scope_t scope, bool is_leaf,
                  bool is_outermost);
/* is_leaf: whether it turned out to be one. */
void device_end(struct device_mark *mark, assay_scope_t scope, bool is_leaf);

PyObject *device_open_kernels(PyObject *self, PyObject *args);
PyObject *device_open_events(PyObject *self, PyObject *args);
PyObject *device_leave_kernels(PyObject *self, PyObject *unused);
PyObject *device_close(PyObject *self, PyObject *unused);

/* ---- run_tree.c ---------------------------------------------------------- */

PyObject *run_tree_read(PyObject *self, PyObject *args);

/* Sets the exception that fits a status. Returns NULL. */
PyObject *raise_status(enum assay_status status,
                       const struct assay_error *error);

#endif

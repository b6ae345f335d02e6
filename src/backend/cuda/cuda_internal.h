/* backend/cuda/cuda_internal.h - what the files of the CUDA backend share.
 *
 * How to add kernels for an op, in files of their own:
 *
 * 1. kernels/SUBJECT.cu: the kernels, CUDA C. kernels/prelude.cuh stands before
 *    each of these files: it has the stored types and what loads and stores
 *    them. A kernel that works on any stored type is a template, and
 *    FOR_STORED() makes one function for each: relu_f32, relu_f16, relu_bf16.
 *    List the file in CMakeLists.txt under cuda_kernel_files.
 * 2. cuda_SUBJECT.c: a function of type cuda_run for each op, which makes the
 *    outputs with cuda_output() and launches with CUDA_LAUNCH(). Inputs are
 *    dense float32 (or whatever type they are of) unless the op's line in the
 *    table says that they may come in any layout.
 * 3. cuda_ops.c: a line of the table, and the declaration in cuda_ops.h.
 * 4. tests/backend/op_cases.txt has the cases: cuda_cases compares with the
 *    portable kernel, cuda_gradients its gradients (cuda_backward.h).
 *
 * Everything of a device goes through one stream, so that memory may be handed
 * on as soon as its last reader is queued. One thread at a time uses a backend;
 * the functions of the space may be called from any.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_INTERNAL_H
#define BACKEND_CUDA_CUDA_INTERNAL_H

#include "backend/backend.h"
#include "backend/cuda/cuda_devices.h"
#include "backend/cuda/cuda_driver.h"

#include <pthread.h>

/* ---- layouts ------------------------------------------------------------- */

/* Tensors whose type is float32 may be stored otherwise: their channels last,
 * and in fewer bits. Those of other types are always dense, and so is what has
 * no layout: rows in float32.
 *
 * Padded maps have cuda_padded() channels at each place, so that every place
 * begins at a multiple of 16 bytes, as tensor cores and vectors of loads need
 * it; networks that were pruned have odd numbers of channels. Kernels compute
 * what is added as well, as channels whose weights are 0: it may have any value
 * that is finite. Only the ops of cuda_takes_padded() get padded maps. */
enum cuda_order {
    CUDA_ROWS,
    CUDA_CHANNELS_LAST,
    CUDA_CHANNELS_PADDED,
    N_CUDA_ORDERS
};

struct layout {
    enum cuda_order order;
    enum dtype stored; /* DTYPE_F32, DTYPE_F16, DTYPE_BF16 */
};

/* The one layout of its kind; NULL for rows of float32. */
const struct layout *cuda_layout(enum cuda_order order, enum dtype stored);

static inline enum cuda_order cuda_order(const struct tensor *x)
{
    return x->layout ? x->layout->order : CUDA_ROWS;
}

static inline enum dtype cuda_stored(const struct tensor *x)
{
    return x->layout ? x->layout->stored : x->dtype;
}

/* How many elements are 16 bytes. */
static inline int64_t cuda_wide(enum dtype stored)
{
    return 16 / (int64_t)dtype_bytes(stored);
}

/* Channels with those that padding adds. */
static inline int64_t cuda_padded(int64_t channels, enum dtype stored)
{
    int64_t wide = cuda_wide(stored);

    return (channels + wide - 1) / wide * wide;
}

static inline bool cuda_is_padded(const struct tensor *x)
{
    return cuda_order(x) == CUDA_CHANNELS_PADDED;
}

/* A padded map as one that has all of these channels, any other tensor as it
 * is: for kernels. It shares the memory without a reference to it. */
struct tensor cuda_as_stored(const struct tensor *x);

/* ---- the device -----------------------------------------------------------
 */

struct cuda_module; /* cuda_kernels.c */
struct cuda_memory; /* cuda_memory.c */
struct cuda_timing; /* cuda_timings.c */
struct cuda_sender; /* cuda_sender.c */
struct cuda_lanes;  /* cuda_flight.c */

enum { CUDA_MAX_DEVICES = 16 };

struct cuda_device {
    struct device base; /* first: a struct device is one of these */
    struct space space;
    char name[16]; /* "cuda:0" */
    char model[96];
    cu_device handle;
    int major, minor; /* compute capability */
    int n_multiprocessors;
    size_t total_bytes;
    pthread_mutex_t lock;
    bool is_started;
    cu_context context;
    cu_stream stream;
    struct cuda_memory *memory;
    struct cuda_timing *timing;
    struct cuda_sender *sender;  /* NULL: nothing was sent yet */
    struct cuda_lanes *lanes;    /* of copies; NULL: no pass flew yet */
    struct error why_not_pinned; /* what the driver said; {0}: it is */
    struct cuda_module *modules; /* one per file of kernels */
    bool is_recording;           /* what is queued becomes a graph */
    uint32_t recording_zone;     /* its memory */
    int64_t *fault; /* the host's, for kernels to write: cuda_fault_word() */
};

/* cuda_device.c: the driver's functions, once cuda_device_at() has found a
 * device or cuda_start() was successful. */
const struct driver_api *cuda_driver(void);

/* Makes the context current, and makes it first where it is not there. Whatever
 * calls the driver begins with this. */
enum assay_status cuda_enter(struct cuda_device *device, struct error *err);
static inline struct cuda_device *cuda_device_of(struct space *space)
{
    return (struct cuda_device *)((char *)space -
                                  offsetof(struct cuda_device, space));
}
/* The status for a failure of the driver, with its own words: "doing it on
 * cuda:0 (NVIDIA H200): out of memory (CUDA_ERROR_OUT_OF_MEMORY)". 0 is
 * ASSAY_OK. */
enum assay_status cuda_check(struct cuda_device *device, cu_result result,
                             const char *doing, struct error *err);

/* cuda_memory.c: a cache of the driver's memory, ordered by the stream. */
enum assay_status cuda_memory_new(struct cuda_device *device,
                                  struct error *err);
extern const struct space cuda_space; /* its functions */

struct cuda_memory_usage {
    size_t held_bytes, held_peak_bytes; /* from the driver */
    size_t live_bytes;                  /* handed out */
    size_t most_bytes;                  /* to hold; 0: what the driver has */
};

struct cuda_memory_usage cuda_memory_usage(struct cuda_device *device);

/* What this thread takes until cuda_memory_recorded() is a recording's, also
 * once it was given back, until cuda_memory_forget(). */
uint32_t cuda_memory_record(struct cuda_device *device);
void cuda_memory_recorded(struct cuda_device *device);
void cuda_memory_forget(struct cuda_device *device, uint32_t zone);

/* cuda_sender.c: see struct space. */
enum assay_status cuda_send(struct space *space, void *to, const void *from,
                            size_t bytes, struct error *err);
enum assay_status cuda_receive(struct space *space, struct error *err);
/* Memory that copies pass through, for the life of the process: pinned, or if
 * the driver refuses that ordinary memory, from which copies are slower. */
enum assay_status cuda_pinned_take(struct cuda_device *device, size_t bytes,
                                   char **out, struct error *err);

/* cuda_fault.c: where a kernel says that an index was outside: 1, the index,
 * the size of the axis. */
enum assay_status cuda_fault_word(struct cuda_device *device, cu_pointer *at,
                                  struct error *err);
/* Once the device was waited for: whether a kernel said so since the last
 * time. */
enum assay_status cuda_fault_check(struct cuda_device *device,
                                   struct error *err);
/* The same for the words of one pass, which cuda_fault_keep() queues a copy of:
 * what kernels say afterwards is of the next. */
enum { CUDA_FAULT_WORDS = 3 };
void cuda_fault_keep(struct cuda_device *device, int64_t *words);
enum assay_status cuda_fault_told(const struct cuda_device *device,
                                  int64_t *words, struct error *err);

/* cuda_timings.c: when what was queued ran. */
enum assay_status cuda_timing_new(struct cuda_device *device,
                                  struct error *err);
/* Around everything that is queued for a tag; nothing for tag 0. */
void cuda_timing_begin(struct cuda_device *device, uint32_t tag);
void cuda_timing_end(struct cuda_device *device, uint32_t tag);
/* Around a copy between the host and the device, of the thread that launches;
 * an op that it is part of is timed without it. */
void cuda_timing_copy_begin(struct cuda_device *device, enum queue_work work);
void cuda_timing_copy_end(struct cuda_device *device);
void cuda_timing_visit(struct cuda_device *device, queue_visit *visit,
                       void *context);
/* The host is about to wait for the device, and has time for what would
 * otherwise follow the wait. */
void cuda_timing_waiting(struct cuda_device *device);
/* See struct backend_class: watch(), launching() and timed_by(). */
/* Events at the beginning and the end of what is timed as a whole, and the
 * nanoseconds between them once both have passed. */
enum assay_status cuda_timing_mark(struct cuda_device *device, bool is_end,
                                   struct error *err);
double cuda_timing_between(struct cuda_device *device);
void cuda_timing_watch(struct cuda_device *device, bool is_watched);
void cuda_timing_launching(struct cuda_device *device, uint32_t tag);
/* What this thread launches for. */
uint32_t cuda_timing_tag(void);
const char *cuda_timing_text(const struct cuda_device *device);

/* cuda_recording.c: see struct backend_class. */
enum assay_status cuda_recording_begin(struct backend *backend,
                                       struct error *err);
enum assay_status cuda_recording_end(struct backend *backend,
                                     struct backend_recording **out,
                                     struct error *err);
enum assay_status cuda_recording_run(struct backend *backend,
                                     const struct backend_recording *recording,
                                     struct error *err);
void cuda_recording_free(struct backend *backend,
                         struct backend_recording *recording);
/* cuda_flight.c: see flight.h. */
extern const struct flight_class cuda_flights;
/* For whatever waits for the device, or copies what the host has now. */
enum assay_status cuda_refuse_while_recording(const struct cuda_device *device,
                                              struct error *err);

/* cuda_look.c: see struct backend_class. */
void cuda_look(const struct device *base, struct device_look *look);
enum assay_status cuda_measure(const struct device *base,
                               struct device_peaks *peaks, struct error *err);

/* ---- kernels: cuda_kernels.c ----------------------------------------------
 */

/* An embedded file of kernels. */
struct cuda_source {
    const char *name; /* "elementwise" */
    const char *text; /* with the prelude */
};

extern const struct cuda_source cuda_sources[]; /* made by the build */
extern const size_t cuda_n_sources;

/* Compiles for sm_XY, without a GPU. *image is the caller's to free with
 * mem_free(). The message has the compiler's first line. */
enum assay_status cuda_compile(const struct cuda_source *source, int major,
                               int minor, char **image, size_t *bytes,
                               struct error *err);
/* The same from the cache, where it is: folder NULL is cuda/ in Assay's own. A
 * file that is damaged is made again, one that cannot be written is not
 * missed. */
enum assay_status cuda_compile_cached(const struct cuda_source *source,
                                      int major, int minor, const char *folder,
                                      char **image, size_t *bytes,
                                      struct error *err);
/* A kernel by its file and name. Kept for the life of the process. */
enum assay_status cuda_function(struct cuda_device *device, const char *source,
                                const char *name, cu_function *out,
                                struct error *err);

/* ---- the backend ----------------------------------------------------------
 */

struct cuda {
    struct backend base; /* first: the engine sees this */
    struct cuda_device *device;
    const struct graph *graph;
    struct backend_options options;
    enum precision precision; /* not PRECISION_AUTO */
    /* Lists whose length is data (proposals, detections) keep the room of the
     * longest, zero after the last: no count is read back. */
    bool keeps_rooms;
    struct cuda_numbers *numbers; /* cuda_rooms.c */
    size_t n_numbers, numbers_capacity;
    /* One per value: whether something is chosen by it and nothing else is done
     * with it: logits, deltas of boxes. Products leave it in float32 where maps
     * have 16 bits, in which many would be equal. */
    bool *decides;
    /* One per value: whether all who read it take padded maps. */
    bool *pads;
    int64_t tuning_left_ns;
    const char **kernels; /* one per node: what ran it last; or NULL */
    struct cuda_launched *launched; /* one per node: our own kernels */
    struct cuda_chosen **chosen;    /* a list per node: cuda_choice.c */
    struct cuda_choices *choices;
    struct packed_parameter *packed; /* cuda_packed.c */
    size_t n_packed, packed_capacity;
    void *desk; /* cuda_desk() */
    size_t desk_bytes;
};

extern const struct backend_math cuda_math; /* cuda_arithmetic.c */

/* How maps are stored that nothing else decides about: channels last, in the
 * type of the precision. Of other ranks, rows of that type. */
const struct layout *cuda_own_layout(const struct cuda *cuda, int rank);

/* One node that runs. */
struct cuda_call {
    struct cuda *cuda;
    const struct op_context *context;
    const struct node *node;
    size_t at; /* its index */
    /* As the table says: dense, or in any layout. NULL where left out. */
    const struct tensor *const *inputs;
    struct tensor *outputs; /* type and shape where the op infers them */
    struct error *err;
};

/* cuda_rooms.c: see struct backend_class. */
void cuda_keep_rooms(struct backend *backend, bool keeps_rooms);
struct backend_rows cuda_rows(const struct backend *backend,
                              const struct node *node, size_t output);
/* Small values that kernels get from the host, for who needs them there: the
 * sizes of photographs. */
enum assay_status cuda_numbers_keep(struct cuda_call *call, uint32_t value,
                                    const int64_t *numbers, size_t n);
/* Those of a value in this pass; NULL: the host does not know them. */
const int64_t *cuda_numbers_find(const struct cuda_call *call, uint32_t value,
                                 size_t n);
void cuda_numbers_release(struct cuda *cuda);

typedef bool cuda_can(const struct cuda *cuda, const struct node *node,
                      const struct tensor *const *inputs);
typedef enum assay_status cuda_run(struct cuda_call *call);

/* Input i; NULL where it is left out. */
static inline const struct tensor *cuda_input(const struct cuda_call *call,
                                              size_t i)
{
    return i < call->node->n_inputs ? call->inputs[i] : NULL;
}

static inline cu_pointer cuda_at(const struct tensor *x)
{
    return (cu_pointer)(uintptr_t)(x && x->buffer ? tensor_data(x) : NULL);
}

/* Memory for output i, whose type and shape are set. The layout is for float32
 * only; NULL: dense. */
enum assay_status cuda_output(struct cuda_call *call, size_t i,
                              const struct layout *layout);
/* Memory for any tensor of float32. */
enum assay_status cuda_tensor_new(struct cuda_call *call,
                                  const struct shape *shape,
                                  const struct layout *layout,
                                  struct tensor *out);
/* The tensor in a layout: itself or a copy, to be released either way. */
enum assay_status cuda_in_layout(struct cuda_call *call,
                                 const struct tensor *from,
                                 const struct layout *layout,
                                 struct tensor *out);
/* Memory for a kernel besides its outputs; give it back with
 * buffer_release() once the kernel is queued. */
enum assay_status cuda_scratch(struct cuda_call *call, size_t bytes,
                               struct buffer **out);

/* Memory of the host's for an op that it has a part in: until the next call.
 * It is kept, so that its pages are there. */
enum assay_status cuda_desk(struct cuda_call *call, size_t bytes,
                            const char *what, void **out);

/* "relu" for float16 is "relu_f16". */
enum { CUDA_NAME = 96 };
const char *cuda_kernel_name(char text[CUDA_NAME], const char *name,
                             enum dtype stored);

struct cuda_grid {
    unsigned x, y, z;      /* blocks */
    unsigned threads;      /* of a block, in x */
    unsigned shared_bytes; /* dynamic */
};

/* Our own kernels of a node in the last pass that was recorded: the first, how
 * many there are, and both for people. */
struct cuda_launched {
    char name[40];
    struct cuda_grid grid;
    int n;
    char text[96];          /* "proposal_scores 8 blocks of 256 + 5 more" */
    size_t read_back_bytes; /* that shapes depend on, in the last pass */
};

/* Enough blocks of 256 threads for n elements, `each` per thread; at most as
 * many as fill the GPU 32 times: kernels go on by gridDim.x * blockDim.x. */
struct cuda_grid cuda_grid_for(const struct cuda_device *device, size_t n,
                               size_t each);

enum assay_status cuda_launch(struct cuda_call *call, const char *source,
                              const char *name, struct cuda_grid grid,
                              void **arguments);

/* CUDA_LAUNCH(call, "elementwise", "relu_f32", grid, x, y, n): the arguments
 * are variables with the types of the kernel's parameters. */
#define CUDA_LAUNCH(call, source, name, grid, ...)                             \
    cuda_launch(call, source, name, grid,                                      \
                (void *[]){CUDA_ADDRESSES(__VA_ARGS__)})
#define CUDA_ADDRESSES(...)                                                    \
    CUDA_PICK(__VA_ARGS__, CUDA_A16, CUDA_A15, CUDA_A14, CUDA_A13, CUDA_A12,   \
              CUDA_A11, CUDA_A10, CUDA_A9, CUDA_A8, CUDA_A7, CUDA_A6, CUDA_A5, \
              CUDA_A4, CUDA_A3, CUDA_A2, CUDA_A1, )                            \
    (__VA_ARGS__)
#define CUDA_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...)   \
    name
#define CUDA_A1(x)       (void *)&(x)
#define CUDA_A2(x, ...)  CUDA_A1(x), CUDA_A1(__VA_ARGS__)
#define CUDA_A3(x, ...)  CUDA_A1(x), CUDA_A2(__VA_ARGS__)
#define CUDA_A4(x, ...)  CUDA_A1(x), CUDA_A3(__VA_ARGS__)
#define CUDA_A5(x, ...)  CUDA_A1(x), CUDA_A4(__VA_ARGS__)
#define CUDA_A6(x, ...)  CUDA_A1(x), CUDA_A5(__VA_ARGS__)
#define CUDA_A7(x, ...)  CUDA_A1(x), CUDA_A6(__VA_ARGS__)
#define CUDA_A8(x, ...)  CUDA_A1(x), CUDA_A7(__VA_ARGS__)
#define CUDA_A9(x, ...)  CUDA_A1(x), CUDA_A8(__VA_ARGS__)
#define CUDA_A10(x, ...) CUDA_A1(x), CUDA_A9(__VA_ARGS__)
#define CUDA_A11(x, ...) CUDA_A1(x), CUDA_A10(__VA_ARGS__)
#define CUDA_A12(x, ...) CUDA_A1(x), CUDA_A11(__VA_ARGS__)
#define CUDA_A13(x, ...) CUDA_A1(x), CUDA_A12(__VA_ARGS__)
#define CUDA_A14(x, ...) CUDA_A1(x), CUDA_A13(__VA_ARGS__)
#define CUDA_A15(x, ...) CUDA_A1(x), CUDA_A14(__VA_ARGS__)
#define CUDA_A16(x, ...) CUDA_A1(x), CUDA_A15(__VA_ARGS__)

#endif

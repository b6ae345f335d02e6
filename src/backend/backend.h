/* backend/backend.h - what executes ops on a device.
 *
 * A backend is a folder with one const struct backend_class and the devices it
 * runs on (device.h). It may refuse any op: the engine then runs the op's
 * portable kernel on the host, and moves what that needs there and back.
 *
 * Everything a backend does on a device is queued and runs in order. A call
 * returns when its work is queued, which on the host means done. Buffers may
 * be released while queued kernels still use them (see tensor/space.h). A
 * failure that shows only while a kernel runs is reported by synchronise() or
 * the next copy to the host.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "backend/device.h"
#include "backend/flight.h"
#include "backend/host_math.h"
#include "base/sink.h"
#include "graph/graph.h"

#include <math.h>

enum { BACKEND_API_VERSION = 4 };

/* What products are computed in. Sums are always of float32 at least. */
enum precision {
    PRECISION_AUTO, /* tf32 on a GPU that has it, fp32 elsewhere */
    PRECISION_FP32,
    PRECISION_TF32, /* factors of 10 bits */
    PRECISION_FP16, /* and what lies between the ops is stored so */
    PRECISION_BF16
};

struct backend_options {
    int n_threads;
    enum precision precision; /* the host has fp32, and bf16 for inference */
    bool is_training;         /* parameters change, a backward pass follows */
    bool is_plain;            /* as a framework's eager mode: no tuning */
    double tuning_seconds;    /* for choosing kernels by measuring; 0: 4 s,
                                 in training 10 s */
    const char *choices_path; /* where choices are remembered; NULL: nowhere */
    const char *choices_text; /* to go by before those, from choices();
                                 borrowed while make() runs; NULL: none */
    const char *algorithm;    /* of convolutions, where it can be: "direct",
                                 "winograd", "gemm"; NULL: the fastest */
    bool tries_last_resorts;  /* compare a kernel too that is not worth it: for
                                 tests, a choice on every processor */
    bool trusts_any_time;     /* choose by times too that were taken while
                                 others had the processors: for tests */
    size_t scratch_bytes;     /* what a kernel may need where it can do with
                                 less; 0: 40 MiB */
};

/* What a backend's own state begins with. */
struct backend {
    const struct backend_class *class;
    const struct device *device;
};

/* What a queue does: compute, or move between the device and the host. */
enum queue_work { QUEUE_KERNEL, QUEUE_COPY_IN, QUEUE_COPY_OUT, N_QUEUE_WORKS };

/* When something that was queued ran: nanoseconds of CLOCK_MONOTONIC. */
struct queue_timing {
    uint32_t tag; /* op_context.tag of the call that queued it */
    enum queue_work work;
    int64_t launched_ns, begin_ns, end_ns;
};

/* A library that a device needs or could use. Texts live as long as the
 * process. */
struct device_library {
    const char *name, *what_for, *package;
    const char *path;    /* NULL: it was not found, or does not open */
    const char *problem; /* why not; NULL: nothing is wrong with it */
};

enum { DEVICE_MOST_LIBRARIES = 8 };

/* What a device beside the host is, and its state. Unknown is NaN or "". */
struct device_look {
    char model[96], capability[16]; /* "NVIDIA H200", "9.0" */
    char driver[80], library[32];   /* "580.159.04", "CUDA 13.0" */
    int n_units;                    /* multiprocessors */
    double memory_bytes, free_bytes;
    double mhz, max_mhz;
    double watts, most_watts, celsius;
    double joules;      /* since the driver was loaded */
    double utilisation; /* share of the last moments that it was busy */
    bool knows_throttling;
    char throttling[96]; /* why it is slowed down; "": it is not */
    char unpinned[128];  /* why copies go through ordinary memory of the host,
                            which is slower; "": they do not */
    double n_others;     /* other processes on it */
    double others_bytes;
    double others_busy; /* share of the last moments that they had it */
    struct device_library libraries[DEVICE_MOST_LIBRARIES];
    size_t n_libraries;
};

/* Its best, measured; NaN: unknown. */
struct device_peaks {
    double fp32_gflops, tf32_gflops, fp16_gflops;
    double copy_gbs;    /* reads plus writes */
    double cache_bytes; /* of the cache before its memory */
};

static inline struct device_look device_look_unknown(void)
{
    return (struct device_look){.memory_bytes = NAN,
                                .free_bytes = NAN,
                                .mhz = NAN,
                                .max_mhz = NAN,
                                .watts = NAN,
                                .most_watts = NAN,
                                .celsius = NAN,
                                .joules = NAN,
                                .utilisation = NAN,
                                .n_others = NAN,
                                .others_bytes = NAN,
                                .others_busy = NAN};
}

struct backend_recording; /* a backend's own */

/* What the rows of an output are while lists keep their room. */
enum backend_rows_kind {
    ROWS_AS_INPUTS, /* fixed if those of all inputs are */
    ROWS_FIXED,
    ROWS_COUNTED
};

struct backend_rows {
    enum backend_rows_kind kind;
    uint32_t counts; /* the value that counts them: int64, one per image */
    int64_t image;   /* whose they are; negative: of all images */
};

typedef void queue_visit(void *context, const struct queue_timing *timing);

struct backend_class {
    const char *name;
    unsigned api_version; /* BACKEND_API_VERSION, or it is refused */

    enum assay_status (*make)(const struct device *device,
                              const struct graph *graph,
                              const struct backend_options *options,
                              struct backend **out, struct error *err);
    void (*free)(struct backend *backend); /* accepts NULL */

    /* Whether it has a kernel for this node with inputs of these types and
     * shapes; their data may be anywhere. */
    bool (*can_run)(const struct backend *backend, const struct node *node,
                    const struct tensor *const *inputs);

    /* Runs the node. Inputs are in the device's memory, but for those that
     * op_class.host_inputs names, and may be in a layout of this backend;
     * outputs are made by it, in whatever layout is best. `at` is the node's
     * index. */
    enum assay_status (*forward)(struct backend *backend,
                                 const struct op_context *context,
                                 const struct node *node, size_t at,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err);

    /* Optional, with the two that follow (portable kernels only): whether it
     * has a backward kernel for this node, in float32. */
    bool (*can_backward)(const struct backend *backend,
                         const struct node *node);
    /* What that one reads, as op_class.backward_reads() says for the op. */
    struct op_reads (*backward_reads)(const struct backend *backend,
                                      const struct node *node, uint64_t wanted);
    /* Inputs, outputs and dy may be in a layout of this backend. Makes dx: of
     * parameters dense, of others in whatever layout is best; one that is zero
     * may be left without data. A dy whose memory has no other reference may
     * be overwritten, or become a dx. */
    enum assay_status (*backward)(struct backend *backend,
                                  const struct op_context *context,
                                  const struct node *node, size_t at,
                                  const struct op_backward *pass,
                                  struct error *err);
    /* Optional (it has no layouts): sum += dx, in any layouts; sum may be
     * replaced by another tensor. Both are gradients of one value. */
    enum assay_status (*accumulate)(struct backend *backend,
                                    const struct op_context *context,
                                    struct tensor *sum, const struct tensor *dx,
                                    struct error *err);
    /* Optional (nothing is held): the data of parameters changed; copies of
     * them are out of date. */
    void (*parameters_changed)(struct backend *backend);

    /* Optional (the host's): the engine's own arithmetic, on dense tensors in
     * the device's memory. */
    const struct backend_math *math;

    /* Optional, with the one that follows (what is queued is done): waits until
     * everything that was queued is done. The first failure of any of it. */
    enum assay_status (*synchronise)(struct backend *backend,
                                     struct error *err);
    /* Optional, with the one that follows (the host's clock): puts a mark into
     * the queue where what is to be timed begins, or where it ends. */
    enum assay_status (*mark)(struct backend *backend, bool is_end,
                              struct error *err);
    /* How long the device took from one mark to the other, in ns, once it has
     * passed both. NaN: unknown. */
    double (*between_marks)(struct backend *backend);
    /* Visits what finished since the last call, in the order it ran in. */
    void (*timings)(struct backend *backend, queue_visit *visit, void *context);

    /* Optional (op_context.tag says all): a pass begins; whether times will be
     * asked for. */
    void (*watch)(struct backend *backend, bool is_watched);
    /* Optional: what this thread queues from now on is for this tag, copies
     * too; 0: for nobody. */
    void (*launching)(struct backend *backend, uint32_t tag);
    /* Optional: what tells the times, "events between the ops". */
    const char *(*timed_by)(const struct backend *backend);

    /* Optional, with the three that follow: what is queued from now on is not
     * run but recorded, to be run as a whole later. It is over the same memory
     * every time. Whatever would have to wait for the device fails. */
    enum assay_status (*recording_begin)(struct backend *backend,
                                         struct error *err);
    /* out NULL: drops it. */
    enum assay_status (*recording_end)(struct backend *backend,
                                       struct backend_recording **out,
                                       struct error *err);
    enum assay_status (*recording_run)(
        struct backend *backend, const struct backend_recording *recording,
        struct error *err);
    void (*recording_free)(struct backend *backend,
                           struct backend_recording *recording);
    /* Optional (one at a time): recorded passes in flight, copies beside
     * them. */
    const struct flight_class *flights;
    /* Optional, with the one that follows (lengths of lists are never data):
     * whether lists whose length is data keep the room of the longest from now
     * on. No count is read back then, and a pass over them can be recorded. */
    void (*keep_rooms)(struct backend *backend, bool keeps_rooms);
    struct backend_rows (*rows)(const struct backend *backend,
                                const struct node *node, size_t output);

    /* A dense copy of a tensor that is in a layout of this backend. */
    enum assay_status (*to_dense)(struct backend *backend,
                                  const struct op_context *context,
                                  const struct tensor *tensor,
                                  struct tensor *out, struct error *err);

    /* Optional: a forward pass is over. What was learnt from it and is worth
     * keeping is written; a failure costs time later, nothing else. */
    void (*pass_over)(struct backend *backend);

    /* Optional (nothing is chosen): all kernels chosen up to now, as a text. A
     * backend of the same machine and number of threads that is made with it
     * chooses the same: in training, results are the same bit for bit. */
    void (*choices)(const struct backend *backend, struct sink *sink);

    /* Optional (nothing is chosen by measuring): from now on no kernel is. What
     * is not remembered is chosen by rule, the same in every process. */
    void (*settle)(struct backend *backend);

    /* Optional (nothing is said): for a node that ran, which kernel was
     * chosen, what the others took, which reorders were needed. */
    void (*explain)(const struct backend *backend, const struct node *node,
                    size_t at, struct sink *sink);

    /* Optional (it has no name): the kernel that ran the node last, borrowed
     * until the next one is chosen; NULL: none of this backend did. */
    const char *(*kernel)(const struct backend *backend,
                          const struct node *node, size_t at);

    /* Optional (done_flops and done_bytes are right): sets them to what the
     * kernel executed and moved, for a node that it just ran. */
    void (*executed)(const struct backend *backend, const struct node *node,
                     size_t at, const struct tensor *const *inputs,
                     const struct tensor *outputs, struct cost *cost);
    /* Optional, the same for a backward step that it just ran. */
    void (*executed_backward)(const struct backend *backend,
                              const struct node *node, size_t at,
                              const struct op_backward *pass,
                              struct cost *cost);

    /* Optional (none): bytes of the pool held for kernels: reordered weights,
     * scratch. */
    void (*memory)(const struct backend *backend, size_t *weights_bytes,
                   size_t *scratch_bytes);

    /* Optional: multiplies matrices in the host's memory for the ops' own
     * kernels; false where it cannot. */
    bool (*multiply)(const struct op_context *context,
                     const struct float_product *product);

    /* Optional (PRECISION_FP32): what its products are computed in. */
    enum precision (*precision)(const struct backend *backend);

    /* Optional (nothing is): a line for each library that is missing and that
     * it computes slowly without. */
    void (*missing)(const struct device *device, struct sink *sink);

    /* Optional (the host's are measured by the room machine): fills *look,
     * which device_look_unknown() made. */
    void (*look)(const struct device *device, struct device_look *look);
    /* Optional: its best. Takes a second. */
    enum assay_status (*measure)(const struct device *device,
                                 struct device_peaks *peaks, struct error *err);

    /* Optional: the library behind it and its version, "oneDNN 2.6.3". */
    void (*library)(char *text, size_t size);
};

/* "tf32" */
static inline const char *precision_name(enum precision precision)
{
    static const char *const names[] = {"auto", "fp32", "tf32", "fp16", "bf16"};

    return names[precision];
}

static inline const struct backend_math *
backend_math(const struct backend *backend)
{
    return backend->class->math ? backend->class->math : &host_math;
}

/* Has no kernels: every op runs its portable one on the host. */
extern const struct backend_class backend_portable;
/* oneDNN, if it was found: link assay_backends. */
extern const struct backend_class backend_dnnl;

#endif

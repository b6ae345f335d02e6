/* backend/backend.h - who executes an op faster than its portable kernel.
 *
 * A backend is a folder with one const struct backend_class. It may say no, op
 * by op; the engine falls back to the op's own kernel then.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "base/sink.h"
#include "graph/graph.h"

enum { BACKEND_API_VERSION = 1 };

struct backend_options {
    int n_threads;
    bool is_training;         /* parameters change, a backward pass follows */
    bool is_plain;            /* as a framework's eager mode: no tuning */
    double tuning_seconds;    /* for choosing kernels by measuring; 0: 2 s,
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
};

struct backend_class {
    const char *name;
    unsigned api_version; /* BACKEND_API_VERSION, or it is refused */

    enum assay_status (*make)(const struct graph *graph,
                              const struct backend_options *options,
                              struct backend **out, struct error *err);
    void (*free)(struct backend *backend); /* accepts NULL */

    /* Whether it has a kernel for this node. */
    bool (*can_run)(const struct backend *backend, const struct node *node);

    /* Runs the node. Inputs may be in a layout of this backend; outputs are
     * made by it, in whatever layout is best. `at` is the node's index. */
    enum assay_status (*forward)(struct backend *backend,
                                 const struct op_context *context,
                                 const struct node *node, size_t at,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err);

    /* Optional, with the two that follow (portable kernels alone): whether it
     * has a backward kernel for this node. */
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
    /* Optional (nobody trains): sum += dx, in any layouts, sum may be given
     * up for another; both are gradients of one value. */
    enum assay_status (*accumulate)(struct backend *backend,
                                    const struct op_context *context,
                                    struct tensor *sum, const struct tensor *dx,
                                    struct error *err);
    /* Optional (nothing is held): the data of parameters changed; copies of
     * them are out of date. */
    void (*parameters_changed)(struct backend *backend);

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

    /* Optional: the library behind it and its version, "oneDNN 2.6.3". */
    void (*library)(char *text, size_t size);
};

/* Needs the op's own kernels only; says no to everything. */
extern const struct backend_class backend_portable;

/* oneDNN, where it was found: link assay_backends. */
extern const struct backend_class backend_dnnl;

/* The fastest one of this build. */
const struct backend_class *backend_best(void);

#endif

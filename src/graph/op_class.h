/* graph/op_class.h - what every op answers, whoever executes it.
 *
 * One const struct op_class per op, in the op's own file (src/ops). The graph,
 * the backends, the engine, the passes, the writers of files and the
 * predictions call ops only through it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_OP_CLASS_H
#define GRAPH_OP_CLASS_H

#include "graph/attr_field.h"
#include "tensor/tensor.h"

struct channels;
struct node;
struct onnx_sink;

/* What one execution costs, from the shapes that really ran. */
struct cost {
    uint64_t macs;       /* multiply-adds of convolutions and products */
    uint64_t flops;      /* other arithmetic */
    uint64_t read_bytes; /* inputs and parameters, each once */
    uint64_t write_bytes;
    /* What the kernel that ran really did: 2 a MAC and the flops, and what is
     * read and written, unless the op or the backend knows better. */
    uint64_t done_flops, done_bytes;
};

/* A kernel touches only so many bytes of an input. */
static inline void cost_touches(struct cost *cost, const struct tensor *input,
                                uint64_t bytes)
{
    uint64_t all = tensor_bytes(input);

    cost->done_bytes -= bytes < all ? all - bytes : 0;
}

/* How many inputs or outputs a node that runs may have: lists on the stack hold
 * as many. A detector's export concatenates one list per class. */
enum { OP_MAX_VALUES = 512 };

/* The bit of an input in a mask of them. */
#define OP_INPUT(i) (UINT64_C(1) << (i))
/* Whether a set of such bits has input i; none has those from the 65th on. */
static inline bool op_has_input(uint64_t set, size_t i)
{
    return i < 64 && set >> i & 1;
}

/* y = a b in float32: y is dense, m x n, and k is the length of the sums. Steps
 * are in elements. */
struct float_product {
    int64_t m, n, k;
    const float *a, *b;
    int64_t a_row, a_column, b_row, b_column;
    float *y;
};

/* What a kernel may use while it runs. */
struct op_context {
    struct pool *pool;
    int n_threads;
    uint64_t dying;    /* bit i: nobody needs input i after this node */
    bool is_reference; /* for tests: the plain kernel, not the fast one */
    uint32_t tag;      /* for the timings of what is queued; the engine's */

    /* How a library multiplies matrices; false: it has not, for these steps.
     * NULL: there is none. */
    bool (*multiply)(const struct op_context *context,
                     const struct float_product *product);

    /* In training, what backward() needs beside inputs and outputs goes here
     * (workspaces, means, what was drawn) and comes back to it; the engine
     * releases it. NULL: no backward pass will follow. */
    struct tensor *saved;
    bool is_again; /* the node ran before in this step: *saved says how; only
                      its outputs were dropped */

    /* Runs the i-th graph inside of the node that runs now. Inputs are
     * borrowed, outputs the caller's to release. */
    enum assay_status (*run_body)(void *runner, size_t i,
                                  const struct tensor *inputs,
                                  struct tensor *outputs, struct error *err);
    void *runner;
};

/* Whether a kernel may write its output over an input; the buffer must have
 * no other reference either. */
static inline bool op_input_dies(const struct op_context *context, size_t input)
{
    return op_has_input(context->dying, input);
}

/* One step of a backward pass: gradients of the outputs go in, those of the
 * inputs come out. */
struct op_backward {
    /* As in forward(); without data, but with type and shape, where
     * backward_reads() did not ask for them. */
    const struct tensor *const *inputs;
    const struct tensor *outputs;
    const struct tensor *saved;     /* what forward() left; may have no data */
    const struct tensor *const *dy; /* one an output; NULL: it is zero */
    struct tensor *dx;              /* one an input */
    uint64_t wanted;                /* bit i: dx[i] is asked for */
    /* For kernels of backends; NULL: none. One an input: the gradient that it
     * has from other nodes already, or no data. A kernel that adds its own to
     * it as it goes makes dx the sum, and releases this one. */
    struct tensor *sums;
};

static inline bool op_wants(const struct op_backward *pass, size_t input)
{
    return pass->wanted >> input & 1;
}

/* What a backward kernel needs of the forward pass; bit i for the i-th. */
struct op_reads {
    uint64_t inputs, outputs;
};

/* What a prediction counts a layer as. Views need no answer: they are what they
 * show. */
enum counted {
    COUNTED_NOT, /* predictions know nothing like it, and say so */
    COUNTED_CONV,
    COUNTED_PRODUCT,
    COUNTED_NORM,
    COUNTED_RELU,       /* an activation: backward passes keep its output */
    COUNTED_ACTIVATION, /* ... its input */
    COUNTED_ADD,
    COUNTED_MUL, /* backward passes keep its inputs */
    COUNTED_CONCAT,
    COUNTED_MAX_POOL,
    COUNTED_AVG_POOL,
    COUNTED_MEAN, /* backward passes keep nothing */
    COUNTED_PASS  /* as if its input went on: dropout */
};

/* What else a prediction needs to know of a layer. */
struct layer_numbers {
    int64_t stride[2], pad[2], groups; /* COUNTED_CONV, over two dimensions */
    int64_t summed; /* COUNTED_PRODUCT: how many numbers make a sum */
    double taps;    /* COUNTED_MAX_POOL: how many values a window holds */
};

struct op_class {
    const char *name; /* "Conv2d": unique in the list of ops */
    size_t attrs_bytes;
    size_t min_inputs, max_inputs; /* SIZE_MAX: any number */
    size_t min_outputs, max_outputs;

    /* Types and shapes of the outputs from the inputs. Of their data, only
     * that of host_inputs may be looked at (ASSAY_UNSUPPORTED where it is not
     * there yet). NULL: the shapes depend on other data; forward() makes its
     * outputs itself then. A contradiction is ASSAY_BAD_INPUT, with both
     * shapes. */
    enum assay_status (*infer)(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err);

    /* Bit i: input i is a shape, axes or the like. Whoever runs the node gets
     * it in the host's memory, whatever device the rest is on. */
    uint64_t host_inputs;

    /* The portable kernel: inputs are dense; outputs are allocated and dense
     * where infer() is there. An input left out is NULL. */
    enum assay_status (*forward)(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err);

    /* NULL: only bytes are counted. Adds to *cost, and says with
     * cost_touches() which inputs are not read as a whole. */
    void (*cost)(const struct node *node, const struct tensor *const *inputs,
                 const struct tensor *outputs, struct cost *cost);

    /* The portable backward kernel. Everything is dense float32; dx[i] is
     * allocated and zero where it is wanted. NULL: no gradient passes; views
     * need none, the engine hands dy on. */
    enum assay_status (*backward)(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err);

    /* Which inputs and outputs backward() reads the data of for the wanted
     * gradients. NULL: none. */
    struct op_reads (*backward_reads)(const struct node *node, uint64_t wanted);

    /* What a backward pass costs. NULL: as much as the forward pass for each
     * of the first two inputs that is wanted. */
    void (*backward_cost)(const struct node *node,
                          const struct op_backward *pass, struct cost *cost);

    /* Cheap enough to be run again in the backward pass rather than to keep
     * its outputs until then (normalisation, activations). */
    bool is_cheap;

    /* It says how wrong the answers are: in training its time is shown apart
     * from that of its module. */
    bool is_loss;

    /* The output may share the first input's memory (reshape, flatten). */
    bool is_view;

    /* The outputs follow from the shapes of the inputs; their data is not
     * looked at. */
    bool reads_shapes;

    /* It hands inputs on to the graphs inside of it, and looks at the data of
     * none but host_inputs. */
    bool passes_inputs;

    /* The kernels know float32 alone. Who runs them converts tensors of other
     * floating point types, and of integers that fit into one, before, and
     * outputs of float32 to the type of the first input after. */
    bool is_f32;

    /* ---- what an op is to those who do not run it ---- */

    /* Its attributes by name, for text (ops/attr_fields.h). NULL: it has none,
     * or it does not list them and cannot be written as text. */
    const struct attr_field *fields;

    /* Which channels go together, for pruning (ops/channels.h). NULL: all that
     * it reads stays. */
    void (*channels)(struct channels *channels, const struct node *node);

    /* Writes the node as ONNX has it (ops/onnx_sink.h). NULL: ONNX has no op
     * that does the same. */
    void (*to_onnx)(struct onnx_sink *to);

    /* For predictions. describe() gets the first two inputs and the first
     * output, whose shapes are known. NULL: what it is counted as says it all.
     */
    enum counted counted;
    void (*describe)(const struct node *node,
                     const struct tensor *const *inputs,
                     const struct tensor *outputs,
                     struct layer_numbers *numbers);
};

#endif

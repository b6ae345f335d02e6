/* backend/dnnl/dnnl_backend.c - oneDNN behind the interface of backends. */
#include "backend/backend.h"

#include "backend/dnnl/channel_affine.h"
#include "backend/dnnl/concat_places.h"
#include "backend/dnnl/dnnl_internal.h"
#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/ops.h"
#include "ops/product/attention.h"
#include "ops/product/dense.h"
#include "ops/product/linear.h"

#include <omp.h>

/* Which ops there are kernels for; weight_input 0: it has no weight. */
static const struct {
    const struct op_class *op;
    onednn_forward *forward;
    size_t weight_input;
} kernels[] = {
    {&op_conv2d, forward_conv2d, CONV2D_WEIGHT},
    {&op_conv_transpose2d, forward_conv_transpose2d, CONV_TRANSPOSE2D_WEIGHT},
    {&op_linear, forward_linear, LINEAR_WEIGHT},
    {&op_dense, forward_dense, DENSE_WEIGHT},
    {&op_matmul, forward_matmul, DENSE_WEIGHT},
    {&op_max_pool2d, forward_max_pool2d, 0},
    {&op_avg_pool2d, forward_avg_pool2d, 0},
    {&op_adaptive_avg_pool2d, forward_adaptive_avg_pool2d, 0},
    {&op_reduce_mean, forward_reduce_mean, 0},
    {&op_concat, forward_concat, 0},
    {&op_pick_channels, forward_pick_channels, 0},
    {&op_pick_conv2d, forward_pick_conv2d, CONV2D_WEIGHT},
    {&op_dropout, forward_dropout, 0},
    {&op_transpose, forward_transpose, 0},
    {&op_gather, forward_gather, 0},
    {&op_clip, forward_clip, 0},
    {&op_sigmoid, forward_sigmoid, 0},
    {&op_hard_sigmoid, forward_sigmoid, 0},
    {&op_relu, forward_relu, 0},
    {&op_silu, forward_activation, 0},
    {&op_leaky_relu, forward_activation, 0},
    {&op_hard_swish, forward_activation, 0},
    {&op_mish, forward_activation, 0},
    {&op_elu, forward_activation, 0},
    {&op_gelu, forward_activation, 0},
    {&op_tanh, forward_activation, 0},
    {&op_add, forward_add, 0},
    {&op_sum, forward_sum, 0},
    {&op_mul, forward_mul, 0},
    {&op_batch_norm, forward_batch_norm, 0},
    {&op_batch_norm_training, forward_batch_norm_training, 0},
    {&op_local_response_norm, forward_local_response_norm, 0},
    {&op_softmax, forward_softmax, 0},
    {&op_attention, forward_attention, 0},
    {&op_layer_norm, forward_layer_norm, 0},
    {&op_resize_nearest, forward_resize_nearest, 0},
    {&op_resize, forward_resize, 0},
    {&op_roi_align, forward_roi_align, 0},
    {&op_anchor_grid, forward_anchor_grid, 0},
};

enum { n_kernels = sizeof kernels / sizeof *kernels };

static struct onednn *self(struct backend *backend)
{
    return (struct onednn *)backend;
}

static void dn_release(struct backend *backend)
{
    struct onednn *dn = self(backend);

    if (!dn)
        return;
    denormals_restore(dn);
    choices_close(dn->choices);
    for (size_t i = 0;
         dn->kernels && i < N_DIRECTIONS * graph_node_count(dn->graph); i++) {
        while (dn->kernels[i]) {
            struct kernel *kernel = dn->kernels[i];

            dn->kernels[i] = kernel->next;
            kernel_free(kernel);
        }
    }
    packed_forget(dn);
    places_free(dn->places);
    layout_forget_all(dn);
    onednn_close(dn);
    arena_release(&dn->memory);
    mem_free(dn->packed);
    mem_free(dn->kernels);
    mem_free(dn->x_layouts);
    mem_free(dn->pending);
    mem_free(dn->narrow);
    mem_free(dn);
}

/* The number of threads belongs to the calling thread and counts when a
 * kernel is made too. */
static void set_threads(const struct onednn *dn)
{
    if (dn->options.n_threads > 0)
        omp_set_num_threads(dn->options.n_threads);
}

void onednn_enter(struct onednn *dn)
{
    set_threads(dn);
    denormals_flush(dn);
}

static enum assay_status dn_make(const struct device *device,
                                 const struct graph *graph,
                                 const struct backend_options *options,
                                 struct backend **out, struct error *err)
{
    static const double default_seconds = 4, training_seconds = 10;
    struct onednn *dn = mem_zalloc(sizeof *dn);
    double seconds;
    enum assay_status st;

    *out = NULL;
    if (!dn)
        return error_nomem(err, sizeof *dn, "a backend");
    seconds = options->is_training ? training_seconds : default_seconds;
    if (options->tuning_seconds > 0)
        seconds = options->tuning_seconds;
    dn->base = (struct backend){.class = &backend_dnnl, .device = device};
    dn->graph = graph;
    dn->options = *options;
    dn->tuning_left_ns = (int64_t)(seconds * 1e9);
    dn->may_unload = !options->is_training;
    dn->kernels =
        mem_array(N_DIRECTIONS * graph_node_count(graph), sizeof *dn->kernels);
    dn->x_layouts = mem_array(graph_node_count(graph), sizeof *dn->x_layouts);
    set_threads(dn);
    if (!dn->kernels || !dn->x_layouts)
        st = error_nomem(err, sizeof *dn->kernels, "the kernels of a model");
    else
        st = onednn_limit(err);
    if (!st)
        st = bf16_start(dn, err);
    if (!st)
        st = onednn_start_threads(omp_get_max_threads(), err);
    if (!st)
        st = onednn_open(dn, err);
    if (!st)
        st = choices_open(options->choices_path, options->choices_text,
                          omp_get_max_threads(), &dn->choices, err);
    if (st) {
        dn_release(&dn->base);
        return st;
    }
    *out = &dn->base;
    return ASSAY_OK;
}

static size_t dnnl_find_kernel(const struct node *node)
{
    size_t i = 0;

    while (i < n_kernels && kernels[i].op != node->op)
        i++;
    return i;
}

/* Weights are reordered once and kept, so they must not be computed. */
bool onednn_has_kernel(const struct onednn *dn, const struct node *node)
{
    size_t found = dnnl_find_kernel(node);
    size_t input;

    if (found == n_kernels || !lines_make_all(node))
        return false;
    input = kernels[found].weight_input;
    if (input == 0)
        return true;
    switch (graph_value(dn->graph, node->inputs[input])->kind) {
    case VALUE_PARAMETER:
    case VALUE_BUFFER:
    case VALUE_CONSTANT:
        return true;
    case VALUE_INPUT:
    case VALUE_COMPUTED:
        break;
    }
    return false;
}

/* Kernels compute float32, or 8 bits, and no lone numbers. */
static bool dn_can_run(const struct backend *backend, const struct node *node,
                       const struct tensor *const *inputs)
{
    const struct onednn *dn = (const struct onednn *)backend;

    return onednn_takes_int8(dn, node, inputs) ||
           (inputs[0]->dtype == DTYPE_F32 && inputs[0]->shape.rank > 0 &&
            onednn_has_kernel(dn, node));
}

/* An element that is read or written, and a product in a channel of its own,
 * where nothing is read twice. */
enum { work_of_element = 4, work_of_channel = 4 };

/* The length of the sums. */
static int64_t dnnl_depth(const struct node *node, const struct tensor *weight)
{
    bool is_first = node->op == &op_dense || node->op == &op_matmul;

    return is_first ? weight->shape.dims[0]
                    : (int64_t)tensor_elements(weight) / weight->shape.dims[0];
}

static int64_t dnnl_columns(const struct shape *shape)
{
    return shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
}

/* Products, or what takes as long. Unknown is much. */
static int64_t dnnl_work(const struct node *node,
                         const struct tensor *const *inputs, int64_t results)
{
    static const int64_t much = INT64_MAX;
    size_t found = dnnl_find_kernel(node), input;
    const struct tensor *weight;
    int64_t n;

    if (found == n_kernels || inputs[0]->dtype != DTYPE_F32)
        return much;
    input = kernels[found].weight_input;
    if (node->op == &op_attention) /* k has as many columns as v has rows */
        return 2 * results * dnnl_columns(&inputs[ATTENTION_K]->shape);
    if (input == 0)
        return work_of_element *
               (results + (int64_t)tensor_elements(inputs[0]));
    weight = inputs[input];
    if (tensor_elements(weight) == 0)
        return much;
    n = (int64_t)tensor_elements(weight);
    results *= dnnl_depth(node, weight);
    if (weight->shape.rank == 4 && weight->shape.dims[1] == 1)
        results *= work_of_channel;
    return results > work_of_element * n ? results : work_of_element * n;
}

/* One thread for a small layer: waiting for sixteen takes longer. Never some of
 * them: those that are left out fall asleep, and the next layer waits; with two
 * threads that is seldom worth it. The same number for the same shapes, as
 * kernels are made for it; in bf16 all of them, which is what AMX's kernels
 * were tested with. */
static void dnnl_enter_for(struct onednn *dn, int64_t work)
{
    static const int64_t per_thread = 1 << 17, most = 1 << 20;
    int64_t little = per_thread * dn->options.n_threads;

    onednn_enter(dn);
    /* Where the number is not set, set_threads() could not bring it back. */
    if (dn->options.n_threads > 1 && !dn->options.is_training && !dn->narrow &&
        work < (little < most ? little : most))
        omp_set_num_threads(1);
}

static enum assay_status dnnl_run(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *outputs, struct error *err)
{
    if (onednn_takes_int8(dn, job->node, inputs))
        return onednn_run_int8(dn, job, inputs, outputs, err);
    return kernels[dnnl_find_kernel(job->node)].forward(dn, job, inputs,
                                                        outputs, err);
}

static enum assay_status dnnl_run_widened(struct onednn *dn, struct job *job,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    struct tensor own[OP_MAX_VALUES];
    const struct tensor *list[OP_MAX_VALUES];
    enum assay_status st = bf16_widen(dn, job, inputs, own, list, err);

    if (!st) {
        job->x = list[0];
        st = dnnl_run(dn, job, list, outputs, err);
    }
    passing_release(own, job->node->n_inputs);
    return st;
}

static enum assay_status dn_forward(struct backend *backend,
                                    const struct op_context *context,
                                    const struct node *node, size_t at,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    struct onednn *dn = self(backend);
    struct job job = {.node = node,
                      .at = at,
                      .context = context,
                      .is_training = dn->options.is_training,
                      .x = inputs[0],
                      .scale_value = GRAPH_NONE};
    enum assay_status st = node_infer(node, inputs, outputs, err);

    if (st)
        return st;
    job.y = outputs[0].shape;
    if (tensor_elements(&outputs[0]) == 0)
        return tensor_new(context->pool, outputs[0].dtype, &job.y, outputs,
                          err);
    dn->x_layouts[at] = inputs[0]->layout;
    dnnl_enter_for(
        dn, dnnl_work(node, inputs, (int64_t)tensor_elements(&outputs[0])));
    st = dn->narrow && !bf16_takes(node)
             ? dnnl_run_widened(dn, &job, inputs, outputs, err)
             : dnnl_run(dn, &job, inputs, outputs, err);
    set_threads(dn);
    return st;
}

/* The graph's own data is no longer what a file holds, either. */
static void dn_parameters_changed(struct backend *backend)
{
    packed_forget(self(backend));
    pending_forget(self(backend));
    self(backend)->may_unload = false;
}

static enum assay_status dn_to_dense(struct backend *backend,
                                     const struct op_context *context,
                                     const struct tensor *tensor,
                                     struct tensor *out, struct error *err)
{
    struct onednn *dn = self(backend);
    enum assay_status st;

    dnnl_enter_for(dn, 2 * work_of_element * (int64_t)tensor_elements(tensor));
    st = layout_convert(
        dn, context->pool, tensor,
        layout_typed(dn, tensor->dtype, &tensor->shape, ORDER_DENSE), out, err);
    set_threads(dn);
    return st;
}

static void dn_pass_over(struct backend *backend)
{
    denormals_restore(self(backend));
    places_drop(self(backend)->places);
    choices_save(self(backend)->choices);
}

static void dn_choices(const struct backend *backend, struct sink *sink)
{
    choices_write(((const struct onednn *)backend)->choices, sink);
}

static void dn_settle(struct backend *backend)
{
    self(backend)->tuning_left_ns = 0;
}

/* "nhwc", "nhwc of bf16" */
static void explain_layout(const struct layout *layout, struct sink *sink)
{
    sink_printf(sink, "%s%s", layout_text(layout),
                layout->dtype == DTYPE_BF16 ? " of bf16" : "");
}

/* The time of the one that was chosen, then names and times of the others. */
static void explain_times(const struct candidates *candidates,
                          struct sink *sink)
{
    for (size_t i = 0; i < candidates->n; i++) {
        const struct candidate *candidate = &candidates->items[i];

        if (candidate->ms < 0)
            sink_printf(sink, "%s %s not measured", i ? ";" : ",",
                        i ? candidate->name : "time");
        else
            sink_printf(sink, "%s%s %.2f ms", i ? "; " : ",",
                        i ? candidate->name : "", candidate->ms);
    }
}

static void explain_parts(const struct kernel *kernel, struct sink *sink)
{
    if (kernel->part.rows && kernel->part.rows < kernel->dst->shape.dims[2])
        sink_printf(sink, "; in bands of %lld rows",
                    (long long)kernel->part.rows);
    else if (kernel->part.images)
        sink_printf(sink, "; %lld images at a time",
                    (long long)kernel->part.images);
}

static void explain_reorders(const struct kernel *kernel, struct sink *sink)
{
    if (kernel->x_layout && kernel->x_layout->is_pending) {
        sink_printf(sink, "; x scaled %s",
                    kernel->reorders_x ? "before" : "as it is read");
    } else if (kernel->reorders_x) {
        sink_puts(sink, "; x reordered from ");
        if (kernel->x_layout)
            explain_layout(kernel->x_layout, sink);
        else
            sink_puts(sink, kernel->x.rank == 4 ? "nchw" : "dense");
        sink_puts(sink, " to ");
        explain_layout(kernel->src, sink);
    }
    if (kernel->reorders_residual) {
        sink_puts(sink, "; residual reordered to ");
        explain_layout(kernel->dst, sink);
    }
}

static void explain_kernel(enum direction direction,
                           const struct kernel *kernel, struct sink *sink)
{
    static const char *const names[N_DIRECTIONS] = {
        [DIRECTION_FORWARD] = "",
        [DIRECTION_DATA] = "backward to the data, ",
        [DIRECTION_WEIGHTS] = "backward to the weights, "};
    char text[64];

    sink_printf(sink, "  %s%s", names[direction],
                shape_text(&kernel->x, text, sizeof text));
    if (kernel->how)
        sink_printf(sink, ": %s, %s", kernel->candidates.items[0].name,
                    kernel->how);
    explain_times(&kernel->candidates, sink);
    explain_parts(kernel, sink);
    explain_reorders(kernel, sink);
    sink_puts(sink, "\n");
}

static const char *dn_kernel(const struct backend *backend,
                             const struct node *node, size_t at)
{
    const struct onednn *dn = (const struct onednn *)backend;
    const struct kernel *kernel = *kernel_list(dn, DIRECTION_FORWARD, at);

    (void)node;
    return kernel && kernel->candidates.n ? kernel->candidates.items[0].name
                                          : NULL;
}

static void dn_explain(const struct backend *backend, const struct node *node,
                       size_t at, struct sink *sink)
{
    const struct onednn *dn = (const struct onednn *)backend;

    (void)node;
    for (size_t i = 0; i < N_DIRECTIONS; i++) {
        const struct kernel *kernel = *kernel_list(dn, (enum direction)i, at);

        for (; kernel; kernel = kernel->next)
            explain_kernel((enum direction)i, kernel, sink);
    }
}

static void dn_executed(const struct backend *backend, const struct node *node,
                        size_t at, const struct tensor *const *inputs,
                        const struct tensor *outputs, struct cost *cost)
{
    executed_forward((const struct onednn *)backend, node, at, inputs, outputs,
                     cost);
}

static void dn_executed_backward(const struct backend *backend,
                                 const struct node *node, size_t at,
                                 const struct op_backward *pass,
                                 struct cost *cost)
{
    executed_backward((const struct onednn *)backend, node, at, pass, cost);
}

static void dn_memory(const struct backend *backend, size_t *weights_bytes,
                      size_t *scratch_bytes)
{
    const struct onednn *dn = (const struct onednn *)backend;

    *weights_bytes = 0;
    for (size_t i = 0; i < dn->n_packed; i++)
        *weights_bytes += buffer_pool_bytes(dn->packed[i].buffer);
    *scratch_bytes = dn->scratch_bytes;
}

static enum precision dn_precision(const struct backend *backend)
{
    return ((const struct onednn *)backend)->narrow ? PRECISION_BF16
                                                    : PRECISION_FP32;
}

const struct backend_class backend_dnnl = {
    .name = "onednn",
    .api_version = BACKEND_API_VERSION,
    .make = dn_make,
    .free = dn_release,
    .can_run = dn_can_run,
    .forward = dn_forward,
    .can_backward = onednn_can_backward,
    .backward_reads = onednn_backward_reads,
    .backward = onednn_run_backward,
    .accumulate = onednn_accumulate,
    .parameters_changed = dn_parameters_changed,
    .to_dense = dn_to_dense,
    .pass_over = dn_pass_over,
    .choices = dn_choices,
    .settle = dn_settle,
    .explain = dn_explain,
    .kernel = dn_kernel,
    .executed = dn_executed,
    .executed_backward = dn_executed_backward,
    .memory = dn_memory,
    .multiply = onednn_multiply,
    .precision = dn_precision,
    .library = onednn_version,
};

const struct device *device_cpu(void)
{
    static const struct device cpu = {
        .name = "cpu", .backend = &backend_dnnl, .space = &space_host};

    return &cpu;
}

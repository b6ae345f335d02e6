/* backend/cuda/cuda_convolution.c - convolutions and linear layers as jobs (see
 * cuda_plan.h). */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_plan.h"
#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/ops.h"
#include "ops/product/linear.h"

/* Operands in the layouts of a job. */
struct job_tensors {
    struct tensor x, residual;
    struct cuda_operands at;
};

static void tensors_release(struct job_tensors *tensors)
{
    tensor_release(&tensors->x);
    tensor_release(&tensors->residual);
}

static enum assay_status
tensors_bring(struct cuda_call *call, const struct layout *x_layout,
              const struct layout *y_layout, const struct tensor *x,
              const struct tensor *residual, struct job_tensors *out)
{
    enum assay_status st = cuda_in_layout(call, x, x_layout, &out->x);

    if (!st && residual)
        st = cuda_in_layout(call, residual, y_layout, &out->residual);
    out->at.x = cuda_at(&out->x);
    out->at.residual = cuda_at(&out->residual);
    return st;
}

enum assay_status cuda_job_do(struct cuda_call *call,
                              const struct cuda_job *job,
                              const struct cuda_operands *operands)
{
    const struct cuda_chosen *chosen;
    enum assay_status st = cuda_choose(call, job, operands, &chosen);

    if (!st)
        st = cuda_plan_run(call, job, &chosen->plan, operands);
    if (!st)
        call->cuda->kernels[call->at] = chosen->plan.kernel;
    return st;
}

static enum dtype stored_of(const struct layout *layout)
{
    return layout ? layout->stored : DTYPE_F32;
}

/* Ops that choose by what they read: which is larger, what is above a limit. */
static bool op_chooses(const struct op_class *op)
{
    return op == &op_rpn_top_k || op == &op_rpn_decode ||
           op == &op_box_detections || op == &op_softmax || op == &op_top_k ||
           op == &op_arg_max;
}

enum assay_status cuda_find_deciding(struct cuda *cuda, struct error *err)
{
    const struct graph *graph = cuda->graph;
    size_t n = graph_value_count(graph);

    cuda->decides = mem_array(n, sizeof *cuda->decides);
    if (!cuda->decides)
        return error_nomem(err, n * sizeof *cuda->decides, "a backend");
    for (int is_no = 0; is_no < 2; is_no++) {
        for (size_t i = 0; i < graph_node_count(graph); i++) {
            const struct node *node = graph_node(graph, i);

            for (size_t k = 0; k < node->n_inputs; k++) {
                if (node->inputs[k] != GRAPH_NONE &&
                    op_chooses(node->op) == !is_no)
                    cuda->decides[node->inputs[k]] = !is_no;
            }
        }
    }
    return ASSAY_OK;
}

/* Where a result is stored whose operands have this layout. */
static const struct layout *made_layout(const struct cuda_call *call,
                                        const struct layout *layout)
{
    const struct cuda *cuda = call->cuda;

    return !cuda->options.is_training && stored_of(layout) != DTYPE_F32 &&
                   cuda->decides[call->node->outputs[0]]
               ? cuda_layout(layout->order, DTYPE_F32)
               : layout;
}

/* ---- convolutions -------------------------------------------------------- */

struct cuda_job cuda_conv_job(const struct cuda_call *call,
                              const struct layout *layout,
                              const struct shape *y_shape)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(call->node);
    const int64_t *x = call->inputs[CONV2D_X]->shape.dims;
    const int64_t *w = call->inputs[CONV2D_WEIGHT]->shape.dims;
    const int64_t *y = y_shape->dims;
    struct cuda_job job = {0};

    job.n = x[0];
    job.c = x[1];
    job.h = x[2];
    job.w = x[3];
    job.o = w[0];
    job.kh = w[2];
    job.kw = w[3];
    job.oh = y[2];
    job.ow = y[3];
    for (int i = 0; i < 2; i++) {
        job.stride[i] = attrs->stride[i];
        job.before[i] = attrs->before[i];
        job.after[i] = attrs->after[i];
        job.dilation[i] = attrs->dilation[i];
    }
    job.groups = attrs->groups;
    job.stored = (int32_t)stored_of(layout);
    job.precision = (int32_t)call->cuda->precision;
    job.has_bias = cuda_input(call, CONV2D_BIAS) != NULL;
    job.has_residual = cuda_input(call, CONV2D_RESIDUAL) != NULL;
    job.has_relu = attrs->has_relu;
    job.relu_limit = attrs->relu_limit;
    job.made = job.stored;
    if (!attrs->has_relu && attrs->activation) {
        job.activation = (int32_t)attrs->activation;
        job.slope = attrs->slope;
    }
    return job;
}

/* Whether it reads too few channels for tensor cores, as of photographs: it is
 * faster with a padded copy. */
static bool cuda_conv_is_narrow(const struct cuda_job *job)
{
    enum { worthwhile = 16 }; /* outputs */

    return job->c < 4 && job->groups == 1 && job->kh * job->kw > 1 &&
           job->o >= worthwhile && job->precision != PRECISION_FP32;
}

static bool conv_is_depthwise(const struct cuda_job *job)
{
    return job->groups > 1 && job->groups == job->c && job->groups == job->o;
}

void cuda_conv_pad(const struct cuda_call *call, struct cuda_job *job,
                   const struct layout **x_layout,
                   const struct layout **y_layout)
{
    const struct tensor *x = call->inputs[CONV2D_X];
    enum dtype stored = (enum dtype)job->stored, made = (enum dtype)job->made;
    bool is_depthwise = conv_is_depthwise(job);
    bool pads_x = (cuda_is_padded(x) && (job->groups == 1 || is_depthwise)) ||
                  cuda_conv_is_narrow(job);
    bool pads_y = is_depthwise ? pads_x : cuda_pads_output(call, job);

    if (pads_x) {
        *x_layout = cuda_layout(CUDA_CHANNELS_PADDED, stored);
        job->c = cuda_padded(job->c, stored);
    }
    if (pads_y) {
        *y_layout = cuda_layout(CUDA_CHANNELS_PADDED, made);
        job->o = cuda_padded(job->o, made);
    }
    if (is_depthwise)
        job->groups = job->c;
}

enum assay_status cuda_conv_weight(struct cuda_call *call,
                                   const struct cuda_job *job, cu_pointer *out)
{
    struct packing packing = {PACKED_WEIGHT, (enum dtype)job->stored, job->o,
                              job->c / job->groups};

    return cuda_packed(call, CONV2D_WEIGHT, CONV2D_SCALE, packing, out);
}

static enum assay_status conv_bring_parameters(struct cuda_call *call,
                                               const struct cuda_job *job,
                                               struct cuda_operands *at)
{
    struct packing bias = {PACKED_ROWS, (enum dtype)job->made, job->o, 1};
    enum assay_status st = cuda_conv_weight(call, job, &at->w);

    return st ? st : cuda_packed(call, CONV2D_BIAS, 0, bias, &at->bias);
}

enum assay_status cuda_run_conv2d(struct cuda_call *call)
{
    const struct layout *x_layout = cuda_own_layout(call->cuda, 4), *y_layout;
    struct cuda_job job =
        cuda_conv_job(call, x_layout, &call->outputs[0].shape);
    struct job_tensors tensors = {0};
    enum assay_status st;

    if (!job.has_residual && !conv2d_attrs(call->node)->activation)
        job.made = (int64_t)stored_of(made_layout(call, x_layout));
    y_layout = cuda_layout(x_layout->order, (enum dtype)job.made);
    cuda_conv_pad(call, &job, &x_layout, &y_layout);
    st = cuda_output(call, 0, y_layout);
    if (!st && tensor_elements(&call->outputs[0])) {
        st = tensors_bring(call, x_layout, y_layout, call->inputs[CONV2D_X],
                           cuda_input(call, CONV2D_RESIDUAL), &tensors);
        tensors.at.y = cuda_at(&call->outputs[0]);
        if (!st)
            st = conv_bring_parameters(call, &job, &tensors.at);
        if (!st)
            st = cuda_job_do(call, &job, &tensors.at);
    }
    tensors_release(&tensors);
    return st;
}

/* ---- linear layers ------------------------------------------------------- */

struct cuda_job cuda_product_job(const struct cuda_call *call,
                                 enum dtype stored, int64_t rows,
                                 int64_t summed, int64_t columns)
{
    struct cuda_job job = {0};

    job.n = rows;
    job.c = summed;
    job.h = job.w = job.oh = job.ow = 1;
    job.o = columns;
    job.kh = job.kw = job.groups = 1;
    job.stride[0] = job.stride[1] = job.dilation[0] = job.dilation[1] = 1;
    job.stored = (int32_t)stored;
    job.precision = (int32_t)call->cuda->precision;
    job.made = stored;
    return job;
}

enum assay_status cuda_run_linear(struct cuda_call *call)
{
    const struct tensor *x = call->inputs[LINEAR_X];
    const struct tensor *w = call->inputs[LINEAR_WEIGHT];
    const struct layout *layout = cuda_own_layout(call->cuda, 2);
    enum dtype stored = stored_of(layout);
    struct job_tensors tensors = {0};
    struct cuda_job job = cuda_product_job(call, stored, x->shape.dims[0],
                                           x->shape.dims[1], w->shape.dims[0]);
    const struct layout *made = made_layout(call, layout);
    enum assay_status st = cuda_output(call, 0, made);

    job.made = stored_of(made);
    job.has_bias = cuda_input(call, LINEAR_BIAS) != NULL;
    job.has_relu = linear_attrs(call->node)->has_relu;
    if (!st && tensor_elements(&call->outputs[0])) {
        st = tensors_bring(call, layout, NULL, x, NULL, &tensors);
        tensors.at.y = cuda_at(&call->outputs[0]);
        if (!st)
            st = cuda_packed(call, LINEAR_WEIGHT, 0,
                             cuda_packing(PACKED_ROWS, stored), &tensors.at.w);
        if (!st)
            st = cuda_packed(call, LINEAR_BIAS, 0,
                             cuda_packing(PACKED_ROWS, (enum dtype)job.made),
                             &tensors.at.bias);
        if (!st)
            st = cuda_job_do(call, &job, &tensors.at);
    }
    tensors_release(&tensors);
    return st;
}

/* ---- transposed convolutions --------------------------------------------- */

/* Those whose windows do not overlap: what mask heads have. */
bool cuda_can_conv_transpose2d(const struct cuda *cuda, const struct node *node,
                               const struct tensor *const *inputs)
{
    const struct conv_transpose2d_attrs *attrs = conv_transpose2d_attrs(node);
    const struct tensor *w = inputs[CONV_TRANSPOSE2D_WEIGHT];

    (void)cuda;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype != DTYPE_F32)
            return false;
    }
    for (int i = 0; i < 2; i++) {
        if (attrs->stride[i] != w->shape.dims[2 + i] || attrs->before[i] ||
            attrs->after[i] || attrs->more[i])
            return false;
    }
    return true;
}

static enum assay_status transposed_spread(struct cuda_call *call, cu_pointer x,
                                           cu_pointer bias, enum dtype stored)
{
    const int64_t *dims = call->inputs[0]->shape.dims;
    const int64_t *w_dims = call->inputs[CONV_TRANSPOSE2D_WEIGHT]->shape.dims;
    int64_t h = dims[2], w = dims[3], kh = w_dims[2], kw = w_dims[3];
    int64_t o = w_dims[1], n = (int64_t)tensor_elements(&call->outputs[0]);
    int has_relu = conv_transpose2d_attrs(call->node)->has_relu;
    cu_pointer y = cuda_at(&call->outputs[0]);
    char name[CUDA_NAME];

    cuda_kernel_name(name, "spread", stored);
    return CUDA_LAUNCH(call, "convolution", name,
                       cuda_grid_for(call->cuda->device, (size_t)n, 4), x, bias,
                       y, h, w, kh, kw, o, n, has_relu);
}

enum assay_status cuda_run_conv_transpose2d(struct cuda_call *call)
{
    const struct layout *layout = cuda_own_layout(call->cuda, 4);
    enum dtype stored = stored_of(layout);
    const int64_t *x = call->inputs[0]->shape.dims;
    const int64_t *w = call->inputs[CONV_TRANSPOSE2D_WEIGHT]->shape.dims;
    int64_t columns = w[1] * w[2] * w[3];
    struct cuda_job job =
        cuda_product_job(call, stored, x[0] * x[2] * x[3], x[1], columns);
    struct job_tensors tensors = {0};
    struct buffer *made = NULL;
    cu_pointer bias = 0;
    enum assay_status st = cuda_output(call, 0, layout);

    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    st = tensors_bring(call, layout, NULL, call->inputs[0], NULL, &tensors);
    if (!st)
        st = cuda_packed(call, CONV_TRANSPOSE2D_WEIGHT, 0,
                         cuda_packing(PACKED_TURNED, stored), &tensors.at.w);
    if (!st)
        st = cuda_packed(call, CONV_TRANSPOSE2D_BIAS, 0,
                         cuda_packing(PACKED_ROWS, stored), &bias);
    if (!st)
        st = cuda_scratch(call, (size_t)(job.n * columns) * dtype_bytes(stored),
                          &made);
    if (!st) {
        tensors.at.y = (cu_pointer)(uintptr_t)buffer_data(made);
        st = cuda_job_do(call, &job, &tensors.at);
    }
    if (!st)
        st = transposed_spread(call, tensors.at.y, bias, stored);
    buffer_release(made);
    tensors_release(&tensors);
    return st;
}

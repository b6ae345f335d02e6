/* backend/cuda/cuda_backend.c - CUDA behind the interface of backends. */
#include "backend/cuda/cuda_internal.h"

#include "backend/cuda/cuda_backward.h"
#include "backend/cuda/cuda_libraries.h"
#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/cuda_plan.h"
#include "base/mem.h"

#include <assert.h>
#include <stdio.h>

enum { most_inputs = 64 };

static struct cuda *cuda_of(const struct backend *backend)
{
    return (struct cuda *)(uintptr_t)backend;
}

/* ---- launching ----------------------------------------------------------- */

struct cuda_grid cuda_grid_for(const struct cuda_device *device, size_t n,
                               size_t each)
{
    enum { threads = 256, fills = 32 };
    size_t blocks = (n + each * threads - 1) / (each * threads);
    size_t most = (size_t)device->n_multiprocessors * fills;

    if (most == 0)
        most = fills;
    if (blocks > most)
        blocks = most;
    return (struct cuda_grid){(unsigned)(blocks ? blocks : 1), 1, 1, threads,
                              0};
}

/* For tables and traces, where somebody records. */
static void launch_note(const struct cuda_call *call, const char *name,
                        struct cuda_grid grid)
{
    struct cuda_launched *launched;

    if (!call->node || !call->context->tag)
        return;
    launched = &call->cuda->launched[call->at];
    if (launched->n++)
        return;
    launched->grid = grid;
    snprintf(launched->name, sizeof launched->name, "%s", name);
}

static const char *launch_text(struct cuda_launched *launched)
{
    const struct cuda_grid *grid = &launched->grid;
    char blocks[40], more[24] = "";

    if (!launched->n)
        return NULL;
    if (grid->z > 1)
        snprintf(blocks, sizeof blocks, "%ux%ux%u", grid->x, grid->y, grid->z);
    else if (grid->y > 1)
        snprintf(blocks, sizeof blocks, "%ux%u", grid->x, grid->y);
    else
        snprintf(blocks, sizeof blocks, "%u", grid->x);
    if (launched->n > 1)
        snprintf(more, sizeof more, " + %d more", launched->n - 1);
    snprintf(launched->text, sizeof launched->text, "%.30s %s blocks of %u%s",
             launched->name, blocks, grid->threads, more);
    return launched->text;
}

enum assay_status cuda_launch(struct cuda_call *call, const char *source,
                              const char *name, struct cuda_grid grid,
                              void **arguments)
{
    enum { common_bytes = 48 << 10 }; /* what every kernel may have */
    struct cuda_device *device = call->cuda->device;
    const struct driver_api *cu = cuda_driver();
    cu_function function;
    enum assay_status st =
        cuda_function(device, source, name, &function, call->err);

    if (!st && grid.shared_bytes > common_bytes)
        st = cuda_check(device,
                        cu->cuFuncSetAttribute(function,
                                               CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                               (int)grid.shared_bytes),
                        name, call->err);
    if (!st)
        st =
            cuda_check(device,
                       cu->cuLaunchKernel(function, grid.x, grid.y, grid.z,
                                          grid.threads, 1, 1, grid.shared_bytes,
                                          device->stream, arguments, NULL),
                       name, call->err);
    launch_note(call, name, grid);
    return st;
}

/* ---- nodes --------------------------------------------------------------- */

static bool has_only_f32(const struct node *node,
                         const struct tensor *const *inputs)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype != DTYPE_F32)
            return false;
    }
    return true;
}

static bool cuda_can_run(const struct backend *backend, const struct node *node,
                         const struct tensor *const *inputs)
{
    const struct cuda_op *op = cuda_op_find(node->op);

    if (!op || node->n_inputs > most_inputs)
        return false;
    return op->can ? op->can(cuda_of(backend), node, inputs)
                   : has_only_f32(node, inputs);
}

/* Inputs that the op wants dense become so. */
static enum assay_status settle_inputs(struct cuda_call *call,
                                       const struct cuda_op *op,
                                       struct tensor *dense,
                                       const struct tensor **inputs)
{
    bool takes_padded = cuda_takes_padded(op->op);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < call->node->n_inputs; i++) {
        const struct tensor *input = call->inputs[i];
        bool is_any;

        inputs[i] = input;
        if (!input || !input->layout)
            continue;
        is_any = op->any_layout >> i & 1;
        if (is_any && (takes_padded || !cuda_is_padded(input)))
            continue;
        st = cuda_in_layout(
            call, input,
            is_any ? cuda_layout(CUDA_CHANNELS_LAST, cuda_stored(input)) : NULL,
            &dense[i]);
        inputs[i] = &dense[i];
    }
    call->inputs = inputs;
    return st;
}

static enum assay_status cuda_forward(struct backend *backend,
                                      const struct op_context *context,
                                      const struct node *node, size_t at,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct cuda *cuda = cuda_of(backend);
    const struct cuda_op *op = cuda_op_find(node->op);
    struct tensor dense[most_inputs] = {{0}};
    const struct tensor *settled[most_inputs];
    struct cuda_call call = {cuda, context, node, at, inputs, outputs, err};
    enum assay_status st = cuda_enter(cuda->device, err);

    if (!st && node->op->infer)
        st = node->op->infer(node, inputs, outputs, err);
    if (st)
        return st;
    if (context->tag)
        cuda->launched[at].n = 0;
    cuda->launched[at].read_back_bytes = 0;
    cuda_timing_begin(cuda->device, context->tag);
    st = settle_inputs(&call, op, dense, settled);
    if (!st)
        st = op->run(&call);
    cuda_timing_end(cuda->device, context->tag);
    for (size_t i = 0; i < node->n_inputs; i++)
        tensor_release(&dense[i]);
    return st;
}

static enum assay_status cuda_to_dense(struct backend *backend,
                                       const struct op_context *context,
                                       const struct tensor *tensor,
                                       struct tensor *out, struct error *err)
{
    struct cuda *cuda = cuda_of(backend);
    struct cuda_call call = {.cuda = cuda, .context = context, .err = err};
    enum assay_status st = cuda_enter(cuda->device, err);

    if (st)
        return st;
    cuda_timing_begin(cuda->device, context->tag);
    st = cuda_in_layout(&call, tensor, NULL, out);
    cuda_timing_end(cuda->device, context->tag);
    return st;
}

/* ---- precision ----------------------------------------------------------- */

/* tf32 and bfloat16 came with 8.0. */
static enum assay_status settle_precision(struct cuda *cuda, struct error *err)
{
    enum precision wanted = cuda->options.precision;
    const struct cuda_device *device = cuda->device;
    bool has_all = device->major >= 8;

    if (wanted == PRECISION_AUTO)
        wanted = has_all ? PRECISION_TF32 : PRECISION_FP32;
    cuda->precision = wanted;
    if (has_all || wanted == PRECISION_FP32 || wanted == PRECISION_FP16)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s (%s) has compute capability %d.%d, and %s needs 8.0; "
                     "use fp32 or fp16",
                     device->name, device->model, device->major, device->minor,
                     wanted == PRECISION_TF32 ? "tf32" : "bf16");
}

/* ---- the whole ----------------------------------------------------------- */

static enum assay_status cuda_synchronise(struct backend *backend,
                                          struct error *err)
{
    struct cuda_device *device = cuda_of(backend)->device;
    enum assay_status st = cuda_enter(device, err);

    if (!st)
        st = cuda_refuse_while_recording(device, err);
    if (!st)
        st = cuda_check(device,
                        cuda_driver()->cuStreamSynchronize(device->stream),
                        "running kernels", err);
    if (!st)
        st = cuda_fault_check(device, err);
    return st;
}

static void chosen_free(struct cuda *cuda)
{
    for (size_t i = 0; cuda->chosen && i < graph_node_count(cuda->graph); i++) {
        while (cuda->chosen[i]) {
            struct cuda_chosen *chosen = cuda->chosen[i];

            cuda->chosen[i] = chosen->next;
            cuda_plan_release(&chosen->plan);
            mem_free(chosen);
        }
    }
    mem_free(cuda->chosen);
}

static void cuda_free(struct backend *backend)
{
    struct cuda *cuda = cuda_of(backend);

    if (!cuda)
        return;
    if (cuda->device->is_started)
        (void)cuda_synchronise(backend, NULL);
    chosen_free(cuda);
    cuda_packed_forget(cuda);
    cuda_choices_close(cuda);
    cuda_numbers_release(cuda);
    mem_free(cuda->packed);
    mem_free(cuda->desk);
    mem_free(cuda->kernels);
    mem_free(cuda->launched);
    mem_free(cuda->decides);
    mem_free(cuda->pads);
    mem_free(cuda);
}

static enum assay_status cuda_make_lists(struct cuda *cuda, struct error *err)
{
    size_t n = graph_node_count(cuda->graph);
    enum assay_status st;

    cuda->kernels = mem_array(n, sizeof *cuda->kernels);
    cuda->chosen = mem_array(n, sizeof *cuda->chosen);
    cuda->launched = mem_array(n, sizeof *cuda->launched);
    if (!cuda->kernels || !cuda->chosen || !cuda->launched)
        return error_nomem(err, n * sizeof *cuda->kernels, "a backend");
    st = cuda_find_deciding(cuda, err);
    if (!st)
        st = cuda_find_padded(cuda, err);
    return st ? st : cuda_choices_open(cuda, err);
}

static enum assay_status cuda_make(const struct device *device,
                                   const struct graph *graph,
                                   const struct backend_options *options,
                                   struct backend **out, struct error *err)
{
    struct cuda *cuda = mem_zalloc(sizeof *cuda);
    double default_seconds = options->is_training ? 10 : 4;
    double seconds =
        options->tuning_seconds > 0 ? options->tuning_seconds : default_seconds;
    enum assay_status st;

    *out = NULL;
    if (!cuda)
        return error_nomem(err, sizeof *cuda, "a backend");
    *cuda = (struct cuda){
        .base = {.class = &backend_cuda, .device = device},
        .device = (struct cuda_device *)(uintptr_t)device,
        .graph = graph,
        .options = *options,
        .tuning_left_ns = (int64_t)(seconds * 1e9),
    };
    st = settle_precision(cuda, err);
    if (!st)
        st = cuda_enter(cuda->device, err);
    if (!st)
        st = cuda_make_lists(cuda, err);
    if (st) {
        cuda_free(&cuda->base);
        return st;
    }
    *out = &cuda->base;
    return ASSAY_OK;
}

/* In training much is kept between the passes: packed weights are not worth
 * it, as each is packed in a moment. */
static void cuda_pass_over(struct backend *backend)
{
    struct cuda *cuda = cuda_of(backend);

    cuda_choices_store(cuda);
    if (cuda->options.is_training)
        cuda_packed_forget(cuda);
}

static void cuda_choices(const struct backend *backend, struct sink *sink)
{
    cuda_choices_text(cuda_of(backend), sink);
}

static void cuda_settle(struct backend *backend)
{
    cuda_of(backend)->tuning_left_ns = 0;
}

static void cuda_parameters_changed(struct backend *backend)
{
    cuda_packed_forget(cuda_of(backend));
}

static void cuda_explain(const struct backend *backend, const struct node *node,
                         size_t at, struct sink *sink)
{
    const struct cuda *cuda = cuda_of(backend);

    (void)node;
    for (const struct cuda_chosen *chosen = cuda->chosen[at]; chosen;
         chosen = chosen->next)
        sink_printf(sink, "    %s: %s\n", chosen->plan.kernel, chosen->others);
    if (cuda->launched[at].read_back_bytes)
        sink_printf(sink,
                    "    the host reads back %zu bytes: the shapes of its "
                    "outputs are data\n",
                    cuda->launched[at].read_back_bytes);
}

static enum precision cuda_precision(const struct backend *backend)
{
    return cuda_of(backend)->precision;
}

static const char *cuda_kernel(const struct backend *backend,
                               const struct node *node, size_t at)
{
    const struct cuda *cuda = cuda_of(backend);

    (void)node;
    return cuda->kernels[at] ? cuda->kernels[at]
                             : launch_text(&cuda->launched[at]);
}

static double bytes_in(const struct tensor *x, enum dtype stored)
{
    return (double)(tensor_elements(x) * dtype_bytes(stored));
}

/* Values that are stored in fewer bits move fewer bytes than their type says,
 * and so do parameters, which are packed in the type of maps. */
static void cuda_executed(const struct backend *backend,
                          const struct node *node, size_t at,
                          const struct tensor *const *inputs,
                          const struct tensor *outputs, struct cost *cost)
{
    const struct cuda *cuda = cuda_of(backend);
    const struct graph *graph = cuda->graph;
    enum dtype packed = cuda_own_layout(cuda, 4)->stored;
    double whole = 0, moved = 0;

    (void)at;
    for (size_t i = 0; i < node->n_outputs; i++) {
        whole += bytes_in(&outputs[i], outputs[i].dtype);
        moved += bytes_in(&outputs[i], cuda_stored(&outputs[i]));
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        bool is_packed;

        if (!inputs[i])
            continue;
        is_packed =
            graph_value(graph, node->inputs[i])->kind == VALUE_PARAMETER &&
            inputs[i]->dtype == outputs[0].dtype;
        whole += bytes_in(inputs[i], inputs[i]->dtype);
        moved +=
            bytes_in(inputs[i], is_packed ? packed : cuda_stored(inputs[i]));
    }
    if (moved < whole)
        cost->done_bytes = (uint64_t)((double)cost->done_bytes * moved / whole);
}

static enum assay_status cuda_mark(struct backend *backend, bool is_end,
                                   struct error *err)
{
    return cuda_timing_mark(cuda_of(backend)->device, is_end, err);
}

static double cuda_between_marks(struct backend *backend)
{
    return cuda_timing_between(cuda_of(backend)->device);
}

static void cuda_timings(struct backend *backend, queue_visit *visit,
                         void *context)
{
    struct cuda_device *device = cuda_of(backend)->device;

    if (!cuda_enter(device, NULL))
        cuda_timing_visit(device, visit, context);
}

static void cuda_watch(struct backend *backend, bool is_watched)
{
    struct cuda_device *device = cuda_of(backend)->device;

    if (!cuda_enter(device, NULL))
        cuda_timing_watch(device, is_watched);
}

static void cuda_launching(struct backend *backend, uint32_t tag)
{
    cuda_timing_launching(cuda_of(backend)->device, tag);
}

static const char *cuda_timed_by(const struct backend *backend)
{
    return cuda_timing_text(cuda_of(backend)->device);
}

/* What our own kernels then do in their place. */
static void cuda_missing(const struct device *device, struct sink *sink)
{
    static const enum cuda_library wanted[] = {CUDA_CUDNN, CUDA_CUBLASLT};
    bool is_there[] = {cuda_cudnn_version()[0] != '\0', cuda_lt_is_there()};

    for (size_t i = 0; i < 2; i++) {
        const struct cuda_library_class *class =
            &cuda_library_classes[wanted[i]];
        const char *path = cuda_libraries()->paths[wanted[i]];
        struct error why = {0};

        if (is_there[i])
            continue;
        if (cuda_library_open(wanted[i]))
            (void)error_set(&why, ASSAY_UNSUPPORTED,
                            "%s does not have the functions of %s", path,
                            class->name);
        else
            (void)cuda_library_missing(wanted[i], &why);
        sink_printf(sink,
                    "%s: %s; %s are computed by kernels of our own, slowly\n",
                    device->name, why.text, class->what_for);
    }
}

static void cuda_library_text(char *text, size_t size)
{
    int version = 0;

    if (cuda_driver()->cuDriverGetVersion)
        (void)cuda_driver()->cuDriverGetVersion(&version);
    snprintf(text, size, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

const struct backend_class backend_cuda = {
    .name = "cuda",
    .api_version = BACKEND_API_VERSION,
    .make = cuda_make,
    .free = cuda_free,
    .can_run = cuda_can_run,
    .forward = cuda_forward,
    .can_backward = cuda_can_backward,
    .backward_reads = cuda_backward_reads,
    .backward = cuda_run_backward,
    .accumulate = cuda_accumulate,
    .math = &cuda_math,
    .synchronise = cuda_synchronise,
    .mark = cuda_mark,
    .between_marks = cuda_between_marks,
    .timings = cuda_timings,
    .watch = cuda_watch,
    .launching = cuda_launching,
    .timed_by = cuda_timed_by,
    .recording_begin = cuda_recording_begin,
    .recording_end = cuda_recording_end,
    .recording_run = cuda_recording_run,
    .recording_free = cuda_recording_free,
    .flights = &cuda_flights,
    .keep_rooms = cuda_keep_rooms,
    .rows = cuda_rows,
    .to_dense = cuda_to_dense,
    .parameters_changed = cuda_parameters_changed,
    .pass_over = cuda_pass_over,
    .choices = cuda_choices,
    .settle = cuda_settle,
    .explain = cuda_explain,
    .kernel = cuda_kernel,
    .executed = cuda_executed,
    .precision = cuda_precision,
    .missing = cuda_missing,
    .look = cuda_look,
    .measure = cuda_measure,
    .library = cuda_library_text,
};

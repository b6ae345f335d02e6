/* See far.h. */
#include "backend/far_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ops/ops.h"
#include "tensor/far_space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    far_bytes_log = sizeof(void *) * 4
}; /* 4 GiB, of which few are
      touched */

struct far_device *device_of(const struct backend *backend)
{
    return ((const struct far_backend *)backend)->device;
}

/* ---- tensors as the worker sees them ---------------------------------------
 */

/* The worker's view of a tensor. One on the host is copied, since the host may
 * change it once the call is over. */
static enum assay_status near_tensor(struct far_device *device,
                                     const struct tensor *tensor,
                                     struct tensor *out, struct error *err)
{
    size_t bytes = tensor_bytes(tensor);
    void *data = NULL;

    *out = *tensor;
    out->offset = 0;
    if (!tensor->buffer)
        return ASSAY_OK;
    if (!tensor_is_on_host(tensor))
        return buffer_wrap(far_near(device->far, tensor_data(tensor)), bytes,
                           NULL, NULL, &out->buffer, err);
    data = mem_alloc(bytes + 1);
    if (!data)
        return error_nomem(err, bytes, "a copy of an input");
    memcpy(data, tensor_data(tensor), bytes);
    return buffer_wrap(data, bytes, mem_free, data, &out->buffer, err);
}

enum assay_status near_add(struct far_device *device, struct near_list *to,
                           const struct tensor *tensor, struct error *err)
{
    size_t i = to->n++;

    assert(i < most);
    to->list[i] = NULL;
    if (!tensor)
        return ASSAY_OK;
    to->list[i] = &to->tensors[i];
    return near_tensor(device, tensor, &to->tensors[i], err);
}

static void near_release(struct near_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->list[i])
            tensor_release(&list->tensors[i]);
    }
}

/* ---- jobs ------------------------------------------------------------------
 */

static enum assay_status far_job_run(void *context, struct error *err)
{
    struct far_job *job = context;

    job->device->n_jobs++;
    return job->run(job, err);
}

static void far_job_free(void *context)
{
    struct far_job *job = context;

    near_release(&job->inputs);
    near_release(&job->outputs);
    near_release(&job->dy);
    near_release(&job->dx);
    tensor_release(&job->saved);
    mem_free(job);
}

enum assay_status
far_job_new(const struct backend *backend, const struct op_context *context,
            enum assay_status (*run)(struct far_job *job, struct error *err),
            struct far_job **out, struct error *err)
{
    struct far_job *job = mem_zalloc(sizeof *job);

    *out = job;
    if (!job)
        return error_nomem(err, sizeof *job, "a job");
    job->device = device_of(backend);
    job->run = run;
    job->context = *context;
    job->context.pool = job->device->scratch;
    job->context.dying = 0;
    job->context.saved = NULL;
    return ASSAY_OK;
}

/* ---- recordings ------------------------------------------------------------
 */

struct backend_recording {
    struct far_job **jobs;
    size_t n, capacity;
};

static enum assay_status far_recording_begin(struct backend *backend,
                                             struct error *err)
{
    struct far_device *device = device_of(backend);

    device->recording = mem_zalloc(sizeof *device->recording);
    return device->recording ? ASSAY_OK : error_nomem(err, 1, "a recording");
}

static void far_recording_free(struct backend *backend,
                               struct backend_recording *recording)
{
    (void)far_wait(device_of(backend)->far, NULL);
    for (size_t i = 0; recording && i < recording->n; i++)
        far_job_free(recording->jobs[i]);
    if (recording)
        mem_free(recording->jobs);
    mem_free(recording);
}

static enum assay_status far_recording_end(struct backend *backend,
                                           struct backend_recording **out,
                                           struct error *err)
{
    struct far_device *device = device_of(backend);

    (void)err;
    if (out)
        *out = device->recording;
    else
        far_recording_free(backend, device->recording);
    device->recording = NULL;
    return ASSAY_OK;
}

static enum assay_status
far_recording_run(struct backend *backend,
                  const struct backend_recording *recording, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < recording->n; i++)
        st = far_queue(device_of(backend)->far, 0, far_job_run,
                       recording->jobs[i], NULL, err);
    return st;
}

static enum assay_status far_job_record(struct far_job *job, struct error *err)
{
    struct backend_recording *recording = job->device->recording;

    if (!vec_grow(&recording->jobs, &recording->capacity, recording->n + 1,
                  sizeof(struct far_job *))) {
        far_job_free(job);
        return error_nomem(err, sizeof(struct far_job *), "a recording");
    }
    recording->jobs[recording->n++] = job;
    return ASSAY_OK;
}

enum assay_status far_job_queue(struct far_job *job, enum assay_status st,
                                struct error *err)
{
    if (!st && job->device->recording)
        return far_job_record(job, err);
    if (!st)
        return far_queue(job->device->far, job->context.tag, far_job_run, job,
                         far_job_free, err);
    if (job)
        far_job_free(job);
    return st;
}

/* ---- lists -----------------------------------------------------------------
 */

static void far_keep_rooms(struct backend *backend, bool keeps_rooms)
{
    device_of(backend)->keeps_rooms = keeps_rooms;
}

static struct backend_rows far_rows(const struct backend *backend,
                                    const struct node *node, size_t output)
{
    if (node->op != device_of(backend)->list_op)
        return (struct backend_rows){.kind = ROWS_AS_INPUTS};
    if (output)
        return (struct backend_rows){.kind = ROWS_FIXED};
    return (struct backend_rows){ROWS_COUNTED, node->outputs[1], -1};
}

/* Waits for the length of a list, unless it keeps its room. */
static enum assay_status far_cut_list(struct far_device *device,
                                      const struct node *node,
                                      struct tensor *outputs, struct error *err)
{
    enum assay_status st;

    if (node->op != device->list_op || device->keeps_rooms)
        return ASSAY_OK;
    st = far_wait(device->far, err);
    if (!st)
        outputs[0].shape.dims[0] =
            *(const int64_t *)far_near(device->far, tensor_data(&outputs[1]));
    return st;
}

/* ---- forward ---------------------------------------------------------------
 */

static bool is_refused(const struct far_device *device, const char *name)
{
    const char *at = device->refused;
    size_t n = strlen(name);

    for (; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t length = strcspn(at, " ");

        if ((length == n && strncmp(at, name, n) == 0) ||
            (length == 3 && strncmp(at, "all", 3) == 0))
            return true;
    }
    return false;
}

static bool far_can_run(const struct backend *backend, const struct node *node,
                        const struct tensor *const *inputs)
{
    (void)inputs;
    return node->op->infer && !node->n_bodies && !node->op->is_view &&
           !is_refused(device_of(backend), node->op->name);
}

/* What an op leaves for its backward pass is known only after it ran. */
static bool saves(const struct node *node)
{
    return node->op == &op_batch_norm_training || node->op->is_loss;
}

static enum assay_status run_forward(struct far_job *job, struct error *err)
{
    return job->node->op->forward(&job->context, job->node, job->inputs.list,
                                  job->outputs.tensors, err);
}

static enum assay_status make_outputs(const struct op_context *context,
                                      const struct node *node,
                                      struct tensor *outputs, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        struct shape shape = outputs[i].shape;

        st = tensor_new(context->pool, outputs[i].dtype, &shape, &outputs[i],
                        err);
    }
    return st;
}

/* Runs it to its end, and brings what it saved to the device. */
static enum assay_status forward_saving(struct far_job *job,
                                        const struct op_context *context,
                                        struct error *err)
{
    struct far_device *device = job->device;
    struct tensor saved = {0};
    enum assay_status st = ASSAY_OK;

    if (context->saved->buffer)
        st = near_tensor(device, context->saved, &saved, err);
    job->context.saved = &saved;
    st = far_job_queue(job, st, err);
    if (!st)
        st = far_wait(device->far, err);
    if (!st && saved.buffer && !context->saved->buffer)
        st = tensor_copy(context->pool, &saved, context->saved, err);
    tensor_release(&saved);
    return st;
}

static enum assay_status far_forward(struct backend *backend,
                                     const struct op_context *context,
                                     const struct node *node, size_t at,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    struct far_device *device = device_of(backend);
    struct far_job *job = NULL;
    enum assay_status st = node->op->infer(node, inputs, outputs, err);

    (void)at;
    if (!st)
        st = make_outputs(context, node, outputs, err);
    if (!st)
        st = far_job_new(backend, context, run_forward, &job, err);
    if (!st)
        job->node = node;
    for (size_t i = 0; !st && i < node->n_inputs; i++)
        st = near_add(device, &job->inputs, inputs[i], err);
    for (size_t i = 0; !st && i < node->n_outputs; i++)
        st = near_add(device, &job->outputs, &outputs[i], err);
    if (!st && context->saved && saves(node))
        return forward_saving(job, context, err);
    st = far_job_queue(job, st, err);
    return st ? st : far_cut_list(device, node, outputs, err);
}

/* ---- backward --------------------------------------------------------------
 */

static bool far_can_backward(const struct backend *backend,
                             const struct node *node)
{
    return node->op->backward && far_can_run(backend, node, NULL);
}

static struct op_reads far_backward_reads(const struct backend *backend,
                                          const struct node *node,
                                          uint64_t wanted)
{
    (void)backend;
    return node->op->backward_reads ? node->op->backward_reads(node, wanted)
                                    : (struct op_reads){0};
}

static enum assay_status run_backward(struct far_job *job, struct error *err)
{
    struct op_backward pass = {.inputs = job->inputs.list,
                               .outputs = job->outputs.tensors,
                               .saved = &job->saved,
                               .dy = job->dy.list,
                               .dx = job->dx.tensors,
                               .wanted = job->wanted};

    for (size_t i = 0; i < job->dx.n; i++) {
        if (job->dx.list[i])
            memset(tensor_data(&job->dx.tensors[i]), 0,
                   tensor_bytes(&job->dx.tensors[i]));
    }
    return job->node->op->backward(&job->context, job->node, &pass, err);
}

static enum assay_status far_backward(struct backend *backend,
                                      const struct op_context *context,
                                      const struct node *node, size_t at,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    struct far_device *device = device_of(backend);
    struct far_job *job;
    enum assay_status st =
        far_job_new(backend, context, run_backward, &job, err);

    (void)at;
    if (st)
        return st;
    job->node = node;
    job->wanted = pass->wanted;
    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        bool is_wanted = op_wants(pass, i);

        st = near_add(device, &job->inputs, pass->inputs[i], err);
        if (!st && is_wanted)
            st = tensor_new(context->pool, DTYPE_F32, &pass->inputs[i]->shape,
                            &pass->dx[i], err);
        if (!st)
            st = near_add(device, &job->dx, is_wanted ? &pass->dx[i] : NULL,
                          err);
    }
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        st = near_add(device, &job->outputs, &pass->outputs[i], err);
        if (!st)
            st = near_add(device, &job->dy, pass->dy[i], err);
    }
    if (!st)
        st = near_tensor(device, pass->saved, &job->saved, err);
    return far_job_queue(job, st, err);
}

/* ---- the backend -----------------------------------------------------------
 */

static const struct backend_class backend_far;

static enum assay_status far_make(const struct device *device,
                                  const struct graph *graph,
                                  const struct backend_options *options,
                                  struct backend **out, struct error *err)
{
    struct far_backend *backend = mem_zalloc(sizeof *backend);

    (void)graph, (void)options;
    *out = backend ? &backend->base : NULL;
    if (!backend)
        return error_nomem(err, sizeof *backend, "a backend");
    *backend =
        (struct far_backend){.base = {.class = &backend_far, .device = device},
                             .device = (struct far_device *)(uintptr_t)device};
    return ASSAY_OK;
}

static void far_backend_free(struct backend *backend)
{
    if (backend)
        (void)far_wait(device_of(backend)->far, NULL);
    mem_free(backend);
}

static enum assay_status far_synchronise(struct backend *backend,
                                         struct error *err)
{
    return far_wait(device_of(backend)->far, err);
}

static enum assay_status far_pass_mark(void *ns, struct error *err)
{
    (void)err;
    *(int64_t *)ns = clock_monotonic_ns();
    return ASSAY_OK;
}

static enum assay_status far_mark(struct backend *backend, bool is_end,
                                  struct error *err)
{
    struct far_device *device = device_of(backend);

    return far_queue(device->far, 0, far_pass_mark, &device->marks_ns[is_end],
                     NULL, err);
}

static double far_between_marks(struct backend *backend)
{
    const int64_t *ns = device_of(backend)->marks_ns;

    return (double)(ns[1] - ns[0]);
}

void far_device_marks(const struct far_device *device, int64_t ns[2])
{
    memcpy(ns, device->marks_ns, sizeof device->marks_ns);
}

struct timing_visit {
    queue_visit *visit;
    void *context;
};

static void visit_timing(void *context, const struct far_timing *timing)
{
    const struct timing_visit *to = context;
    struct queue_timing seen = {.tag = timing->tag,
                                .launched_ns = timing->launched_ns,
                                .begin_ns = timing->begin_ns,
                                .end_ns = timing->end_ns};

    to->visit(to->context, &seen);
}

static void far_backend_timings(struct backend *backend, queue_visit *visit,
                                void *context)
{
    struct timing_visit to = {visit, context};

    far_timings(device_of(backend)->far, visit_timing, &to);
}

static const struct backend_class backend_far = {
    .name = "far",
    .api_version = BACKEND_API_VERSION,
    .make = far_make,
    .free = far_backend_free,
    .can_run = far_can_run,
    .forward = far_forward,
    .can_backward = far_can_backward,
    .backward_reads = far_backward_reads,
    .backward = far_backward,
    .math = &far_math,
    .synchronise = far_synchronise,
    .mark = far_mark,
    .between_marks = far_between_marks,
    .timings = far_backend_timings,
    .recording_begin = far_recording_begin,
    .recording_end = far_recording_end,
    .recording_run = far_recording_run,
    .recording_free = far_recording_free,
    .flights = &far_flights,
    .keep_rooms = far_keep_rooms,
    .rows = far_rows,
};

struct far_device *far_device_new(const char *refused)
{
    struct far_device *device = mem_zalloc(sizeof *device);

    if (!device)
        abort();
    device->far = far_new("far:0", (size_t)1 << far_bytes_log);
    if (!device->far || pool_new(&device->scratch, NULL))
        abort();
    device->base = (struct device){.name = "far:0",
                                   .backend = &backend_far,
                                   .space = far_space(device->far)};
    device->refused = refused;
    return device;
}

void far_device_free(struct far_device *device)
{
    if (far_live_bytes(device->far))
        abort();
    far_free(device->far);
    pool_free(device->scratch);
    mem_free(device);
}

void far_device_lists(struct far_device *device, const struct op_class *op)
{
    device->list_op = op;
}

const struct device *far_device(const struct far_device *device)
{
    return &device->base;
}

uint64_t far_device_jobs(const struct far_device *device)
{
    (void)far_wait(device->far, NULL);
    return device->n_jobs;
}

/* backend/cuda/cuda_cudnn.c - see cuda_plan.h: convolutions by cuDNN's graph
 * interface, with what follows them fused where cuDNN has an engine for that.
 */
#include "backend/cuda/cuda_cudnn.h"

#include "backend/cuda/cuda_libraries.h"
#include "backend/cuda/cuda_plan.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { most_configs = 16, most_parts = 192 };

static const int64_t most_workspace_bytes = (int64_t)256 << 20;

enum tensor_id { ID_X = 1, ID_W, ID_BIAS, ID_RESIDUAL, ID_Y, ID_VIRTUAL };

/* ---- the library --------------------------------------------------------- */

static struct {
    struct cudnn_api api;
    size_t version;
    char text[32];
    bool is_there;
    pthread_once_t once;
    pthread_mutex_t lock;
    cudnn_handle handles[CUDA_MAX_DEVICES];
    const struct cuda_device *devices[CUDA_MAX_DEVICES];
} cudnn = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

#define CUDNN_NAME(name, parameters) #name,
static const char *const cudnn_names[] = {CUDNN_LIST(CUDNN_NAME)};
#undef CUDNN_NAME

static void cudnn_open(void)
{
    void *library;
    const char *missing;
    size_t (*version)(void);

    (void)cuda_library_open(CUDA_NVRTC); /* which it opens by name */
    (void)cuda_library_open(CUDA_CUBLASLT);
    library = cuda_library_open(CUDA_CUDNN);
    if (!library || !cuda_library_fill(library, cudnn_names,
                                       sizeof cudnn_names / sizeof *cudnn_names,
                                       &cudnn.api, &missing))
        return;
    version = (size_t(*)(void))(uintptr_t)dlsym(library, "cudnnGetVersion");
    cudnn.version = version ? version() : 0;
    if (cudnn.version >= 90000)
        snprintf(cudnn.text, sizeof cudnn.text, "%zu.%zu.%zu",
                 cudnn.version / 10000, cudnn.version / 100 % 100,
                 cudnn.version % 100);
    else
        snprintf(cudnn.text, sizeof cudnn.text, "%zu.%zu.%zu",
                 cudnn.version / 1000, cudnn.version / 100 % 10,
                 cudnn.version % 100);
    cudnn.is_there = true;
}

const char *cuda_cudnn_version(void)
{
    (void)pthread_once(&cudnn.once, cudnn_open);
    return cudnn.text;
}

/* The handle of a device, on its stream; NULL: cuDNN cannot be used. */
static cudnn_handle handle_of(const struct cuda_device *device)
{
    cudnn_handle handle = NULL;
    size_t i = 0;

    (void)pthread_once(&cudnn.once, cudnn_open);
    if (!cudnn.is_there)
        return NULL;
    pthread_mutex_lock(&cudnn.lock);
    while (i < CUDA_MAX_DEVICES - 1 && cudnn.devices[i] &&
           cudnn.devices[i] != device)
        i++;
    if (!cudnn.devices[i] && !cudnn.api.cudnnCreate(&handle) &&
        !cudnn.api.cudnnSetStream(handle, device->stream)) {
        cudnn.devices[i] = device;
        cudnn.handles[i] = handle;
    }
    handle = cudnn.devices[i] == device ? cudnn.handles[i] : NULL;
    pthread_mutex_unlock(&cudnn.lock);
    return handle;
}

/* ---- descriptors --------------------------------------------------------- */

/* Descriptors under way; whatever fails makes all of it fail. */
struct parts {
    cudnn_descriptor items[most_parts];
    size_t n;
    bool is_good;
};

static cudnn_descriptor part_new(struct parts *parts, int kind)
{
    cudnn_descriptor made = NULL;

    if (parts->n == most_parts ||
        cudnn.api.cudnnBackendCreateDescriptor(kind, &made)) {
        parts->is_good = false;
        return NULL;
    }
    parts->items[parts->n++] = made;
    return made;
}

static void part_set(struct parts *parts, cudnn_descriptor part, int attribute,
                     int type, int64_t n, const void *values)
{
    if (parts->is_good &&
        cudnn.api.cudnnBackendSetAttribute(part, attribute, type, n, values))
        parts->is_good = false;
}

static void part_refer(struct parts *parts, cudnn_descriptor part,
                       int attribute, cudnn_descriptor to)
{
    part_set(parts, part, attribute, CUDNN_TYPE_DESCRIPTOR, 1, &to);
}

static void part_finish(struct parts *parts, cudnn_descriptor part)
{
    if (parts->is_good && cudnn.api.cudnnBackendFinalize(part))
        parts->is_good = false;
}

static void parts_release(struct parts *parts)
{
    while (parts->n)
        (void)cudnn.api.cudnnBackendDestroyDescriptor(parts->items[--parts->n]);
}

/* ---- the graph of a job -------------------------------------------------- */

static int data_type(int stored)
{
    return stored == DTYPE_F16    ? CUDNN_DATA_F16
           : stored == DTYPE_BF16 ? CUDNN_DATA_BF16
                                  : CUDNN_DATA_F32;
}

/* Channels last: [n,c,h,w] with the strides of [n,h,w,c]. */
static cudnn_descriptor part_tensor(struct parts *parts, int64_t id, int type,
                                    const int64_t dims[4], bool is_virtual)
{
    cudnn_descriptor part = part_new(parts, CUDNN_TENSOR);
    int64_t strides[4] = {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1],
                          dims[1]};
    int64_t alignment = 16;

    part_set(parts, part, CUDNN_TENSOR_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    part_set(parts, part, CUDNN_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    part_set(parts, part, CUDNN_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    part_set(parts, part, CUDNN_TENSOR_ID, CUDNN_TYPE_INT64, 1, &id);
    part_set(parts, part, CUDNN_TENSOR_ALIGNMENT, CUDNN_TYPE_INT64, 1,
             &alignment);
    if (is_virtual)
        part_set(parts, part, CUDNN_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                 &is_virtual);
    part_finish(parts, part);
    return part;
}

static cudnn_descriptor part_convolution(struct parts *parts,
                                         const struct cuda_job *job,
                                         cudnn_descriptor x, cudnn_descriptor w,
                                         cudnn_descriptor y)
{
    static const int kinds[] = {[WAY_FORWARD] = CUDNN_OPERATION_CONVOLUTION,
                                [WAY_DATA] = CUDNN_OPERATION_DATA,
                                [WAY_WEIGHTS] = CUDNN_OPERATION_WEIGHTS};
    int more = job->way == WAY_DATA      ? CUDNN_DATA_MORE
               : job->way == WAY_WEIGHTS ? CUDNN_WEIGHTS_MORE
                                         : 0;
    cudnn_descriptor how = part_new(parts, CUDNN_CONVOLUTION);
    cudnn_descriptor part = part_new(parts, kinds[job->way]);
    int type = CUDNN_DATA_F32, mode = CUDNN_CROSS_CORRELATION;
    int64_t dimensions = 2;
    float one = 1, zero = 0;

    part_set(parts, how, CUDNN_CONVOLUTION_COMPUTE_TYPE, CUDNN_TYPE_DATA_TYPE,
             1, &type);
    part_set(parts, how, CUDNN_CONVOLUTION_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
             &mode);
    part_set(parts, how, CUDNN_CONVOLUTION_DIMENSIONS, CUDNN_TYPE_INT64, 1,
             &dimensions);
    part_set(parts, how, CUDNN_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2,
             job->dilation);
    part_set(parts, how, CUDNN_CONVOLUTION_STRIDES, CUDNN_TYPE_INT64, 2,
             job->stride);
    part_set(parts, how, CUDNN_CONVOLUTION_BEFORE, CUDNN_TYPE_INT64, 2,
             job->before);
    part_set(parts, how, CUDNN_CONVOLUTION_AFTER, CUDNN_TYPE_INT64, 2,
             job->after);
    part_finish(parts, how);
    part_refer(parts, part, CUDNN_FORWARD_CONVOLUTION + more, how);
    part_refer(parts, part, CUDNN_FORWARD_X + more, x);
    part_refer(parts, part, CUDNN_FORWARD_W + more, w);
    part_refer(parts, part, CUDNN_FORWARD_Y + more, y);
    part_set(parts, part, CUDNN_FORWARD_ALPHA + more, CUDNN_TYPE_FLOAT, 1,
             &one);
    part_set(parts, part, CUDNN_FORWARD_BETA + more, CUDNN_TYPE_FLOAT, 1,
             &zero);
    part_finish(parts, part);
    return part;
}

/* b NULL: a ReLU. */
static cudnn_descriptor part_pointwise(struct parts *parts, cudnn_descriptor x,
                                       cudnn_descriptor b, cudnn_descriptor y,
                                       double limit)
{
    cudnn_descriptor how = part_new(parts, CUDNN_POINTWISE);
    cudnn_descriptor part = part_new(parts, CUDNN_OPERATION_POINTWISE);
    int mode = b ? CUDNN_ADD : CUDNN_RELU, type = CUDNN_DATA_F32;

    part_set(parts, how, CUDNN_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
             &mode);
    part_set(parts, how, CUDNN_POINTWISE_PRECISION, CUDNN_TYPE_DATA_TYPE, 1,
             &type);
    if (limit > 0)
        part_set(parts, how, CUDNN_POINTWISE_RELU_UPPER, CUDNN_TYPE_DOUBLE, 1,
                 &limit);
    part_finish(parts, how);
    part_refer(parts, part, CUDNN_OP_POINTWISE, how);
    part_refer(parts, part, CUDNN_OP_POINTWISE_X, x);
    if (b)
        part_refer(parts, part, CUDNN_OP_POINTWISE_B, b);
    part_refer(parts, part, CUDNN_OP_POINTWISE_Y, y);
    part_finish(parts, part);
    return part;
}

/* The operations of a job in order, each reading what the one before made. The
 * residual comes before the bias: cuDNN has ready-made engines for that. */
struct chain {
    struct parts *parts;
    cudnn_descriptor operations[4];
    int64_t n;
    int n_left; /* operations that follow */
    const int64_t *dims;
    int type;
    cudnn_descriptor last; /* what the last one made */
};

static cudnn_descriptor chain_made(struct chain *chain)
{
    bool is_last = chain->n_left-- == 0;

    chain->last = part_tensor(
        chain->parts, is_last ? ID_Y : ID_VIRTUAL + chain->n,
        is_last ? chain->type : CUDNN_DATA_F32, chain->dims, !is_last);
    return chain->last;
}

static void chain_add(struct chain *chain, cudnn_descriptor term, double limit)
{
    cudnn_descriptor x = chain->last;

    chain->operations[chain->n] = NULL;
    chain->operations[chain->n] =
        part_pointwise(chain->parts, x, term, chain_made(chain), limit);
    chain->n++;
}

static cudnn_descriptor part_graph(struct parts *parts, cudnn_handle handle,
                                   const struct cuda_job *job, bool is_fused)
{
    int64_t x_dims[4] = {job->n, job->c, job->h, job->w};
    int64_t w_dims[4] = {job->o, job->c / job->groups, job->kh, job->kw};
    int64_t y_dims[4] = {job->n, job->o, job->oh, job->ow};
    int64_t bias_dims[4] = {1, job->o, 1, 1};
    int type = data_type(job->stored);
    int made = job->way == WAY_FORWARD ? data_type((int)job->made) : type;
    struct chain chain = {.parts = parts, .dims = y_dims, .type = made};
    cudnn_descriptor x = part_tensor(parts, ID_X, type, x_dims, false);
    cudnn_descriptor w = part_tensor(parts, ID_W, type, w_dims, false);
    cudnn_descriptor graph = part_new(parts, CUDNN_OPERATIONGRAPH);

    if (is_fused)
        chain.n_left = job->has_bias + job->has_residual + job->has_relu;
    chain.operations[chain.n++] =
        part_convolution(parts, job, x, w, chain_made(&chain));
    if (is_fused && job->has_residual)
        chain_add(&chain, part_tensor(parts, ID_RESIDUAL, type, y_dims, false),
                  0);
    if (is_fused && job->has_bias)
        chain_add(&chain, part_tensor(parts, ID_BIAS, made, bias_dims, false),
                  0);
    if (is_fused && job->has_relu)
        chain_add(&chain, NULL, (double)job->relu_limit);
    part_set(parts, graph, CUDNN_GRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    part_set(parts, graph, CUDNN_GRAPH_OPERATIONS, CUDNN_TYPE_DESCRIPTOR,
             chain.n, chain.operations);
    part_finish(parts, graph);
    return graph;
}

/* ---- engines ------------------------------------------------------------- */

/* What cuDNN suggests, its favourite first. */
static size_t list_configs(struct parts *parts, cudnn_descriptor graph,
                           int mode, cudnn_descriptor *configs)
{
    cudnn_descriptor rules = part_new(parts, CUDNN_ENGINEHEUR);
    int64_t n = 0;

    part_refer(parts, rules, CUDNN_ENGINEHEUR_GRAPH, graph);
    part_set(parts, rules, CUDNN_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
             &mode);
    part_finish(parts, rules);
    for (size_t i = 0; i < most_configs; i++)
        configs[i] = part_new(parts, CUDNN_ENGINECFG);
    if (!parts->is_good ||
        cudnn.api.cudnnBackendGetAttribute(rules, CUDNN_ENGINEHEUR_RESULTS,
                                           CUDNN_TYPE_DESCRIPTOR, most_configs,
                                           &n, configs))
        return 0;
    return n < most_configs ? (size_t)n : most_configs;
}

/* In 16 bits, what large tiles of Winograd's transform make has too few. */
static bool is_note_allowed(int note, const struct cuda_job *job)
{
    bool is_f32 = job->stored == DTYPE_F32;

    if (note == CUDNN_NOTE_NONDETERMINISTIC || note == CUDNN_NOTE_REDUCED_SUMS)
        return false;
    if (!is_f32)
        return note < CUDNN_NOTE_WINOGRAD_4X4 ||
               note > CUDNN_NOTE_WINOGRAD_13X13;
    return note != CUDNN_NOTE_DOWN_CONVERT &&
           (note != CUDNN_NOTE_TENSOR_CORE || job->precision != PRECISION_FP32);
}

/* Whether an engine computes as precisely as was asked for, and the same every
 * time. */
static bool is_allowed(struct parts *parts, cudnn_descriptor config,
                       const struct cuda_job *job, int64_t *index)
{
    cudnn_descriptor engine = part_new(parts, CUDNN_ENGINE);
    int notes[CUDNN_N_NOTES];
    int64_t n = 0, one = 0;

    *index = -1;
    if (!parts->is_good || cudnn.api.cudnnBackendGetAttribute(
                               config, CUDNN_ENGINECFG_ENGINE,
                               CUDNN_TYPE_DESCRIPTOR, 1, &one, &engine))
        return false;
    (void)cudnn.api.cudnnBackendGetAttribute(engine, CUDNN_ENGINE_INDEX,
                                             CUDNN_TYPE_INT64, 1, &one, index);
    if (cudnn.api.cudnnBackendGetAttribute(engine, CUDNN_ENGINE_NOTES,
                                           CUDNN_TYPE_NUMERICAL_NOTE,
                                           CUDNN_N_NOTES, &n, notes))
        n = 0;
    for (int64_t i = 0; i < n && i < CUDNN_N_NOTES; i++) {
        if (!is_note_allowed(notes[i], job))
            return false;
    }
    return true;
}

struct cudnn_plan {
    cudnn_descriptor plan, config;
    cudnn_handle handle;
};

void cudnn_plan_free(struct cudnn_plan *plan)
{
    if (!plan)
        return;
    if (plan->plan)
        (void)cudnn.api.cudnnBackendDestroyDescriptor(plan->plan);
    if (plan->config)
        (void)cudnn.api.cudnnBackendDestroyDescriptor(plan->config);
    mem_free(plan);
}

/* The descriptor is no longer one of the parts. */
static void part_keep(struct parts *parts, cudnn_descriptor part)
{
    for (size_t i = 0; i < parts->n; i++) {
        if (parts->items[i] == part) {
            parts->items[i] = parts->items[--parts->n];
            return;
        }
    }
}

/* A plan of one configuration; NULL where it does not work. */
static struct cudnn_plan *build_plan(struct parts *parts, cudnn_handle handle,
                                     cudnn_descriptor config,
                                     size_t *workspace_bytes)
{
    struct cudnn_plan *made = mem_zalloc(sizeof *made);
    cudnn_descriptor plan = part_new(parts, CUDNN_PLAN);
    int64_t bytes = 0, one = 0;

    part_set(parts, plan, CUDNN_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    part_refer(parts, plan, CUDNN_PLAN_ENGINECFG, config);
    part_finish(parts, plan);
    if (!made || !parts->is_good ||
        cudnn.api.cudnnBackendGetAttribute(plan, CUDNN_PLAN_WORKSPACE,
                                           CUDNN_TYPE_INT64, 1, &one, &bytes) ||
        bytes > most_workspace_bytes) {
        mem_free(made);
        return NULL;
    }
    part_keep(parts, plan);
    part_keep(parts, config);
    *made = (struct cudnn_plan){plan, config, handle};
    *workspace_bytes = (size_t)bytes;
    return made;
}

/* Rules of two kinds: what suits best, then what always works. `configs` has
 * room for the most of both. */
static size_t list_all(struct parts *parts, cudnn_descriptor graph,
                       bool is_fused, bool is_gradient,
                       cudnn_descriptor *configs)
{
    size_t n = list_configs(
        parts, graph, cudnn.version >= 8300 ? CUDNN_HEUR_A : CUDNN_HEUR_INSTANT,
        configs);

    /* A gradient's favourites may all be of the kind that is not allowed. */
    if (is_fused || (n && !is_gradient))
        return n;
    parts->is_good = true;
    return n + list_configs(parts, graph, CUDNN_HEUR_FALLBACK, configs + n);
}

struct cudnn_list {
    struct parts parts;
    cudnn_handle handle;
    const struct cuda_job *job;
    bool is_fused;
    cudnn_descriptor configs[2 * most_configs];
    size_t n, at; /* how many, and the next one */
};

struct cudnn_list *cudnn_list_open(struct cuda_device *device,
                                   const struct cuda_job *job, bool is_fused)
{
    cudnn_handle handle = handle_of(device);
    struct cudnn_list *list = handle ? mem_zalloc(sizeof *list) : NULL;
    cudnn_descriptor graph;

    if (!list)
        return NULL;
    list->parts.is_good = true;
    list->handle = handle;
    list->job = job;
    list->is_fused = is_fused;
    graph = part_graph(&list->parts, handle, job, is_fused);
    if (list->parts.is_good)
        list->n = list_all(&list->parts, graph, is_fused,
                           job->way != WAY_FORWARD, list->configs);
    return list;
}

void cudnn_list_close(struct cudnn_list *list)
{
    if (list)
        parts_release(&list->parts);
    mem_free(list);
}

/* The plan of the list's next configuration. */
static bool list_make(struct cudnn_list *list, struct cuda_plan *plan)
{
    size_t i = list->at++, workspace_bytes = 0;
    int64_t index = -1;

    *plan = (struct cuda_plan){0};
    list->parts.is_good = true; /* whatever the one before was */
    if (is_allowed(&list->parts, list->configs[i], list->job, &index))
        plan->cudnn = build_plan(&list->parts, list->handle, list->configs[i],
                                 &workspace_bytes);
    if (!plan->cudnn)
        return false;
    plan->kind = PLAN_CUDNN;
    plan->workspace_bytes = workspace_bytes;
    plan->is_bare = !list->is_fused;
    snprintf(plan->name, sizeof plan->name, "cudnn %s %zu",
             list->is_fused ? "fused" : "bare", i);
    snprintf(plan->kernel, sizeof plan->kernel, "cuDNN engine %lld%s",
             (long long)index, list->is_fused ? ", fused" : "");
    return true;
}

bool cudnn_list_next(struct cudnn_list *list, struct cuda_plan *plan)
{
    while (list && list->at < list->n) {
        if (list_make(list, plan))
            return true;
    }
    return false;
}

bool cudnn_plan_make(struct cuda_device *device, const struct cuda_job *job,
                     bool is_fused, size_t i, struct cuda_plan *plan)
{
    struct cudnn_list *list = cudnn_list_open(device, job, is_fused);
    bool is_made = false;

    *plan = (struct cuda_plan){0};
    if (list && i < list->n) {
        list->at = i;
        is_made = list_make(list, plan);
    }
    cudnn_list_close(list);
    return is_made;
}

enum assay_status cudnn_plan_run(struct cuda_call *call,
                                 const struct cuda_plan *plan,
                                 const struct cuda_operands *operands)
{
    const struct cudnn_plan *made = plan->cudnn;
    struct parts parts = {.is_good = true};
    cudnn_descriptor pack = part_new(&parts, CUDNN_VARIANT_PACK);
    int64_t ids[5] = {ID_X, ID_W, ID_Y};
    void *pointers[5] = {(void *)(uintptr_t)operands->x,
                         (void *)(uintptr_t)operands->w,
                         (void *)(uintptr_t)operands->y};
    void *workspace = (void *)(uintptr_t)operands->workspace;
    int64_t n = 3;
    int result = -1;

    if (operands->bias && !plan->is_bare) {
        ids[n] = ID_BIAS;
        pointers[n++] = (void *)(uintptr_t)operands->bias;
    }
    if (operands->residual && !plan->is_bare) {
        ids[n] = ID_RESIDUAL;
        pointers[n++] = (void *)(uintptr_t)operands->residual;
    }
    part_set(&parts, pack, CUDNN_PACK_IDS, CUDNN_TYPE_INT64, n, ids);
    part_set(&parts, pack, CUDNN_PACK_POINTERS, CUDNN_TYPE_VOID_PTR, n,
             pointers);
    part_set(&parts, pack, CUDNN_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
             &workspace);
    part_finish(&parts, pack);
    if (parts.is_good)
        result = cudnn.api.cudnnBackendExecute(made->handle, made->plan, pack);
    parts_release(&parts);
    if (!result)
        return ASSAY_OK;
    return error_set(call->err, ASSAY_IO,
                     "%s (cuDNN %s) failed on %s with status %d", plan->kernel,
                     cudnn.text, call->cuda->device->name, result);
}

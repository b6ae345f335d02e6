/* backend/dnnl/own_winograd.c - our own Winograd kernels among the candidates
 * for a convolution. oneDNN 2 has one with AVX-512 only, oneDNN 3 has none. */
#include "backend/dnnl/own_winograd.h"

#include "backend/winograd/winograd.h"
#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name; /* oneDNN's for its own end alike */
    enum winograd_tile tile;
    enum order weights;
    int64_t taps, stride;
} kinds[] = {
    {"winograd assay_4x3", WINOGRAD_4, ORDER_WINOGRAD_4X3, 3, 1},
    {"winograd assay_2x3", WINOGRAD_2, ORDER_WINOGRAD_2X3, 3, 1},
    {"winograd assay_2x3s2", WINOGRAD_2, ORDER_WINOGRAD_2X3_BY_2, 3, 2},
    {"winograd assay_2x5", WINOGRAD_2, ORDER_WINOGRAD_2X5, 5, 1}};

enum { n_kinds = sizeof kinds / sizeof *kinds };

struct own_winograd {
    struct winograd plan;
    struct layout scratch; /* only its size counts */
};

/* Whether a dilation is the same both ways and leaves phases that are worth a
 * tile. */
static bool can_dilate(const struct job *job, int64_t stride)
{
    enum { least_phase = 3 };
    const int64_t *dilation = conv2d_attrs(job->node)->dilation;

    if (dilation[0] == 1 && dilation[1] == 1)
        return true;
    return stride == 1 && dilation[0] == dilation[1] &&
           job->y.dims[2] >= least_phase * dilation[0] &&
           job->y.dims[3] >= least_phase * dilation[0];
}

/* Groups of whole blocks, or one of any channels. */
static bool has_whole_groups(const struct job *job)
{
    int64_t groups = conv2d_attrs(job->node)->groups, block = winograd_lanes();
    const int64_t *w = job->weight->shape.dims;

    return groups == 1 ||
           (block && w[1] % block == 0 && w[0] % (groups * block) == 0);
}

/* A stride and 5 taps are for inference alone. Where there are few channels,
 * transforms take longer than what they save. */
static bool can_do(const struct job *job, size_t kind)
{
    enum { few_channels = 8 };
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;
    int64_t stride = kinds[kind].stride, taps = kinds[kind].taps;

    if (job->direction == DIRECTION_WEIGHTS || job->workspace ||
        job->node->op != &op_conv2d || !has_whole_groups(job))
        return false;
    for (int i = 0; i < 2; i++) {
        if (w[2 + i] != taps || attrs->stride[i] != stride)
            return false;
    }
    if (!can_dilate(job, stride))
        return false;
    if ((stride > 1 || taps > 3) && (job->direction != DIRECTION_FORWARD ||
                                     job->is_training || w[1] < few_channels))
        return false;
    return winograd_lanes() > 0;
}

void own_winograd_list(const struct job *job, struct candidates *list)
{
    for (size_t i = 0; i < n_kinds && list->n < MAX_CANDIDATES; i++) {
        struct candidate *next = &list->items[list->n];

        if (!can_do(job, i))
            continue;
        list->n++;
        next->ms = -1;
        snprintf(next->name, sizeof next->name, "%s:%s", kinds[i].name,
                 winograd_instructions());
    }
}

/* Without what follows the colon; n_kinds where it is none of ours. */
static size_t find_kind(const char *name)
{
    size_t i = 0;

    while (i < n_kinds && strncmp(kinds[i].name, name, strcspn(name, ":")) != 0)
        i++;
    return i;
}

bool own_winograd_has(const char *name)
{
    return find_kind(name) < n_kinds;
}

/* On the way back what was before the first row reaches over the last. */
static struct winograd_shape shape_of_job(const struct job *job)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *x = job->x->shape.dims, *y = job->y.dims;
    bool is_backward = job->direction == DIRECTION_DATA;
    int64_t reach = 2 * attrs->dilation[0];

    return (struct winograd_shape){
        .images = x[0],
        .groups = attrs->groups,
        .in_channels = x[1] / attrs->groups,
        .out_channels = y[1] / attrs->groups,
        .in_height = x[2],
        .in_width = x[3],
        .out_height = y[2],
        .out_width = y[3],
        .top = is_backward ? reach - attrs->before[0] : attrs->before[0],
        .left = is_backward ? reach - attrs->before[1] : attrs->before[1],
        .stride = attrs->stride[0],
        .dilation = attrs->dilation[0],
        .taps = job->weight->shape.dims[2],
        .is_backward = is_backward};
}

static enum assay_status set_layouts(struct onednn *dn, const struct job *job,
                                     size_t kind, struct kernel *kernel,
                                     struct error *err)
{
    struct own_winograd *own = kernel->winograd;
    const struct winograd_shape *shape = &own->plan.shape;
    struct shape weights =
        shape_of(5, shape->groups, shape->out_channels, shape->in_channels,
                 shape->taps, shape->taps);

    own->scratch.bytes = winograd_scratch_bytes(&own->plan);
    kernel->scratch = &own->scratch;
    kernel_set_blocks(dn, job, kernel);
    kernel->weights = layout_transformed(dn, &weights, kinds[kind].weights,
                                         winograd_weight_bytes(&own->plan));
    return kernel_check_layouts(kernel, err);
}

enum assay_status own_winograd_make(struct onednn *dn, const struct job *job,
                                    const char *name, struct kernel **out,
                                    struct error *err)
{
    struct winograd_shape shape;
    size_t kind = find_kind(name);
    struct kernel *kernel;
    enum assay_status st;

    *out = NULL;
    if (kind == n_kinds || !can_do(job, kind))
        return error_set(err, ASSAY_NOT_FOUND, "there is no kernel %s", name);
    kernel = kernel_new(job);
    if (kernel)
        kernel->winograd = mem_zalloc(sizeof *kernel->winograd);
    if (!kernel || !kernel->winograd) {
        kernel_free(kernel);
        return error_nomem(err, sizeof *kernel->winograd, "a kernel");
    }
    shape = shape_of_job(job);
    winograd_plan(kinds[kind].tile, &shape, omp_get_max_threads(),
                  parts_limit(dn), &kernel->winograd->plan);
    st = set_layouts(dn, job, kind, kernel, err);
    if (st)
        kernel_free(kernel);
    else
        *out = kernel;
    return st;
}

uint64_t own_winograd_tiles(const struct kernel *kernel)
{
    return (uint64_t)kernel->winograd->plan.n_tiles;
}

uint64_t own_winograd_inputs(const struct kernel *kernel)
{
    return (uint64_t)kernel->winograd->plan.shape.in_channels;
}

void own_winograd_pack(const struct kernel *kernel, const float *weights,
                       float *packed)
{
    winograd_pack(&kernel->winograd->plan, weights, packed);
}

void own_winograd_run(const struct job *job, const struct kernel *kernel,
                      const struct operands *operands, void *scratch)
{
    struct winograd_call call = {.x = operands->src,
                                 .weights = operands->weights,
                                 .y = operands->dst,
                                 .scratch = scratch};

    if (job->direction == DIRECTION_FORWARD) {
        call.bias = job->bias ? tensor_f32(job->bias) : NULL;
        call.adds = job->residual != NULL;
        call.then = job_activation(job);
    }
    winograd_run(&kernel->winograd->plan, &call);
}

/* backend/dnnl/own_direct.c - our own kernels for convolutions of 1x1 and for
 * those of each channel on its own, instead of oneDNN's. */
#include "backend/dnnl/channel_affine.h"

#include "backend/direct/direct.h"
#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

struct own_direct {
    struct direct plan;    /* first: what a kernel points to */
    struct layout scratch; /* only its size counts */
};

static bool is_square(const struct job *job)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;

    return w[2] == w[3] && attrs->stride[0] == attrs->stride[1] &&
           attrs->dilation[0] == 1 && attrs->dilation[1] == 1;
}

static bool has_padding(const struct conv2d_attrs *attrs)
{
    return attrs->before[0] || attrs->before[1] || attrs->after[0] ||
           attrs->after[1];
}

static struct direct_shape direct_shape_of(const struct job *job)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *x = job->x->shape.dims, *y = job->y.dims;

    return (struct direct_shape){.images = x[0],
                                 .in_channels = x[1],
                                 .out_channels = y[1],
                                 .in_height = x[2],
                                 .in_width = x[3],
                                 .out_height = y[2],
                                 .out_width = y[3],
                                 .kernel = job->weight->shape.dims[2],
                                 .stride = attrs->stride[0],
                                 .top = attrs->before[0],
                                 .left = attrs->before[1],
                                 .group = job->weight->shape.dims[1]};
}

/* With several threads oneDNN's are faster as often as not, where there are
 * more than a few outputs: there they run against each other. */
static bool wants_pointwise(const struct job *job)
{
    struct direct_shape shape = direct_shape_of(job);
    struct direct plan;

    return omp_get_max_threads() == 1 || pending_of(job->x) ||
           (direct_plan(DIRECT_POINTWISE, &shape, 1, &plan) && plan.narrow);
}

/* Which one can do the job; false: none. */
static bool find_direct(const struct onednn *dn, const struct job *job,
                        enum direct_kind *kind)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;
    struct direct_shape shape;

    if (dn->options.is_plain || dn->narrow ||
        job->direction != DIRECTION_FORWARD || job->is_training ||
        job->is_band || job->node->op != &op_conv2d || !direct_lanes() ||
        !is_square(job))
        return false;
    shape = direct_shape_of(job);
    *kind = w[1] == 1 ? DIRECT_DEPTHWISE : DIRECT_GROUPED;
    if (attrs->groups == 1)
        *kind = w[2] == 1 ? DIRECT_POINTWISE : DIRECT_STEM;
    if (!direct_takes(*kind, &shape))
        return false;
    switch (*kind) {
    case DIRECT_POINTWISE:
        return !has_padding(attrs);
    case DIRECT_STEM:
        return !job->residual && !job->x->layout;
    case DIRECT_DEPTHWISE:
    case DIRECT_GROUPED:
        break;
    }
    return attrs->groups * w[1] == w[0] && !job->residual;
}

bool own_direct_takes(const struct onednn *dn, const struct job *job)
{
    enum direct_kind kind;

    return find_direct(dn, job, &kind) &&
           (kind == DIRECT_DEPTHWISE || kind == DIRECT_GROUPED ||
            (kind == DIRECT_POINTWISE && wants_pointwise(job)));
}

static void direct_name(enum direct_kind kind, char *name, size_t size)
{
    static const char *const names[] = {[DIRECT_POINTWISE] = "1x1",
                                        [DIRECT_DEPTHWISE] = "dw",
                                        [DIRECT_GROUPED] = "groups",
                                        [DIRECT_STEM] = "stem"};

    snprintf(name, size, "direct assay_%s:%s", names[kind],
             direct_instructions());
}

void own_direct_list(const struct onednn *dn, const struct job *job,
                     struct candidates *list)
{
    struct candidate *next = &list->items[list->n];
    enum direct_kind kind;

    if (!find_direct(dn, job, &kind) || kind == DIRECT_DEPTHWISE ||
        kind == DIRECT_GROUPED || list->n == MAX_CANDIDATES)
        return;
    next->ms = -1;
    direct_name(kind, next->name, sizeof next->name);
    list->n++;
}

bool own_direct_has(const char *name)
{
    static const char begin[] = "direct assay_";

    return strncmp(name, begin, sizeof begin - 1) == 0;
}

static enum assay_status direct_set_layouts(struct onednn *dn,
                                            const struct job *job,
                                            struct kernel *kernel,
                                            struct error *err)
{
    kernel_set_blocks(dn, job, kernel);
    if (kernel->direct->kind == DIRECT_STEM)
        kernel->src = kernel->part_src = layout_dense(dn, &job->x->shape);
    kernel->weights =
        layout_transformed(dn, &job->weight_layout->shape, ORDER_DIRECT,
                           direct_weight_bytes(kernel->direct));
    return kernel_check_layouts(kernel, err);
}

enum assay_status own_direct_make(struct onednn *dn, const struct job *job,
                                  struct kernel **out, struct error *err)
{
    struct direct_shape shape = direct_shape_of(job);
    struct kernel *kernel = kernel_new(job);
    struct own_direct *own = mem_zalloc(sizeof *own);
    struct candidate *candidate;
    enum direct_kind kind = DIRECT_POINTWISE;
    enum assay_status st;

    *out = NULL;
    if (kernel && own)
        kernel->direct = &own->plan;
    if (!kernel || !own) {
        mem_free(own);
        kernel_free(kernel);
        return error_nomem(err, sizeof *kernel, "a kernel");
    }
    if (!find_direct(dn, job, &kind) ||
        !direct_plan(kind, &shape, omp_get_max_threads(), kernel->direct)) {
        kernel_free(kernel);
        return error_set(err, ASSAY_NOT_FOUND, "there is no such kernel");
    }
    candidate = kernel_sole_candidate(kernel, "by rule of thumb");
    direct_name(kind, candidate->name, sizeof candidate->name);
    own->scratch.bytes =
        direct_scratch_bytes(&own->plan, pending_of(job->x) != NULL);
    kernel->scratch = &own->scratch;
    st = direct_set_layouts(dn, job, kernel, err);
    if (st)
        kernel_free(kernel);
    else
        *out = kernel;
    return st;
}

uint64_t own_direct_pairs(const struct kernel *kernel)
{
    const struct direct *direct = kernel->direct;

    if (direct->kind == DIRECT_DEPTHWISE)
        return (uint64_t)kernel->dst->channels;
    if (direct->narrow)
        return (uint64_t)(kernel->src->channels * direct->narrow);
    return (uint64_t)(direct->shape.in_channels * kernel->dst->channels);
}

void own_direct_pack(const struct kernel *kernel, const float *weights,
                     float *packed)
{
    direct_pack(kernel->direct, weights, packed);
}

bool own_direct_completes(const struct job *job, const struct kernel *kernel)
{
    const struct pending *pending = pending_of(job->x);

    return pending && kernel->direct &&
           kernel->direct->kind == DIRECT_POINTWISE &&
           pending->base == kernel->src;
}

/* What is pending of x, where the kernel does it. */
static struct direct_before find_before(const struct job *job,
                                        const struct kernel *kernel)
{
    const struct pending *pending = pending_of(job->x);

    if (!own_direct_completes(job, kernel))
        return (struct direct_before){.scale = NULL};
    return (struct direct_before){.scale = pending->scale,
                                  .shift = pending->shift,
                                  .has_relu = pending->has_relu};
}

void own_direct_run(const struct job *job, const struct kernel *kernel,
                    const struct operands *operands, void *scratch)
{
    struct direct_call call = {.x = operands->src,
                               .scratch = scratch,
                               .before = find_before(job, kernel),
                               .weights = operands->weights,
                               .bias = job->bias ? tensor_f32(job->bias) : NULL,
                               .y = operands->dst,
                               .adds = job->residual != NULL,
                               .then = job_activation(job)};

    direct_run(kernel->direct, &call);
}

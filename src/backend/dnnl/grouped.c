/* backend/dnnl/grouped.c - convolutions of 1x1 in groups, on maps in channel
 * blocks: where groups do not fill whole blocks, oneDNN wants dense maps or
 * blocks of 4, and where they do it is slower.
 *
 * A panel of output blocks reads the channels of the groups that it lies in,
 * with weights of 0 where an output is of another group. Channels are found by
 * a list of pointers, so they need not lie in order, nor in one map: the same
 * kernel is that of a PickConv2d. */
#include "backend/dnnl/grouped.h"

#include "backend/direct/direct.h"
#include "base/mem.h"
#include "ops/convolution/pick_conv2d.h"
#include "ops/movement/pick_channels.h"
#include "ops/ops.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

/* One or two output blocks that read the same channels, and where their weights
 * are: a vector of each block for each of these. */
struct grouped_panel {
    int64_t block, n_blocks;
    int64_t first, end; /* channels of x */
    int64_t weights;
};

struct grouped {
    struct layout scratch; /* only its size counts */
    int64_t width;         /* channels per block */
    int64_t each;          /* outputs per group */
    int64_t in_channels;   /* of all groups */
    int64_t n_panels;
    struct grouped_panel panels[];
};

/* ---- the plan ------------------------------------------------------------ */

/* The channels that a block of outputs reads. */
static struct grouped_panel grouped_block(const struct grouped *plan,
                                          const struct job *job, int64_t block)
{
    int64_t out = job->weight->shape.dims[0], in = job->weight->shape.dims[1];
    int64_t end = (block + 1) * plan->width;

    end = end < out ? end : out;
    return (struct grouped_panel){.block = block,
                                  .n_blocks = 1,
                                  .first =
                                      block * plan->width / plan->each * in,
                                  .end = ((end - 1) / plan->each + 1) * in};
}

static void grouped_divide(struct grouped *plan, const struct job *job,
                           int64_t n_blocks)
{
    int64_t at = 0;

    for (int64_t b = 0; b < n_blocks;) {
        struct grouped_panel panel = grouped_block(plan, job, b);

        for (int64_t k = 1; k < DIRECT_PANEL && b + k < n_blocks; k++) {
            struct grouped_panel next = grouped_block(plan, job, b + k);

            if (next.first != panel.first || next.end != panel.end)
                break;
            panel.n_blocks++;
        }
        panel.weights = at;
        at += (panel.end - panel.first) * panel.n_blocks * plan->width;
        b += panel.n_blocks;
        plan->panels[plan->n_panels++] = panel;
    }
}

static struct grouped *grouped_plan(const struct job *job)
{
    int64_t groups = conv2d_attrs(job->node)->groups, width = direct_lanes();
    int64_t out = job->weight->shape.dims[0];
    int64_t n_blocks = (out + width - 1) / width;
    struct grouped *plan =
        mem_zalloc(sizeof *plan + (size_t)n_blocks * sizeof *plan->panels);

    if (!plan)
        return NULL;
    plan->width = width;
    plan->each = out / groups;
    plan->in_channels = job->weight->shape.dims[1] * groups;
    plan->scratch.bytes =
        (size_t)(job->y.dims[0] * plan->in_channels) * sizeof(const float *);
    grouped_divide(plan, job, n_blocks);
    return plan;
}

static size_t grouped_weight_bytes(const struct grouped *plan)
{
    const struct grouped_panel *last = &plan->panels[plan->n_panels - 1];

    return (size_t)(last->weights +
                    (last->end - last->first) * last->n_blocks * plan->width) *
           sizeof(float);
}

/* Output o of the graph's weights, all of whose channels are in one group. */
static void grouped_pack_output(const struct grouped *plan,
                                const struct grouped_panel *panel, int64_t o,
                                const float *weights, int64_t in, float *to)
{
    int64_t block = o / plan->width - panel->block;

    to += panel->weights + block * plan->width + o % plan->width;
    to += (o / plan->each * in - panel->first) * panel->n_blocks * plan->width;
    for (int64_t c = 0; c < in; c++)
        to[c * panel->n_blocks * plan->width] = weights[o * in + c];
}

void grouped_pack(const struct kernel *kernel, const float *weights,
                  float *packed)
{
    const struct grouped *plan = kernel->grouped;
    int64_t out = kernel->y.dims[1], in = plan->in_channels * plan->each / out;

    memset(packed, 0, grouped_weight_bytes(plan));
    for (int64_t n = 0; n < plan->n_panels; n++) {
        const struct grouped_panel *panel = &plan->panels[n];
        int64_t end = (panel->block + panel->n_blocks) * plan->width;

        for (int64_t o = panel->block * plan->width; o < end && o < out; o++)
            grouped_pack_output(plan, panel, o, weights, in, packed);
    }
}

/* ---- the kernel ---------------------------------------------------------- */

bool grouped_takes(const struct onednn *dn, const struct job *job)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;

    if (dn->options.is_plain || job->direction != DIRECTION_FORWARD ||
        job->is_training || job->node->op != &op_conv2d || w[1] < 4 ||
        !direct_lanes() || attrs->groups == 1)
        return false;
    for (int i = 0; i < 2; i++) {
        if (w[2 + i] != 1 || attrs->stride[i] != 1 || attrs->before[i] ||
            attrs->after[i])
            return false;
    }
    return true;
}

static enum assay_status grouped_set_layouts(struct onednn *dn,
                                             const struct job *job,
                                             struct kernel *kernel,
                                             struct error *err)
{
    kernel_set_blocks(dn, job, kernel);
    kernel->scratch = &kernel->grouped->scratch;
    kernel->weights =
        layout_transformed(dn, &job->weight_layout->shape, ORDER_GROUPED,
                           grouped_weight_bytes(kernel->grouped));
    return kernel_check_layouts(kernel, err);
}

enum assay_status grouped_make(struct onednn *dn, const struct job *job,
                               struct kernel **out, struct error *err)
{
    struct kernel *kernel = kernel_new(job);
    struct candidate *candidate;
    enum assay_status st;

    *out = NULL;
    if (kernel)
        kernel->grouped = grouped_plan(job);
    if (!kernel || !kernel->grouped) {
        kernel_free(kernel);
        return error_nomem(err, sizeof *kernel, "a kernel");
    }
    candidate = kernel_sole_candidate(kernel, "the only one");
    snprintf(candidate->name, sizeof candidate->name, "direct assay_%s:%s",
             job->pick ? "picked" : "grouped", direct_instructions());
    st = grouped_set_layouts(dn, job, kernel, err);
    if (st)
        kernel_free(kernel);
    else
        *out = kernel;
    return st;
}

/* ---- running ------------------------------------------------------------- */

/* An image of a map in blocks. */
struct grouped_map {
    const float *at;
    int64_t channels;
};

static struct grouped_map grouped_map_of(const struct grouped *plan,
                                         const float *x, int64_t channels,
                                         int64_t image, int64_t pixels)
{
    int64_t blocks = (channels + plan->width - 1) / plan->width;

    return (struct grouped_map){x + image * blocks * pixels * plan->width,
                                channels};
}

/* The maps whose channels follow each other. */
static void grouped_find_maps(const struct job *job, const struct grouped *plan,
                              const float *x, int64_t image,
                              struct grouped_map *maps)
{
    int64_t pixels = job->y.dims[2] * job->y.dims[3];

    if (!job->pick)
        maps[0] = grouped_map_of(plan, x, plan->in_channels, image, pixels);
    for (size_t i = 0; job->pick && i + 1 < job->pick->n_inputs; i++)
        maps[i] = grouped_map_of(plan, tensor_f32(job->maps[i]),
                                 job->maps[i]->shape.dims[1], image, pixels);
}

/* Where each channel that is read begins. The list was checked; one thread does
 * this before all others begin. */
static void grouped_find_channels(const struct job *job,
                                  const struct grouped *plan, const float *x,
                                  int64_t image, const float **channels)
{
    const int64_t *list =
        job->pick ? tensor_i64(job->maps[job->pick->n_inputs - 1]) : NULL;
    uint32_t width = (uint32_t)plan->width;
    int64_t plane = job->y.dims[2] * job->y.dims[3] * plan->width;
    struct grouped_map maps[OP_MAX_VALUES];

    grouped_find_maps(job, plan, x, image, maps);
    for (int64_t i = 0; i < plan->in_channels; i++) {
        const struct grouped_map *map = maps;
        int64_t c = list ? list[i] : i;

        for (; c >= map->channels; map++)
            c -= map->channels;
        channels[i] =
            map->at + (uint32_t)c / width * plane + (uint32_t)c % width;
    }
}

/* The biases of a panel, 0 after the last channel. */
static void grouped_bias(const struct job *job, const struct grouped *plan,
                         const struct grouped_panel *panel, float *bias)
{
    int64_t first = panel->block * plan->width;

    for (int64_t i = 0; i < panel->n_blocks * plan->width; i++)
        bias[i] = job->bias && first + i < job->y.dims[1]
                      ? tensor_f32(job->bias)[first + i]
                      : 0;
}

/* Some pixels of an image and a panel. */
static void grouped_run_panel(const struct job *job,
                              const struct kernel *kernel,
                              const struct operands *operands,
                              const struct grouped_panel *panel, int64_t image,
                              const float *const *channels, int64_t first,
                              int64_t end)
{
    enum { most_lanes = 16 };
    const struct grouped *plan = kernel->grouped;
    int64_t plane = job->y.dims[2] * job->y.dims[3] * plan->width;
    int64_t blocks = (job->y.dims[1] + plan->width - 1) / plan->width;
    float bias[DIRECT_PANEL * most_lanes];

    grouped_bias(job, plan, panel, bias);
    direct_pick(&(struct direct_picked){
        .channels = channels + panel->first,
        .n_channels = panel->end - panel->first,
        .n_blocks = panel->n_blocks,
        .weights = (const float *)operands->weights + panel->weights,
        .bias = bias,
        .y = (float *)operands->dst + (image * blocks + panel->block) * plane,
        .y_plane = plane,
        .first = first,
        .end = end,
        .adds = job->residual != NULL,
        .then = job_activation(job)});
}

enum { grouped_tile = 12 }; /* pixels that are made at once, at most */

/* How the work is divided: strips of pixels, the same for all layers of a map's
 * size, so that a thread finds in its caches what it made before; and where
 * there are too few pixels for all threads, parts of the panels. */
struct grouped_parts {
    int64_t images, pixels, strips, panels;
};

static struct grouped_parts
grouped_divide_work(const struct job *job, int64_t n_panels, int64_t n_threads)
{
    enum { fewest_pixels = 2 * grouped_tile };
    struct grouped_parts parts = {.images = job->y.dims[0],
                                  .pixels = job->y.dims[2] * job->y.dims[3],
                                  .strips = 1,
                                  .panels = 1};
    int64_t most = parts.pixels / fewest_pixels;

    if (parts.images % n_threads == 0)
        return parts;
    if (most > 1)
        parts.strips = most < n_threads ? most : n_threads;
    parts.panels = (n_threads + parts.strips - 1) / parts.strips;
    if (parts.panels > n_panels)
        parts.panels = n_panels;
    return parts;
}

/* Where strip i begins: at a whole tile. */
static int64_t grouped_strip(const struct grouped_parts *parts, int64_t i)
{
    int64_t at = parts->pixels * i / parts->strips;

    if (i == parts->strips)
        return parts->pixels;
    return (at + grouped_tile / 2) / grouped_tile * grouped_tile;
}

/* A strip of an image, and a part of the panels, so many pixels at a time that
 * they stay near for all panels. */
static void grouped_run_part(const struct job *job, const struct kernel *kernel,
                             const struct operands *operands,
                             const struct grouped_parts *parts, int64_t i,
                             const float *const *channels)
{
    enum { most = 16 * grouped_tile };
    const struct grouped *plan = kernel->grouped;
    int64_t part = i % parts->panels, strip = i / parts->panels % parts->strips;
    int64_t image = i / parts->panels / parts->strips;
    int64_t end = grouped_strip(parts, strip + 1), next;
    int64_t end_panel = plan->n_panels * (part + 1) / parts->panels;

    for (int64_t at = grouped_strip(parts, strip); at < end; at = next) {
        next = at + most < end ? at + most : end;
        for (int64_t n = plan->n_panels * part / parts->panels; n < end_panel;
             n++)
            grouped_run_panel(job, kernel, operands, &plan->panels[n], image,
                              channels + image * plan->in_channels, at, next);
    }
}

void grouped_run(const struct job *job, const struct kernel *kernel,
                 const struct operands *operands, void *scratch)
{
    static const int64_t few_products = 1 << 18;
    const struct grouped *plan = kernel->grouped;
    const int64_t *y = job->y.dims;
    int64_t products = y[0] * y[1] * y[2] * y[3] * job->weight->shape.dims[1];
    int64_t n_threads = products > few_products ? omp_get_max_threads() : 1;
    struct grouped_parts parts =
        grouped_divide_work(job, plan->n_panels, n_threads);
    const float **channels = scratch;

    for (int64_t i = 0; i < parts.images; i++)
        grouped_find_channels(job, plan, operands->src, i,
                              channels + i * plan->in_channels);
#pragma omp parallel for schedule(static) if (n_threads > 1)
    for (int64_t i = 0; i < parts.images * parts.strips * parts.panels; i++)
        grouped_run_part(job, kernel, operands, &parts, i, channels);
}

/* ---- picked channels ----------------------------------------------------- */

/* Of a job whose node is the convolution. */
static enum assay_status run_picked(struct onednn *dn, struct job *job,
                                    const struct tensor *const *inputs,
                                    struct tensor *y, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st = pick_check(job->pick, job->maps, err);

    if (st)
        return st;
    conv2d_set_job(dn, job, inputs);
    kernel = kernel_find(dn, job);
    if (!kernel) {
        st = grouped_make(dn, job, &kernel, err);
        if (!st)
            kernel_keep(dn, job, kernel);
    }
    return st ? st : kernel_run(dn, job, kernel, y, err);
}

/* Maps that no kernel has laid out yet are copied to blocks. */
enum assay_status forward_pick_conv2d(struct onednn *dn, struct job *job,
                                      const struct tensor *const *inputs,
                                      struct tensor *y, struct error *err)
{
    const struct tensor *maps[OP_MAX_VALUES], *list[OP_MAX_VALUES];
    const struct tensor *conv_inputs[CONV2D_SCALE + 1];
    struct tensor own[OP_MAX_VALUES];
    struct pick_conv2d parts;
    enum assay_status st;
    size_t n;

    if (!direct_lanes())
        return own_kernel(dn, job, inputs, y, err);
    pick_conv2d_parts(job->node, &parts);
    pick_conv2d_maps(job->node, inputs, maps);
    n = parts.pick.n_inputs - 1;
    st = passing_convert(dn, job, maps, n, layout_own_blocks(), own, list, err);
    if (!st) {
        list[n] = maps[n];
        memcpy(conv_inputs, inputs, sizeof conv_inputs);
        conv_inputs[CONV2D_X] = list[0];
        job->node = &parts.conv;
        job->x = list[0];
        job->pick = &parts.pick;
        job->maps = list;
        st = run_picked(dn, job, conv_inputs, y, err);
    }
    passing_release(own, n);
    return st;
}

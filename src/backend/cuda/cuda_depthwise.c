/* backend/cuda/cuda_depthwise.c - see cuda_plan.h: launches
 * kernels/depthwise.cu and kernels/depthwise_weights.cu. */
#include "backend/cuda/cuda_plan.h"

#include <limits.h>
#include <stdio.h>

enum {
    wide_channels = 4, /* of a thread, where their number allows it */
    most_threads = 256,
    most_shared_bytes = 48 << 10
};

/* What a kernel is called with; lanes, tiles and blocks as it describes them.
 */
struct depthwise {
    struct cuda_job job; /* of the forward pass, for a gradient with stride 1 */
    char source[CUDA_NAME], name[CUDA_NAME];
    int channels; /* of a thread */
    int lanes, tiles_h, tiles_w, is_flipped;
    struct cuda_grid grid;
};

/* ---- which kernel -------------------------------------------------------- */

/* The side of a window that there are kernels for; 0: those for any. */
static int fast_side(const struct cuda_job *job)
{
    bool is_fast = job->kh == job->kw && (job->kh == 3 || job->kh == 5) &&
                   job->stride[0] == job->stride[1] && job->stride[0] <= 2 &&
                   job->dilation[0] == 1 && job->dilation[1] == 1;

    return is_fast ? (int)job->kh : 0;
}

static bool is_small_known(const struct cuda_job *job)
{
    bool is_strided = job->stride[0] != 1 || job->stride[1] != 1;

    return fast_side(job) && job->c % wide_channels == 0 &&
           (job->way == WAY_FORWARD || (job->way == WAY_DATA && !is_strided));
}

/* Threads side by side: as many as leave few without a channel. */
static int lanes_for(int packs, int most)
{
    int best = most;

    if (packs <= most)
        return packs;
    for (int lanes = most; lanes >= most / 2; lanes--) {
        if ((packs + lanes - 1) / lanes * lanes <
            (packs + best - 1) / best * best)
            best = lanes;
    }
    return best;
}

static void set_lanes(struct depthwise *of, int channels)
{
    int packs = (int)of->job.c / channels;

    of->channels = channels;
    of->lanes = lanes_for(packs, channels > 1 ? 16 : 32);
    of->grid.threads = (unsigned)(most_threads / of->lanes * of->lanes);
    of->grid.y = (unsigned)((packs + of->lanes - 1) / of->lanes);
    of->grid.z = 1;
}

static void set_tiles(struct depthwise *of, int64_t height, int64_t width,
                      int tile_h, int tile_w)
{
    int64_t rows = most_threads / of->lanes, tiles;

    of->tiles_h = (int)((height + tile_h - 1) / tile_h);
    of->tiles_w = (int)((width + tile_w - 1) / tile_w);
    tiles = of->job.n * of->tiles_h * of->tiles_w;
    of->grid.x = (unsigned)((tiles + rows - 1) / rows);
    of->grid.shared_bytes = (unsigned)(of->lanes * of->channels * of->job.kh *
                                       of->job.kw * (int64_t)sizeof(float));
}

/* The gradient of x with stride 1 is a convolution of that of y. */
static struct cuda_job job_turned(const struct cuda_job *job)
{
    struct cuda_job turned = *job;

    turned.h = job->oh;
    turned.w = job->ow;
    turned.oh = job->h;
    turned.ow = job->w;
    turned.before[0] = job->dilation[0] * (job->kh - 1) - job->before[0];
    turned.before[1] = job->dilation[1] * (job->kw - 1) - job->before[1];
    return turned;
}

/* depthwise_data_k3s2_wide_f32 */
static void set_name(struct depthwise *of, const char *what, const char *width)
{
    char kernel[16] = "any", name[CUDA_NAME - 8];

    if (fast_side(&of->job))
        snprintf(kernel, sizeof kernel, "k%ds%d", fast_side(&of->job),
                 (int)of->job.stride[0]);
    snprintf(name, sizeof name, "%s_%s_%s", what, kernel, width);
    cuda_kernel_name(of->name, name, (enum dtype)of->job.stored);
    cuda_kernel_name(of->source,
                     of->job.way == WAY_WEIGHTS ? "depthwise_weights"
                                                : "depthwise",
                     (enum dtype)of->job.stored);
}

static void set_forward(struct depthwise *of, bool is_small)
{
    int tile_h = 1, tile_w = 4;

    if (fast_side(&of->job)) {
        tile_h = is_small ? 1 : 2;
        tile_w = (is_small ? 2 : 4) / (int)of->job.stride[1];
    }
    set_tiles(of, of->job.oh, of->job.ow, tile_h, tile_w);
    set_name(of, "depthwise",
             is_small           ? "small"
             : of->channels > 1 ? "wide"
                                : "one");
}

/* Tiles begin in the padding where that is odd. */
static void set_data(struct depthwise *of)
{
    const struct cuda_job *job = &of->job;

    if (fast_side(job))
        set_tiles(of, job->h + (job->before[0] & 1),
                  job->w + (job->before[1] & 1), 2, 4);
    else
        set_tiles(of, job->h, job->w, 1, 1);
    set_name(of, "depthwise_data", of->channels > 1 ? "wide" : "one");
}

/* As many blocks as run at once, which go on with further places. */
static void set_weights(struct depthwise *of, const struct cuda_device *device)
{
    const struct cuda_job *job = &of->job;
    int side = fast_side(job), taps = side ? side : 1;
    int tile_w = !side ? 1 : job->stride[1] == 1 ? 4 : 2;
    int64_t most = (side == 5 ? 2 : 3) * (int64_t)device->n_multiprocessors;

    set_tiles(of, job->oh, job->ow, 1, tile_w);
    if (!side)
        of->grid.z = (unsigned)(job->kh * job->kw);
    most /= (int64_t)of->grid.y * of->grid.z;
    if (of->grid.x > most)
        of->grid.x = most ? (unsigned)most : 1;
    of->grid.shared_bytes = of->grid.threads * (unsigned)(taps * of->channels) *
                            (unsigned)sizeof(float);
    set_name(of, "depthwise_weights", of->channels > 1 ? "wide" : "one");
}

/* A thread can hold the sums of 5 x 5 taps for two channels. */
static int channels_for(const struct cuda_job *job)
{
    if (job->c % wide_channels)
        return 1;
    return job->way == WAY_WEIGHTS && fast_side(job) == 5 ? 2 : wide_channels;
}

static struct depthwise depthwise_of(const struct cuda_device *device,
                                     const struct cuda_job *job, bool is_small)
{
    struct depthwise of = {.job = *job};

    of.is_flipped =
        job->way == WAY_DATA && job->stride[0] == 1 && job->stride[1] == 1;
    if (of.is_flipped)
        of.job = job_turned(job);
    set_lanes(&of, channels_for(job));
    if (job->way == WAY_FORWARD || of.is_flipped)
        set_forward(&of, is_small);
    else if (job->way == WAY_DATA)
        set_data(&of);
    else
        set_weights(&of, device);
    return of;
}

/* ---- the plan ------------------------------------------------------------ */

/* Kernels count places, and elements of an image, in 32 bits. */
static bool depthwise_can(const struct cuda_job *job)
{
    int64_t in = job->h * job->w, out = job->oh * job->ow;

    return job->groups == job->c && job->o == job->c &&
           job->made == job->stored && !cuda_job_is_product(job) &&
           job->before[0] >= 0 && job->before[1] >= 0 && job->n > 0 && in > 0 &&
           out > 0 && in < INT_MAX / job->c && out < INT_MAX / job->c &&
           (job->h + 2) * (job->w + 4) < INT_MAX / job->n &&
           (job->oh + 2) * (job->ow + 4) < INT_MAX / job->n &&
           job->kh * job->kw * 16 * wide_channels * (int64_t)sizeof(float) <=
               most_shared_bytes;
}

static size_t sums_bytes(const struct depthwise *of)
{
    const struct cuda_job *job = &of->job;

    return (size_t)(of->grid.x * job->c * job->kh * job->kw) * sizeof(float);
}

bool depthwise_plan_make(const struct cuda_device *device,
                         const struct cuda_job *job, bool is_small,
                         struct cuda_plan *plan)
{
    struct depthwise of;

    *plan = (struct cuda_plan){0};
    if (!depthwise_can(job) || (is_small && !is_small_known(job)))
        return false;
    of = depthwise_of(device, job, is_small);
    plan->kind = is_small ? PLAN_DEPTHWISE_SMALL : PLAN_DEPTHWISE;
    plan->is_whole = job->way == WAY_FORWARD;
    plan->is_bare = job->way != WAY_FORWARD;
    snprintf(plan->name, sizeof plan->name,
             is_small ? "depthwise small" : "depthwise");
    snprintf(plan->kernel, sizeof plan->kernel, "%.*s", PLAN_NAME - 1, of.name);
    if (job->way == WAY_WEIGHTS)
        plan->workspace_bytes = sums_bytes(&of);
    return true;
}

bool depthwise_is_small(const struct cuda_device *device,
                        const struct cuda_job *job)
{
    enum { busy = 512 }; /* threads per multiprocessor */
    struct depthwise of;

    if (!depthwise_can(job) || !is_small_known(job))
        return false;
    of = depthwise_of(device, job, false);
    return (int64_t)of.grid.x * of.grid.y * of.grid.threads <
           (int64_t)device->n_multiprocessors * busy;
}

static enum assay_status run_weights(struct cuda_call *call,
                                     struct depthwise *of,
                                     const struct cuda_operands *operands)
{
    struct cuda_operands at = *operands;
    int n_tiles = (int)of->job.n * of->tiles_h * of->tiles_w;
    int n_blocks = (int)of->grid.x;
    int64_t n = of->job.c * of->job.kh * of->job.kw;
    struct cuda_grid grid = {(unsigned)((n + 31) / 32), 1, 1, 256, 0};
    char name[CUDA_NAME];
    enum assay_status st =
        CUDA_LAUNCH(call, of->source, of->name, of->grid, of->job, of->lanes,
                    of->tiles_w, n_tiles, at.x, at.y, at.workspace);

    if (st)
        return st;
    cuda_kernel_name(name, "depthwise_finish", (enum dtype)of->job.stored);
    return CUDA_LAUNCH(call, of->source, name, grid, at.workspace, n_blocks, n,
                       at.w);
}

enum assay_status depthwise_plan_run(struct cuda_call *call,
                                     const struct cuda_job *job, bool is_small,
                                     const struct cuda_operands *operands)
{
    struct depthwise of = depthwise_of(call->cuda->device, job, is_small);
    struct cuda_operands at = *operands;

    if (job->way == WAY_WEIGHTS)
        return run_weights(call, &of, operands);
    if (job->way == WAY_DATA && !of.is_flipped)
        return CUDA_LAUNCH(call, of.source, of.name, of.grid, of.job, of.lanes,
                           of.tiles_h, of.tiles_w, at.y, at.w, at.x);
    if (of.is_flipped) {
        at.y = operands->x;
        at.x = operands->y;
        at.bias = at.residual = 0;
    }
    return CUDA_LAUNCH(call, of.source, of.name, of.grid, of.job, of.lanes,
                       of.tiles_h, of.tiles_w, of.is_flipped, at.x, at.w,
                       at.bias, at.residual, at.y);
}

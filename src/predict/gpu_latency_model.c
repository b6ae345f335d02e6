/* predict/gpu_latency_model.c - the physical model of latency on a GPU; see
 * physical.h.
 *
 * A step is a queue of kernels: those of convolutions, which tensor cores
 * compute in tiles, and those that only move elements. It takes as long as they
 * run, or as long as the host needs to launch them. */
#include "predict/physical_internal.h"

#include "base/mem.h"

#include <math.h>

enum parameter {
    RATE_1X1,
    RATE_3X3,
    RATE_OTHER,
    BY_INPUT,
    BY_WEIGHTS,
    BY_FOURS,
    BY_TWOS,
    ODD,
    TILES,
    PAD_DEPTH,
    TAIL,
    DEPTHWISE,
    DEPTHWISE_BACK,
    MAPS,
    NORMS,
    ELEMENTWISE,
    MAX_POOL,
    RAGGED,
    NARROW,
    PARAMETERS,
    IMAGES,
    KERNEL,
    LAUNCH_CONV,
    LAUNCH_NORM,
    LAUNCH_OTHER,
    LAUNCH_TENSOR,
    LAUNCH_RAGGED,
    LAUNCH_STEP,
    N_PARAMETERS
};

/* Three scales are found from the rows first: of arithmetic, of memory and of
 * launches, whose ratios differ between GPUs by more than a prior could say.
 * What arithmetic takes is about known from the number of multiprocessors.
 * Centres are relative to the first of each. */
static const struct prior gpu_priors[] = {
    [RATE_1X1] = {"rate_1x1", "ms per GMAC", 1, 0.25, ON_ALL},
    [RATE_3X3] = {"rate_3x3", "ms per GMAC", 0.8, 0.25, ON_ALL},
    [RATE_OTHER] = {"rate_other", "ms per GMAC", 1.5, 0.4, ON_ALL},
    [BY_INPUT] = {"by_input", "of the forward pass", 1.2, 0.3, ON_ALL},
    [BY_WEIGHTS] = {"by_weights", "of the forward pass", 1.3, 0.3, ON_ALL},
    /* Tensor cores are fed 16 bytes at a time, four numbers; kernels that load
     * two at a time wait for it, and those that load one do without tensor
     * cores. */
    [BY_FOURS] = {"by_fours", "times", 1.1, 0.2, ON_ALL},
    [BY_TWOS] = {"by_twos", "times", 1.5, 0.15, ON_ALL},
    [ODD] = {"odd", "times", 4, 0.4, ON_ALL},
    [TILES] = {"tiles", "of what is missing in them", 0.6, 0.4, ON_ALL},
    [PAD_DEPTH] = {"pad_depth", "products", 32, 0.7, ON_ALL},
    [TAIL] = {"tail", "waves", 0.5, 0.7, ON_ALL},
    [DEPTHWISE] = {"depthwise", "ms per G elements", 1, 0.7, ON_ALL},
    [DEPTHWISE_BACK] = {"depthwise_back", "of the forward pass", 1.2, 0.5,
                        ON_ALL},
    [MAPS] = {"maps", "ms per G elements", 1, 0.2, ON_ALL},
    [NORMS] = {"norms", "ms per G elements", 1.2, 0.2, ON_ALL},
    [ELEMENTWISE] = {"elementwise", "ms per G elements", 1, 0.2, ON_ALL},
    [MAX_POOL] = {"max_pool", "ms per G elements", 1, 0.4, ON_ALL},
    [RAGGED] = {"ragged", "times", 1.3, 0.3, ON_ALL},
    /* A pixel takes as long as so many more channels: threads of a warp that
     * have nothing to load, addresses. */
    [NARROW] = {"narrow", "channels", 32, 0.4, ON_ALL},
    [PARAMETERS] = {"parameters", "ms per M parameters", 0.005, 0.5, ON_ALL},
    /* This program's engine gives them a fourth channel: three are read and
     * four written. */
    [IMAGES] = {"images", "ms per G elements", 2.3, 0.5, ON_ALL},
    [KERNEL] = {"kernel", "ms per kernel", 0.1, 0.5, ON_ALL},
    [LAUNCH_CONV] = {"launch_conv", "ms per convolution", 1, 0.4, ON_ALL},
    [LAUNCH_NORM] = {"launch_norm", "ms per norm", 0.5, 0.4, ON_ALL},
    [LAUNCH_OTHER] = {"launch_other", "ms per op", 0.25, 0.4, ON_ALL},
    [LAUNCH_TENSOR] = {"launch_tensor", "ms per tensor of parameters", 0.05,
                       0.7, ON_ALL},
    /* About what launching the kernel itself takes, a third of a
     * convolution's. */
    [LAUNCH_RAGGED] = {"launch_ragged", "ms per kernel that copies", 0.3, 0.7,
                       ON_ALL},
    [LAUNCH_STEP] = {"launch_step", "ms", 3, 0.7, ON_ALL},
};

_Static_assert((int)N_PARAMETERS <= (int)PHYSICAL_MAX_PARAMETERS,
               "there is room for all parameters");

enum scale { SCALE_WORK, SCALE_TRAFFIC, SCALE_LAUNCH, N_SCALES };

/* An element that is read or written takes as long as so many multiply-adds: 80
 * on a GPU with fast tensor cores, less without. From a start that is far off,
 * one of the two hides the other. Launching what a convolution needs takes
 * 20 us. */
enum { n_starts = 4 };
/* Of a GMAC on one multiprocessor: 512 multiply-adds in a clock of 1.6 GHz. */
static const double ms_of_one = 1.22;
static const double scale_ratios[n_starts * N_SCALES] = {
    1.0 / 300, 1, 0.02, 1.0 / 80, 1, 0.02, 1.0 / 20, 1, 0.02, 1.0 / 5, 1, 0.02};

static bool gpu_is_scaled(size_t parameter, size_t scale)
{
    switch ((enum parameter)parameter) {
    case RATE_1X1:
    case RATE_3X3:
    case RATE_OTHER:
        return scale == SCALE_WORK;
    case DEPTHWISE:
    case MAPS:
    case NORMS:
    case ELEMENTWISE:
    case MAX_POOL:
    case PARAMETERS:
    case IMAGES:
        return scale == SCALE_TRAFFIC;
    case KERNEL:
    case LAUNCH_CONV:
    case LAUNCH_NORM:
    case LAUNCH_OTHER:
    case LAUNCH_TENSOR:
    case LAUNCH_RAGGED:
    case LAUNCH_STEP:
        return scale == SCALE_LAUNCH;
    case BY_INPUT:
    case BY_WEIGHTS:
    case BY_FOURS:
    case BY_TWOS:
    case ODD:
    case TILES:
    case PAD_DEPTH:
    case TAIL:
    case DEPTHWISE_BACK:
    case RAGGED:
    case NARROW:
    case N_PARAMETERS:
        return false;
    }
    return false;
}

static const double tile = 128;     /* rows of a tile */
static const double deepest = 2048; /* products of a tile; more are shared */
static const double n_copies = 2;   /* to a layout with padding, and back */

/* ---- networks as the model sees them ------------------------------------- */

/* How many numbers can be loaded at once. */
enum alignment { BY_8, BY_4, BY_2, BY_1, N_ALIGNMENTS };

static enum alignment alignment_of(int64_t channels)
{
    return channels % 8 == 0   ? BY_8
           : channels % 4 == 0 ? BY_4
           : channels % 2 == 0 ? BY_2
                               : BY_1;
}

enum pass { FORWARD, INPUT, WEIGHTS, N_PASSES };

/* A kernel of a convolution: a product of rows x columns, where either the rows
 * or, by weights, the sums grow with the batch. */
struct gpu_pass {
    double work;    /* multiply-adds per image, without depth */
    double missing; /* logarithm of what whole tiles have over that */
    double depth;   /* numbers summed up; 1 by weights, where work has them */
    double tail;    /* multiply-adds of a wave over all multiprocessors */
    double moved, moved_once; /* elements per image, and per step */
    double pixels;            /* of input and output, per image */
    double copied;       /* elements per image: PyTorch's maps have the channels
                            apart, tensor cores want them beside each other */
    enum parameter rate; /* may be DEPTHWISE */
    enum pass pass;
    enum alignment alignment;
};

struct gpu_network {
    const struct description *description;
    struct gpu_pass *passes; /* NULL: computed one by one */
    size_t n_passes;
    double n_kernels, n_norms, n_others, n_tensors;
    double n_ragged; /* kernels of convolutions that need copies */
    double norms, elementwise, max_pool; /* elements moved per image */
    double images;                       /* elements, per image */
    double thin;                         /* pixels per element of maps */
    double pieces; /* elements that are appended to others one at a time, as
                      channels do not come in fours; moved per image */
    double dense, dense_weights; /* multiply-adds per image; elements */
    const struct physical *physical;
};

static enum parameter gpu_rate_of(const struct conv_row *conv)
{
    if (conv_is_depthwise(conv))
        return DEPTHWISE;
    if (conv->kernel[0] == 1 && conv->kernel[1] == 1)
        return RATE_1X1;
    return conv->kernel[0] == 3 && conv->kernel[1] == 3 &&
                   conv->stride[0] == 1 && conv->stride[1] == 1
               ? RATE_3X3
               : RATE_OTHER;
}

static struct gpu_pass pass_of(const struct conv_row *conv, enum pass pass,
                               bool is_first, const struct physical *physical)
{
    double multiprocessors = physical->multiprocessors;
    double groups = (double)conv->groups;
    double in = (double)conv->in / groups, out = (double)conv->out / groups;
    double taps = (double)(conv->kernel[0] * conv->kernel[1]);
    double pixels = (double)(conv_out(conv, 0) * conv_out(conv, 1));
    double columns = pass == INPUT ? in : out;
    enum alignment a = alignment_of(conv->out);
    enum alignment b = is_first ? a : alignment_of(conv->in);
    struct gpu_pass made = {
        .moved = (double)conv->in * (double)(conv->size[0] * conv->size[1]) +
                 (double)conv->out * pixels,
        .moved_once = (double)conv->out * in * taps,
        .pixels = (double)(conv->size[0] * conv->size[1]) + pixels,
        .rate = gpu_rate_of(conv),
        .pass = pass,
        .alignment = a > b ? a : b,
    };

    if (!physical->is_own) {
        made.pixels = 0;
        if (conv->groups == 1 && taps > 1 && made.alignment != BY_1)
            made.copied = made.moved;
    }

    if (pass == WEIGHTS) {
        made.work = groups * pixels * out * in * taps;
        made.missing = log(tiled(out) / out * tiled(in * taps) / (in * taps));
        made.depth = 1;
        made.tail = multiprocessors * tile * fmin(tiled(in * taps), tile) *
                    fmin(pixels, deepest);
    } else {
        made.work = groups * pixels * columns;
        made.missing = log(tiled(columns) / columns);
        made.depth = (pass == INPUT ? out : in) * taps;
        made.tail = multiprocessors * tile * fmin(tiled(columns), tile) *
                    fmin(made.depth, deepest);
    }
    return made;
}

static size_t passes_of_network(const struct description *description,
                                enum stage stage)
{
    size_t n = description->n_convs;

    return stage == STAGE_INFERENCE ? n : n ? 3 * n - 1 : 0;
}

/* This program's engine pads channels. */
static int64_t whole_fours(int64_t channels)
{
    return (channels + 3) / 4 * 4;
}

/* The convolution of a kernel. The first one has no gradient of its input. */
static size_t pass_conv(const struct gpu_network *network, size_t i)
{
    size_t n = network->description->n_convs;

    return i < 2 * n ? i % n : i - 2 * n + 1;
}

static struct gpu_pass network_pass(const struct gpu_network *network, size_t i)
{
    const struct physical *physical = network->physical;
    size_t n = network->description->n_convs, conv = pass_conv(network, i);
    enum pass pass = i < n ? FORWARD : i < 2 * n ? WEIGHTS : INPUT;

    struct conv_row own;

    if (network->passes)
        return network->passes[i];
    own = network->description->convs[conv];
    if (physical->is_own && own.groups == 1) {
        own.out = whole_fours(own.out);
        own.in = conv == 0 ? own.in : whole_fours(own.in);
    }
    return pass_of(&own, pass, conv == 0, physical);
}

/* Elements read and written by what is between convolutions, and the kernels
 * that do it. */
static void count_between(struct gpu_network *network)
{
    const struct image_counts *counts = &network->description->counts;
    struct branches branches = branches_of(network->description);
    bool is_training = network->physical->stage == STAGE_TRAINING;
    double passes = is_training ? 2 : 1;

    network->n_kernels = (double)network->n_passes;
    network->n_others = counts->n_concat + counts->n_max_pool;
    network->max_pool = counts->max_pool_inputs + counts->max_pool_outputs;
    network->elementwise = 2 * counts->concat_elements;
    if (!network->physical->is_fused) {
        network->n_norms = counts->n_norm;
        network->n_others += counts->n_relu + counts->n_add + branches.n_biased;
        network->norms = (is_training ? 8 : 2) * counts->norm_elements;
        network->elementwise += (is_training ? 5 : 2) * counts->relu_elements +
                                (is_training ? 6 : 3) * counts->add_elements +
                                (is_training ? 3 : 2) * branches.biased;
    }
    if (is_training) {
        network->n_others += branches.n_forked;
        network->n_tensors = counts->parameter_tensors;
        network->elementwise += counts->concat_elements + 3 * branches.forked;
        network->max_pool *= 2;
    }
    network->n_kernels += passes * (network->n_norms + network->n_others);
}

/* Only this program's maps have the channels of a pixel beside each other. */
static double thin_of(const struct gpu_network *network)
{
    const struct description *own = network->description;
    double all = 0, pixels = 0;

    for (size_t i = 0; network->physical->is_own && i < own->n_convs; i++) {
        const struct conv_row *conv = &own->convs[i];
        double of_conv = (double)(conv_out(conv, 0) * conv_out(conv, 1));

        all += (double)conv->out * of_conv;
        pixels += of_conv;
    }
    return pixels / fmax(all, 1);
}

/* The parts of a concatenation are taken for as ragged as all outputs of
 * convolutions. */
static double ragged_pieces(const struct gpu_network *network)
{
    const struct description *own = network->description;
    double all = 0, ragged = 0;

    for (size_t i = 0; network->physical->is_own && i < own->n_convs; i++) {
        const struct conv_row *conv = &own->convs[i];
        double elements =
            (double)conv->out * (double)(conv_out(conv, 0) * conv_out(conv, 1));

        all += elements;
        ragged += alignment_of(conv->out) > BY_4 ? elements : 0;
    }
    return ragged / fmax(all, 1) * own->counts.concat_elements *
           (network->physical->stage == STAGE_TRAINING ? 4 : 2);
}

/* What channels that do not come in fours cost beside the kernel of a
 * convolution: PyTorch's copies of maps to a layout where they do, and of this
 * program's engine, whose maps have it anyway, in training the weights that are
 * padded anew in each step and their gradients that are cut. */
static bool needs_copies(const struct gpu_network *network, size_t i)
{
    const struct conv_row *conv =
        &network->description->convs[pass_conv(network, i)];
    bool is_first = conv == network->description->convs;

    return !conv_is_depthwise(conv) &&
           (alignment_of(conv->out) > BY_4 ||
            (!is_first && alignment_of(conv->in) > BY_4));
}

static void count_copies(struct gpu_network *network)
{
    const struct physical *physical = network->physical;

    if (physical->is_own && physical->stage == STAGE_INFERENCE)
        return;
    for (size_t i = 0; i < network->n_passes; i++)
        network->n_ragged += needs_copies(network, i);
    network->n_kernels += n_copies * network->n_ragged;
}

/* Stores the passes in *passes, which must have room for them; NULL: does
 * not. */
static void gpu_network_fill(struct gpu_network *network,
                             const struct description *description,
                             const struct physical *physical,
                             struct gpu_pass *passes)
{
    *network = (struct gpu_network){
        .description = description,
        .n_passes = passes_of_network(description, physical->stage),
        .physical = physical};
    for (size_t i = 0; passes && i < network->n_passes; i++)
        passes[i] = network_pass(network, i);
    network->passes = passes;
    count_between(network);
    network->thin = thin_of(network);
    network->pieces = ragged_pieces(network);
    count_copies(network);
    if (physical->is_own && description->n_convs) {
        const struct conv_row *first = description->convs;

        network->images = (double)(first->in * first->size[0] * first->size[1]);
    }
    for (size_t i = 0; i < description->n_denses; i++) {
        double in = (double)description->denses[i].in;
        double out = (double)description->denses[i].out;

        network->dense += tiled(out) * in;
        network->dense_weights += out * in;
    }
}

/* ---- the model ----------------------------------------------------------- */

/* The larger of two, with the corner rounded: a 4-norm, without pow(). */
static double rounded_max(double a, double b)
{
    double c = a * a, d = b * b;

    return sqrt(sqrt(c * c + d * d));
}

static double alignment_factor(enum alignment alignment, const double *q)
{
    switch (alignment) {
    case BY_8:
    case N_ALIGNMENTS:
        return 1;
    case BY_4:
        return q[BY_FOURS];
    case BY_2:
        return q[BY_TWOS];
    case BY_1:
        return q[ODD];
    }
    return 1;
}

/* How much longer maps take that end within what is loaded at once. */
static double ragged_factor(enum alignment alignment, const double *q)
{
    return alignment == BY_1   ? q[RAGGED]
           : alignment == BY_2 ? sqrt(q[RAGGED])
                               : 1;
}

static double pass_ms(const struct gpu_pass *pass, const double *q,
                      double batch)
{
    double moved =
        ((pass->moved + q[NARROW] * pass->pixels) * batch + pass->moved_once) *
        1e-9 * ragged_factor(pass->alignment, q);
    double slower = alignment_factor(pass->alignment, q), work;

    if (pass->rate == DEPTHWISE)
        return q[DEPTHWISE] * moved *
               (pass->pass == FORWARD ? 1 : q[DEPTHWISE_BACK]);
    work = pass->work * batch * exp(q[TILES] * pass->missing) *
               (pass->pass == WEIGHTS ? 1 : pass->depth + q[PAD_DEPTH]) +
           q[TAIL] * pass->tail / slower;
    work *= q[pass->rate] * slower * 1e-9;
    if (pass->pass != FORWARD)
        work *= pass->pass == INPUT ? q[BY_INPUT] : q[BY_WEIGHTS];
    return hypot(work, q[MAPS] * moved) +
           2 * q[MAPS] * pass->copied * batch * 1e-9;
}

static double network_ms(const struct gpu_network *network, const double *q,
                         double batch)
{
    bool is_training = network->physical->stage == STAGE_TRAINING;
    double passes = is_training ? 3 : 1;
    double wider = 1 + q[NARROW] * network->thin;
    double device = q[KERNEL] * network->n_kernels;
    double host = q[LAUNCH_STEP] +
                  q[LAUNCH_CONV] * (double)network->description->n_convs +
                  q[LAUNCH_NORM] * network->n_norms +
                  q[LAUNCH_OTHER] * network->n_others +
                  q[LAUNCH_TENSOR] * network->n_tensors +
                  q[LAUNCH_RAGGED] * network->n_ragged;

    for (size_t i = 0; i < network->n_passes; i++) {
        struct gpu_pass pass = network_pass(network, i);

        device += pass_ms(&pass, q, batch);
    }
    device += (q[NORMS] * network->norms +
               q[ELEMENTWISE] *
                   (network->elementwise + (q[RAGGED] - 1) * network->pieces) +
               q[MAX_POOL] * network->max_pool) *
              wider * batch * 1e-9;
    device += q[IMAGES] * network->images * batch * 1e-9;
    device += passes *
              rounded_max(q[RATE_1X1] * network->dense * tiled(batch),
                          q[MAPS] * network->dense_weights) *
              1e-9;
    if (is_training)
        device +=
            q[PARAMETERS] * network->description->counts.parameters * 1e-6;
    return rounded_max(device, host);
}

static void gpu_exp(const double *log_value, double *q)
{
    for (size_t i = 0; i < N_PARAMETERS; i++)
        q[i] = exp(log_value[i]);
}

static double gpu_latency_predict(const struct physical *physical,
                                  const struct description *description,
                                  double batch)
{
    struct gpu_network network;
    double q[N_PARAMETERS];

    gpu_network_fill(&network, description, physical, NULL);
    gpu_exp(physical->log_value, q);
    return network_ms(&network, q, batch);
}

/* ---- fitting ------------------------------------------------------------- */

struct gpu_fitting {
    const struct data_points *points;
    struct gpu_network *networks; /* one per point */
    struct gpu_pass *passes;
};

static enum assay_status gpu_fitting_prepare(struct gpu_fitting *fitting,
                                             const struct physical *physical,
                                             struct error *err)
{
    const struct data_points *points = fitting->points;
    size_t n = 0, used = 0;

    for (size_t i = 0; i < points->n; i++)
        n += passes_of_network(points->items[i].description, points->stage);
    fitting->networks = mem_array(points->n + 1, sizeof *fitting->networks);
    fitting->passes = mem_array(n + 1, sizeof *fitting->passes);
    if (!fitting->networks || !fitting->passes)
        return error_nomem(err, n * sizeof *fitting->passes, "a fit");
    for (size_t i = 0; i < points->n; i++) {
        gpu_network_fill(&fitting->networks[i], points->items[i].description,
                         physical, fitting->passes + used);
        used += fitting->networks[i].n_passes;
    }
    return ASSAY_OK;
}

static void gpu_fitting_miss(const void *context, const double *log_value,
                             double *out)
{
    const struct gpu_fitting *fitting = context;
    double q[N_PARAMETERS];

    gpu_exp(log_value, q);
    for (size_t i = 0; i < fitting->points->n; i++) {
        const struct data_point *point = &fitting->points->items[i];

        out[i] = log(network_ms(&fitting->networks[i], q, point->batch) /
                     point->value);
    }
}

static struct prior gpu_fitting_prior(const void *context, size_t i)
{
    (void)context;
    return gpu_priors[i];
}

static enum assay_status gpu_latency_fit(struct physical *physical,
                                         const struct data_points *points,
                                         double n_effective,
                                         const struct physical *about,
                                         struct error *err)
{
    struct gpu_fitting fitting = {.points = points};
    const struct prior scales[N_SCALES] = {
        [SCALE_WORK] = {.centre = ms_of_one / physical->multiprocessors,
                        .deviation = 0.2}};
    const struct latency_law law = {.scale_priors = scales,
                                    .n_fitted = N_PARAMETERS,
                                    .n_scales = N_SCALES,
                                    .ratios = scale_ratios,
                                    .n_starts = n_starts,
                                    .is_scaled = gpu_is_scaled,
                                    .prior = gpu_fitting_prior,
                                    .miss = gpu_fitting_miss,
                                    .context = &fitting};
    enum assay_status st = gpu_fitting_prepare(&fitting, physical, err);

    if (!st)
        st = latency_law_fit(&law, points, n_effective, about,
                             physical->log_value, err);
    mem_free(fitting.networks);
    mem_free(fitting.passes);
    return st;
}

static double gpu_latency_deviation(const struct physical *physical, size_t i)
{
    (void)physical;
    return gpu_priors[i].deviation;
}

const struct physical_class gpu_latency_class = {
    .priors = gpu_priors,
    .n_parameters = N_PARAMETERS,
    .n_fitted = N_PARAMETERS,
    .lacked = LAUNCH_RAGGED,
    .fit = gpu_latency_fit,
    .predict = gpu_latency_predict,
    .demand = gpu_latency_predict,
    .prior_deviation = gpu_latency_deviation,
    .row_deviation = latency_row_deviation,
};

/* predict/latency_model.c - the physical model of latency; see physical.h.
 *
 * For given parameters, the time of a network is a line in the batch size: one
 * line for small batches and one for all others. */
#include "predict/physical_internal.h"

#include "base/mem.h"

#include <math.h>

enum parameter {
    RATE_1X1,
    RATE_3X3,
    RATE_OTHER,
    BY_WEIGHTS,
    PAD_ROWS,
    PAD_DEPTH,
    PAD_ROWS_BY_WEIGHTS,
    PAD_DEPTH_BY_WEIGHTS,
    PAD_PIXELS,
    SMALL_1X1,
    SMALL_OTHER,
    DEPTHWISE,
    MAPS,
    ELEMENTWISE,
    MAX_POOL,
    PARAMETERS,
    LAYER,
    LAUNCH_CONV,
    LAUNCH_NORM,
    LAUNCH_OTHER,
    LAUNCH_TENSOR,
    RAGGED,
    RAGGED_CONCAT,
    LANE,
    N_PARAMETERS,
    N_FITTED = LANE /* LANE is chosen, not fitted */
};

/* Rates are relative to 1x1 kernels, which do 27 multiply-adds in the time of
 * reading or writing one element: typical for large and small processors of
 * this kind. The speed of the device and its launch times are found from the
 * rows first. */
static const struct prior latency_priors[] = {
    [RATE_1X1] = {"rate_1x1", "ms per GMAC", 1, 0.4, ON_ALL},
    [RATE_3X3] = {"rate_3x3", "ms per GMAC", 0.6, 0.5, ON_ALL},
    [RATE_OTHER] = {"rate_other", "ms per GMAC", 1, 0.5, ON_ALL},
    [BY_WEIGHTS] = {"by_weights", "of the forward pass", 1, 0.4, ON_ALL},
    [PAD_ROWS] = {"pad_rows", "channels", 32, 0.7, IN_LANES},
    [PAD_DEPTH] = {"pad_depth", "products", 32, 0.7, ON_ALL},
    [PAD_ROWS_BY_WEIGHTS] = {"pad_rows_by_weights", "channels", 32, 0.7,
                             IN_LANES},
    [PAD_DEPTH_BY_WEIGHTS] = {"pad_depth_by_weights", "products", 32, 0.7,
                              ON_ALL},
    [PAD_PIXELS] = {"pad_pixels", "pixels", 64, 1, ON_ALL},
    [SMALL_1X1] = {"small_batch_1x1", "times", 1.05, 0.2, ON_ALL},
    [SMALL_OTHER] = {"small_batch_other", "times", 1.2, 0.3, ON_ALL},
    [DEPTHWISE] = {"depthwise", "ms per GMAC", 60, 1, ON_ALL},
    [MAPS] = {"maps", "ms per G elements", 27, 0.4, ON_ALL},
    [ELEMENTWISE] = {"elementwise", "ms per G elements", 27, 0.3, ON_ALL},
    [MAX_POOL] = {"max_pool", "ms per G elements", 27, 1, ON_ALL},
    [PARAMETERS] = {"parameters", "ms per M parameters", 0.4, 0.5, ON_ALL},
    [LAYER] = {"layer", "ms per convolution", 0.2, 1, ON_ALL},
    [LAUNCH_CONV] = {"launch_conv", "ms per convolution", 0.8, 0.4, ON_ALL},
    [LAUNCH_NORM] = {"launch_norm", "ms per norm", 0.4, 0.4, ON_ALL},
    [LAUNCH_OTHER] = {"launch_other", "ms per op", 0.2, 0.4, ON_ALL},
    [LAUNCH_TENSOR] = {"launch_tensor", "ms per tensor of parameters", 0.3, 0.4,
                       NOT_IN_LANES},
    [RAGGED] = {"ragged", "ms per G elements", 9, 1.5, IN_LANES},
    [RAGGED_CONCAT] = {"ragged_concat", "ms per G elements", 270, 1, IN_LANES},
    [LANE] = {"lane", "channels", 1, 1, IN_LANES},
};

/* Priors of devices in lanes: nothing is rounded up to tiles there, depthwise
 * convolutions have kernels of their own, and the optimizer's step is one pass
 * over all parameters. */
static const struct latency_lane_prior {
    enum parameter place;
    double centre, deviation;
} latency_lane_priors[] = {{BY_WEIGHTS, 1.2, 0.4},
                           {DEPTHWISE, 12, 1},
                           {LAUNCH_CONV, 1, 0.5},
                           {LAUNCH_NORM, 0.4, 0.5},
                           {LAUNCH_OTHER, 0.2, 0.7}};

static struct prior prior_in(size_t i, double lane)
{
    struct prior prior = latency_priors[i];

    for (size_t k = 0; lane > 1 && k < sizeof latency_lane_priors /
                                           sizeof latency_lane_priors[0];
         k++) {
        if (latency_lane_priors[k].place != i)
            continue;
        prior.centre = latency_lane_priors[k].centre;
        prior.deviation = latency_lane_priors[k].deviation;
    }
    return prior;
}

_Static_assert((int)N_PARAMETERS <= (int)PHYSICAL_MAX_PARAMETERS &&
                   (int)N_PARAMETERS <= (int)LEVENBERG_MAX_PARAMETERS,
               "there is room for all parameters");

/* Which parameters a scale multiplies. */
enum scale { SCALE_WORK, SCALE_LAUNCH, N_SCALES };

static bool is_scaled(size_t parameter, size_t scale)
{
    switch (parameter) {
    case RATE_1X1:
    case RATE_3X3:
    case RATE_OTHER:
    case DEPTHWISE:
    case MAPS:
    case ELEMENTWISE:
    case MAX_POOL:
    case PARAMETERS:
    case RAGGED:
    case RAGGED_CONCAT:
        return scale == SCALE_WORK;
    case LAYER:
    case LAUNCH_CONV:
    case LAUNCH_NORM:
    case LAUNCH_OTHER:
    case LAUNCH_TENSOR:
        return scale == SCALE_LAUNCH;
    default:
        return false;
    }
}

static const double small_batch = 16; /* below, slower kernels are chosen */
static const double corner = 4;       /* between work and launches */
/* Batches from this size on slow a fully connected layer in lanes down. */
static const double dense_rows = 8;

/* ---- networks as the model sees them ------------------------------------- */

struct conv_term {
    double in, out; /* channels per group */
    double tiled_in, tiled_out;
    double tiled_depth; /* channels and taps of the pass by weights */
    double taps, pixels, groups;
    double maps;         /* elements in and out */
    enum parameter rate; /* may be DEPTHWISE */
    bool has_input_gradient;
};

struct network_terms {
    const struct description *description;
    const struct conv_term *terms; /* one per convolution; NULL: compute them on
                                 demand */
    double parameters, n_convs, n_norms, n_others, n_tensors;
    double elementwise, max_pool; /* elements moved per image */
    double ragged, ragged_concat; /* elements of maps that end within a lane */
    struct branches branches;     /* none in lanes */
    double dense;                 /* padded multiply-adds per image */
    double lane;
    bool is_training;
};

static enum parameter rate_of(const struct conv_row *conv)
{
    bool is_unit = conv->stride[0] == 1 && conv->stride[1] == 1;

    if (conv_is_depthwise(conv))
        return DEPTHWISE;
    if (conv->kernel[0] == 1 && conv->kernel[1] == 1)
        return RATE_1X1;
    return conv->kernel[0] == 3 && conv->kernel[1] == 3 && is_unit ? RATE_3X3
                                                                   : RATE_OTHER;
}

static struct conv_term term_of(const struct conv_row *conv, bool is_first,
                                double lane)
{
    double groups = (double)conv->groups;
    double pixels = (double)(conv_out(conv, 0) * conv_out(conv, 1));
    double in = widened_input(conv, is_first, lane);
    double out = widened((double)conv->out, lane);
    struct conv_term term = {
        .in = conv->groups > 1 ? (double)conv->in / groups : in,
        .out = conv->groups > 1 ? out / groups : out,
        .taps = (double)(conv->kernel[0] * conv->kernel[1]),
        .pixels = pixels,
        .groups = groups,
        .maps = in * (double)(conv->size[0] * conv->size[1]) + out * pixels,
        .rate = rate_of(conv),
        .has_input_gradient = !is_first,
    };

    term.tiled_in = lane > 1 ? term.in : tiled(term.in);
    term.tiled_out = lane > 1 ? term.out : tiled(term.out);
    /* A matrix product has channels and taps in one dimension; Winograd's
     * kernels have the channels alone. */
    term.tiled_depth = lane > 1 || term.rate == RATE_3X3
                           ? term.tiled_in * term.taps
                           : tiled(term.in * term.taps);
    return term;
}

static struct conv_term network_term(const struct network_terms *network,
                                     size_t i)
{
    return network->terms ? network->terms[i]
                          : term_of(&network->description->convs[i], i == 0,
                                    network->lane);
}

/* If channels are handled in lanes, everything between convolutions widens as
 * much as their outputs do, and maps that end within a lane are ragged. */
static void count_lanes(struct network_terms *network)
{
    const struct description *own = network->description;
    double exact = 0, wide = 0;

    if (network->lane <= 1)
        return;
    for (size_t i = 0; i < own->n_convs; i++) {
        const struct conv_row *conv = &own->convs[i];
        double pixels = network_term(network, i).pixels;
        double elements = (double)conv->out * pixels;
        double padded = widened((double)conv->out, network->lane) * pixels;

        exact += elements;
        wide += padded;
        network->ragged += padded > elements ? elements : 0;
    }
    network->elementwise *= wide / fmax(exact, 1);
    network->max_pool *= wide / fmax(exact, 1);
    network->ragged_concat =
        own->counts.concat_elements * network->ragged / fmax(exact, 1);
}

/* Norms, ReLUs and additions are fused into convolutions. */
static bool is_fused(const struct network_terms *network)
{
    return network->lane > 1 && !network->is_training;
}

/* Counts how often elements are read or written, per kind of layer. */
static void count_traffic(struct network_terms *network)
{
    const struct image_counts *counts = &network->description->counts;

    if (is_fused(network)) {
        network->elementwise = 2 * counts->concat_elements;
        network->max_pool = counts->max_pool_taps;
    } else if (network->is_training) {
        network->elementwise =
            8 * counts->norm_elements + 5 * counts->relu_elements +
            6 * counts->add_elements + 3 * counts->concat_elements +
            3 * network->branches.biased + 3 * network->branches.forked;
        network->max_pool = 2 * counts->max_pool_inputs + counts->max_pool_taps;
    } else {
        network->elementwise =
            2 * counts->norm_elements + 2 * counts->relu_elements +
            3 * counts->add_elements + 2 * counts->concat_elements +
            2 * network->branches.biased;
        network->max_pool = counts->max_pool_taps;
    }
}

/* Stores the terms in *terms, which must have room for them; NULL: does not. */
static void network_fill(struct network_terms *network,
                         const struct description *description,
                         enum stage stage, double lane, struct conv_term *terms)
{
    const struct image_counts *counts = &description->counts;

    *network = (struct network_terms){
        .description = description,
        .terms = terms,
        .parameters = counts->parameters,
        .n_convs = (double)description->n_convs,
        .n_norms = counts->n_norm,
        .n_others = counts->n_relu + 2 * counts->n_add + counts->n_concat +
                    counts->n_max_pool,
        .lane = lane,
        .is_training = stage == STAGE_TRAINING,
    };
    if (lane <= 1 && network->is_training)
        network->n_tensors = counts->parameter_tensors;
    if (is_fused(network)) {
        network->n_norms = 0;
        network->n_others = counts->n_concat + counts->n_max_pool;
    }
    for (size_t i = 0; terms && i < description->n_convs; i++)
        terms[i] = term_of(&description->convs[i], i == 0, lane);
    if (lane <= 1)
        network->branches = branches_of(description);
    network->n_others += network->branches.n_biased;
    if (network->is_training)
        network->n_others +=
            network->branches.n_biased + network->branches.n_forked;
    count_traffic(network);
    count_lanes(network);
    for (size_t i = 0; i < description->n_denses; i++) {
        double in = (double)description->denses[i].in;
        double out = (double)description->denses[i].out;

        network->dense += lane > 1 ? widened(in, lane) * widened(out, lane)
                                   : tiled(in) * tiled(out);
    }
}

/* ---- the model ----------------------------------------------------------- */

/* Milliseconds of a network: slope * batch + start, for small batches [1] and
 * others [0]. */
struct latency_line {
    double slope[2], start[2];
    double launch, dense, lane;
};

/* Multiply-adds per pixel, padded as the device pads them, in all passes. */
static double padded_work(const struct conv_term *term, const double *q,
                          const struct network_terms *network)
{
    bool in_lanes = network->lane > 1; /* whose tiles do not pad already */
    double rows = in_lanes ? q[PAD_ROWS] : 0;
    double rows_by_weights = in_lanes ? q[PAD_ROWS_BY_WEIGHTS] : 0;
    double forward =
        (term->tiled_out + rows) * (term->in * term->taps + q[PAD_DEPTH]);
    double by_input =
        (term->tiled_in + rows) * (term->out * term->taps + q[PAD_DEPTH]);
    double by_weights = (term->tiled_out + rows_by_weights) *
                        (term->tiled_depth + q[PAD_DEPTH_BY_WEIGHTS]);

    if (!network->is_training)
        return term->groups * forward;
    return term->groups * (forward + (term->has_input_gradient ? by_input : 0) +
                           q[BY_WEIGHTS] * by_weights);
}

static void line_add_term(struct latency_line *line,
                          const struct conv_term *term, const double *q,
                          const struct network_terms *network)
{
    double moved = q[MAPS] * (network->is_training ? 3 : 1) * term->maps * 1e-9;

    for (int small = 0; small < 2; small++)
        line->slope[small] += moved;
    if (term->rate == DEPTHWISE) {
        double work = term->groups * term->out * term->pixels * term->taps;

        for (int small = 0; small < 2; small++)
            line->slope[small] += q[DEPTHWISE] * work * 1e-9;
        return;
    }
    for (int small = 0; small < 2; small++) {
        double slower = term->rate == RATE_1X1 ? q[SMALL_1X1] : q[SMALL_OTHER];
        double pixel = q[term->rate] * (small ? slower : 1) *
                       padded_work(term, q, network) * 1e-9;

        line->slope[small] += pixel * term->pixels;
        line->start[small] += pixel * q[PAD_PIXELS];
    }
}

static struct latency_line line_of(const struct network_terms *network,
                                   const double *q)
{
    struct latency_line line = {.lane = network->lane};
    double passes = network->is_training ? 3 : 1;
    double traffic = q[ELEMENTWISE] * network->elementwise * 1e-9 +
                     q[MAX_POOL] * network->max_pool * 1e-9 +
                     q[RAGGED] * network->ragged * 1e-9 +
                     q[RAGGED_CONCAT] * network->ragged_concat * 1e-9;
    double start = q[LAYER] * network->n_convs;

    if (network->is_training)
        start += q[PARAMETERS] * network->parameters * 1e-6;
    for (size_t i = 0; i < network->description->n_convs; i++) {
        struct conv_term term = network_term(network, i);

        line_add_term(&line, &term, q, network);
    }
    for (int small = 0; small < 2; small++) {
        line.slope[small] += traffic;
        line.start[small] += start;
    }
    line.dense = q[RATE_1X1] * passes * network->dense * 1e-9;
    line.launch = q[LAUNCH_CONV] * network->n_convs +
                  q[LAUNCH_NORM] * network->n_norms +
                  q[LAUNCH_OTHER] * network->n_others +
                  q[LAUNCH_TENSOR] * network->n_tensors;
    return line;
}

static double line_at(const struct latency_line *line, double batch)
{
    int small = batch < small_batch;
    double rows = line->lane > 1 ? widened(batch, dense_rows) : tiled(batch);
    double work =
        line->slope[small] * batch + line->start[small] + line->dense * rows;

    return soft_max(work, fmax(line->launch, 1e-6), corner);
}

static void latency_exp(const double *log_value, double *q)
{
    for (size_t i = 0; i < N_FITTED; i++)
        q[i] = exp(log_value[i]);
}

static double latency_predict(const struct physical *physical,
                              const struct description *description,
                              double batch)
{
    double q[N_FITTED];
    struct network_terms network;
    struct latency_line line;

    network_fill(&network, description, physical->stage,
                 physical_lane(physical), NULL);
    latency_exp(physical->log_value, q);
    line = line_of(&network, q);
    return line_at(&line, batch);
}

/* ---- fitting ------------------------------------------------------------- */

struct latency_fitting {
    const struct data_points *points;
    size_t *network_of; /* one per point */
    struct network_terms *networks;
    struct latency_line *lines;
    struct conv_term *terms;
    size_t n_networks;
    double lane;
};

static void fitting_release(struct latency_fitting *fitting)
{
    mem_free(fitting->network_of);
    mem_free(fitting->networks);
    mem_free(fitting->lines);
    mem_free(fitting->terms);
}

/* Points of one description need not be adjacent; each is prepared once. */
static size_t fitting_find(const struct latency_fitting *fitting,
                           const struct description *description)
{
    size_t i = fitting->n_networks;

    while (i-- > 0) {
        if (fitting->networks[i].description == description)
            return i;
    }
    return fitting->n_networks;
}

static enum assay_status fitting_prepare(struct latency_fitting *fitting,
                                         const struct data_points *points,
                                         double lane, struct error *err)
{
    size_t n_terms = 0, used = 0;

    fitting->points = points;
    fitting->lane = lane;
    fitting->network_of = mem_array(points->n + 1, sizeof(size_t));
    fitting->networks = mem_array(points->n + 1, sizeof *fitting->networks);
    fitting->lines = mem_array(points->n + 1, sizeof *fitting->lines);
    if (!fitting->network_of || !fitting->networks || !fitting->lines)
        return error_nomem(err, points->n * sizeof *fitting->networks, "a fit");
    for (size_t i = 0; i < points->n; i++) {
        size_t at = fitting_find(fitting, points->items[i].description);

        fitting->network_of[i] = at;
        if (at < fitting->n_networks)
            continue;
        fitting->networks[fitting->n_networks++].description =
            points->items[i].description;
        n_terms += points->items[i].description->n_convs;
    }
    fitting->terms = mem_array(n_terms + 1, sizeof *fitting->terms);
    if (!fitting->terms)
        return error_nomem(err, n_terms * sizeof *fitting->terms, "a fit");
    for (size_t i = 0; i < fitting->n_networks; i++) {
        const struct description *own = fitting->networks[i].description;

        network_fill(&fitting->networks[i], own, points->stage, lane,
                     fitting->terms + used);
        used += own->n_convs;
    }
    return ASSAY_OK;
}

/* Logarithms of prediction over value, for all points. */
static void fitting_miss(const void *context, const double *log_value,
                         double *out)
{
    const struct latency_fitting *fitting = context;
    double q[N_FITTED];

    latency_exp(log_value, q);
    for (size_t i = 0; i < fitting->n_networks; i++)
        fitting->lines[i] = line_of(&fitting->networks[i], q);
    for (size_t i = 0; i < fitting->points->n; i++) {
        const struct data_point *point = &fitting->points->items[i];

        out[i] =
            log(line_at(&fitting->lines[fitting->network_of[i]], point->batch) /
                point->value);
    }
}

static struct prior fitting_prior(const void *context, size_t i)
{
    const struct latency_fitting *fitting = context;

    return prior_in(i, fitting->lane);
}

static enum assay_status
latency_fit(struct physical *physical, const struct data_points *points,
            double n_effective, const struct physical *about, struct error *err)
{
    static const double ratio[N_SCALES] = {1, 0.3};
    struct latency_fitting fitting = {0};
    const struct latency_law law = {.n_fitted = N_FITTED,
                                    .n_scales = N_SCALES,
                                    .ratios = ratio,
                                    .n_starts = 1,
                                    .is_scaled = is_scaled,
                                    .prior = fitting_prior,
                                    .miss = fitting_miss,
                                    .context = &fitting};
    enum assay_status st =
        fitting_prepare(&fitting, points, physical_lane(physical), err);

    if (!st)
        st = latency_law_fit(&law, points, n_effective, about,
                             physical->log_value, err);
    fitting_release(&fitting);
    return st;
}

static double latency_prior_deviation(const struct physical *physical, size_t i)
{
    return prior_in(i, physical_lane(physical)).deviation;
}

const struct physical_class latency_class = {
    .priors = latency_priors,
    .n_parameters = N_PARAMETERS,
    .n_fitted = N_FITTED,
    .fit = latency_fit,
    .predict = latency_predict,
    .demand = latency_predict,
    .prior_deviation = latency_prior_deviation,
    .row_deviation = latency_row_deviation,
};

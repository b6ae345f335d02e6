/* predict/memory_model.c - the physical model of memory; see physical.h. */
#include "predict/physical_internal.h"

#include <math.h>
#include <string.h>

enum parameter {
    CONTEXT,
    SMALL_BATCH,
    PARAMETERS,
    ACTIVATIONS,
    WINOGRAD_LARGEST,
    MAPS_LARGEST,
    IM2COL_LARGEST,
    PACKED,
    RAGGED,
    RAGGED_LARGEST,
    LAYERS,
    WINOGRAD_WEIGHTS,
    IMAGES,
    FLOOR,
    CEILING,
    LIMIT,
    LANE,
    N_PARAMETERS,
    N_TERMS = FLOOR, /* the terms of a sum */
    N_FITTED = LANE  /* LANE is chosen, not fitted */
};

/* Parameters in MB are relative to the smallest or largest measured value, see
 * unit_of(). */
static const struct prior memory_priors[] = {
    [CONTEXT] = {"context", "MB", 0.65, 0.3, ON_ALL},
    [SMALL_BATCH] = {"small_batch", "MB", 0.15, 0.7, NOT_IN_LANES},
    [PARAMETERS] = {"parameters", "times their bytes", 3, 0.1, ON_ALL},
    [ACTIVATIONS] = {"activations", "times their bytes", 1.1, 0.1, ON_ALL},
    [WINOGRAD_LARGEST] = {"winograd_largest", "times its bytes", 2, 0.5,
                          ON_ALL},
    [MAPS_LARGEST] = {"maps_largest", "times their bytes", 2, 0.7, ON_ALL},
    [IM2COL_LARGEST] = {"im2col_largest", "times its bytes", 0.05, 1, ON_ALL},
    [PACKED] = {"packed", "times their bytes", 1, 0.7, IN_LANES},
    [RAGGED] = {"ragged", "MB per layer", 0.5, 1, IN_LANES},
    [RAGGED_LARGEST] = {"ragged_largest", "times its bytes", 0.3, 1, IN_LANES},
    [LAYERS] = {"layers", "MB per layer", 0.5, 1, IN_LANES},
    [WINOGRAD_WEIGHTS] = {"winograd_weights", "times their bytes", 0.5, 1,
                          IN_LANES},
    [IMAGES] = {"images", "times their bytes", 1.2, 0.5, IN_LANES},
    [FLOOR] = {"floor", "MB", 1, 0.3, ON_ALL},
    [CEILING] = {"ceiling", "MB", 1, 0.02, ON_ALL},
    [LIMIT] = {"limit", "MB", 1.12, 0.1, ON_ALL},
    [LANE] = {"lane", "channels", 1, 1, IN_LANES},
};

static const double small_batch = 64; /* below, the allocator keeps more */

/* ---- the model ----------------------------------------------------------- */

struct terms {
    double of[N_TERMS];
};

/* A convolution with its channels in whole lanes. */
struct wide {
    const struct conv_row *conv;
    double in, out;
};

static struct wide wide_conv(const struct description *description, size_t i,
                             double lane)
{
    const struct conv_row *conv = &description->convs[i];

    return (struct wide){conv, widened_input(conv, i == 0, lane),
                         widened((double)conv->out, lane)};
}

static double wide_tiles(const struct wide *wide, double batch)
{
    return batch * ceil((double)conv_out(wide->conv, 0) / 4) *
           ceil((double)conv_out(wide->conv, 1) / 4);
}

/* Bytes of workspace for F(4x4, 3x3). */
static double winograd_bytes(const struct wide *wide, double batch)
{
    const struct conv_row *conv = wide->conv;
    double tiles = wide_tiles(wide, batch);

    if (conv->groups > 1 || conv->kernel[0] != 3 || conv->kernel[1] != 3 ||
        conv->stride[0] != 1 || conv->stride[1] != 1)
        return 0;
    return 4 * 36 * (tiles * (wide->in + wide->out) + wide->in * wide->out);
}

static double im2col_bytes(const struct wide *wide, double batch)
{
    const struct conv_row *conv = wide->conv;
    double taps = (double)(conv->kernel[0] * conv->kernel[1]);

    if (conv->groups > 1 || taps <= 1)
        return 0;
    return 4 * batch * (double)(conv_out(conv, 0) * conv_out(conv, 1)) *
           wide->in * taps;
}

static double map_bytes(const struct wide *wide, double batch)
{
    const struct conv_row *conv = wide->conv;

    return 4 * batch *
           (wide->in * (double)(conv->size[0] * conv->size[1]) +
            wide->out * (double)(conv_out(conv, 0) * conv_out(conv, 1)));
}

/* Of the input and the output map, the larger one: an allocator that caches
 * keeps a few blocks of that size, for gradients. */
static double larger_map(const struct wide *wide, double batch)
{
    const struct conv_row *conv = wide->conv;

    return 4 * batch *
           fmax(wide->in * (double)(conv->size[0] * conv->size[1]),
                wide->out * (double)(conv_out(conv, 0) * conv_out(conv, 1)));
}

/* Weights as repacked for kernels in lanes. */
static double packed_bytes(const struct wide *wide)
{
    const struct conv_row *conv = wide->conv;
    double taps = (double)(conv->kernel[0] * conv->kernel[1]);
    int64_t depth = conv->in / conv->groups;

    return 4 * taps * wide->out * (conv->groups > 1 ? (double)depth : wide->in);
}

static bool is_ragged(const struct wide *wide)
{
    return wide->in > (double)wide->conv->in ||
           wide->out > (double)wide->conv->out;
}

/* How often F(4x4, 3x3) is chosen: it pays off with enough tiles. */
static double winograd_share(const struct wide *wide, double batch)
{
    static const double enough = 11;
    double odds = pow(wide_tiles(wide, batch) / enough, 8);

    return winograd_bytes(wide, batch) > 0 ? odds / (1 + odds) : 0;
}

/* Weights as transformed for F(4x4, 3x3). */
static double winograd_weights(const struct wide *wide)
{
    return 4 * 36 * wide->in * wide->out;
}

/* Scratch memory of F(4x4, 3x3), one image at a time: the weights, and as many
 * tiles as fit into caches. */
static double winograd_scratch(const struct wide *wide, double batch)
{
    static const double most_tiles = 7 * 0x1p20;
    double tiles = 4 * 36 * wide_tiles(wide, batch) * (wide->in + wide->out);

    return winograd_weights(wide) + fmin(tiles, most_tiles);
}

/* Terms of devices in lanes. */
static void add_lanes(struct terms *terms, const struct description *own,
                      const struct wide *wide, double batch)
{
    double share = winograd_share(wide, batch);

    terms->of[LAYERS] += 0x1p20;
    terms->of[PACKED] += (1 - share) * packed_bytes(wide);
    terms->of[WINOGRAD_WEIGHTS] += share * winograd_weights(wide);
    if (!is_ragged(wide))
        return;
    terms->of[RAGGED] += 0x1p20;
    if (own->counts.n_concat > 0)
        terms->of[RAGGED_LARGEST] =
            fmax(terms->of[RAGGED_LARGEST], map_bytes(wide, batch));
}

/* The same, for inference only: all kernels share one piece of scratch memory,
 * at most 40 MiB in our engine, which is in use at the same time as their
 * maps. */
static void share_scratch(struct terms *terms,
                          const struct description *description, double batch,
                          double lane)
{
    static const double most = 40 * 0x1p20;
    double scratch = 0, peak = 0;

    for (size_t i = 0; i < description->n_convs; i++) {
        struct wide wide = wide_conv(description, i, lane);

        scratch = fmax(scratch, winograd_share(&wide, batch) *
                                    winograd_scratch(&wide, batch));
    }
    scratch = fmin(scratch, most);
    for (size_t i = 0; i < description->n_convs; i++) {
        struct wide wide = wide_conv(description, i, lane);

        peak = fmax(peak, map_bytes(&wide, batch) +
                              winograd_share(&wide, batch) * scratch);
    }
    terms->of[WINOGRAD_LARGEST] = scratch;
    terms->of[MAPS_LARGEST] = fmax(peak - scratch, 0);
}

static double image_bytes(const struct description *description, double batch)
{
    const struct conv_row *first = description->convs;

    return description->n_convs
               ? 4 * batch *
                     (double)(first->in * first->size[0] * first->size[1])
               : 0;
}

/* Size of the input maps in whole lanes, relative to their own; what is kept
 * for the backward pass grows by about as much. */
static double widening(const struct description *description, double lane)
{
    double exact = 0, padded = 0;

    for (size_t i = 0; i < description->n_convs; i++) {
        const struct conv_row *conv = &description->convs[i];
        double pixels = (double)(conv->size[0] * conv->size[1]);

        exact += (double)conv->in * pixels;
        padded += widened_input(conv, i == 0, lane) * pixels;
    }
    return exact > 0 ? padded / exact : 1;
}

static struct terms terms_of(const struct description *description,
                             double batch, enum stage stage, double lane)
{
    struct terms terms = {0};

    for (size_t i = 0; i < description->n_convs; i++) {
        struct wide wide = wide_conv(description, i, lane);
        double winograd = winograd_bytes(&wide, batch);

        terms.of[WINOGRAD_LARGEST] = fmax(terms.of[WINOGRAD_LARGEST], winograd);
        terms.of[MAPS_LARGEST] =
            fmax(terms.of[MAPS_LARGEST],
                 lane > 1 ? map_bytes(&wide, batch) : larger_map(&wide, batch));
        terms.of[IM2COL_LARGEST] =
            fmax(terms.of[IM2COL_LARGEST], im2col_bytes(&wide, batch));
        if (lane > 1)
            add_lanes(&terms, description, &wide, batch);
    }
    terms.of[PARAMETERS] = 4 * description->counts.parameters;
    if (lane > 1)
        terms.of[IMAGES] = image_bytes(description, batch);
    if (stage == STAGE_TRAINING)
        terms.of[ACTIVATIONS] = batch * description->counts.saved_bytes *
                                widening(description, lane);
    else if (lane > 1)
        share_scratch(&terms, description, batch, lane);
    for (size_t i = 0; i < N_TERMS; i++)
        terms.of[i] /= 0x1p20;
    terms.of[CONTEXT] = 1;
    terms.of[SMALL_BATCH] = lane <= 1 && batch < small_batch;
    return terms;
}

/* Priors that differ for devices in lanes: these recompute cheap values instead
 * of keeping them, and their kernels are small. In inference the memory of a
 * network is known piece by piece: its weights, once plain and once repacked,
 * images, maps and scratch memory. */
static const struct lane_prior {
    enum parameter place;
    double centre, deviation;
} lane_priors[N_STAGES][N_PARAMETERS] = {
    [STAGE_TRAINING] = {{CONTEXT, 0.4, 0.5},
                        {PARAMETERS, 2, 0.4},
                        {ACTIVATIONS, 0.6, 0.3},
                        {WINOGRAD_LARGEST, 0.5, 1},
                        {MAPS_LARGEST, 0.5, 1}},
    [STAGE_INFERENCE] = {{CONTEXT, 0.4, 0.5},
                         {PARAMETERS, 1, 0.1},
                         {PACKED, 1, 0.1},
                         {WINOGRAD_WEIGHTS, 1, 0.2},
                         {WINOGRAD_LARGEST, 1, 0.3},
                         {MAPS_LARGEST, 1, 0.3},
                         {IMAGES, 1, 0.2}}};

/* On other devices weights, gradients and momentum are kept in training, and
 * only weights in inference. */
static struct prior memory_prior_of(size_t i, enum stage stage, double lane)
{
    const struct lane_prior *own = lane_priors[stage];
    struct prior prior = memory_priors[i];

    for (size_t k = 0; lane > 1 && own[k].deviation > 0; k++) {
        if (own[k].place != i)
            continue;
        prior.centre = own[k].centre;
        prior.deviation = own[k].deviation;
    }
    if (lane <= 1 && stage == STAGE_INFERENCE && i == PARAMETERS)
        prior.centre = 1;
    return prior;
}

static void memory_terms(const struct physical *physical,
                         const struct description *description, double batch,
                         double *out)
{
    struct terms terms =
        terms_of(description, batch, physical->stage, physical_lane(physical));

    memcpy(out, terms.of, sizeof terms.of);
}

static struct prior memory_prior(const struct physical *physical, size_t i)
{
    return memory_prior_of(i, physical->stage, physical_lane(physical));
}

static bool memory_is_constant(size_t i)
{
    return i == CONTEXT || i == SMALL_BATCH;
}

static const struct memory_law law = {.n_terms = N_TERMS,
                                      .terms = memory_terms,
                                      .prior = memory_prior,
                                      .is_constant = memory_is_constant};

const struct physical_class memory_class = {
    .priors = memory_priors,
    .n_parameters = N_PARAMETERS,
    .n_fitted = N_FITTED,
    .fit = memory_law_fit,
    .predict = memory_law_predict,
    .demand = memory_law_demand,
    .limit = memory_law_limit,
    .prior_deviation = memory_law_deviation,
    .row_deviation = memory_row_deviation,
    .memory = &law,
};

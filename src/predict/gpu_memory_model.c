/* predict/gpu_memory_model.c - the physical model of memory on a GPU; see
 * physical.h. */
#include "predict/physical_internal.h"

#include <math.h>
#include <string.h>

enum parameter {
    CONTEXT,
    LAYERS,
    PARAMETERS,
    PACKED,
    NORM_INPUTS,
    ACTIVATIONS,
    MAPS_LARGEST,
    IM2COL_LARGEST,
    RAGGED_LARGEST,
    IMAGES,
    PRODUCTS,
    POOLED,
    FLOOR,
    CEILING,
    LIMIT,
    N_PARAMETERS,
    N_TERMS = FLOOR
};

/* The context is relative to the smallest measured value, floor, ceiling and
 * limit to the smallest and largest. */
static const struct prior gpu_priors[] = {
    [CONTEXT] = {"context", "MB", 0.3, 1, ON_ALL},
    [LAYERS] = {"layers", "MB per layer", 0.1, 1, ON_ALL},
    [PARAMETERS] = {"parameters", "times their bytes", 3, 0.15, ON_ALL},
    [PACKED] = {"packed", "times their bytes", 0.5, 1, ON_ALL},
    [NORM_INPUTS] = {"norm_inputs", "times their bytes", 1, 0.15, ON_ALL},
    [ACTIVATIONS] = {"activations", "times their bytes", 0.6, 0.5, ON_ALL},
    [MAPS_LARGEST] = {"maps_largest", "times their bytes", 1, 0.5, ON_ALL},
    [IM2COL_LARGEST] = {"im2col_largest", "times its bytes", 0.05, 1, ON_ALL},
    [RAGGED_LARGEST] = {"ragged_largest", "times its bytes", 0.5, 1, ON_ALL},
    [IMAGES] = {"images", "times their bytes", 1, 0.3, ON_ALL},
    /* Of pools it is known what they take (own_memory.h, torch_memory.h); to
     * PyTorch's the driver's context comes, and what the library of products
     * loads. */
    [PRODUCTS] = {"products", "MB", 0.3, 1, ON_ALL},
    [POOLED] = {"pooled", "times its bytes", 1, 0.02, ON_ALL},
    [FLOOR] = {"floor", "MB", 0.5, 0.3, ON_ALL},
    [CEILING] = {"ceiling", "MB", 1, 0.02, ON_ALL},
    [LIMIT] = {"limit", "MB", 1.12, 0.1, ON_ALL},
};

_Static_assert((int)N_PARAMETERS <= (int)PHYSICAL_MAX_PARAMETERS,
               "there is room for all parameters");

/* Weights alone are kept in inference, and largest maps are all there is. */
static struct prior gpu_prior(const struct physical *physical, size_t i)
{
    struct prior prior = gpu_priors[i];

    if (physical->stage == STAGE_INFERENCE && i == PARAMETERS)
        prior.centre = 1;
    return prior;
}

static bool gpu_is_constant(size_t i)
{
    return i == CONTEXT || i == PRODUCTS;
}

/* What a convolution reads and writes, and what may be added to that: a map as
 * large as its output, if all additions of the network have as many elements.
 */
static double gpu_map_bytes(const struct conv_row *conv,
                            const struct image_counts *counts, double lane,
                            double batch)
{
    double in = widened((double)conv->in, lane) *
                (double)(conv->size[0] * conv->size[1]);
    double out = widened((double)conv->out, lane) *
                 (double)(conv_out(conv, 0) * conv_out(conv, 1));

    return 4 * batch * (in + (out <= counts->add_elements ? 2 * out : out));
}

static double gpu_im2col_bytes(const struct conv_row *conv, double batch)
{
    double taps = (double)(conv->kernel[0] * conv->kernel[1]);

    if (conv->groups > 1 || taps <= 1)
        return 0;
    return 4 * batch * (double)(conv_out(conv, 0) * conv_out(conv, 1)) *
           (double)conv->in * taps;
}

/* Kernels that tensor cores cannot be fed for in place copy the maps first. */
static bool gpu_is_ragged(const struct conv_row *conv, bool is_first)
{
    return conv->groups == 1 &&
           (conv->out % 4 != 0 || (!is_first && conv->in % 4 != 0));
}

static double conv_bytes(const struct conv_row *conv)
{
    int64_t in = conv->in / conv->groups; /* that one output reads */

    return 4 * (double)(conv->out * in * conv->kernel[0] * conv->kernel[1]);
}

/* Between the batches that are known, and on from the last two. */
static double pooled_mb(const double *known, double batch)
{
    int i = 0;
    double low = 1, share;

    while (i + 2 < WALKED_BATCHES && batch > 2 * low) {
        low *= 2;
        i++;
    }
    share = (batch - low) / low;
    return known[i] + share * (known[i + 1] - known[i]);
}

/* In MB, as the pool was walked through; NULL: not. */
static const double *walked_mb(const struct physical *physical,
                               const struct image_counts *counts)
{
    bool is_training = physical->stage == STAGE_TRAINING;
    const double *own =
        is_training ? counts->own_training : counts->own_inference;
    const double *torch =
        is_training ? counts->torch_training : counts->torch_inference;
    const double *known = physical->is_own ? own : torch;

    return physical->is_walked && known[0] > 0 ? known : NULL;
}

/* This program's pool is all that it counts. */
static void walked_terms(const struct physical *physical,
                         const struct description *description, double batch,
                         double *out)
{
    memset(out, 0, N_TERMS * sizeof *out);
    if (!physical->is_own) {
        out[CONTEXT] = 1;
        out[PRODUCTS] = description->n_denses > 0;
    }
    out[POOLED] = pooled_mb(walked_mb(physical, &description->counts), batch);
}

static void gpu_terms(const struct physical *physical,
                      const struct description *description, double batch,
                      double *out)
{
    const struct image_counts *counts = &description->counts;
    double norms = 4 * counts->norm_elements;
    double lane = physical->is_own ? 4 : 1; /* this program pads channels */

    if (walked_mb(physical, counts)) {
        walked_terms(physical, description, batch, out);
        return;
    }
    memset(out, 0, N_TERMS * sizeof *out);
    for (size_t i = 0; i < description->n_convs; i++) {
        const struct conv_row *conv = &description->convs[i];
        double maps = gpu_map_bytes(conv, counts, lane, batch);

        out[PACKED] += conv_bytes(conv);
        out[MAPS_LARGEST] = fmax(out[MAPS_LARGEST], maps);
        out[IM2COL_LARGEST] =
            fmax(out[IM2COL_LARGEST], gpu_im2col_bytes(conv, batch));
        if (!physical->is_own && gpu_is_ragged(conv, i == 0))
            out[RAGGED_LARGEST] = fmax(out[RAGGED_LARGEST], maps);
    }
    if (description->n_convs) {
        const struct conv_row *first = description->convs;

        out[IMAGES] =
            4 * batch * (double)(first->in * first->size[0] * first->size[1]);
    }
    out[PARAMETERS] = 4 * counts->parameters;
    if (physical->stage == STAGE_TRAINING) {
        out[NORM_INPUTS] = batch * norms;
        out[ACTIVATIONS] = batch * fmax(counts->saved_bytes - norms, 0);
    }
    for (size_t i = 0; i < N_TERMS; i++)
        out[i] /= 0x1p20;
    out[CONTEXT] = 1;
    out[LAYERS] = (double)description->n_convs;
}

static const struct memory_law law = {.n_terms = N_TERMS,
                                      .terms = gpu_terms,
                                      .prior = gpu_prior,
                                      .is_constant = gpu_is_constant};

const struct physical_class gpu_memory_class = {
    .priors = gpu_priors,
    .n_parameters = N_PARAMETERS,
    .n_fitted = N_PARAMETERS,
    .fit = memory_law_fit,
    .predict = memory_law_predict,
    .demand = memory_law_demand,
    .limit = memory_law_limit,
    .prior_deviation = memory_law_deviation,
    .row_deviation = memory_row_deviation,
    .memory = &law,
};

/* predict/branches.c - see physical_internal.h. */
#include "predict/physical_internal.h"

#include <math.h>

/* Whether a convolution reads what the one before it wrote: directly, or
 * through layers that keep the channels, such as norms and pools. */
static bool is_chained(const struct conv_row *conv,
                       const struct conv_row *before)
{
    return conv->in == before->out && conv->size[0] <= conv_out(before, 0);
}

struct branches branches_of(const struct description *description)
{
    const struct image_counts *counts = &description->counts;
    struct branches branches = {0};

    for (size_t i = 0; i < description->n_convs; i++) {
        const struct conv_row *conv = &description->convs[i];

        if (conv->has_bias) {
            branches.biased += (double)conv->out * (double)conv_out(conv, 0) *
                               (double)conv_out(conv, 1);
            branches.n_biased++;
        }
        if (i > 0 && counts->n_concat > 0 && !is_chained(conv, conv - 1)) {
            branches.forked += (double)conv->in * (double)conv->size[0] *
                               (double)conv->size[1];
            branches.n_forked++;
        }
    }
    branches.forked = fmax(branches.forked - counts->concat_elements, 0);
    branches.n_forked = fmax(branches.n_forked - counts->n_concat, 0);
    return branches;
}

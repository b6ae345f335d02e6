/* train/loss_scale.c - see loss_scale.h. */
#include "train/loss_scale.h"

bool loss_scale_learn(struct loss_scale *scale, bool is_finite)
{
    if (!(scale->factor > 0))
        return is_finite;
    if (!is_finite) {
        scale->good_steps = 0;
        scale->n_skipped++;
        scale->factor /= 2;
        return scale->factor >= 1;
    }
    if (++scale->good_steps < LOSS_SCALE_PATIENCE)
        return true;
    scale->good_steps = 0;
    if (scale->factor < LOSS_SCALE_MOST)
        scale->factor *= 2;
    return true;
}

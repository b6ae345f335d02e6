/* train/train_shortage.c - see trainer_internal.h: a step for which a device
 * has no memory. */
#include "observe/shortage.h"
#include "train/trainer_internal.h"

void train_shortage_note(struct trainer *trainer, struct train_shortage *out)
{
    struct pool *pool = engine_pool(trainer->engine);
    struct shortage shortage;

    *out = (struct train_shortage){0};
    if (!shortage_look(pool, &shortage))
        return;
    shortage.batch = (int64_t)trainer->n_given;
    out->weights_bytes =
        pool_peak_of(pool, OWNER_WEIGHTS) + pool_peak_of(pool, OWNER_PACKED);
    out->gradients_bytes = pool_peak_of(pool, OWNER_GRADIENTS);
    out->optimizer_bytes = pool_peak_of(pool, OWNER_OPTIMIZER);
    out->activations_bytes = shortage.peak_bytes > shortage.fixed_bytes
                                 ? shortage.peak_bytes - shortage.fixed_bytes
                                 : 0;
    out->batch = shortage.batch;
    out->fitting_batch = shortage_batch(&shortage);
}

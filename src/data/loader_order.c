/* data/loader_order.c - in which order an epoch goes through the samples. */
#include "data/loader_parts_internal.h"

#include <string.h>

static struct random epoch_random(const struct loader_order *order,
                                  uint64_t epoch)
{
    return random_stream(order->seed, epoch);
}

void loader_order_set(struct loader_order *order, uint64_t epoch)
{
    struct random random = epoch_random(order, epoch);

    if (order->is_set && (order->epoch == epoch || !order->shuffles))
        return;
    memcpy(order->samples, order->usable, order->n * sizeof *order->samples);
    for (size_t i = order->n; order->shuffles && i > 1; i--) {
        size_t other = random_below(&random, i), kept = order->samples[i - 1];

        order->samples[i - 1] = order->samples[other];
        order->samples[other] = kept;
    }
    order->epoch = epoch;
    order->is_set = true;
}

struct random loader_order_random(const struct loader_order *order,
                                  struct batch_place place)
{
    struct random random = epoch_random(order, place.epoch);

    return random_stream(random_u64(&random), place.index);
}

/* predict/sample.c - see sample.h. */
#include "predict/sample.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

void samples_release(struct samples *samples)
{
    mem_free(samples->items);
    samples->items = NULL;
    samples->n = samples->capacity = 0;
}

enum assay_status samples_add(struct samples *samples,
                              const struct sample *sample, struct error *err)
{
    struct sample *moved = vec_reserve(samples->items, &samples->capacity,
                                       samples->n + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a row");
    samples->items = moved;
    moved[samples->n++] = *sample;
    if (sample->network >= samples->n_networks)
        samples->n_networks = sample->network + 1;
    return ASSAY_OK;
}

/* The number of a network: that of a sample of it, or a new one. Samples of a
 * network mostly come one behind the other. */
static size_t number_of(const struct samples *samples, const char *network)
{
    for (size_t i = samples->n; i-- > 0;) {
        const struct sample *sample = &samples->items[i];

        if (strcmp(sample->description->network, network) == 0)
            return sample->network;
    }
    return samples->n_networks;
}

enum assay_status samples_take(struct samples *samples,
                               const struct data_set *set,
                               bool (*takes)(const struct measurement *row,
                                             const struct description *network,
                                             const void *context),
                               const void *context, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < set->n_rows; i++) {
        const struct measurement *row = &set->rows[i];
        const struct description *description =
            &set->descriptions[row->description];
        double value = row->value[samples->target];
        bool is_bound = row->is_failed && samples->target == TARGET_MEMORY;
        struct sample sample = {.description = description,
                                .batch = row->batch,
                                .value = value,
                                .is_bound = is_bound};

        if (row->stage != samples->stage || (isnan(value) && !is_bound) ||
            (takes && !takes(row, description, context)))
            continue;
        sample.network = number_of(samples, description->network);
        st = samples_add(samples, &sample, err);
    }
    return st;
}

size_t samples_n_values(const struct samples *samples)
{
    size_t n = 0;

    for (size_t i = 0; i < samples->n; i++)
        n += !samples->items[i].is_bound;
    return n;
}

double samples_least(const struct samples *samples)
{
    double least = NAN;

    for (size_t i = 0; i < samples->n; i++) {
        if (!samples->items[i].is_bound)
            least = fmin(least, samples->items[i].value);
    }
    return least;
}

double samples_most(const struct samples *samples)
{
    double most = NAN;

    for (size_t i = 0; i < samples->n; i++) {
        if (!samples->items[i].is_bound)
            most = fmax(most, samples->items[i].value);
    }
    return most;
}

bool samples_have_bounds(const struct samples *samples)
{
    return samples_n_values(samples) < samples->n;
}

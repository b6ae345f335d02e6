/* tests/predict/device.c - see device.h. */
#include "device.h"

#include "base/random.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

double device_latency_ms(const struct description *network, double batch)
{
    double work = description_macs(network) * 3 * batch / 2e8;
    double traffic = network->counts.norm_elements * 20 * batch / 7.5e6;

    return fmax(work + traffic, 0.8 * (double)network->n_convs);
}

double device_memory_mb(const struct description *network, double batch)
{
    return 300 + 12 * network->counts.parameters / 0x1p20 +
           1.1 * batch * network->counts.saved_bytes / 0x1p20;
}

/* Convolutions of 3x3 and 1x1 in turn; the map is halved now and then. */
static void build_network(struct description *network, size_t kind, double kept)
{
    int64_t in = 3, size = 64;
    struct error err = {0};

    for (size_t i = 0; i < 8 + 4 * kind; i++) {
        bool is_wide = i % 2 == kind % 2;
        struct conv_row conv = {
            .in = in,
            .out = (int64_t)fmax(kept * (double)(32 << (i / 4)), 1),
            .kernel = {is_wide ? 3 : 1, is_wide ? 3 : 1},
            .stride = {i % 4 == 3 ? 2 : 1, 1},
            .pad = {is_wide, is_wide},
            .groups = 1,
            .size = {size, size}};
        double elements;

        conv.stride[1] = conv.stride[0];
        CHECK_STATUS(description_add_conv(network, &conv, &err), ASSAY_OK,
                     &err);
        size = conv_out(&conv, 0);
        elements = (double)(conv.out * size * size);
        network->counts.parameters +=
            (double)(conv.in * conv.out * conv.kernel[0] * conv.kernel[1]);
        network->counts.norm_elements += elements;
        network->counts.relu_elements += elements;
        network->counts.n_norm++;
        network->counts.n_relu++;
        network->counts.saved_bytes += 8 * elements;
        in = conv.out;
    }
    CHECK_STATUS(description_add_dense(network, in, 10, &err), ASSAY_OK, &err);
}

static void measure_network(struct data_set *set, size_t at, double noise,
                            struct random *random)
{
    struct error err = {0};

    for (double batch = 1; batch <= 64; batch *= 2) {
        const struct description *own = &set->descriptions[at];
        struct measurement row = {.description = at, .batch = batch};
        double memory =
            device_memory_mb(own, batch) * exp(noise * random_normal(random));

        row.is_failed = memory > DEVICE_LIMIT_MB;
        row.value[TARGET_MEMORY] = row.is_failed ? (double)NAN : memory;
        row.value[TARGET_LATENCY] =
            row.is_failed ? (double)NAN
                          : device_latency_ms(own, batch) *
                                exp(noise * random_normal(random));
        CHECK_STATUS(data_set_add_row(set, &row, &err), ASSAY_OK, &err);
    }
}

void device_measure(struct data_set *set, size_t n_networks, double noise,
                    uint64_t seed)
{
    struct random random = random_seed(seed);
    struct error err = {0};

    set->capacity_mb = 800;
    set->available_mb = 700;
    for (size_t kind = 0; kind < n_networks; kind++) {
        for (int64_t level = 0; level <= 90; level += 10) {
            char name[32];
            size_t at = 0;

            snprintf(name, sizeof name, "net%zu", kind);
            CHECK_STATUS(data_set_describe(set, name, level, &at, &err),
                         ASSAY_OK, &err);
            build_network(&set->descriptions[at], kind,
                          1 - (double)level / 100);
            measure_network(set, at, noise, &random);
        }
    }
}

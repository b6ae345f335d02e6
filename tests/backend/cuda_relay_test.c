/* What backend/cuda/cuda_relay.h promises, with a bus of this test's own. */
#include "backend/cuda/cuda_relay.h"

#include "base/mem.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { mib = 1 << 20 };

/* A device whose copies are over only after they were asked for a few times. */
struct bus {
    char *device;
    bool is_in;
    char *buffers[RELAY_BUFFERS];
    struct {
        size_t offset, bytes;
        int left; /* questions until it is over; 0: it is */
    } copies[RELAY_BUFFERS];
    size_t n_started, fails_at;
    pthread_t caller;
    bool is_called_elsewhere, is_reused_early;
};

static void bus_finish(struct bus *bus, size_t i)
{
    char *there = bus->device + bus->copies[i].offset;

    if (bus->is_in)
        memcpy(there, bus->buffers[i], bus->copies[i].bytes);
    else
        memcpy(bus->buffers[i], there, bus->copies[i].bytes);
    bus->copies[i].left = 0;
}

static enum assay_status bus_start(void *context, size_t buffer, size_t offset,
                                   size_t bytes, struct error *err)
{
    struct bus *bus = context;

    bus->is_called_elsewhere |= !pthread_equal(bus->caller, pthread_self());
    bus->is_reused_early |= bus->copies[buffer].left > 0;
    bus->copies[buffer].offset = offset;
    bus->copies[buffer].bytes = bytes;
    bus->copies[buffer].left = 3;
    return ++bus->n_started == bus->fails_at
               ? error_set(err, ASSAY_IO, "the bus broke")
               : ASSAY_OK;
}

static enum assay_status bus_is_over(void *context, size_t buffer, bool waits,
                                     bool *is_over, struct error *err)
{
    struct bus *bus = context;

    (void)err;
    bus->is_called_elsewhere |= !pthread_equal(bus->caller, pthread_self());
    if (bus->copies[buffer].left > 0 &&
        (waits || --bus->copies[buffer].left == 0))
        bus_finish(bus, buffer);
    *is_over = bus->copies[buffer].left == 0;
    return ASSAY_OK;
}

static struct bus bus_new(bool is_in, size_t bytes)
{
    struct bus bus = {.is_in = is_in, .caller = pthread_self()};

    bus.device = mem_zalloc(bytes + 1);
    CHECK(bus.device != NULL);
    for (size_t i = 0; i < RELAY_BUFFERS; i++) {
        bus.buffers[i] = mem_zalloc(RELAY_BYTES);
        CHECK(bus.buffers[i] != NULL);
    }
    return bus;
}

static void bus_free(struct bus *bus)
{
    mem_free(bus->device);
    for (size_t i = 0; i < RELAY_BUFFERS; i++)
        mem_free(bus->buffers[i]);
}

static struct relay_bus bus_of(struct bus *bus)
{
    return (struct relay_bus){.start = bus_start,
                              .is_over = bus_is_over,
                              .buffers = bus->buffers,
                              .context = bus};
}

static void fill(char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (char)(i * 31 + i / 4099);
}

static void check_copy(bool is_in, size_t bytes)
{
    struct bus bus = bus_new(is_in, bytes);
    struct relay_bus relay = bus_of(&bus);
    char *host = mem_zalloc(bytes + 1);
    struct error err = {0};

    CHECK(host != NULL);
    fill(is_in ? host : bus.device, bytes);
    CHECK_STATUS(is_in ? relay_in(&relay, host, bytes, &err)
                       : relay_out(&relay, host, bytes, &err),
                 ASSAY_OK, &err);
    for (size_t i = 0; i < RELAY_BUFFERS; i++) {
        if (bus.copies[i].left > 0)
            bus_finish(&bus, i);
    }
    CHECK(memcmp(host, bus.device, bytes) == 0);
    CHECK_INT(bus.n_started, (bytes + RELAY_BYTES - 1) / RELAY_BYTES);
    CHECK(!bus.is_called_elsewhere);
    CHECK(!bus.is_reused_early);
    mem_free(host);
    bus_free(&bus);
}

static const size_t sizes[] = {
    0,       1,           256 << 10, (256 << 10) + 1,
    2 * mib, 2 * mib + 7, 8 * mib,   21 * mib + 12345};

TEST(what_goes_in_arrives_in_parts)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_copy(true, sizes[i]);
}

TEST(what_comes_out_arrives_in_parts)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_copy(false, sizes[i]);
}

TEST(a_bus_that_breaks_ends_the_copy)
{
    const size_t bytes = (size_t)20 * mib;

    for (int is_in = 0; is_in < 2; is_in++) {
        struct bus bus = bus_new(is_in, bytes);
        struct relay_bus relay = bus_of(&bus);
        char *host = mem_zalloc(bytes);
        struct error err = {0};

        CHECK(host != NULL);
        bus.fails_at = 3;
        CHECK_INT(is_in ? relay_in(&relay, host, bytes, &err)
                        : relay_out(&relay, host, bytes, &err),
                  ASSAY_IO);
        CHECK_STR(err.text, "the bus broke");
        mem_free(host);
        bus_free(&bus);
    }
}

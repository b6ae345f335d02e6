/* machine/probe.c - measures the peak performance of this machine. */
#include "machine/machine_internal.h"

#include "base/mem.h"

#include <math.h>

/* Shares of the total time. */
static const double compute_part = 0.1, memory_part = 0.08, cache_part = 0.04,
                    launch_part = 0.03;

enum assay_status probe_rate(const struct probe_task *task,
                             const struct clock *clock, int64_t deadline_ns,
                             double *rate, struct error *err)
{
    enum { least = 1, most = 500 };
    enum assay_status st = task->run(task->context, err);
    int64_t began = clock_now(clock), now = began, best = INT64_MAX;
    int64_t end = began + (int64_t)(task->seconds * 1e9);

    *rate = NAN;
    end = end < deadline_ns ? end : deadline_ns;
    for (int i = 0; !st && i < most && (i < least || now < end); i++) {
        int64_t since = now;

        st = task->run(task->context, err);
        now = clock_now(clock);
        best = now - since < best ? now - since : best;
    }
    if (!st && best > 0)
        *rate = task->work / (double)best;
    return st;
}

/* The time limit of the probe. */
struct probe_budget {
    const struct machine_probe *probe;
    int64_t deadline_ns;
};

static bool probe_is_over(const struct probe_budget *budget)
{
    return clock_now(&budget->probe->clock) >= budget->deadline_ns;
}

static enum assay_status probe_measure(const struct probe_budget *budget,
                                       double part, struct probe_task task,
                                       double *rate, struct error *err)
{
    task.seconds = part * budget->probe->seconds;
    return probe_rate(&task, &budget->probe->clock, budget->deadline_ns, rate,
                      err);
}

/* The peak is the best of several layers, small ones first: without fast
 * kernels there is no time for the large ones. */
static enum assay_status measure_compute(const struct probe_budget *budget,
                                         struct peaks *peaks, struct error *err)
{
    static const struct layer_shape shapes[] = {{64, 56, 56, 3},
                                                {256, 28, 28, 3},
                                                {512, 28, 28, 3},
                                                {1024, 28, 28, 1},
                                                {2048, 512, 1, 0}};
    const struct machine_probe *probe = budget->probe;
    int64_t end = clock_now(&probe->clock) +
                  (int64_t)(5 * compute_part * probe->seconds * 1e9);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof shapes / sizeof *shapes; i++) {
        struct probe_layer *layer = NULL;
        double rate = NAN;

        if (i > 0 && (clock_now(&probe->clock) >= end || probe_is_over(budget)))
            break;
        st = probe_layer_new(probe->device, probe->n_threads, &shapes[i],
                             &layer, err);
        if (!st)
            st = probe_measure(
                budget, compute_part,
                (struct probe_task){.run = probe_layer_run,
                                    .context = layer,
                                    .work = probe_layer_flops(layer)},
                &rate, err);
        peaks->gflops = fmax(peaks->gflops, rate);
        probe_layer_free(layer);
    }
    return st;
}

enum { calls = 64 };

/* Many calls of a kernel with almost nothing to do. */
static enum assay_status probe_launch(void *layer, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < calls; i++)
        st = probe_layer_run(layer, err);
    return st;
}

static enum assay_status measure_launch(const struct probe_budget *budget,
                                        struct peaks *peaks, struct error *err)
{
    static const struct layer_shape tiny = {16, 4, 4, 1};
    const struct machine_probe *probe = budget->probe;
    struct probe_layer *layer = NULL;
    double rate = NAN;
    enum assay_status st =
        probe_layer_new(probe->device, probe->n_threads, &tiny, &layer, err);

    if (!st)
        st = probe_measure(budget, launch_part,
                           (struct probe_task){.run = probe_launch,
                                               .context = layer,
                                               .work = calls},
                           &rate, err);
    peaks->launch_ns = 1 / rate;
    probe_layer_free(layer);
    return st;
}

/* Twice the last cache, so that nothing is found there; at most a quarter of
 * the free memory. */
static size_t probe_memory_bytes(const struct machine_probe *probe)
{
    static const double least = 64 << 20, most = 1 << 30;
    uint64_t cache = machine_cache_bytes(
        probe->topology, machine_last_level(probe->topology), probe->n_threads);
    double bytes = fmin(fmax(2 * (double)cache, least), most);

    if (probe->memory_bytes)
        return probe->memory_bytes;
    return (size_t)fmin(bytes, fmax(probe->available_bytes / 4, least));
}

static enum assay_status measure_streams(const struct probe_budget *budget,
                                         struct probe_memory *memory,
                                         struct peaks *peaks, struct error *err)
{
    const struct {
        enum assay_status (*run)(void *context, struct error *err);
        double *rate;
    } streams[] = {{probe_write, &peaks->write_gbs},
                   {probe_read, &peaks->read_gbs},
                   {probe_copy, &peaks->copy_gbs}};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof streams / sizeof *streams; i++)
        st = probe_measure(budget, memory_part,
                           (struct probe_task){.run = streams[i].run,
                                               .context = memory,
                                               .work = (double)memory->step},
                           streams[i].rate, err);
    return st;
}

/* Half of each cache, so that it is still there the next time. */
static enum assay_status measure_caches(const struct probe_budget *budget,
                                        const struct probe_memory *whole,
                                        struct peaks *peaks, struct error *err)
{
    const struct machine_probe *probe = budget->probe;
    int last = machine_last_level(probe->topology);
    enum assay_status st = ASSAY_OK;

    for (int level = 2; !st && level <= last && !probe_is_over(budget);
         level++) {
        uint64_t bytes =
            machine_cache_bytes(probe->topology, level, probe->n_threads);
        struct cache_peak cache = {.level = level, .bytes = (double)bytes};
        struct probe_memory part = *whole;

        if (bytes == 0 || bytes / 2 > whole->bytes ||
            peaks->n_caches == PEAKS_MAX_CACHES)
            continue;
        part.bytes = (size_t)bytes / 2;
        part.step = part.bytes < whole->step ? part.bytes : whole->step;
        part.repeat = whole->step / part.step;
        part.at = 0;
        st = probe_measure(budget, cache_part,
                           (struct probe_task){.run = probe_read,
                                               .context = &part,
                                               .work = (double)part.step *
                                                       (double)part.repeat},
                           &cache.gbs, err);
        if (cache.gbs > 0)
            peaks->caches[peaks->n_caches++] = cache;
    }
    return st;
}

static enum assay_status probe_measure_memory(const struct probe_budget *budget,
                                              struct peaks *peaks,
                                              struct error *err)
{
    static const size_t most_step = 8 << 20;
    size_t bytes = probe_memory_bytes(budget->probe);
    size_t step = bytes < most_step ? bytes : most_step;
    struct probe_memory memory = {.bytes = bytes,
                                  .step = step,
                                  .repeat = 1,
                                  .n_threads = budget->probe->n_threads};
    enum assay_status st = ASSAY_OK;

    memory.data = mem_alloc_aligned(64, memory.bytes);
    if (!memory.data)
        return ASSAY_OK; /* stays unknown on a machine this full */
    /* A page exists only after it is written. */
    for (size_t i = 0; !st && i < memory.bytes / step; i++)
        st = probe_write(&memory, err);
    if (!st)
        st = measure_streams(budget, &memory, peaks, err);
    if (!st)
        st = measure_caches(budget, &memory, peaks, err);
    mem_free(memory.data);
    return st;
}

enum assay_status machine_probe(const struct machine_probe *probe,
                                struct peaks *peaks, struct error *err)
{
    struct probe_budget budget = {.probe = probe,
                                  .deadline_ns =
                                      clock_now(&probe->clock) +
                                      (int64_t)(probe->seconds * 1e9)};
    enum assay_status st;

    *peaks = (struct peaks){.gflops = NAN,
                            .read_gbs = NAN,
                            .write_gbs = NAN,
                            .copy_gbs = NAN,
                            .launch_ns = NAN};
    st = probe_measure_memory(&budget, peaks, err);
    if (!st)
        st = measure_launch(&budget, peaks, err);
    if (!st)
        st = measure_compute(&budget, peaks, err);
    return st;
}

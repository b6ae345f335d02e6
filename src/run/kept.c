/* run/kept.c - samples and iterations that are kept one by one. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Multiplying by 2^32 / golden ratio scatters consecutive numbers evenly
 * (Knuth, TAOCP 3, 6.4); requiring zero top bits selects one in stride. */
bool run_is_kept(uint32_t iteration, uint32_t stride)
{
    uint32_t scattered = iteration * UINT32_C(2654435769);

    return stride <= 1 || (uint64_t)scattered * stride >> 32 == 0;
}

enum assay_status run_keep(struct run *run, const struct sample *sample,
                           struct error *err)
{
    if (sample->scope >= run->n_scopes || sample->phase >= run->n_phases ||
        sample->thread >= run->n_threads || sample->duration_ns < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a sample has an unknown scope, phase or thread "
                         "(scope %u)",
                         sample->scope);
    if (!vec_grow(&run->kept, &run->kept_capacity, run->n_kept + 1,
                  sizeof *run->kept))
        return error_nomem(err, sizeof *sample, "the samples of a run");
    run->kept[run->n_kept++] = *sample;
    return ASSAY_OK;
}

void run_forget_kept(struct run *run)
{
    run->n_kept = 0;
}

size_t run_kept_count(const struct run *run)
{
    return run->n_kept;
}

const struct sample *run_kept(const struct run *run, size_t i)
{
    return &run->kept[i];
}

/* When a device was busy is counted as calls of its scope; none is a sample. */
static bool kept_is_busy(const struct run *run, const struct cell *cell)
{
    return run->threads[cell->thread].kind == THREAD_ASYNC &&
           strcmp(run->scopes[cell->scope].class_name, "device") == 0;
}

struct kept_share run_kept_share(const struct run *run)
{
    struct kept_share share = {.of_iterations = run->n_iterations};

    for (size_t i = 0; i < run->n_kept; i++) {
        if (run->threads[run->kept[i].thread].kind == THREAD_HELPER)
            continue;
        if (run->kept[i].scope == RUN_ROOT)
            share.iterations++;
        else
            share.samples++;
    }
    for (size_t i = 0; i < run->n_cells; i++) {
        if (run->cells[i].scope != RUN_ROOT &&
            !kept_is_busy(run, &run->cells[i]))
            share.of_samples += run->cells[i].calls.n;
    }
    return share;
}

static int kept_sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int kept_compare_samples(const void *left, const void *right,
                                void *context)
{
    const struct sample *a = left, *b = right;
    const struct run *run = context;
    int order = kept_sign(a->thread, b->thread);

    if (!order)
        order = kept_sign(a->start_ns, b->start_ns);
    if (!order)
        order =
            kept_sign(run->scopes[a->scope].depth, run->scopes[b->scope].depth);
    if (!order) /* of two siblings, the shorter one came first */
        order = kept_sign(a->duration_ns, b->duration_ns);
    return order ? order : kept_sign(a->scope, b->scope);
}

void samples_sort(const struct run *run, struct sample *samples, size_t n)
{
    if (n)
        qsort_r(samples, n, sizeof *samples, kept_compare_samples, (void *)run);
}

enum assay_status iteration_keep(struct run *run,
                                 const struct iteration *iteration,
                                 struct error *err)
{
    while (run->n_iterations_kept == RUN_MAX_POINTS) {
        size_t kept = 0;

        run->iteration_stride *= 2;
        for (size_t i = 0; i < run->n_iterations_kept; i++) {
            if (run_is_kept(run->iterations[i].index, run->iteration_stride))
                run->iterations[kept++] = run->iterations[i];
        }
        run->n_iterations_kept = kept;
    }
    if (!run_is_kept(iteration->index, run->iteration_stride))
        return ASSAY_OK;
    return run_iteration_restore(run, iteration, err);
}

enum assay_status run_iteration_restore(struct run *run,
                                        const struct iteration *iteration,
                                        struct error *err)
{
    if (iteration->duration_ns < 0 || iteration->thread >= run->n_threads)
        return error_set(err, ASSAY_BAD_INPUT,
                         "iteration %u has an impossible duration or thread",
                         iteration->index);
    if (!vec_grow(&run->iterations, &run->iterations_capacity,
                  run->n_iterations_kept + 1, sizeof *run->iterations))
        return error_nomem(err, sizeof *iteration, "the iterations of a run");
    run->iterations[run->n_iterations_kept++] = *iteration;
    return ASSAY_OK;
}

void run_iteration_count_restore(struct run *run, uint64_t n)
{
    run->n_iterations = n;
}

uint64_t run_iteration_count(const struct run *run)
{
    return run->n_iterations;
}

size_t run_iterations_kept(const struct run *run)
{
    return run->n_iterations_kept;
}

const struct iteration *run_iteration(const struct run *run, size_t i)
{
    return &run->iterations[i];
}

bool run_has_iterations(const struct run *run)
{
    return run->n_iterations > 0;
}

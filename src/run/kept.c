/* run/kept.c - samples and iterations that are remembered one by one. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>

enum assay_status run_keep(struct run *run, const struct sample *sample,
                           struct error *err)
{
    struct sample *moved;

    if (sample->scope >= run->n_scopes || sample->phase >= run->n_phases ||
        sample->thread >= run->n_threads || sample->duration_ns < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a sample names what is not there (scope %u)",
                         sample->scope);
    moved = vec_reserve(run->kept, &run->kept_capacity, run->n_kept + 1,
                        sizeof *run->kept);
    if (!moved)
        return error_nomem(err, sizeof *sample, "the samples of a run");
    run->kept = moved;
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

static int sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_samples(const void *left, const void *right, void *context)
{
    const struct sample *a = left, *b = right;
    const struct run *run = context;
    int order = sign(a->thread, b->thread);

    if (!order)
        order = sign(a->start_ns, b->start_ns);
    if (!order)
        order = sign(run->scopes[a->scope].depth, run->scopes[b->scope].depth);
    if (!order) /* of two siblings, the empty one came first */
        order = sign(a->duration_ns, b->duration_ns);
    return order ? order : sign(a->scope, b->scope);
}

void samples_sort(const struct run *run, struct sample *samples, size_t n)
{
    if (n)
        qsort_r(samples, n, sizeof *samples, compare_samples, (void *)run);
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
    struct iteration *moved;

    if (iteration->duration_ns < 0 || iteration->thread >= run->n_threads)
        return error_set(err, ASSAY_BAD_INPUT,
                         "iteration %u has an impossible duration or thread",
                         iteration->index);
    moved = vec_reserve(run->iterations, &run->iterations_capacity,
                        run->n_iterations_kept + 1, sizeof *run->iterations);
    if (!moved)
        return error_nomem(err, sizeof *iteration, "the iterations of a run");
    run->iterations = moved;
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

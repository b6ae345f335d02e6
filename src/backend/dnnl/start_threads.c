/* backend/dnnl/start_threads.c - OpenMP's threads, started where a failure can
 * still be told.
 *
 * OpenMP ends the process when it cannot start a thread. So as many are tried
 * here first, all alive at once, and OpenMP's own follow at once, before other
 * memory is taken. */
#include "backend/dnnl/dnnl_internal.h"
#include "base/mem.h"

#include <omp.h>
#include <pthread.h>

static void *wait_for_the_end(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* How many of n threads can be alive beside each other. */
static size_t try_threads(pthread_t *threads, size_t n)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    size_t started = 0;

    pthread_mutex_lock(&mutex);
    while (started < n && pthread_create(&threads[started], NULL,
                                         wait_for_the_end, &mutex) == 0)
        started++;
    pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&mutex);
    return started;
}

enum assay_status onednn_start_threads(int n_threads, struct error *err)
{
    size_t others = n_threads > 1 ? (size_t)n_threads - 1 : 0;
    pthread_t *threads = mem_array(others, sizeof *threads);
    size_t started;

    if (!threads)
        return error_nomem(err, others * sizeof *threads, "threads");
    started = try_threads(threads, others);
    mem_free(threads);
    if (started < others)
        return error_set(err, ASSAY_NOMEM,
                         "no memory for %d threads, %zu can be started; use "
                         "fewer, or raise the limit (ulimit -v, ulimit -u)",
                         n_threads, started + 1);
    omp_set_dynamic(0);
#pragma omp parallel num_threads(n_threads > 1 ? n_threads : 1)
    {
    }
    return ASSAY_OK;
}

/* data/loader_pace.c - whether the loader keeps up. */
#include "data/loader.h"

#include <math.h>

double loader_stall_share(const struct loader_pace *pace)
{
    int64_t all_ns = pace->wait_ns + pace->between_ns;

    return all_ns > 0 ? (double)pace->wait_ns / (double)all_ns : 0;
}

int64_t loader_image_ns(const struct loader_pace *pace)
{
    return pace->n_images ? pace->made_ns / (int64_t)pace->n_images : 0;
}

size_t loader_wanted_workers(const struct loader_pace *pace)
{
    double made_ns, step_ns;

    if (pace->n_batches < 2 || pace->between_ns <= 0)
        return 0;
    made_ns = (double)pace->made_ns / (double)pace->n_batches;
    step_ns = (double)pace->between_ns / (double)(pace->n_batches - 1);
    return (size_t)fmin(fmax(ceil(made_ns / step_ns), 1), 1e6);
}

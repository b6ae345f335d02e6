/* examples/accelerator.c - a front end that records work on a device.
 *
 *     accelerator [RUN FILE] [ITERATIONS]       (accelerator.assay, 50)
 *
 * The device is a thread with a queue: it runs the layers of a small network
 * after the host has launched them, and knows their times only when they are
 * done. Each layer has two figures: host time for launching, device time for
 * running. `assay show accelerator.assay` shows both, and `assay trace` draws
 * arrows from one to the other.
 *
 * SPDX-License-Identifier: MIT */
#include <assay.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { n_layers = 3, largest_size = 160 };

/* A layer multiplies two matrices of size x size. */
struct layer {
    const char *name;
    int size;
    assay_scope_t scope;
};

static struct layer layers[n_layers] = {
    {.name = "stem", .size = 80},
    {.name = "body", .size = largest_size},
    {.name = "head", .size = 112},
};

/* ---- the device ------------------------------------------------------- */

struct job {
    const struct layer *layer;
    int64_t launched_ns, begin_ns, end_ns;
};

static struct {
    struct job jobs[n_layers];
    int n_launched, n_done;
    bool is_closed;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER};

static float factors[2][largest_size * largest_size];
static float product[largest_size * largest_size];

static void fill_factors(void)
{
    for (int i = 0; i < largest_size * largest_size; i++) {
        factors[0][i] = (float)(i % 7);
        factors[1][i] = (float)(i % 5);
    }
}

static void run_layer(const struct layer *layer)
{
    int n = layer->size;

    for (int row = 0; row < n; row++) {
        for (int column = 0; column < n; column++) {
            float sum = 0;

            for (int k = 0; k < n; k++)
                sum += factors[0][row * n + k] * factors[1][k * n + column];
            product[row * n + column] = sum;
        }
    }
}

static void *run_device(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&queue.mutex);
    for (;;) {
        struct job *job;

        while (queue.n_done == queue.n_launched && !queue.is_closed)
            pthread_cond_wait(&queue.changed, &queue.mutex);
        if (queue.n_done == queue.n_launched)
            break;
        job = &queue.jobs[queue.n_done];
        pthread_mutex_unlock(&queue.mutex);
        job->begin_ns = assay_clock_ns();
        run_layer(job->layer);
        job->end_ns = assay_clock_ns();
        pthread_mutex_lock(&queue.mutex);
        queue.n_done++;
        pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.mutex);
    return NULL;
}

/* ---- the host --------------------------------------------------------- */

static void launch(const struct layer *layer)
{
    double size = layer->size, matrix_bytes = size * size * sizeof(float);

    assay_begin_scope(layer->scope);
    assay_work(&(struct assay_work){.macs = size * size * size,
                                    .bytes_read = 2 * matrix_bytes,
                                    .bytes_written = matrix_bytes});
    pthread_mutex_lock(&queue.mutex);
    queue.jobs[queue.n_launched] =
        (struct job){.layer = layer, .launched_ns = assay_clock_ns()};
    queue.n_launched++;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.mutex);
    assay_end();
}

static void wait_for_device(void)
{
    ASSAY_SPAN("wait for the device");
    pthread_mutex_lock(&queue.mutex);
    while (queue.n_done < queue.n_launched)
        pthread_cond_wait(&queue.changed, &queue.mutex);
    pthread_mutex_unlock(&queue.mutex);
}

/* The device is idle: nobody else touches the queue. */
static void report_jobs(assay_lane_t lane)
{
    for (int i = 0; i < queue.n_done; i++) {
        const struct job *job = &queue.jobs[i];

        assay_span_at(
            lane, job->layer->scope, job->begin_ns, job->end_ns,
            &(struct assay_span_details){.launched_ns = job->launched_ns});
    }
    queue.n_launched = queue.n_done = 0;
}

static void run_network(int n_iterations, assay_lane_t lane)
{
    for (int i = 0; i < n_iterations; i++) {
        assay_iteration_begin();
        for (int k = 0; k < n_layers; k++)
            launch(&layers[k]);
        wait_for_device();
        assay_iteration_end();
        report_jobs(lane);
    }
}

/* The scopes and the lane are looked up once, before anything is launched. */
static int run_recorded(int n_iterations)
{
    assay_lane_t lane = assay_lane_open("queue 0", ASSAY_LANE_DEVICE);
    assay_scope_t net = assay_scope(ASSAY_SCOPE_ROOT, "net", "Network");
    pthread_t device;

    for (int k = 0; k < n_layers; k++)
        layers[k].scope = assay_scope(net, layers[k].name, "MatMul");
    if (pthread_create(&device, NULL, run_device, NULL))
        return -1;
    fill_factors();
    assay_memory("device", ASSAY_MEMORY_WEIGHTS, sizeof factors);
    run_network(n_iterations, lane);
    assay_memory("device", ASSAY_MEMORY_WEIGHTS, -(int64_t)sizeof factors);
    pthread_mutex_lock(&queue.mutex);
    queue.is_closed = true;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.mutex);
    pthread_join(device, NULL);
    printf("the first number is %g\n", product[0]);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct assay_options options = {.warm_up = 2,
                                                 .program = "accelerator"};
    const char *path = argc > 1 ? argv[1] : "accelerator.assay";
    int n_iterations = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 50;
    struct assay_error error = {0};

    if (n_iterations < 1 || argc > 3) {
        fprintf(stderr, "usage: accelerator [RUN FILE] [ITERATIONS]\n");
        return 2;
    }
    if (assay_start(path, &options, &error)) {
        fprintf(stderr, "accelerator: %s\n", error.text);
        return 3;
    }
    if (run_recorded(n_iterations)) {
        fprintf(stderr, "accelerator: cannot start a thread\n");
        return 4;
    }
    if (assay_stop(&error)) {
        fprintf(stderr, "accelerator: %s\n", error.text);
        return 3;
    }
    return 0;
}

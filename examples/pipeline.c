/* examples/pipeline.c - a small image pipeline that records itself.
 *
 *     pipeline [RUN FILE] [FRAMES]        (pipeline.assay, 320 frames)
 *
 * A producer makes frames, workers filter them, and a consumer sums them up,
 * with bounded queues in between. An iteration is one batch of frames that the
 * consumer has summed up. `assay show pipeline.assay` shows the run. */
#include <assay.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    width = 640,
    height = 480,
    n_pixels = width * height,
    n_workers = 2,
    n_levels = 16,
    batch_frames = 8,
    queue_length = 4
};

struct frame {
    int index;
    uint8_t pixels[n_pixels];
    uint8_t edges[n_pixels];
    unsigned histogram[n_levels];
};

/* ---- a bounded queue -------------------------------------------------- */

struct queue {
    const char *name;
    struct frame *frames[queue_length];
    int first, n;
    int n_senders; /* that have not closed it yet */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

static struct queue to_workers = {.name = "queue to workers",
                                  .n_senders = 1,
                                  .mutex = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER};
static struct queue to_consumer = {.name = "queue to consumer",
                                   .n_senders = n_workers,
                                   .mutex = PTHREAD_MUTEX_INITIALIZER,
                                   .changed = PTHREAD_COND_INITIALIZER};

static void queue_put(struct queue *queue, struct frame *frame)
{
    ASSAY_SPAN("wait to put");
    pthread_mutex_lock(&queue->mutex);
    while (queue->n == queue_length)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    queue->frames[(queue->first + queue->n++) % queue_length] = frame;
    assay_counter(queue->name, "frames", queue->n);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

/* The next frame, or NULL when no more will come. */
static struct frame *queue_take(struct queue *queue)
{
    struct frame *frame = NULL;

    ASSAY_SPAN("wait to take");
    pthread_mutex_lock(&queue->mutex);
    while (queue->n == 0 && queue->n_senders > 0)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    if (queue->n > 0) {
        frame = queue->frames[queue->first];
        queue->first = (queue->first + 1) % queue_length;
        queue->n--;
        assay_counter(queue->name, "frames", queue->n);
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return frame;
}

static void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->n_senders--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

/* ---- filters ---------------------------------------------------------- */

static uint8_t pixel(const uint8_t *pixels, int x, int y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return pixels[y * width + x];
}

static void make_noise(struct frame *frame)
{
    uint32_t state = 2463534242u + (uint32_t)frame->index;

    ASSAY_SPAN("noise");
    for (int i = 0; i < n_pixels; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        frame->pixels[i] = (uint8_t)(state >> 24);
    }
}

static void make_shapes(struct frame *frame)
{
    int left = frame->index * 7 % (width / 2);

    ASSAY_SPAN("shapes");
    for (int y = height / 4; y < height * 3 / 4; y++)
        memset(&frame->pixels[y * width + left], 200, width / 3);
}

/* One pass of a box filter: along rows, or, with swapped steps, columns. */
static void blur(const uint8_t *from, uint8_t *to, int step_x, int step_y)
{
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int sum = 0;

            for (int k = -2; k <= 2; k++)
                sum += pixel(from, x + k * step_x, y + k * step_y);
            to[y * width + x] = (uint8_t)(sum / 5);
        }
    }
}

static int blur_frame(struct frame *frame)
{
    uint8_t *rows;

    ASSAY_SPAN("blur");
    rows = malloc(n_pixels);
    if (!rows)
        return -1;
    assay_bytes(n_pixels);
    assay_begin("rows");
    blur(frame->pixels, rows, 1, 0);
    assay_end();
    assay_begin("columns");
    blur(rows, frame->pixels, 0, 1);
    assay_end();
    free(rows);
    assay_bytes(-n_pixels);
    return 0;
}

static void find_edges(struct frame *frame)
{
    const uint8_t *p = frame->pixels;

    ASSAY_SPAN("edges");
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int across = pixel(p, x + 1, y) - pixel(p, x - 1, y);
            int down = pixel(p, x, y + 1) - pixel(p, x, y - 1);
            int strength = abs(across) + abs(down);

            frame->edges[y * width + x] =
                (uint8_t)(strength > 255 ? 255 : strength);
        }
    }
}

static void count_levels(struct frame *frame)
{
    ASSAY_SPAN("histogram");
    memset(frame->histogram, 0, sizeof frame->histogram);
    for (int i = 0; i < n_pixels; i++)
        frame->histogram[frame->edges[i] * n_levels / 256]++;
}

/* ---- the threads ------------------------------------------------------ */

static void *produce(void *argument)
{
    const int *n_frames = argument;

    assay_thread("producer");
    for (int i = 0; i < *n_frames; i++) {
        struct frame *frame;

        ASSAY_SPAN("produce");
        frame = malloc(sizeof *frame);
        if (!frame)
            break;
        assay_bytes(sizeof *frame);
        frame->index = i;
        make_noise(frame);
        make_shapes(frame);
        queue_put(&to_workers, frame);
    }
    queue_close(&to_workers);
    return NULL;
}

static void filter(struct frame *frame)
{
    assay_phase_begin("smooth");
    if (blur_frame(frame))
        fprintf(stderr, "pipeline: frame %d is not blurred: out of memory\n",
                frame->index);
    assay_phase_end();
    assay_phase_begin("detect");
    find_edges(frame);
    count_levels(frame);
    assay_phase_end();
}

static void *work(void *argument)
{
    struct frame *frame;

    assay_thread(argument);
    do {
        ASSAY_SPAN("filter");
        frame = queue_take(&to_workers);
        if (frame) {
            filter(frame);
            queue_put(&to_consumer, frame);
        }
    } while (frame);
    queue_close(&to_consumer);
    return NULL;
}

/* Counts the edge pixels of the next frame. */
static uint64_t consume_frame(void)
{
    uint64_t n_strong = 0;
    struct frame *frame;

    ASSAY_SPAN("consume");
    frame = queue_take(&to_consumer);
    if (!frame)
        return 0;
    for (int level = n_levels / 4; level < n_levels; level++)
        n_strong += frame->histogram[level];
    free(frame);
    assay_bytes(-(int64_t)sizeof *frame);
    return n_strong;
}

static uint64_t consume(int n_frames)
{
    uint64_t n_strong = 0;

    for (int first = 0; first < n_frames; first += batch_frames) {
        assay_iteration_begin();
        for (int i = first; i < first + batch_frames && i < n_frames; i++)
            n_strong += consume_frame();
        assay_iteration_end();
    }
    return n_strong;
}

static int run_pipeline(int n_frames)
{
    static char names[n_workers][16];
    pthread_t producer, workers[n_workers];

    if (pthread_create(&producer, NULL, produce, &n_frames))
        return -1;
    for (int i = 0; i < n_workers; i++) {
        snprintf(names[i], sizeof names[i], "worker %d", i + 1);
        if (pthread_create(&workers[i], NULL, work, names[i]))
            return -1;
    }
    printf("%llu pixels lie on edges\n", (unsigned long long)consume(n_frames));
    pthread_join(producer, NULL);
    for (int i = 0; i < n_workers; i++)
        pthread_join(workers[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct assay_options options = {.warm_up = 1,
                                                 .program = "pipeline"};
    const char *path = argc > 1 ? argv[1] : "pipeline.assay";
    int n_frames = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 320;
    struct assay_error error = {0};
    char text[32];

    if (n_frames < 1 || argc > 3) {
        fprintf(stderr, "usage: pipeline [RUN FILE] [FRAMES]\n");
        return 2;
    }
    if (assay_start(path, &options, &error)) {
        fprintf(stderr, "pipeline: %s\n", error.text);
        return 3;
    }
    snprintf(text, sizeof text, "%d", n_workers);
    assay_fact("settings.workers", text);
    assay_thread("consumer");
    if (run_pipeline(n_frames)) {
        fprintf(stderr, "pipeline: cannot start a thread\n");
        return 4;
    }
    if (assay_stop(&error)) {
        fprintf(stderr, "pipeline: %s\n", error.text);
        return 3;
    }
    return 0;
}

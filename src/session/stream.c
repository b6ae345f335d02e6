/* session/stream.c - see stream.h. */
#include "session/stream.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/processor.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Frames whose results are compared. */
enum { stream_most_compared = 64 };

struct streamed {
    struct frame *frame;
    int64_t submitted_ns;
};

struct stream {
    const struct stream_options *options;
    struct stream_result *result;
    struct ahead *ahead;
    struct streamed flying[ENGINE_MOST_IN_FLIGHT];
    uint64_t n_submitted, n_collected;
    struct stream_books books;
    int64_t now_ns; /* the end of the host's last span */
    int64_t *latencies_ns;
    size_t n_latencies, latencies_capacity;
    uint64_t *digests; /* of the first frames, one at a time; NULL: the results
                          are not looked at */
};

/* ---- results ---------------------------------------------------------------
 */

static uint64_t digest_bytes(uint64_t digest, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint64_t word;

    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    for (; n; n--)
        digest = (digest ^ *bytes++) * UINT64_C(0x100000001b3);
    return digest;
}

/* Of the shapes and the bytes of all outputs. */
static uint64_t digest_outputs(const struct session *session)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < session->n_outputs; i++) {
        const struct tensor *output = &session->outputs[i];

        digest = digest_bytes(digest, output->shape.dims,
                              (size_t)output->shape.rank *
                                  sizeof *output->shape.dims);
        if (output->buffer)
            digest =
                digest_bytes(digest, tensor_data(output), tensor_bytes(output));
    }
    return digest;
}

/* ---- the loop --------------------------------------------------------------
 */

/* The host did something since the last time. */
static void stream_note(struct stream *stream, enum idle_reason reason)
{
    int64_t now_ns = clock_monotonic_ns();

    stream_books_host(&stream->books, reason, stream->now_ns, now_ns);
    stream->now_ns = now_ns;
}

/* Errors of a pass begin with its photograph. */
static enum assay_status stream_failed(const struct frame *frame,
                                       enum assay_status st, struct error *err)
{
    if (st && frame->paths[0])
        error_context(err, "%s", frame->paths[0]);
    return st;
}

static enum assay_status stream_submit(struct stream *stream, struct error *err)
{
    struct streamed *streamed =
        &stream->flying[stream->n_submitted % ENGINE_MOST_IN_FLIGHT];
    enum assay_status st = ahead_take(stream->ahead, &streamed->frame, err);

    stream_note(stream, IDLE_PHOTOGRAPH);
    if (st)
        return st;
    streamed->submitted_ns = stream->now_ns;
    st =
        session_submit(stream->options->session, streamed->frame->tensors, err);
    stream_note(stream, IDLE_LAUNCH);
    stream->n_submitted += !st;
    return stream_failed(streamed->frame, st, err);
}

static enum assay_status stream_read(struct stream *stream, struct frame *frame,
                                     struct error *err)
{
    const struct stream_options *options = stream->options;
    struct stream_result *result = stream->result;
    struct tally tally = {0};
    enum assay_status st;

    if (stream->digests) {
        result->n_compared++;
        result->n_same += stream->digests[stream->n_collected] ==
                          digest_outputs(options->session);
    }
    st = frame_postprocess(frame, options->session, options->profile, &tally,
                           err);
    str_release(&tally.first_drawn);
    return st;
}

/* The device is told of in the order of the passes. */
static void stream_count(struct stream *stream, const struct engine_pass *pass)
{
    if (pass->is_flown && pass->end_ns)
        stream_books_pass(&stream->books, pass->begin_ns, pass->end_ns);
    else
        stream->result->n_one_by_one++;
}

static enum assay_status stream_collect(struct stream *stream,
                                        struct error *err)
{
    struct streamed *streamed =
        &stream->flying[stream->n_collected % ENGINE_MOST_IN_FLIGHT];
    struct session *session = stream->options->session;
    struct engine_pass pass;
    enum assay_status st;

    st = session_collect(session, &pass, err);
    stream_note(stream, IDLE_COPY);
    if (!st) {
        stream_count(stream, &pass);
        if (!vec_grow(&stream->latencies_ns, &stream->latencies_capacity,
                      stream->n_latencies + 1, sizeof *stream->latencies_ns))
            st = error_nomem(err, sizeof *stream->latencies_ns, "latencies");
        else
            stream->latencies_ns[stream->n_latencies++] =
                stream->now_ns - streamed->submitted_ns;
    }
    if (!st)
        st = stream_read(stream, streamed->frame, err);
    st = stream_failed(streamed->frame, st, err);
    ahead_give(stream->ahead, streamed->frame);
    stream->n_collected++;
    stream_note(stream, IDLE_HOST);
    return st;
}

/* Everything that is in flight after a failure is waited for. */
static void stream_drain(struct stream *stream)
{
    struct session *session = stream->options->session;
    struct error ignored = {0};

    while (engine_in_flight(session->engine))
        (void)session_collect(session, NULL, &ignored);
}

static bool stream_is_stopped(const struct stream *stream)
{
    const volatile sig_atomic_t *stop = stream->options->profile->stop;

    return stop && *stop;
}

/* Streams n_least frames, and on for at least so long. */
static enum assay_status stream_loop(struct stream *stream, uint64_t n_least,
                                     double seconds, struct error *err)
{
    const struct stream_options *options = stream->options;
    int64_t least_ns = (int64_t)(seconds * 1e9);
    struct ahead_options ahead = {.intake = options->intake,
                                  .session = options->session,
                                  .batch = options->batch,
                                  .n_held = options->n_in_flight,
                                  .n_threads = stream->result->n_threads};
    enum assay_status st;

    stream->n_submitted = stream->n_collected = 0;
    stream->n_latencies = 0;
    stream->result->n_one_by_one = 0;
    stream->now_ns = clock_monotonic_ns();
    stream_books_begin(&stream->books, stream->now_ns);
    st = ahead_new(&ahead, &stream->ahead, err);
    while (!st) {
        bool goes_on = !stream_is_stopped(stream) &&
                       (stream->n_submitted < n_least ||
                        stream->now_ns - stream->books.began_ns < least_ns);
        uint64_t n_flying = stream->n_submitted - stream->n_collected;

        if (goes_on && n_flying < options->n_in_flight)
            st = stream_submit(stream, err);
        else if (n_flying)
            st = stream_collect(stream, err);
        else
            break;
    }
    stream_drain(stream);
    stream_books_end(&stream->books, clock_monotonic_ns());
    ahead_free(stream->ahead);
    stream->ahead = NULL;
    return st;
}

/* ---- one at a time, for comparison ------------------------------------------
 */

/* As they are measured: launched one by one. */
static enum assay_status stream_digest(struct stream *stream, size_t n,
                                       struct error *err)
{
    struct session *session = stream->options->session;
    struct ahead_options ahead = {.intake = stream->options->intake,
                                  .session = session,
                                  .batch = stream->options->batch,
                                  .n_held = 1,
                                  .n_threads = stream->result->n_threads};
    enum assay_status st = ahead_new(&ahead, &stream->ahead, err);

    engine_allow_replay(session->engine, false);
    for (size_t i = 0; !st && i < n && !stream_is_stopped(stream); i++) {
        struct frame *frame;

        st = ahead_take(stream->ahead, &frame, err);
        if (st)
            break;
        st = session_run(session, frame->tensors, err);
        if (!st)
            stream->digests[i] = digest_outputs(session);
        st = stream_failed(frame, st, err);
        ahead_give(stream->ahead, frame);
    }
    engine_allow_replay(session->engine, true);
    ahead_free(stream->ahead);
    stream->ahead = NULL;
    return st;
}

/* A round over the photographs, if they are not too many. */
static size_t stream_compared(const struct stream_options *options)
{
    size_t round = (options->intake->n + options->batch - 1) / options->batch;

    return round < stream_most_compared ? round : stream_most_compared;
}

static enum assay_status stream_compare(struct stream *stream,
                                        struct error *err)
{
    const struct stream_options *options = stream->options;
    size_t n = stream_compared(options);
    enum assay_status st;

    stream->digests = mem_array(n, sizeof *stream->digests);
    if (!stream->digests)
        return error_nomem(err, n * sizeof *stream->digests,
                           "results to compare");
    st = stream_digest(stream, n, err);
    if (!st)
        st = stream_loop(stream, n, 0, err);
    mem_free(stream->digests);
    stream->digests = NULL;
    return st;
}

/* ---- the whole -------------------------------------------------------------
 */

/* Passes before those that are timed: every size is seen in a first round and
 * recorded in a second one, and the same size may be in flight several times.
 */
static uint64_t stream_rehearsed(const struct stream_options *options)
{
    enum { most = 256 };
    uint64_t rounds = 2 * ((options->intake->n + options->batch - 1) /
                           (uint64_t)options->batch);

    return (rounds < most ? rounds : most) + 2 * options->n_in_flight + 2;
}

static int compare_latencies(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static void stream_sum_up(struct stream *stream)
{
    struct stream_result *result = stream->result;
    size_t n = stream->n_latencies;

    result->n_passes = stream->n_collected;
    result->n_images = stream->n_collected * stream->options->batch;
    result->books = stream->books;
    result->seconds =
        (double)(stream->books.ended_ns - stream->books.began_ns) / 1e9;
    if (n) {
        qsort(stream->latencies_ns, n, sizeof *stream->latencies_ns,
              compare_latencies);
        result->latency_ns = stream->latencies_ns[n / 2];
        result->p95_ns = stream->latencies_ns[n - 1 - n / 20];
    }
}

/* Enough for what a GPU takes per photograph, while one processor launches. */
static int stream_decoders(void)
{
    enum { most = 8 };
    int n = processor_count() - 1;

    return n < 1 ? 1 : n < most ? n : most;
}

enum assay_status stream_run(const struct stream_options *options,
                             struct stream_result *result, struct error *err)
{
    struct stream stream = {.options = options, .result = result};
    uint64_t n_rehearsed = stream_rehearsed(options);
    enum assay_status st;

    *result = (struct stream_result){.n_in_flight = options->n_in_flight,
                                     .n_threads = stream_decoders()};
    engine_allow_in_flight(options->session->engine, options->n_in_flight);
    engine_allow_replay(options->session->engine, true);
    st = stream_compare(&stream, err);
    if (!st)
        st = stream_loop(&stream, n_rehearsed, 0, err);
    if (!st)
        st = stream_loop(&stream, options->n_least, options->seconds, err);
    if (!st)
        stream_sum_up(&stream);
    engine_allow_replay(options->session->engine, false);
    mem_free(stream.latencies_ns);
    return st;
}

/* session/stream_facts.c - see profile_internal.h: passes in flight as a part
 * of a run, and what the run says about them. */
#include "session/profile_internal.h"

#include <inttypes.h>
#include <stdio.h>

enum assay_status profile_stream(struct profile *profile, struct error *err)
{
    static const double enough_seconds = 1;
    const struct profile_options *options = profile->options;
    struct stream_options stream = {
        .session = &profile->session,
        .profile = options,
        .intake = &profile->intake,
        .batch = (size_t)options->session.model.build.n_images,
        .n_in_flight = options->n_in_flight,
        .n_least = profile->pacing.n_done,
        .seconds = options->time_limit < enough_seconds ? options->time_limit
                                                        : enough_seconds};
    enum assay_status st;

    if (!options->n_in_flight)
        return ASSAY_OK;
    record_pause();
    st = stream_run(&stream, &profile->stream, err);
    record_resume();
    return st;
}

/* Per pass, so that it can be held against a latency. */
static double stream_ms(const struct stream_result *stream, int64_t ns)
{
    return (double)ns / 1e6 / (double)stream->n_passes;
}

static enum assay_status stream_state_device(const struct stream_result *stream,
                                             struct run *run, struct error *err)
{
    const struct stream_books *books = &stream->books;
    enum assay_status st = run_fact_printf(run, err, "stream.busy_ms", "%.4g",
                                           stream_ms(stream, books->busy_ns));

    if (!st)
        st = run_fact_printf(run, err, "stream.idle_ms", "%.4g",
                             stream_ms(stream, stream_books_idle_ns(books)));
    for (enum idle_reason i = 0; !st && i < N_IDLE_REASONS; i++) {
        char key[64];

        if (!books->reasons_ns[i])
            continue;
        snprintf(key, sizeof key, "stream.idle.%s_ms", idle_reason_text(i));
        st = run_fact_printf(run, err, key, "%.4g",
                             stream_ms(stream, books->reasons_ns[i]));
    }
    return st;
}

enum assay_status stream_state_facts(const struct profile *profile,
                                     struct run *run, struct error *err)
{
    const struct stream_result *stream = &profile->stream;
    enum assay_status st;

    if (!stream->n_passes)
        return ASSAY_OK;
    st = run_fact_printf(run, err, "stream.in_flight", "%zu",
                         stream->n_in_flight);
    if (!st)
        st = run_fact_printf(run, err, "stream.images", "%" PRIu64,
                             stream->n_images);
    if (!st)
        st = run_fact_printf(run, err, "stream.images_per_second", "%.4g",
                             (double)stream->n_images / stream->seconds);
    if (!st)
        st = run_fact_printf(run, err, "stream.latency_ms", "%.4g",
                             (double)stream->latency_ns / 1e6);
    if (!st)
        st = run_fact_printf(run, err, "stream.p95_ms", "%.4g",
                             (double)stream->p95_ns / 1e6);
    if (!st)
        st = run_fact_printf(run, err, "stream.decoders", "%d",
                             stream->n_threads);
    if (!st)
        st = run_fact_printf(run, err, "stream.compared", "%zu",
                             stream->n_compared);
    if (!st)
        st = run_fact_printf(run, err, "stream.same", "%zu", stream->n_same);
    if (!st && stream->n_one_by_one)
        st = run_fact_printf(run, err, "stream.one_by_one", "%" PRIu64,
                             stream->n_one_by_one);
    if (!st && !stream->n_one_by_one)
        st = stream_state_device(stream, run, err);
    return st;
}

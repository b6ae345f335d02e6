/* bench/subject.c - see subject.h. */
#include "subject.h"

#include "base/clock.h"

#include <time.h>

/* Our threads sleep long before that; it is as long as peer_rest() takes, so
 * that both sides wake up from the same rest. */
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

enum assay_status subject_open(struct subject *subject,
                               const struct session_options *options,
                               size_t n_images, int n_first, struct error *err)
{
    enum assay_status st;

    *subject = (struct subject){.frame = {.n = n_images}};
    st = session_open(options, &subject->session, err);
    if (!st)
        st = frame_preprocess(&subject->frame, &subject->session, err);
    for (int i = 0; !st && i < n_first; i++)
        st = frame_model(&subject->frame, &subject->session, err);
    return st;
}

void subject_release(struct subject *subject)
{
    frame_release(&subject->frame);
    session_close(&subject->session);
}

/* The second of two runs: the first, after the rest, wakes threads and brings
 * back what the other side drove out of the caches. */
static enum assay_status ask_twice(struct peer *peer, const char *job,
                                   double *seconds, struct error *err)
{
    long n_results;
    enum assay_status st = peer_ask(peer, job, seconds, &n_results, err);

    return st ? st : peer_ask(peer, job, seconds, &n_results, err);
}

static enum assay_status run_twice(struct subject *subject, double *seconds,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < 2; i++) {
        int64_t since = clock_monotonic_ns();

        st = frame_model(&subject->frame, &subject->session, err);
        *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    }
    return st;
}

enum assay_status subject_compare(struct subject *subject, struct peer *peer,
                                  const char *job, int n_rounds,
                                  struct pairs *pairs, struct error *err)
{
    double ours, theirs;
    enum assay_status st = ask_twice(peer, job, &theirs, err);

    for (int i = 0; !st && i < n_rounds; i++) {
        rest();
        st = ask_twice(peer, job, &theirs, err);
        if (st)
            break;
        peer_rest(peer);
        st = run_twice(subject, &ours, err);
        if (!st)
            pairs_add(pairs, ours, theirs);
    }
    return st;
}

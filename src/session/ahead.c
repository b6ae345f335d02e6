/* session/ahead.c - see ahead.h. */
#include "session/ahead.h"

#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { ahead_most_threads = 64 };

struct ahead_slot {
    struct frame frame;
    bool is_made;
    enum assay_status st;
    struct error err;
};

struct ahead {
    struct ahead_options options;
    struct ahead_slot *slots; /* frame i is in slot i modulo n_slots */
    size_t n_slots;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t n_begun, n_taken, n_given; /* frames */
    bool is_stopping;
    pthread_t threads[ahead_most_threads];
    int n_threads;
};

/* ---- the threads -----------------------------------------------------------
 */

static void ahead_name_photos(const struct ahead *ahead, uint64_t i,
                              struct frame *frame)
{
    const struct intake *intake = ahead->options.intake;

    frame->n = ahead->options.batch;
    for (size_t k = 0; k < frame->n; k++)
        frame->paths[k] =
            intake->paths[(i * (uint64_t)frame->n + k) % intake->n];
}

static void ahead_make(struct ahead *ahead, uint64_t i, struct ahead_slot *slot)
{
    slot->frame = (struct frame){0};
    slot->err = (struct error){0};
    ahead_name_photos(ahead, i, &slot->frame);
    slot->st = frame_decode(&slot->frame, &slot->err);
    if (!slot->st)
        slot->st =
            frame_preprocess(&slot->frame, ahead->options.session, &slot->err);
}

static void *ahead_work(void *context)
{
    struct ahead *ahead = context;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->is_stopping) {
        struct ahead_slot *slot =
            &ahead->slots[ahead->n_begun % ahead->n_slots];
        uint64_t i = ahead->n_begun;

        if (i >= ahead->n_given + ahead->n_slots) {
            pthread_cond_wait(&ahead->changed, &ahead->lock);
            continue;
        }
        ahead->n_begun++;
        pthread_mutex_unlock(&ahead->lock);
        ahead_make(ahead, i, slot);
        pthread_mutex_lock(&ahead->lock);
        slot->is_made = true;
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* ---- life ------------------------------------------------------------------
 */

/* Signals are for the thread that started them. One thread is enough to go on.
 */
static enum assay_status ahead_start(struct ahead *ahead, struct error *err)
{
    int failed = 0, n = ahead->options.n_threads;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!failed && ahead->n_threads < n &&
           ahead->n_threads < ahead_most_threads) {
        failed = pthread_create(&ahead->threads[ahead->n_threads], NULL,
                                ahead_work, ahead);
        ahead->n_threads += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ahead->n_threads
               ? ASSAY_OK
               : error_errno(err, failed,
                             "cannot start a thread that decodes photographs");
}

enum assay_status ahead_new(const struct ahead_options *options,
                            struct ahead **out, struct error *err)
{
    struct ahead *ahead = mem_zalloc(sizeof *ahead);
    size_t n = options->n_held + (size_t)options->n_threads + 1;
    enum assay_status st;

    *out = NULL;
    if (!ahead)
        return error_nomem(err, sizeof *ahead, "photographs ahead");
    ahead->options = *options;
    ahead->n_slots = n;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->slots = mem_array(n, sizeof *ahead->slots);
    st = ahead->slots
             ? ahead_start(ahead, err)
             : error_nomem(err, n * sizeof *ahead->slots, "photographs ahead");
    if (st)
        ahead_free(ahead);
    else
        *out = ahead;
    return st;
}

void ahead_free(struct ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_stopping = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    while (ahead->n_threads)
        pthread_join(ahead->threads[--ahead->n_threads], NULL);
    for (size_t i = 0; ahead->slots && i < ahead->n_slots; i++)
        frame_release(&ahead->slots[i].frame);
    mem_free(ahead->slots);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    mem_free(ahead);
}

/* ---- taking ----------------------------------------------------------------
 */

enum assay_status ahead_take(struct ahead *ahead, struct frame **out,
                             struct error *err)
{
    struct ahead_slot *slot = &ahead->slots[ahead->n_taken % ahead->n_slots];

    pthread_mutex_lock(&ahead->lock);
    while (!slot->is_made)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    slot->is_made = false;
    pthread_mutex_unlock(&ahead->lock);
    ahead->n_taken++;
    *out = &slot->frame;
    return slot->st ? error_set(err, slot->st, "%s", slot->err.text) : ASSAY_OK;
}

void ahead_give(struct ahead *ahead, struct frame *frame)
{
    frame_release(frame);
    *frame = (struct frame){0};
    pthread_mutex_lock(&ahead->lock);
    ahead->n_given++;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

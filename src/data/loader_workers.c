/* data/loader_workers.c - the threads that make batches.
 *
 * Work is handed out image by image, in order: the next image of the batch that
 * was opened last, or the first of a new one if a slot is free. */
#include "data/loader_parts_internal.h"

#include <signal.h>
#include <stdio.h>

int64_t loader_now(const struct loader *loader)
{
    return clock_now(&loader->options.clock);
}

/* ---- handing out; with the lock held ---------------------------------- */

bool loader_is_at_end(const struct loader *loader)
{
    uint64_t n_epochs = loader->options.n_epochs;

    return n_epochs && loader->next.epoch >= n_epochs;
}

static struct batch_place place_after(const struct loader *loader, size_t n)
{
    struct batch_place place = loader->next;
    size_t left;

    place.index += n;
    left = loader->order.n - place.index;
    if (left == 0 ||
        (loader->options.drops_last && left < loader->options.batch_size))
        place = (struct batch_place){.epoch = place.epoch + 1};
    return place;
}

static size_t count_cells(const struct loader *loader)
{
    size_t left = loader->order.n - loader->next.index;
    size_t most = loader->options.batch_size;

    return left < most ? left : most;
}

static bool open_slot(struct loader *loader)
{
    struct slot *slot = &loader->slots[loader->n_opened % loader->n_slots];
    struct batch_place place = loader->next;

    if (loader_is_at_end(loader) ||
        loader->n_opened - loader->n_given >= loader->n_slots)
        return false;
    loader_order_set(&loader->order, place.epoch);
    slot->n = count_cells(loader);
    for (size_t i = 0; i < slot->n; i++, place.index++)
        slot->cells[i] = (struct batch_cell){
            .index = loader->order.samples[place.index], .place = place};
    slot->batch.first = loader->next;
    slot->batch.after = loader->next = place_after(loader, slot->n);
    slot->st = slot_prepare(slot, &loader->sample, &slot->err);
    if (slot->st) {
        slot->n_begun = slot->n_done = slot->n;
        slot->is_ready = true;
        pthread_cond_broadcast(&loader->has_batch);
    }
    loader->n_opened++;
    return true;
}

static struct slot *begin_cell(struct loader *loader, size_t *cell)
{
    struct slot *slot;

    do {
        uint64_t last = loader->n_opened + loader->n_slots - 1;

        slot = &loader->slots[last % loader->n_slots];
        if (slot->n_begun < slot->n) {
            *cell = slot->n_begun++;
            return slot;
        }
    } while (open_slot(loader));
    return NULL;
}

/* ---- making ----------------------------------------------------------- */

/* Draws samples until one is usable. So many failures in a row are no
 * accident. */
static void fill_cell(struct loader *loader, struct slot *slot, size_t i,
                      struct random *random)
{
    enum { most_tries = 100 };
    struct batch_cell *cell = &slot->cells[i];
    enum assay_status st = cell->st;

    for (int k = 0; st && st != ASSAY_NOMEM && k < most_tries; k++) {
        size_t drawn = random_below(random, loader->order.n);
        struct error why = {0};

        st = sample_make(&loader->sample, loader->order.usable[drawn], random,
                         slot_image(slot, i), &cell->sample, &why);
        if (st == ASSAY_NOMEM) {
            cell->st = st;
            cell->err = why;
        }
    }
    cell->has_sample = st == ASSAY_OK;
}

static void make_cell(struct loader *loader, struct slot *slot, size_t i)
{
    struct batch_cell *cell = &slot->cells[i];
    struct random random = loader_order_random(&loader->order, cell->place);

    cell->st = sample_make(&loader->sample, cell->index, &random,
                           slot_image(slot, i), &cell->sample, &cell->err);
    cell->has_sample = cell->st == ASSAY_OK;
    if (cell->st && loader->options.fills)
        fill_cell(loader, slot, i, &random);
}

/* Enter and leave with the lock held; false if there is nothing to do now. The
 * thread that finishes the last cell completes the batch. */
static bool work(struct loader *loader)
{
    size_t cell = 0;
    struct slot *slot = begin_cell(loader, &cell);
    int64_t began_ns, made_ns;

    if (!slot)
        return false;
    pthread_mutex_unlock(&loader->lock);
    began_ns = loader_now(loader);
    make_cell(loader, slot, cell);
    made_ns = loader_now(loader) - began_ns;
    pthread_mutex_lock(&loader->lock);
    slot->batch.made_ns += made_ns;
    slot->n_done++;
    if (slot->n_done < slot->n)
        return true;
    pthread_mutex_unlock(&loader->lock);
    slot_finish(slot, &loader->sample);
    pthread_mutex_lock(&loader->lock);
    slot->is_ready = true;
    pthread_cond_broadcast(&loader->has_batch);
    return true;
}

void loader_make_some(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    while (work(loader))
        continue;
    pthread_mutex_unlock(&loader->lock);
}

/* ---- threads ---------------------------------------------------------- */

static void *run_worker(void *context)
{
    struct loader *loader = context;

    pthread_mutex_lock(&loader->lock);
    while (!loader->is_stopping) {
        if (!work(loader))
            pthread_cond_wait(&loader->has_work, &loader->lock);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* A worker waits for the lock before it does anything, so that its name is set
 * by the time a recorder asks for it. */
static enum assay_status start_one(struct loader *loader, struct error *err)
{
    size_t n = loader->n_threads;
    char name[16];
    int failed;

    snprintf(name, sizeof name, "loader %zu", n % 1000);
    pthread_mutex_lock(&loader->lock);
    failed = pthread_create(&loader->threads[n], NULL, run_worker, loader);
    if (!failed)
        pthread_setname_np(loader->threads[n], name);
    pthread_mutex_unlock(&loader->lock);
    if (failed)
        return error_errno(
            err, failed,
            "cannot start loader worker %zu of %zu; set num_workers lower",
            n + 1, loader->options.n_workers);
    loader->n_threads++;
    return ASSAY_OK;
}

/* Workers block signals: they are for the thread that started them. */
enum assay_status loader_start(struct loader *loader, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!st && loader->n_threads < loader->options.n_workers)
        st = start_one(loader, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return st;
}

void loader_stop(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->is_stopping = true;
    pthread_cond_broadcast(&loader->has_work);
    pthread_mutex_unlock(&loader->lock);
    while (loader->n_threads)
        pthread_join(loader->threads[--loader->n_threads], NULL);
}

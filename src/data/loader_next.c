/* data/loader_next.c - the loader as a source of batches. */
#include "data/loader_parts_internal.h"

enum assay_status loader_begin(void *context, struct batch_place place,
                               struct error *err)
{
    struct loader *loader = context;

    if (place.index > loader->order.n)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "cannot resume at sample %llu of an epoch: the dataset has %zu "
            "samples to learn from; was it a different one?",
            (unsigned long long)place.index, loader->order.n);
    loader->next = place;
    if (place.index == loader->order.n)
        loader->next = (struct batch_place){.epoch = place.epoch + 1};
    return loader_start(loader, err);
}

/* ---- the next batch --------------------------------------------------- */

static size_t count_ready(const struct loader *loader)
{
    uint64_t i = loader->n_given;

    while (i < loader->n_opened && loader->slots[i % loader->n_slots].is_ready)
        i++;
    return (size_t)(i - loader->n_given);
}

bool loader_is_ready(void *context)
{
    struct loader *loader = context;
    bool is_ready;

    pthread_mutex_lock(&loader->lock);
    is_ready = loader->options.n_workers && count_ready(loader);
    pthread_mutex_unlock(&loader->lock);
    return is_ready;
}

/* Waits for the next slot in turn; NULL at the end. */
static struct slot *wait_for_slot(struct loader *loader, size_t *n_ready)
{
    struct slot *slot;

    if (!loader->options.n_workers)
        loader_make_some(loader);
    pthread_mutex_lock(&loader->lock);
    slot = &loader->slots[loader->n_given % loader->n_slots];
    *n_ready = loader->options.n_workers ? count_ready(loader) : 0;
    while (!slot->is_ready &&
           (loader->n_given < loader->n_opened || !loader_is_at_end(loader)))
        pthread_cond_wait(&loader->has_batch, &loader->lock);
    if (!slot->is_ready)
        slot = NULL;
    pthread_mutex_unlock(&loader->lock);
    return slot;
}

static void free_slot(struct loader *loader, struct slot *slot)
{
    pthread_mutex_lock(&loader->lock);
    slot_clear(slot);
    loader->n_given++;
    pthread_cond_broadcast(&loader->has_work);
    pthread_mutex_unlock(&loader->lock);
}

/* ---- skipped samples -------------------------------------------------- */

static void tell_of_skipped(struct loader *loader, const struct slot *slot)
{
    const struct loader_listener *listener = &loader->options.listener;

    for (size_t i = 0; i < slot->n; i++) {
        const struct batch_cell *cell = &slot->cells[i];

        loader->n_skipped_row =
            cell->has_sample ? 0 : loader->n_skipped_row + 1;
        if (!cell->st || loader->is_told[cell->index])
            continue;
        loader->is_told[cell->index] = true;
        loader->counts.n_skipped++;
        if (listener->skipped)
            listener->skipped(listener->context, cell->err.text);
    }
    loader->counts.n_cut_boxes += slot->n_cut;
    loader->counts.n_left_boxes += slot->n_left_out;
}

static enum assay_status check_skipped(const struct loader *loader,
                                       const struct slot *slot,
                                       struct error *err)
{
    if (loader->n_skipped_row < loader->order.n)
        return ASSAY_OK;
    error_set(err, ASSAY_BAD_INPUT, "%s", slot->cells[slot->n - 1].err.text);
    error_context(err, "none of the %zu images can be used; the last one",
                  loader->order.n);
    return ASSAY_BAD_INPUT;
}

/* ---- pace ------------------------------------------------------------- */

static void keep_pace(struct loader *loader, const struct batch *batch,
                      int64_t asked_ns)
{
    struct loader_pace *pace = &loader->pace;

    if (pace->n_batches == 0) {
        pace->first_wait_ns = batch->wait_ns;
    } else {
        pace->wait_ns += batch->wait_ns;
        pace->between_ns += asked_ns - loader->given_at_ns;
    }
    pace->n_batches++;
    pace->n_images += batch->n_images;
    pace->made_ns += batch->made_ns;
    loader->given_at_ns = asked_ns + batch->wait_ns;
}

/* Moves a batch out of its slot. Batches before it that were skipped as a whole
 * are counted with it. */
static enum assay_status take_slot(struct loader *loader, struct slot *slot,
                                   struct batch *out, struct error *err)
{
    uint64_t n_skipped = out->n_skipped + slot->batch.n_skipped;
    int64_t made_ns = out->made_ns + slot->batch.made_ns;
    enum assay_status st = slot->st;

    if (st)
        error_set(err, st, "%s", slot->err.text);
    else
        tell_of_skipped(loader, slot);
    if (!st)
        st = check_skipped(loader, slot, err);
    if (!st) {
        *out = slot->batch;
        slot->batch = (struct batch){0};
        out->n_skipped = n_skipped;
        out->made_ns = made_ns;
    }
    free_slot(loader, slot);
    return st;
}

enum assay_status loader_next(void *context, struct batch *out,
                              struct error *err)
{
    struct loader *loader = context;
    int64_t asked_ns = loader_now(loader);
    enum assay_status st = ASSAY_OK;
    size_t n_ready = 0;
    bool is_first = true;

    *out = (struct batch){0};
    while (!st && out->n_images == 0) {
        size_t ready_now = 0;
        struct slot *slot = wait_for_slot(loader, &ready_now);

        n_ready = is_first ? ready_now : n_ready;
        is_first = false;
        if (!slot)
            break;
        st = take_slot(loader, slot, out, err);
    }
    out->n_ready = n_ready;
    out->wait_ns = loader_now(loader) - asked_ns;
    if (!st && out->n_images)
        keep_pace(loader, out, asked_ns);
    return st;
}

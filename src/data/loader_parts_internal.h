/* data/loader_parts_internal.h - batches on their way.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_LOADER_PARTS_INTERNAL_H
#define DATA_LOADER_PARTS_INTERNAL_H

#include "data/loader.h"
#include "data/sample_internal.h"

#include <pthread.h>

/* The samples of an epoch, in their order. */
struct loader_order {
    size_t *usable;  /* of the dataset, in its order */
    size_t *samples; /* the same in the order of the epoch */
    size_t n;
    uint64_t seed;
    bool shuffles;
    bool is_set; /* samples are those of this epoch */
    uint64_t epoch;
};

/* Draws the order of an epoch: the same for a seed, whatever came before. */
void loader_order_set(struct loader_order *order, uint64_t epoch);
/* What is drawn for the image at a place of an epoch. */
struct random loader_order_random(const struct loader_order *order,
                                  struct batch_place place);

/* An image of a batch, and what became of it. */
struct cell {
    size_t index; /* of the dataset */
    struct batch_place place;
    struct sample sample; /* of it, or of one that was drawn instead */
    bool has_sample;
    enum assay_status st; /* other than ASSAY_NOMEM: it is skipped */
    struct error err;
};

/* A batch on its way. Start from {0}. */
struct slot {
    struct cell *cells;
    size_t n; /* of them; 0: the slot is free */
    size_t n_begun, n_done;
    bool is_ready;       /* put together, or failed */
    struct tensor stack; /* classifiers: all images */
    struct batch batch;
    size_t n_cut, n_left_out;
    enum assay_status st;
    struct error err;
};

/* Takes what the images of a batch share. */
enum assay_status slot_prepare(struct slot *slot,
                               const struct sample_options *options,
                               struct error *err);
/* Where the image of a cell is written; NULL: it is a tensor of its own. */
float *slot_image(const struct slot *slot, size_t cell);
/* Makes a batch of the cells that came out well. Sets st and err. */
void slot_finish(struct slot *slot, const struct sample_options *options);
/* Releases all but the list of cells, and the slot is free. */
void slot_clear(struct slot *slot);

/* The lock guards the slots but for a cell that was begun and is not done,
 * the order, and what is said behind it. */
struct loader {
    struct loader_options options;
    struct sample_options sample;
    int64_t *labels; /* of the model, for each class of the dataset */
    pthread_t *threads;
    size_t n_threads;

    pthread_mutex_t lock;
    pthread_cond_t has_work;  /* a slot is free, or the end has come */
    pthread_cond_t has_batch; /* one became ready */
    struct loader_order order;
    struct slot *slots; /* in turn */
    size_t n_slots;
    uint64_t n_opened, n_given; /* batches */
    struct batch_place next;    /* where the next to be opened begins */
    bool is_stopping;

    /* Of the caller's thread. */
    bool *is_told; /* that a sample was skipped, for each of the dataset */
    struct loader_pace pace;
    struct loader_counts counts;
    int64_t given_at_ns;  /* when the last batch was */
    size_t n_skipped_row; /* samples since one could be used */
};

int64_t loader_now(const struct loader *loader);

/* Makes whatever can be made now, in this thread. */
void loader_make_some(struct loader *loader);
enum assay_status loader_start(struct loader *loader, struct error *err);
void loader_stop(struct loader *loader);
/* No more batches come than those that are opened; with the lock held. */
bool loader_is_at_end(const struct loader *loader);

/* For struct batch_source. */
enum assay_status loader_begin(void *context, struct batch_place place,
                               struct error *err);
enum assay_status loader_next(void *context, struct batch *out,
                              struct error *err);

#endif

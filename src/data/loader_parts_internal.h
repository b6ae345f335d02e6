/* data/loader_parts_internal.h - the parts of a loader.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_LOADER_PARTS_INTERNAL_H
#define DATA_LOADER_PARTS_INTERNAL_H

#include "data/loader.h"
#include "data/sample_internal.h"

#include <pthread.h>

/* The samples of an epoch, in order. */
struct loader_order {
    size_t *usable;  /* indices in the dataset, in its order */
    size_t *samples; /* the same in the order of the epoch */
    size_t n;
    uint64_t seed;
    bool shuffles;
    bool is_set; /* samples has the order of this epoch */
    uint64_t epoch;
};

/* Sets the order of an epoch, which depends only on the seed. */
void loader_order_set(struct loader_order *order, uint64_t epoch);
/* The generator for the image at a place in an epoch. */
struct random loader_order_random(const struct loader_order *order,
                                  struct batch_place place);

/* One image of a batch. */
struct batch_cell {
    size_t index; /* in the dataset */
    struct batch_place place;
    struct made_sample sample; /* of this index, or of one drawn instead */
    bool has_sample;
    enum assay_status st; /* not ASSAY_NOMEM: the sample is skipped */
    struct error err;
};

/* A batch in the making. Start from {0}. */
struct slot {
    struct batch_cell *cells;
    size_t n; /* cells in use; 0: the slot is free */
    size_t n_begun, n_done;
    bool is_ready;       /* complete, or failed */
    struct tensor stack; /* for classifiers: all images */
    struct batch batch;
    size_t n_cut, n_left_out;
    enum assay_status st;
    struct error err;
};

/* Allocates what the images of a batch share. */
enum assay_status slot_prepare(struct slot *slot,
                               const struct sample_options *options,
                               struct error *err);
/* Where the image of a cell goes; NULL: into a tensor of its own. */
float *slot_image(const struct slot *slot, size_t cell);
/* Makes a batch of the cells that succeeded. Sets st and err. */
void slot_finish(struct slot *slot, const struct sample_options *options);
/* Releases everything but the list of cells; the slot is free then. */
void slot_clear(struct slot *slot);

/* The lock guards the order, the slots, except cells that are begun but not
 * done, and the members after it. */
struct loader {
    struct loader_options options;
    struct sample_options sample;
    int64_t *labels; /* the model's, for each class of the dataset */
    pthread_t *threads;
    size_t n_threads;

    pthread_mutex_t lock;
    pthread_cond_t has_work;  /* a slot is free, or the loader is stopping */
    pthread_cond_t has_batch; /* a batch is ready */
    struct loader_order order;
    struct slot *slots; /* in turn */
    size_t n_slots;
    uint64_t n_opened, n_given; /* batches */
    struct batch_place next;    /* where the next batch to open begins */
    bool is_stopping;

    /* Used only in the caller's thread. */
    bool *is_told; /* per sample of the dataset: was reported as skipped */
    struct loader_pace pace;
    struct loader_counts counts;
    int64_t given_at_ns;  /* when the last batch was given */
    size_t n_skipped_row; /* samples since the last usable one */
};

int64_t loader_now(const struct loader *loader);

/* Makes what can be made now, in this thread. */
void loader_make_some(struct loader *loader);
enum assay_status loader_start(struct loader *loader, struct error *err);
void loader_stop(struct loader *loader);
/* No more batches will be opened; with the lock held. */
bool loader_is_at_end(const struct loader *loader);

/* For struct batch_source. */
enum assay_status loader_begin(void *context, struct batch_place place,
                               struct error *err);
bool loader_is_ready(void *context);
enum assay_status loader_next(void *context, struct batch *out,
                              struct error *err);

#endif

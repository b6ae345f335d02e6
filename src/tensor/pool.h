/* tensor/pool.h - memory for tensors: reused, aligned, counted.
 *
 * A pool hands out memory of one space. Buffers that are given back wait for
 * the next request of about their size, so that a second iteration touches no
 * new page. The pool counts what is live and reports it to an observer.
 * Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TENSOR_POOL_H
#define TENSOR_POOL_H

#include "tensor/space.h"

#include <stdint.h>

enum { POOL_ALIGNMENT = SPACE_ALIGNMENT };

struct pool;
struct buffer;

/* Whose the memory is. From OWNER_MODULE on they are the modules of a graph:
 * the model itself, then its scopes in order. */
enum pool_owner {
    OWNER_OTHER,
    OWNER_WEIGHTS, /* as they were loaded, or folded */
    OWNER_PACKED,  /* copies of them as kernels want them */
    OWNER_SCRATCH,
    OWNER_IMAGES,
    OWNER_GRADIENTS, /* of parameters */
    OWNER_OPTIMIZER, /* its state: momentum, moments */
    OWNER_MODULE
};

/* A buffer was handed out (positive bytes), given back (negative), or handed
 * over to another owner. */
struct pool_change {
    int64_t bytes;       /* what the pool counts as live for it */
    int64_t asked_bytes; /* what was asked for */
    uint32_t owner, owner_before;
    bool is_handed_over;
};

struct pool_observer {
    void (*changed)(void *context, const struct pool_change *change);
    void *context;
};

enum assay_status pool_new(struct pool **out, struct error *err); /* host */
/* The space must outlive the pool. */
enum assay_status pool_new_in(struct space *space, struct pool **out,
                              struct error *err);
struct space *pool_space(const struct pool *pool);
/* All buffers must have been given back. Accepts NULL. */
void pool_free(struct pool *pool);
void pool_observe(struct pool *pool, struct pool_observer observer);

/* A buffer with one reference. `what` is for the message where there is no
 * memory. */
enum assay_status pool_take(struct pool *pool, size_t bytes, const char *what,
                            struct buffer **out, struct error *err);
/* The same for what a kernel needs beside its inputs and outputs. */
enum assay_status pool_take_scratch(struct pool *pool, size_t bytes,
                                    const char *what, struct buffer **out,
                                    struct error *err);
void buffer_share(struct buffer *buffer);   /* one more reference */
void buffer_release(struct buffer *buffer); /* accepts NULL */
/* An address in the buffer's space. */
void *buffer_data(const struct buffer *buffer);
struct space *buffer_space(const struct buffer *buffer);
size_t buffer_bytes(const struct buffer *buffer);
/* What its pool counts as live for it: a little more; 0 for wrapped memory. */
size_t buffer_pool_bytes(const struct buffer *buffer);
int buffer_references(const struct buffer *buffer);

/* Host memory of others (a file mapping, a caller's array) as a buffer that
 * calls release when the last reference goes. No pool hands it out, but all
 * pools of the host's memory count it. */
enum assay_status buffer_wrap(void *data, size_t bytes,
                              void (*release)(void *context), void *context,
                              struct buffer **out, struct error *err);

/* The same for a file mapped privately: its pages can be read again. */
enum assay_status buffer_wrap_file(void *data, size_t bytes,
                                   void (*release)(void *context),
                                   void *context, struct buffer **out,
                                   struct error *err);

/* Gives the memory of these bytes back to the system where they can be read
 * again from a file. They must be as they came: changes are lost. */
void buffer_unload(const struct buffer *buffer, size_t offset, size_t bytes);

/* Who owns what is taken from now on, on whatever thread; gives who did until
 * now. Where there is no memory to count by owner it is OWNER_OTHER. For the
 * thread that computes: what other threads take, they hand over themselves. */
uint32_t pool_set_owner(struct pool *pool, uint32_t owner);
/* Hands a buffer over to another owner; nothing for wrapped memory. */
void buffer_set_owner(struct buffer *buffer, uint32_t owner);
uint32_t buffer_owner(const struct buffer *buffer);

struct pool_usage {
    size_t live_bytes;      /* handed out */
    size_t peak_bytes;      /* most of that since pool_reset_peak() */
    size_t cached_bytes;    /* waiting for reuse */
    size_t held_bytes;      /* from the system in all */
    size_t held_peak_bytes; /* most of that */
    size_t refused_bytes;   /* what would have been live with the last request
                               that there was no memory for; 0: none */
    size_t wrapped_bytes;   /* memory of others in buffers, of all the process,
                               in this pool's space; part of none of these */
};

struct pool_usage pool_usage(const struct pool *pool);
void pool_reset_peak(struct pool *pool);
/* What an owner had asked for when the most was live. The sum over all owners
 * is less than the peak: sizes are rounded up. */
size_t pool_peak_of(struct pool *pool, uint32_t owner);
size_t pool_live_of(struct pool *pool, uint32_t owner); /* the same, now */
size_t pool_owner_count(const struct pool *pool);
/* Gives what waits back to the system. */
void pool_trim(struct pool *pool);
/* The pool takes no more than this from its space: a request that would need
 * more fails as if there were no memory. 0: no limit. */
void pool_set_limit(struct pool *pool, size_t bytes);
/* A thrifty pool holds no more than what was live at most and a tenth: before
 * it takes a large piece that is new, as much as needed of what waits goes
 * back, what waited longest first. For a first pass, of which nobody knows
 * whether another follows, and for training. Gives what it was until now. */
bool pool_set_thrifty(struct pool *pool, bool is_thrifty);
/* From now on what comes back goes to the space at once, where that keeps it:
 * it joins neighbours, which a list of sizes cannot. For training, whose pieces
 * have many sizes, and for a recorded pass if the space keeps its memory for
 * it (keeps_recorded). */
void pool_hold_nothing(struct pool *pool);

#endif

/* backend/cuda/cuda_activity.h - whose is what a GPU did: the bookkeeping of
 * activity records, without the library that writes them.
 *
 * Three things are told of a launch, in any order and at any time: when the
 * host made the call, the tag that was set then, and when the device ran it.
 * They belong together by the number that the library gives to a call, its
 * correlation. Numbers grow from call to call, and a queue runs in order: a
 * call whose number is below that of something that ran has run too, or
 * launched nothing.
 *
 * One thread at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_ACTIVITY_H
#define BACKEND_CUDA_CUDA_ACTIVITY_H

#include "backend/backend.h"

/* Something that the device did. Nanoseconds of CLOCK_MONOTONIC. */
struct cuda_activity {
    uint32_t correlation;
    enum queue_work work;
    int64_t begin_ns, end_ns;
};

/* A call of the host. */
struct cuda_launch_note {
    uint32_t correlation;
    uint32_t tag;        /* 0: none was set, or it is not known yet */
    int64_t launched_ns; /* 0: not known yet */
};

enum { CUDA_MOST_NOTES = 1 << 17 }; /* waiting; more than that are lost */

struct cuda_activities {
    struct cuda_activity *ran;
    size_t n_ran, ran_capacity;
    struct cuda_launch_note *notes;
    size_t n_notes, notes_capacity;
    uint32_t tag;       /* of what ran last */
    uint64_t n_visited; /* kernels and copies that were reported */
    uint64_t n_guessed; /* of them, with the tag of the one before */
    uint64_t n_lost;    /* for want of memory */
};

void cuda_activities_release(struct cuda_activities *book); /* from {0} */

void cuda_activity_ran(struct cuda_activities *book,
                       const struct cuda_activity *activity);
void cuda_activity_called(struct cuda_activities *book, uint32_t correlation,
                          int64_t launched_ns);
void cuda_activity_tagged(struct cuda_activities *book, uint32_t correlation,
                          uint32_t tag);

/* Reports everything that ran since the last time, in the order it began in.
 * What no tag is known of belongs to the tag of what ran before it, and to none
 * before the first. Records of device 0 and of calls come in different buffers:
 * call it when all that were made are here. */
void cuda_activities_visit(struct cuda_activities *book, queue_visit *visit,
                           void *context);

#endif

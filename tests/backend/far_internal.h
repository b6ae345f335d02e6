/* tests/backend/far_internal.h - jobs of a far device, for the files that make
 * them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKEND_FAR_INTERNAL_H
#define TESTS_BACKEND_FAR_INTERNAL_H

#include "backend/far.h"

enum { most = 64 }; /* tensors of a node */

struct far_device {
    struct device base;
    struct far *far;
    const char *refused;
    struct pool *scratch; /* of the worker */
    uint64_t n_jobs;
    struct backend_recording *recording; /* NULL: jobs are queued at once */
    const struct op_class *list_op;      /* see far_device_lists() */
    bool keeps_rooms;
    int64_t marks_ns[2];
};

struct far_backend {
    struct backend base;
    struct far_device *device;
};

/* Up to `most` tensors, and whether each is there. */
struct near_list {
    struct tensor tensors[most];
    const struct tensor *list[most];
    size_t n;
};

struct far_job {
    struct far_device *device;
    enum assay_status (*run)(struct far_job *job, struct error *err);
    struct op_context context;
    const struct node *node;
    struct near_list inputs, outputs, dy, dx;
    struct tensor saved;
    uint64_t wanted;
    union {
        struct sgd_factors sgd;
        struct adamw_factors adamw;
        float value;
    };
    double *sum;
    bool *is_finite;
};

struct far_device *device_of(const struct backend *backend);
enum assay_status near_add(struct far_device *device, struct near_list *to,
                           const struct tensor *tensor, struct error *err);
enum assay_status
far_job_new(const struct backend *backend, const struct op_context *context,
            enum assay_status (*run)(struct far_job *job, struct error *err),
            struct far_job **out, struct error *err);
/* Queues a job, or frees it where making it has failed. */
enum assay_status far_job_queue(struct far_job *job, enum assay_status st,
                                struct error *err);

extern const struct backend_math far_math; /* far_math.c */

#endif

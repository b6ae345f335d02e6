/* record/works.h - the work that was told, added up for each scope.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_WORKS_H
#define RECORD_WORKS_H

#include "record/names.h"
#include "run/run.h"

struct work_sum {
    double n; /* calls */
    double macs, flops, read_bytes, write_bytes;
};

/* Of a scope of the run. */
struct scope_works {
    struct work_sum inside, outside; /* of iterations */
    double parameters;
    const struct name *text; /* that was told last; NULL: none */
};

/* Start from {0}. */
struct works {
    struct scope_works *items; /* by scope */
    size_t n, capacity;
};

struct recording;
struct record;

void works_release(struct works *works);

/* The writer has come to work in the records of a thread. */
void works_add(struct recording *recording, const struct record *record,
               const struct name *name);

/* Puts what was told up to now into the run. */
void works_bring_up(struct recording *recording);

/* Texts that there was no more room for. */
uint64_t works_texts_left_out(void);

#endif

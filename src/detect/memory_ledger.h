/* detect/memory_ledger.h - who owned the memory when the most was live.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_MEMORY_LEDGER_H
#define DETECT_MEMORY_LEDGER_H

#include "detect/process_memory.h"
#include "graph/graph.h"
#include "run/run.h"

/* What there is to tell of a model's memory. */
struct memory_account {
    struct pool *pool;
    const struct graph *graph;
    struct process_memory process;
    size_t picture_bytes;   /* decoded photographs of one iteration, the most */
    uint32_t model;         /* its scope in the run */
    const uint32_t *scopes; /* the run's scope of each of the graph's */
    const size_t *kept;     /* of a training: what the model, and each scope of
                               the graph, kept for the backward pass; or NULL */
};

/* Adds the rows. Those of the pool come to its peak, which becomes the run's;
 * together with those outside of it they come to the high-water mark of the
 * process, the fact memory.process_peak_bytes. Memory that was taken from the
 * system and never touched is not in that mark: where it shows, all rows come
 * to more, by the fact memory.untouched_bytes. */
enum assay_status memory_ledger(struct run *run,
                                const struct memory_account *account,
                                struct error *err);

#endif

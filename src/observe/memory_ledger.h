/* observe/memory_ledger.h - what the memory was used for at its peak.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_MEMORY_LEDGER_H
#define OBSERVE_MEMORY_LEDGER_H

#include "engine/engine.h"
#include "observe/process_memory.h"
#include "record/record.h"

/* What is known about a model's memory. */
struct memory_account {
    const struct engine *engine; /* that ran it */
    const struct graph *graph;
    struct process_memory process;
    size_t picture_bytes; /* decoded photographs of one iteration, at most */
};

/* Adds the rows. Those of the pool add up to its peak, which becomes the run's;
 * together with those outside of it they add up to the high-water mark of the
 * process, the fact memory.process_peak_bytes. Memory that was allocated but
 * never touched is not in that mark: if it matters, all rows add up to more, by
 * the fact memory.untouched_bytes. */
enum assay_status memory_ledger(const struct recorded *recorded,
                                const struct memory_account *account,
                                struct error *err);

#endif

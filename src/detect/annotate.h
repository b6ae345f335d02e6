/* detect/annotate.h - what the recorder cannot know goes into the run file:
 * the arithmetic of every module, the model, the settings.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_ANNOTATE_H
#define DETECT_ANNOTATE_H

#include "detect/bare.h"
#include "detect/frame.h"
#include "detect/intake.h"
#include "detect/observer.h"
#include "detect/pacing.h"
#include "detect/photo_times.h"
#include "detect/process_memory.h"
#include "record/record.h"

/* What is known when a recording has ended. */
struct annotation {
    const struct detect_options *options;
    struct recorded *recorded; /* what the recorder left */
    const struct session *session;
    const struct machine *machine; /* NULL: unknown */
    const struct findings *findings;
    const struct intake *intake;
    struct photo_times *times;
    struct process_memory process;
    size_t picture_bytes; /* decoded photographs of one iteration, the most */
    const struct observer *observer;
    const struct bare *bare;
    const struct pacing *pacing;
};

/* run_facts.c: all that is said in words. */
enum assay_status run_facts_state(struct run *run,
                                  const struct annotation *annotation,
                                  struct error *err);

/* Adds to the run that was recorded and saves it where it is to go. It is
 * sealed, and stays with the recorded. */
enum assay_status annotate_run(const struct annotation *annotation,
                               struct error *err);

#endif

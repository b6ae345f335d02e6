/* detect/job.h - what a run of photographs holds while it lasts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_JOB_H
#define DETECT_JOB_H

#include "base/clock.h"
#include "detect/bare.h"
#include "detect/observer.h"
#include "detect/pacing.h"
#include "detect/photo_times.h"
#include "detect/process_memory.h"
#include "detect/warm_up.h"
#include "record/record.h"

struct job {
    const struct detect_options *options;
    struct clock clock;
    struct recorded recorded; /* the run before it is annotated */
    struct intake intake;
    struct warm_up warm_up;
    struct pacing pacing;
    struct session session;
    struct observer observer;
    struct bare bare;
    uint64_t n_measured; /* images up to now */
    size_t next;         /* photograph of the next frame */
    struct findings findings;
    size_t picture_bytes; /* of one frame, the most */
    struct process_memory process;
    struct photo_times times; /* empty where frames are of several images */
    struct machine machine;
    bool has_machine;
};

/* Runs the warm-up, then measures until the pacing or the user says stop. A
 * recording is under way. */
enum assay_status job_measure(struct job *job, struct error *err);

#endif

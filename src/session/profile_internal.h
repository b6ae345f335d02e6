/* session/profile_internal.h - the state of a run over photographs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_PROFILE_INTERNAL_H
#define SESSION_PROFILE_INTERNAL_H

#include "base/clock.h"
#include "observe/bare.h"
#include "observe/pacing.h"
#include "observe/photo_times.h"
#include "observe/process_memory.h"
#include "picture/drawn.h"
#include "record/record.h"
#include "session/observer.h"
#include "session/warm_up_internal.h"

struct profile {
    const struct profile_options *options;
    struct clock clock;
    struct recorded recorded; /* the run before it is annotated */
    struct intake intake;
    struct warm_up warm_up;
    struct pacing pacing;
    struct session session;
    struct observer observer;
    struct bare bare;
    uint64_t n_measured; /* images so far */
    size_t next;         /* of the next frame */
    struct tally tally;
    int64_t drawing_ns;       /* spent on drawings so far */
    struct drawn_owner owner; /* of the drawings */
    char comment[64];         /* that says so in them */
    size_t picture_bytes;     /* decoded photographs of one frame, at most */
    struct process_memory process;
    struct photo_times times; /* empty if frames have several images */
    struct machine machine;
    bool has_machine;
};

/* measure.c: runs the warm-up, then measures until the pacing or the user stops
 * it. A recording must be running. */
enum assay_status profile_measure(struct profile *profile, struct error *err);

/* annotate.c: adds what the recorder cannot know to the run: the arithmetic of
 * every module, the model, the settings. Seals the run and saves it to its
 * path; `recorded` keeps it. */
enum assay_status profile_annotate(struct profile *profile, struct error *err);

/* run_facts.c: the part of it that is text. */
enum assay_status profile_state_facts(struct profile *profile,
                                      struct error *err);

#endif

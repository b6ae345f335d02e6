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
#include "session/stream.h"
#include "session/warm_up_internal.h"

/* What a device beside the host did while iterations were measured. */
struct device_watch {
    double joules; /* that it used; NaN: it does not say */
    uint64_t n_images, n_before;
    struct device_look last;
    int64_t one_launch_ns, one_by_one_ns; /* the model; 0: not compared */
};

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
    struct device_watch device;
    struct stream_result stream; /* no passes: it was not asked for */
};

/* measure.c: runs the warm-up, then measures until the pacing or the user stops
 * it. A recording must be running. */
enum assay_status profile_measure(struct profile *profile, struct error *err);

/* device_facts.c: around the measured iterations; afterwards, what the model
 * takes as one launch, as programs run it whose passes are not recorded. */
void device_watch_begin(struct profile *profile);
void device_watch_end(struct profile *profile);
enum assay_status device_compare_launches(struct profile *profile,
                                          struct error *err);
enum assay_status device_state_facts(const struct profile *profile,
                                     struct run *run, struct error *err);

/* stream_facts.c: photographs that follow each other, with several passes in
 * flight; after everything else. */
enum assay_status profile_stream(struct profile *profile, struct error *err);
enum assay_status stream_state_facts(const struct profile *profile,
                                     struct run *run, struct error *err);

/* annotate.c: adds what the recorder cannot know to the run: the arithmetic of
 * every module, the model, the settings. Seals the run and saves it to its
 * path; `recorded` keeps it. */
enum assay_status profile_annotate(struct profile *profile, struct error *err);

/* run_facts.c: the part of it that is text. */
enum assay_status profile_state_facts(struct profile *profile,
                                      struct error *err);

#endif

/* session/profile.h - photographs through a model, recorded.
 *
 * Four stages per iteration: decode (file to pixels), preprocess (pixels to
 * tensors), model (everything in torchvision's forward), postprocess (reading
 * the outputs, drawing, encoding). Leaves a run file with the time and the cost
 * of every module.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_PROFILE_H
#define SESSION_PROFILE_H

#include "base/progress.h"
#include "machine/machine.h"
#include "picture/photos.h"
#include "run/run.h"
#include "session/session.h"

#include <signal.h>

/* What the caller knows about the run; state NULL: nothing. */
struct profile_facts {
    enum assay_status (*state)(void *context, struct run *run,
                               struct error *err);
    void *context;
};

struct profile_options {
    /* Its warnings also report skipped photographs. */
    struct session_options session;

    /* For a look at the run's machine; no device: do not look. */
    struct machine_options machine;

    uint64_t n_images;     /* to measure in total, cycling; the least if there
                              is a goal */
    double precision_goal; /* half the 95 % interval of the median, relative to
                              it; 0: no goal */
    double time_limit;     /* seconds of measuring towards the goal, and of
                              iterations that show what recording costs */
    uint64_t n_warm_up;    /* least iterations before that; 0: none at all */
    const char *run_path;  /* NULL: only the report has the run */
    struct profile_facts facts;
    const char *drawn_dir; /* folder for drawn photographs; NULL: the current
                              one */

    /* Not 0: end after the current iteration. NULL: never. */
    const volatile sig_atomic_t *stop;

    struct progress *progress; /* NULL: none */
    struct sink *explain;      /* receives the chosen kernels; or NULL */
    uint64_t n_keep; /* first iterations to keep in full; UINT64_MAX: all; 0: a
                        handful. Needs run_path. */
    size_t n_in_flight; /* passes in flight, measured after all else; 0: none */
    bool has_found;     /* add what was found on photographs to the run */
};

struct profile_report {
    size_t n_photos, n_skipped;
    uint64_t n_measured;    /* images; fewer than asked for if it was stopped */
    size_t n_drawn;         /* files written */
    struct str first_drawn; /* the name of the first */
    uint64_t n_detections;  /* at or above the score, in the first pass */
    struct run *run;        /* sealed, as written; or NULL */
    enum decode proposed;   /* reads the outputs of a model that was given no
                               decoder; else DECODE_NONE */
};

/* photos is empty for random values. Runs, and writes options.run_path unless
 * it was stopped before anything was measured. The caller releases the report,
 * also on failure. */
enum assay_status profile_run(const struct profile_options *options,
                              const struct photos *photos,
                              struct profile_report *report, struct error *err);
void profile_report_release(struct profile_report *report);

/* Only the model, on random values: no photographs, no file. The caller frees
 * *out, which holds measurements. */
enum assay_status profile_model(const struct profile_options *options,
                                struct run **out, struct error *err);

#endif

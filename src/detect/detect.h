/* detect/detect.h - photographs through a model, recorded.
 *
 * Four stages an iteration: decode (file to pixels), preprocess (pixels to
 * tensors), model (everything in torchvision's forward), postprocess (what the
 * outputs mean, drawing, encoding). Leaves a run file that knows what every
 * module took and cost. Stands on models, formats, engine, picture and record.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_DETECT_H
#define DETECT_DETECT_H

#include "base/progress.h"
#include "detect/recipe.h"
#include "engine/engine.h"
#include "formats/onnx/onnx.h"
#include "machine/machine.h"
#include "models/models.h"
#include "picture/photos.h"
#include "run/run.h"

#include <signal.h>

/* Images of an iteration; of detectors MODEL_MAX_IMAGES are the most. */
enum { DETECT_MAX_BATCH = 1024 };

/* What the outputs of a model are. */
enum decode {
    DECODE_DETECTOR, /* of a built-in one: boxes, scores, labels, counts */
    DECODE_CLASSES,  /* logits, or probabilities, [n,classes] */
    DECODE_YOLOV8,   /* [n,4+classes,boxes] */
    DECODE_SSD,      /* scores [n,boxes,classes] and boxes [n,boxes,4] */
    DECODE_NONE
};

/* What the caller knows about the run; state NULL: nothing. */
struct detect_facts {
    enum assay_status (*state)(void *context, struct run *run,
                               struct error *err);
    void *context;
};

struct detect_options {
    const char *model; /* a name of models.h, or the path of an ONNX file */
    bool is_onnx;
    struct onnx_options onnx;
    struct model_options build;
    enum decode decode;
    struct recipe recipe; /* for models that do not resize themselves */
    bool is_random;       /* random values instead of photographs */
    double iou;           /* of boxes that are taken for one object */
    const char *weights;  /* a checkpoint; NULL: random ones */
    uint64_t seed;        /* of the random ones */
    int n_threads;
    bool is_plain; /* a kernel a module, nothing fused */
    enum engine_detail detail;
    const char *choices_path; /* remembered kernel choices; NULL: none */
    double tuning_seconds;

    /* Where the run's machine is looked at; no backend: nowhere. */
    struct machine_options machine;

    uint64_t n_images;     /* to be measured in all, cycling; with a goal the
                              least */
    double precision_goal; /* half the 95 % interval of the median, relative
                              to it; 0: no goal */
    double time_limit;     /* seconds of measuring towards the goal, and for
                              iterations that tell what recording costs */
    uint64_t n_warm_up;   /* iterations before that, at least; 0: none at all */
    const char *run_path; /* NULL: the report has the run, and no file does */
    struct detect_facts facts;
    const char *drawn_dir; /* where drawn photographs go; NULL: the present */
    double score;          /* what is drawn; NaN: nothing */
    const char *const *labels; /* names of the classes; NULL: COCO's */
    size_t n_labels;

    /* Not 0: end after the iteration under way. NULL: never. */
    const volatile sig_atomic_t *stop;

    struct progress *progress; /* NULL: none */
    struct sink *warnings;     /* a line each: photographs that were skipped */
    struct sink *explain;      /* which kernels were chosen; NULL: nothing */
    struct sink *found; /* lines: what was found on each photograph; NULL */
    bool found_as_json; /* a line is an object, for one photograph */
};

struct detect_report {
    size_t n_photos, n_skipped;
    uint64_t n_measured; /* images; fewer than asked for where it was stopped */
    size_t n_drawn;      /* files written */
    struct str first_drawn; /* the name of the first */
    uint64_t n_detections;  /* at or above the score, in the first pass */
    struct run *run;        /* sealed, as it was written; NULL: none was */
};

/* photos is empty where values are random. Runs and writes options.run_path;
 * not where it was stopped before anything was measured. The report is released
 * by the caller, also on failure. */
enum assay_status detect_run(const struct detect_options *options,
                             const struct photos *photos,
                             struct detect_report *report, struct error *err);
void detect_report_release(struct detect_report *report);

#endif

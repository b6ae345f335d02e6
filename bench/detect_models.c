/* bench/detect_models.c - forward passes of detectors compared with PyTorch's,
 * and whether the times of a run add up. */
#include "bench.h"
#include "detect_bench.h"

#include "base/clock.h"
#include "record/record.h"
#include "session/frame.h"
#include "store/store.h"
#include "views/stages.h"

#include <math.h>
#include <stdio.h>

enum { n_detections = 100, n_recorded = 3 };

/* A detector with a photograph ready for it. */
struct detector {
    struct session session;
    struct frame frame;
    char photo[600], weights[600], choices[600], run[600];
};

static enum assay_status open_detector(struct detector *detector,
                                       const char *model, const char *folder,
                                       bool is_plain, struct error *err)
{
    bool is_mask = model[0] == 'm';
    struct session_options options = {.model.name = model,
                                      .model.build = model_defaults(),
                                      .model.weights = detector->weights,
                                      .n_threads = BENCH_THREADS,
                                      .is_plain = is_plain,
                                      .detail = ENGINE_OPS,
                                      .choices_path = detector->choices};
    struct frame *frame = &detector->frame;
    enum assay_status st;

    *detector = (struct detector){.frame = {.n = 1}};
    snprintf(detector->photo, sizeof detector->photo, "%s/square.jpg", folder);
    snprintf(detector->weights, sizeof detector->weights, "%s/%s.pth", folder,
             is_mask ? "mask" : "faster");
    snprintf(detector->choices, sizeof detector->choices, "%s/kernels.txt",
             folder);
    snprintf(detector->run, sizeof detector->run, "%s/run.assay", folder);
    frame->paths[0] = detector->photo;
    st = session_open(&options, &detector->session, err);
    if (!st)
        st = frame_decode(frame, err);
    if (!st)
        st = frame_preprocess(frame, &detector->session, err);
    if (!st) /* chooses kernels, touches memory */
        st = frame_model(frame, &detector->session, err);
    return st;
}

static void close_detector(struct detector *detector)
{
    frame_release(&detector->frame);
    session_close(&detector->session);
}

static enum assay_status time_model(struct detector *detector, double *seconds,
                                    struct error *err)
{
    int64_t since = clock_monotonic_ns();
    enum assay_status st =
        frame_model(&detector->frame, &detector->session, err);

    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    return st;
}

static enum assay_status check_count(const struct detector *detector,
                                     long theirs, struct error *err)
{
    const struct tensor *counts = &detector->session.outputs[DETECTOR_COUNTS];
    long ours = (long)tensor_i64(counts)[0];

    if (ours == n_detections && theirs == n_detections)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT,
        "%d detections were to be compared; we have %ld, PyTorch has %ld",
        n_detections, ours, theirs);
}

/* One turn of each, after one that warms PyTorch up. */
static enum assay_status compare_models(struct detector *const *ours,
                                        size_t n_ours, struct peer *peer,
                                        const char *job, int n_rounds,
                                        struct pairs *pairs, struct error *err)
{
    double seconds, theirs;
    long n_results;
    enum assay_status st = peer_ask(peer, job, &theirs, &n_results, err);

    for (int i = 0; !st && i < n_rounds; i++) {
        st = peer_ask(peer, job, &theirs, &n_results, err);
        for (size_t k = 0; !st && k < n_ours; k++) {
            st = time_model(ours[k], &seconds, err);
            if (!st)
                st = check_count(ours[k], n_results, err);
            pairs_add(&pairs[k], seconds, theirs);
        }
    }
    return st;
}

static enum assay_status record_stages(struct detector *detector,
                                       struct error *err)
{
    struct frame frame = {.paths = {detector->photo}, .n = 1};
    struct profile_options options = {.session.vision.score = NAN};
    struct tally tally = {0};
    enum assay_status st;

    assay_iteration_begin();
    st = frame_decode(&frame, err);
    if (!st)
        st = frame_preprocess(&frame, &detector->session, err);
    if (!st)
        st = frame_model(&frame, &detector->session, err);
    if (!st)
        st = frame_postprocess(&frame, &detector->session, &options, &tally,
                               err);
    frame_release(&frame);
    assay_iteration_end();
    str_release(&tally.first_drawn);
    return st;
}

static enum assay_status print_residuals(const struct run *run,
                                         struct error *err)
{
    struct rows rows = {0};
    struct balance balance;
    struct stages stages;
    enum assay_status st = rows_build(run, &rows, err);

    if (!st && balance_find(&rows, &balance))
        bench_at_most("residual of the model stage",
                      100 * fabs(balance.residual_ns) / balance.model_ns, 0.5,
                      "%");
    if (!st && stages_find(&rows, &stages))
        bench_at_most("residual of the iteration",
                      100 * fabs(stages.residual_ns) / stages.whole_ns, 0.5,
                      "%");
    rows_release(&rows);
    return st;
}

static enum assay_status check_books(struct detector *detector,
                                     struct error *err)
{
    struct assay_options options = {.program = "pipeline"};
    struct run *run = NULL;
    enum assay_status st = record_start(detector->run, &options, err), stopped;

    if (st)
        return st;
    for (int i = 0; !st && i < n_recorded; i++)
        st = record_stages(detector, err);
    stopped = record_stop(st ? NULL : err);
    st = st ? st : stopped;
    if (!st)
        st = store_load(detector->run, &run, err);
    if (!st)
        st = print_residuals(run, err);
    run_free(run);
    return st;
}

static enum assay_status bench_faster(struct peer *peer, const char *folder,
                                      int n_rounds, struct error *err)
{
    struct detector plain = {0}, optimised = {0};
    struct detector *both[] = {&optimised, &plain};
    struct pairs pairs[2] = {{.n = 0}};
    enum assay_status st = open_detector(&optimised, "fasterrcnn_resnet50_fpn",
                                         folder, false, err);

    if (!st)
        st =
            open_detector(&plain, "fasterrcnn_resnet50_fpn", folder, true, err);
    if (!st)
        st = compare_models(both, 2, peer, "faster", n_rounds, pairs, err);
    if (!st) {
        bench_ratio("Faster R-CNN, plain", &pairs[1], 0.7, 1, "s");
        bench_ratio("Faster R-CNN, optimised", &pairs[0], 0.45, 1, "s");
        st = check_books(&optimised, err);
    }
    close_detector(&plain);
    close_detector(&optimised);
    return st;
}

static enum assay_status bench_mask(struct peer *peer, const char *folder,
                                    int n_rounds, struct error *err)
{
    struct detector mask = {0}, *only = &mask;
    struct pairs pairs = {0};
    enum assay_status st =
        open_detector(&mask, "maskrcnn_resnet50_fpn", folder, false, err);

    if (!st)
        st = compare_models(&only, 1, peer, "mask", n_rounds, &pairs, err);
    if (!st)
        bench_ratio("Mask R-CNN with 100 detections", &pairs, 0.42, 1, "s");
    close_detector(&mask);
    return st;
}

enum assay_status bench_models(struct peer *peer, const char *folder,
                               int n_rounds, struct error *err)
{
    enum assay_status st = bench_faster(peer, folder, n_rounds, err);

    return st ? st : bench_mask(peer, folder, n_rounds, err);
}

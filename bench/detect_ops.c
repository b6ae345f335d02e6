/* bench/detect_ops.c - NMS and RoI align compared with torchvision's. */
#include "bench.h"
#include "detect_bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "ops/detection/nms.h"
#include "ops/detection/roi_align.h"
#include "ops/ops.h"

enum {
    n_boxes = 4000,
    n_rois = 1000,
    channels = 256,
    size = 800,
    n_levels = 4
};

/* What both ops read: boxes of detect_peer.py, maps with any values. */
struct inputs {
    struct op_context context;
    struct box boxes[n_boxes];
    float scores[n_boxes];
    struct tensor tensors[ROI_ALIGN_MAPS + n_levels];
};

static enum assay_status read_boxes(struct inputs *inputs, const char *folder,
                                    struct error *err)
{
    char path[600];
    size_t n = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/boxes.f32", folder);
    file = fopen(path, "rb");
    while (file && n < n_boxes &&
           fread(&inputs->boxes[n], sizeof *inputs->boxes, 1, file) == 1 &&
           fread(&inputs->scores[n], sizeof *inputs->scores, 1, file) == 1)
        n++;
    if (file)
        fclose(file);
    if (n < n_boxes)
        return error_set(err, ASSAY_BAD_INPUT, "%s holds %zu boxes", path, n);
    return ASSAY_OK;
}

static enum assay_status make_maps(struct inputs *inputs, struct error *err)
{
    struct random random = random_seed(3);
    enum assay_status st = ASSAY_OK;

    for (int level = 0; !st && level < n_levels; level++) {
        int64_t side = size >> (2 + level);
        struct shape shape =
            shape_of(4, (int64_t)1, (int64_t)channels, side, side);
        struct tensor *map = &inputs->tensors[ROI_ALIGN_MAPS + level];

        st = tensor_new(inputs->context.pool, DTYPE_F32, &shape, map, err);
        for (size_t i = 0; !st && i < tensor_elements(map); i++)
            tensor_f32(map)[i] = (float)random_unit(&random);
    }
    return st;
}

static enum assay_status make_rois(struct inputs *inputs, struct error *err)
{
    struct pool *pool = inputs->context.pool;
    struct tensor *tensors = inputs->tensors;
    struct shape boxes = shape_of(2, (int64_t)n_rois, (int64_t)4);
    struct shape counts = shape_of(1, (int64_t)1);
    struct shape sizes = shape_of(2, (int64_t)1, (int64_t)2);
    enum assay_status st =
        tensor_new(pool, DTYPE_F32, &boxes, &tensors[ROI_ALIGN_BOXES], err);

    if (!st)
        st = tensor_new(pool, DTYPE_I64, &counts, &tensors[ROI_ALIGN_COUNTS],
                        err);
    if (!st)
        st =
            tensor_new(pool, DTYPE_I64, &sizes, &tensors[ROI_ALIGN_SIZES], err);
    if (st)
        return st;
    for (size_t i = 0; i < n_rois; i++)
        ((struct box *)tensor_data(&tensors[ROI_ALIGN_BOXES]))[i] =
            inputs->boxes[i];
    tensor_i64(&tensors[ROI_ALIGN_COUNTS])[0] = n_rois;
    tensor_i64(&tensors[ROI_ALIGN_SIZES])[0] = size;
    tensor_i64(&tensors[ROI_ALIGN_SIZES])[1] = size;
    return ASSAY_OK;
}

static enum assay_status time_nms(const struct inputs *inputs, double *seconds,
                                  long *n_results, struct error *err)
{
    static const int64_t groups[n_boxes];
    static uint32_t kept[n_boxes];
    struct nms_input input = {.boxes = inputs->boxes,
                              .scores = inputs->scores,
                              .groups = groups,
                              .n = n_boxes,
                              .n_groups = 1,
                              .iou = 0.7f};
    int64_t since = clock_monotonic_ns();
    size_t n_kept = 0;
    enum assay_status st =
        nms_run(&inputs->context, &input, kept, &n_kept, err);

    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    *n_results = (long)n_kept;
    return st;
}

static enum assay_status time_roi_align(const struct inputs *inputs,
                                        double *seconds, long *n_results,
                                        struct error *err)
{
    struct roi_align_attrs attrs = {.size = 7,
                                    .sampling_ratio = 2,
                                    .canonical_size = 224,
                                    .canonical_level = 4};
    struct node node = {.op = &op_roi_align,
                        .attrs = &attrs,
                        .n_inputs = ROI_ALIGN_MAPS + n_levels,
                        .n_outputs = 1};
    const struct tensor *tensors[ROI_ALIGN_MAPS + n_levels];
    struct shape shape =
        shape_of(4, (int64_t)n_rois, (int64_t)channels, attrs.size, attrs.size);
    int64_t since = clock_monotonic_ns();
    struct tensor out;
    enum assay_status st =
        tensor_new(inputs->context.pool, DTYPE_F32, &shape, &out, err);

    for (size_t i = 0; i < node.n_inputs; i++)
        tensors[i] = &inputs->tensors[i];
    if (!st)
        st = op_roi_align.forward(&inputs->context, &node, tensors, &out, err);
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    *n_results = n_rois;
    tensor_release(&out);
    return st;
}

/* In turn; the first is not counted. */
static enum assay_status
compare_op(const struct inputs *inputs, struct peer *peer, const char *job,
           enum assay_status (*run)(const struct inputs *, double *, long *,
                                    struct error *),
           int n_rounds, struct pairs *pairs, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i <= n_rounds; i++) {
        double ours, theirs;
        long n_ours, n_theirs;

        st = run(inputs, &ours, &n_ours, err);
        if (!st)
            st = peer_ask(peer, job, &theirs, &n_theirs, err);
        if (!st && n_ours != n_theirs)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "%s leaves %ld boxes, torchvision's %ld", job,
                           n_ours, n_theirs);
        if (!st && i)
            pairs_add(pairs, ours, theirs);
    }
    return st;
}

enum assay_status bench_ops(struct peer *peer, const char *folder, int n_rounds,
                            struct error *err)
{
    struct inputs *inputs = mem_zalloc(sizeof *inputs);
    struct pairs nms = {0}, roi_align = {0};
    enum assay_status st;

    if (!inputs)
        return error_nomem(err, sizeof *inputs, "the boxes");
    inputs->context.n_threads = BENCH_THREADS;
    st = pool_new(&inputs->context.pool, err);
    if (!st)
        st = read_boxes(inputs, folder, err);
    if (!st)
        st = make_maps(inputs, err);
    if (!st)
        st = make_rois(inputs, err);
    if (!st)
        st = compare_op(inputs, peer, "nms", time_nms, n_rounds, &nms, err);
    if (!st)
        st = compare_op(inputs, peer, "roi_align", time_roi_align, n_rounds,
                        &roi_align, err);
    if (!st) {
        bench_ratio("NMS of 4000 boxes", &nms, 0.2, 1e3, "ms");
        bench_ratio("RoI align of 1000 boxes", &roi_align, 0.35, 1e3, "ms");
    }
    for (size_t i = 0; i < ROI_ALIGN_MAPS + n_levels; i++)
        tensor_release(&inputs->tensors[i]);
    pool_free(inputs->context.pool);
    mem_free(inputs);
    return st;
}

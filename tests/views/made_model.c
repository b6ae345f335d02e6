/* tests/views/made_model.c - a model's run, with its work and its facts. */
#include "made_runs.h"
#include "test.h"

static struct error err;

/* The scopes in the order of the tree. */
enum {
    DECODE = 1,
    PREPROCESS,
    TO_TENSOR,
    MODEL,
    TRANSFORM,
    BACKBONE,
    BODY,
    CONV1,
    BN1,
    RELU,
    FPN,
    LAYER_BLOCKS,
    LAYER_0,
    ADD,
    ROI_HEADS,
    FC6,
    RELU6,
    NMS,
    POSTPROCESS,
    N_SCOPES
};

static const struct {
    uint32_t parent;
    const char *name, *class_name;
    double total_ms, self_ms; /* 0: never called */
} scopes[N_SCOPES] = {
    [DECODE] = {RUN_ROOT, "decode", "", 5, 5},
    [PREPROCESS] = {RUN_ROOT, "preprocess", "", 10, 2},
    [TO_TENSOR] = {PREPROCESS, "to_tensor", "", 8, 8},
    [MODEL] = {RUN_ROOT, "model", "FasterRCNN", 80, 0.4},
    [TRANSFORM] = {MODEL, "transform", "RCNNTransform", 6, 6},
    [BACKBONE] = {MODEL, "backbone", "BackboneWithFPN", 60, 1},
    [BODY] = {BACKBONE, "body", "LayerGetter", 44, 0.6},
    [CONV1] = {BODY, "conv1", "Conv2d", 40, 40},
    [BN1] = {BODY, "bn1", "FrozenBatchNorm2d", 0, 0},
    [RELU] = {BODY, "relu", "ReLU", 3.4, 3.4},
    [FPN] = {BACKBONE, "fpn", "FeaturePyramid", 15, 0.2},
    [LAYER_BLOCKS] = {FPN, "layer_blocks", "ModuleList", 0, 0},
    [LAYER_0] = {LAYER_BLOCKS, "0", "Conv2d", 14.8, 14.8},
    [ADD] = {BACKBONE, "add", "Add", 0, 0},
    [ROI_HEADS] = {MODEL, "roi_heads", "RoIHeads", 13.6, 0.6},
    [FC6] = {ROI_HEADS, "fc6", "Linear", 10, 10},
    [RELU6] = {ROI_HEADS, "relu6", "ReLU", 0, 0},
    [NMS] = {ROI_HEADS, "nms", "", 3, 3},
    [POSTPROCESS] = {RUN_ROOT, "postprocess", "", 4.5, 4.5},
};

static void set_work(struct run *run, uint32_t scope, double macs,
                     double parameters)
{
    struct scope_work work = scope_work_unknown();

    work.macs = macs;
    work.flops = 1000;
    work.read_bytes = 8;
    work.write_bytes = 4;
    work.parameters = parameters;
    CHECK_STATUS(run_work_set(run, scope, &work, &err), ASSAY_OK, &err);
}

static void set_fused(struct run *run, uint32_t scope, uint32_t done_by)
{
    struct scope_work work = scope_work_unknown();

    work.parameters = 100;
    work.done_by = done_by;
    CHECK_STATUS(run_work_set(run, scope, &work, &err), ASSAY_OK, &err);
}

static void set_facts(struct run *run)
{
    static const char *const facts[][2] = {
        {"model.name", "fasterrcnn_resnet50_fpn"},
        {"model.parameters", "41755286"},
        {"model.parameter_bytes", "167021144"},
        {"model.precision", "fp32"},
        {"model.weights", "random (seed 0)"},
        {"machine.cores", "2"},
        {"settings.mode", "optimised"},
        {"input.photographs", "24"},
        {"input.resized", "800x1066"},
        {"input.note", "shorter side 800"},
        {"content.proposals", "1000 (p5 874)"},
        {"content.detections", "12 (1..97)"},
        {"content.slowest", "street-07.jpg 902 ms, 97 detections"},
        {"memory.weights_bytes", "166723584"},
        {"memory.scratch_bytes", "100663296"},
        {"recording.cost_share", "0.002"}};

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_STATUS(run_fact_set(run, facts[i][0], facts[i][1], &err),
                     ASSAY_OK, &err);
}

struct run *made_model(uint32_t n_iterations)
{
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    CHECK_STATUS(run_new(&run, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_name_root(run, "pipeline", "Pipeline", &err), 0, &err);
    CHECK_STATUS(run_thread_add(run, "main", THREAD_CPU, &thread, &err), 0,
                 &err);
    for (uint32_t i = 1; i < N_SCOPES; i++)
        CHECK_INT(made_scope(run, scopes[i].parent, scopes[i].name,
                             scopes[i].class_name),
                  i);
    for (uint32_t k = 0; k < n_iterations; k++) {
        for (uint32_t i = N_SCOPES; i-- > 1;) {
            if (scopes[i].total_ms > 0)
                made_call(run, i, thread, k, scopes[i].total_ms,
                          scopes[i].self_ms);
        }
        made_call(run, RUN_ROOT, thread, k, 100, 0.5);
    }
    set_work(run, CONV1, 4e9, 9408);
    set_work(run, RELU, 0, 0);
    set_work(run, LAYER_0, 1.48e9, 590080);
    set_work(run, FC6, 0.25e9, 12846080);
    set_fused(run, BN1, CONV1);
    set_fused(run, ADD, LAYER_0);
    set_fused(run, RELU6, FC6);
    set_facts(run);
    *run_memory(run) = (struct run_memory){.peak_bytes = 612 * 1024 * 1024,
                                           .peak_scope = LAYER_0};
    CHECK_STATUS(run_seal(run, &err), ASSAY_OK, &err);
    return run;
}

static void set_done(struct run *run, uint32_t scope, double flops,
                     double bytes)
{
    const struct scope_work *known = run_work(run, scope);
    struct scope_work work = known ? *known : scope_work_unknown();

    work.done_flops = flops;
    work.done_bytes = bytes;
    CHECK_STATUS(run_work_set(run, scope, &work, &err), ASSAY_OK, &err);
}

struct run *made_bound_model(void)
{
    static const char *const facts[][2] = {
        {"machine.cpu", "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"},
        {"machine.simd", "AVX-512"},
        {"machine.memory_bytes", "8589934592"},
        {"machine.library", "oneDNN 2.6.3"},
        {"settings.threads", "2"},
        {"machine.peak_gflops", "250"},
        {"machine.read_gbs", "20"},
        {"machine.write_gbs", "10"},
        {"machine.copy_gbs", "15"},
        {"machine.launch_us", "3"},
        {"machine.caches", "L3 260 MiB"},
        {"machine.fault_ns", "960"},
        {"machine.missing", "energy (no RAPL sensor: bare metal has one)"}};
    struct run *run = made_model(10);

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK_STATUS(run_fact_set(run, facts[i][0], facts[i][1], &err),
                     ASSAY_OK, &err);
    set_done(run, TRANSFORM, 0, 60e6);
    set_done(run, CONV1, 8e9, 100e6);
    set_done(run, RELU, 1e6, 34e6);
    set_done(run, LAYER_0, 1.85e9, 20e6);
    set_done(run, FC6, 0.5e9, 150e6);
    set_done(run, NMS, 0, 1e6);
    return run;
}

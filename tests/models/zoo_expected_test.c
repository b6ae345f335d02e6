/* Compares the classifiers with the outputs in torchvision's repository, which
 * are for its own tests. make_zoo_expected.py makes the seeded checkpoints that
 * they belong to. */
#include "backend/backend.h"
#include "engine/engine.h"
#include "formats/weights/load_weights.h"
#include "models/models.h"
#include "passes/fuse.h"
#include "test.h"
#include "torchvision.h"

#include <math.h>
#include <stdio.h>

enum { n_classes = 50 };

static struct error err;

static struct graph *load(const char *folder, const char *name,
                          struct pool *pool)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct graph *graph;
    char path[1024];

    options.n_classes = n_classes;
    err = (struct error){0};
    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    snprintf(path, sizeof path, "%s/%s.pth", folder, name);
    CHECK_STATUS(weights_load_file(graph, path, pool, NULL, NULL, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(fuse_graph(graph, pool, &err), ASSAY_OK, &err);
    return graph;
}

/* Relative to the largest. */
static void check_near(const struct tensor *got, const struct tensor *want)
{
    double most = 0;

    CHECK(shape_equal(&got->shape, &want->shape));
    for (size_t i = 0; i < tensor_elements(want); i++)
        most = fmax(most, fabs((double)tensor_f32(want)[i]));
    CHECK(most > 0);
    for (size_t i = 0; i < tensor_elements(want); i++)
        CHECK_NEAR(tensor_f32(got)[i] / most, tensor_f32(want)[i] / most, 1e-4);
}

static void check_answer(const char *folder, const char *name)
{
    struct engine_options options = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 2, .tuning_seconds = 0.2}};
    struct checkpoint *answer = answer_open(folder, name);
    struct tensor images, want, got;
    struct engine *engine;
    struct graph *graph;
    struct pool *pool;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    graph = load(folder, name, pool);
    images = answer_tensor(answer, pool, "images");
    want = answer_tensor(answer, pool, "logits");
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, &images, &got, &err), ASSAY_OK, &err);
    check_near(&got, &want);
    tensor_release(&got);
    tensor_release(&want);
    tensor_release(&images);
    engine_free(engine);
    graph_free(graph);
    pool_free(pool);
    checkpoint_free(answer);
}

TEST(seeded_classifiers_match_the_outputs_of_torchvisions_own_tests)
{
    static const char *const models[] = {"googlenet", "resnet18", "resnet50",
                                         "squeezenet1_0", "squeezenet1_1"};
    const char *expect = test_shared("torchvision/expect");
    char arguments[2048];
    const char *folder;
    int at;

    if (!expect)
        SKIP("../shared/data/torchvision/expect is missing");
    at = snprintf(arguments, sizeof arguments, "%s", expect);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        at += snprintf(arguments + at, sizeof arguments - (size_t)at, " %s",
                       models[i]);
    folder =
        torchvision_ask("expected", "models/make_zoo_expected.py", arguments);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_answer(folder, models[i]);
}

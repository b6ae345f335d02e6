/* Compares the classifiers with torchvision's, with the same weights: tensors,
 * modules and logits. make_zoo.py runs torchvision. */
#include "backend/backend.h"
#include "base/file.h"
#include "engine/engine.h"
#include "models/models.h"
#include "passes/fuse.h"
#include "test.h"
#include "torchvision.h"
#include "zoo_fill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { n_classes = 20 };

static struct error err;
static struct pool *pool;

static const char *folder(void)
{
    return torchvision_ask("zoo", "models/make_zoo.py", "");
}

static struct graph *build(const char *name, enum model_variant variant)
{
    struct model_options options = model_options_for(name, variant);
    struct graph *graph;

    options.n_classes = n_classes;
    err = (struct error){0};
    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    return graph;
}

/* ---- tensors and modules ------------------------------------------------- */

static bool has_scope(const struct graph *graph, const char *path,
                      const char *class_name)
{
    for (uint32_t i = 0; i < graph_scope_count(graph); i++) {
        const struct graph_scope *scope = graph_scope(graph, i);

        if (strcmp(scope->path, path) == 0)
            return strcmp(scope->class_name, class_name) == 0;
    }
    return false;
}

static bool has_tensor(const struct graph *graph, const char *name,
                       const char *shape)
{
    uint32_t id = graph_find_value(graph, name);
    char text[64];

    return id != GRAPH_NONE &&
           strcmp(shape_text(&graph_value(graph, id)->shape, text, sizeof text),
                  shape) == 0;
}

static size_t count_tensors(const struct graph *graph)
{
    size_t n = 0;

    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        enum value_kind kind = graph_value(graph, i)->kind;

        n += kind == VALUE_PARAMETER || kind == VALUE_BUFFER;
    }
    return n;
}

static void check_parts(const struct graph *graph, const char *name)
{
    size_t n_tensors = 0, n_modules = 0;
    char path[1024], kind[16], part[128], what[64];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.txt", folder(), name);
    file = fopen(path, "r");
    CHECK(file != NULL);
    while (fscanf(file, "%15s %127s %63s", kind, part, what) == 3) {
        bool is_tensor = strcmp(kind, "tensor") == 0;
        bool is_there = is_tensor ? has_tensor(graph, part, what)
                                  : has_scope(graph, part, what);

        if (!is_there)
            print_error("%s has no %s %s (%s)\n", name, kind, part, what);
        CHECK(is_there);
        n_tensors += is_tensor;
        n_modules += !is_tensor;
    }
    fclose(file);
    CHECK_INT(count_tensors(graph), n_tensors);
    CHECK_INT(graph_scope_count(graph), n_modules);
}

/* ---- logits -------------------------------------------------------------- */

static void check_logits(const struct tensor *got, const struct tensor *want,
                         const char *name)
{
    double most = 0, worst = 0;

    CHECK(shape_equal(&got->shape, &want->shape));
    for (size_t i = 0; i < tensor_elements(want); i++) {
        double off = fabs((double)tensor_f32(got)[i] - tensor_f32(want)[i]);

        most = fmax(most, fabs((double)tensor_f32(want)[i]));
        worst = off > worst || isnan(off) ? off : worst;
    }
    if (!(worst <= 1e-4 * most))
        print_error("%s: off by %.3g of %.3g\n", name, worst, most);
    CHECK_NEAR(worst / most, 0, 1e-4);
}

static void check_answer(struct graph *graph, bool is_plain,
                         const struct checkpoint *answers, const char *name)
{
    struct engine_options options = {
        .device = device_cpu(),
        .backend_options = {
            .n_threads = 2, .is_plain = is_plain, .tuning_seconds = 0.2}};
    struct tensor images, want, got;
    struct engine *engine;
    char key[64];

    snprintf(key, sizeof key, "%s.images", name);
    images = answer_tensor(answers, pool, key);
    snprintf(key, sizeof key, "%s.logits", name);
    want = answer_tensor(answers, pool, key);
    CHECK_STATUS(engine_new(graph, pool, &options, &engine, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_run(engine, &images, &got, &err), ASSAY_OK, &err);
    check_logits(&got, &want, name);
    tensor_release(&got);
    tensor_release(&want);
    tensor_release(&images);
    engine_free(engine);
}

static void check_model(const char *model, enum model_variant variant)
{
    struct graph *graph = build(model, variant);
    struct checkpoint *answers = answer_open(folder(), "zoo");
    char name[64];

    snprintf(name, sizeof name, "%s%s", model,
             variant == MODEL_IMAGENET ? "" : "_cifar");
    check_parts(graph, name);
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    zoo_fill(graph, pool);
    check_answer(graph, true, answers, name);
    CHECK_STATUS(fuse_graph(graph, pool, &err), ASSAY_OK, &err);
    check_answer(graph, false, answers, name);
    graph_free(graph);
    pool_free(pool);
    checkpoint_free(answers);
}

TEST(every_classifier_computes_what_torchvisions_does)
{
    static const char *const models[] = {
        "alexnet",       "googlenet",     "mnasnet1_0", "mobilenet_v2",
        "resnet18",      "resnet34",      "resnet50",   "resnet101",
        "squeezenet1_0", "squeezenet1_1", "vgg11",      "vgg11_bn",
        "vgg16",         "vgg16_bn",      "vgg19",      "vgg19_bn"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(models[i], MODEL_IMAGENET);
}

TEST(variants_for_cifar_match_torchvisions_models_changed_by_hand)
{
    check_model("resnet18", MODEL_CIFAR10);
    check_model("mobilenet_v2", MODEL_CIFAR100);
    check_model("vgg11_bn", MODEL_CIFAR10);
}

/* Models that nobody here made reproduce the vectors beside them; see
 * ../shared/data/INDEX.md, where the numbers of parameters are from. */
#include "test.h"

#include "backend/backend.h"
#include "base/file.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

static const struct model {
    const char *name;
    uint64_t parameters; /* elements of the initializers; 0: the index has
                            none */
    size_t n_outputs;    /* in all sets */
    double atol;         /* 0: what the index suggests */
} models[] = {
    {"light_bvlc_alexnet", 0, 1, 0},
    {"light_densenet121", 0, 1, 0},
    {"light_inception_v1", 0, 1, 0},
    {"light_inception_v2", 0, 1, 0},
    {"light_resnet50", 0, 1, 0},
    {"light_shufflenet", 0, 1, 0},
    {"light_squeezenet", 0, 1, 0},
    {"light_vgg19", 0, 1, 0},
    {"light_zfnet512", 0, 1, 0},
    {"mnist_cntk", 5998, 3, 0},
    /* A step of its 8-bit output. The vector is from ONNX Runtime's integer
     * kernels; ONNX Runtime without them is off by up to two such steps. */
    {"mobilenetv2_qdq", 3488008, 1, 0.1532},
    {"nanodet", 941818, 6, 0},
    {"nms_yolov8", 0, 1, 0},
    {"u2netp", 1125485, 7, 0},
    {"ultraface_rfb320", 281135, 2, 0},
    {"yolov8n", 3151904, 1, 0},
    {"yolox_nano", 904481, 1, 0},
    {"yunet", 73857, 12, 0},
};

/* Fused or not, with the tolerance that the index suggests. */
static void check_model(const struct model *model, bool is_plain)
{
    struct verify_options options = {.backend = backend_best(),
                                     .n_threads = 2,
                                     .is_plain = is_plain,
                                     .rtol = 1e-3,
                                     .atol =
                                         model->atol > 0 ? model->atol : 1e-3};
    struct verify_report report = {0};
    struct error err = {0};
    struct str folder = {0}, path = {0};
    char name[64];

    snprintf(name, sizeof name, "models/onnx/%s", model->name);
    CHECK_INT(str_append(&folder, test_shared(name)), ASSAY_OK);
    CHECK_INT(str_printf(&path, "%s/model.onnx", folder.text), ASSAY_OK);
    CHECK_STATUS(verify_model(path.text, folder.text, &options, &report, &err),
                 ASSAY_OK, &err);
    printf("%s: %zu outputs, %zu differ\n", model->name, report.n_outputs,
           report.n_failed);
    CHECK_INT(report.n_failed, 0);
    CHECK_INT(report.n_outputs, model->n_outputs);
    if (model->parameters)
        CHECK_INT(report.parameters, model->parameters);
    verify_report_release(&report);
    str_release(&folder);
    str_release(&path);
}

/* Changes the first of these bytes behind a text; both must be there. */
static void patch(struct str *file, const char *behind, const char *from,
                  const char *to, size_t n)
{
    char *end = file->text + file->n;
    char *at = memmem(file->text, file->n, behind, strlen(behind));

    CHECK(at != NULL);
    at = memmem(at, (size_t)(end - at), from, n);
    CHECK(at != NULL);
    memcpy(at, to, n);
}

/* ONNX Runtime 1.20 made this vector with an optimisation that goes wrong: it
 * merges a Pad into the AveragePool behind it, which does not count padding,
 * and so averages fewer elements at the border. Without optimisations it is
 * 1.17 off its own vector. The model as it was computed is one whose pool has
 * the padding itself. */
TEST(fastestdet_reproduces_its_vectors_as_they_were_made)
{
    static const char pad[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                              "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                              "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0";
    static const char none[sizeof pad];
    struct verify_options options = {
        .backend = backend_best(), .n_threads = 2, .rtol = 1e-3, .atol = 1e-3};
    struct verify_report report = {0};
    struct error err = {0};
    struct str model = {0}, data = {0};
    FILE *file;

    if (!test_shared("models/onnx/fastestdet"))
        SKIP("models/onnx of ../shared/data is missing");
    CHECK_INT(str_append(&data, test_shared("models/onnx/fastestdet")),
              ASSAY_OK);
    CHECK_STATUS(file_read(test_shared("models/onnx/fastestdet/model.onnx"),
                           1 << 24, &model, &err),
                 ASSAY_OK, &err);
    patch(&model, "", pad, none, sizeof pad - 1);
    patch(&model, "AveragePool_229", "pads@\0@\0@\0@\0", "pads@\1@\1@\1@\1",
          12);
    file = fopen(test_path("fastestdet.onnx"), "wb");
    CHECK(file && fwrite(model.text, 1, model.n, file) == model.n);
    CHECK_INT(fclose(file), 0);
    CHECK_STATUS(verify_model(test_path("fastestdet.onnx"), data.text, &options,
                              &report, &err),
                 ASSAY_OK, &err);
    CHECK_INT(report.n_failed, 0);
    CHECK_INT(report.n_outputs, 1);
    CHECK_INT(report.parameters, 240443);
    verify_report_release(&report);
    str_release(&model);
    str_release(&data);
}

TEST(real_models_reproduce_their_vectors)
{
    if (!test_shared("models/onnx/mnist_cntk"))
        SKIP("models/onnx of ../shared/data is missing");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(&models[i], false);
}

/* One of each kind, so that fusing is not what makes them right. */
TEST(they_do_without_fusing_too)
{
    if (!test_shared("models/onnx/mnist_cntk"))
        SKIP("models/onnx of ../shared/data is missing");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (models[i].parameters && models[i].parameters < 1000000)
            check_model(&models[i], true);
    }
}

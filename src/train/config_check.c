/* train/config_check.c - whether there is such a model, and such a device. */
#include "train/config_internal.h"

#include "base/nearest.h"
#include "formats/model_kind.h"
#include "models/models.h"
#include "train/train_file.h"

#include <string.h>
#include <unistd.h>

static enum assay_status check_model(const struct train_config *config,
                                     struct error *err)
{
    const struct config_key *key = config_key_find("model.name");
    const char *name = config->model.name;
    struct nearest nearest = nearest_to(name);

    if (model_full_name(name) ||
        (train_file_is(name) && access(name, R_OK) == 0))
        return ASSAY_OK;
    if (train_file_is(name))
        return config_refuse(config, key, err,
                             "is \"%s\", and there is no such file", name);
    if (access(name, F_OK) == 0) {
        enum assay_status st = model_kind_check(name, err);

        if (st)
            return st;
    }
    for (const char *const *known = model_names(); *known; known++)
        nearest_offer(&nearest, *known);
    if (nearest.candidate)
        return config_refuse(config, key, err,
                             "is \"%s\", and there is no such model; did you "
                             "mean \"%s\"?",
                             name, nearest.candidate);
    return config_refuse(config, key, err,
                         "is \"%s\", and there is no such model; 'assay help "
                         "run' names those that are, and x.net and x.onnx are "
                         "files",
                         name);
}

/* "cuda", "cuda:0" */
static bool is_cuda(const char *device)
{
    const char *number = device + strlen("cuda:");

    if (strcmp(device, "cuda") == 0)
        return true;
    return strncmp(device, "cuda:", strlen("cuda:")) == 0 && *number &&
           number[strspn(number, "0123456789")] == '\0';
}

static enum assay_status check_device(const struct train_config *config,
                                      struct error *err)
{
    const struct config_key *key = config_key_find("training.device");
    const char *device = config->training.device;
    char place[sizeof err->text];

    if (strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0)
        return ASSAY_OK;
    if (!is_cuda(device))
        return config_refuse(config, key, err,
                             "is \"%s\"; \"auto\" and \"cpu\" are devices",
                             device);
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s is \"%s\", and this program has no CUDA backend; "
                     "--device cpu trains on the processor",
                     train_config_place(config, key, place, sizeof place),
                     device);
}

enum assay_status train_config_check(const struct train_config *config,
                                     struct error *err)
{
    enum assay_status st = check_model(config, err);

    return st ? st : check_device(config, err);
}

/* train/config_keys.c - the table of keys, their defaults, and both as text. */
#include "train/config.h"

#include "backend/backend.h"
#include "base/decimal.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IN(section_name, field, kind)                                          \
    .section = #section_name, .name = #field, .type = kind,                    \
    .offset = offsetof(struct train_config, section_name.field)
#define ANY_COUNT .max = 1e9
#define ABOVE_0   .min = DBL_MIN, .max = 1e6
#define SHARE     .max = 1

static const char *const dataset_kinds[] = {
    [TRAIN_PETS] = "oxford-iiit-pet",
    [TRAIN_COCO] = "coco",
    [TRAIN_VOC] = "voc",
    [TRAIN_CIFAR10] = "cifar10",
    [TRAIN_CIFAR100] = "cifar100",
    [TRAIN_IMAGEFOLDER] = "imagefolder",
    [TRAIN_SYNTHETIC] = "synthetic",
    NULL,
};

static const char *const norms[] = {
    [TRAIN_NORM_AUTO] = "auto",
    [TRAIN_NORM_FROZEN] = "frozen",
    [TRAIN_NORM_BATCH] = "batch",
    NULL,
};

static const char *const optimizers[] = {
    [TRAIN_SGD] = "sgd",
    [TRAIN_ADAMW] = "adamw",
    NULL,
};

/* In the order of enum precision. */
static const char *const precisions[] = {
    [PRECISION_AUTO] = "auto", [PRECISION_FP32] = "fp32",
    [PRECISION_TF32] = "tf32", [PRECISION_FP16] = "fp16",
    [PRECISION_BF16] = "bf16", NULL,
};

const struct config_key config_keys[] = {
    {IN(training, num_epochs, CONFIG_INTEGER), .min = 1, .max = 1e6,
     .meaning = "passes over the dataset"},
    {IN(training, batch_size, CONFIG_INTEGER), .min = 1, .max = 65536,
     .meaning = "images per step"},
    {IN(training, prefetch_factor, CONFIG_INTEGER), .min = 1, .max = 1024,
     .meaning = "batches to prepare ahead of the step, per worker"},
    {IN(training, num_workers, CONFIG_INTEGER), .max = 256,
     .meaning = "threads that decode images; 0: the step decodes them itself"},
    {IN(training, device, CONFIG_TEXT),
     .meaning = "\"cpu\", \"cuda:0\", or \"auto\" for the best there is"},
    {IN(training, precision, CONFIG_CHOICE), .choices = precisions,
     .meaning = "of products on a GPU; auto is tf32 where it has that"},
    {IN(training, steps, CONFIG_INTEGER), ANY_COUNT,
     .meaning =
         "steps to make, overriding the epochs; 0: as many as the epochs have"},
    {IN(training, threads, CONFIG_INTEGER), .max = 1024,
     .meaning = "threads to compute with; 0: one per core"},
    {IN(training, seed, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "seed for everything random"},
    {IN(training, checkpoint_every, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps between checkpoints; 0: one at the end only"},

    {IN(model, name, CONFIG_TEXT),
     .meaning = "a built-in model, or a classifier in a .net or .onnx file"},
    {IN(model, weights, CONFIG_TEXT),
     .meaning = "\"auto\" (published ones if they are cached, else random), "
                "\"random\", or a file"},
    {IN(model, num_classes, CONFIG_INTEGER), .min = 2, .max = 1e6,
     .automatic = "as many as the dataset has",
     .meaning = "classes, including the background for a detector"},
    {IN(model, trainable_backbone_layers, CONFIG_INTEGER), .max = 5,
     .automatic = "3 with published weights, else 5",
     .meaning =
         "trainable layers of a detector's backbone, counted from the last"},
    {IN(model, norm, CONFIG_CHOICE), .choices = norms,
     .meaning = "a detector's batch norms; auto: frozen with published "
                "weights, else learning"},

    {IN(dataset, kind, CONFIG_CHOICE), .choices = dataset_kinds,
     .meaning = "layout of the dataset"},
    {IN(dataset, root, CONFIG_TEXT), .automatic = "data/KIND",
     .meaning = "its folder"},
    {IN(dataset, limit, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "most images to use; 0: all"},
    {IN(dataset, image_size, CONFIG_INTEGER), .min = 16, .max = 8192,
     .automatic = "800 for detectors, 224 for classifiers, 32 for CIFAR",
     .meaning =
         "side that images are resized to; the shorter one for a detector"},
    {IN(dataset, max_size, CONFIG_INTEGER), .min = 16, .max = 16384,
     .meaning = "limit on the longer side of a detector's images"},
    {IN(dataset, flip, CONFIG_FLAG),
     .meaning = "mirror every other image, left to right"},

    {IN(optimizer, name, CONFIG_CHOICE), .choices = optimizers,
     .meaning = "update rule"},
    {IN(optimizer, learning_rate, CONFIG_NUMBER), ABOVE_0,
     .meaning = "learning rate after the warm-up"},
    {IN(optimizer, momentum, CONFIG_NUMBER), SHARE,
     .meaning = "momentum (sgd)"},
    {IN(optimizer, nesterov, CONFIG_FLAG),
     .meaning = "use Nesterov momentum (sgd)"},
    {IN(optimizer, weight_decay, CONFIG_NUMBER), .max = 1e6,
     .meaning =
         "added to the gradient (sgd) or subtracted from the weight (adamw)"},
    {IN(optimizer, clip_norm, CONFIG_NUMBER), .max = 1e12,
     .meaning = "limit on the norm of all gradients together; 0: none"},
    {IN(optimizer, beta1, CONFIG_NUMBER), SHARE,
     .meaning = "decay of the mean gradient (adamw)"},
    {IN(optimizer, beta2, CONFIG_NUMBER), SHARE,
     .meaning = "decay of the mean squared gradient (adamw)"},
    {IN(optimizer, epsilon, CONFIG_NUMBER), ABOVE_0,
     .meaning = "added to the divisor (adamw)"},
    {IN(optimizer, warmup_steps, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps over which the rate rises to its full value"},
    {IN(optimizer, warmup_factor, CONFIG_NUMBER), SHARE,
     .meaning = "fraction of the rate to start the warm-up from"},
    {IN(optimizer, step_epochs, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "epochs between drops of the rate; 0: never drop it"},
    {IN(optimizer, step_gamma, CONFIG_NUMBER), SHARE,
     .meaning = "factor to multiply the rate by at each drop"},

    {IN(profile, warmup_steps, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps before measuring starts"},
    {IN(profile, full_steps, CONFIG_INTEGER), .min = 1, ANY_COUNT,
     .automatic = "the first, the slowest, a median one and the last",
     .meaning = "steps after the warm-up to keep every span of, for the trace "
                "and the HTML"},
    {IN(profile, output, CONFIG_TEXT),
     .meaning = "folder for the run and the checkpoints"},
    {.section = NULL},
};

_Static_assert(sizeof config_keys / sizeof *config_keys <= TRAIN_KEYS_MAX,
               "a line for each key");

/* Learning rate and decay are from torchvision's detection reference for a
 * batch of 2 to 4 on one device. */
struct train_config train_config_defaults(void)
{
    return (struct train_config){
        .training = {.num_epochs = 1,
                     .batch_size = 2,
                     .prefetch_factor = 2,
                     .num_workers = 4,
                     .device = "auto",
                     .checkpoint_every = 500},
        .model = {.name = "fasterrcnn_resnet50_fpn",
                  .weights = "auto",
                  .num_classes = -1,
                  .trainable_backbone_layers = -1},
        .dataset = {.image_size = -1, .max_size = 1333, .flip = true},
        .optimizer = {.learning_rate = 0.005,
                      .momentum = 0.9,
                      .weight_decay = 0.0005,
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-8,
                      .warmup_steps = 100,
                      .warmup_factor = 0.001,
                      .step_epochs = 3,
                      .step_gamma = 0.1},
        .profile = {.warmup_steps = 3, .full_steps = -1, .output = "train"},
    };
}

void train_config_release(struct train_config *config)
{
    arena_release(&config->texts);
    *config = train_config_defaults();
}

const char *train_dataset_name(enum train_dataset kind)
{
    return dataset_kinds[kind];
}

/* In quotes, escaped as TOML requires. */
static void write_quoted(char out[CONFIG_VALUE_MAX], const char *text)
{
    static const size_t longest_escape = sizeof "\\u0000" - 1;
    size_t n = 0;

    out[n++] = '"';
    for (; *text && n + longest_escape + sizeof "\"" < CONFIG_VALUE_MAX;
         text++) {
        unsigned char c = (unsigned char)*text;

        if (c < ' ' || c == 0x7f)
            n += (size_t)snprintf(out + n, CONFIG_VALUE_MAX - n, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            n += (size_t)snprintf(out + n, CONFIG_VALUE_MAX - n, "\\%c", c);
        else
            out[n++] = *text;
    }
    out[n++] = '"';
    out[n] = '\0';
}

bool config_value_text(const struct train_config *config,
                       const struct config_key *key, char out[CONFIG_VALUE_MAX])
{
    const void *field = (const char *)config + key->offset;
    const char *text = NULL;

    switch (key->type) {
    case CONFIG_INTEGER:
        snprintf(out, CONFIG_VALUE_MAX, "%" PRId64, *(const int64_t *)field);
        return !key->automatic || *(const int64_t *)field != -1;
    case CONFIG_NUMBER:
        decimal_write(out, *(const double *)field);
        return true;
    case CONFIG_FLAG:
        snprintf(out, CONFIG_VALUE_MAX, "%s",
                 *(const bool *)field ? "true" : "false");
        return true;
    case CONFIG_TEXT:
        text = *(const char *const *)field;
        break;
    case CONFIG_CHOICE:
        text = key->choices[*(const int *)field];
        break;
    }
    out[0] = '\0';
    if (text)
        write_quoted(out, text);
    return text != NULL;
}

/* "sgd", "adamw" */
static void write_choices(struct sink *sink, const struct config_key *key)
{
    for (size_t i = 0; key->choices && key->choices[i]; i++)
        sink_printf(sink, "%s\"%s\"", i ? ", " : ": ", key->choices[i]);
}

static void config_write_key(struct sink *sink,
                             const struct train_config *config,
                             const struct config_key *key)
{
    char value[CONFIG_VALUE_MAX];

    sink_printf(sink, "# %s", key->meaning);
    write_choices(sink, key);
    if (config_value_text(config, key, value))
        sink_printf(sink, "\n%s = %s\n", key->name, value);
    else
        sink_printf(sink, "\n# %s: %s\n", key->name, key->automatic);
}

void train_config_write_defaults(struct sink *sink)
{
    struct train_config config = train_config_defaults();
    const char *section = "";

    for (const struct config_key *key = config_keys; key->section; key++) {
        if (strcmp(key->section, section) != 0) {
            sink_printf(sink, "%s[%s]\n", *section ? "\n" : "", key->section);
            section = key->section;
        }
        config_write_key(sink, &config, key);
    }
    train_config_release(&config);
}

/* train/config_keys.c - the table of keys and their defaults. */
#include "train/config.h"

#include <float.h>

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

const struct config_key config_keys[] = {
    {IN(training, num_epochs, CONFIG_INTEGER), .min = 1, .max = 1e6,
     .meaning = "passes over the dataset"},
    {IN(training, batch_size, CONFIG_INTEGER), .min = 1, .max = 65536,
     .meaning = "images of a step"},
    {IN(training, prefetch_factor, CONFIG_INTEGER), .min = 1, .max = 1024,
     .meaning = "batches ready ahead of the step, for each worker"},
    {IN(training, num_workers, CONFIG_INTEGER), .max = 256,
     .meaning = "threads that decode; 0: the step does it itself"},
    {IN(training, device, CONFIG_TEXT),
     .meaning = "\"cpu\", or \"auto\" for the best there is"},
    {IN(training, steps, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps, whatever the epochs are; 0: those of the epochs"},
    {IN(training, threads, CONFIG_INTEGER), .max = 1024,
     .meaning = "to compute with; 0: one a core"},
    {IN(training, seed, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "of all that is drawn at random"},
    {IN(training, checkpoint_every, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps between checkpoints; 0: one at the end only"},

    {IN(model, name, CONFIG_TEXT),
     .meaning = "a built-in model, or a classifier of a .net or .onnx file"},
    {IN(model, weights, CONFIG_TEXT),
     .meaning = "\"auto\" (published ones where they are cached, else random), "
                "\"random\", or a file"},
    {IN(model, num_classes, CONFIG_INTEGER), .min = 2, .max = 1e6,
     .automatic = "as many as the dataset has",
     .meaning = "classes, of a detector the background included"},
    {IN(model, trainable_backbone_layers, CONFIG_INTEGER), .max = 5,
     .automatic = "3 with published weights, else 5",
     .meaning = "layers of a detector's backbone that learn, from the last"},
    {IN(model, norm, CONFIG_CHOICE), .choices = norms,
     .meaning = "a detector's batch norms; auto: frozen with published "
                "weights, else learning"},

    {IN(dataset, kind, CONFIG_CHOICE), .choices = dataset_kinds,
     .meaning = "how it is laid out"},
    {IN(dataset, root, CONFIG_TEXT), .automatic = "data/KIND",
     .meaning = "its folder"},
    {IN(dataset, limit, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "the most images; 0: all"},
    {IN(dataset, image_size, CONFIG_INTEGER), .min = 16, .max = 8192,
     .automatic = "800 for detectors, 224 for classifiers, 32 for CIFAR",
     .meaning = "the side images are resized to, of a detector the shorter"},
    {IN(dataset, max_size, CONFIG_INTEGER), .min = 16, .max = 16384,
     .meaning = "the most of a detector's longer side"},
    {IN(dataset, flip, CONFIG_FLAG),
     .meaning = "mirror every other image, left to right"},

    {IN(optimizer, name, CONFIG_CHOICE), .choices = optimizers,
     .meaning = "the rule of a step"},
    {IN(optimizer, learning_rate, CONFIG_NUMBER), ABOVE_0,
     .meaning = "after the warm-up"},
    {IN(optimizer, momentum, CONFIG_NUMBER), SHARE, .meaning = "sgd"},
    {IN(optimizer, nesterov, CONFIG_FLAG),
     .meaning = "sgd: look ahead by the momentum"},
    {IN(optimizer, weight_decay, CONFIG_NUMBER), .max = 1e6,
     .meaning = "added to the gradient (sgd), or taken off the weight (adamw)"},
    {IN(optimizer, beta1, CONFIG_NUMBER), SHARE,
     .meaning = "adamw: how long gradients are remembered"},
    {IN(optimizer, beta2, CONFIG_NUMBER), SHARE,
     .meaning = "adamw: how long their squares are"},
    {IN(optimizer, epsilon, CONFIG_NUMBER), ABOVE_0,
     .meaning = "adamw: added to the divisor"},
    {IN(optimizer, warmup_steps, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps in which the rate rises to its full value"},
    {IN(optimizer, warmup_factor, CONFIG_NUMBER), SHARE,
     .meaning = "of the rate, where that begins"},
    {IN(optimizer, step_epochs, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "epochs between drops of the rate; 0: it stays"},
    {IN(optimizer, step_gamma, CONFIG_NUMBER), SHARE,
     .meaning = "what the rate is multiplied by at a drop"},

    {IN(profile, warmup_steps, CONFIG_INTEGER), ANY_COUNT,
     .meaning = "steps before anything is counted"},
    {IN(profile, full_steps, CONFIG_INTEGER), .min = 1, ANY_COUNT,
     .automatic = "the first, the slowest, a median one and the last",
     .meaning = "steps behind these whose every span is kept, for the trace "
                "and the HTML"},
    {IN(profile, output, CONFIG_TEXT),
     .meaning = "the folder of the run and the checkpoints"},
    {.section = NULL},
};

_Static_assert(sizeof config_keys / sizeof *config_keys <= TRAIN_KEYS_MAX,
               "a line for each key");

/* Learning rate and decay are those of torchvision's detection reference for
 * a batch of 2 to 4 on one device. */
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

/* formats/published.c - see published.h.
 *
 * Names and sizes are those of the WeightsEnums in torchvision 0.14. */
#include "formats/published.h"

#include "base/cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct published published_weights[] = {
    {"fasterrcnn_resnet50_fpn", "COCO_V1",
     "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth", 159.743,
     TRAINED_EPS_0},
    {"fasterrcnn_resnet50_fpn_v2", "COCO_V1",
     "fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth", 167.104, TRAINED_AS_USUAL},
    {"fasterrcnn_mobilenet_v3_large_fpn", "COCO_V1",
     "fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth", 74.239, TRAINED_AS_USUAL},
    {"fasterrcnn_mobilenet_v3_large_320_fpn", "COCO_V1",
     "fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth", 74.239, TRAINED_AS_USUAL},
    {"fcos_resnet50_fpn", "COCO_V1",
     "fcos_resnet50_fpn_coco-99b0c9b7.pth", 123.608, TRAINED_AS_USUAL},
    {"keypointrcnn_resnet50_fpn", "COCO_LEGACY",
     "keypointrcnn_resnet50_fpn_coco-9f466800.pth", 226.054, TRAINED_AS_USUAL},
    {"keypointrcnn_resnet50_fpn", "COCO_V1",
     "keypointrcnn_resnet50_fpn_coco-fc266e95.pth", 226.054,
     TRAINED_EPS_0},
    {"maskrcnn_resnet50_fpn", "COCO_V1",
     "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth", 169.840,
     TRAINED_EPS_0},
    {"maskrcnn_resnet50_fpn_v2", "COCO_V1",
     "maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth", 177.219, TRAINED_AS_USUAL},
    {"retinanet_resnet50_fpn", "COCO_V1",
     "retinanet_resnet50_fpn_coco-eeacb38b.pth", 130.267,
     TRAINED_EPS_0},
    {"retinanet_resnet50_fpn_v2", "COCO_V1",
     "retinanet_resnet50_fpn_v2_coco-5905b1c5.pth", 146.037, TRAINED_AS_USUAL},
    {"ssd300_vgg16", "COCO_V1",
     "ssd300_vgg16_coco-b556d3b4.pth", 135.988, TRAINED_AS_USUAL},
    {"ssdlite320_mobilenet_v3_large", "COCO_V1",
     "ssdlite320_mobilenet_v3_large_coco-a79551df.pth", 13.418, TRAINED_AS_USUAL},
    {"alexnet", "IMAGENET1K_V1", "alexnet-owt-7be5be79.pth", 233.087, TRAINED_AS_USUAL},
    {"googlenet", "IMAGENET1K_V1", "googlenet-1378be20.pth", 49.731,
     TRAINED_HALF_NORM},
    {"mnasnet1_0", "IMAGENET1K_V1",
     "mnasnet1.0_top1_73.512-f206786ef8.pth", 16.915, TRAINED_AS_USUAL},
    {"mobilenet_v2", "IMAGENET1K_V1", "mobilenet_v2-b0353104.pth", 13.555,
     TRAINED_AS_USUAL},
    {"mobilenet_v2", "IMAGENET1K_V2", "mobilenet_v2-7ebf99e0.pth", 13.598,
     TRAINED_SHORTER_232},
    {"resnet18", "IMAGENET1K_V1", "resnet18-f37072fd.pth", 44.661, TRAINED_AS_USUAL},
    {"resnet34", "IMAGENET1K_V1", "resnet34-b627a593.pth", 83.275, TRAINED_AS_USUAL},
    {"resnet50", "IMAGENET1K_V1", "resnet50-0676ba61.pth", 97.781, TRAINED_AS_USUAL},
    {"resnet50", "IMAGENET1K_V2", "resnet50-11ad3fa6.pth", 97.790,
     TRAINED_SHORTER_232},
    {"resnet101", "IMAGENET1K_V1", "resnet101-63fe2227.pth", 170.511, TRAINED_AS_USUAL},
    {"resnet101", "IMAGENET1K_V2", "resnet101-cd907fc2.pth", 170.530,
     TRAINED_SHORTER_232},
    {"squeezenet1_0", "IMAGENET1K_V1", "squeezenet1_0-b66bff10.pth", 4.778,
     TRAINED_AS_USUAL},
    {"squeezenet1_1", "IMAGENET1K_V1", "squeezenet1_1-b8a52dc0.pth", 4.729,
     TRAINED_AS_USUAL},
    {"vgg11", "IMAGENET1K_V1", "vgg11-8a719046.pth", 506.840, TRAINED_AS_USUAL},
    {"vgg11_bn", "IMAGENET1K_V1", "vgg11_bn-6002323d.pth", 506.881, TRAINED_AS_USUAL},
    {"vgg16", "IMAGENET1K_V1", "vgg16-397923af.pth", 527.796, TRAINED_AS_USUAL},
    {"vgg16_bn", "IMAGENET1K_V1", "vgg16_bn-6c64b313.pth", 527.866, TRAINED_AS_USUAL},
    {"vgg19", "IMAGENET1K_V1", "vgg19-dcbb9e9d.pth", 548.051, TRAINED_AS_USUAL},
    {"vgg19_bn", "IMAGENET1K_V1", "vgg19_bn-c79401a0.pth", 548.143, TRAINED_AS_USUAL},
    {.model = NULL},
};
/* clang-format on */

/* What is meant by a model's name alone: its first training. */
static bool is_first(const struct published *published)
{
    return strcmp(published->version, "COCO_V1") == 0 ||
           strcmp(published->version, "IMAGENET1K_V1") == 0;
}

const struct published *published_find(const char *name)
{
    for (const struct published *p = published_weights; p->model; p++) {
        if (strcmp(p->file, name) == 0 ||
            (strcmp(p->model, name) == 0 && is_first(p)))
            return p;
    }
    return NULL;
}

void published_hash(const struct published *published,
                    char digits[PUBLISHED_HASH_DIGITS + 1])
{
    memcpy(digits, strrchr(published->file, '-') + 1, PUBLISHED_HASH_DIGITS);
    digits[PUBLISHED_HASH_DIGITS] = '\0';
}

const struct published *published_of_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (const struct published *p = published_weights; p->model; p++) {
        char digits[PUBLISHED_HASH_DIGITS + 1];

        published_hash(p, digits);
        if (strstr(name, digits))
            return p;
    }
    return NULL;
}

float weights_norm_eps(const char *path)
{
    const struct published *published = published_of_file(path);

    return published && published->trained == TRAINED_EPS_0 ? 0.0f : 1e-5f;
}

enum assay_status published_folder(struct str *out, struct error *err)
{
    return cache_path("weights", out, err);
}

enum assay_status published_path(const struct published *published,
                                 struct str *out, bool *is_there,
                                 struct error *err)
{
    enum assay_status st = published_folder(out, err);

    if (!st && str_printf(out, "/%s", published->file))
        st = error_nomem(err, strlen(published->file), "a file name");
    *is_there = !st && access(out->text, R_OK) == 0;
    return st;
}

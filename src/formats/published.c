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
     "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth", 159.743, true},
    {"fasterrcnn_resnet50_fpn_v2", "COCO_V1",
     "fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth", 167.104, false},
    {"fasterrcnn_mobilenet_v3_large_fpn", "COCO_V1",
     "fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth", 74.239, false},
    {"fasterrcnn_mobilenet_v3_large_320_fpn", "COCO_V1",
     "fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth", 74.239, false},
    {"fcos_resnet50_fpn", "COCO_V1",
     "fcos_resnet50_fpn_coco-99b0c9b7.pth", 123.608, false},
    {"keypointrcnn_resnet50_fpn", "COCO_LEGACY",
     "keypointrcnn_resnet50_fpn_coco-9f466800.pth", 226.054, false},
    {"keypointrcnn_resnet50_fpn", "COCO_V1",
     "keypointrcnn_resnet50_fpn_coco-fc266e95.pth", 226.054, true},
    {"maskrcnn_resnet50_fpn", "COCO_V1",
     "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth", 169.840, true},
    {"maskrcnn_resnet50_fpn_v2", "COCO_V1",
     "maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth", 177.219, false},
    {"retinanet_resnet50_fpn", "COCO_V1",
     "retinanet_resnet50_fpn_coco-eeacb38b.pth", 130.267, true},
    {"retinanet_resnet50_fpn_v2", "COCO_V1",
     "retinanet_resnet50_fpn_v2_coco-5905b1c5.pth", 146.037, false},
    {"ssd300_vgg16", "COCO_V1",
     "ssd300_vgg16_coco-b556d3b4.pth", 135.988, false},
    {"ssdlite320_mobilenet_v3_large", "COCO_V1",
     "ssdlite320_mobilenet_v3_large_coco-a79551df.pth", 13.418, false},
    {NULL, NULL, NULL, 0, false},
};
/* clang-format on */

const struct published *published_find(const char *name)
{
    for (const struct published *p = published_weights; p->model; p++) {
        if (strcmp(p->file, name) == 0 ||
            (strcmp(p->model, name) == 0 && strcmp(p->version, "COCO_V1") == 0))
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

float weights_norm_eps(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (const struct published *p = published_weights; p->model; p++) {
        char digits[PUBLISHED_HASH_DIGITS + 1];

        published_hash(p, digits);
        if (p->has_eps_0 && strstr(name, digits))
            return 0.0f;
    }
    return 1e-5f;
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

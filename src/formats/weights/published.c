/* formats/weights/published.c - see published.h.
 *
 * Names and sizes are from the WeightsEnums in torchvision 0.14. File names
 * have the first 32 bits of each SHA-256 (40 for MNASNet), and PyTorch
 * publishes no more. The full hashes were found by others who fetched the
 * files: each is in the sources of at least two unrelated projects. Without one
 * (NULL), the digits in the name and the size must do. */
#include "formats/weights/published.h"

#include "base/cache.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const struct published published_weights[] = {
    {"fasterrcnn_resnet50_fpn", "COCO_V1", "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth",
     "258fb6c638b15964ddcdd1ae0748c5eef1be9e732750120cc857feed3faac384", 159.743, TRAINED_EPS_0},
    {"fasterrcnn_resnet50_fpn_v2", "COCO_V1", "fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth",
     "dd69338a24b8d7381807e247652bdc356325bcbaf1cd3e092e00e0a1a58706bf", 167.104, TRAINED_AS_USUAL},
    {"fasterrcnn_mobilenet_v3_large_fpn", "COCO_V1",
     "fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth",
     "fb6a3cc702b1df54c18a44b26708cd083614211062d0c36d2ca7bf9270df3533", 74.239, TRAINED_AS_USUAL},
    {"fasterrcnn_mobilenet_v3_large_320_fpn", "COCO_V1",
     "fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth",
     "907ea3f91ff92242bc1baea8049276a3e76bca48ce7560bd268cc029f37977b5", 74.239, TRAINED_AS_USUAL},
    {"fcos_resnet50_fpn", "COCO_V1", "fcos_resnet50_fpn_coco-99b0c9b7.pth",
     "99b0c9b7cfb1527d782db86b91d207f00547c792fb4103fc612b651d0a07b9e7", 123.608, TRAINED_AS_USUAL},
    {"keypointrcnn_resnet50_fpn", "COCO_LEGACY", "keypointrcnn_resnet50_fpn_coco-9f466800.pth",
     NULL, 226.054, TRAINED_AS_USUAL},
    {"keypointrcnn_resnet50_fpn", "COCO_V1", "keypointrcnn_resnet50_fpn_coco-fc266e95.pth",
     "fc266e953d2b302cdcbb9ae66f71f6b0d4649928bf02dc573961e361e4918926", 226.054, TRAINED_EPS_0},
    {"maskrcnn_resnet50_fpn", "COCO_V1", "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth",
     "bf2d0c1efbc936eeee2bc95a48e80ebc86b891f61b0106485937fc29f9315fc0", 169.840, TRAINED_EPS_0},
    {"maskrcnn_resnet50_fpn_v2", "COCO_V1", "maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth",
     "73cbd0190fcbe3ba339921fbce2c3a0b6bb9126c9a133c85e43a2a8e060a109e", 177.219, TRAINED_AS_USUAL},
    {"retinanet_resnet50_fpn", "COCO_V1", "retinanet_resnet50_fpn_coco-eeacb38b.pth",
     "eeacb38b7cec8cf93c57867e05eaab621047f19b0d2ec5accaa405f690da15b7", 130.267, TRAINED_EPS_0},
    {"retinanet_resnet50_fpn_v2", "COCO_V1", "retinanet_resnet50_fpn_v2_coco-5905b1c5.pth",
     "5905b1c544219215e544dbe319720397bc4e68de61a733a59350d7976645b769", 146.037, TRAINED_AS_USUAL},
    {"ssd300_vgg16", "COCO_V1", "ssd300_vgg16_coco-b556d3b4.pth",
     "b556d3b43ab6c3f63d81bfb8835fe8756ac22da664357da100dccf96b6a6b42d", 135.988, TRAINED_AS_USUAL},
    {"ssdlite320_mobilenet_v3_large", "COCO_V1", "ssdlite320_mobilenet_v3_large_coco-a79551df.pth",
     "a79551df90c79834bcd3bb3845ef9d966b5449a3a9b2833ae8404778ca5d65d2", 13.418, TRAINED_AS_USUAL},
    {"alexnet", "IMAGENET1K_V1", "alexnet-owt-7be5be79.pth",
     "7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02", 233.087, TRAINED_AS_USUAL},
    {"googlenet", "IMAGENET1K_V1", "googlenet-1378be20.pth",
     "1378be20a8e875cf1568b8a71654e704449655e34711a959a38b04fb34905cef", 49.731, TRAINED_HALF_NORM},
    {"mnasnet1_0", "IMAGENET1K_V1", "mnasnet1.0_top1_73.512-f206786ef8.pth",
     NULL, 16.915, TRAINED_AS_USUAL},
    {"mobilenet_v2", "IMAGENET1K_V1", "mobilenet_v2-b0353104.pth",
     "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889", 13.555, TRAINED_AS_USUAL},
    {"mobilenet_v2", "IMAGENET1K_V2", "mobilenet_v2-7ebf99e0.pth",
     "7ebf99e03e254b273379b23edca7ec0da9f48273b23a332b93c1c99d49e86e8f", 13.598,
     TRAINED_SHORTER_232},
    {"resnet18", "IMAGENET1K_V1", "resnet18-f37072fd.pth",
     "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec", 44.661, TRAINED_AS_USUAL},
    {"resnet34", "IMAGENET1K_V1", "resnet34-b627a593.pth",
     "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f", 83.275, TRAINED_AS_USUAL},
    {"resnet50", "IMAGENET1K_V1", "resnet50-0676ba61.pth",
     "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a", 97.781, TRAINED_AS_USUAL},
    {"resnet50", "IMAGENET1K_V2", "resnet50-11ad3fa6.pth",
     "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca", 97.790,
     TRAINED_SHORTER_232},
    {"resnet101", "IMAGENET1K_V1", "resnet101-63fe2227.pth",
     "63fe2227b86e8f1f2063f43a75c84d195911b6a0eace650907dd3dc62dd49a0a", 170.511, TRAINED_AS_USUAL},
    {"resnet101", "IMAGENET1K_V2", "resnet101-cd907fc2.pth",
     "cd907fc2a0de2292b2ba2b27d2216bc672d84632d1cf20058d01c0c03b5e020e", 170.530,
     TRAINED_SHORTER_232},
    {"squeezenet1_0", "IMAGENET1K_V1", "squeezenet1_0-b66bff10.pth",
     NULL, 4.778, TRAINED_AS_USUAL},
    {"squeezenet1_1", "IMAGENET1K_V1", "squeezenet1_1-b8a52dc0.pth",
     "b8a52dc049b60e4b6ab68ad0df457362afab8b6304b2febdc1650a5dab4d7e7b", 4.729, TRAINED_AS_USUAL},
    {"vgg11", "IMAGENET1K_V1", "vgg11-8a719046.pth",
     NULL, 506.840, TRAINED_AS_USUAL},
    {"vgg11_bn", "IMAGENET1K_V1", "vgg11_bn-6002323d.pth",
     NULL, 506.881, TRAINED_AS_USUAL},
    {"vgg16", "IMAGENET1K_V1", "vgg16-397923af.pth",
     "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0", 527.796, TRAINED_AS_USUAL},
    {"vgg16_bn", "IMAGENET1K_V1", "vgg16_bn-6c64b313.pth",
     "6c64b3138f2f4fcb3bcc4cafde11619c4f440eb1631787e93a682fd88305888a", 527.866, TRAINED_AS_USUAL},
    {"vgg19", "IMAGENET1K_V1", "vgg19-dcbb9e9d.pth",
     "dcbb9e9dad569fff7a846263a77324fc34978fea2bfb039c012d710e1776ae44", 548.051, TRAINED_AS_USUAL},
    {"vgg19_bn", "IMAGENET1K_V1", "vgg19_bn-c79401a0.pth",
     "c79401a0cf3cb42714e4182f5868c7a6f4f4534f5df9e956e2bb2098de41cbb6", 548.143, TRAINED_AS_USUAL},
    {.model = NULL},
};
/* clang-format on */

/* A model's name alone means its first training. */
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

void published_digits(const struct published *published,
                      char digits[SHA256_HEX])
{
    const char *known = published->sha256 ? published->sha256
                                          : strrchr(published->file, '-') + 1;

    snprintf(digits, SHA256_HEX, "%.*s", (int)strcspn(known, "."), known);
}

void published_size(const struct published *published, uint64_t *least,
                    uint64_t *most)
{
    const double rounding = 0.0005;

    *least = (uint64_t)((published->mebibytes - rounding) * 0x1p20);
    *most = (uint64_t)((published->mebibytes + rounding) * 0x1p20) + 1;
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

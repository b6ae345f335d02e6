/* models/family_internal.h - the families of models, one file each.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_FAMILY_INTERNAL_H
#define MODELS_FAMILY_INTERNAL_H

#include "models/builder_internal.h"

/* How a model differs from the others of its family. */
struct member {
    const char *name; /* torchvision's */
    int depth; /* resnet18: 18; squeezenet1_1: 11; 0 if there is only one */
    bool has_masks, has_norm;
};

struct family {
    enum model_task task;
    bool has_cifar; /* variants for 32x32 images */
    enum assay_status (*build)(const struct member *member,
                               const struct model_options *options,
                               struct graph **out, struct error *err);
};

extern const struct family family_alexnet, family_googlenet, family_mnasnet,
    family_mobilenet, family_rcnn, family_resnet, family_squeezenet, family_vgg;

/* Begins a classifier with an input "images" [n,3,h,w] and trained batch norms.
 */
uint32_t classifier_start(struct builder *builder, const struct member *member,
                          const char *class_name,
                          const struct model_options *options,
                          struct error *err);
/* Ends it: x are the logits [n,classes]. */
enum assay_status classifier_finish(struct builder *builder, uint32_t x,
                                    struct graph **out);
/* Ends a mobile network: a mean, a dropout and a linear layer. */
enum assay_status classifier_finish_mobile(struct builder *builder,
                                           const struct linear_layer *last,
                                           uint32_t x, struct graph **out);

#endif

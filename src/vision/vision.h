/* vision/vision.h - options for a model's inputs and for decoding its outputs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_VISION_H
#define VISION_VISION_H

#include "vision/recipe.h"

/* The format of a model's outputs. */
enum decode {
    DECODE_DETECTOR,    /* built in: boxes, scores, labels, counts */
    DECODE_CLASSES,     /* logits, or probabilities, [n,classes] */
    DECODE_YOLOV8,      /* [n,4+classes,boxes] */
    DECODE_SSD,         /* scores [n,boxes,classes] and boxes [n,boxes,4] */
    DECODE_YOLOX,       /* [n,boxes,5+classes], relative to cells */
    DECODE_NANODET,     /* three grids: [cells,classes] and [cells,4*8] */
    DECODE_DETR,        /* [n,queries,classes+1] and boxes [n,queries,4] */
    DECODE_TORCHVISION, /* exported: boxes [n,4], scores [n], labels [n] */
    DECODE_RTDETR,      /* boxes [n,boxes,4], scores and labels [n,boxes] */
    DECODE_NONE
};

/* Numbers for an input that is not the image. */
struct input_setting {
    const char *input; /* its name */
    const char *text;  /* "640x640" */
};

struct vision_options {
    const char *image_input; /* the one for photographs; NULL: to be found */
    const struct input_setting *settings; /* of other inputs */
    size_t n_settings;
    struct recipe recipe; /* for models that do not resize images themselves */
    bool is_random;       /* random values instead of photographs */
    enum decode decode;
    double score;              /* lowest that is drawn and listed; NaN: none */
    double iou;                /* of boxes that count as one object */
    const char *const *labels; /* names of the classes; NULL: COCO's */
    size_t n_labels;
};

#endif

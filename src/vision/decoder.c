/* vision/decoder.c - see decoder.h. */
#include "vision/decoder.h"

/* Stretched to the model's size, RGB, 0 to 1: recipe_defaults(). */
#define PLAIN_RECIPE                                                           \
    {                                                                          \
        .fit = FIT_STRETCH, .pad = 114, .scale = 1 / 255.0, .std = { 1, 1, 1 } \
    }

static const struct decoder decoders[] = {
    [DECODE_DETECTOR] = {.name = "",
                         .run = decode_detector,
                         .has_boxes = true,
                         .has_background = true,
                         .knows_torchvision = true,
                         .score = 0.5,
                         .iou = 0.45,
                         .recipe = PLAIN_RECIPE},
    [DECODE_CLASSES] = {.name = "classes",
                        .run = decode_classes,
                        .fits = decode_classes_fit,
                        .is_likely = decode_classes_is_likely,
                        .needs = "float32 [images,classes]",
                        .has_background = true,
                        .score = 0.5,
                        .iou = 0.45,
                        .recipe = PLAIN_RECIPE},
    [DECODE_YOLOV8] = {.name = "yolov8",
                       .run = decode_yolov8,
                       .fits = decode_yolov8_fits,
                       .classes = decode_yolov8_classes,
                       .needs = "[images,4+classes,boxes] with a box per cell "
                                "of grids 8, 16 and 32 pixels wide",
                       .has_boxes = true,
                       .score = 0.25,
                       .iou = 0.7,
                       .recipe = {.fit = FIT_LETTERBOX,
                                  .pad = 114,
                                  .scale = 1 / 255.0,
                                  .std = {1, 1, 1}}},
    [DECODE_SSD] = {.name = "ssd",
                    .run = decode_ssd,
                    .fits = decode_ssd_fits,
                    .needs = "scores [images,boxes,classes] and boxes "
                             "[images,boxes,4]",
                    .has_boxes = true,
                    .has_background = true,
                    .score = 0.5,
                    .iou = 0.45,
                    .recipe = PLAIN_RECIPE},
    [DECODE_YOLOX] = {.name = "yolox",
                      .run = decode_yolox,
                      .fits = decode_yolox_fits,
                      .classes = decode_yolox_classes,
                      .needs = "[images,boxes,5+classes] with a box per cell "
                               "of grids 8, 16 and 32 pixels wide",
                      .has_boxes = true,
                      .score = 0.3,
                      .iou = 0.45,
                      .recipe = {.fit = FIT_CORNER,
                                 .pad = 114,
                                 .order = ORDER_BGR,
                                 .scale = 1,
                                 .std = {1, 1, 1}}},
    [DECODE_NANODET] = {.name = "nanodet",
                        .run = decode_nanodet,
                        .fits = decode_nanodet_fits,
                        .classes = decode_nanodet_classes,
                        .needs = "[cells,classes] and [cells,32] for each of "
                                 "three grids, 8, 16 and 32 pixels wide",
                        .has_boxes = true,
                        .score = 0.4,
                        .iou = 0.6,
                        .recipe = {.fit = FIT_STRETCH,
                                   .pad = 114,
                                   .order = ORDER_BGR,
                                   .scale = 1,
                                   .mean = {103.53, 116.28, 123.675},
                                   .std = {57.375, 57.12, 58.395}}},
    [DECODE_DETR] = {.name = "detr",
                     .run = decode_detr,
                     .fits = decode_detr_fits,
                     .is_likely = decode_detr_is_likely,
                     .needs = "classes [images,queries,classes+1] and boxes "
                              "[images,queries,4]",
                     .has_boxes = true,
                     .score = 0.5,
                     .iou = 0.45,
                     .recipe = {.fit = FIT_STRETCH,
                                .pad = 114,
                                .scale = 1 / 255.0,
                                .mean = {0.485, 0.456, 0.406},
                                .std = {0.229, 0.224, 0.225}}},
    [DECODE_TORCHVISION] = {.name = "torchvision",
                            .run = decode_torchvision,
                            .fits = decode_torchvision_fits,
                            .needs = "boxes [n,4], scores [n] and int64 "
                                     "labels [n]",
                            .has_boxes = true,
                            .has_background = true,
                            .knows_torchvision = true,
                            .score = 0.5,
                            .iou = 0.45,
                            .recipe = PLAIN_RECIPE},
    [DECODE_RTDETR] = {.name = "rtdetr",
                       .run = decode_rtdetr,
                       .fits = decode_rtdetr_fits,
                       .classes = decode_rtdetr_classes,
                       .needs = "boxes [images,n,4], scores [images,n] and "
                                "int64 labels [images,n]",
                       .has_boxes = true,
                       .score = 0.5,
                       .iou = 0.45,
                       .recipe = PLAIN_RECIPE},
};

const struct decoder *decoder_of(enum decode decode)
{
    return decode == DECODE_NONE ? NULL : &decoders[decode];
}

enum decode decoder_propose(const struct found_source *source)
{
    /* The more special ones first. */
    static const enum decode order[] = {
        DECODE_YOLOV8, DECODE_YOLOX, DECODE_NANODET, DECODE_TORCHVISION,
        DECODE_RTDETR, DECODE_DETR,  DECODE_SSD,     DECODE_CLASSES};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct decoder *decoder = &decoders[order[i]];

        if (decoder->is_likely ? decoder->is_likely(source)
                               : decoder->fits(source))
            return order[i];
    }
    return DECODE_NONE;
}

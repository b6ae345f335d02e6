/* views/model_title.h - what a model is called on a screen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_MODEL_TITLE_H
#define VIEWS_MODEL_TITLE_H

/* The file of a model with its folder, "yolov8n/model.onnx", because many are
 * called model.onnx; borrowed from the path. NULL if the path is NULL or not
 * that of a model. */
const char *model_file_title(const char *path);

#endif

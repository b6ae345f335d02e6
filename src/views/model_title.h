/* views/model_title.h - what a model is called on a screen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_MODEL_TITLE_H
#define VIEWS_MODEL_TITLE_H

struct run;

/* The file of a model with its folder, "yolov8n/model.onnx", because many are
 * called model.onnx; borrowed from the path. NULL if the path is NULL or not
 * that of a model. */
const char *model_file_title(const char *path);

/* The model of a run: its file as above, or its name; NULL: it has none. */
const char *model_run_title(const struct run *run);

#endif

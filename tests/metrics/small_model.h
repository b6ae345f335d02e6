/* tests/metrics/small_model.h - a model that runs in microseconds, and a
 * dataset for it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_METRICS_SMALL_MODEL_H
#define TESTS_METRICS_SMALL_MODEL_H

#include <assay/profiler.h>

/* Ten images at once, with scores of 20 classes each: a softmax. Skips the test
 * if the ONNX project's files are not installed. */
struct assay_model *small_model(void);

/* 13 samples: the right class is first in seven, fourth in four, sixth in two.
 * Labels are 0 to 12; each sample has a box as wide as its number. */
extern const struct assay_dataset small_dataset;

struct assay_profiler *
small_profiler(struct assay_model *model,
               const struct assay_profiler_options *options);

#endif

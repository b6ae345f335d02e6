/* formats/onnx/onnx_write.h - a graph as an ONNX file, opset 13 (later where an
 * op needs it).
 *
 * Names of nodes are made of the modules around them, as PyTorch's exporter
 * does, so that the tree of modules comes back.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_WRITE_H
#define FORMATS_ONNX_ONNX_WRITE_H

#include "graph/survey.h"

/* inputs: a shape for each of the graph's; -1 in the first dimension leaves
 * the batch free. survey: of the graph with such shapes. Every parameter must
 * have its data. ASSAY_UNSUPPORTED names the first node that ONNX has no op
 * for. The file is whole or not there. */
enum assay_status onnx_save(const struct graph *graph,
                            const struct shape *inputs,
                            const struct survey *survey, const char *path,
                            struct error *err);

#endif

/* formats/onnx/onnx_write.h - writes a graph as an ONNX file of opset 13, or
 * later if an op needs it.
 *
 * Nodes are named after the modules around them, as PyTorch's exporter does, so
 * that reading the file restores the tree of modules.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_WRITE_H
#define FORMATS_ONNX_ONNX_WRITE_H

#include "graph/survey.h"

/* inputs: one shape for each input of the graph; -1 in the first dimension
 * leaves the batch free. survey: of the graph with these shapes. Every
 * parameter must have its data. ASSAY_UNSUPPORTED names the first node that
 * ONNX has no op for. On failure no file is left. */
enum assay_status onnx_save(const struct graph *graph,
                            const struct shape *inputs,
                            const struct survey *survey, const char *path,
                            struct error *err);

#endif

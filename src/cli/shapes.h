/* cli/shapes.h - --shape images=1x3x640x640: sizes for a model's inputs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SHAPES_H
#define CLI_SHAPES_H

#include "cli/options.h"
#include "formats/onnx/onnx.h"

struct shape_list {
    struct onnx_shape_choice *items;
    size_t n;
    struct arena names;
};

/* Reads every word: NAME=AxBxC, or AxBxC for a model of one input. The caller
 * releases the list, also on failure. */
enum assay_status shapes_read(const struct words *words,
                              struct shape_list *list, struct error *err);
void shapes_release(struct shape_list *list); /* accepts {0} */

#endif

/* formats/model_file.h - reads a model from a file of any supported format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_MODEL_FILE_H
#define FORMATS_MODEL_FILE_H

#include "base/sink.h"
#include "graph/graph.h"

/* A shape for an input that leaves sizes free: images 1x3x640x640. */
struct model_file_shape {
    const char *input; /* NULL: the only one */
    struct shape shape;
};

/* {0} is fine. */
struct model_file_options {
    const struct model_file_shape *shapes;
    size_t n_shapes;
    struct sink *problems; /* gets a line per missing op; NULL: nowhere */

    /* For ONNX files. */
    bool may_read_outside;    /* external data outside the model's folder */
    const char *outside_hint; /* ends the error if that is refused; or NULL */
    size_t max_folded_bytes;  /* of nodes that are computed while the model is
                                 loaded; 0: 1 GiB */
};

/* Tells the format by the first bytes: Keras (HDF5, zip), a network
 * description, else ONNX. A network description may leave parameters without
 * data. Refuses files that are known to be something else, and says what they
 * are: see model_kind.h. The caller frees *out. */
enum assay_status model_file_load(const char *path,
                                  const struct model_file_options *options,
                                  struct pool *pool, struct graph **out,
                                  struct error *err);

/* For the readers: replaces the shape of an input by the one that the options
 * have for it, if any. n_inputs: of the model. Without a declared shape
 * (*has_shape) any fits; ASSAY_BAD_INPUT if it contradicts the declared one. */
enum assay_status
model_file_choose_shape(const struct model_file_options *options,
                        const char *input, size_t n_inputs, struct shape *shape,
                        bool *has_shape, struct error *err);

#endif

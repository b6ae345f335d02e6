/* predict/description.h - a network, as far as its cost goes.
 *
 * The convolutions and fully connected layers with their sizes, and how many
 * elements per image pass through the layers between them. Made from the files
 * of a data folder or from a graph, with the same numbers for the same network.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_DESCRIPTION_H
#define PREDICT_DESCRIPTION_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conv_row {
    int64_t in, out; /* channels */
    int64_t kernel[2], stride[2], pad[2];
    int64_t groups;
    int64_t size[2]; /* of the input map */
    bool has_bias;
};

/* A fully connected layer. */
struct dense_row {
    int64_t in, out;
};

enum { WALKED_BATCHES = 8 };

/* Elements and counts per image, in the order of description_fields. */
struct image_counts {
    double parameters;
    double norm_parameters;
    double parameter_tensors;
    double norm_elements, n_norm;
    double relu_elements, n_relu;
    double add_elements, n_add;
    double concat_elements, n_concat;
    double max_pool_inputs, max_pool_outputs, max_pool_taps, n_max_pool;
    double avg_pool_inputs, n_avg_pool;
    double saved_bytes; /* of activations, kept for the backward pass */
    /* What PyTorch would take from a GPU's driver, in MB, for batches of 1, 2,
     * 4 and so on, and what this program's pool would hold; 0: unknown. */
    double torch_training[WALKED_BATCHES], torch_inference[WALKED_BATCHES];
    double own_training[WALKED_BATCHES], own_inference[WALKED_BATCHES];
};

/* An op that predictions cannot count, and its number of layers. */
struct uncounted_row {
    const char *op; /* name of its class */
    size_t n;
};

/* Start from {0}. */
struct description {
    char *network;
    int64_t level; /* percent of filters pruned; -1: unknown */
    struct conv_row *convs;
    size_t n_convs, convs_capacity;
    struct dense_row *denses;
    size_t n_denses, denses_capacity;
    struct image_counts counts;
    struct uncounted_row *uncounted; /* from a graph; files list none */
    size_t n_uncounted, uncounted_capacity;
    double uncounted_macs; /* per image */
};

void description_release(struct description *description);
enum assay_status description_set_name(struct description *description,
                                       const char *network, int64_t level,
                                       struct error *err);
enum assay_status description_copy(struct description *to,
                                   const struct description *from,
                                   struct error *err);
enum assay_status description_add_conv(struct description *description,
                                       const struct conv_row *conv,
                                       struct error *err);
enum assay_status description_add_dense(struct description *description,
                                        int64_t in, int64_t out,
                                        struct error *err);

/* op: a text that outlives the description. */
enum assay_status description_add_uncounted(struct description *description,
                                            const char *op, double macs,
                                            struct error *err);

/* The members of struct image_counts by name, for files. */
struct description_field {
    const char *name; /* NULL ends the list */
    size_t offset;
};

extern const struct description_field description_fields[];
/* Those that came later: data folders and fingerprints may lack them. */
extern const struct description_field description_walked_fields[];
double *description_count(struct image_counts *counts,
                          const struct description_field *field);

/* A convolution as the numbers that files have, in their order; `least` is the
 * smallest value each may have. */
enum { CONV_NUMBERS = 12 };
extern const int64_t conv_least[CONV_NUMBERS];
void conv_to_numbers(const struct conv_row *conv, int64_t out[CONV_NUMBERS]);
/* False if there can be no such convolution: the kernel does not fit, or the
 * groups do not divide the channels. */
bool conv_from_numbers(const int64_t v[CONV_NUMBERS], struct conv_row *out);

/* Rows and columns of a convolution's output; 0 if the kernel does not fit. */
int64_t conv_out(const struct conv_row *conv, int side);
bool conv_is_depthwise(const struct conv_row *conv);
/* Multiply-adds per image of the forward pass, over all layers. */
double description_macs(const struct description *description);

/* The name that tx2 and similar data use where torchvision's differs:
 * mobilenetv2, mnasnet; other names stay as they are. Accepts both
 * spellings. */
const char *network_canonical(const char *name);
/* The name of the built-in model for such a name. */
const char *network_model(const char *name);

#endif

/* predict/description.h - what a network is, as far as its cost goes.
 *
 * The convolutions and fully connected layers with their sizes, and how many
 * elements of an image pass through what lies between them. Made of the files
 * of a data folder or of a graph: the same numbers for the same network.
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

/* Elements and counts of an image; the order is that of description_fields. */
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
};

/* An op that predictions know nothing like, and how many layers do it. */
struct uncounted_row {
    const char *op; /* the name of its class */
    size_t n;
};

/* Start from {0}. */
struct description {
    char *network;
    int64_t level; /* percent of filters that were pruned; -1: not known */
    struct conv_row *convs;
    size_t n_convs, convs_capacity;
    struct dense_row *denses;
    size_t n_denses, denses_capacity;
    struct image_counts counts;
    struct uncounted_row *uncounted; /* of a graph; files list none */
    size_t n_uncounted, uncounted_capacity;
    double uncounted_macs; /* of an image */
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

/* op: a text that stays. */
enum assay_status description_add_uncounted(struct description *description,
                                            const char *op, double macs,
                                            struct error *err);

/* The members of struct image_counts by name, for files. */
struct description_field {
    const char *name; /* NULL at the end */
    size_t offset;
};

extern const struct description_field description_fields[];
double *description_count(struct image_counts *counts,
                          const struct description_field *field);

/* Rows and columns of a convolution's output; 0 where the kernel does not
 * fit. */
int64_t conv_out(const struct conv_row *conv, int side);
bool conv_is_depthwise(const struct conv_row *conv);
/* Multiply-adds of an image. */
double conv_macs(const struct conv_row *conv);
/* Multiply-adds of the forward pass of an image, all layers. */
double description_macs(const struct description *description);

/* The name that tx2 and its kin use for what torchvision calls otherwise:
 * mobilenetv2, mnasnet; others stay as they are. Both spellings give the same
 * answer. */
const char *network_canonical(const char *name);
/* The name of a built-in model for such a name. */
const char *network_model(const char *name);

#endif

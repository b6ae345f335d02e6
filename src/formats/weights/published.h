/* formats/weights/published.h - the weights that torchvision publishes, and
 * where Assay keeps them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_PUBLISHED_H
#define FORMATS_WEIGHTS_PUBLISHED_H

#include "base/error.h"
#include "base/sha256.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define PUBLISHED_URL "https://download.pytorch.org/models"

enum { PUBLISHED_HASH_DIGITS = 8 };

/* How a training differed from the usual one; using the weights needs it too.
 */
enum published_trained {
    TRAINED_AS_USUAL,
    TRAINED_EPS_0,      /* batch norms with eps 0 */
    TRAINED_HALF_NORM,  /* images normalized with mean 0.5 and std 0.5 */
    TRAINED_SHORTER_232 /* images resized to 232 before the center crop */
};

struct published {
    const char *model;   /* "fasterrcnn_resnet50_fpn" */
    const char *version; /* torchvision's name of the training: "COCO_V1" */
    const char *file;    /* the digits after the - begin its SHA-256 */
    const char *sha256;  /* all of it; NULL: unknown */
    double mebibytes;    /* with three decimals */
    enum published_trained trained;
};

/* In the order of torchvision's sources; model NULL at the end. */
extern const struct published published_weights[];

/* By the name of the model (its first training) or of the file; NULL if there
 * is none. */
const struct published *published_find(const char *name);

/* The first digits of the file's SHA-256, for tables. */
void published_hash(const struct published *published,
                    char digits[PUBLISHED_HASH_DIGITS + 1]);

/* Its SHA-256 as far as it is known: all of it, or the digits in its name. */
void published_digits(const struct published *published,
                      char digits[SHA256_HEX]);
/* Bounds for its size in bytes, a kilobyte apart. */
void published_size(const struct published *published, uint64_t *least,
                    uint64_t *most);

/* By the hash in a file's name; NULL if it is none of them. */
const struct published *published_of_file(const char *path);

/* The eps of a model's batch norms with the weights of this file: 0 for some
 * published ones, by the hash in the file's name, else 1e-5. */
float weights_norm_eps(const char *path);

/* Appends the folder for weights: assay/weights in $XDG_CACHE_HOME or ~/.cache.
 * It need not exist. */
enum assay_status published_folder(struct str *out, struct error *err);
/* The same followed by the name of a file, and whether that exists. */
enum assay_status published_path(const struct published *published,
                                 struct str *out, bool *is_there,
                                 struct error *err);

#endif

/* formats/weights/published.h - the weights that torchvision publishes, and
 * where this program keeps them.
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

/* What was special when they were trained, and must be again when used. */
enum published_trained {
    TRAINED_AS_USUAL,
    TRAINED_EPS_0,      /* batch norms add nothing to the variance */
    TRAINED_HALF_NORM,  /* images less 0.5, over 0.5 */
    TRAINED_SHORTER_232 /* images resized to 232 before the middle is cut */
};

struct published {
    const char *model;   /* "fasterrcnn_resnet50_fpn" */
    const char *version; /* torchvision's name of the training: "COCO_V1" */
    const char *file;    /* its SHA-256 begins with the digits behind the - */
    const char *sha256;  /* all of it; NULL: not known */
    double mebibytes;    /* with three decimals */
    enum published_trained trained;
};

/* In the order of torchvision's sources; model NULL at the end. */
extern const struct published published_weights[];

/* By the name of the model (its first training) or of the file; NULL where
 * there is none. */
const struct published *published_find(const char *name);

/* The first digits of the file's SHA-256. */
void published_hash(const struct published *published,
                    char digits[PUBLISHED_HASH_DIGITS + 1]);

/* How its SHA-256 begins, as far as it is known: all of it, or what stands in
 * its name. */
void published_digits(const struct published *published,
                      char digits[SHA256_HEX]);
/* Between which numbers of bytes it has: a kilobyte apart. */
void published_size(const struct published *published, uint64_t *least,
                    uint64_t *most);

/* By the hash in a file's name; NULL where it is none of them. */
const struct published *published_of_file(const char *path);

/* What batch norms of a model add to the variance when it has the weights of
 * this file: 0 for some published ones, which are known by the hash in the
 * file's name, else 1e-5. */
float weights_norm_eps(const char *path);

/* Appends the folder for weights: $XDG_CACHE_HOME/assay/weights, or that in
 * ~/.cache. It need not be there. */
enum assay_status published_folder(struct str *out, struct error *err);
/* The same with the name of a file behind it, and whether that is there. */
enum assay_status published_path(const struct published *published,
                                 struct str *out, bool *is_there,
                                 struct error *err);

#endif

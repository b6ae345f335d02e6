/* cli/tax_model.h - the model of a recorded PyTorch program, as far as its run
 * tells: enough to run the same one in Assay's engine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TAX_MODEL_H
#define CLI_TAX_MODEL_H

#include "base/error.h"
#include "run/run.h"

struct tax_model {
    uint32_t top;                   /* the scope of its forward pass */
    bool is_training;               /* the only pass recorded gradients */
    int64_t batch, height, width;   /* of its first layer's input */
    int64_t classes;                /* of its last linear layer; 0: unknown */
    double parameters;              /* NaN: unknown */
    int64_t threads;                /* 0: unknown */
    const char *device, *precision; /* "cpu"; NULL: unknown */
};

/* ASSAY_BAD_INPUT if the run is not one of a PyTorch model, or does not tell
 * the sizes. Texts are the run's. */
enum assay_status tax_model_read(const struct run *run, struct tax_model *model,
                                 struct error *err);

/* The built-in model with these parameters: its name, its classes and the kind
 * of its norms (see --norm). ASSAY_NOT_FOUND if there is none. */
struct tax_match {
    const char *name;
    int64_t classes;
    int norm;
};

enum assay_status tax_model_match(const struct tax_model *model,
                                  struct tax_match *match, struct error *err);

#endif

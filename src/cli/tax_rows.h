/* cli/tax_rows.h - the modules of a model in PyTorch beside the same modules in
 * Assay's engine.
 *
 * Modules are paired by their paths. A module that was fused into another one
 * has that one's name; both lie in the same module, whose times are
 * comparable.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TAX_ROWS_H
#define CLI_TAX_ROWS_H

#include "base/error.h"
#include "run/run.h"

enum tax_side { TAX_TORCH, TAX_PLAIN, TAX_FUSED, N_TAX_SIDES };

/* A run and the scope of the model in it; is_device: device times count. */
struct tax_run {
    const struct run *run;
    uint32_t top;
    bool is_device;
};

struct tax_row {
    const char *name, *class_name;
    size_t depth;
    bool is_last;                /* of its parent */
    double ns[N_TAX_SIDES];      /* per call of the model; NaN: no partner */
    const char *done_by;         /* what it was fused into; NULL: nothing */
    uint32_t scope[N_TAX_SIDES]; /* RUN_NONE: no partner */
};

struct tax_rows {
    struct tax_row *items; /* parents before children; [0] is the model */
    size_t n, capacity;
    double host_ns[N_TAX_SIDES]; /* of a call of the model; NaN: unknown */
    /* Modules of PyTorch without a partner, and scopes of the engine without
     * one; only the topmost of each. The name of the longest. */
    struct tax_alone {
        size_t n;
        double ns;
        double longest_ns;
        char longest[128];
    } torch_alone, engine_alone;
};

/* Start from {0}; release also after a failure. Names are the runs'. */
enum assay_status tax_rows_build(struct tax_rows *rows,
                                 const struct tax_run sides[N_TAX_SIDES],
                                 struct error *err);
void tax_rows_release(struct tax_rows *rows);

#endif

/* predict/torch_internal.h - a process that becomes Python.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_TORCH_INTERNAL_H
#define PREDICT_TORCH_INTERNAL_H

#include "predict/torch_runner.h"

struct torch_call {
    const struct torch_runner *runner;
    const char *module;       /* "assay.torch_test" */
    const char *const *words; /* its arguments, ending with NULL */
};

/* In a child: becomes Python, which answers on the line. Returns only if that
 * fails, with an answer sent that says so. */
void torch_become(const struct torch_call *call, int line);
/* In place of Python's answer. */
void torch_send_failure(int line, enum assay_status status, const char *reason);

#endif

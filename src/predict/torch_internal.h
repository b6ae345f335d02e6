/* predict/torch_internal.h - processes of Python.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_TORCH_INTERNAL_H
#define PREDICT_TORCH_INTERNAL_H

#include "base/str.h"
#include "predict/torch_runner.h"

struct torch_call {
    const struct torch_runner *runner;
    const char *module;       /* "assay.torch_test" */
    const char *const *words; /* its arguments, ending with NULL */
};

/* In a child: becomes Python, which answers on the line. Returns only if that
 * fails, with an answer sent that says so. */
void torch_become(const struct torch_call *call, int line);

/* ---- torch_host.c -------------------------------------------------------- */

/* A Python that has imported PyTorch and makes a process for every test that it
 * is asked for, and the network that it was asked for last. Start from {0}. */
struct torch_host {
    struct child child;
    struct str folder, net; /* for the network, and its file there; "": none */
    struct str of;          /* the file that it was made of */
};

/* Makes runner->host if there is none; starts no process yet. */
enum assay_status torch_wake(struct torch_runner *runner, struct error *err);
/* Has a test run, which starts the host if there is none. A test that fails,
 * ends or takes more than that many seconds (0: no limit) is an answer; so is a
 * Python that cannot be started, or ends: the next call starts another. */
enum assay_status torch_host_ask(struct torch_runner *runner,
                                 const char *const *words, double seconds,
                                 struct torch_answer *out, struct error *err);
/* Forgets the network, and removes its folder. */
void torch_host_forget(struct torch_host *host);

#endif

/* ops/op_threads.h - how kernels divide work among threads.
 *
 * Kernels put "#pragma omp parallel for num_threads(op_threads(context))"
 * before a loop; without OpenMP the loop runs on one thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_OP_THREADS_H
#define OPS_OP_THREADS_H

#include "graph/op_class.h"

/* How many threads a kernel may use, at least 1. */
int op_threads(const struct op_context *context);

/* The index of the running thread, from 0. */
int op_thread(void);

#endif

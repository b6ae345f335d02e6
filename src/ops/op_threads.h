/* ops/op_threads.h - how kernels share their work.
 *
 * Kernels put "#pragma omp parallel for num_threads(op_threads(context))"
 * before a loop; without OpenMP it runs on one thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_OP_THREADS_H
#define OPS_OP_THREADS_H

#include "graph/op_class.h"

/* Threads a kernel may use, at least 1: for num_threads() and to size the
 * scratch memory of each. */
int op_threads(const struct op_context *context);

/* Which of them is running, from 0. */
int op_thread(void);

#endif

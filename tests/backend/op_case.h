/* tests/backend/op_case.h - one line describes one op on one shape.
 *
 *     conv2d n=1 c=64 h=56 w=56 o=64 k=3 s=1 p=1 relu residual
 *
 * The same line serves to compare a backend with the portable kernels and to
 * measure its speed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKEND_OP_CASE_H
#define TESTS_BACKEND_OP_CASE_H

#include "backend/backend.h"

/* Defaults: n=1 c=1 h=1 w=1 o=1 k=1 s=1 p=0 d=1 g=1 a=0 e=0. */
struct op_case {
    char op[32];
    int64_t n, c, h, w, o; /* o: output channels; resize: the height; concat:
                              channels of the second input */
    int64_t k, s, p, d, g; /* kernel, stride, padding, dilation, groups */
    int64_t a;             /* an enum conv2d_activation, fused: forward only */
    int64_t e; /* conv2d: zeros after the last row and column besides p;
                  conv_transpose2d: rows and columns more */
    bool relu, residual, nobias, ceil;
    bool relu6;    /* a ReLU with a limit; 1 here, values are small */
    bool positive; /* inputs from 1/4 to 1, not from -1 */
    bool above;    /* inputs from 1.25 to 2.25 */
    bool counted;  /* average pooling: padding counts */
    bool blocked;  /* x comes out of another convolution */
    bool followed; /* another convolution reads what the op makes */
    bool large;    /* too large for the portable kernels: compared with the
                      backend's direct ones */
};

/* False if the line is not a case; *problem says why. */
bool op_case_parse(const char *line, struct op_case *out, const char **problem);

/* A graph of that op, with weights from a fixed seed, and its inputs: one or
 * two tensors (a residual, the second summand). */
struct op_graph {
    struct graph *graph;
    struct tensor inputs[2];
};

enum assay_status op_case_build(const struct op_case *op_case,
                                struct pool *pool, struct op_graph *out,
                                struct error *err);
void op_graph_release(struct op_graph *made);

#endif

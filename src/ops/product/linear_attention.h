/* ops/product/linear_attention.h - attention with a state in place of scores.
 *
 * Inputs: queries [b,t,heads*k], keys [b,t,kv_heads*k], values
 * [b,t,kv_heads*v], the state [b,kv_heads,k,v] (left out: 0), the decay
 * (logarithms) [b,t,kv_heads] or [b,t,kv_heads*k], the rate of updates
 * [b,t,kv_heads] or [b,t,1]. Makes [b,t,heads*v] and the last state.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_LINEAR_ATTENTION_H
#define OPS_PRODUCT_LINEAR_ATTENTION_H

#include "graph/graph.h"

struct linear_attention_attrs {
    int64_t heads, kv_heads;
    float scale;      /* of what is read; 0: 1 / sqrt(k) */
    bool has_decay;   /* the state fades */
    bool is_of_delta; /* what is written is the error of what was read */
};

#endif

/* ops/product/attention.h - attention without what lies between its products:
 * y = softmax(q k + plus + mask) v.
 *
 * Inputs: q [...,n,d], k [...,d,m], v [...,m,e], plus and mask, which are
 * broadcast to [...,n,m] or left out. Leading dimensions by the rules of
 * MatMul. The pass of passes/fuse_attention.h makes it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_ATTENTION_H
#define OPS_PRODUCT_ATTENTION_H

enum attention_input {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_PLUS,
    ATTENTION_MASK,
    ATTENTION_INPUTS
};

#endif

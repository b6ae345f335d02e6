/* ops/op_lanes.h - 16 numbers at a time: one register of AVX-512, or several
 * smaller ones.
 *
 * The compiler maps arithmetic to whatever vectors the machine has. It splits
 * comparisons into single numbers: use signs and masks instead.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_OP_LANES_H
#define OPS_OP_LANES_H

#include <stdint.h>

enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(64), aligned(4)));
typedef int32_t lane_bits __attribute__((vector_size(64), aligned(4)));

#endif

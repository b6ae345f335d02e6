/* ops/sequence/signal.h - audio analysis: window functions, Fourier transforms,
 * MelWeightMatrix.
 *
 * Inputs: WindowFunction: its size. DFT: x [batch,...,1 or 2], the length (left
 * out: x's), the axis (left out: the attribute). STFT: x [batch,length,1 or 2],
 * the step between frames, a window, the length of the frames; one of the last
 * two may be left out. MelWeightMatrix: bins, the length of the transform, the
 * sample rate, the lowest and the highest frequency.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SEQUENCE_SIGNAL_H
#define OPS_SEQUENCE_SIGNAL_H

#include "graph/graph.h"

/* a0 - a1 cos(t) + a2 cos(2 t) */
struct window_function_attrs {
    double a0, a1, a2;
    bool is_periodic;
    enum dtype dtype;
};

struct dft_attrs {
    int64_t axis;
    bool is_inverse, is_one_sided;
};

struct mel_weight_attrs {
    enum dtype dtype;
};

#endif

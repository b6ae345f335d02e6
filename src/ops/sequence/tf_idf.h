/* ops/sequence/tf_idf.h - counts known sequences of numbers in a text of
 * numbers: TfIdfVectorizer.
 *
 * Inputs: the text [n] or [batch,n], all known sequences concatenated, where
 * those of each length begin, the column that each sequence counts into, and
 * the weights of the sequences (left out: 1). Output: float32 [columns] or
 * [batch,columns].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SEQUENCE_TF_IDF_H
#define OPS_SEQUENCE_TF_IDF_H

#include "graph/graph.h"

enum tf_idf_mode {
    TF_IDF_COUNTS,  /* how often a sequence occurs */
    TF_IDF_WEIGHTS, /* its weight if it occurs at all */
    TF_IDF_BOTH     /* the count times the weight */
};

struct tf_idf_attrs {
    enum tf_idf_mode mode;
    int64_t min_length, max_length; /* of sequences */
    int64_t max_skip; /* numbers skipped between two of a sequence */
};

#endif

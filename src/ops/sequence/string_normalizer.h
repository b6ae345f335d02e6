/* ops/sequence/string_normalizer.h - drops words and changes the case of texts.
 *
 * Inputs: texts [n] or [1,n], the words to drop (left out: none). Both are
 * packed (packed_list.h): their shape, then the bytes of each text. If nothing
 * is left, it makes one empty text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SEQUENCE_STRING_NORMALIZER_H
#define OPS_SEQUENCE_STRING_NORMALIZER_H

#include "graph/graph.h"

enum case_change { CASE_KEEP, CASE_LOWER, CASE_UPPER };

struct string_normalizer_attrs {
    enum case_change change; /* of ASCII letters; others are refused */
    bool is_case_sensitive;  /* which words are dropped */
};

#endif

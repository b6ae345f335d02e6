/* tests/models/zoo_fill.h - weights by the formula of make_zoo.py, from an
 * element's number and its tensor's name, so that no checkpoint is needed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_MODELS_ZOO_FILL_H
#define TESTS_MODELS_ZOO_FILL_H

#include "graph/graph.h"

/* Fills all parameters and buffers. */
void zoo_fill(struct graph *graph, struct pool *pool);

#endif

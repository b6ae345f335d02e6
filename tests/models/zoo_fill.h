/* tests/models/zoo_fill.h - weights by the formula of make_zoo.py, of an
 * element's number and its tensor's name: no checkpoint has to be written.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_MODELS_ZOO_FILL_H
#define TESTS_MODELS_ZOO_FILL_H

#include "graph/graph.h"

/* All parameters and buffers. */
void zoo_fill(struct graph *graph, struct pool *pool);

#endif

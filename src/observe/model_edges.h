/* observe/model_edges.h - how the modules of a model are connected.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_MODEL_EDGES_H
#define OBSERVE_MODEL_EDGES_H

#include "engine/engine.h"
#include "record/record.h"

/* Adds an edge to the run for each value that a node computes from what another
 * one computed, between the scopes where their work is shown; from no scope for
 * inputs of the model, to no scope for its outputs. Weights and constants have
 * none. Call it after a recorded forward pass. */
enum assay_status model_edges(const struct recorded *recorded,
                              const struct engine *engine,
                              const struct graph *graph, struct error *err);

#endif

/* tests/views/made_runs.h - runs with numbers that can be checked by a person,
 * and outputs to compare with files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_VIEWS_MADE_RUNS_H
#define TESTS_VIEWS_MADE_RUNS_H

#include "views/views.h"

/* Ten iterations of a small detector, 100 ms each on the mean:
 *
 *     detector (Detector)   100 ms, 5 of them its own: 96 98 99 100 (four
 *                           times) 101 102 104 in another order
 *       transform            10 ms
 *       backbone (Backbone)  60 ms, nothing of its own
 *         body (Body)        45 ms, 5 of its own
 *           conv1 (Conv2d)   30 ms in two calls
 *           relu (ReLU)      10 ms
 *         fpn                15 ms
 *       head (Head)          24 ms
 *       tiny                  1 ms
 *     and once, before them: setup 250 ms, load_weights below it 200 ms
 *
 * The first iteration is kept in full, on thread "main". Sealed. */
struct run *made_detector(void);

/* One second of a pipeline without iterations: producer 400 ms in 4 calls on
 * one thread, work 900 ms in 3 calls on each of three others, with a step
 * "filter" of 300 ms in it. */
struct run *made_pipeline(void);

/* Equal iterations of a model's run, in ms, with self times and GMAC:
 *
 *     pipeline (Pipeline)      100 (0.5)
 *       decode                   5
 *       preprocess              10 (2)    to_tensor 8
 *       model (FasterRCNN)      80 (0.4)
 *         transform              6
 *         backbone              60 (1)
 *           body                44 (0.6)
 *             conv1             40        4 GMAC: 200 GFLOP/s
 *             bn1                         fused into conv1
 *             relu               3.4      known to have no MACs
 *           fpn                 15 (0.2)
 *             layer_blocks                never called itself
 *               0               14.8      1.48 GMAC: 200 GFLOP/s
 *           add                           fused into fpn's layer_blocks.0
 *         roi_heads             13.6 (0.6)
 *           fc6                 10        0.25 GMAC: 50 GFLOP/s
 *           relu6                         fused into fc6
 *           nms                  3
 *       postprocess              4.5
 *
 * So the model has 5.73 GMAC: 143 GFLOP/s; its ops take 6 + 40 + 3.4 + 14.8 +
 * 10 + 3 = 77.2 ms, its gaps 1 + 0.6 + 0.2 + 0.6 = 2.4. Of the leaves' 94.7 ms,
 * 64.8 are in those with MACs: 68 %. Each op with work also has 1000 FLOP, 8
 * bytes read and 4 written; each fused one 100 parameters. The memory peak is
 * 612 MiB, in layer_blocks.0: 159 of weights and 96 of scratch leave 357.
 * Sealed. */
struct run *made_model(uint32_t n_iterations);

/* The same on a machine of 250 GFLOP/s and 20 GB/s, with what was executed:
 *
 *     transform   60 MB: 3 of its 6 ms, memory
 *     conv1       8 GFLOP: 32 of its 40 ms, compute
 *     relu        34 MB: 1.7 of its 3.4 ms, memory
 *     0           1.85 GFLOP, of Winograd: 7.4 of its 14.8 ms, compute
 *     fc6         0.5 GFLOP and 150 MB: 7.5 of its 10 ms, memory
 *     nms         1 MB: 0.05 of its 3 ms, latency
 *
 * So at its bounds the model would save 77.2 - 51.65 = 25.55 ms; 54.8 of the
 * 77.2 ms are compute's, and of roi_heads' 13, 10 are memory's. */
struct run *made_bound_model(void);

/* A run with a single scope of this name and class below the root, called once
 * for 1 ms. */
struct run *made_with_name(const char *name, const char *class_name);

/* A chain of scopes, each the child of the one before; 10 ms each, nothing of
 * its own except for the last. */
struct run *made_chain(uint32_t levels);

/* Adds a scope, or counts a call of it; a failure would be a mistake of the
 * test. */
uint32_t made_scope(struct run *run, uint32_t parent, const char *name,
                    const char *class_name);
void made_call(struct run *run, uint32_t scope, uint32_t thread,
               uint32_t iteration, double total_ms, double self_ms);

/* Compares with tests/views/golden/NAME, or writes it there if
 * ASSAY_REFRESH_GOLDEN is set. */
void check_golden(const char *name, const struct str *got);

/* The widest line of a text, in columns of the screen. */
size_t widest_line(const char *text);

/* What a view writes; the caller releases it. */
struct str view_text(run_view *view, const struct run *run,
                     const struct view_options *options);

#endif

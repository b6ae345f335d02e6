/* serve/list_internal.h - the parts of the list of runs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SERVE_LIST_INTERNAL_H
#define SERVE_LIST_INTERNAL_H

#include "serve/serve.h"

/* A name as part of an address. */
void list_write_address(struct sink *sink, const char *text);

/* The sign of a verdict, as SVG around a point: a shape too, not only a
 * colour. */
void list_write_mark(struct sink *sink, const struct trend_verdict *verdict,
                     double x, double y);

/* Latency and memory of a model's runs, in their order; nothing if less than
 * two of them are complete. Those that are not are the last. */
void list_write_trend(struct sink *sink, const struct folder_entry *runs,
                      size_t n);

#endif

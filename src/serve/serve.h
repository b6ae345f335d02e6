/* serve/serve.h - a folder of runs as pages: a list with the trend, and the
 * report of a run or of two.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/sink.h"
#include "serve/run_folder.h"
#include "serve/server.h"

enum { PAGES_KEPT = 4, SERVE_KEY = 2 * REQUEST_MAX_TEXT + 16 };

/* A page that was made, until its files change. */
struct kept_page {
    char key[SERVE_KEY];
    uint64_t stamp; /* of its files, and of those in its trend */
    struct body *body;
};

struct serve {
    struct run_folder folder;
    struct kept_page pages[PAGES_KEPT];
    size_t next_page;
};

/* Initialise to {.folder = {.path = ..., .budgets = ...}}. */
void serve_release(struct serve *serve);

/* An answer_fn: context is a struct serve. "/" is the list, "/run?name=NAME"
 * the report of a run, "/compare?a=NAME&b=NAME" that of two, "/data" with the
 * same names the JSON of such a report. */
enum assay_status serve_answer(void *context, const struct request *request,
                               struct answer *answer, struct error *err);

/* The list. */
void serve_write_list(const struct run_folder *folder, struct sink *sink);

#endif

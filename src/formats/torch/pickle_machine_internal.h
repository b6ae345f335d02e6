/* formats/torch/pickle_machine_internal.h - the machine that a pickle is a
 * program for: its bytes, its stack with marks, its memo.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_PICKLE_MACHINE_INTERNAL_H
#define FORMATS_TORCH_PICKLE_MACHINE_INTERNAL_H

#include "formats/torch/pickle_internal.h"

struct pickle {
    struct arena arena;
    struct pickle_value **stack;
    size_t n_stack, stack_capacity;
    size_t *marks; /* heights of the stack */
    size_t n_marks, marks_capacity;
    struct pickle_value **memo; /* NULL: not used yet */
    size_t n_memo, memo_capacity;
    struct torch_storage *storages;

    const unsigned char *at; /* the rest of the pickle being read */
    size_t left;
    size_t all; /* bytes of it in the beginning, or more */
};

/* ---- bytes: the pickle that is being read ----------------------------- */

/* The failures of a pickle that ends too early, and of one that says things
 * that no pickle says. */
enum assay_status pickle_cut_off(struct error *err);
enum assay_status pickle_damaged(struct error *err);
/* The next n bytes, NULL where there are fewer. */
const unsigned char *pickle_take(struct pickle *pickle, uint64_t n);
/* A little-endian number of 1, 2, 4 or 8 bytes. */
enum assay_status pickle_take_number(struct pickle *pickle, unsigned n_bytes,
                                     uint64_t *number, struct error *err);
/* Bytes behind their number, which has this many bytes itself. */
enum assay_status pickle_take_text(struct pickle *pickle, unsigned length_bytes,
                                   struct pickle_text *text, struct error *err);
/* Up to a newline, without it. */
enum assay_status pickle_take_line(struct pickle *pickle,
                                   struct pickle_text *text, struct error *err);

/* ---- stack and memo --------------------------------------------------- */

/* A value of NULL is one that there was no memory for. */
enum assay_status pickle_push(struct pickle *pickle, struct pickle_value *value,
                              struct error *err);
enum assay_status pickle_push_kind(struct pickle *pickle, enum pickle_kind kind,
                                   struct error *err);
enum assay_status pickle_push_integer(struct pickle *pickle,
                                      enum pickle_kind kind, int64_t integer,
                                      struct error *err);
/* How many values lie above the last mark, or on the stack without one. */
size_t pickle_reachable(const struct pickle *pickle);
/* NULL where none is reachable. */
struct pickle_value *pickle_pop(struct pickle *pickle);
struct pickle_value *pickle_top(const struct pickle *pickle);
enum assay_status pickle_push_mark(struct pickle *pickle, struct error *err);
/* The value on top goes into the memo under a number, or comes from there. */
enum assay_status pickle_remember(struct pickle *pickle, uint64_t i,
                                  struct error *err);
enum assay_status pickle_recall(struct pickle *pickle, uint64_t i,
                                struct error *err);
/* Takes the last mark away; *n gets how many values lie above it. */
enum assay_status pickle_close_mark(struct pickle *pickle, size_t *n,
                                    struct error *err);

#endif

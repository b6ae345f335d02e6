/* backend/dnnl/race.h - candidates that run in turns: their times, and whether
 * these are enough to choose by. No clock and no kernels here: contest.c has
 * them.
 *
 * Others may take the processors while a candidate runs. Such a time is not
 * believed: it may be the least there is, but it puts no candidate out of the
 * race, and what is chosen by it is not remembered.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_RACE_H
#define BACKEND_DNNL_RACE_H

#include <stdbool.h>
#include <stddef.h>

/* One candidate for a convolution: "winograd jit_wino_4x3:avx512_core". */
enum { CANDIDATE_NAME = 64, MAX_CANDIDATES = 6 };

struct candidate {
    char name[CANDIDATE_NAME];
    double ms; /* the least; negative: was not measured */
};

/* Those that were compared, the chosen one first. */
struct candidates {
    struct candidate items[MAX_CANDIDATES];
    size_t n;
};

struct race {
    struct candidates *list; /* gets the times */
    bool trusts_any_time;    /* also a disturbed one */
    int n_rounds;
    struct {
        int n_times;              /* that were taken */
        bool was_alone, was_calm; /* in one of them at least; see race.c */
    } racers[MAX_CANDIDATES];
};

/* Candidate i took ms, during which others took a processor n_switches times.
 */
void race_time(struct race *race, size_t i, double ms, long n_switches);
/* Whether candidate i has lost, by times that can be believed. */
bool race_has_lost(const struct race *race, size_t i);
/* Whether another round of all that have not lost would change nothing. */
bool race_is_decided(const struct race *race);
/* Whether all were measured, and calmly. */
bool race_is_complete(const struct race *race);

/* The fastest; a direct one that is as fast within 5 % of it, as it needs less
 * memory. 0 where nothing was measured. */
size_t candidates_winner(const struct candidates *list);
bool candidate_is_direct(const struct candidate *candidate);

#endif

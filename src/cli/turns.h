/* cli/turns.h - two commands, started in turn until it is decided which one is
 * slower.
 *
 * A B, B A, A B, ...: what slows the machine down for a while hits both sides.
 * Each command is started once before, which does not count.
 *
 * A command that records itself gets the path of its run file: as every {} in
 * its words, in the environment as ASSAY_RUN_FILE, and `assay run` and `assay
 * train` as -o. If neither writes one, the wall time of each start is what is
 * compared.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TURNS_H
#define CLI_TURNS_H

#include "cli/inputs.h"
#include "run/looks.h"

struct turns_settings {
    struct words a, b;  /* the commands */
    struct looks looks; /* how many pairs at most, and when to look */
    double seconds;     /* no further pair after this */
    const char *folder; /* for the run files, which stay; NULL: none stays */
};

/* What was measured. */
struct turns {
    struct run_list a, b; /* a run per start, or one for all starts if their
                             wall time counts */
    bool are_starts;      /* the iterations of the runs are starts */
    size_t n_pairs;
    int64_t spent_ns;
};

void turns_release(struct turns *turns); /* accepts {0} */

/* Looks at what there is, sealed, and says whether it is decided. */
typedef enum assay_status turns_judge(void *context, const struct turns *turns,
                                      bool *is_decided, struct error *err);

/* Starts pairs until it is decided or a limit is reached. A signal ends the
 * program after the current start. */
enum assay_status turns_run(const struct turns_settings *settings,
                            turns_judge *judge, void *context,
                            struct turns *turns, struct error *err);

/* "8 pairs in turn in 42 s" */
enum assay_status turns_words(const struct turns *turns, struct str *text);
/* Appends a command as a shell would read it. */
enum assay_status turns_command(const struct words *command, struct str *text);

#endif

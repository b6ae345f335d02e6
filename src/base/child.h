/* base/child.h - work in a process of its own.
 *
 * The one place where this program forks. A child is a copy of this process
 * that runs one function and ends: it cannot harm its parent, its memory can
 * be limited, it can be stopped at any time, and it never outlives its parent.
 * It may use everything that this process has used before, OpenMP included.
 *
 * Parent and child talk over one line, a pair of sockets. Both are the same
 * program, so structs travel as they are.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child_options {
    const char *what;         /* "a trial", for messages */
    bool is_quiet;            /* what it prints goes nowhere */
    bool is_expendable;       /* the first to go where memory runs out */
    bool leaves_interrupt;    /* Ctrl-C is the parent's to answer */
    unsigned long data_bytes; /* memory that it may have; 0: no limit */
};

/* Start from {0}: there is none. */
struct child {
    pid_t pid;
    int line;
};

/* What a child does, on a thread of its own. `line` leads to the parent. */
typedef void child_work(void *context, int line);

/* Starts a child that runs work(context, line) and ends. Signals end it, even
 * those that this program handles; SIGHUP and SIGINT that it ignores stay
 * ignored, as under nohup. On failure *child is {0}. */
enum assay_status child_start(struct child *child,
                              const struct child_options *options,
                              child_work *work, void *context,
                              struct error *err);

enum child_told {
    CHILD_TOLD,
    CHILD_GONE, /* the other side ended first */
    CHILD_LATE  /* the time is over */
};

/* Whole blocks over a line; seconds 0: for as long as it takes. Neither raises
 * SIGPIPE. */
enum child_told child_send(int line, const void *bytes, size_t n,
                           double seconds);
enum child_told child_receive(int line, void *bytes, size_t n, double seconds);

/* Waits for the child to end, with `is_killed` not for long, and closes the
 * line. Gives its status as waitpid() does; usage may be NULL. Accepts {0}. */
int child_end(struct child *child, bool is_killed, struct rusage *usage);

#endif

/* base/child.h - work in a process of its own.
 *
 * The only place where this program forks. A child is a copy of this process
 * that runs one function and ends: it cannot harm its parent, its memory can
 * be limited, it can be stopped at any time, and it never outlives its parent.
 * It may use everything that this process has used before, including OpenMP.
 *
 * Parent and child talk over one line, a socket pair. Both are the same
 * program, so structs are sent as they are.
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
    bool is_quiet;            /* discard what it prints */
    bool is_expendable;       /* the first to be killed if memory runs out */
    bool leaves_interrupt;    /* ignore Ctrl-C: the parent handles it */
    unsigned long data_bytes; /* memory limit; 0: none */
};

/* Initialise to {0}: no child. */
struct child {
    pid_t pid;
    int line;
};

/* A child's work, on a thread of its own. `line` leads to the parent. */
typedef void child_work(void *context, int line);

/* Starts a child that runs work(context, line) and ends. Signals end it, even
 * those that this program handles; if this program ignores SIGHUP or SIGINT,
 * as under nohup, so does the child. On failure *child is {0}. */
enum assay_status child_start(struct child *child,
                              const struct child_options *options,
                              child_work *work, void *context,
                              struct error *err);

enum child_told {
    CHILD_TOLD,
    CHILD_GONE, /* the other side ended first */
    CHILD_LATE  /* time ran out */
};

/* Transfer whole blocks over a line; seconds 0: no time limit. Neither raises
 * SIGPIPE. */
enum child_told child_send(int line, const void *bytes, size_t n,
                           double seconds);
enum child_told child_receive(int line, void *bytes, size_t n, double seconds);

/* Waits for the child to end, killing it first if `is_killed`, and closes the
 * line. Returns its status as waitpid() does. usage may be NULL, child {0}. */
int child_end(struct child *child, bool is_killed, struct rusage *usage);

#endif

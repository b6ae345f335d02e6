/* cli/interrupt.h - Ctrl-C, SIGTERM and a terminal that goes away (SIGHUP), for
 * commands that can end in order.
 *
 * The first such signal is noted and leaves the command to finish what it is
 * at; the second ends the program at once, as it would have without all this.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>

/* From now on, once in a process. What is ignored stays ignored. Points to the
 * number of the signal that came, 0 until then. */
const volatile sig_atomic_t *interrupt_watch(void);

/* Ends the program by the signal that came, so that a shell that waits for it
 * (exit code 130, 143 or 129) stops its loop too. Nothing where none came. */
void interrupt_pass_on(void);

#endif

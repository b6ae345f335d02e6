/* cli/interrupt.h - Ctrl-C, SIGTERM and a terminal that goes away (SIGHUP), for
 * commands that can stop in an orderly way.
 *
 * The first signal is noted and lets the command finish what it is doing; the
 * second ends the program at once, as it would by default. Signals within 10 ms
 * count as one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>

/* Starts watching, once per process. Ignored signals stay ignored. Returns a
 * pointer to the number of the signal that arrived, 0 until then. */
const volatile sig_atomic_t *interrupt_watch(void);
/* The same for a command that stops at once: it says nothing. */
const volatile sig_atomic_t *interrupt_watch_quietly(void);

/* Ends the program with the signal that arrived, so that a shell that waits for
 * it (exit code 130, 143 or 129) stops its loop too. Does nothing if none did.
 */
void interrupt_pass_on(void);

#endif

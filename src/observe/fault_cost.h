/* observe/fault_cost.h - what it costs to touch a new page of memory here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_FAULT_COST_H
#define OBSERVE_FAULT_COST_H

/* Measured now, in under 10 ms: the least of a few rounds, since other work
 * only adds to it. NaN if there is no memory for it. */
double fault_cost_ns(void);

#endif

/* base/cgroup.h - how much processor time a container allows this process.
 *
 * Handles both versions of Linux control groups. Everything is read below a
 * root folder, "" for the real one, so that a test can fake a machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

/* Processors' worth of time that this process's group and the groups above it
 * may use: 1.5 for "150000 100000" in cpu.max. INFINITY: no limit. */
double cgroup_processors(const char *root);

/* How long that limit has held back threads of this group so far, in ns,
 * summed over processors; NaN if nobody counts it. */
double cgroup_throttled_ns(const char *root);

#endif

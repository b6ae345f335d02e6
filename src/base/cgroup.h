/* base/cgroup.h - how much of the processors a container leaves to this
 * process.
 *
 * Both versions of Linux's control groups are known. Everything is read below
 * a root folder, "" for the real one, so that a test can make up a machine.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

/* Processors' worth of time that this process's group and the groups above it
 * may use: 1.5 with "150000 100000" in cpu.max. INFINITY: no limit. */
double cgroup_processors(const char *root);

/* How long threads of its own group were held back by that limit until now,
 * in ns, summed over processors; NaN where nobody counts. */
double cgroup_throttled_ns(const char *root);

#endif

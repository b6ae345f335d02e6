/* tests/machine/made_machine.h - a made-up tree of the kernel's files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_MACHINE_MADE_MACHINE_H
#define TESTS_MACHINE_MADE_MACHINE_H

#include "base/cache.h"
#include "machine/machine.h"
#include "test.h"

#include <stdio.h>

/* A file below the root; folders are made as needed. */
static inline void made_file(const char *root, const char *path,
                             const char *text)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", root, path);
    CHECK_INT(cache_make_folders(full, NULL), 0);
    file = fopen(full, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

#define MADE_CPU "sys/devices/system/cpu/"

static inline void made_cache(const char *root, int cpu, int index,
                              const char *level, const char *type,
                              const char *size, const char *shared)
{
    const char *const files[][2] = {{"level", level},
                                    {"type", type},
                                    {"size", size},
                                    {"shared_cpu_list", shared}};

    for (size_t i = 0; i < 4; i++) {
        char path[128];

        snprintf(path, sizeof path, MADE_CPU "cpu%d/cache/index%d/%s", cpu,
                 index, files[i][0]);
        made_file(root, path, files[i][1]);
    }
}

/* A core of two threads, whose caches both share, in a socket of its own
 * beside another one like it: processors 0 and 2 are the first core. */
static inline void made_sockets(const char *root)
{
    static const char *const siblings[] = {"0,2\n", "1,3\n"};

    made_file(root, "proc/cpuinfo",
              "processor\t: 0\nmodel name\t: Made Up(R) 9000\nflags: fpu\n");
    made_file(root, MADE_CPU "online", "0-3\n");
    made_file(root, "sys/devices/system/node/online", "0-1\n");
    for (int i = 0; i < 4; i++) {
        const char *both = siblings[i % 2];
        char path[128];

        snprintf(path, sizeof path,
                 MADE_CPU "cpu%d/topology/thread_siblings_list", i);
        made_file(root, path, both);
        snprintf(path, sizeof path,
                 MADE_CPU "cpu%d/topology/core_siblings_list", i);
        made_file(root, path, both);
        made_cache(root, i, 0, "1\n", "Data\n", "32K\n", both);
        made_cache(root, i, 1, "1\n", "Instruction\n", "64K\n", both);
        made_cache(root, i, 2, "2\n", "Unified\n", "1024K\n", both);
        made_cache(root, i, 3, "3\n", "Unified\n", "16M\n", both);
    }
}

#endif

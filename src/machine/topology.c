/* machine/topology.c - processors, cores, sockets and caches, from sysfs. */
#include "machine/machine.h"

#include "base/processor.h"
#include "base/sysfs.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cpu_folder[] = "sys/devices/system/cpu";

/* Whether a processor is the first in a list of those that share something; one
 * without such a list shares nothing. */
static bool is_first_of(const char *root, int cpu, const char *list)
{
    char line[256];
    const char *at = line;
    int last = -1;

    if (!sysfs_line(line, sizeof line, root, "%s/cpu%d/%s", cpu_folder, cpu,
                    list))
        return true;
    return sysfs_next(&at, &last) == cpu;
}

/* "48K", "2048K", "1G" */
static uint64_t size_of(const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (end == text || n > UINT64_MAX >> 30)
        return 0;
    return *end == 'K'   ? n << 10
           : *end == 'M' ? n << 20
           : *end == 'G' ? n << 30
                         : n;
}

static void count_cache(struct machine_topology *topology, int level,
                        bool is_code, uint64_t bytes)
{
    struct machine_cache *cache = topology->caches;
    struct machine_cache *end = cache + topology->n_caches;

    while (cache < end && (cache->level != level || cache->is_code != is_code ||
                           cache->bytes != bytes))
        cache++;
    if (cache == end) {
        if (topology->n_caches == MACHINE_MAX_CACHES)
            return;
        topology->n_caches++;
        *cache = (struct machine_cache){
            .level = level, .is_code = is_code, .bytes = bytes};
    }
    cache->n++;
}

/* Counts each cache at the first processor that it serves. */
static void read_caches(const char *root, int cpu,
                        struct machine_topology *topology)
{
    for (int i = 0; i < MACHINE_MAX_CACHES; i++) {
        char shared[64], type[32], size[32];
        double level = sysfs_number(root, "%s/cpu%d/cache/index%d/level",
                                    cpu_folder, cpu, i);

        if (!(level >= 1 && level <= 4))
            return;
        snprintf(shared, sizeof shared, "cache/index%d/shared_cpu_list", i);
        if (!is_first_of(root, cpu, shared) ||
            !sysfs_line(type, sizeof type, root, "%s/cpu%d/cache/index%d/type",
                        cpu_folder, cpu, i) ||
            !sysfs_line(size, sizeof size, root, "%s/cpu%d/cache/index%d/size",
                        cpu_folder, cpu, i) ||
            size_of(size) == 0)
            continue;
        count_cache(topology, (int)level, strcmp(type, "Instruction") == 0,
                    size_of(size));
    }
}

static int compare_caches(const void *left, const void *right)
{
    const struct machine_cache *a = left, *b = right;

    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    return a->is_code - b->is_code;
}

static int count_list(const char *line)
{
    int n = 0, last = -1;

    while (sysfs_next(&line, &last) >= 0)
        n++;
    return n;
}

void machine_topology(const char *root, struct machine_topology *out)
{
    char online[1024];
    const char *at = online;
    int last = -1, cpu;

    *out = (struct machine_topology){0};
    processor_name(root, out->cpu, sizeof out->cpu);
    if (!sysfs_line(online, sizeof online, root, "%s/online", cpu_folder))
        return;
    while ((cpu = sysfs_next(&at, &last)) >= 0) {
        out->n_cpus++;
        out->n_cores += is_first_of(root, cpu, "topology/thread_siblings_list");
        out->n_sockets += is_first_of(root, cpu, "topology/core_siblings_list");
        read_caches(root, cpu, out);
    }
    qsort(out->caches, out->n_caches, sizeof *out->caches, compare_caches);
    if (sysfs_line(online, sizeof online, root,
                   "sys/devices/system/node/online"))
        out->n_nodes = count_list(online);
}

void machine_topology_text(const struct machine_topology *topology, char *text,
                           size_t size)
{
    const struct {
        int n;
        const char *what;
    } parts[] = {{topology->n_sockets, "socket"},
                 {topology->n_cores, "core"},
                 {topology->n_cpus, "thread"},
                 {topology->n_nodes, "memory node"}};
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts && at < size; i++) {
        if (parts[i].n > 0)
            at += (size_t)snprintf(text + at, size - at, "%s%d %s%s",
                                   at ? ", " : "", parts[i].n, parts[i].what,
                                   parts[i].n == 1 ? "" : "s");
    }
}

void machine_caches_text(const struct machine_topology *topology, char *text,
                         size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < topology->n_caches && at < size; i++) {
        const struct machine_cache *cache = &topology->caches[i];
        const char *kind = cache->level > 1 && !cache->is_code ? ""
                           : cache->is_code                    ? "i"
                                                               : "d";
        char bytes[UNITS_MAX];

        at += (size_t)snprintf(text + at, size - at, "%sL%d%s %s",
                               at ? ", " : "", cache->level, kind,
                               units_bytes(bytes, (double)cache->bytes));
        if (cache->n > 1 && at < size)
            at += (size_t)snprintf(text + at, size - at, " x%d", cache->n);
    }
}

uint64_t machine_cache_bytes(const struct machine_topology *topology, int level,
                             int n_threads)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < topology->n_caches; i++) {
        const struct machine_cache *cache = &topology->caches[i];
        int n = cache->n < n_threads ? cache->n : n_threads;

        if (cache->level == level && !cache->is_code)
            bytes += cache->bytes * (uint64_t)n;
    }
    return bytes;
}

int machine_last_level(const struct machine_topology *topology)
{
    return topology->n_caches ? topology->caches[topology->n_caches - 1].level
                              : 0;
}

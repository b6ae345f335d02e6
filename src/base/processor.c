/* base/processor.c - see processor.h. */
#include "base/processor.h"

#include "base/cgroup.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool processor_name(const char *root, char *name, size_t size)
{
    char path[512], line[256];
    bool is_found = false;
    FILE *file;

    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        const char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t\n");
        is_found = *value != '\0';
        if (is_found)
            snprintf(name, size, "%.*s", (int)strcspn(value, "\t\n"), value);
    }
    if (file)
        fclose(file);
    return is_found;
}

const char *processor_simd(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return "AVX2";
#endif
    return NULL;
}

static int count_allowed(void)
{
    cpu_set_t allowed;
    long n;

    /* Of more than CPU_SETSIZE processors it says nothing. */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
    n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int processor_count_below(const char *root)
{
    int n = count_allowed();
    double most = ceil(cgroup_processors(root));

    return most < n ? (int)fmax(most, 1) : n;
}

int processor_count(void)
{
    return processor_count_below("");
}

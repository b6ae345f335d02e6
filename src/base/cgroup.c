/* base/cgroup.c - see cgroup.h. */
#include "base/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { path_max = 1024 };

/* Where the groups of a version are mounted, usually. */
static const char *const mounts_v2[] = {"sys/fs/cgroup",
                                        "sys/fs/cgroup/unified", NULL};
static const char *const mounts_v1[] = {"sys/fs/cgroup/cpu,cpuacct",
                                        "sys/fs/cgroup/cpu", NULL};

static bool cgroup_read_text(const char *root, const char *mount,
                             const char *group, const char *name, char *text,
                             size_t size)
{
    char path[2 * path_max];
    size_t n;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/%s%s/%s", root, mount, group, name) >=
        (int)sizeof path)
        return false;
    file = fopen(path, "re");
    if (!file)
        return false;
    n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
    return n > 0;
}

/* Whether a list as "cpu,cpuacct" has the word. */
static bool has_controller(const char *list, size_t n, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at < list + n; at += strcspn(at, ",:") + 1) {
        if (strncmp(at, word, length) == 0 &&
            (at[length] == ',' || at[length] == ':'))
            return true;
    }
    return false;
}

/* The path of this process's group, "" for the topmost: from a line as
 * "0::/user.slice" or "3:cpu,cpuacct:/docker/abc" of proc/self/cgroup. */
static bool cgroup_find_group(const char *root, bool is_v2,
                              char group[path_max])
{
    char path[path_max], line[path_max];
    bool is_found = false;
    FILE *file;

    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        const char *list = strchr(line, ':');
        const char *name = list ? strchr(list + 1, ':') : NULL;

        if (!name)
            continue;
        list++;
        is_found = is_v2 ? list == name
                         : has_controller(list, (size_t)(name - list), "cpu");
        if (is_found)
            snprintf(group, path_max, "%.*s", (int)strcspn(name + 1, "\n"),
                     name + 1);
    }
    if (file)
        fclose(file);
    if (is_found && strcmp(group, "/") == 0)
        group[0] = '\0';
    return is_found;
}

/* Up by one; false at the top. */
static bool leave_group(char *group)
{
    char *slash = strrchr(group, '/');

    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* "150000 100000", "max 100000" */
static double read_limit_v2(const char *root, const char *mount,
                            const char *group)
{
    char text[64], *end;
    double quota, period;

    if (!cgroup_read_text(root, mount, group, "cpu.max", text, sizeof text))
        return INFINITY;
    quota = strtod(text, &end);
    if (end == text)
        return INFINITY;
    period = strtod(end, NULL);
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

static double read_limit_v1(const char *root, const char *mount,
                            const char *group)
{
    char quota_text[32], period_text[32];
    double quota, period;

    if (!cgroup_read_text(root, mount, group, "cpu.cfs_quota_us", quota_text,
                          sizeof quota_text) ||
        !cgroup_read_text(root, mount, group, "cpu.cfs_period_us", period_text,
                          sizeof period_text))
        return INFINITY;
    quota = strtod(quota_text, NULL);
    period = strtod(period_text, NULL);
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least of a group and those above it. Inside of a container the path may
 * be the host's, which is not mounted here: the topmost is the container's. */
static double least_limit(const char *root, bool is_v2)
{
    const char *const *mounts = is_v2 ? mounts_v2 : mounts_v1;
    double least = INFINITY;

    for (size_t i = 0; mounts[i]; i++) {
        char group[path_max];

        if (!cgroup_find_group(root, is_v2, group))
            break;
        do
            least = fmin(least, is_v2 ? read_limit_v2(root, mounts[i], group)
                                      : read_limit_v1(root, mounts[i], group));
        while (leave_group(group));
    }
    return least;
}

double cgroup_processors(const char *root)
{
    return fmin(least_limit(root, true), least_limit(root, false));
}

static double read_throttled(const char *root, bool is_v2)
{
    const char *const *mounts = is_v2 ? mounts_v2 : mounts_v1;
    const char *key = is_v2 ? "throttled_usec " : "throttled_time ";
    char group[path_max], text[1024];

    for (size_t i = 0; mounts[i] && cgroup_find_group(root, is_v2, group);
         i++) {
        do {
            const char *at;

            if (!cgroup_read_text(root, mounts[i], group, "cpu.stat", text,
                                  sizeof text))
                continue;
            at = strstr(text, key);
            if (at)
                return strtod(at + strlen(key), NULL) * (is_v2 ? 1e3 : 1);
        } while (leave_group(group));
    }
    return NAN;
}

double cgroup_throttled_ns(const char *root)
{
    double ns = read_throttled(root, true);

    return isnan(ns) ? read_throttled(root, false) : ns;
}

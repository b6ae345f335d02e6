/* base/cgroup.c - see cgroup.h. */
#include "base/cgroup.h"

#include "base/sysfs.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { path_max = 1024 };

/* Where the groups of each version are usually mounted. */
static const char *const mounts_v2[] = {"sys/fs/cgroup",
                                        "sys/fs/cgroup/unified", NULL};
static const char *const mounts_v1[] = {"sys/fs/cgroup/cpu,cpuacct",
                                        "sys/fs/cgroup/cpu", NULL};

/* Whether a list such as "cpu,cpuacct" has the word. */
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

/* The path of this process's group, "" for the topmost, from a line such as
 * "0::/user.slice" or "3:cpu,cpuacct:/docker/abc" of proc/self/cgroup. */
static bool cgroup_find_group(const char *root, bool is_v2,
                              char group[path_max])
{
    char text[8192];
    const char *line = text;

    if (!sysfs_read(text, sizeof text, root, "proc/self/cgroup"))
        return false;
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *list = line + strcspn(line, ":\n"), *name;

        if (*list++ != ':')
            continue;
        name = list + strcspn(list, ":\n");
        if (*name != ':' ||
            (is_v2 ? list != name
                   : !has_controller(list, (size_t)(name - list), "cpu")))
            continue;
        snprintf(group, path_max, "%.*s", (int)strcspn(name + 1, "\n"),
                 name + 1);
        if (strcmp(group, "/") == 0)
            group[0] = '\0';
        return true;
    }
    return false;
}

/* Goes up by one group; false at the top. */
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

    if (!sysfs_read(text, sizeof text, root, "%s%s/cpu.max", mount, group))
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
    double quota = sysfs_number(root, "%s%s/cpu.cfs_quota_us", mount, group);
    double period = sysfs_number(root, "%s%s/cpu.cfs_period_us", mount, group);

    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least limit of a group and those above it. Inside a container the path
 * may be the host's, which is not mounted here; then only the topmost group
 * exists, which is the container's. */
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
            const char *found = sysfs_read(text, sizeof text, root,
                                           "%s%s/cpu.stat", mounts[i], group)
                                    ? sysfs_field(text, key)
                                    : NULL;

            if (found)
                return strtod(found, NULL) * (is_v2 ? 1e3 : 1);
        } while (leave_group(group));
    }
    return NAN;
}

double cgroup_throttled_ns(const char *root)
{
    double ns = read_throttled(root, true);

    return isnan(ns) ? read_throttled(root, false) : ns;
}

/* How much a container allows a process, on fake machines. */
#include "base/cgroup.h"
#include "base/processor.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[256];

/* Starts a new fake machine. */
static void make_machine(const char *name)
{
    snprintf(root, sizeof root, "%s", test_path(name));
}

static void put(const char *path, const char *text)
{
    char whole[600];
    FILE *file;

    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = whole + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(whole, 0777);
        *at = '/';
    }
    file = fopen(whole, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

TEST(a_machine_without_groups_has_no_limit)
{
    make_machine("none");
    CHECK(isinf(cgroup_processors(root)));
    CHECK(isnan(cgroup_throttled_ns(root)));
}

TEST(the_limit_of_a_group_is_its_share_of_the_time)
{
    make_machine("v2");
    put("proc/self/cgroup", "0::/box/inner\n");
    put("sys/fs/cgroup/box/inner/cpu.max", "150000 100000\n");
    CHECK_NEAR(cgroup_processors(root), 1.5, 1e-9);
    put("sys/fs/cgroup/box/inner/cpu.max", "max 100000\n");
    CHECK(isinf(cgroup_processors(root)));
}

TEST(a_group_above_limits_those_below)
{
    make_machine("above");
    put("proc/self/cgroup", "0::/box/inner\n");
    put("sys/fs/cgroup/box/inner/cpu.max", "400000 100000\n");
    put("sys/fs/cgroup/box/cpu.max", "50000 100000\n");
    CHECK_NEAR(cgroup_processors(root), 0.5, 1e-9);
}

/* Docker without a namespace for groups shows the host's path. */
TEST(a_path_that_is_not_mounted_means_the_topmost_group)
{
    make_machine("docker");
    put("proc/self/cgroup", "0::/system.slice/docker-12.scope\n");
    put("sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK_NEAR(cgroup_processors(root), 2, 1e-9);
}

TEST(version_1_groups_are_read_too)
{
    make_machine("v1");
    put("proc/self/cgroup", "9:cpuset:/set\n3:cpuacct,cpu:/box\n0::/\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "250000\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu/box/cpu.stat", "nr_throttled 3\nthrottled_time 7\n");
    CHECK_NEAR(cgroup_processors(root), 2.5, 1e-9);
    CHECK_NEAR(cgroup_throttled_ns(root), 7, 1e-9);
}

TEST(throttled_time_is_in_ns)
{
    make_machine("throttled");
    put("proc/self/cgroup", "0::/box\n");
    put("sys/fs/cgroup/box/cpu.stat", "usage_usec 9\nthrottled_usec 12\n");
    CHECK_NEAR(cgroup_throttled_ns(root), 12000, 1e-9);
}

TEST(nonsense_does_not_limit)
{
    static const char *const texts[] = {"", "x y", "-5 100000", "100000",
                                        "0 0"};

    make_machine("nonsense");
    put("proc/self/cgroup", "0::/box\nno colons\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("sys/fs/cgroup/box/cpu.max", texts[i]);
        CHECK(isinf(cgroup_processors(root)));
    }
}

TEST(the_thread_count_follows_the_limit)
{
    make_machine("threads");
    put("proc/self/cgroup", "0::/box\n");
    put("sys/fs/cgroup/box/cpu.max", "20000 100000\n");
    CHECK_INT(processor_count_below(root), 1);
    put("sys/fs/cgroup/box/cpu.max", "max 100000\n");
    CHECK_INT(processor_count_below(root), processor_count());
}

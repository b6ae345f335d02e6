/* How much memory is left, according to Linux. */
#include "base/mem.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A root folder with a file in it. */
static const char *root_with(const char *root, const char *name,
                             const char *text)
{
    char path[600];
    const char *folder = test_path(root);
    FILE *file;

    mkdir(folder, 0700);
    for (const char *slash = strchr(name, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name),
                 name);
        mkdir(path, 0700);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file);
    fputs(text, file);
    fclose(file);
    return folder;
}

static const char meminfo[] = "MemTotal:       24000000 kB\n"
                              "MemFree:         1000000 kB\n"
                              "MemAvailable:   16000000 kB\n"
                              "SwapTotal:       2000000 kB\n"
                              "SwapFree:         500000 kB\n";

TEST(room_is_available_memory_plus_free_swap)
{
    const char *root = root_with("plain", "proc/meminfo", meminfo);

    CHECK_INT(mem_room(root), (16000000LL + 500000) * 1024);
}

TEST(a_container_has_the_room_of_its_limit)
{
    const char *root = root_with("container", "proc/meminfo", meminfo);

    root_with("container", "sys/fs/cgroup/memory.current", "1500000000\n");
    root_with("container", "sys/fs/cgroup/memory.stat",
              "anon 900000000\nfile 600000000\nfile_mapped 7\n");
    root_with("container", "sys/fs/cgroup/memory.max", "max\n");
    CHECK_INT(mem_room(root), (16000000LL + 500000) * 1024);
    root_with("container", "sys/fs/cgroup/memory.max", "2000000000\n");
    CHECK_INT(mem_room(root), 2000000000LL - 1500000000 + 600000000);
    root_with("container", "sys/fs/cgroup/memory.max", "500000000\n");
    CHECK_INT(mem_room(root), 0);
}

TEST(without_information_there_is_no_limit)
{
    CHECK(mem_room(test_path("nowhere")) == SIZE_MAX);
}

TEST(more_than_the_machine_has_is_not_mapped)
{
    size_t room = mem_room("");

    if (room > SIZE_MAX / 4)
        SKIP("this machine does not say how much memory is left");
    CHECK(!mem_map(2 * room));
}

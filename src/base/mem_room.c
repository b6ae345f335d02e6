/* base/mem_room.c - see mem_room_internal.h. Needs no memory itself. */
#include "base/mem_room_internal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The beginning of a small file, as text; false where it cannot be read. */
static bool mem_room_read_text(const char *root, const char *name, char *text,
                               size_t size)
{
    char path[512];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "%s/%s", root, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number behind a key at the beginning of a line; 0 where it is not. */
static uint64_t find_number(const char *text, const char *key)
{
    size_t n = strlen(key);

    while (text) {
        if (strncmp(text, key, n) == 0)
            return strtoull(text + n, NULL, 10);
        text = strchr(text, '\n');
        text += text ? 1 : 0;
    }
    return 0;
}

static size_t mem_room_clamp(uint64_t bytes)
{
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static size_t machine_room(const char *root)
{
    char text[4096];
    uint64_t kib;

    if (!mem_room_read_text(root, "proc/meminfo", text, sizeof text))
        return SIZE_MAX;
    kib = find_number(text, "MemAvailable:");
    if (!kib) /* Linux before 3.14 */
        return SIZE_MAX;
    return mem_room_clamp((kib + find_number(text, "SwapFree:")) * 1024);
}

/* What files take can be had back. */
static size_t container_room(const char *root)
{
    char most[64], used[64], parts[4096];
    uint64_t limit, taken;

    if (!mem_room_read_text(root, "sys/fs/cgroup/memory.max", most,
                            sizeof most) ||
        !mem_room_read_text(root, "sys/fs/cgroup/memory.current", used,
                            sizeof used) ||
        !mem_room_read_text(root, "sys/fs/cgroup/memory.stat", parts,
                            sizeof parts))
        return SIZE_MAX;
    limit = strtoull(most, NULL, 10); /* 0: "max" */
    taken = strtoull(used, NULL, 10);
    if (!limit)
        return SIZE_MAX;
    limit += find_number(parts, "file ");
    return limit > taken ? mem_room_clamp(limit - taken) : 0;
}

size_t mem_room(const char *root)
{
    size_t machine = machine_room(root), container = container_room(root);

    return machine < container ? machine : container;
}

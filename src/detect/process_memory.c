/* detect/process_memory.c - see process_memory.h. */
#include "detect/process_memory.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A line that begins a mapping: "7f01-7f02 r-xp 000 08:01 131 /lib/x.so". The
 * path, or NULL where it is memory of nobody; false where it begins none. */
static bool begins_mapping(const char *line, const char **path)
{
    unsigned long from, to, inode;
    int at = 0;

    if (sscanf(line, "%lx-%lx %*4s %*x %*x:%*x %lu %n", &from, &to, &inode,
               &at) != 3)
        return false;
    *path = inode && at > 0 ? line + at : NULL;
    return true;
}

static bool is_path(const char *path, const char *file)
{
    size_t n = strlen(file);

    return strncmp(path, file, n) == 0 && (path[n] == '\n' || path[n] == '\0');
}

void process_memory_parse(const char *smaps, const char *file,
                          struct process_memory *memory)
{
    const char *path = NULL;

    while (smaps) {
        size_t kib;

        if (!begins_mapping(smaps, &path) && path &&
            sscanf(smaps, "Rss: %zu kB", &kib) == 1) {
            if (file && is_path(path, file))
                memory->mapped_bytes += kib * 1024;
            else
                memory->code_bytes += kib * 1024;
        }
        smaps = strchr(smaps, '\n');
        smaps = smaps ? smaps + 1 : NULL;
    }
}

static void read_mappings(const char *file, struct process_memory *memory)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    struct str text = {0};
    char chunk[4096];
    size_t n;

    while (smaps && (n = fread(chunk, 1, sizeof chunk, smaps)) > 0) {
        if (str_append_n(&text, chunk, n))
            break;
    }
    if (smaps)
        fclose(smaps);
    process_memory_parse(str_text(&text), file, memory);
    str_release(&text);
}

struct process_memory process_memory_read(const char *file, size_t pool_bytes)
{
    struct process_memory memory = {0};
    size_t counted = mem_live_bytes();
    char full[PATH_MAX];
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        memory.peak_bytes = (size_t)usage.ru_maxrss * 1024;
    read_mappings(file && realpath(file, full) ? full : NULL, &memory);
    memory.tables_bytes = counted > pool_bytes ? counted - pool_bytes : 0;
    memory.sqlite_bytes = store_memory_peak();
    return memory;
}

/* observe/process_memory.c - see process_memory.h. */
#include "observe/process_memory.h"

#include "base/mem.h"
#include "base/scanner.h"
#include "base/str.h"
#include "store/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Reads the first line of a mapping: "7f01-7f02 r-xp 000 08:01 131 /lib/x.so".
 * The path, or NULL for anonymous memory; false if it is not such a line. */
static bool begins_mapping(const char *line, const char **path)
{
    uint64_t from, to, inode;

    if (!scan_hex(&line, &from) || !scan_word(&line, "-") ||
        !scan_hex(&line, &to))
        return false;
    for (int i = 0; i < 3; i++) /* permissions, offset, device */
        scan_over(&line);
    scan_blanks(&line);
    if (!scan_number(&line, UINT64_MAX, &inode))
        return false;
    scan_blanks(&line);
    *path = inode ? line : NULL;
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
        uint64_t kib;

        if (!begins_mapping(smaps, &path) && path &&
            scan_field(smaps, "Rss", &kib)) {
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

/* detect/process_memory.h - what the whole process holds, as the kernel says.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_PROCESS_MEMORY_H
#define DETECT_PROCESS_MEMORY_H

#include <stddef.h>

/* 0 where it is not known. */
struct process_memory {
    size_t peak_bytes;   /* the high-water mark of what is resident */
    size_t code_bytes;   /* of the program and its libraries, now */
    size_t mapped_bytes; /* of one file that was asked for, now */
    size_t tables_bytes; /* counted memory beside the pool, now */
    size_t sqlite_bytes; /* the most that SQLite held */
};

/* The kernel's words about mappings, as /proc/self/smaps has them: what of
 * files is resident, apart from that one (a full path, or NULL). */
void process_memory_parse(const char *smaps, const char *file,
                          struct process_memory *memory);

/* Asks the kernel. file: whose mapping is counted on its own, or NULL;
 * pool_bytes: what the pool holds, which is counted memory too. */
struct process_memory process_memory_read(const char *file, size_t pool_bytes);

#endif

/* observe/process_memory.h - what the whole process holds, according to the
 * kernel.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_PROCESS_MEMORY_H
#define OBSERVE_PROCESS_MEMORY_H

#include <stddef.h>

/* 0: unknown. */
struct process_memory {
    size_t peak_bytes;   /* the high-water mark of resident memory */
    size_t code_bytes;   /* of the program and its libraries, now */
    size_t mapped_bytes; /* of one given file, now */
    size_t tables_bytes; /* counted memory besides the pool, now */
    size_t sqlite_bytes; /* the most that SQLite held */
};

/* Reads mappings as in /proc/self/smaps: how much of files is resident, with
 * one of them (a full path, or NULL) counted separately. */
void process_memory_parse(const char *smaps, const char *file,
                          struct process_memory *memory);

/* Asks the kernel. file: its mapping is counted separately; or NULL.
 * pool_bytes: what the pool holds, which is counted memory too. */
struct process_memory process_memory_read(const char *file, size_t pool_bytes);

#endif

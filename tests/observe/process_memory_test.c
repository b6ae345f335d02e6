/* What the kernel reports about the memory of a process. */
#include "observe/process_memory.h"
#include "test.h"

#include "base/mem.h"

#include <string.h>

/* As proc(5) shows it; the numbers are made up. */
static const char smaps[] =
    "55d0c0000000-55d0c0010000 r-xp 00000000 08:01 1311 /usr/bin/assay\n"
    "Size:                 64 kB\n"
    "Rss:                  40 kB\n"
    "Pss:                  40 kB\n"
    "VmFlags: rd ex mr mw me sd\n"
    "7f0100000000-7f0100100000 rw-p 00000000 00:00 0 \n"
    "Rss:                1000 kB\n"
    "7f0200000000-7f0200100000 r--p 00000000 08:01 77 /data/my weights.pth\n"
    "Rss:                 300 kB\n"
    "7f0300000000-7f0300100000 r-xp 00000000 08:01 99 /usr/lib/libdnnl.so.2\n"
    "Rss:                 500 kB\n"
    "7f0300100000-7f0300200000 rw-p 00000000 08:01 99 /usr/lib/libdnnl.so.2\n"
    "Rss:                   8 kB\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n"
    "Rss:                  20 kB\n";

TEST(pages_of_files_are_separated_from_anonymous_memory)
{
    struct process_memory memory = {0};

    process_memory_parse(smaps, NULL, &memory);
    CHECK_INT(memory.code_bytes, (40 + 300 + 500 + 8) * 1024);
    CHECK_INT(memory.mapped_bytes, 0);
}

TEST(a_given_file_is_counted_separately)
{
    struct process_memory memory = {0};

    process_memory_parse(smaps, "/data/my weights.pth", &memory);
    CHECK_INT(memory.mapped_bytes, 300 * 1024);
    CHECK_INT(memory.code_bytes, (40 + 500 + 8) * 1024);
    memory = (struct process_memory){0};
    process_memory_parse(smaps, "/data/my weights", &memory);
    CHECK_INT(memory.mapped_bytes, 0);
}

TEST(lines_that_are_not_mappings_count_nothing)
{
    struct process_memory memory = {0};

    process_memory_parse("", NULL, &memory);
    process_memory_parse("Rss: 5 kB\nnonsense\n7f01-", NULL, &memory);
    CHECK_INT(memory.code_bytes, 0);
}

TEST(this_process_holds_at_least_what_it_touched)
{
    enum { bytes = 32 << 20 };
    char *block = mem_alloc(bytes);
    struct process_memory memory;

    CHECK(block != NULL);
    memset(block, 1, bytes);
    memory = process_memory_read(NULL, 0);
    CHECK(memory.peak_bytes >= bytes);
    CHECK(memory.tables_bytes >= bytes);
    CHECK(process_memory_read(NULL, SIZE_MAX).tables_bytes == 0);
    mem_free(block);
}

/* observe/fault_cost.c - see fault_cost.h. */
#include "observe/fault_cost.h"

#include "base/clock.h"

#include <math.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 4, PAGES = 256 };

/* Touches new pages once; ns per page. */
static double fault_cost_round(size_t page_bytes)
{
    size_t bytes = PAGES * page_bytes;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int64_t began_ns;
    double ns;

    if (memory == MAP_FAILED)
        return NAN;
    madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
    began_ns = clock_monotonic_ns();
    for (size_t i = 0; i < bytes; i += page_bytes)
        memory[i] = 1;
    ns = (double)(clock_monotonic_ns() - began_ns) / PAGES;
    munmap((void *)memory, bytes);
    return ns;
}

double fault_cost_ns(void)
{
    long page_bytes = sysconf(_SC_PAGESIZE);
    double least = NAN;

    for (int i = 0; page_bytes > 0 && i < ROUNDS; i++)
        least = fmin(least, fault_cost_round((size_t)page_bytes));
    return least;
}

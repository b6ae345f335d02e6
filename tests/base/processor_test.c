/* How many processors there are to compute with. */
#include "base/processor.h"
#include "test.h"

#include <sched.h>

TEST(processors_that_may_not_be_used_do_not_count)
{
    cpu_set_t all, one;
    size_t first = 0;

    CHECK_INT(sched_getaffinity(0, sizeof all, &all), 0);
    CHECK_INT(processor_count(), CPU_COUNT(&all));
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_INT(processor_count(), 1);
    CHECK_INT(sched_setaffinity(0, sizeof all, &all), 0);
}

/* Code compiled with OpenMP runs on our team (team/gomp.c). */
#include "team/team.h"
#include "test.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>

/* In test.c. */
int main(int argc, char **argv);

enum { N = 4 };

/* The functions that oneDNN's calls are bound to. */
TEST(calls_from_libraries_reach_this_program)
{
    static const char *const names[] = {
        "GOMP_parallel",       "GOMP_barrier",       "omp_get_max_threads",
        "omp_get_num_threads", "omp_get_thread_num", "omp_in_parallel"};
    Dl_info program, found;

    CHECK(dladdr((void *)(uintptr_t)main, &program));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(dladdr(dlsym(RTLD_DEFAULT, names[i]), &found));
        CHECK_STR(found.dli_fname, program.dli_fname);
    }
}

TEST(a_parallel_region_runs_on_the_team)
{
    int sizes[N] = {0}, numbers = 0;

#pragma omp parallel num_threads(N) reduction(+ : numbers)
    {
        sizes[omp_get_thread_num()] = team_size();
        numbers += team_number();
    }
    CHECK_INT(numbers, N * (N - 1) / 2);
    for (int i = 0; i < N; i++)
        CHECK_INT(sizes[i], N);
}

TEST(loops_of_every_kind_visit_each_index_once)
{
    int seen[100] = {0};

#pragma omp parallel num_threads(N)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++)
            seen[i] += 1;
#pragma omp for schedule(dynamic, 7)
        for (int i = 99; i >= 0; i -= 3)
            seen[i] += 10;
#pragma omp for schedule(dynamic, 3) nowait
        for (size_t i = 1; i < 100; i += 2)
            seen[i] += 100;
#pragma omp for schedule(dynamic)
        for (int i = 5; i < 5; i++)
            seen[i] += 10000;
#pragma omp for
        for (int i = 0; i < 100; i++)
            seen[i] += 1000;
    }
    for (int i = 0; i < 100; i++)
        CHECK_INT(seen[i], 1001 + (i % 3 == 0 ? 10 : 0) + (i % 2 ? 100 : 0));
}

TEST(the_number_of_threads_set_is_the_default)
{
    int n = 0;

    omp_set_num_threads(3);
#pragma omp parallel reduction(+ : n)
    n++;
    CHECK_INT(n, 3);
    CHECK_INT(omp_get_max_threads(), 3);
}

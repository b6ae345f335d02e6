/* tests/store/import_links_test.c - what a device did belongs to the operator
 * that launched it. */
#include "base/mem.h"
#include "base/str.h"
#include "test.h"
#include "trace_text.h"

/* Spans of the host on thread 1 of process 1, and of streams of device 0. */
#define HOST(cat, name, ts, dur)                                               \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"" cat "\",\"name\":\"" name   \
    "\",\"ts\":" #ts ",\"dur\":" #dur "}"
#define LAUNCH(ts, dur, id)                                                    \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"cuda_runtime\",\"name\":"     \
    "\"cudaLaunchKernel\",\"ts\":" #ts ",\"dur\":" #dur                        \
    ",\"args\":{\"cbid\":[211],\"correlation\":" #id "}}"
#define KERNEL(stream, name, ts, dur, id)                                      \
    "{\"args\":{\"stream\":7,\"correlation\":" #id                             \
    ",\"grid\":[1,1,1]},\"ph\":\"X\",\"pid\":0,\"tid\":" #stream               \
    ",\"cat\":\"kernel\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur   \
    "}"
#define LONE(stream, name, ts, dur)                                            \
    "{\"ph\":\"X\",\"pid\":0,\"tid\":" #stream                                 \
    ",\"cat\":\"kernel\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur   \
    "}"
#define FLOW(ph, pid, tid, id, ts)                                             \
    "{\"ph\":\"" ph "\",\"pid\":" #pid ",\"tid\":" #tid ",\"id\":" #id         \
    ",\"ts\":" #ts ",\"cat\":\"ac2g\",\"name\":\"ac2g\"}"

static struct run *imported(const char *text)
{
    struct error err = {0};
    struct run *run = NULL;

    CHECK_STATUS(import_text(text, &run, &err), ASSAY_OK, &err);
    return run;
}

static void check_host(const struct run *run, const char *path, double total_ns)
{
    struct scope_stats stats = {0};

    CHECK(scope_at(run, path) != RUN_NONE);
    CHECK_INT(run_scope_stats(run, scope_at(run, path), RUN_ANY, &stats, NULL),
              ASSAY_OK);
    CHECK_NEAR(stats.total_ns, total_ns, 0);
}

static void check_device(const struct run *run, const char *path,
                         double total_ns)
{
    struct scope_stats stats = {0};

    CHECK(scope_at(run, path) != RUN_NONE);
    CHECK_INT(
        run_scope_device_stats(run, scope_at(run, path), RUN_ANY, &stats, NULL),
        ASSAY_OK);
    CHECK_NEAR(stats.total_ns, total_ns, 0);
}

/* The kernels come first in the file, and run long after the operators. */
TEST(a_kernel_belongs_to_the_operator_whose_call_launched_it)
{
    struct run *run = imported("[" KERNEL(7, "gemm", 100, 40, 11) "," KERNEL(
        7, "relu", 140, 5,
        12) "," HOST("python_function", "nn.Module: Linear_0", 9,
                     20) "," HOST("cpu_op", "aten::linear", 10,
                                  8) "," HOST("cpu_op", "aten::relu", 20,
                                              6) "," LAUNCH(12, 2,
                                                            11) "," LAUNCH(21,
                                                                           1,
                                                                           12) "]");

    check_host(run, "nn.Module: Linear_0", 20e3);
    check_device(run, "nn.Module: Linear_0", 45e3);
    check_host(run, "nn.Module: Linear_0.aten::linear", 8e3);
    check_device(run, "nn.Module: Linear_0.aten::linear", 40e3);
    check_device(run, "nn.Module: Linear_0.aten::linear.gemm", 40e3);
    check_device(run, "nn.Module: Linear_0.aten::relu", 5e3);
    CHECK_STR(run_fact(run, "import.kernels_linked"), "2");
    run_free(run);
}

TEST(a_launch_of_several_kernels_owns_them_all)
{
    struct run *run = imported(
        "[" HOST("cpu_op", "graph", 10, 8) "," LAUNCH(12, 2, 5) "," KERNEL(
            7, "a", 20, 3, 5) "," KERNEL(8, "b", 21, 4, 5) "]");

    check_device(run, "graph", 7e3);
    CHECK_STR(run_fact(run, "import.kernels_linked"), "2");
    run_free(run);
}

TEST(a_kernel_that_nobody_is_known_to_have_launched_stays_with_its_device)
{
    struct run *run = imported(
        "[" HOST("cpu_op", "op", 10, 8) "," LAUNCH(12, 2, 5) "," LAUNCH(
            30, 2, 6) "," KERNEL(7, "stray", 20, 3,
                                 9) "," KERNEL(7, "outside", 33, 3, 6) "]");

    check_device(run, "GPU 0.stray", 3e3);
    check_device(run, "GPU 0.outside", 3e3);
    check_device(run, "op", 0);
    CHECK_STR(run_fact(run, "import.kernels_linked"), "0");
    run_free(run);
}

TEST(an_arrow_gives_a_kernel_without_a_correlation_to_its_operator)
{
    struct run *run = imported(
        "[" LONE(7, "gemm", 100, 40) "," LONE(7, "other", 150, 10) "," FLOW(
            "f", 0, 7, 3,
            100) "," HOST("cpu_op", "before", 1,
                          5) "," HOST("cpu_op", "op", 10,
                                      8) "," FLOW("s", 1, 1, 3,
                                                  12) "," FLOW("s", 1, 1, 4,
                                                               13) "," FLOW("f",
                                                                            1,
                                                                            1,
                                                                            4,
                                                                            14) "]");

    check_device(run, "op", 40e3);
    check_device(run, "op.gemm", 40e3);
    check_device(run, "before", 0);
    check_device(run, "GPU 0.other", 10e3);
    CHECK_STR(run_fact(run, "import.kernels_linked"), "1");
    run_free(run);
}

/* Launched in the first iteration, it runs in the second. */
TEST(a_kernel_belongs_to_the_iteration_that_launched_it)
{
    struct run *run =
        imported("[" HOST("cpu_op", "ProfilerStep#1", 10, 10) "," HOST(
            "cpu_op", "ProfilerStep#2", 20,
            10) "," HOST("cpu_op", "op", 12,
                         4) "," LAUNCH(13, 1, 5) "," KERNEL(7, "k", 22, 3,
                                                            5) "]");
    bool is_found = false;

    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);

        if (sample->scope != scope_at(run, "op.k"))
            continue;
        is_found = true;
        CHECK_INT(sample->iteration, 0);
        CHECK_INT(sample->queued_ns, 9000);
    }
    CHECK(is_found);
    run_free(run);
}

/* 10 to 14 and 12 to 20 overlap, 30 to 35 is cut by the iterations. The wait of
 * a synchronisation is not work. */
TEST(a_device_is_busy_while_any_of_its_streams_works)
{
    struct run *run =
        imported("[" LONE(7, "a", 10, 4) "," LONE(8, "b", 12, 8) "," LONE(
            7, "c", 30,
            5) "," LONE(9, "d", 31,
                        2) ",{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"cat\":"
                           "\"cuda_sync\",\"name\":\"wait\",\"ts\":40,\"dur\":"
                           "9}]");

    check_host(run, "GPU 0", 15e3);
    check_device(run, "GPU 0.b", 8e3);
    CHECK_INT(run_kept_share(run).samples, 5);
    CHECK_INT(run_kept_share(run).of_samples, 5);
    run_free(run);
}

TEST(busy_time_is_cut_where_iterations_end)
{
    struct run *run =
        imported("[" HOST("cpu_op", "ProfilerStep#1", 10, 10) "," HOST(
            "cpu_op", "ProfilerStep#2", 20, 10) "," LONE(7, "a", 5, 40) "]");
    struct scope_stats stats;

    CHECK_INT(
        run_scope_stats(run, scope_at(run, "GPU 0"), RUN_ANY, &stats, NULL),
        ASSAY_OK);
    CHECK_INT(stats.n, 2);
    CHECK_NEAR(stats.max_ns, 10e3, 0);
    CHECK_NEAR(stats.min_ns, 10e3, 0);
    run_free(run);
}

TEST(correlations_that_are_not_numbers_are_ignored)
{
    struct run *run = imported(
        "[" HOST("cpu_op", "op", 10, 8) "," LAUNCH(12, 2, "x") "," KERNEL(
            7, "a", 20, 3, {"b" : [1]}) "," KERNEL(7, "c", 30, 3, -1) "]");

    check_device(run, "GPU 0.a", 3e3);
    check_device(run, "GPU 0.c", 3e3);
    run_free(run);
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    static const char text[] =
        "[" HOST("cpu_op", "op", 10, 8) "," LAUNCH(12, 2, 5) "," KERNEL(
            7, "a", 20, 3, 5) "," LONE(7, "b", 30,
                                       3) "," FLOW("s", 1, 1, 3,
                                                   12) "," FLOW("f", 0, 7, 3,
                                                                30) "]";
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct run *run = NULL;

        mem_fail_at(nth++);
        st = import_text(text, &run, NULL);
        mem_fail_at(-1);
        run_free(run);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
}

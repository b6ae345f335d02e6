/* tests/backend/cpu_limit_test.c - what ASSAY_CPU and ONEDNN_MAX_CPU_ISA make
 * of oneDNN's kernels. oneDNN reads them once in a process, so that each case
 * has a process of its own. */
#include "base/processor.h"
#include "base/str.h"
#include "engine/engine.h"
#include "op_case.h"
#include "test.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child saw. */
struct sight {
    enum assay_status status;
    struct error error;
    dnnl_cpu_isa_t isa;
    enum processor_level level;
    char library[128], choices[1024];
};

static struct error err;

/* A 3x3 convolution, trained, so that the choice of a kernel is written. */
static void look(struct sight *sight)
{
    struct engine_options wanted = {
        .device = device_cpu(),
        .backend_options = {.n_threads = 1,
                            .is_training = true,
                            .tries_last_resorts = true,
                            .tuning_seconds = 1e-9}};
    struct op_graph made = {0};
    struct op_case op_case;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    const char *problem;
    struct engine *engine;
    struct pool *pool;
    struct tensor y;

    CHECK(
        op_case_parse("conv2d c=64 h=8 w=8 o=64 k=3 p=1", &op_case, &problem));
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(op_case_build(&op_case, pool, &made, &err), ASSAY_OK, &err);
    sight->status =
        engine_new(made.graph, pool, &wanted, &engine, &sight->error);
    if (sight->status)
        return;
    CHECK_STATUS(engine_run(engine, made.inputs, &y, &err), ASSAY_OK, &err);
    engine_backend(engine)->class->choices(engine_backend(engine), &sink);
    snprintf(sight->choices, sizeof sight->choices, "%s", str_text(&text));
    backend_dnnl.library(sight->library, sizeof sight->library);
    sight->isa = dnnl_get_effective_cpu_isa();
    sight->level = processor_level();
}

static struct sight look_with(const char *assay_cpu, const char *onednn)
{
    struct sight *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sight sight;
    pid_t child;
    int status;

    CHECK(shared != MAP_FAILED);
    child = fork();
    if (child == 0) {
        unsetenv("DNNL_MAX_CPU_ISA");
        setenv("ASSAY_CPU", assay_cpu, 1);
        setenv("ONEDNN_MAX_CPU_ISA", onednn, 1);
        look(shared);
        _exit(0);
    }
    CHECK(child > 0);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    sight = *shared;
    munmap(shared, sizeof *shared);
    return sight;
}

static enum processor_level highest(void)
{
    return processor_limits().hardware;
}

TEST(assay_cpu_limits_onednn_and_our_own_kernels_alike)
{
    struct sight sight = look_with("sse4.1", "");

    CHECK_INT(sight.isa, dnnl_cpu_isa_sse41);
    CHECK_INT(sight.level, PROCESSOR_SSE41);
    CHECK_HAS(sight.choices, ", SSE4.1, 1 threads, oneDNN ");
    CHECK_HAS(sight.choices, "sse41");
    CHECK(!strstr(sight.choices, "avx"));
}

TEST(kernels_of_avx2_are_named_where_it_is_the_limit)
{
    struct sight sight;

    if (highest() < PROCESSOR_AVX2)
        SKIP_PROCESSOR("it has no AVX2");
    sight = look_with("avx2", "");
    CHECK_INT(sight.level, PROCESSOR_AVX2);
    CHECK_HAS(sight.choices, ", AVX2, 1 threads, oneDNN ");
    CHECK_HAS(sight.choices, "avx2");
    CHECK(!strstr(sight.choices, "avx512"));
}

TEST(a_limit_above_what_the_processor_has_changes_nothing)
{
    struct sight limited = look_with("amx", ""), free = look_with("", "");

    CHECK_INT(limited.isa, free.isa);
    CHECK_INT(limited.level, highest());
    CHECK_STR(limited.choices, free.choices);
    CHECK(!strstr(free.library, "ISA"));
}

TEST(onednn_s_own_limit_holds_and_is_shown)
{
    struct sight sight = look_with("", "SSE41");

    CHECK_INT(sight.isa, dnnl_cpu_isa_sse41);
    CHECK_INT(sight.level, PROCESSOR_SSE41);
    CHECK_HAS(sight.library, " (ONEDNN_MAX_CPU_ISA=SSE41)");
    CHECK_HAS(sight.choices, " (ONEDNN_MAX_CPU_ISA=SSE41)\t");
}

TEST(the_lower_of_two_limits_holds)
{
    struct sight sight = look_with("sse4.1", "AVX2");

    CHECK_INT(sight.isa, dnnl_cpu_isa_sse41);
    CHECK_INT(sight.level, PROCESSOR_SSE41);
    CHECK(!strstr(sight.library, "ISA")); /* it is not what limits */
    sight = look_with("avx2", "SSE41");
    CHECK_INT(sight.isa, dnnl_cpu_isa_sse41);
    CHECK_INT(sight.level, PROCESSOR_SSE41);
    CHECK_HAS(sight.library, " (ONEDNN_MAX_CPU_ISA=SSE41)");
}

TEST(a_word_that_is_not_a_level_is_told_to_who_uses_the_library)
{
    struct sight sight = look_with("avx1024", "");

    CHECK_INT(sight.status, ASSAY_BAD_USAGE);
    CHECK_HAS(sight.error.text, "ASSAY_CPU is 'avx1024'");
}

/* How many processors may be used, and at which level. */
#include "base/processor.h"
#include "test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(only_allowed_processors_count)
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

/* ---- limits ----------------------------------------------------------- */

static void forget_limits(void)
{
    unsetenv("ASSAY_CPU");
    unsetenv("ONEDNN_MAX_CPU_ISA");
    unsetenv("DNNL_MAX_CPU_ISA");
}

static struct processor_limits limits_with(const char *name, const char *word)
{
    struct processor_limits limits;

    forget_limits();
    setenv(name, word, 1);
    limits = processor_limits();
    forget_limits();
    return limits;
}

TEST(the_limit_is_not_case_sensitive)
{
    CHECK_INT(limits_with("ASSAY_CPU", "sse4.1").assay_cpu, PROCESSOR_SSE41);
    CHECK_INT(limits_with("ASSAY_CPU", "SSE4.1").assay_cpu, PROCESSOR_SSE41);
    CHECK_INT(limits_with("ASSAY_CPU", "avx2").assay_cpu, PROCESSOR_AVX2);
    CHECK_INT(limits_with("ASSAY_CPU", "Avx512").assay_cpu, PROCESSOR_AVX512);
    CHECK_INT(limits_with("ASSAY_CPU", "AMX").assay_cpu, PROCESSOR_AMX);
}

TEST(without_a_limit_the_hardware_decides)
{
    CHECK_INT(limits_with("ASSAY_CPU", "").assay_cpu, PROCESSOR_AMX);
    CHECK_INT(limits_with("OTHER", "avx2").assay_cpu, PROCESSOR_AMX);
    CHECK_INT(limits_with("OTHER", "avx2").onednn, PROCESSOR_AMX);
    CHECK(limits_with("ASSAY_CPU", "avx2").onednn_word == NULL);
}

static enum assay_status check_with(const char *word, struct error *err)
{
    enum assay_status st;

    *err = (struct error){0};
    setenv("ASSAY_CPU", word, 1);
    st = processor_check(err);
    forget_limits();
    return st;
}

TEST(an_unknown_level_is_refused_with_a_list_of_levels)
{
    static const char *const words[] = {"avx1024", "avx", "avx2 ", "sse41",
                                        "none",    "0",   "sse4"};
    struct error err;

    CHECK_STATUS(check_with("avx2", &err), ASSAY_OK, &err);
    CHECK_STATUS(check_with("", &err), ASSAY_OK, &err);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CHECK_STATUS(check_with(words[i], &err), ASSAY_BAD_USAGE, &err);
        CHECK_HAS(err.text, words[i]);
        CHECK_HAS(err.text, "sse4.1, avx2, avx512 or amx");
    }
    /* It limits nothing. */
    CHECK_INT(limits_with("ASSAY_CPU", "avx").assay_cpu, PROCESSOR_AMX);
}

TEST(onednns_own_limit_is_respected)
{
    static const struct {
        const char *word;
        enum processor_level level;
    } words[] = {{"SSE41", PROCESSOR_SSE41},
                 {"AVX", PROCESSOR_SSE41}, /* we have no kernels for it */
                 {"avx2", PROCESSOR_AVX2},
                 {"AVX2_VNNI", PROCESSOR_AVX2},
                 {"AVX512_CORE", PROCESSOR_AVX512},
                 {"AVX512_CORE_BF16", PROCESSOR_AVX512},
                 {"AVX512_CORE_AMX", PROCESSOR_AMX}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word = words[i].word;

        CHECK_INT(limits_with("ONEDNN_MAX_CPU_ISA", word).onednn,
                  words[i].level);
        CHECK_INT(limits_with("DNNL_MAX_CPU_ISA", word).onednn, words[i].level);
    }
    CHECK_INT(limits_with("ONEDNN_MAX_CPU_ISA", "ALL").onednn, PROCESSOR_AMX);
    CHECK_INT(limits_with("ONEDNN_MAX_CPU_ISA", "avx2\t1").onednn,
              PROCESSOR_AMX);
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    CHECK_STR(processor_limits().onednn_word, "AVX2");
    forget_limits();
}

TEST(a_level_has_a_name_and_never_exceeds_the_hardware)
{
    static const char *const names[] = {NULL, "SSE4.1", "AVX2", "AVX-512",
                                        "AVX-512, AMX"};
    enum processor_level hardware = processor_limits().hardware;

    for (int i = PROCESSOR_PLAIN; i <= PROCESSOR_AMX; i++) {
        int level = i < (int)hardware ? i : (int)hardware;

        processor_limit((enum processor_level)i);
        CHECK_INT(processor_level(), level);
        if (names[level])
            CHECK_STR(processor_simd(), names[level]);
        else
            CHECK(processor_simd() == NULL);
    }
}

TEST(eviction_stays_inside_the_memory_and_keeps_what_it_holds)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 1000};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(pages != MAP_FAILED);
    memset(pages, 7, page);
    CHECK_INT(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        processor_evict(pages + page - lengths[i], lengths[i]);
    for (size_t i = 0; i < page; i++)
        CHECK_INT(pages[i], 7);
    munmap(pages, 2 * page);
}

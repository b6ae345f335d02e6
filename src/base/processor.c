/* base/processor.c - see processor.h. */
#include "base/processor.h"

#include "base/cgroup.h"
#include "base/sysfs.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <emmintrin.h>
#endif

bool processor_name(const char *root, char *name, size_t size)
{
    char text[4096];
    const char *field, *value;

    if (!sysfs_read(text, sizeof text, root, "proc/cpuinfo"))
        return false;
    field = sysfs_field(text, "model name");
    value = field ? strchr(field, ':') : NULL;
    if (!value)
        return false;
    value += 1 + strspn(value + 1, " \t");
    if (*value == '\0' || *value == '\n')
        return false;
    snprintf(name, size, "%.*s", (int)strcspn(value, "\t\n"), value);
    return true;
}

#ifdef __x86_64__
/* AMX counts only if the system saves its registers. */
static bool has_amx(void)
{
    enum { tile_bit = 1 << 24, saved_bits = 3 << 17 };
    unsigned eax, ebx, ecx, edx, high;

    if (!__builtin_cpu_supports("avx512f") ||
        !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(edx & tile_bit))
        return false;
    __asm__("xgetbv" : "=a"(eax), "=d"(high) : "c"(0));
    return (eax & saved_bits) == saved_bits;
}

static enum processor_level find_hardware(void)
{
    if (has_amx())
        return PROCESSOR_AMX;
    if (__builtin_cpu_supports("avx512f"))
        return PROCESSOR_AVX512;
    if (__builtin_cpu_supports("avx2"))
        return PROCESSOR_AVX2;
    return __builtin_cpu_supports("sse4.1") ? PROCESSOR_SSE41 : PROCESSOR_PLAIN;
}
#else
static enum processor_level find_hardware(void)
{
    return PROCESSOR_PLAIN;
}
#endif

static const char assay_variable[] = "ASSAY_CPU";

static const char *const assay_words[] = {[PROCESSOR_SSE41] = "sse4.1",
                                          [PROCESSOR_AVX2] = "avx2",
                                          [PROCESSOR_AVX512] = "avx512",
                                          [PROCESSOR_AMX] = "amx"};

/* A variable set to nothing counts as unset. */
static const char *environment_word(const char *name)
{
    const char *word = getenv(name);

    return word && *word ? word : NULL;
}

static bool find_assay_limit(enum processor_level *out)
{
    const char *word = environment_word(assay_variable);
    int level = PROCESSOR_SSE41;

    *out = PROCESSOR_AMX;
    if (!word)
        return true;
    while (level <= PROCESSOR_AMX && strcasecmp(word, assay_words[level]) != 0)
        level++;
    if (level > PROCESSOR_AMX)
        return false;
    *out = (enum processor_level)level;
    return true;
}

/* oneDNN ignores words that it does not know, "all" among them. */
static void find_onednn_limit(struct processor_limits *limits)
{
    static const struct {
        const char *begin;
        enum processor_level level;
    } words[] = {{"sse41", PROCESSOR_SSE41},
                 {"avx512_core_amx", PROCESSOR_AMX},
                 {"avx10_1_512_amx", PROCESSOR_AMX},
                 {"avx512", PROCESSOR_AVX512},
                 {"avx10", PROCESSOR_AVX512},
                 {"avx2", PROCESSOR_AVX2},
                 {"avx", PROCESSOR_SSE41}};
    static const size_t n_words = sizeof words / sizeof *words;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *word = environment_word("ONEDNN_MAX_CPU_ISA");
    size_t i = 0;

    limits->onednn = PROCESSOR_AMX;
    if (!word)
        word = environment_word("DNNL_MAX_CPU_ISA"); /* its older name */
    if (!word || word[strspn(word, letters)] != '\0')
        return;
    while (i < n_words &&
           strncasecmp(word, words[i].begin, strlen(words[i].begin)) != 0)
        i++;
    if (i == n_words)
        return;
    limits->onednn = words[i].level;
    limits->onednn_word = word;
}

struct processor_limits processor_limits(void)
{
    struct processor_limits limits = {.hardware = find_hardware()};

    (void)find_assay_limit(&limits.assay_cpu);
    find_onednn_limit(&limits);
    return limits;
}

enum assay_status processor_check(struct error *err)
{
    enum processor_level level;

    if (find_assay_limit(&level))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s is '%.40s'; it can be %s, %s, %s or %s",
                     assay_variable, getenv(assay_variable),
                     assay_words[PROCESSOR_SSE41], assay_words[PROCESSOR_AVX2],
                     assay_words[PROCESSOR_AVX512], assay_words[PROCESSOR_AMX]);
}

static enum processor_level lower(enum processor_level a,
                                  enum processor_level b)
{
    return a < b ? a : b;
}

/* 1 + the level, 0: the environment has not been read yet. */
static atomic_int known_level;

enum processor_level processor_level(void)
{
    int known = atomic_load_explicit(&known_level, memory_order_relaxed);
    struct processor_limits limits;

    if (known)
        return (enum processor_level)(known - 1);
    limits = processor_limits();
    processor_limit(lower(limits.assay_cpu, limits.onednn));
    return processor_level();
}

void processor_limit(enum processor_level most)
{
    enum processor_level level = lower(most, find_hardware());

    atomic_store_explicit(&known_level, 1 + (int)level, memory_order_relaxed);
}

const char *processor_simd(void)
{
    static const char *const names[] = {[PROCESSOR_PLAIN] = NULL,
                                        [PROCESSOR_SSE41] = "SSE4.1",
                                        [PROCESSOR_AVX2] = "AVX2",
                                        [PROCESSOR_AVX512] = "AVX-512",
                                        [PROCESSOR_AMX] = "AVX-512, AMX"};

    return names[processor_level()];
}

void processor_evict(const void *data, size_t bytes)
{
#ifdef __x86_64__
    enum { cache_line = 64 };
    const char *at = data;

    for (size_t i = 0; i < bytes; i += cache_line)
        _mm_clflush(at + i);
    if (bytes > 0)
        _mm_clflush(at + bytes - 1);
    _mm_mfence();
#else
    (void)data;
    (void)bytes;
#endif
}

static int count_allowed(void)
{
    cpu_set_t allowed;
    long n;

    /* Fails if there are more than CPU_SETSIZE processors. */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
    n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int processor_count_below(const char *root)
{
    int n = count_allowed();
    double most = ceil(cgroup_processors(root));

    return most < n ? (int)fmax(most, 1) : n;
}

int processor_count(void)
{
    return processor_count_below("");
}

/* tests/backend/cuda_kernels_test.c - the embedded kernels compile for every
 * GPU that they are promised for, and the cache of compiled ones heals. No GPU
 * is needed, only NVRTC. */
#include "test.h"

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/cuda_libraries.h"
#include "backend/cuda/cuda_ops.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/ops.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cuda_source *source_by_name(const char *name)
{
    for (size_t i = 0; i < cuda_n_sources; i++) {
        if (strcmp(cuda_sources[i].name, name) == 0)
            return &cuda_sources[i];
    }
    return NULL;
}

static void need_nvrtc(void)
{
    if (!cuda_library_open(CUDA_NVRTC))
        SKIP("NVRTC is not installed");
}

/* NVRTC takes minutes for all kernels under a sanitizer, which does not see
 * into it; the other tests call it too. */
#if !TEST_IS_SANITIZED
static bool is_refused(const struct error *err)
{
    return strstr(err->text, "invalid value for --gpu-architecture") ||
           strstr(err->text, "sm_70") || strstr(err->text, "sm_72");
}

/* Compiles all sources, or those that ask which GPU they are for; how many. If
 * NVRTC does not know the GPU, that is 0. */
static size_t compile_for(const int capability[2], bool all)
{
    size_t n = 0;

    for (size_t i = 0; i < cuda_n_sources; i++) {
        struct error compile_err = {0};
        enum assay_status st;
        char *image;
        size_t bytes;

        if (!all && !strstr(cuda_sources[i].text, "__CUDA_ARCH__"))
            continue;
        st = cuda_compile(&cuda_sources[i], capability[0], capability[1],
                          &image, &bytes, &compile_err);
        /* NVRTC 13 makes no code for 7.0 any more. */
        if (st && capability[0] == 7 && capability[1] == 0 &&
            is_refused(&compile_err))
            return 0;
        CHECK_STATUS(st, ASSAY_OK, &compile_err);
        CHECK(bytes > 0);
        mem_free(image);
        n++;
    }
    return n;
}

/* What both the oldest and the newest GPU can do, those between can do too. */
TEST(every_kernel_compiles_for_7_0_to_9_0)
{
    static const int newest[2] = {9, 0};
    static const int older[][2] = {{7, 0}, {7, 5}, {8, 0}, {8, 6}, {8, 9}};
    bool has_oldest = false;

    need_nvrtc();
    CHECK_INT(compile_for(newest, true), cuda_n_sources);
    for (size_t k = 0; k < sizeof older / sizeof *older; k++)
        has_oldest |= compile_for(older[k], !has_oldest) == cuda_n_sources;
    CHECK(has_oldest);
}
#endif

TEST(a_mistake_in_a_kernel_is_reported_with_the_compilers_words)
{
    struct cuda_source wrong = {"wrong", "__global__ void f() { nonsense; }"};
    struct error err = {0};
    char *image;
    size_t bytes;

    need_nvrtc();
    CHECK(cuda_compile(&wrong, 9, 0, &image, &bytes, &err));
    CHECK_HAS(err.text, "kernels/wrong.cu");
    CHECK_HAS(err.text, "nonsense");
}

/* The only file in a folder. */
static const char *only_file(const char *folder)
{
    static char path[512];
    DIR *dir = opendir(folder);
    int n = 0;

    for (struct dirent *at; dir && (at = readdir(dir));) {
        if (at->d_name[0] == '.')
            continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", folder, at->d_name);
    }
    if (dir)
        closedir(dir);
    CHECK_INT(n, 1);
    return path;
}

static void compile_into(const char *folder, char **image, size_t *bytes)
{
    struct error err = {0};

    CHECK_STATUS(cuda_compile_cached(source_by_name("elementwise"), 9, 0,
                                     folder, image, bytes, &err),
                 ASSAY_OK, &err);
}

TEST(a_damaged_file_of_the_cache_is_made_again)
{
    const char *folder = test_path("kernels");
    char *first, *second;
    size_t first_bytes, second_bytes;
    struct stat before, after;
    FILE *file;

    need_nvrtc();
    compile_into(folder, &first, &first_bytes);
    CHECK_INT(stat(only_file(folder), &before), 0);
    file = fopen(only_file(folder), "r+");
    CHECK(file);
    CHECK_INT(fseek(file, (long)first_bytes / 2, SEEK_SET), 0);
    CHECK_INT(fputs("damage", file) < 0, 0);
    fclose(file);
    compile_into(folder, &second, &second_bytes);
    CHECK_INT(second_bytes, first_bytes);
    CHECK(memcmp(first, second, first_bytes) == 0);
    CHECK_INT(stat(only_file(folder), &after), 0);
    CHECK(after.st_ino != before.st_ino);
    mem_free(second);
    CHECK_INT(truncate(only_file(folder), 10), 0);
    compile_into(folder, &second, &second_bytes);
    CHECK(memcmp(first, second, first_bytes) == 0);
    mem_free(first);
    mem_free(second);
}

TEST(what_is_in_the_cache_is_not_compiled_again)
{
    const char *folder = test_path("again");
    char *first, *second;
    size_t first_bytes, second_bytes;
    struct stat before, after;

    need_nvrtc();
    compile_into(folder, &first, &first_bytes);
    CHECK_INT(stat(only_file(folder), &before), 0);
    compile_into(folder, &second, &second_bytes);
    CHECK_INT(stat(only_file(folder), &after), 0);
    CHECK(after.st_ino == before.st_ino);
    CHECK_INT(second_bytes, first_bytes);
    CHECK(memcmp(first, second, first_bytes) == 0);
    mem_free(first);
    mem_free(second);
}

TEST(a_cache_that_cannot_be_written_is_not_missed)
{
    char *image;
    size_t bytes;

    need_nvrtc();
    compile_into("/dev/null/no", &image, &bytes);
    CHECK(bytes > 0);
    mem_free(image);
}

static bool is_listed(const struct op_class *op)
{
    for (size_t i = 0; op_classes[i]; i++) {
        if (op_classes[i] == op)
            return true;
    }
    return false;
}

TEST(every_op_of_the_table_exists_and_has_one_line)
{
    CHECK(cuda_op_at(0));
    for (size_t i = 0; cuda_op_at(i); i++) {
        CHECK(is_listed(cuda_op_at(i)->op));
        CHECK(cuda_op_at(i)->run);
        CHECK(cuda_op_find(cuda_op_at(i)->op) == cuda_op_at(i));
    }
}

/* The file of kernels that each CUDA_LAUNCH() of a source names; how many.
 * Those of one stored type are named at run time. */
static size_t check_launches(const char *path)
{
    static const char launch[] = "CUDA_LAUNCH(";
    struct str text = {0};
    struct error err = {0};
    const char *at;
    size_t n = 0;

    CHECK_STATUS(file_read(path, (size_t)1 << 20, &text, &err), ASSAY_OK, &err);
    at = str_text(&text);
    while ((at = strstr(at, launch)) != NULL) {
        const char *quote = strchr(at, ',');
        char name[64];

        at += strlen(launch);
        quote = quote ? quote + 1 + strspn(quote + 1, " \n") : "";
        if (*quote != '"')
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(quote + 1, "\""),
                 quote + 1);
        if (!source_by_name(name))
            printf("%s launches from kernels/%s.cu\n", path, name);
        CHECK(source_by_name(name) != NULL);
        n++;
    }
    str_release(&text);
    return n;
}

TEST(every_launch_names_a_file_of_kernels)
{
    static const char folder[] = TEST_SOURCE_DIR "/src/backend/cuda";
    DIR *list = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    CHECK(list != NULL);
    while ((entry = readdir(list)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');
        char path[600];

        if (!end || strcmp(end, ".c") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%.200s", folder, entry->d_name);
        n += check_launches(path);
    }
    closedir(list);
    CHECK(n > 50);
}

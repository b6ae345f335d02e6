/* tests/backend/cuda_libraries_test.c - where CUDA's libraries are looked for,
 * on folders that are made up. */
#include "test.h"

#include "backend/cuda/cuda_devices.h"
#include "backend/cuda/cuda_libraries.h"
#include "backend/cuda/cuda_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The environment that is made up: pairs, NULL ends them. */
static const char *const *variables;

static const char *made_up(const char *name)
{
    for (const char *const *at = variables; at && *at; at += 2) {
        if (strcmp(at[0], name) == 0)
            return at[1];
    }
    return NULL;
}

/* An empty file below the root, with its folders. */
static void put_file(const char *root, const char *path)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    file = fopen(full, "w");
    CHECK(file);
    fclose(file);
    chmod(full, 0700);
}

static const char *find(const char *root, enum cuda_library which)
{
    static char found[512];
    struct cuda_places places = {.root = root, .variable = made_up};
    struct str path = {0};
    struct error err = {0};
    size_t n = strlen(root);

    CHECK_STATUS(cuda_find_file(&places, cuda_library_classes[which].sonames,
                                &path, &err),
                 ASSAY_OK, &err);
    snprintf(found, sizeof found, "%s",
             path.n ? str_text(&path) +
                          (strncmp(str_text(&path), root, n) == 0 ? n : 0)
                    : "");
    str_release(&path);
    return found;
}

TEST(nothing_is_found_where_nothing_is)
{
    const char *root = test_path("empty");

    variables = (const char *const[]){"CUDA_HOME", "/opt/none", "VIRTUAL_ENV",
                                      "/none",     "PATH",      "/bin:/usr/bin",
                                      NULL};
    mkdir(root, 0700);
    CHECK_STR(find(root, CUDA_NVRTC), "");
}

TEST(the_wheels_of_the_active_python_environment_have_them)
{
    const char *root = test_path("venv");

    put_file(root, "/home/me/env/lib/python3.11/site-packages/nvidia/cudnn/lib/"
                   "libcudnn.so.9");
    put_file(root, "/home/me/env/lib/python3.11/site-packages/nvidia/cu13/lib/"
                   "libnvrtc.so.13");
    variables = (const char *const[]){"VIRTUAL_ENV", "/home/me/env", NULL};
    CHECK_STR(find(root, CUDA_CUDNN),
              "/home/me/env/lib/python3.11/site-packages/nvidia/cudnn/lib/"
              "libcudnn.so.9");
    CHECK_STR(find(root, CUDA_NVRTC),
              "/home/me/env/lib/python3.11/site-packages/nvidia/cu13/lib/"
              "libnvrtc.so.13");
    variables = (const char *const[]){"ASSAY_PYTHON", "/home/me/env", NULL};
    CHECK_HAS(find(root, CUDA_CUDNN), "libcudnn.so.9");
    variables = NULL;
    CHECK_STR(find(root, CUDA_CUDNN), "");
}

TEST(the_python_in_path_names_its_environment)
{
    const char *root = test_path("path");

    put_file(root, "/opt/torch/.venv/bin/python3");
    put_file(root, "/opt/torch/.venv/lib/python3.12/site-packages/nvidia/"
                   "cuda_nvrtc/lib/libnvrtc.so.12");
    variables = (const char *const[]){
        "PATH", "/usr/games:/opt/torch/.venv/bin:/usr/bin", NULL};
    CHECK_HAS(find(root, CUDA_NVRTC), "/opt/torch/.venv/lib/python3.12/");
}

TEST(a_folder_that_is_named_comes_first_then_cuda_home_then_the_usual_places)
{
    const char *root = test_path("order");

    put_file(root, "/usr/local/cuda-12.4/lib64/libnvrtc.so.12");
    put_file(root, "/usr/local/cuda-13.0/lib64/libnvrtc.so.13");
    variables = NULL;
    CHECK_STR(find(root, CUDA_NVRTC),
              "/usr/local/cuda-13.0/lib64/libnvrtc.so.13");
    put_file(root, "/usr/local/cuda/lib64/libnvrtc.so.12");
    CHECK_STR(find(root, CUDA_NVRTC), "/usr/local/cuda/lib64/libnvrtc.so.12");
    put_file(root, "/opt/mine/lib64/libnvrtc.so.12");
    variables = (const char *const[]){"CUDA_HOME", "/opt/mine", NULL};
    CHECK_STR(find(root, CUDA_NVRTC), "/opt/mine/lib64/libnvrtc.so.12");
    put_file(root, "/srv/libs/libnvrtc.so.12");
    variables = (const char *const[]){"ASSAY_CUDA_PATH", "/none:/srv/libs",
                                      "CUDA_HOME", "/opt/mine", NULL};
    CHECK_STR(find(root, CUDA_NVRTC), "/srv/libs/libnvrtc.so.12");
}

TEST(the_newest_version_in_a_folder_is_taken)
{
    const char *root = test_path("versions");

    put_file(root, "/usr/local/cuda/lib64/libcublasLt.so.12");
    put_file(root, "/usr/local/cuda/lib64/libcublasLt.so.13");
    variables = NULL;
    CHECK_STR(find(root, CUDA_CUBLASLT),
              "/usr/local/cuda/lib64/libcublasLt.so.13");
}

TEST(what_is_missing_is_named_with_what_it_is_for_and_who_has_it)
{
    struct error err = {0};

    CHECK_STATUS(cuda_library_missing(CUDA_CUDNN, &err), ASSAY_UNSUPPORTED,
                 &err);
    CHECK_HAS(err.text, "cuDNN, for convolutions,");
    CHECK_HAS(err.text, "nvidia-cudnn");
}

TEST(without_a_gpu_the_message_says_why)
{
    const struct device *device;
    struct error err = {0};

    if (cuda_device_at(0))
        SKIP("there is a GPU");
    CHECK_STATUS(device_find("cuda:0", &device, &err), ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "cuda:0 cannot be used: ");
    err = (struct error){0};
    CHECK_STATUS(device_find("auto", &device, &err), ASSAY_OK, &err);
    CHECK_STR(device->name, "cpu");
}

TEST(what_slows_a_gpu_down_has_names)
{
    char text[96];

    cuda_nvml_throttling(0x1, text, sizeof text); /* it is idle */
    CHECK_STR(text, "");
    cuda_nvml_throttling(0x4 | 0x20, text, sizeof text);
    CHECK_STR(text, "power limit, heat");
}

/* backend/cuda/cuda_kernels.c - see cuda_internal.h: our own kernels, compiled
 * for the GPU at hand and kept in the cache.
 *
 * A file of the cache has a line with its digest before the image, so that a
 * damaged one is seen. Its name says what it was made from: source, options,
 * GPU and the compiler's version. */
#include "backend/cuda/cuda_internal.h"

#include "backend/cuda/cuda_libraries.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static const size_t most_image_bytes = (size_t)64 << 20;

/* ---- the compiler -------------------------------------------------------- */

static struct {
    struct nvrtc_api api;
    int major, minor;
    const char *missing;
    bool is_there;
    pthread_once_t once;
} nvrtc = {.once = PTHREAD_ONCE_INIT};

#define NVRTC_NAME(name, parameters) #name,
static const char *const nvrtc_names[] = {NVRTC_LIST(NVRTC_NAME)};
#undef NVRTC_NAME

static void nvrtc_open(void)
{
    void *library = cuda_library_open(CUDA_NVRTC);

    nvrtc.is_there = library &&
                     cuda_library_fill(library, nvrtc_names,
                                       sizeof nvrtc_names / sizeof *nvrtc_names,
                                       &nvrtc.api, &nvrtc.missing) &&
                     nvrtc.api.nvrtcVersion(&nvrtc.major, &nvrtc.minor) == 0;
}

static enum assay_status nvrtc_need(struct error *err)
{
    (void)pthread_once(&nvrtc.once, nvrtc_open);
    if (nvrtc.is_there)
        return ASSAY_OK;
    if (nvrtc.missing)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "NVRTC (%s) is too old: it has no %s; version 11.2 "
                         "or newer is needed",
                         cuda_libraries()->paths[CUDA_NVRTC], nvrtc.missing);
    return cuda_library_missing(CUDA_NVRTC, err);
}

/* The first line of the compiler's log that names an error. */
static enum assay_status compile_failure(const struct cuda_source *source,
                                         nvrtc_program program,
                                         struct error *err)
{
    size_t bytes = 0;
    char *log = NULL;
    const char *line = "";

    if (!nvrtc.api.nvrtcGetProgramLogSize(program, &bytes))
        log = mem_zalloc(bytes + 1);
    if (log && !nvrtc.api.nvrtcGetProgramLog(program, log))
        line = strstr(log, "error");
    if (!line)
        line = log;
    (void)error_set(err, ASSAY_UNSUPPORTED,
                    "compiling kernels/%s.cu with NVRTC %d.%d: %.*s",
                    source->name, nvrtc.major, nvrtc.minor,
                    (int)strcspn(line ? line : "", "\n"), line ? line : "");
    mem_free(log);
    return ASSAY_UNSUPPORTED;
}

static enum assay_status take_image(nvrtc_program program, char **image,
                                    size_t *bytes, struct error *err)
{
    if (nvrtc.api.nvrtcGetCUBINSize(program, bytes) || !*bytes)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "NVRTC %d.%d makes no code for this GPU", nvrtc.major,
                         nvrtc.minor);
    *image = mem_alloc(*bytes);
    if (!*image)
        return error_nomem(err, *bytes, "compiled kernels");
    if (nvrtc.api.nvrtcGetCUBIN(program, *image)) {
        mem_free(*image);
        *image = NULL;
        return error_set(err, ASSAY_UNSUPPORTED,
                         "NVRTC %d.%d gives no code for this GPU", nvrtc.major,
                         nvrtc.minor);
    }
    return ASSAY_OK;
}

enum assay_status cuda_compile(const struct cuda_source *source, int major,
                               int minor, char **image, size_t *bytes,
                               struct error *err)
{
    char architecture[32];
    const char *options[] = {architecture, "--std=c++17", "--fmad=true",
                             "-default-device"};
    enum assay_status st = nvrtc_need(err);
    nvrtc_program program;
    int result;

    *image = NULL;
    *bytes = 0;
    if (st)
        return st;
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d",
             major, minor);
    result = nvrtc.api.nvrtcCreateProgram(&program, source->text, source->name,
                                          0, NULL, NULL);
    if (result)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "NVRTC %d.%d does not start: failure %d", nvrtc.major,
                         nvrtc.minor, result);
    result = nvrtc.api.nvrtcCompileProgram(
        program, sizeof options / sizeof *options, options);
    st = result ? compile_failure(source, program, err)
                : take_image(program, image, bytes, err);
    (void)nvrtc.api.nvrtcDestroyProgram(&program);
    return st;
}

/* ---- the cache ----------------------------------------------------------- */

static void image_digest(const char *image, size_t bytes, char hex[SHA256_HEX])
{
    struct sha256 sha;

    sha256_init(&sha);
    sha256_update(&sha, image, bytes);
    sha256_finish(&sha, hex);
}

/* FOLDER/elementwise-sm_90-1a2b3c4d5e6f7a8b.cubin */
static enum assay_status image_path(const struct cuda_source *source, int major,
                                    int minor, const char *folder,
                                    struct str *path, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    char hex[SHA256_HEX], key[64];
    struct sha256 sha;

    snprintf(key, sizeof key, "1 sm_%d%d NVRTC %d.%d", major, minor,
             nvrtc.major, nvrtc.minor);
    sha256_init(&sha);
    sha256_update(&sha, key, strlen(key) + 1);
    sha256_update(&sha, source->text, strlen(source->text));
    sha256_finish(&sha, hex);
    if (folder)
        st = str_append(path, folder);
    else
        st = cache_path("cuda", path, err);
    if (!st)
        st = str_printf(path, "/%s-sm_%d%d-%.16s.cubin", source->name, major,
                        minor, hex);
    return st;
}

/* False where it is not there, or not as it was written. */
static bool image_read(const char *path, char **image, size_t *bytes)
{
    enum { head = SHA256_HEX }; /* the digest and a newline */
    struct str text = {0};
    char hex[SHA256_HEX];
    bool is_good;

    is_good = !file_read(path, most_image_bytes, &text, NULL) &&
              text.n > head && text.text[head - 1] == '\n';
    if (is_good) {
        image_digest(text.text + head, text.n - head, hex);
        is_good = memcmp(text.text, hex, head - 1) == 0;
    }
    if (is_good) {
        *bytes = text.n - head;
        *image = mem_alloc(*bytes);
        is_good = *image;
    }
    if (is_good)
        memcpy(*image, text.text + head, *bytes);
    str_release(&text);
    return is_good;
}

/* What cannot be written is compiled again next time. */
static void image_write(const char *path, const char *image, size_t bytes)
{
    struct error ignored = {0};
    struct output *output;
    char hex[SHA256_HEX];

    if (cache_make_folders(path, &ignored) ||
        output_open(path, &output, &ignored))
        return;
    image_digest(image, bytes, hex);
    sink_printf(output_sink(output), "%s\n", hex);
    sink_write(output_sink(output), image, bytes);
    (void)output_commit(output, &ignored);
}

enum assay_status cuda_compile_cached(const struct cuda_source *source,
                                      int major, int minor, const char *folder,
                                      char **image, size_t *bytes,
                                      struct error *err)
{
    struct str path = {0};
    enum assay_status st = nvrtc_need(err);
    bool has_path;

    *image = NULL;
    if (st)
        return st;
    has_path = !image_path(source, major, minor, folder, &path, NULL);
    if (!has_path || !image_read(str_text(&path), image, bytes)) {
        st = cuda_compile(source, major, minor, image, bytes, err);
        if (!st && has_path)
            image_write(str_text(&path), *image, *bytes);
    }
    str_release(&path);
    return st;
}

/* ---- functions ----------------------------------------------------------- */

struct loaded {
    char name[CUDA_NAME];
    cu_function function;
    struct loaded *next;
};

struct cuda_module {
    cu_module module;
    struct loaded *functions;
};

static enum assay_status load_module(struct cuda_device *device, size_t i,
                                     struct error *err)
{
    const struct cuda_source *source = &cuda_sources[i];
    char *image;
    size_t bytes;
    enum assay_status st = cuda_compile_cached(
        source, device->major, device->minor, NULL, &image, &bytes, err);

    if (!st)
        st = cuda_check(
            device,
            cuda_driver()->cuModuleLoadData(&device->modules[i].module, image),
            "loading kernels", err);
    mem_free(image);
    return st;
}

static enum assay_status load_function(struct cuda_device *device, size_t i,
                                       const char *name, cu_function *out,
                                       struct error *err)
{
    struct cuda_module *module = &device->modules[i];
    struct loaded *loaded = module->functions;
    enum assay_status st = ASSAY_OK;

    while (loaded && strcmp(loaded->name, name) != 0)
        loaded = loaded->next;
    if (loaded) {
        *out = loaded->function;
        return ASSAY_OK;
    }
    if (!module->module)
        st = load_module(device, i, err);
    if (st)
        return st;
    loaded = mem_zalloc(sizeof *loaded);
    if (!loaded)
        return error_nomem(err, sizeof *loaded, "a kernel");
    snprintf(loaded->name, sizeof loaded->name, "%s", name);
    st = cuda_check(device,
                    cuda_driver()->cuModuleGetFunction(&loaded->function,
                                                       module->module, name),
                    name, err);
    if (st) {
        mem_free(loaded);
        return st;
    }
    loaded->next = module->functions;
    module->functions = loaded;
    *out = loaded->function;
    return ASSAY_OK;
}

enum assay_status cuda_function(struct cuda_device *device, const char *source,
                                const char *name, cu_function *out,
                                struct error *err)
{
    enum assay_status st = ASSAY_OK;
    size_t i = 0;

    while (i < cuda_n_sources && strcmp(cuda_sources[i].name, source) != 0)
        i++;
    if (i == cuda_n_sources)
        return error_set(err, ASSAY_NOT_FOUND, "there is no kernels/%s.cu",
                         source);
    pthread_mutex_lock(&device->lock);
    if (!device->modules)
        device->modules = mem_array(cuda_n_sources, sizeof *device->modules);
    if (!device->modules)
        st = error_nomem(err, cuda_n_sources * sizeof *device->modules,
                         "kernels");
    if (!st)
        st = load_function(device, i, name, out, err);
    pthread_mutex_unlock(&device->lock);
    return st;
}

/* backend/cuda/cuda_libraries.c - see cuda_libraries.h. */
#include "backend/cuda/cuda_libraries.h"

#include "base/mem.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SONAMES(...)                                                           \
    (const char *const[])                                                      \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }

const struct cuda_library_class cuda_library_classes[N_CUDA_LIBRARIES] = {
    [CUDA_DRIVER] = {"driver", SONAMES("libcuda.so.1", "libcuda.so"),
                     "everything on a GPU", "NVIDIA's driver"},
    [CUDA_NVRTC] = {"NVRTC",
                    SONAMES("libnvrtc.so.13", "libnvrtc.so.12",
                            "libnvrtc.so.11.2", "libnvrtc.so"),
                    "our own kernels", "pip install nvidia-cuda-nvrtc"},
    [CUDA_CUBLASLT] = {"cuBLASLt",
                       SONAMES("libcublasLt.so.13", "libcublasLt.so.12",
                               "libcublasLt.so.11"),
                       "matrix products", "pip install nvidia-cublas"},
    [CUDA_CUDNN] = {"cuDNN", SONAMES("libcudnn.so.9", "libcudnn.so.8"),
                    "convolutions", "pip install nvidia-cudnn-cu13"},
    [CUDA_CUPTI] = {"CUPTI",
                    SONAMES("libcupti.so.13", "libcupti.so.12",
                            "libcupti.so.11.8", "libcupti.so"),
                    "the times of kernels", "pip install nvidia-cuda-cupti"},
    [CUDA_NVML] = {"NVML", SONAMES("libnvidia-ml.so.1"),
                   "clocks, power and other processes", "NVIDIA's driver"},
};

/* ---- folders ------------------------------------------------------------- */

/* A walk over the folders, until somebody is content or memory ends. */
struct folder_walk {
    const struct cuda_places *places;
    cuda_folder_visit *visit;
    void *context;
    bool is_over;
    enum assay_status status;
};

static void walk_visit(struct folder_walk *walk, const char *format,
                       const char *a, const char *b)
{
    struct str path = {0};

    if (walk->is_over || walk->status)
        return;
    walk->status = str_append(&path, walk->places->root);
    if (!walk->status)
        walk->status = str_printf(&path, format, a, b);
    if (!walk->status && access(str_text(&path), X_OK) == 0)
        walk->is_over = walk->visit(walk->context, str_text(&path));
    str_release(&path);
}

static int name_down(const void *a, const void *b)
{
    return -strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Calls `next` for the entries of a folder that begin with a text, the greatest
 * first: python3.12 before python3.11. */
static void walk_entries(struct folder_walk *walk, const char *folder,
                         const char *beginning,
                         void (*next)(struct folder_walk *walk,
                                      const char *folder, const char *entry))
{
    enum { most = 256 };
    struct str path = {0};
    char *names[most];
    size_t n = 0;
    DIR *dir = NULL;

    if (walk->is_over || walk->status)
        return;
    walk->status = str_printf(&path, "%s%s", walk->places->root, folder);
    if (!walk->status)
        dir = opendir(str_text(&path));
    for (struct dirent *at; dir && n < most && (at = readdir(dir));) {
        if (at->d_name[0] != '.' &&
            strncmp(at->d_name, beginning, strlen(beginning)) == 0)
            names[n++] = mem_strdup(at->d_name);
        if (n && !names[n - 1])
            n--;
    }
    if (dir)
        closedir(dir);
    qsort(names, n, sizeof *names, name_down);
    for (size_t i = 0; i < n; i++) {
        next(walk, folder, names[i]);
        mem_free(names[i]);
    }
    str_release(&path);
}

/* site-packages/nvidia/cudnn/lib */
static void walk_wheel(struct folder_walk *walk, const char *folder,
                       const char *entry)
{
    walk_visit(walk, "%s/%s/lib", folder, entry);
}

static void walk_python(struct folder_walk *walk, const char *folder,
                        const char *entry)
{
    static const char *const sites[] = {"site-packages", "dist-packages"};
    struct str path = {0};

    for (size_t i = 0; i < 2 && !walk->status; i++) {
        str_clear(&path);
        walk->status =
            str_printf(&path, "%s/%s/%s/nvidia", folder, entry, sites[i]);
        if (!walk->status)
            walk_entries(walk, str_text(&path), "", walk_wheel);
    }
    str_release(&path);
}

/* An environment's folder: /opt/torch/.venv. */
static void walk_environment(struct folder_walk *walk, const char *prefix)
{
    struct str path = {0};

    if (!prefix || !*prefix || walk->status)
        return;
    walk->status = str_printf(&path, "%s/lib", prefix);
    if (!walk->status)
        walk_entries(walk, str_text(&path), "python3", walk_python);
    str_release(&path);
}

/* The python3 that PATH finds is that of the environment it lies in. */
static void walk_path_python(struct folder_walk *walk, const char *path)
{
    for (const char *at = path; at && *at && !walk->status;) {
        size_t n = strcspn(at, ":");
        struct str file = {0};

        walk->status =
            str_printf(&file, "%s%.*s/python3", walk->places->root, (int)n, at);
        if (!walk->status && n > 4 && strncmp(at + n - 4, "/bin", 4) == 0 &&
            access(str_text(&file), X_OK) == 0) {
            str_clear(&file);
            walk->status = str_append_n(&file, at, n - 4);
            walk_environment(walk, str_text(&file));
            at = NULL;
        } else {
            at += n + (at[n] == ':');
        }
        str_release(&file);
    }
}

static void walk_home(struct folder_walk *walk, const char *home)
{
    static const char *const below[] = {"lib64", "lib", "extras/CUPTI/lib64",
                                        "targets/x86_64-linux/lib"};

    if (!home || !*home)
        return;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        walk_visit(walk, "%s/%s", home, below[i]);
}

static void walk_versioned_home(struct folder_walk *walk, const char *folder,
                                const char *entry)
{
    struct str path = {0};

    walk->status = str_printf(&path, "%s/%s", folder, entry);
    if (!walk->status)
        walk_home(walk, str_text(&path));
    str_release(&path);
}

/* A list of folders, as PATH is. */
static void walk_list(struct folder_walk *walk, const char *list)
{
    for (const char *at = list; at && *at && !walk->status;) {
        size_t n = strcspn(at, ":");
        struct str folder = {0};

        walk->status = str_append_n(&folder, at, n);
        if (n)
            walk_visit(walk, "%s%s", str_text(&folder), "");
        at += n + (at[n] == ':');
        str_release(&folder);
    }
}

enum assay_status cuda_folders(const struct cuda_places *places,
                               cuda_folder_visit *visit, void *context,
                               struct error *err)
{
    struct folder_walk walk = {places, visit, context, false, ASSAY_OK};
    const char *home = places->variable("HOME");
    struct str local = {0};

    walk_list(&walk, places->variable("ASSAY_CUDA_PATH"));
    if (places->has_loader && !walk.is_over && !walk.status)
        walk.is_over = visit(context, "");
    walk_home(&walk, places->variable("CUDA_HOME"));
    walk_home(&walk, places->variable("CUDA_PATH"));
    walk_environment(&walk, places->variable("ASSAY_PYTHON"));
    walk_environment(&walk, places->variable("VIRTUAL_ENV"));
    walk_environment(&walk, places->variable("CONDA_PREFIX"));
    walk_path_python(&walk, places->variable("PATH"));
    walk_home(&walk, "/usr/local/cuda");
    walk_entries(&walk, "/usr/local", "cuda-", walk_versioned_home);
    walk_home(&walk, "/opt/cuda");
    walk_visit(&walk, "%s%s", "/usr/lib/x86_64-linux-gnu", "");
    walk_visit(&walk, "%s%s", "/usr/lib/wsl/lib", "");
    walk_environment(&walk, "/usr/local");
    if (home && !walk.status)
        walk.status = str_printf(&local, "%s/.local", home);
    walk_environment(&walk, str_text(&local));
    str_release(&local);
    return walk.status ? error_nomem(err, 256, "the places of libraries")
                       : ASSAY_OK;
}

/* ---- files --------------------------------------------------------------- */

struct file_search {
    const char *const *names;
    struct str *path;
    bool (*is_good)(void *context, const char *path);
    void *context;
    enum assay_status status;
};

static bool search_folder(void *context, const char *folder)
{
    struct file_search *search = context;
    bool is_found = false;

    for (size_t i = 0; !is_found && search->names[i] && !search->status; i++) {
        str_clear(search->path);
        search->status = str_printf(search->path, "%s%s%s", folder,
                                    *folder ? "/" : "", search->names[i]);
        is_found = !search->status &&
                   (!*folder || access(str_text(search->path), R_OK) == 0) &&
                   (!search->is_good ||
                    search->is_good(search->context, str_text(search->path)));
    }
    return is_found || search->status;
}

static enum assay_status find_good_file(const struct cuda_places *places,
                                        struct file_search *search,
                                        bool *is_found, struct error *err)
{
    enum assay_status st = cuda_folders(places, search_folder, search, err);

    *is_found = false;
    if (!st && search->status)
        st = error_nomem(err, 256, "the path of a library");
    if (!st && search->path->n)
        *is_found = (*search->path->text != '/' ||
                     access(str_text(search->path), R_OK) == 0);
    return st;
}

enum assay_status cuda_find_file(const struct cuda_places *places,
                                 const char *const *names, struct str *path,
                                 struct error *err)
{
    struct cuda_places quiet = *places;
    struct file_search search = {.names = names, .path = path};
    enum assay_status st;
    bool is_found;

    quiet.has_loader = false; /* it does not say where it would find it */
    st = find_good_file(&quiet, &search, &is_found, err);
    if (!is_found)
        str_clear(path);
    return st;
}

/* ---- opening ------------------------------------------------------------- */

static const char *real_variable(const char *name)
{
    return getenv(name);
}

static const struct cuda_places real_places = {
    .root = "", .variable = real_variable, .has_loader = true};

struct opening {
    void *handle;
    char problem[256]; /* why the last one that is there did not open */
};

static bool try_open(void *context, const char *path)
{
    struct opening *opening = context;
    const char *why;

    (void)dlerror();
    /* Others that they open in turn find them by name: cuDNN opens NVRTC. */
    opening->handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    why = opening->handle ? NULL : dlerror();
    if (why && *path == '/')
        snprintf(opening->problem, sizeof opening->problem, "%s", why);
    return opening->handle;
}

/* Where the loader found it. */
static void name_path(void *handle, const char *symbol, const char *path,
                      char *out, size_t size)
{
    void *address = symbol ? dlsym(handle, symbol) : NULL;
    Dl_info info;

    if (*path != '/' && address && dladdr(address, &info) && info.dli_fname)
        path = info.dli_fname;
    snprintf(out, size, "%s", path);
}

static const char *const some_symbol[N_CUDA_LIBRARIES] = {
    [CUDA_DRIVER] = "cuInit",
    [CUDA_NVRTC] = "nvrtcVersion",
    [CUDA_CUBLASLT] = "cublasLtGetVersion",
    [CUDA_CUDNN] = "cudnnGetVersion",
    [CUDA_CUPTI] = "cuptiGetVersion",
    [CUDA_NVML] = "nvmlInit_v2",
};

static struct cuda_libraries libraries;
static bool is_tried[N_CUDA_LIBRARIES];
static pthread_mutex_t libraries_lock = PTHREAD_MUTEX_INITIALIZER;

static void open_library(enum cuda_library which)
{
    struct opening opening = {0};
    struct str path = {0};
    struct error ignored = {0};
    struct file_search search = {
        .names = cuda_library_classes[which].sonames,
        .path = &path,
        .is_good = try_open,
        .context = &opening,
    };
    bool is_found;

    (void)find_good_file(&real_places, &search, &is_found, &ignored);
    libraries.handles[which] = opening.handle;
    if (opening.handle)
        name_path(opening.handle, some_symbol[which], str_text(&path),
                  libraries.paths[which], sizeof libraries.paths[which]);
    else
        snprintf(libraries.problems[which], sizeof libraries.problems[which],
                 "%s", opening.problem);
    str_release(&path);
}

void *cuda_library_open(enum cuda_library which)
{
    void *handle;

    pthread_mutex_lock(&libraries_lock);
    if (!is_tried[which])
        open_library(which);
    is_tried[which] = true;
    handle = libraries.handles[which];
    pthread_mutex_unlock(&libraries_lock);
    return handle;
}

struct cuda_libraries *cuda_libraries(void)
{
    (void)cuda_library_open(CUDA_DRIVER);
    return &libraries;
}

enum assay_status cuda_library_missing(enum cuda_library which,
                                       struct error *err)
{
    const struct cuda_library_class *class = &cuda_library_classes[which];

    if (libraries.problems[which][0])
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s, for %s, does not open: %.160s", class->name,
                         class->what_for, libraries.problems[which]);
    if (strncmp(class->package, "pip", 3) != 0)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "there is no %s on this machine: install %s",
                         class->sonames[0], class->package);
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s, for %s, was not found; get it with '%s' in the "
                     "active Python environment, or name its folder in "
                     "ASSAY_CUDA_PATH",
                     class->name, class->what_for, class->package);
}

bool cuda_library_fill(void *handle, const char *const *names, size_t n,
                       void *table, const char **missing)
{
    for (size_t i = 0; i < n; i++) {
        void *function = handle ? dlsym(handle, names[i]) : NULL;

        *missing = names[i];
        if (!function)
            return false;
        memcpy((char *)table + i * sizeof function, &function, sizeof function);
    }
    *missing = NULL;
    return true;
}

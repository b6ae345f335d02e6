/* backend/cuda/cuda_libraries.h - finds and opens the libraries of CUDA.
 *
 * Each is looked for, in this order: in the folders that ASSAY_CUDA_PATH names
 * (a list as PATH is), in the loader's path, under CUDA_HOME or CUDA_PATH, in
 * the Python environment that is active (VIRTUAL_ENV, CONDA_PREFIX, the one
 * that ASSAY_PYTHON names, that of the python3 in PATH), where whoever has
 * PyTorch has them, and in the usual places of an installation. The first that
 * opens is taken, and stays open as long as the process. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_LIBRARIES_H
#define BACKEND_CUDA_CUDA_LIBRARIES_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

enum cuda_library {
    CUDA_DRIVER,
    CUDA_NVRTC,
    CUDA_CUBLASLT,
    CUDA_CUDNN,
    CUDA_CUPTI,
    CUDA_NVML,
    N_CUDA_LIBRARIES
};

/* What a library is, for those who look for it and for messages. */
struct cuda_library_class {
    const char *name;           /* "cuDNN" */
    const char *const *sonames; /* the newest first; NULL ends them */
    const char *what_for;       /* "convolutions" */
    const char *package;        /* who has it: "pip install ..." */
};

extern const struct cuda_library_class cuda_library_classes[N_CUDA_LIBRARIES];

/* Where to look: a process's environment, or one that a test makes up. */
struct cuda_places {
    const char *root;                          /* "": the real one; before all
                                                  folders of an installation */
    const char *(*variable)(const char *name); /* as getenv() */
    bool has_loader;                           /* ask the loader by soname */
};

/* Visits every folder that is there, in order; "" is the loader's path. True
 * ends it. */
typedef bool cuda_folder_visit(void *context, const char *folder);
enum assay_status cuda_folders(const struct cuda_places *places,
                               cuda_folder_visit *visit, void *context,
                               struct error *err);

/* The first file by one of the names in the folders, newest first in each. The
 * path is empty if there is none. Nothing is opened. */
enum assay_status cuda_find_file(const struct cuda_places *places,
                                 const char *const *names, struct str *path,
                                 struct error *err);

struct cuda_libraries {
    void *handles[N_CUDA_LIBRARIES];      /* NULL: not found */
    char paths[N_CUDA_LIBRARIES][256];    /* where it is */
    char problems[N_CUDA_LIBRARIES][256]; /* why it cannot be used; "": it can,
                                             or there is none */
};

/* Those of this process, opened by the first call: the driver alone, and with
 * cuda_library_open() the others when they are needed. */
struct cuda_libraries *cuda_libraries(void);
/* NULL where it is not there; then cuda_library_missing() says so. */
void *cuda_library_open(enum cuda_library which);
/* "cuDNN was not found: needed for convolutions; pip install ..." */
enum assay_status cuda_library_missing(enum cuda_library which,
                                       struct error *err);

/* Fills a table of functions, in the order of the names. False, with the name
 * of the first that is not there. */
bool cuda_library_fill(void *handle, const char *const *names, size_t n,
                       void *table, const char **missing);

#endif

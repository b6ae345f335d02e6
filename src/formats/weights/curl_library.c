/* formats/weights/curl_library.c - see curl_library_internal.h. */
#include "formats/weights/curl_library_internal.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static bool curl_library_find(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);

    /* C has no conversion between the two kinds of pointers; POSIX has. */
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

enum assay_status curl_library_load(struct curl_library *library,
                                    struct error *err)
{
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "libcurl.so.4, which fetches files, cannot be "
                         "loaded; is the library installed?");
    if (!curl_library_find(handle, "curl_global_init", &library->global_init) ||
        !curl_library_find(handle, "curl_easy_init", &library->easy_init) ||
        !curl_library_find(handle, "curl_easy_setopt", &library->easy_setopt) ||
        !curl_library_find(handle, "curl_easy_perform",
                           &library->easy_perform) ||
        !curl_library_find(handle, "curl_easy_getinfo",
                           &library->easy_getinfo) ||
        !curl_library_find(handle, "curl_easy_strerror",
                           &library->easy_strerror) ||
        !curl_library_find(handle, "curl_easy_cleanup",
                           &library->easy_cleanup) ||
        library->global_init(CURL_GLOBAL_DEFAULT))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "libcurl.so.4 is not one that can be used");
    return ASSAY_OK;
}

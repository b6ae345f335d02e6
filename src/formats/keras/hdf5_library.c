/* formats/keras/hdf5_library.c - see hdf5_library_internal.h. */
#include "formats/keras/hdf5_library_internal.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static bool hdf5_library_find(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);

    /* C has no conversion between the two kinds of pointers; POSIX has. */
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* A constant of the library, which it sets when it is opened. */
static bool read_id(void *handle, const char *name, hid_t *id)
{
    const hid_t *symbol = dlsym(handle, name);

    if (symbol)
        *id = *symbol;
    return symbol;
}

/* The name as the library has it, where the header's stands for another. */
#define HDF5_TEXT(name) #name

static bool find_all(void *handle, struct hdf5_library *library)
{
    bool is_found = true;

#define HDF5_FIND(name)                                                        \
    is_found &= hdf5_library_find(handle, HDF5_TEXT(name), &library->name);
    HDF5_FUNCTIONS(HDF5_FIND)
#undef HDF5_FIND
    return is_found;
}

/* The header's types are those of one series of versions. */
static bool is_fitting(const struct hdf5_library *library)
{
    unsigned major, minor, release;

    return library->H5get_libversion(&major, &minor, &release) >= 0 &&
           major == H5_VERS_MAJOR && minor == H5_VERS_MINOR;
}

enum assay_status hdf5_library_load(struct hdf5_library *library,
                                    struct error *err)
{
    void *handle = dlopen(ASSAY_HDF5_SONAME, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s, which reads Keras' weights, cannot be loaded; "
                         "install HDF5 %d.%d, with which assay was built",
                         ASSAY_HDF5_SONAME, H5_VERS_MAJOR, H5_VERS_MINOR);
    if (!find_all(handle, library) || !is_fitting(library) ||
        library->H5open() < 0 ||
        !read_id(handle, "H5P_CLS_FILE_ACCESS_ID_g", &library->file_access) ||
        !read_id(handle, "H5T_NATIVE_FLOAT_g", &library->native_float))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the HDF5 library is not one that can be used");
    return ASSAY_OK;
}

/* formats/keras/hdf5_library_internal.h - libhdf5, loaded when a file of it is
 * to be read.
 *
 * Debian's brings libcurl and some thirty other libraries along, as
 * curl_library_internal.h says; few starts need it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_HDF5_LIBRARY_INTERNAL_H
#define FORMATS_KERAS_HDF5_LIBRARY_INTERNAL_H

#include "base/error.h"

/* The interface of HDF5 1.10. Later versions keep it under other names
 * (H5Ovisit1, H5O_info1_t) and define those of 1.10 as macros for them. */
#define H5_USE_110_API
#include <hdf5.h>

#define HDF5_FUNCTIONS(X)                                                      \
    X(H5Aclose)                                                                \
    X(H5Aexists)                                                               \
    X(H5Aget_space)                                                            \
    X(H5Aget_type)                                                             \
    X(H5Aopen)                                                                 \
    X(H5Aread)                                                                 \
    X(H5Dclose)                                                                \
    X(H5Dget_create_plist)                                                     \
    X(H5Dget_space)                                                            \
    X(H5Dget_type)                                                             \
    X(H5Dopen2)                                                                \
    X(H5Dread)                                                                 \
    X(H5Eget_auto2)                                                            \
    X(H5Eset_auto2)                                                            \
    X(H5Fclose)                                                                \
    X(H5Fget_filesize)                                                         \
    X(H5Fopen)                                                                 \
    X(H5Ovisit)                                                                \
    X(H5Pclose)                                                                \
    X(H5Pcreate)                                                               \
    X(H5Pget_external_count)                                                   \
    X(H5Pget_layout)                                                           \
    X(H5Pset_fapl_core)                                                        \
    X(H5Pset_file_image)                                                       \
    X(H5Sclose)                                                                \
    X(H5Sget_simple_extent_dims)                                               \
    X(H5Sget_simple_extent_ndims)                                              \
    X(H5Sget_simple_extent_npoints)                                            \
    X(H5Tclose)                                                                \
    X(H5Tget_class)                                                            \
    X(H5Tget_size)                                                             \
    X(H5Tis_variable_str)                                                      \
    X(H5free_memory)                                                           \
    X(H5get_libversion)                                                        \
    X(H5open)

struct hdf5_library {
#define HDF5_MEMBER(name) __typeof__(name) *name;
    HDF5_FUNCTIONS(HDF5_MEMBER)
#undef HDF5_MEMBER
    hid_t file_access;  /* the class of lists that H5Fopen() takes */
    hid_t native_float; /* the type of C's float */
};

/* H5F_ACC_RDONLY, which calls the library where the header defines it. */
enum { HDF5_READ_ONLY = 0 };

/* It stays loaded. */
enum assay_status hdf5_library_load(struct hdf5_library *library,
                                    struct error *err);

#endif

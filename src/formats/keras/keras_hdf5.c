/* formats/keras/keras_hdf5.c - see keras_hdf5_internal.h. */
#include "formats/keras/keras_hdf5_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Use the interface of HDF5 1.10. Later versions keep it under other names
 * (H5Ovisit1, H5O_info1_t) and define the names of 1.10 as macros. */
#define H5_USE_110_API
#include <hdf5.h>

/* ---- the library -------------------------------------------------------- */

/* Loaded when it is first needed: Debian's libhdf5 depends on libcurl and some
 * thirty other libraries, which take long to load. */
/* clang-format off */
#define HDF5_FUNCTIONS(X)                                                      \
    X(H5Aclose) X(H5Aexists) X(H5Aget_space) X(H5Aget_type) X(H5Aopen)         \
    X(H5Aread) X(H5Dclose) X(H5Dget_create_plist) X(H5Dget_space)              \
    X(H5Dget_type) X(H5Dopen2) X(H5Dread) X(H5Eset_auto2) X(H5Fget_filesize)   \
    X(H5Fopen) X(H5Ovisit) X(H5Pclose) X(H5Pcreate) X(H5Pget_external_count)   \
    X(H5Pget_layout) X(H5Pset_fapl_core) X(H5Pset_file_image) X(H5Sclose)      \
    X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_ndims)                 \
    X(H5Sget_simple_extent_npoints) X(H5Tclose) X(H5Tget_class)                \
    X(H5Tget_size) X(H5Tis_variable_str) X(H5free_memory) X(H5get_libversion)  \
    X(H5open)
/* clang-format on */

struct hdf5_library {
#define HDF5_MEMBER(name) __typeof__(name) *name;
    HDF5_FUNCTIONS(HDF5_MEMBER)
#undef HDF5_MEMBER
    hid_t file_access;  /* the property list class of H5Fopen() */
    hid_t native_float; /* the type of C's float */
};

/* H5F_ACC_RDONLY, which the header defines with a call of the library. */
enum { HDF5_READ_ONLY = 0 };

static bool hdf5_library_find(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);

    /* C cannot convert an object pointer to a function pointer; POSIX can. */
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Reads a constant that the library sets when it is opened. */
static bool hdf5_library_read_id(void *handle, const char *name, hid_t *id)
{
    const hid_t *symbol = dlsym(handle, name);

    if (symbol)
        *id = *symbol;
    return symbol;
}

/* Expands the header's macros first: the name as the library has it. */
#define HDF5_TEXT(name) #name

static bool hdf5_library_find_all(void *handle, struct hdf5_library *library)
{
    bool is_found = true;

#define HDF5_FIND(name)                                                        \
    is_found &= hdf5_library_find(handle, HDF5_TEXT(name), &library->name);
    HDF5_FUNCTIONS(HDF5_FIND)
#undef HDF5_FIND
    return is_found;
}

/* The header's types are those of one minor version. */
static bool hdf5_library_fits(const struct hdf5_library *library)
{
    unsigned major, minor, release;

    return library->H5get_libversion(&major, &minor, &release) >= 0 &&
           major == H5_VERS_MAJOR && minor == H5_VERS_MINOR;
}

/* Loads the library, for good. */
static enum assay_status hdf5_library_load(struct hdf5_library *library,
                                           struct error *err)
{
    void *handle = dlopen(ASSAY_HDF5_SONAME, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "cannot load %s, which reads Keras weights; install "
                         "HDF5 %d.%d, the version Assay was built with",
                         ASSAY_HDF5_SONAME, H5_VERS_MAJOR, H5_VERS_MINOR);
    if (!hdf5_library_find_all(handle, library) ||
        !hdf5_library_fits(library) || library->H5open() < 0 ||
        !hdf5_library_read_id(handle, "H5P_CLS_FILE_ACCESS_ID_g",
                              &library->file_access) ||
        !hdf5_library_read_id(handle, "H5T_NATIVE_FLOAT_g",
                              &library->native_float))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the HDF5 library is not version %d.%d, which Assay "
                         "was built with",
                         H5_VERS_MAJOR, H5_VERS_MINOR);
    return ASSAY_OK;
}

/* ---- files -------------------------------------------------------------- */

/* How many times larger than its file a dataset may be: compressed weights
 * shrink a little, pruned ones to a tenth. Elements that were never written
 * take no space and read as zeros, so a file could declare any size. */
static const size_t max_growth = 64;

struct keras_hdf5 {
    struct hdf5_library lib;
    hid_t file;
    size_t bytes;
    char **paths;
    size_t n, capacity;
    bool is_out_of_memory; /* while listing paths */
};

/* ---- the list of datasets ----------------------------------------------- */

static herr_t keras_hdf5_note_object(hid_t root, const char *path,
                                     const H5O_info_t *info, void *context)
{
    struct keras_hdf5 *file = context;
    char **moved;

    (void)root;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    moved = vec_reserve(file->paths, &file->capacity, file->n + 1,
                        sizeof *file->paths);
    if (moved) {
        file->paths = moved;
        file->paths[file->n] = mem_strdup(path);
    }
    file->is_out_of_memory = !moved || !file->paths[file->n];
    file->n += !file->is_out_of_memory;
    return file->is_out_of_memory ? -1 : 0;
}

static enum assay_status keras_hdf5_list(struct keras_hdf5 *file,
                                         struct error *err)
{
    hsize_t bytes;

    if (file->file < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "HDF5 cannot open it: it is damaged, truncated or "
                         "not an HDF5 file");
    if (file->lib.H5Fget_filesize(file->file, &bytes) < 0 ||
        file->lib.H5Ovisit(file->file, H5_INDEX_NAME, H5_ITER_INC,
                           keras_hdf5_note_object, file) < 0)
        return file->is_out_of_memory
                   ? error_nomem(err, file->n * sizeof *file->paths,
                                 "the names of datasets")
                   : error_set(err, ASSAY_BAD_INPUT,
                               "the list of its datasets cannot be read");
    file->bytes = (size_t)bytes;
    return ASSAY_OK;
}

/* ---- opening ------------------------------------------------------------ */

static hid_t keras_hdf5_open_image(const struct hdf5_library *lib,
                                   const void *image, size_t bytes)
{
    static const size_t step = 1 << 16;
    hid_t access = lib->H5Pcreate(lib->file_access), file = -1;

    /* HDF5 copies the image and does not write to it. */
    if (access >= 0 && bytes && lib->H5Pset_fapl_core(access, step, 0) >= 0 &&
        lib->H5Pset_file_image(access, (void *)image, bytes) >= 0)
        file = lib->H5Fopen("model.weights.h5", HDF5_READ_ONLY, access);
    if (access >= 0)
        lib->H5Pclose(access);
    return file;
}

enum assay_status keras_hdf5_open(const struct keras_hdf5_source *source,
                                  struct keras_hdf5 **out, struct error *err)
{
    struct keras_hdf5 *file = mem_zalloc(sizeof *file);
    enum assay_status st;

    *out = file;
    if (!file)
        return error_nomem(err, sizeof *file, "an HDF5 file");
    st = hdf5_library_load(&file->lib, err);
    if (st)
        return st;
    file->lib.H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* nothing to stderr */
    file->file =
        source->path
            ? file->lib.H5Fopen(source->path, HDF5_READ_ONLY, H5P_DEFAULT)
            : keras_hdf5_open_image(&file->lib, source->image, source->bytes);
    return keras_hdf5_list(file, err);
}

/* ---- attributes --------------------------------------------------------- */

static bool is_single(const struct keras_hdf5 *file, hid_t attribute)
{
    hid_t space = file->lib.H5Aget_space(attribute);
    bool is_single =
        space >= 0 && file->lib.H5Sget_simple_extent_npoints(space) == 1;

    if (space >= 0)
        file->lib.H5Sclose(space);
    return is_single;
}

/* Strings have a fixed length or are stored elsewhere in the file. */
static enum assay_status keras_hdf5_read_text(const struct keras_hdf5 *file,
                                              hid_t attribute, hid_t type,
                                              struct str *text,
                                              struct error *err)
{
    size_t n = file->lib.H5Tget_size(type);
    bool is_elsewhere = file->lib.H5Tis_variable_str(type) > 0;
    char *bytes = NULL, *from = NULL;
    enum assay_status st = ASSAY_OK;

    if (file->lib.H5Tget_class(type) != H5T_STRING ||
        n > KERAS_HDF5_MAX_ATTRIBUTE || !is_single(file, attribute))
        return error_set(err, ASSAY_BAD_INPUT, "it is not a string");
    if (!is_elsewhere) {
        from = bytes = mem_zalloc(n + 1);
        if (!bytes)
            return error_nomem(err, n, "an attribute");
    }
    if (file->lib.H5Aread(attribute, type,
                          is_elsewhere ? (void *)&from : bytes) < 0 ||
        !from)
        st = error_set(err, ASSAY_BAD_INPUT, "it cannot be read");
    else if (str_append(text, from))
        st = error_nomem(err, n, "an attribute");
    if (is_elsewhere && from)
        file->lib.H5free_memory(from);
    mem_free(bytes);
    return st;
}

enum assay_status keras_hdf5_attribute(const struct keras_hdf5 *file,
                                       const char *name, struct str *text,
                                       bool *is_there, struct error *err)
{
    hid_t attribute = -1, type = -1;
    enum assay_status st;

    *is_there = file->lib.H5Aexists(file->file, name) > 0;
    if (!*is_there)
        return ASSAY_OK;
    attribute = file->lib.H5Aopen(file->file, name, H5P_DEFAULT);
    type = attribute < 0 ? -1 : file->lib.H5Aget_type(attribute);
    st = type < 0 ? error_set(err, ASSAY_BAD_INPUT, "it cannot be read")
                  : keras_hdf5_read_text(file, attribute, type, text, err);
    if (st)
        error_context(err, "attribute %s", name);
    if (type >= 0)
        file->lib.H5Tclose(type);
    if (attribute >= 0)
        file->lib.H5Aclose(attribute);
    return st;
}

/* ---- datasets ----------------------------------------------------------- */

const char *keras_hdf5_dataset(const struct keras_hdf5 *file, size_t i)
{
    return i < file->n ? file->paths[i] : NULL;
}

/* Data in other files is refused: a model could reveal files that it has no
 * business with. */
static bool keras_hdf5_is_inside(const struct keras_hdf5 *file, hid_t dataset)
{
    hid_t made = file->lib.H5Dget_create_plist(dataset);
    bool is_inside = made >= 0 && file->lib.H5Pget_external_count(made) == 0 &&
                     file->lib.H5Pget_layout(made) != H5D_VIRTUAL;

    if (made >= 0)
        file->lib.H5Pclose(made);
    return is_inside;
}

static bool keras_hdf5_is_number(const struct keras_hdf5 *file, hid_t dataset)
{
    hid_t type = file->lib.H5Dget_type(dataset);
    H5T_class_t kind = type < 0 ? H5T_NO_CLASS : file->lib.H5Tget_class(type);

    if (type >= 0)
        file->lib.H5Tclose(type);
    return kind == H5T_FLOAT || kind == H5T_INTEGER;
}

static enum assay_status keras_hdf5_read_shape(const struct keras_hdf5 *file,
                                               hid_t dataset,
                                               struct shape *shape,
                                               struct error *err)
{
    hid_t space = file->lib.H5Dget_space(dataset);
    int rank = space < 0 ? -1 : file->lib.H5Sget_simple_extent_ndims(space);
    hsize_t dims[H5S_MAX_RANK];
    enum assay_status st = ASSAY_OK;
    size_t n;

    *shape = (struct shape){.rank = rank};
    if (rank < 0 || rank > SHAPE_MAX_RANK ||
        file->lib.H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        st = error_set(err, ASSAY_BAD_INPUT, "it has no shape");
    for (int i = 0; !st && i < rank; i++)
        shape->dims[i] = dims[i] > INT64_MAX ? -1 : (int64_t)dims[i];
    if (!st && (!shape_elements(shape, &n) ||
                n / max_growth > file->bytes / sizeof(float)))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "it claims more elements than its file can hold");
    if (space >= 0)
        file->lib.H5Sclose(space);
    return st;
}

static enum assay_status keras_hdf5_read_dataset(const struct keras_hdf5 *file,
                                                 hid_t dataset,
                                                 struct pool *pool,
                                                 struct tensor *out,
                                                 struct error *err)
{
    struct shape shape;
    enum assay_status st;

    if (!keras_hdf5_is_inside(file, dataset))
        return error_set(err, ASSAY_UNSUPPORTED, "its data is in another file");
    if (!keras_hdf5_is_number(file, dataset))
        return error_set(err, ASSAY_BAD_INPUT, "it does not hold numbers");
    st = keras_hdf5_read_shape(file, dataset, &shape, err);
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &shape, out, err);
    if (!st && file->lib.H5Dread(dataset, file->lib.native_float, H5S_ALL,
                                 H5S_ALL, H5P_DEFAULT, tensor_data(out)) < 0) {
        tensor_release(out);
        st = error_set(err, ASSAY_BAD_INPUT, "its data cannot be read");
    }
    return st;
}

enum assay_status keras_hdf5_read(const struct keras_hdf5 *file,
                                  const char *path, struct pool *pool,
                                  struct tensor *out, struct error *err)
{
    hid_t dataset = file->lib.H5Dopen2(file->file, path, H5P_DEFAULT);
    enum assay_status st;

    *out = (struct tensor){0};
    st = dataset < 0 ? error_set(err, ASSAY_BAD_INPUT, "it cannot be opened")
                     : keras_hdf5_read_dataset(file, dataset, pool, out, err);
    if (st)
        error_context(err, "dataset %.100s", path);
    if (dataset >= 0)
        file->lib.H5Dclose(dataset);
    return st;
}

/* formats/keras/keras_hdf5.c - see keras_hdf5_internal.h. */
#include "formats/keras/keras_hdf5_internal.h"

#include "base/mem.h"
#include "base/vec.h"
#include "formats/keras/hdf5_library_internal.h"

#include <string.h>

/* How much more a dataset may hold than its file has bytes: weights that were
 * compressed shrink a little, pruned ones to a tenth. Those that were never
 * written take none and read as zeros, of which anyone can ask for any
 * amount. */
static const size_t max_growth = 64;

struct keras_hdf5 {
    struct hdf5_library lib;
    hid_t file;
    size_t bytes;
    char **paths;
    size_t n, capacity;
    bool is_out_of_memory; /* was, for them */
    /* How HDF5 reported its failures before: not to stderr meanwhile. */
    H5E_auto2_t report;
    void *report_context;
};

static enum assay_status new_file(struct keras_hdf5 **out, struct error *err)
{
    struct keras_hdf5 *file = mem_zalloc(sizeof *file);
    enum assay_status st;

    *out = NULL;
    if (!file)
        return error_nomem(err, sizeof *file, "an HDF5 file");
    st = hdf5_library_load(&file->lib, err);
    if (st) {
        mem_free(file);
        return st;
    }
    file->file = -1;
    file->lib.H5Eget_auto2(H5E_DEFAULT, &file->report, &file->report_context);
    file->lib.H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    *out = file;
    return ASSAY_OK;
}

/* ---- the list of datasets ----------------------------------------------- */

static herr_t note_object(hid_t root, const char *path, const H5O_info_t *info,
                          void *context)
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

static enum assay_status list_datasets(struct keras_hdf5 *file,
                                       struct error *err)
{
    hsize_t bytes;

    if (file->file < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "HDF5 cannot open it: it is damaged, cut off or no "
                         "HDF5 file");
    if (file->lib.H5Fget_filesize(file->file, &bytes) < 0 ||
        file->lib.H5Ovisit(file->file, H5_INDEX_NAME, H5_ITER_INC, note_object,
                           file) < 0)
        return file->is_out_of_memory
                   ? error_nomem(err, file->n * sizeof *file->paths,
                                 "the names of datasets")
                   : error_set(err, ASSAY_BAD_INPUT,
                               "the list of its datasets cannot be read");
    file->bytes = (size_t)bytes;
    return ASSAY_OK;
}

/* ---- opening ------------------------------------------------------------ */

static enum assay_status finish_open(struct keras_hdf5 *file,
                                     struct keras_hdf5 **out, struct error *err)
{
    enum assay_status st = list_datasets(file, err);

    if (st)
        keras_hdf5_close(file);
    else
        *out = file;
    return st;
}

enum assay_status keras_hdf5_open(const char *path, struct keras_hdf5 **out,
                                  struct error *err)
{
    struct keras_hdf5 *file;
    enum assay_status st = new_file(&file, err);

    *out = NULL;
    if (st)
        return st;
    file->file = file->lib.H5Fopen(path, HDF5_READ_ONLY, H5P_DEFAULT);
    return finish_open(file, out, err);
}

enum assay_status keras_hdf5_open_image(const void *image, size_t bytes,
                                        struct keras_hdf5 **out,
                                        struct error *err)
{
    static const size_t step = 1 << 16;
    struct keras_hdf5 *file;
    enum assay_status st = new_file(&file, err);
    hid_t access;

    *out = NULL;
    if (st)
        return st;
    access = file->lib.H5Pcreate(file->lib.file_access);
    /* HDF5 copies the image and does not write to it. */
    if (access >= 0 && bytes &&
        file->lib.H5Pset_fapl_core(access, step, 0) >= 0 &&
        file->lib.H5Pset_file_image(access, (void *)image, bytes) >= 0)
        file->file =
            file->lib.H5Fopen("model.weights.h5", HDF5_READ_ONLY, access);
    if (access >= 0)
        file->lib.H5Pclose(access);
    return finish_open(file, out, err);
}

void keras_hdf5_close(struct keras_hdf5 *file)
{
    if (!file)
        return;
    if (file->file >= 0)
        file->lib.H5Fclose(file->file);
    file->lib.H5Eset_auto2(H5E_DEFAULT, file->report, file->report_context);
    for (size_t i = 0; i < file->n; i++)
        mem_free(file->paths[i]);
    mem_free(file->paths);
    mem_free(file);
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

/* Strings are of a fixed length or somewhere else in the file. */
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
        return error_set(err, ASSAY_BAD_INPUT, "it is not one text");
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

/* Data in other files is refused: a model would show what is none of its
 * business. */
static bool lies_inside(const struct keras_hdf5 *file, hid_t dataset)
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
                       "it says to hold more than its file can");
    if (space >= 0)
        file->lib.H5Sclose(space);
    return st;
}

static enum assay_status read_dataset(const struct keras_hdf5 *file,
                                      hid_t dataset, struct pool *pool,
                                      struct tensor *out, struct error *err)
{
    struct shape shape;
    enum assay_status st;

    if (!lies_inside(file, dataset))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "its data lies in another file");
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
                     : read_dataset(file, dataset, pool, out, err);
    if (st)
        error_context(err, "dataset %.100s", path);
    if (dataset >= 0)
        file->lib.H5Dclose(dataset);
    return st;
}

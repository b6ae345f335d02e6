/* formats/onnx/onnx_external.c - see onnx_data_internal.h: elements in other
 * files. */
#include "formats/onnx/onnx_data_internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "formats/mapped_file_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct external_file {
    char *location; /* as tensors name it */
    struct buffer *bytes;
};

void onnx_data_release(struct onnx_data *data)
{
    for (size_t i = 0; i < data->n_externals; i++) {
        mem_free(data->externals[i].location);
        buffer_release(data->externals[i].bytes);
    }
    mem_free(data->externals);
    data->externals = NULL;
    data->n_externals = data->externals_capacity = 0;
}

static const char *onnx_external_find_entry(const struct onnx_tensor *tensor,
                                            const char *key)
{
    for (size_t i = 0; i < tensor->n_external; i++) {
        if (strcmp(tensor->external[i].key, key) == 0)
            return tensor->external[i].value;
    }
    return NULL;
}

/* Reads a natural number; `fallback` if there is no such entry. */
static enum assay_status
onnx_external_read_entry(const struct onnx_tensor *tensor, const char *key,
                         size_t fallback, size_t *number, struct error *err)
{
    const char *text = onnx_external_find_entry(tensor, key);
    char *end;

    *number = fallback;
    if (!text)
        return ASSAY_OK;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] < '0' || text[0] > '9')
        return error_set(err, ASSAY_BAD_INPUT,
                         "the %s of its external data is '%.40s'", key, text);
    return ASSAY_OK;
}

/* Refuses a file that, with links resolved, is not under the folder. */
static enum assay_status check_inside(const char *folder, const char *path,
                                      const char *location, const char *hint,
                                      struct error *err)
{
    char real_folder[PATH_MAX], real_path[PATH_MAX];
    size_t n;

    if (!realpath(folder, real_folder))
        return error_errno(err, errno, "cannot read %s", folder);
    if (!realpath(path, real_path))
        return error_errno(err, errno, "its external data %s", path);
    n = strlen(real_folder);
    if (strncmp(real_path, real_folder, n) == 0 &&
        (real_path[n] == '/' || real_folder[n - 1] == '/'))
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT,
        "its external data %.100s is outside the model's folder%s%s", location,
        hint ? "; " : "", hint ? hint : "");
}

static enum assay_status map_external(struct onnx_data *data,
                                      const char *location,
                                      struct buffer **bytes, struct error *err)
{
    struct str path = {0};
    enum assay_status st;

    if (location[0] == '/')
        st = str_append(&path, location);
    else
        st = str_printf(&path, "%s/%s", data->folder, location);
    if (st)
        st = error_nomem(err, strlen(location), "a file name");
    if (!st && !data->may_read_outside)
        st = check_inside(data->folder, path.text, location, data->outside_hint,
                          err);
    if (!st)
        st = mapped_file_open(path.text, bytes, err);
    str_release(&path);
    return st;
}

static enum assay_status add_external(struct onnx_data *data,
                                      const char *location,
                                      struct buffer **bytes, struct error *err)
{
    struct external_file *moved =
        vec_reserve(data->externals, &data->externals_capacity,
                    data->n_externals + 1, sizeof *data->externals);
    struct external_file added = {0};
    enum assay_status st;

    if (!moved)
        return error_nomem(err, sizeof *moved, "the files of a model");
    data->externals = moved;
    st = map_external(data, location, &added.bytes, err);
    if (st)
        return st;
    added.location = mem_strdup(location);
    if (!added.location) {
        buffer_release(added.bytes);
        return error_nomem(err, strlen(location), "the files of a model");
    }
    *bytes = added.bytes;
    data->externals[data->n_externals++] = added;
    return ASSAY_OK;
}

static enum assay_status onnx_external_find_file(struct onnx_data *data,
                                                 const char *location,
                                                 struct buffer **bytes,
                                                 struct error *err)
{
    for (size_t i = 0; i < data->n_externals; i++) {
        if (strcmp(data->externals[i].location, location) == 0) {
            *bytes = data->externals[i].bytes;
            return ASSAY_OK;
        }
    }
    return add_external(data, location, bytes, err);
}

enum assay_status onnx_external_find(struct onnx_data *data,
                                     const struct onnx_tensor *tensor,
                                     size_t wanted_bytes, struct buffer **file,
                                     struct wire_bytes *bytes,
                                     struct error *err)
{
    const char *location = onnx_external_find_entry(tensor, "location");
    size_t offset = 0, n = 0;
    enum assay_status st;

    if (!location || !location[0])
        return error_set(err, ASSAY_BAD_INPUT,
                         "its external data has no location");
    if (!data->folder)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its elements are in another file, %.100s", location);
    st = onnx_external_find_file(data, location, file, err);
    if (!st)
        st = onnx_external_read_entry(tensor, "offset", 0, &offset, err);
    if (!st)
        st = onnx_external_read_entry(tensor, "length", wanted_bytes, &n, err);
    if (st)
        return st;
    if (offset > buffer_bytes(*file) || n > buffer_bytes(*file) - offset)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its %zu bytes at %zu are past the end of %.100s; "
                         "copy that file again",
                         n, offset, location);
    *bytes = (struct wire_bytes){
        (const unsigned char *)buffer_data(*file) + offset, n};
    return ASSAY_OK;
}

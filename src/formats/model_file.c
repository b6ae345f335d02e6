/* formats/model_file.c - see model_file.h. */
#include "formats/model_file.h"

#include "formats/keras.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum assay_status model_file_load(const char *path,
                                  const struct onnx_options *options,
                                  struct pool *pool, struct graph **out,
                                  struct error *err)
{
    static const unsigned char hdf5[] = "\x89HDF\r\n\x1a\n";
    static const unsigned char zip[] = "PK\x03\x04";
    unsigned char begin[sizeof hdf5] = {0};
    FILE *file = fopen(path, "rb");

    *out = NULL;
    if (!file)
        return error_errno(err, errno, "opening %s", path);
    /* What is too short for a magic is told by the reader. */
    if (fread(begin, 1, sizeof begin - 1, file) == 0 && ferror(file))
        begin[0] = 0;
    fclose(file);
    if (memcmp(begin, hdf5, sizeof hdf5 - 1) == 0 ||
        memcmp(begin, zip, sizeof zip - 1) == 0)
        return keras_load(path, options->problems, pool, out, err);
    return onnx_load(path, options, pool, out, err);
}

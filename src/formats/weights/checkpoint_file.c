/* formats/weights/checkpoint_file.c - see checkpoint.h: opening files, and
 * which format they have. */
#include "formats/weights/checkpoint_internal.h"

#include "base/mem.h"
#include "formats/mapped_file_internal.h"

#include <string.h>

const char *checkpoint_kind_text(enum checkpoint_kind kind)
{
    switch (kind) {
    case CHECKPOINT_TORCH_ZIP:
        return "PyTorch checkpoint (zip)";
    case CHECKPOINT_TORCH_LEGACY:
        return "PyTorch checkpoint (before 1.6)";
    case CHECKPOINT_SAFETENSORS:
        return "safetensors";
    }
    return "?";
}

static bool checkpoint_file_begins_with(const unsigned char *bytes, size_t n,
                                        const void *what, size_t what_bytes)
{
    return n >= what_bytes && memcmp(bytes, what, what_bytes) == 0;
}

static enum assay_status find_kind(const unsigned char *bytes, size_t n,
                                   enum checkpoint_kind *kind,
                                   struct error *err)
{
    static const char zip[] = "PK\3\4";
    /* A pickle of protocol 2 of PyTorch's magic number, 10 bytes long. */
    static const char legacy[] = "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8"
                                 "\x50\x19.";
    static const char hdf5[] = "\x89HDF\r\n\x1a\n";

    if (checkpoint_file_begins_with(bytes, n, zip, sizeof zip - 1))
        *kind = CHECKPOINT_TORCH_ZIP;
    else if (checkpoint_file_begins_with(bytes, n, legacy, sizeof legacy - 1))
        *kind = CHECKPOINT_TORCH_LEGACY;
    else if (n > 8 && bytes[8] == '{')
        *kind = CHECKPOINT_SAFETENSORS;
    else if (n > 0 && bytes[0] == 0x80)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it is a pickle that torch.save did not write");
    else if (checkpoint_file_begins_with(bytes, n, hdf5, sizeof hdf5 - 1))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it is an HDF5 file; PyTorch checkpoints and "
                         "safetensors are read");
    else
        return error_set(err, ASSAY_BAD_INPUT,
                         "it is neither a PyTorch checkpoint nor a "
                         "safetensors file");
    return ASSAY_OK;
}

static enum assay_status
checkpoint_file_read_kind(struct checkpoint *checkpoint, struct error *err)
{
    const unsigned char *bytes = buffer_data(checkpoint->file);
    size_t n = buffer_bytes(checkpoint->file);
    enum assay_status st = find_kind(bytes, n, &checkpoint->kind, err);

    if (st)
        return st;
    switch (checkpoint->kind) {
    case CHECKPOINT_TORCH_ZIP:
        return torch_zip_read(checkpoint, bytes, n, err);
    case CHECKPOINT_TORCH_LEGACY:
        return torch_legacy_read(checkpoint, bytes, n, err);
    case CHECKPOINT_SAFETENSORS:
        return safetensors_read(checkpoint, bytes, n, err);
    }
    return st;
}

enum assay_status checkpoint_read(struct buffer *file, struct checkpoint **out,
                                  struct error *err)
{
    struct checkpoint *checkpoint = mem_zalloc(sizeof *checkpoint);
    enum assay_status st;

    *out = NULL;
    if (!checkpoint)
        return error_nomem(err, sizeof *checkpoint, "a checkpoint");
    buffer_share(file);
    checkpoint->file = file;
    st = checkpoint_file_read_kind(checkpoint, err);
    if (st) {
        checkpoint_free(checkpoint);
        return st;
    }
    *out = checkpoint;
    return ASSAY_OK;
}

void checkpoint_free(struct checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    mem_free(checkpoint->tensors);
    map_release(&checkpoint->by_name);
    map_release(&checkpoint->notes);
    arena_release(&checkpoint->names);
    buffer_release(checkpoint->file);
    mem_free(checkpoint);
}

enum assay_status checkpoint_open(const char *path, struct checkpoint **out,
                                  struct error *err)
{
    struct buffer *file = NULL;
    enum assay_status st = mapped_file_open(path, &file, err);

    *out = NULL;
    if (st)
        return st;
    st = checkpoint_read(file, out, err);
    if (st)
        error_context(err, "reading %s", path);
    buffer_release(file);
    return st;
}

/* formats/torch/torch_zip.c - reads what torch.save writes since PyTorch 1.6: a
 * zip archive with the pickle in NAME/data.pkl and a storage in each
 * NAME/data/KEY. */
#include "formats/weights/checkpoint_internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "formats/torch/pickle_internal.h"
#include "formats/torch/torch_tree_internal.h"
#include "formats/zip_index_internal.h"

#include <string.h>

struct zip_file {
    struct checkpoint *checkpoint;
    struct zip_index index;
    struct checkpoint_part **parts; /* by entry; NULL: no tensor in it */
    struct str folder;              /* "archive/" */
    struct str name;                /* of the entry looked for */
};

static enum assay_status
torch_zip_find_entry(struct zip_file *file, const char *prefix,
                     const char *name, size_t name_bytes,
                     const struct zip_entry **out, struct error *err)
{
    str_clear(&file->name);
    if (str_append(&file->name, str_text(&file->folder)) ||
        str_append(&file->name, prefix) ||
        str_append_n(&file->name, name, name_bytes))
        return error_nomem(err, name_bytes, "the name of a zip entry");
    *out = zip_index_find(&file->index, file->name.text);
    if (*out && !(*out)->is_stored)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s is compressed, which is not supported; unpack the "
                         "archive and zip it again with -0",
                         file->name.text);
    return ASSAY_OK;
}

/* The same with a check of the entry's CRC. */
static enum assay_status torch_zip_find_intact(struct zip_file *file,
                                               const char *name,
                                               const struct zip_entry **out,
                                               struct error *err)
{
    enum assay_status st = torch_zip_find_entry(file, name, "", 0, out, err);

    return st || !*out ? st : zip_entry_check(*out, err);
}

/* The part that checks an entry when its tensors are loaded. */
static enum assay_status torch_zip_find_part(struct zip_file *file,
                                             const struct zip_entry *entry,
                                             struct checkpoint_part **out,
                                             struct error *err)
{
    struct checkpoint_part **part = &file->parts[entry - file->index.entries];

    if (!*part) {
        *part = arena_alloc(&file->checkpoint->names, sizeof **part);
        if (!*part)
            return error_nomem(err, sizeof **part, "the parts of a file");
        **part = (struct checkpoint_part){.entry = *entry};
    }
    *out = *part;
    return ASSAY_OK;
}

static enum assay_status
torch_zip_find_storage(void *context, const struct torch_storage *storage,
                       const unsigned char **bytes,
                       struct checkpoint_part **part, struct error *err)
{
    struct zip_file *file = context;
    size_t n;
    const struct zip_entry *entry = NULL;
    enum assay_status st =
        storage->key.n > CHECKPOINT_MAX_NAME
            ? ASSAY_OK
            : torch_zip_find_entry(file, "data/", storage->key.bytes,
                                   storage->key.n, &entry, err);

    if (st)
        return st;
    if (!entry)
        return error_set(err, ASSAY_BAD_INPUT, "its storage is missing");
    if (!mem_add(storage->first, storage->n_elements, &n) ||
        !mem_mul(n, dtype_bytes(storage->dtype), &n) || n > entry->bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has %zu bytes, fewer than its tensors need",
                         file->name.text, entry->bytes);
    *bytes = entry->data;
    return torch_zip_find_part(file, entry, part, err);
}

/* All entries are in one folder, named after the file. */
static enum assay_status torch_zip_find_folder(struct zip_file *file,
                                               struct error *err)
{
    static const char pickle[] = "/data.pkl";
    size_t n = sizeof pickle - 1;

    for (size_t i = 0; i < file->index.n; i++) {
        const struct zip_entry *entry = &file->index.entries[i];

        if (entry->name_bytes <= n ||
            memcmp(entry->name + entry->name_bytes - n, pickle, n) != 0)
            continue;
        if (str_append_n(&file->folder, entry->name, entry->name_bytes - n + 1))
            return error_nomem(err, entry->name_bytes, "a file name");
        return ASSAY_OK;
    }
    return error_set(err, ASSAY_BAD_INPUT,
                     "it is a zip archive without a data.pkl, so torch.save "
                     "did not write it");
}

static enum assay_status check_byte_order(struct zip_file *file,
                                          struct error *err)
{
    const struct zip_entry *entry = NULL;
    enum assay_status st =
        torch_zip_find_intact(file, "byteorder", &entry, err);

    if (!st && entry &&
        (entry->bytes != 6 || memcmp(entry->data, "little", 6) != 0))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it was written by a big-endian machine");
    return st;
}

static enum assay_status torch_zip_read_pickle(struct checkpoint *checkpoint,
                                               struct zip_file *file,
                                               struct pickle *pickle,
                                               struct error *err)
{
    struct torch_storages storages = {torch_zip_find_storage, file};
    const struct zip_entry *entry = NULL;
    struct pickle_value *root = NULL;
    size_t used;
    enum assay_status st = torch_zip_find_intact(file, "data.pkl", &entry, err);

    if (!st && !entry)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the name of its data.pkl is invalid");
    if (!st)
        st = pickle_read(pickle, entry->data, entry->bytes, &used, &root, err);
    return st ? st : torch_tree_add(checkpoint, root, &storages, err);
}

enum assay_status torch_zip_read(struct checkpoint *checkpoint,
                                 const unsigned char *bytes, size_t n,
                                 struct error *err)
{
    struct zip_file file = {.checkpoint = checkpoint};
    struct pickle *pickle = NULL;
    enum assay_status st = zip_index_read(&file.index, bytes, n, err);

    if (!st) {
        file.parts = mem_array(file.index.n, sizeof *file.parts);
        if (!file.parts)
            st = error_nomem(err, file.index.n * sizeof *file.parts,
                             "the parts of a file");
    }
    if (!st)
        st = torch_zip_find_folder(&file, err);
    if (!st)
        st = check_byte_order(&file, err);
    if (!st)
        st = pickle_new(&pickle, err);
    if (!st)
        st = torch_zip_read_pickle(checkpoint, &file, pickle, err);
    pickle_free(pickle);
    mem_free(file.parts);
    str_release(&file.folder);
    str_release(&file.name);
    zip_index_release(&file.index);
    return st;
}

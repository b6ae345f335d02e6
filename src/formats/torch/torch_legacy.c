/* formats/torch/torch_legacy.c - reads what torch.save wrote before PyTorch
 * 1.6: pickles of a magic number, a version, facts about the machine, the
 * object and the keys of its storages; then the storages, each with a count and
 * its elements. */
#include "formats/weights/checkpoint_internal.h"

#include "base/mem.h"
#include "formats/little_endian_internal.h"
#include "formats/torch/pickle_internal.h"
#include "formats/torch/torch_tree_internal.h"

enum { format_version = 1001, count_bytes = 8 };

struct legacy_file {
    const unsigned char *bytes;
    size_t n, at;
    struct map positions; /* from a storage's key to its count */
};

static enum assay_status torch_legacy_next(struct legacy_file *file,
                                           struct pickle *pickle,
                                           struct pickle_value **out,
                                           struct error *err)
{
    size_t used = 0;
    enum assay_status st = pickle_read(pickle, file->bytes + file->at,
                                       file->n - file->at, &used, out, err);

    file->at += used;
    return st;
}

/* Magic number, version and facts; the caller has checked the first. */
static enum assay_status torch_legacy_read_head(struct legacy_file *file,
                                                struct pickle *pickle,
                                                struct error *err)
{
    struct pickle_value *magic, *version, *facts = NULL;
    const struct pickle_value *is_little;
    enum assay_status st = torch_legacy_next(file, pickle, &magic, err);

    if (!st)
        st = torch_legacy_next(file, pickle, &version, err);
    if (st)
        return st;
    if (version->kind != PICKLE_INT || version->integer != format_version)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "its version of torch.save's format is not supported; "
                         "only 1001 is");
    st = torch_legacy_next(file, pickle, &facts, err);
    if (st)
        return st;
    is_little = pickle_dict_get(facts, "little_endian");
    if (!is_little || is_little->kind != PICKLE_BOOL || !is_little->integer)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it was written by a big-endian machine");
    return ASSAY_OK;
}

static enum assay_status
torch_legacy_find_storage(void *context, const struct torch_storage *storage,
                          const unsigned char **bytes,
                          struct checkpoint_part **part, struct error *err)
{
    struct legacy_file *file = context;
    size_t n;
    uint64_t at;

    *part = NULL; /* the format has no checksums */
    if (!map_find(&file->positions, storage->key.bytes, storage->key.n, &at))
        return error_set(err, ASSAY_BAD_INPUT, "its storage is missing");
    if (!mem_add(storage->first, storage->n_elements, &n) ||
        n > le64(file->bytes + at) ||
        !mem_mul(n, dtype_bytes(storage->dtype), &n) ||
        n > file->n - at - count_bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its storage is smaller than the tensor");
    *bytes = file->bytes + at + count_bytes;
    return ASSAY_OK;
}

/* Only the pickle of the object has the types of the storages. */
static enum assay_status note_sizes(const struct torch_storage *storages,
                                    struct map *sizes, struct error *err)
{
    for (; storages; storages = storages->next) {
        if (map_put(sizes, storages->key.bytes, storages->key.n,
                    dtype_bytes(storages->dtype)))
            return error_nomem(err, storages->key.n, "the keys of storages");
    }
    return ASSAY_OK;
}

/* Notes where the storage of a key begins, and skips it. */
static enum assay_status pass_storage(struct legacy_file *file,
                                      const struct pickle_value *key,
                                      const struct map *sizes,
                                      struct error *err)
{
    size_t left = file->n - file->at, bytes;
    uint64_t size;

    if (key->kind != PICKLE_TEXT ||
        !map_find(sizes, key->text.bytes, key->text.n, &size))
        return error_set(err, ASSAY_BAD_INPUT,
                         "it has a storage that no tensor belongs to");
    if (left < count_bytes ||
        !mem_mul(le64(file->bytes + file->at), size, &bytes) ||
        bytes > left - count_bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the file ends in the middle of its tensors; fetch or "
                         "copy it again");
    if (map_put(&file->positions, key->text.bytes, key->text.n, file->at))
        return error_nomem(err, key->text.n, "the keys of storages");
    file->at += count_bytes + bytes;
    return ASSAY_OK;
}

static enum assay_status pass_storages(struct legacy_file *file,
                                       const struct pickle_value *keys,
                                       const struct map *sizes,
                                       struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (keys->kind != PICKLE_LIST)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the list of its storages is damaged");
    for (const struct pickle_item *item = keys->items.first; !st && item;
         item = item->next)
        st = pass_storage(file, item->value, sizes, err);
    return st;
}

static enum assay_status torch_legacy_read_object(struct checkpoint *checkpoint,
                                                  struct legacy_file *file,
                                                  struct pickle *pickle,
                                                  struct error *err)
{
    struct torch_storages storages = {torch_legacy_find_storage, file};
    struct pickle_value *root = NULL, *keys = NULL;
    struct map sizes = {0};
    enum assay_status st = torch_legacy_next(file, pickle, &root, err);

    if (!st)
        st = note_sizes(pickle_storages(pickle), &sizes, err);
    if (!st)
        st = torch_legacy_next(file, pickle, &keys, err);
    if (!st)
        st = pass_storages(file, keys, &sizes, err);
    if (!st)
        st = torch_tree_add(checkpoint, root, &storages, err);
    map_release(&sizes);
    return st;
}

enum assay_status torch_legacy_read(struct checkpoint *checkpoint,
                                    const unsigned char *bytes, size_t n,
                                    struct error *err)
{
    struct legacy_file file = {.bytes = bytes, .n = n};
    struct pickle *pickle = NULL;
    enum assay_status st = pickle_new(&pickle, err);

    if (!st)
        st = torch_legacy_read_head(&file, pickle, err);
    if (!st)
        st = torch_legacy_read_object(checkpoint, &file, pickle, err);
    pickle_free(pickle);
    map_release(&file.positions);
    return st;
}

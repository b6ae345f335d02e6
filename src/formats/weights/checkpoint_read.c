/* formats/weights/checkpoint_read.c - see checkpoint.h. */
#include "formats/weights/checkpoint.h"

#include "base/mem.h"
#include "base/vec.h"
#include "formats/mapped_file_internal.h"
#include "formats/weights/checkpoint_internal.h"

#include <string.h>

/* ---- files ------------------------------------------------------------ */

/* A pickle of protocol 2 with PyTorch's magic number, 10 bytes long. */
#define TORCH_MAGIC "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define MAGIC(text) text, sizeof(text) - 1

static const struct {
    const char *name;
    const char *magic;
    size_t n_magic;
    enum assay_status (*read)(struct checkpoint *checkpoint,
                              const unsigned char *bytes, size_t n,
                              struct error *err);
} kinds[] = {
    [CHECKPOINT_TORCH_ZIP] = {"PyTorch checkpoint (zip)", MAGIC("PK\3\4"),
                              torch_zip_read},
    [CHECKPOINT_TORCH_LEGACY] = {"PyTorch checkpoint (before 1.6)",
                                 MAGIC(TORCH_MAGIC), torch_legacy_read},
    [CHECKPOINT_SAFETENSORS] = {"safetensors", NULL, 0, safetensors_read},
};

const char *checkpoint_kind_text(enum checkpoint_kind kind)
{
    return kinds[kind].name;
}

static bool checkpoint_begins_with(const unsigned char *bytes, size_t n,
                                   const char *magic, size_t n_magic)
{
    return n >= n_magic && memcmp(bytes, magic, n_magic) == 0;
}

static enum assay_status checkpoint_find_kind(const unsigned char *bytes,
                                              size_t n,
                                              enum checkpoint_kind *kind,
                                              struct error *err)
{
    for (*kind = 0; *kind < CHECKPOINT_SAFETENSORS; (*kind)++) {
        if (checkpoint_begins_with(bytes, n, kinds[*kind].magic,
                                   kinds[*kind].n_magic))
            return ASSAY_OK;
    }
    if (n > 8 && bytes[8] == '{')
        return ASSAY_OK;
    if (n > 0 && bytes[0] == 0x80)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it is a pickle that torch.save did not write");
    if (checkpoint_begins_with(bytes, n, MAGIC("\x89HDF\r\n\x1a\n")))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it is an HDF5 file; only PyTorch checkpoints and "
                         "safetensors are supported");
    return error_set(err, ASSAY_BAD_INPUT,
                     "it is neither a PyTorch checkpoint nor a safetensors "
                     "file");
}

enum assay_status checkpoint_read(struct buffer *file, struct checkpoint **out,
                                  struct error *err)
{
    struct checkpoint *checkpoint = mem_zalloc(sizeof *checkpoint);
    const unsigned char *bytes = buffer_data(file);
    size_t n = buffer_bytes(file);
    enum assay_status st;

    *out = NULL;
    if (!checkpoint)
        return error_nomem(err, sizeof *checkpoint, "a checkpoint");
    buffer_share(file);
    checkpoint->file = file;
    st = checkpoint_find_kind(bytes, n, &checkpoint->kind, err);
    if (!st)
        st = kinds[checkpoint->kind].read(checkpoint, bytes, n, err);
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

/* ---- tensors ---------------------------------------------------------- */

enum checkpoint_kind checkpoint_kind(const struct checkpoint *checkpoint)
{
    return checkpoint->kind;
}

size_t checkpoint_count(const struct checkpoint *checkpoint)
{
    return checkpoint->n;
}

const struct checkpoint_tensor *
checkpoint_tensor(const struct checkpoint *checkpoint, size_t i)
{
    return &checkpoint->tensors[i];
}

bool checkpoint_find(const struct checkpoint *checkpoint, const char *name,
                     size_t *i)
{
    uint64_t found;

    if (!map_find_text(&checkpoint->by_name, name, &found))
        return false;
    *i = (size_t)found;
    return true;
}

const char *checkpoint_note(const struct checkpoint *checkpoint,
                            const char *key)
{
    uint64_t found;

    if (!map_find_text(&checkpoint->notes, key, &found))
        return NULL;
    return (const char *)(uintptr_t)found;
}

/* ---- adding ----------------------------------------------------------- */

static void dense_strides(const struct shape *shape, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = shape->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= shape->dims[i];
    }
}

/* Dimensions of one element may have any stride. */
static bool checkpoint_tensor_is_dense(const struct checkpoint_tensor *tensor)
{
    int64_t wanted[SHAPE_MAX_RANK];

    dense_strides(&tensor->shape, wanted);
    for (int i = 0; i < tensor->shape.rank; i++) {
        if (tensor->shape.dims[i] != 1 && tensor->strides[i] != wanted[i])
            return false;
    }
    return true;
}

/* Whether the view's last element exists. */
static bool checkpoint_tensor_fits(const struct checkpoint_view *view,
                                   const struct checkpoint_tensor *tensor)
{
    size_t last = view->first, span;

    for (int i = 0; i < tensor->shape.rank; i++) {
        if (tensor->strides[i] < 0 ||
            !mem_mul((size_t)tensor->shape.dims[i] - 1,
                     (size_t)tensor->strides[i], &span) ||
            !mem_add(last, span, &last))
            return false;
    }
    return last < view->n_elements;
}

/* With strides of 0, a few bytes of a file could claim any amount of memory. */
static bool is_plausible(const struct checkpoint *checkpoint, size_t bytes)
{
    enum { always_fine = 1 << 20 };

    return bytes <= buffer_bytes(checkpoint->file) || bytes <= always_fine;
}

static enum assay_status check_view(const struct checkpoint *checkpoint,
                                    const struct checkpoint_view *view,
                                    struct checkpoint_tensor *tensor,
                                    struct error *err)
{
    size_t n, bytes;

    if (!shape_elements(&view->shape, &n) ||
        !mem_mul(n, dtype_bytes(view->dtype), &bytes))
        return error_set(err, ASSAY_BAD_INPUT, "its shape is too large");
    if (n == 0)
        return ASSAY_OK;
    if (view->strides)
        memcpy(tensor->strides, view->strides, sizeof tensor->strides);
    else
        dense_strides(&view->shape, tensor->strides);
    if (!is_plausible(checkpoint, bytes) ||
        !checkpoint_tensor_fits(view, tensor))
        return error_set(err, ASSAY_BAD_INPUT,
                         "its shape has more elements than are stored");
    tensor->first = view->elements + view->first * dtype_bytes(view->dtype);
    return ASSAY_OK;
}

static enum assay_status
checkpoint_tensor_check_name(const struct checkpoint *checkpoint,
                             const struct checkpoint_view *view,
                             struct error *err)
{
    if (view->name_bytes > CHECKPOINT_MAX_NAME ||
        memchr(view->name, '\0', view->name_bytes))
        return error_set(err, ASSAY_BAD_INPUT,
                         "a tensor's name is too long or not a text");
    if (checkpoint->n == CHECKPOINT_MAX_TENSORS)
        return error_set(err, ASSAY_BAD_INPUT,
                         "it holds more than %d tensors, more than any "
                         "checkpoint needs",
                         (int)CHECKPOINT_MAX_TENSORS);
    if (map_find(&checkpoint->by_name, view->name, view->name_bytes, NULL))
        return error_set(err, ASSAY_BAD_INPUT, "two tensors are called %.*s",
                         (int)view->name_bytes, view->name);
    return ASSAY_OK;
}

static enum assay_status
checkpoint_tensor_keep(struct checkpoint *checkpoint,
                       const struct checkpoint_tensor *tensor,
                       struct error *err)
{
    struct checkpoint_tensor *moved =
        vec_reserve(checkpoint->tensors, &checkpoint->capacity,
                    checkpoint->n + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, (checkpoint->n + 1) * sizeof *moved,
                           "the list of tensors");
    checkpoint->tensors = moved;
    if (map_put_text(&checkpoint->by_name, tensor->name, checkpoint->n))
        return error_nomem(err, strlen(tensor->name), "the names of tensors");
    checkpoint->tensors[checkpoint->n++] = *tensor;
    return ASSAY_OK;
}

enum assay_status checkpoint_add(struct checkpoint *checkpoint,
                                 const struct checkpoint_view *view,
                                 struct error *err)
{
    struct checkpoint_tensor tensor = {.dtype = view->dtype,
                                       .shape = view->shape,
                                       .part = view->part,
                                       .outer_bytes = view->outer_bytes};
    enum assay_status st = checkpoint_tensor_check_name(checkpoint, view, err);

    if (st)
        return st;
    st = check_view(checkpoint, view, &tensor, err);
    if (st) {
        error_context(err, "tensor %.*s", (int)view->name_bytes, view->name);
        return st;
    }
    tensor.name =
        arena_strndup(&checkpoint->names, view->name, view->name_bytes);
    return tensor.name
               ? checkpoint_tensor_keep(checkpoint, &tensor, err)
               : error_nomem(err, view->name_bytes, "the name of a tensor");
}

enum assay_status checkpoint_add_note(struct checkpoint *checkpoint,
                                      const char *key, const char *value,
                                      struct error *err)
{
    char *copy = arena_strdup(&checkpoint->names, value);

    if (!copy ||
        map_put_text(&checkpoint->notes, key, (uint64_t)(uintptr_t)copy))
        return error_nomem(err, strlen(value), "a file's metadata");
    return ASSAY_OK;
}

/* ---- data ------------------------------------------------------------- */

/* Copies the elements in the order of the shape. */
static void copy_strided(const struct checkpoint_tensor *tensor,
                         unsigned char *to, size_t n)
{
    size_t size = dtype_bytes(tensor->dtype);
    int64_t index[SHAPE_MAX_RANK] = {0}, at = 0;

    for (size_t i = 0; i < n; i++) {
        memcpy(to + i * size, tensor->first + (size_t)at * size, size);
        for (int d = tensor->shape.rank; d-- > 0;) {
            at += tensor->strides[d];
            if (++index[d] < tensor->shape.dims[d])
                break;
            at -= tensor->strides[d] * index[d];
            index[d] = 0;
        }
    }
}

/* Unloads the part afterwards: it may not be needed for long, and all parts
 * together are as large as the model. */
static enum assay_status check_part(const struct checkpoint *checkpoint,
                                    struct checkpoint_part *part,
                                    struct error *err)
{
    const unsigned char *file = buffer_data(checkpoint->file);
    enum assay_status st;

    if (!part || part->is_checked)
        return ASSAY_OK;
    st = zip_entry_check(&part->entry, err);
    buffer_unload(checkpoint->file, (size_t)(part->entry.data - file),
                  part->entry.bytes);
    part->is_checked = !st;
    return st;
}

enum assay_status checkpoint_check(const struct checkpoint *checkpoint,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < checkpoint->n; i++)
        st = check_part(checkpoint, checkpoint->tensors[i].part, err);
    return st;
}

enum assay_status checkpoint_load(const struct checkpoint *checkpoint, size_t i,
                                  struct pool *pool, struct tensor *out,
                                  struct error *err)
{
    const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
    const unsigned char *file = buffer_data(checkpoint->file);
    size_t size = dtype_bytes(tensor->dtype);
    bool is_whole = tensor->first && checkpoint_tensor_is_dense(tensor);
    enum assay_status st = check_part(checkpoint, tensor->part, err);

    *out = (struct tensor){0};
    if (st)
        return st;
    if (is_whole && (uintptr_t)tensor->first % size == 0) {
        *out = (struct tensor){.dtype = tensor->dtype,
                               .shape = tensor->shape,
                               .buffer = checkpoint->file,
                               .offset = (size_t)(tensor->first - file)};
        buffer_share(checkpoint->file);
        return ASSAY_OK;
    }
    st = tensor_new(pool, tensor->dtype, &tensor->shape, out, err);
    if (st || !tensor->first)
        return st;
    if (is_whole)
        memcpy(tensor_data(out), tensor->first, tensor_bytes(out));
    else
        copy_strided(tensor, tensor_data(out), tensor_elements(out));
    return ASSAY_OK;
}

/* ---- unwrapping ------------------------------------------------------- */

static bool checkpoint_tensor_is_in(const struct checkpoint_tensor *tensor,
                                    const char *dict)
{
    return tensor->outer_bytes == strlen(dict) &&
           memcmp(tensor->name, dict, tensor->outer_bytes) == 0;
}

/* Keeps the tensors of one of the file's dicts; false if it has none. */
static bool keep_dict(struct checkpoint *checkpoint, const char *dict)
{
    size_t n = 0;

    for (size_t i = 0; i < checkpoint->n; i++) {
        struct checkpoint_tensor tensor = checkpoint->tensors[i];

        if (!checkpoint_tensor_is_in(&tensor, dict))
            continue;
        tensor.name += tensor.outer_bytes + 1;
        tensor.outer_bytes = 0;
        checkpoint->tensors[n++] = tensor;
    }
    if (n)
        checkpoint->n = n;
    return n > 0;
}

/* torch.nn.DataParallel puts "module." before the names of the model. */
static void checkpoint_tensor_drop_module(struct checkpoint *checkpoint)
{
    static const char prefix[] = "module.";
    size_t n = sizeof prefix - 1;

    for (size_t i = 0; i < checkpoint->n; i++) {
        if (strncmp(checkpoint->tensors[i].name, prefix, n) != 0)
            return;
    }
    for (size_t i = 0; i < checkpoint->n; i++) {
        checkpoint->tensors[i].name += n;
        checkpoint->tensors[i].outer_bytes = 0;
    }
}

enum assay_status checkpoint_unwrap(struct checkpoint *checkpoint,
                                    struct error *err)
{
    static const char *const dicts[] = {"state_dict", "model_state_dict",
                                        "model"};

    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
        if (keep_dict(checkpoint, dicts[i]))
            break;
    }
    checkpoint_tensor_drop_module(checkpoint);
    map_release(&checkpoint->by_name);
    for (size_t i = 0; i < checkpoint->n; i++) {
        if (map_put_text(&checkpoint->by_name, checkpoint->tensors[i].name, i))
            return error_nomem(err, strlen(checkpoint->tensors[i].name),
                               "the names of tensors");
    }
    return ASSAY_OK;
}

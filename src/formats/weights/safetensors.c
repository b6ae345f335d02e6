/* formats/weights/safetensors.c - a JSON header with the place of every tensor,
 * and behind it their elements. */
#include "formats/weights/checkpoint_internal.h"

#include "base/json.h"
#include "base/mem.h"
#include "formats/little_endian_internal.h"

#include <string.h>

enum { length_bytes = 8 };

static const char *const types[] = {
    [DTYPE_F32] = "F32",   [DTYPE_F64] = "F64", [DTYPE_F16] = "F16",
    [DTYPE_BF16] = "BF16", [DTYPE_I8] = "I8",   [DTYPE_U8] = "U8",
    [DTYPE_I16] = "I16",   [DTYPE_U16] = "U16", [DTYPE_I32] = "I32",
    [DTYPE_U32] = "U32",   [DTYPE_I64] = "I64", [DTYPE_U64] = "U64",
    [DTYPE_BOOL] = "BOOL",
};

const char *safetensors_type(enum dtype dtype)
{
    return types[dtype];
}

/* The header, and the elements that it speaks of. */
struct file {
    struct json_reader *json;
    const unsigned char *data;
    size_t data_bytes;
};

static enum assay_status unexpected(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "the header is not what safetensors files have");
}

static enum assay_status expect(struct json_reader *json, enum json_token token,
                                struct error *err)
{
    enum json_token got = JSON_END;
    enum assay_status st = json_next(json, &got, err);

    return !st && got != token ? unexpected(err) : st;
}

/* Up to `max` natural numbers of an array. */
static enum assay_status safetensors_read_numbers(struct json_reader *json,
                                                  int64_t *numbers, int max,
                                                  int *n, struct error *err)
{
    enum json_token token = JSON_END;
    enum assay_status st = expect(json, JSON_ARRAY_BEGIN, err);

    for (*n = 0; !st; (*n)++) {
        st = json_next(json, &token, err);
        if (st || token == JSON_ARRAY_END)
            break;
        if (token != JSON_NUMBER || *n == max ||
            !json_int64(json, &numbers[*n]) || numbers[*n] < 0)
            return unexpected(err);
    }
    return st;
}

static enum assay_status safetensors_read_type(struct json_reader *json,
                                               enum dtype *dtype,
                                               struct error *err)
{
    enum assay_status st = expect(json, JSON_STRING, err);

    for (size_t i = 0; !st && i < sizeof types / sizeof *types; i++) {
        if (strcmp(json_text(json, NULL), types[i]) == 0) {
            *dtype = (enum dtype)i;
            return ASSAY_OK;
        }
    }
    return st ? st
              : error_set(err, ASSAY_UNSUPPORTED,
                          "elements of type %.20s are not read",
                          json_text(json, NULL));
}

/* Begin and end of a tensor's elements. */
static enum assay_status safetensors_read_place(struct file *file,
                                                struct checkpoint_view *view,
                                                size_t *bytes,
                                                struct error *err)
{
    int64_t places[2];
    int n = 0;
    enum assay_status st =
        safetensors_read_numbers(file->json, places, 2, &n, err);

    if (st)
        return st;
    if (n != 2 || places[0] > places[1] ||
        (uint64_t)places[1] > file->data_bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its elements lie outside of the file; if it was cut "
                         "off, fetch or copy it again");
    view->elements = file->data + places[0];
    *bytes = (size_t)(places[1] - places[0]);
    return ASSAY_OK;
}

static enum assay_status count_elements(struct checkpoint_view *view,
                                        size_t bytes, struct error *err)
{
    size_t n, wanted;

    if (!shape_elements(&view->shape, &n) ||
        !mem_mul(n, dtype_bytes(view->dtype), &wanted) || wanted != bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its shape does not fit the %zu bytes of its elements",
                         bytes);
    view->n_elements = n;
    return ASSAY_OK;
}

/* The object behind a tensor's name. */
static enum assay_status
read_view(struct file *file, struct checkpoint_view *view, struct error *err)
{
    enum { HAS_TYPE = 1, HAS_SHAPE = 2, HAS_PLACE = 4, HAS_ALL = 7 };
    enum json_token token = JSON_END;
    enum assay_status st = expect(file->json, JSON_OBJECT_BEGIN, err);
    unsigned has = 0;
    size_t bytes = 0;

    while (!st) {
        const char *key;

        st = json_next(file->json, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        key = json_text(file->json, NULL);
        if (strcmp(key, "dtype") == 0) {
            has |= HAS_TYPE;
            st = safetensors_read_type(file->json, &view->dtype, err);
        } else if (strcmp(key, "shape") == 0) {
            has |= HAS_SHAPE;
            st = safetensors_read_numbers(file->json, view->shape.dims,
                                          SHAPE_MAX_RANK, &view->shape.rank,
                                          err);
        } else if (strcmp(key, "data_offsets") == 0) {
            has |= HAS_PLACE;
            st = safetensors_read_place(file, view, &bytes, err);
        } else {
            st = unexpected(err);
        }
    }
    if (!st && has != HAS_ALL)
        st = unexpected(err);
    return st ? st : count_elements(view, bytes, err);
}

static enum assay_status read_tensor(struct checkpoint *checkpoint,
                                     struct file *file, struct error *err)
{
    struct checkpoint_view view = {0};
    const char *key = json_text(file->json, &view.name_bytes);
    char *name = arena_strndup(&checkpoint->names, key, view.name_bytes);
    enum assay_status st;

    if (!name)
        return error_nomem(err, view.name_bytes, "the name of a tensor");
    view.name = name;
    st = read_view(file, &view, err);
    if (st)
        error_context(err, "tensor %s", name);
    return st ? st : checkpoint_add(checkpoint, &view, err);
}

/* An object of texts. */
static enum assay_status safetensors_read_notes(struct checkpoint *checkpoint,
                                                struct json_reader *json,
                                                struct error *err)
{
    enum json_token token = JSON_END;
    enum assay_status st = expect(json, JSON_OBJECT_BEGIN, err);
    struct str key = {0};

    while (!st) {
        st = json_next(json, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        str_clear(&key);
        if (str_append(&key, json_text(json, NULL)))
            st = error_nomem(err, key.n, "what a file says of itself");
        if (!st)
            st = expect(json, JSON_STRING, err);
        if (!st)
            st = checkpoint_add_note(checkpoint, str_text(&key),
                                     json_text(json, NULL), err);
    }
    str_release(&key);
    return st;
}

static void find_dicts(struct checkpoint *checkpoint)
{
    if (!checkpoint_note(checkpoint, CHECKPOINT_HAS_DICTS))
        return;
    for (size_t i = 0; i < checkpoint->n; i++) {
        struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        const char *dot = strchr(tensor->name, '.');

        if (dot)
            tensor->outer_bytes = (size_t)(dot - tensor->name);
    }
}

static enum assay_status read_header(struct checkpoint *checkpoint,
                                     struct file *file, struct error *err)
{
    enum json_token token = JSON_END;
    enum assay_status st = expect(file->json, JSON_OBJECT_BEGIN, err);

    while (!st) {
        st = json_next(file->json, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        if (strcmp(json_text(file->json, NULL), "__metadata__") == 0)
            st = safetensors_read_notes(checkpoint, file->json, err);
        else
            st = read_tensor(checkpoint, file, err);
    }
    return st ? st : expect(file->json, JSON_END, err);
}

enum assay_status safetensors_read(struct checkpoint *checkpoint,
                                   const unsigned char *bytes, size_t n,
                                   struct error *err)
{
    uint64_t header = le64(bytes);
    struct file file = {0};
    enum assay_status st;

    if (header > n - length_bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the file ends in the middle of its header; fetch or "
                         "copy it again");
    file.data = bytes + length_bytes + header;
    file.data_bytes = n - length_bytes - (size_t)header;
    st = json_reader_new_text((const char *)bytes + length_bytes,
                              (size_t)header, &file.json, err);
    if (!st)
        st = read_header(checkpoint, &file, err);
    if (!st)
        find_dicts(checkpoint);
    json_reader_free(file.json);
    return st;
}

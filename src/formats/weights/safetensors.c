/* formats/weights/safetensors.c - reads and writes safetensors files: a JSON
 * header with the place of every tensor, then their elements. */
#include "base/file.h"
#include "base/file_guard.h"
#include "base/json.h"
#include "base/mem.h"
#include "formats/little_endian_internal.h"
#include "formats/weights/checkpoint_internal.h"
#include "formats/weights/checkpoint_write.h"

#include <string.h>

/* Elements begin on a cache line; the header is padded with spaces. */
enum { alignment = 64, length_bytes = 8 };

static const char *const types[] = {
    [DTYPE_F32] = "F32",
    [DTYPE_F64] = "F64",
    [DTYPE_F16] = "F16",
    [DTYPE_BF16] = "BF16",
    [DTYPE_I8] = "I8",
    [DTYPE_U8] = "U8",
    [DTYPE_I16] = "I16",
    [DTYPE_U16] = "U16",
    [DTYPE_I32] = "I32",
    [DTYPE_U32] = "U32",
    [DTYPE_I64] = "I64",
    [DTYPE_U64] = "U64",
    [DTYPE_BOOL] = "BOOL",
    [DTYPE_F8E4M3FN] = "F8_E4M3",
    [DTYPE_F8E4M3FNUZ] = "F8_E4M3FNUZ",
    [DTYPE_F8E5M2] = "F8_E5M2",
    [DTYPE_F8E5M2FNUZ] = "F8_E5M2FNUZ",
    [DTYPE_F8E8M0] = "F8_E8M0",
    /* Names of ours: these take a byte each here, and less in others' files. */
    [DTYPE_F4E2M1] = "ASSAY_F4",
    [DTYPE_I4] = "ASSAY_I4",
    [DTYPE_U4] = "ASSAY_U4",
    [DTYPE_I2] = "ASSAY_I2",
    [DTYPE_U2] = "ASSAY_U2",
};

/* ---- reading ------------------------------------------------------------ */

struct safetensors {
    struct json_reader *json; /* the header */
    const unsigned char *data;
    size_t data_bytes;
};

static enum assay_status safetensors_bad_header(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "its header is not that of a safetensors file");
}

static enum assay_status safetensors_expect(struct json_reader *json,
                                            enum json_token token,
                                            struct error *err)
{
    enum json_token got = JSON_END;
    enum assay_status st = json_next(json, &got, err);

    return !st && got != token ? safetensors_bad_header(err) : st;
}

/* Reads an array of up to `max` natural numbers. */
static enum assay_status safetensors_read_numbers(struct json_reader *json,
                                                  int64_t *numbers, int max,
                                                  int *n, struct error *err)
{
    enum json_token token = JSON_END;
    enum assay_status st = safetensors_expect(json, JSON_ARRAY_BEGIN, err);

    for (*n = 0; !st; (*n)++) {
        st = json_next(json, &token, err);
        if (st || token == JSON_ARRAY_END)
            break;
        if (token != JSON_NUMBER || *n == max ||
            !json_int64(json, &numbers[*n]) || numbers[*n] < 0)
            return safetensors_bad_header(err);
    }
    return st;
}

static enum assay_status safetensors_read_type(struct json_reader *json,
                                               enum dtype *dtype,
                                               struct error *err)
{
    enum assay_status st = safetensors_expect(json, JSON_STRING, err);

    for (size_t i = 0; !st && i < sizeof types / sizeof *types; i++) {
        if (strcmp(json_text(json, NULL), types[i]) == 0) {
            *dtype = (enum dtype)i;
            return ASSAY_OK;
        }
    }
    return st ? st
              : error_set(err, ASSAY_UNSUPPORTED,
                          "elements of type %.20s are not supported",
                          json_text(json, NULL));
}

/* Reads the begin and end of a tensor's elements. */
static enum assay_status safetensors_read_place(struct safetensors *file,
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
                         "its elements are outside the file; if it is "
                         "truncated, fetch or copy it again");
    view->elements = file->data + places[0];
    *bytes = (size_t)(places[1] - places[0]);
    return ASSAY_OK;
}

static enum assay_status
safetensors_count_elements(struct checkpoint_view *view, size_t bytes,
                           struct error *err)
{
    size_t n, wanted;

    if (!shape_elements(&view->shape, &n) ||
        !mem_mul(n, dtype_bytes(view->dtype), &wanted) || wanted != bytes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its shape does not match the %zu bytes of its "
                         "elements",
                         bytes);
    view->n_elements = n;
    return ASSAY_OK;
}

/* Reads the object after a tensor's name. */
static enum assay_status safetensors_read_view(struct safetensors *file,
                                               struct checkpoint_view *view,
                                               struct error *err)
{
    enum { HAS_TYPE = 1, HAS_SHAPE = 2, HAS_PLACE = 4, HAS_ALL = 7 };
    enum json_token token = JSON_END;
    enum assay_status st =
        safetensors_expect(file->json, JSON_OBJECT_BEGIN, err);
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
            st = safetensors_bad_header(err);
        }
    }
    if (!st && has != HAS_ALL)
        st = safetensors_bad_header(err);
    return st ? st : safetensors_count_elements(view, bytes, err);
}

static enum assay_status safetensors_read_tensor(struct checkpoint *checkpoint,
                                                 struct safetensors *file,
                                                 struct error *err)
{
    struct checkpoint_view view = {0};
    const char *key = json_text(file->json, &view.name_bytes);
    char *name = arena_strndup(&checkpoint->names, key, view.name_bytes);
    enum assay_status st;

    if (!name)
        return error_nomem(err, view.name_bytes, "the name of a tensor");
    view.name = name;
    st = safetensors_read_view(file, &view, err);
    if (st)
        error_context(err, "tensor %s", name);
    return st ? st : checkpoint_add(checkpoint, &view, err);
}

/* Reads an object of texts. */
static enum assay_status safetensors_read_notes(struct checkpoint *checkpoint,
                                                struct json_reader *json,
                                                struct error *err)
{
    enum json_token token = JSON_END;
    enum assay_status st = safetensors_expect(json, JSON_OBJECT_BEGIN, err);
    struct str key = {0};

    while (!st) {
        st = json_next(json, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        str_clear(&key);
        if (str_append(&key, json_text(json, NULL)))
            st = error_nomem(err, key.n, "a file's metadata");
        if (!st)
            st = safetensors_expect(json, JSON_STRING, err);
        if (!st)
            st = checkpoint_add_note(checkpoint, str_text(&key),
                                     json_text(json, NULL), err);
    }
    str_release(&key);
    return st;
}

static void safetensors_find_dicts(struct checkpoint *checkpoint)
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

static enum assay_status safetensors_read_header(struct checkpoint *checkpoint,
                                                 struct safetensors *file,
                                                 struct error *err)
{
    enum json_token token = JSON_END;
    enum assay_status st =
        safetensors_expect(file->json, JSON_OBJECT_BEGIN, err);

    while (!st) {
        st = json_next(file->json, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        if (strcmp(json_text(file->json, NULL), "__metadata__") == 0)
            st = safetensors_read_notes(checkpoint, file->json, err);
        else
            st = safetensors_read_tensor(checkpoint, file, err);
    }
    return st ? st : safetensors_expect(file->json, JSON_END, err);
}

enum assay_status safetensors_read(struct checkpoint *checkpoint,
                                   const unsigned char *bytes, size_t n,
                                   struct error *err)
{
    uint64_t header = le64(bytes);
    struct safetensors file = {0};
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
        st = safetensors_read_header(checkpoint, &file, err);
    if (!st)
        safetensors_find_dicts(checkpoint);
    json_reader_free(file.json);
    return st;
}

/* ---- writing ------------------------------------------------------------ */

static void safetensors_put_tensor(struct json_writer *json,
                                   const struct named_tensor *named,
                                   uint64_t *at)
{
    const struct tensor *tensor = named->tensor;

    json_key(json, named->name);
    json_object_begin(json);
    json_member_string(json, "dtype", types[tensor->dtype]);
    json_key(json, "shape");
    json_array_begin(json);
    for (int i = 0; i < tensor->shape.rank; i++)
        json_write_int(json, tensor->shape.dims[i]);
    json_array_end(json);
    json_key(json, "data_offsets");
    json_array_begin(json);
    json_write_uint(json, *at);
    *at += tensor_bytes(tensor);
    json_write_uint(json, *at);
    json_array_end(json);
    json_object_end(json);
}

static enum assay_status
safetensors_make_header(const struct named_tensor *tensors, size_t n,
                        const struct named_text *texts, size_t n_texts,
                        struct str *header, struct error *err)
{
    struct sink sink = sink_to_str(header);
    struct json_writer json = json_writer(&sink, 0);
    uint64_t at = 0;

    json_object_begin(&json);
    if (n_texts) {
        json_key(&json, "__metadata__");
        json_object_begin(&json);
        for (size_t i = 0; i < n_texts; i++)
            json_member_string(&json, texts[i].key, texts[i].text);
        json_object_end(&json);
    }
    for (size_t i = 0; i < n; i++)
        safetensors_put_tensor(&json, &tensors[i], &at);
    json_object_end(&json);
    while ((length_bytes + header->n) % alignment && !sink.failed_errno)
        sink_puts(&sink, " ");
    return sink_status(&sink, err);
}

enum assay_status safetensors_write(const char *path,
                                    const struct named_tensor *tensors,
                                    size_t n, const struct named_text *texts,
                                    size_t n_texts, struct error *err)
{
    unsigned char length[length_bytes];
    struct output *output = NULL;
    struct str header = {0};
    enum assay_status st =
        safetensors_make_header(tensors, n, texts, n_texts, &header, err);

    if (!st)
        st = output_open(path, &output, err);
    if (!st) {
        struct sink *sink = output_sink(output);

        put_le64(length, header.n);
        sink_write(sink, (const char *)length, sizeof length);
        sink_write(sink, header.text, header.n);
        for (size_t i = 0; i < n && !sink->failed_errno; i++)
            sink_write(sink, tensor_data(tensors[i].tensor),
                       tensor_bytes(tensors[i].tensor));
        st = file_guards_hold(ASSAY_OK, err);
        if (st)
            output_discard(output);
        else
            st = output_commit(output, err);
    }
    str_release(&header);
    return st;
}

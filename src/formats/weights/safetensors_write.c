/* formats/weights/safetensors_write.c - see checkpoint_write.h. */
#include "formats/weights/checkpoint_write.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "base/json.h"
#include "base/mem.h"
#include "formats/little_endian_internal.h"
#include "formats/weights/checkpoint_internal.h"

/* Where the elements begin: a cache line. The header is padded with spaces. */
enum { alignment = 64, length_bytes = 8 };

static void write_tensor(struct json_writer *json,
                         const struct named_tensor *named, uint64_t *at)
{
    const struct tensor *tensor = named->tensor;

    json_key(json, named->name);
    json_object_begin(json);
    json_member_string(json, "dtype", safetensors_type(tensor->dtype));
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

static enum assay_status make_header(const struct named_tensor *tensors,
                                     size_t n, const struct named_text *texts,
                                     size_t n_texts, struct str *header,
                                     struct error *err)
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
        write_tensor(&json, &tensors[i], &at);
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
        make_header(tensors, n, texts, n_texts, &header, err);

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

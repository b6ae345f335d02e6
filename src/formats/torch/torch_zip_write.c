/* formats/torch/torch_zip_write.c - see checkpoint_write.h: writes a zip
 * archive with a pickle of names and shapes, and one entry per tensor.
 *
 * Entries are not compressed. As in files of torch.save() since PyTorch 1.6,
 * elements begin at multiples of 64 bytes. */
#include "formats/weights/checkpoint_write.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "formats/crc32_internal.h"
#include "formats/little_endian_internal.h"
#include "formats/torch/torch_values_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    alignment = 64,
    local_bytes = 30,   /* of an entry's header, without its name */
    central_bytes = 46, /* of its line in the directory */
    end_bytes = 22,
    max_entry_name = 32,
    version_needed = 20,
};

static const char folder[] = "archive";

/* ---- the pickle --------------------------------------------------------- */

/* The opcodes of protocol 2 that are needed here. */
enum opcode {
    OP_PROTO = 0x80,
    OP_MARK = '(',
    OP_STOP = '.',
    OP_EMPTY_TUPLE = ')',
    OP_TUPLE = 't',
    OP_REDUCE = 'R',
    OP_GLOBAL = 'c',
    OP_TEXT = 'X',
    OP_LONG = 0x8a,
    OP_FALSE = 0x89,
    OP_PERSISTENT = 'Q',
    OP_SET_ITEMS = 'u',
};

static void torch_put_op(struct sink *sink, enum opcode opcode)
{
    char byte = (char)opcode;

    sink_write(sink, &byte, 1);
}

static void torch_put_global(struct sink *sink, const char *module,
                             const char *name)
{
    torch_put_op(sink, OP_GLOBAL);
    sink_printf(sink, "%s\n%s\n", module, name);
}

static void torch_put_text(struct sink *sink, const char *text)
{
    unsigned char length[4];

    put_le32(length, (uint32_t)strlen(text));
    torch_put_op(sink, OP_TEXT);
    sink_write(sink, (const char *)length, sizeof length);
    sink_puts(sink, text);
}

static void torch_put_number(struct sink *sink, uint64_t number)
{
    unsigned char bytes[9] = {8};

    put_le64(bytes + 1, number);
    torch_put_op(sink, OP_LONG);
    sink_write(sink, (const char *)bytes, sizeof bytes);
}

static void torch_put_dict(struct sink *sink)
{
    torch_put_global(sink, "collections", "OrderedDict");
    torch_put_op(sink, OP_EMPTY_TUPLE);
    torch_put_op(sink, OP_REDUCE);
}

static void torch_put_shape(struct sink *sink, const struct shape *shape)
{
    torch_put_op(sink, OP_MARK);
    for (int i = 0; i < shape->rank; i++)
        torch_put_number(sink, (uint64_t)shape->dims[i]);
    torch_put_op(sink, OP_TUPLE);
}

static void torch_put_strides(struct sink *sink, const struct shape *shape)
{
    torch_put_op(sink, OP_MARK);
    for (int i = 0; i < shape->rank; i++) {
        uint64_t stride = 1;

        for (int k = i + 1; k < shape->rank; k++)
            stride *= (uint64_t)shape->dims[k];
        torch_put_number(sink, stride);
    }
    torch_put_op(sink, OP_TUPLE);
}

/* The arguments of _rebuild_tensor_v2(): storage, offset, size, stride,
 * requires_grad, hooks. */
static void torch_put_tensor(struct sink *sink, const struct tensor *tensor,
                             size_t number)
{
    char key[24];

    snprintf(key, sizeof key, "%zu", number);
    torch_put_global(sink, "torch._utils", "_rebuild_tensor_v2");
    torch_put_op(sink, OP_MARK);
    torch_put_op(sink, OP_MARK);
    torch_put_text(sink, "storage");
    torch_put_global(sink, "torch", torch_storage_class(tensor->dtype));
    torch_put_text(sink, key);
    torch_put_text(sink, "cpu");
    torch_put_number(sink, tensor_elements(tensor));
    torch_put_op(sink, OP_TUPLE);
    torch_put_op(sink, OP_PERSISTENT);
    torch_put_number(sink, 0);
    torch_put_shape(sink, &tensor->shape);
    torch_put_strides(sink, &tensor->shape);
    torch_put_op(sink, OP_FALSE);
    torch_put_dict(sink);
    torch_put_op(sink, OP_TUPLE);
    torch_put_op(sink, OP_REDUCE);
}

static enum assay_status torch_make_pickle(const struct named_tensor *tensors,
                                           size_t n, struct str *pickle,
                                           struct error *err)
{
    static const char protocol[] = {(char)OP_PROTO, 2};
    struct sink sink = sink_to_str(pickle);

    sink_write(&sink, protocol, sizeof protocol);
    torch_put_dict(&sink);
    torch_put_op(&sink, OP_MARK);
    for (size_t i = 0; i < n; i++) {
        torch_put_text(&sink, tensors[i].name);
        torch_put_tensor(&sink, tensors[i].tensor, i);
    }
    torch_put_op(&sink, OP_SET_ITEMS);
    torch_put_op(&sink, OP_STOP);
    return sink_status(&sink, err);
}

/* ---- the archive -------------------------------------------------------- */

struct archive {
    struct sink *sink;
    struct str directory;
    struct sink lines; /* into the directory */
    uint16_t n;
};

struct entry {
    char name[max_entry_name];
    uint32_t bytes, crc;
    uint64_t at; /* its header begins there */
};

/* The part that a local header and a line of the directory share. */
static void torch_put_common(unsigned char *bytes, const struct entry *entry)
{
    put_le16(bytes, version_needed);
    put_le32(bytes + 10, entry->crc);
    put_le32(bytes + 14, entry->bytes);
    put_le32(bytes + 18, entry->bytes);
    put_le16(bytes + 22, (uint16_t)strlen(entry->name));
}

/* The extra field "FB" aligns the data, as in PyTorch's own files. */
static void torch_put_header(struct archive *archive, const struct entry *entry)
{
    unsigned char header[local_bytes] = {'P', 'K', 3, 4};
    unsigned char extra[alignment + 4] = {'F', 'B'};
    uint64_t begin = entry->at + local_bytes + strlen(entry->name) + 4;
    size_t padding = (size_t)(alignment - begin % alignment) % alignment;

    torch_put_common(header + 4, entry);
    put_le16(header + 28, (uint16_t)(4 + padding));
    put_le16(extra + 2, (uint16_t)padding);
    sink_write(archive->sink, (const char *)header, sizeof header);
    sink_puts(archive->sink, entry->name);
    sink_write(archive->sink, (const char *)extra, 4 + padding);
}

static void torch_add_line(struct archive *archive, const struct entry *entry)
{
    unsigned char line[central_bytes] = {'P', 'K', 1, 2};

    put_le16(line + 4, version_needed);
    torch_put_common(line + 6, entry);
    put_le32(line + 42, (uint32_t)entry->at);
    sink_write(&archive->lines, (const char *)line, sizeof line);
    sink_puts(&archive->lines, entry->name);
    archive->n++;
}

static void torch_add_entry(struct archive *archive, const char *tail,
                            const void *data, size_t n)
{
    struct entry entry = {
        .bytes = (uint32_t)n,
        .crc = crc32_of(data, n),
        .at = archive->sink->written,
    };

    snprintf(entry.name, sizeof entry.name, "%s/%s", folder, tail);
    torch_put_header(archive, &entry);
    sink_write(archive->sink, data, n);
    torch_add_line(archive, &entry);
}

static void torch_zip_write_finish(struct archive *archive)
{
    unsigned char end[end_bytes] = {'P', 'K', 5, 6};

    put_le16(end + 8, archive->n);
    put_le16(end + 10, archive->n);
    put_le32(end + 12, (uint32_t)archive->directory.n);
    put_le32(end + 16, (uint32_t)archive->sink->written);
    sink_write(archive->sink, archive->directory.text, archive->directory.n);
    sink_write(archive->sink, (const char *)end, sizeof end);
}

static enum assay_status torch_check_tensors(const struct named_tensor *tensors,
                                             size_t n, struct error *err)
{
    /* At most: an entry's headers and a tensor's part of the pickle. */
    enum { most_around = 4096, most_entries = 60000 };
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (!torch_storage_class(tensors[i].tensor->dtype))
            return error_set(err, ASSAY_UNSUPPORTED,
                             "%s is %s, a type that PyTorch does not have",
                             tensors[i].name,
                             dtype_name(tensors[i].tensor->dtype));
        sum += tensor_bytes(tensors[i].tensor) + most_around;
    }
    if (sum > UINT32_MAX || n > most_entries)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%zu tensors of %" PRIu64 " bytes do not fit into a "
                         "PyTorch file; write a .safetensors file",
                         n, sum);
    return ASSAY_OK;
}

static enum assay_status torch_put_archive(const struct named_tensor *tensors,
                                           size_t n, const struct str *pickle,
                                           struct sink *sink, struct error *err)
{
    struct archive archive = {.sink = sink};
    enum assay_status st;

    archive.lines = sink_to_str(&archive.directory);
    torch_add_entry(&archive, "data.pkl", pickle->text, pickle->n);
    for (size_t i = 0; i < n && !sink->failed_errno; i++) {
        char tail[max_entry_name];

        snprintf(tail, sizeof tail, "data/%zu", i);
        torch_add_entry(&archive, tail, tensor_data(tensors[i].tensor),
                        tensor_bytes(tensors[i].tensor));
    }
    torch_add_entry(&archive, "version", "3\n", 2);
    torch_zip_write_finish(&archive);
    st = sink_status(&archive.lines, err);
    str_release(&archive.directory);
    return st;
}

enum assay_status torch_zip_write(const char *path,
                                  const struct named_tensor *tensors, size_t n,
                                  struct error *err)
{
    struct output *output = NULL;
    struct str pickle = {0};
    enum assay_status st = torch_check_tensors(tensors, n, err);

    if (!st)
        st = torch_make_pickle(tensors, n, &pickle, err);
    if (!st)
        st = output_open(path, &output, err);
    if (!st)
        st = torch_put_archive(tensors, n, &pickle, output_sink(output), err);
    str_release(&pickle);
    st = file_guards_hold(st, err);
    if (!st)
        return output_commit(output, err);
    output_discard(output);
    return st;
}

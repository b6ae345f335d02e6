/* ops/sequence/packed_list.c - see packed_list.h.
 *
 * All numbers are int64: the mark, how many items there are (-1: nothing), then
 * for each its type, rank, dimensions and where its elements begin, which are
 * aligned like those of any tensor. */
#include "ops/sequence/packed_list.h"

#include "base/mem.h"

#include <string.h>

enum {
    packed_head = 2,                      /* numbers before the items */
    packed_each = 2 + SHAPE_MAX_RANK + 1, /* numbers of an item */
    packed_alignment = 64
};

static const int64_t packed_mark = INT64_C(0x7165732079617373);

/* ---- unpacking ----------------------------------------------------------- */

static enum assay_status packed_refuse(const struct tensor *from,
                                       struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "%s is not a sequence of tensors",
                     dtype_name(from->dtype));
}

/* False if the numbers of an item do not fit the bytes. */
static bool packed_read_item(const struct tensor *from, const int64_t *numbers,
                             struct tensor *item)
{
    size_t all = tensor_bytes(from), n;
    int64_t at = numbers[2 + SHAPE_MAX_RANK];

    *item = (struct tensor){.buffer = from->buffer, .offset = from->offset};
    if (numbers[0] < 0 || numbers[0] > DTYPE_SEQUENCE || numbers[1] < 0 ||
        numbers[1] > SHAPE_MAX_RANK)
        return false;
    item->dtype = (enum dtype)numbers[0];
    item->shape.rank = (int)numbers[1];
    memcpy(item->shape.dims, numbers + 2, sizeof item->shape.dims);
    if (!shape_elements(&item->shape, &n) || n > all || at < 0 ||
        at % packed_alignment || (uint64_t)at > all ||
        n * dtype_bytes(item->dtype) > all - (size_t)at)
        return false;
    item->offset += (size_t)at;
    return true;
}

enum assay_status packed_open(const struct tensor *from, struct packed *out,
                              struct error *err)
{
    const size_t word = sizeof(int64_t);
    const int64_t *numbers;
    size_t n_numbers;
    bool is_fine = from->dtype == DTYPE_SEQUENCE && from->shape.rank == 1;

    *out = (struct packed){0};
    if (!is_fine)
        return packed_refuse(from, err);
    numbers = tensor_data(from);
    n_numbers = tensor_bytes(from) / word;
    if (n_numbers < packed_head || (uintptr_t)numbers % word ||
        numbers[0] != packed_mark || numbers[1] < -1 ||
        (numbers[1] > 0 &&
         (uint64_t)numbers[1] > (n_numbers - packed_head) / packed_each))
        return packed_refuse(from, err);
    out->is_none = numbers[1] < 0;
    if (numbers[1] <= 0)
        return ASSAY_OK;
    out->items = mem_array((size_t)numbers[1], sizeof *out->items);
    if (!out->items)
        return error_nomem(err, (size_t)numbers[1] * sizeof *out->items,
                           "a sequence");
    for (out->n = 0; is_fine && out->n < (size_t)numbers[1]; out->n++)
        is_fine =
            packed_read_item(from, numbers + packed_head + out->n * packed_each,
                             &out->items[out->n]);
    if (is_fine)
        return ASSAY_OK;
    packed_close(out);
    return packed_refuse(from, err);
}

void packed_close(struct packed *packed)
{
    mem_free(packed->items);
    *packed = (struct packed){0};
}

/* ---- packing ------------------------------------------------------------- */

static size_t packed_round(size_t bytes)
{
    return (bytes + packed_alignment - 1) / packed_alignment * packed_alignment;
}

enum assay_status packed_make(struct pool *pool, const struct tensor *items,
                              size_t n, struct tensor *out, struct error *err)
{
    size_t at = packed_round((packed_head + n * packed_each) * sizeof(int64_t));
    size_t total = at;
    struct shape shape;
    int64_t *numbers;
    enum assay_status st;

    for (size_t i = 0; i < n; i++)
        total += packed_round(tensor_bytes(&items[i]));
    shape = shape_of(1, (int64_t)total);
    st = tensor_new(pool, DTYPE_SEQUENCE, &shape, out, err);
    if (st)
        return st;
    memset(tensor_data(out), 0, at);
    numbers = tensor_data(out);
    numbers[0] = packed_mark;
    numbers[1] = items ? (int64_t)n : -1;
    for (size_t i = 0; i < n; i++) {
        int64_t *of_item = numbers + packed_head + i * packed_each;
        size_t bytes = tensor_bytes(&items[i]);

        of_item[0] = items[i].dtype;
        of_item[1] = items[i].shape.rank;
        memcpy(of_item + 2, items[i].shape.dims, sizeof items[i].shape.dims);
        of_item[2 + SHAPE_MAX_RANK] = (int64_t)at;
        if (bytes)
            memcpy((char *)numbers + at, tensor_data(&items[i]), bytes);
        memset((char *)numbers + at + bytes, 0, packed_round(bytes) - bytes);
        at += packed_round(bytes);
    }
    return ASSAY_OK;
}

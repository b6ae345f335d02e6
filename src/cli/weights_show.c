/* cli/weights_show.c - see weights_show.h. */
#include "cli/weights_show.h"

#include "base/json.h"
#include "base/units.h"

#include <stdio.h>

enum { type_columns = 8, shape_columns = 16, count_columns = 9, gap = 2 };

static size_t elements(const struct checkpoint_tensor *tensor)
{
    size_t n = 0;

    (void)shape_elements(&tensor->shape, &n); /* a checkpoint checks them */
    return n;
}

struct totals {
    double elements, bytes;
    size_t name_columns; /* of the longest name */
};

static struct totals add_up(const struct checkpoint *checkpoint)
{
    struct totals totals = {.name_columns = 4};

    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct checkpoint_tensor *tensor =
            checkpoint_tensor(checkpoint, i);
        double n = (double)elements(tensor);
        size_t columns = text_columns(tensor->name);

        totals.elements += n;
        totals.bytes += n * (double)dtype_bytes(tensor->dtype);
        if (columns > totals.name_columns)
            totals.name_columns = columns;
    }
    return totals;
}

static void put_row(struct sink *sink, const struct term *term, size_t columns,
                    const char *const cells[4])
{
    text_fit(sink, term, cells[0], columns, ALIGN_LEFT);
    sink_repeat(sink, " ", gap);
    text_fit(sink, term, cells[1], type_columns, ALIGN_LEFT);
    sink_repeat(sink, " ", gap);
    text_fit(sink, term, cells[2], shape_columns, ALIGN_LEFT);
    sink_repeat(sink, " ", gap);
    text_fit(sink, term, cells[3], count_columns, ALIGN_RIGHT);
    sink_puts(sink, "\n");
}

void weights_show_table(const struct checkpoint *checkpoint, const char *path,
                        struct sink *sink, const struct term *term)
{
    static const size_t others =
        type_columns + shape_columns + count_columns + 3 * gap;
    struct totals totals = add_up(checkpoint);
    size_t room =
        (size_t)term->width > others + 20 ? (size_t)term->width - others : 20;
    size_t columns = totals.name_columns < room ? totals.name_columns : room;
    char count[UNITS_MAX], bytes[UNITS_MAX], shape[64];

    sink_puts(sink, "file     ");
    text_put(sink, term, path);
    sink_printf(sink, "   %s\ntensors  %zu   %s elements   %s\n\n",
                checkpoint_kind_text(checkpoint_kind(checkpoint)),
                checkpoint_count(checkpoint),
                units_count(count, totals.elements),
                units_bytes(bytes, totals.bytes));
    put_row(sink, term, columns,
            (const char *const[]){"name", "type", "shape", "elements"});
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct checkpoint_tensor *tensor =
            checkpoint_tensor(checkpoint, i);

        snprintf(count, sizeof count, "%zu", elements(tensor));
        put_row(sink, term, columns,
                (const char *const[]){
                    tensor->name, dtype_name(tensor->dtype),
                    shape_text(&tensor->shape, shape, sizeof shape), count});
    }
}

static void put_tensor(struct json_writer *json,
                       const struct checkpoint_tensor *tensor)
{
    size_t n = elements(tensor);

    json_inline_object_begin(json);
    json_member_string(json, "name", tensor->name);
    json_member_string(json, "dtype", dtype_name(tensor->dtype));
    json_key(json, "shape");
    json_array_begin(json);
    for (int i = 0; i < tensor->shape.rank; i++)
        json_write_int(json, tensor->shape.dims[i]);
    json_array_end(json);
    json_member_int(json, "elements", (int64_t)n);
    json_member_int(json, "bytes", (int64_t)(n * dtype_bytes(tensor->dtype)));
    json_object_end(json);
}

void weights_show_json(const struct checkpoint *checkpoint, const char *path,
                       struct sink *sink)
{
    struct totals totals = add_up(checkpoint);
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "file", path);
    json_member_string(&json, "format",
                       checkpoint_kind_text(checkpoint_kind(checkpoint)));
    json_member_double(&json, "elements", totals.elements);
    json_member_double(&json, "bytes", totals.bytes);
    json_key(&json, "tensors");
    json_array_begin(&json);
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++)
        put_tensor(&json, checkpoint_tensor(checkpoint, i));
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

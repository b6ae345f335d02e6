/* cli/cmd_ops.c - assay ops: the ONNX ops that can be run. */
#include "cli/command.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/result.h"
#include "formats/onnx/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    bool json;
};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    OPTION_JSON("print JSON", FIELD(json)),
    {.kind = OPTION_END},
};

struct op_list {
    struct onnx_op_support *items;
    size_t n, capacity;
};

static int ops_by_name(const void *a, const void *b)
{
    const struct onnx_op_support *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);

    if (!order)
        order = strcmp(x->op_type, y->op_type);
    return order ? order : x->first - y->first;
}

/* Opsets that follow each other become one range. */
static void ops_join_ranges(struct op_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const struct onnx_op_support *next = &list->items[i];
        struct onnx_op_support *last = n ? &list->items[n - 1] : NULL;

        if (last && strcmp(last->op_type, next->op_type) == 0 &&
            last->last + 1 == next->first)
            last->last = next->last;
        else
            list->items[n++] = *next;
    }
    list->n = n;
}

static enum assay_status ops_collect(struct op_list *list, struct error *err)
{
    struct onnx_op_support op;

    while (onnx_op_support(list->n, &op)) {
        struct onnx_op_support *moved = vec_reserve(
            list->items, &list->capacity, list->n + 1, sizeof *list->items);

        if (!moved)
            return error_nomem(err, sizeof *moved, "the list of ops");
        list->items = moved;
        list->items[list->n++] = op;
    }
    qsort(list->items, list->n, sizeof *list->items, ops_by_name);
    ops_join_ranges(list);
    return ASSAY_OK;
}

static size_t ops_count_types(const struct op_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        n += !i ||
             strcmp(list->items[i].op_type, list->items[i - 1].op_type) != 0;
    return n;
}

enum { ops_name_size = 64 };

/* "Conv", or with the domain if it is not ONNX's own. */
static const char *ops_name(const struct onnx_op_support *op,
                            char name[ops_name_size])
{
    snprintf(name, ops_name_size, "%s%s%s", op->domain,
             op->domain[0] ? "." : "", op->op_type);
    return name;
}

static void ops_show_table(const struct op_list *list, struct sink *sink)
{
    sink_printf(sink, "%zu ONNX ops, with the supported opsets\n\n",
                ops_count_types(list));
    for (size_t i = 0; i < list->n; i++) {
        char name[ops_name_size];

        sink_printf(sink, "%-28s %d-%d\n", ops_name(&list->items[i], name),
                    list->items[i].first, list->items[i].last);
    }
}

static void ops_show_json(const struct op_list *list, struct sink *sink)
{
    struct json_writer json = json_writer(sink, 2);

    json_array_begin(&json);
    for (size_t i = 0; i < list->n; i++) {
        char name[ops_name_size];

        json_inline_object_begin(&json);
        json_member_string(&json, "op", ops_name(&list->items[i], name));
        json_member_int(&json, "first_opset", list->items[i].first);
        json_member_int(&json, "last_opset", list->items[i].last);
        json_object_end(&json);
    }
    json_array_end(&json);
    sink_puts(sink, "\n");
}

static enum assay_status run_ops(const struct arguments *arguments,
                                 struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct op_list list = {0};
    struct result result;
    enum assay_status st = ops_collect(&list, err);

    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        if (settings->json)
            ops_show_json(&list, result.sink);
        else
            ops_show_table(&list, result.sink);
        st = result_close(&result, ASSAY_OK, err);
    }
    mem_free(list.items);
    return st;
}

const struct command cmd_ops = {
    .name = "ops",
    .section = "Models",
    .purpose = "list the supported ONNX ops",
    .usage = TEXTS("ops [--json]"),
    .description =
        TEXTS("A model that uses other ops is refused with a list of them. "
              "Functions that a model defines are expanded into the ops they "
              "consist of."),
    .options = options,
    .settings_bytes = sizeof(struct settings),
    .run = run_ops,
};

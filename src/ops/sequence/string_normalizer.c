/* ops/sequence/string_normalizer.c - see string_normalizer.h. */
#include "ops/sequence/string_normalizer.h"

#include "base/mem.h"
#include "ops/attr_fields.h"
#include "ops/ops.h"
#include "ops/sequence/packed_list.h"

#include <string.h>

/* By hand: the C library's depends on the locale. */
static uint8_t changed_letter(enum case_change change, uint8_t letter)
{
    if (change == CASE_LOWER && letter >= 'A' && letter <= 'Z')
        return (uint8_t)(letter + 'a' - 'A');
    if (change == CASE_UPPER && letter >= 'a' && letter <= 'z')
        return (uint8_t)(letter + 'A' - 'a');
    return letter;
}

static bool is_same_word(const struct tensor *a, const struct tensor *b,
                         bool is_case_sensitive)
{
    enum case_change change = is_case_sensitive ? CASE_KEEP : CASE_LOWER;
    const uint8_t *of_a = tensor_data(a), *of_b = tensor_data(b);
    size_t n = tensor_bytes(a);
    bool is_same = n == tensor_bytes(b);

    for (size_t i = 0; is_same && i < n; i++)
        is_same =
            changed_letter(change, of_a[i]) == changed_letter(change, of_b[i]);
    return is_same;
}

static bool is_dropped(const struct tensor *text, const struct packed *words,
                       bool is_case_sensitive)
{
    for (size_t i = 1; i < words->n; i++) {
        if (is_same_word(text, &words->items[i], is_case_sensitive))
            return true;
    }
    return false;
}

/* Checks that it is texts [n] or [1,n], all of ASCII where letters count. */
static enum assay_status string_check(const struct node *node,
                                      const struct packed *texts,
                                      struct error *err)
{
    const struct string_normalizer_attrs *attrs = node->attrs;
    const struct tensor *shape = texts->n ? &texts->items[0] : NULL;
    bool is_letters = attrs->change != CASE_KEEP || !attrs->is_case_sensitive;
    size_t rank = shape ? tensor_elements(shape) : 0;

    if (!shape || shape->dtype != DTYPE_I64 || rank < 1 || rank > 2 ||
        (rank == 2 && tensor_i64(shape)[0] != 1) ||
        tensor_i64(shape)[rank - 1] != (int64_t)texts->n - 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its input is not a row of texts");
    for (size_t i = 1; i < texts->n; i++) {
        const uint8_t *bytes = tensor_data(&texts->items[i]);

        if (texts->items[i].dtype != DTYPE_U8)
            return error_set(err, ASSAY_BAD_INPUT, "text %zu is %s", i - 1,
                             dtype_name(texts->items[i].dtype));
        for (size_t k = 0; is_letters && k < tensor_bytes(&texts->items[i]);
             k++) {
            if (bytes[k] > 127)
                return error_set(err, ASSAY_BAD_INPUT,
                                 "text %zu has letters beyond ASCII, whose "
                                 "case is not known",
                                 i - 1);
        }
    }
    return ASSAY_OK;
}

/* Packs the texts that stay, and changes them there. */
static enum assay_status string_make(const struct op_context *context,
                                     const struct node *node,
                                     const struct packed *texts,
                                     const struct packed *words,
                                     struct tensor *out, struct error *err)
{
    const struct string_normalizer_attrs *attrs = node->attrs;
    struct tensor *kept = mem_array(texts->n + 2, sizeof *kept), shape = {0};
    struct shape nothing = {.rank = 1}, rank = texts->items[0].shape;
    struct packed made = {0};
    size_t n = 1;
    enum assay_status st;

    if (!kept)
        return error_nomem(err, texts->n * sizeof *kept, "a row of texts");
    for (size_t i = 1; i < texts->n; i++) {
        if (!is_dropped(&texts->items[i], words, attrs->is_case_sensitive))
            kept[n++] = texts->items[i];
    }
    if (n == 1)
        kept[n++] = (struct tensor){.dtype = DTYPE_U8, .shape = nothing};
    st = tensor_new(context->pool, DTYPE_I64, &rank, &shape, err);
    if (!st) {
        tensor_i64(&shape)[0] = 1;
        tensor_i64(&shape)[rank.dims[0] - 1] = (int64_t)n - 1;
        kept[0] = shape;
        st = packed_make(context->pool, kept, n, out, err);
    }
    if (!st)
        st = packed_open(out, &made, err);
    for (size_t i = 1; i < made.n; i++) {
        uint8_t *bytes = tensor_data(&made.items[i]);

        for (size_t k = 0; k < tensor_bytes(&made.items[i]); k++)
            bytes[k] = changed_letter(attrs->change, bytes[k]);
    }
    packed_close(&made);
    tensor_release(&shape);
    mem_free(kept);
    return st;
}

static enum assay_status
string_normalizer_forward(const struct op_context *context,
                          const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct tensor *list = op_input(node, inputs, 1);
    struct packed texts = {0}, words = {0};
    enum assay_status st = packed_open(inputs[0], &texts, err);

    if (!st && list)
        st = packed_open(list, &words, err);
    if (!st)
        st = string_check(node, &texts, err);
    if (!st)
        st = string_make(context, node, &texts, &words, &outputs[0], err);
    packed_close(&texts);
    packed_close(&words);
    return st;
}

static const char *const case_changes[] = {"keep", "lower", "upper", NULL};
ATTR_FIELDS(string_normalizer,
            FIELD_WORD(string_normalizer_attrs, change, case_changes),
            FIELD_FLAG(string_normalizer_attrs, is_case_sensitive));

const struct op_class op_string_normalizer = {
    .name = "StringNormalizer",
    OP_ATTRS(string_normalizer),
    OP_TAKES(1, 2),
    OP_MAKES(1, 1),
    .forward = string_normalizer_forward,
};

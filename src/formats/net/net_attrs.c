/* formats/net/net_attrs.c - see net_text_internal.h: attributes of ops as text.
 */
#include "formats/net/net_text_internal.h"
#include "ops/attr_fields.h"

/* ---- writing ------------------------------------------------------------ */

static const void *net_attrs_place_of(const struct attr_field *field,
                                      const void *attrs, size_t i)
{
    return (const char *)attrs + field->offset +
           i * attr_kind_bytes(field->kind);
}

static void net_attrs_put_value(struct sink *sink,
                                const struct attr_field *field, const void *at)
{
    switch (field->kind) {
    case ATTR_NUMBER:
        sink_printf(sink, "%lld", (long long)*(const int64_t *)at);
        break;
    case ATTR_SMALL:
        sink_printf(sink, "%d", *(const int *)at);
        break;
    case ATTR_COUNT:
        sink_printf(sink, "%zu", *(const size_t *)at);
        break;
    case ATTR_SEED:
        sink_printf(sink, "%lu", (unsigned long)*(const uint32_t *)at);
        break;
    case ATTR_FLAG:
        sink_puts(sink, *(const bool *)at ? "yes" : "no");
        break;
    case ATTR_FLOAT:
        net_put_float(sink, *(const float *)at);
        break;
    case ATTR_DOUBLE:
        net_put_number(sink, *(const double *)at);
        break;
    case ATTR_WORD:
        sink_puts(sink, field->words[*(const int *)at]);
        break;
    case ATTR_DTYPE:
        sink_puts(sink, dtype_name(*(const enum dtype *)at));
        break;
    }
}

static bool net_attrs_is_zero(const struct attr_field *field, const void *attrs)
{
    const unsigned char *at = net_attrs_place_of(field, attrs, 0);

    for (size_t i = 0; i < field->n * attr_kind_bytes(field->kind); i++) {
        if (at[i])
            return false;
    }
    return true;
}

bool net_put_attrs(struct sink *sink, const struct node *node)
{
    const struct attr_field *field = attr_fields(node->op);

    if (!field)
        return false;
    for (; field->name; field++) {
        if (net_attrs_is_zero(field, node->attrs))
            continue;
        sink_printf(sink, " %s=", field->name);
        for (size_t i = 0; i < field->n; i++) {
            sink_puts(sink, i ? "," : "");
            net_attrs_put_value(sink, field,
                                net_attrs_place_of(field, node->attrs, i));
        }
    }
    return true;
}

/* ---- reading ------------------------------------------------------------ */

static bool net_attrs_get_int(const struct net_line *line,
                              const struct attr_field *field, int64_t *value)
{
    return net_get_number(line, value) && *value >= field->min &&
           *value <= field->max;
}

static bool net_attrs_get_word(const struct net_line *line,
                               const struct attr_field *field, int *value)
{
    for (*value = 0; field->words[*value]; (*value)++) {
        if (net_is_word(line, field->words[*value]))
            return true;
    }
    return false;
}

static bool net_attrs_get_value(const struct net_line *line,
                                const struct attr_field *field, void *at)
{
    int64_t number = 0;
    double real = 0;

    switch (field->kind) {
    case ATTR_NUMBER:
        return net_attrs_get_int(line, field, at);
    case ATTR_SMALL:
        if (!net_attrs_get_int(line, field, &number))
            return false;
        *(int *)at = (int)number;
        return true;
    case ATTR_COUNT:
        if (!net_attrs_get_int(line, field, &number))
            return false;
        *(size_t *)at = (size_t)number;
        return true;
    case ATTR_SEED:
        if (!net_get_number(line, &number) || number < 0 || number > UINT32_MAX)
            return false;
        *(uint32_t *)at = (uint32_t)number;
        return true;
    case ATTR_FLAG:
        *(bool *)at = net_is_word(line, "yes");
        return *(bool *)at || net_is_word(line, "no");
    case ATTR_FLOAT:
        if (!net_get_double(line, &real))
            return false;
        *(float *)at = (float)real;
        return true;
    case ATTR_DOUBLE:
        return net_get_double(line, at);
    case ATTR_WORD:
        return net_attrs_get_word(line, field, at);
    case ATTR_DTYPE:
        return net_get_dtype(line, at);
    }
    return false;
}

enum assay_status net_get_attr(struct net_line *line, const struct op_class *op,
                               void *attrs, struct error *err)
{
    const struct attr_field *field = attr_fields(op);

    while (field && field->name && !net_is_word(line, field->name))
        field++;
    if (!field || !field->name)
        return error_set(err, ASSAY_BAD_INPUT, "%s has no attribute '%.60s'",
                         op->name, str_text(&line->word));
    for (size_t i = 0; i < field->n; i++) {
        if ((i && !net_take(line, ',')) || !net_next(line) ||
            !net_attrs_get_value(line, field,
                                 (void *)net_attrs_place_of(field, attrs, i)))
            return error_set(err, ASSAY_BAD_INPUT,
                             "'%.60s' is not a valid %s for %s",
                             str_text(&line->word), field->name, op->name);
    }
    return ASSAY_OK;
}

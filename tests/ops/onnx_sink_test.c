/* tests/ops/onnx_sink_test.c - ops written as ONNX, on a sink that writes text.
 */
#include "ops/onnx_sink.h"

#include "base/str.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>

/* The text so far, and the attributes of the next op. */
struct text_sink {
    struct onnx_sink sink;
    struct str text, attrs;
    char names[8][16];
    size_t n_names;
};

static struct text_sink *text_of(struct onnx_sink *to)
{
    return (struct text_sink *)to;
}

static void text_int(struct onnx_sink *to, const char *name, int64_t value)
{
    CHECK(!str_printf(&text_of(to)->attrs, " %s=%" PRId64, name, value));
}

static void text_float(struct onnx_sink *to, const char *name, double value)
{
    CHECK(!str_printf(&text_of(to)->attrs, " %s=%g", name, value));
}

static void text_ints(struct onnx_sink *to, const char *name,
                      const int64_t *values, size_t n)
{
    CHECK(!str_printf(&text_of(to)->attrs, " %s=", name));
    for (size_t i = 0; i < n; i++)
        CHECK(!str_printf(&text_of(to)->attrs, "%s%" PRId64, i ? "," : "",
                          values[i]));
}

static void text_put(struct onnx_sink *to, const char *op_type,
                     const char *const *inputs, size_t n_inputs,
                     const char *const *outputs, size_t n_outputs)
{
    struct text_sink *text = text_of(to);

    CHECK_INT(n_outputs, 1);
    CHECK(!str_printf(&text->text, "%s = %s(", outputs[0], op_type));
    for (size_t i = 0; i < n_inputs; i++)
        CHECK(!str_printf(&text->text, "%s%s", i ? ", " : "", inputs[i]));
    CHECK(!str_printf(&text->text, ")%s\n", str_text(&text->attrs)));
    str_clear(&text->attrs);
}

static const char *text_name(const struct onnx_sink *to, uint32_t value)
{
    static const char *const names[] = {"x", "w", "b", "y"};

    (void)to;
    return value == GRAPH_NONE ? "" : names[value];
}

static const char *text_add_name(struct onnx_sink *to, const char *what)
{
    char *name = text_of(to)->names[text_of(to)->n_names++];

    snprintf(name, 16, "%s", what);
    return name;
}

static const char *text_add_scalar(struct onnx_sink *to, float value)
{
    char *name = text_of(to)->names[text_of(to)->n_names++];

    snprintf(name, 16, "%.4f", (double)value);
    return name;
}

static void text_refuse(struct onnx_sink *to, const char *why)
{
    CHECK(!str_printf(&text_of(to)->text, "refused: %s\n", why));
}

static const struct onnx_sink_class text_class = {
    .attr_int = text_int,
    .attr_float = text_float,
    .attr_ints = text_ints,
    .put = text_put,
    .name = text_name,
    .add_name = text_add_name,
    .add_scalar = text_add_scalar,
    .refuse = text_refuse,
};

static void check_text(const struct op_class *op, void *attrs, uint32_t *inputs,
                       size_t n_inputs, const char *want)
{
    uint32_t y = 3;
    struct node node = {.op = op,
                        .attrs = attrs,
                        .inputs = inputs,
                        .n_inputs = n_inputs,
                        .outputs = &y,
                        .n_outputs = 1};
    struct text_sink text = {.sink = {.class = &text_class, .node = &node}};

    op->to_onnx(&text.sink);
    CHECK_STR(str_text(&text.text), want);
    str_release(&text.text);
    str_release(&text.attrs);
}

TEST(a_convolution_is_a_conv_with_pads_on_all_sides)
{
    struct conv2d_attrs attrs = {.stride = {2, 1},
                                 .dilation = {1, 3},
                                 .before = {4, 5},
                                 .after = {6, 7},
                                 .groups = 8};
    uint32_t inputs[] = {0, 1, 2, GRAPH_NONE};

    check_text(&op_conv2d, &attrs, inputs, 4,
               "y = Conv(x, w, b) strides=2,1 dilations=1,3 pads=4,5,6,7 "
               "group=8\n");
    attrs.has_relu = true;
    check_text(&op_conv2d, &attrs, inputs, 4,
               "refused: another op is fused into it\n");
}

TEST(an_op_that_onnx_does_not_have_becomes_several)
{
    uint32_t x = 0;

    check_text(&op_silu, NULL, &x, 1, "gate = Sigmoid(x)\ny = Mul(x, gate)\n");
    check_text(&op_gelu, NULL, &x, 1,
               "scaled = Mul(x, 0.7071)\nerf = Erf(scaled)\n"
               "sum = Add(erf, 1.0000)\ngate = Mul(sum, 0.5000)\n"
               "y = Mul(x, gate)\n");
}

TEST(an_op_of_the_same_name_keeps_all_its_inputs)
{
    uint32_t inputs[] = {0, 1};

    check_text(&op_sub, NULL, inputs, 2, "y = Sub(x, w)\n");
}

/* formats/onnx/onnx_map_products.c - matrix products. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/ops.h"
#include "ops/product/einsum.h"
#include "ops/product/linear.h"
#include "ops/product/matmul.h"

/* Whether it is a linear layer, which backends have: a weight of [outputs,
 * inputs] and a bias. The input's shape may be unknown, as for proposals: it is
 * always a matrix of the weight's type. */
static bool is_linear(struct onnx_call *call, const struct gemm_attrs *attrs)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    const struct tensor *w = onnx_constant(call, onnx_input(call, 1));
    const struct tensor *c = onnx_known(call, onnx_input(call, 2));

    return attrs->alpha == 1 && attrs->beta == 1 && !attrs->transposes_a &&
           attrs->transposes_b && w && w->dtype == DTYPE_F32 &&
           w->shape.rank == 2 &&
           (!x || (x->dtype == DTYPE_F32 && x->shape.rank == 2)) &&
           (onnx_input(call, 2) == GRAPH_NONE ||
            (c && c->shape.rank == 1 && c->shape.dims[0] == w->shape.dims[0]));
}

static void import_gemm(struct onnx_call *call)
{
    struct gemm_attrs attrs = {.alpha = onnx_float(call, "alpha", 1),
                               .beta = onnx_float(call, "beta", 1),
                               .transposes_a = onnx_int(call, "transA", 0),
                               .transposes_b = onnx_int(call, "transB", 0)};
    uint32_t inputs[] = {onnx_input(call, 0), onnx_input(call, 1),
                         onnx_input(call, 2)};

    if (is_linear(call, &attrs))
        onnx_emit_inputs(call, &op_linear, NULL, inputs, LINEAR_INPUTS);
    else
        onnx_emit_inputs(call, &op_gemm, &attrs, inputs, 3);
}

static void import_einsum(struct onnx_call *call)
{
    const char *text = onnx_text(call, "equation", "");
    struct einsum_attrs attrs = {0};
    size_t n = 0;

    for (; *text && n + 1 < EINSUM_TEXT; text++) {
        if (*text != ' ')
            attrs.equation[n++] = *text;
    }
    if (*text)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "equations of more than %d characters are not supported",
                  EINSUM_TEXT - 1);
    onnx_emit(call, &op_einsum, &attrs);
}

const struct onnx_op onnx_product_ops[] = {
    {"Det", 11, ONNX_NOW, 1, 1, onnx_import_named},
    {"Einsum", 12, ONNX_NOW, 1, ONNX_ANY, import_einsum},
    {"Gemm", 1, ONNX_NOW, 2, 3, import_gemm},
    {"MatMul", 1, ONNX_NOW, 2, 2, onnx_import_named},
    {0},
};

/* ops/product/lookup.c - Lookup: a table of what 8-bit numbers become. What
 * activations do to quantised numbers is such a table. */
#include "base/processor.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"
#include "ops/shape_rules.h"

enum { table_length = 256, lookup_piece = 1 << 14 };

#ifdef __x86_64__
#include <immintrin.h>

/* Looks up 64 numbers at a time, each half of the table with one instruction.
 * Returns how many are done. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static size_t
lookup_vectors(const uint8_t *x, uint8_t flip, const uint8_t *table, uint8_t *y,
               size_t n)
{
    enum { step = 64 };
    const __m512i flips = _mm512_set1_epi8((char)flip);
    __m512i parts[table_length / step];
    size_t i = 0;

    for (int k = 0; k < table_length / step; k++)
        parts[k] = _mm512_loadu_si512(table + k * step);
    for (; i + step <= n; i += step) {
        __m512i at = _mm512_xor_si512(_mm512_loadu_si512(x + i), flips);
        __m512i low = _mm512_permutex2var_epi8(parts[0], at, parts[1]);
        __m512i high = _mm512_permutex2var_epi8(parts[2], at, parts[3]);

        _mm512_storeu_si512(
            y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
    return i;
}

static bool lookup_has_vectors(void)
{
    return processor_level() >= PROCESSOR_AVX512 &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vbmi");
}
#endif

void lookup_row(enum dtype dtype, const void *x, const uint8_t *table,
                uint8_t *y, size_t n)
{
    const uint8_t *from = x;
    uint8_t flip = dtype == DTYPE_I8 ? 0x80 : 0;
    size_t i = 0;

#ifdef __x86_64__
    if (lookup_has_vectors())
        i = lookup_vectors(from, flip, table, y, n);
#endif
    for (; i < n; i++)
        y[i] = table[from[i] ^ flip];
}

static enum assay_status lookup_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct tensor *table = inputs[1];

    if (inputs[0]->dtype != DTYPE_U8 && inputs[0]->dtype != DTYPE_I8)
        return rule_undefined(node, inputs[0]->dtype, err);
    if (table->shape.rank != 1 || table->shape.dims[0] != table_length ||
        dtype_bytes(table->dtype) != 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the table needs 256 numbers of 8 bits");
    rule_set(&outputs[0], table->dtype, &inputs[0]->shape);
    return ASSAY_OK;
}

static enum assay_status lookup_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const uint8_t *x = tensor_data(inputs[0]), *table = tensor_data(inputs[1]);
    uint8_t *y = tensor_data(&outputs[0]);
    size_t n = tensor_elements(inputs[0]);

    (void)node, (void)err;
#pragma omp parallel for num_threads(op_threads(context)) if (n > lookup_piece)
    for (size_t at = 0; at < n; at += lookup_piece)
        lookup_row(inputs[0]->dtype, x + at, table, y + at,
                   n - at < lookup_piece ? n - at : lookup_piece);
    return ASSAY_OK;
}

const struct op_class op_lookup = {
    .name = "Lookup",
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = lookup_infer,
    .forward = lookup_forward,
    .cost = rule_cost_elementwise,
};

/* formats/onnx/onnx_attributes.c - see onnx_frame_internal.h: attributes that
 * no mapping asked for.
 *
 * An attribute that is silently left out makes wrong results. A mapping may
 * return before it asks for all it knows, and some attributes say nothing about
 * the values; these are listed here. */
#include "formats/onnx/onnx_frame_internal.h"

#include <string.h>

static const struct {
    const char *op_type, *name; /* op_type NULL: any */
    int64_t only;               /* the value that may be ignored; ANY: all */
} ignored[] = {
#define ANY INT64_MIN
    {NULL, "consumed_inputs", ANY}, /* a hint of opset 1 */
    {"Cast", "round_mode", ANY},    /* said only for one type */
    {"BatchNormalization", "momentum", ANY},
    {"Dropout", "seed", ANY},
    {"Gemm", "broadcast", ANY}, /* opset 6: any shape that fits */
    {"Upsample", "height_scale", 1},
    {"Upsample", "width_scale", 1},
};

static bool onnx_attributes_is_ignored(const char *op_type,
                                       const struct onnx_attribute *found)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        if ((!ignored[i].op_type || strcmp(ignored[i].op_type, op_type) == 0) &&
            strcmp(ignored[i].name, found->name) == 0)
            return ignored[i].only == ANY || ignored[i].only == found->i;
    }
    return false;
}

void onnx_attributes_check(struct onnx_call *call)
{
    const struct onnx_node *node = call->node;

    for (size_t i = 0; i < node->n_attributes && i < 64; i++) {
        const struct onnx_attribute *found = &node->attributes[i];

        if (!(*call->asked >> i & 1) &&
            !onnx_attributes_is_ignored(node->op_type, found)) {
            onnx_fail(call, ASSAY_UNSUPPORTED,
                      "its attribute '%.60s' is not known", found->name);
            return;
        }
    }
}

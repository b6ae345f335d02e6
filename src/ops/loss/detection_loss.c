/* ops/loss/detection_loss.c - see detection_loss_internal.h. */
#include "ops/loss/detection_loss_internal.h"

enum assay_status loss_check_labels(const struct tensor *labels,
                                    int64_t n_classes, struct error *err)
{
    for (size_t i = 0; i < tensor_elements(labels); i++) {
        int64_t label = tensor_i64(labels)[i];

        if (label < 0 || label >= n_classes)
            return error_set(err, ASSAY_BAD_INPUT,
                             "class %lld is not one of %lld", (long long)label,
                             (long long)n_classes);
    }
    return ASSAY_OK;
}

struct op_reads loss_reads(const struct node *node, uint64_t wanted)
{
    uint64_t all = (UINT64_C(1) << node->n_inputs) - 1;

    return (struct op_reads){.inputs = wanted ? all : 0};
}

void loss_count_cost(const struct tensor *answers, const struct tensor *targets,
                     uint64_t operations, struct cost *cost)
{
    cost->flops += tensor_elements(targets) * operations;
    cost_touches(cost, answers, tensor_bytes(targets));
}

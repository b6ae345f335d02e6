/* backend/cuda/cuda_dropout.c - dropout in training: the same draws as those of
 * ops/norm/dropout_training.c, forward and backward. */
#include "backend/cuda/cuda_backward.h"

#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/cuda_walk.h"
#include "ops/norm/dropout_training.h"

static bool is_left_out(const struct node *node, size_t input)
{
    return input >= node->n_inputs || node->inputs[input] == GRAPH_NONE;
}

/* What is drawn by a seed, with a ratio that is fixed. */
bool cuda_can_dropout(const struct cuda *cuda, const struct node *node,
                      const struct tensor *const *inputs)
{
    const struct dropout_training_attrs *attrs = node->attrs;

    (void)cuda;
    return attrs->is_on && attrs->ratio >= 0 && attrs->ratio < 1 &&
           node->n_outputs == 1 && is_left_out(node, DROPOUT_RATIO) &&
           is_left_out(node, DROPOUT_TRAINING) &&
           !is_left_out(node, DROPOUT_SEED) &&
           (!inputs || (inputs[DROPOUT_X]->dtype == DTYPE_F32 &&
                        tensor_elements(inputs[DROPOUT_SEED]) > 0));
}

/* As dropout_training_mix(). */
static uint64_t dropout_mix(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9U;
    key = (key ^ key >> 27) * 0x94d049bb133111ebU;
    return key ^ key >> 31;
}

/* Both dense. */
static enum assay_status drop(struct cuda_call *call, const struct tensor *seed,
                              const struct tensor *from,
                              const struct tensor *to)
{
    const struct dropout_training_attrs *attrs = call->node->attrs;
    double ratio = (double)attrs->ratio;
    uint64_t key = dropout_mix((uint64_t)cuda_host_number(seed, 0) +
                               dropout_mix(attrs->seed + (uint64_t)1));
    uint64_t limit = (uint64_t)(ratio * 0x1p53);
    float scale = (float)(1 / (1 - ratio));
    cu_pointer x = cuda_at(from), y = cuda_at(to);
    int64_t n = (int64_t)tensor_elements(from);

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(call, "gradient", "drop",
                       cuda_grid_for(call->cuda->device, (size_t)n, 2), x, y,
                       key, limit, scale, n);
}

enum assay_status cuda_run_dropout(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);

    return st ? st
              : drop(call, call->inputs[DROPOUT_SEED], call->inputs[DROPOUT_X],
                     &call->outputs[0]);
}

enum assay_status cuda_back_dropout(struct cuda_call *call,
                                    const struct op_backward *pass)
{
    struct tensor dy;
    enum assay_status st;

    if (!op_wants(pass, DROPOUT_X))
        return ASSAY_OK;
    st = cuda_in_layout(call, pass->dy[0], NULL, &dy);
    if (!st)
        st = cuda_tensor_new(call, &dy.shape, NULL, &pass->dx[DROPOUT_X]);
    if (!st)
        st = drop(call, pass->inputs[DROPOUT_SEED], &dy, &pass->dx[DROPOUT_X]);
    tensor_release(&dy);
    return st;
}

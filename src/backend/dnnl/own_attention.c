/* backend/dnnl/own_attention.c - Attention, with our own kernel where every
 * head has a q, k and v of its own. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/direct/direct.h"
#include "ops/product/attention.h"

/* A dimension counted from the end; 1 where there are fewer. */
static int64_t dim_from_end(const struct shape *shape, int i)
{
    return i <= shape->rank ? shape->dims[shape->rank - i] : 1;
}

/* Whether all but the last two dimensions are those of q. */
static bool has_heads_of(const struct shape *q, const struct shape *other)
{
    if (other->rank != q->rank)
        return false;
    for (int i = 0; i + 2 < q->rank; i++) {
        if (other->dims[i] != q->dims[i])
            return false;
    }
    return true;
}

/* Where the summand of each head is; false if it is not there as a matrix. */
static bool attention_summand(const struct tensor *summand,
                              const struct direct_attention *a,
                              struct direct_summand *out)
{
    const struct shape *shape;
    int64_t heads, batch;

    *out = (struct direct_summand){0};
    if (!summand)
        return true;
    shape = &summand->shape;
    heads = dim_from_end(shape, 3);
    batch = dim_from_end(shape, 4);
    if (summand->layout || summand->dtype != DTYPE_F32 || shape->rank > 4 ||
        dim_from_end(shape, 1) != a->m || dim_from_end(shape, 2) != a->n ||
        (heads != 1 && heads != a->heads) || (batch != 1 && batch != a->batch))
        return false;
    out->at = tensor_f32(summand);
    out->head_step = heads == 1 ? 0 : a->n * a->m;
    out->batch_step = batch == 1 ? 0 : heads * a->n * a->m;
    return true;
}

static bool attention_plan(const struct onednn *dn, const struct job *job,
                           const struct tensor *const *inputs,
                           struct direct_attention *a)
{
    const struct shape *q = &inputs[ATTENTION_Q]->shape;
    const struct shape *k = &inputs[ATTENTION_K]->shape;
    const struct shape *v = &inputs[ATTENTION_V]->shape;

    for (int i = ATTENTION_Q; i <= ATTENTION_V; i++) {
        if (inputs[i]->dtype != DTYPE_F32 || !tensor_elements(inputs[i]))
            return false;
    }
    if (job->is_training || dn->narrow || dn->options.is_plain || q->rank < 2 ||
        q->rank > 4 || !has_heads_of(q, k) || !has_heads_of(q, v))
        return false;
    *a = (struct direct_attention){.batch = dim_from_end(q, 4),
                                   .heads = dim_from_end(q, 3),
                                   .n = dim_from_end(q, 2),
                                   .d = dim_from_end(q, 1),
                                   .m = dim_from_end(k, 1),
                                   .e = dim_from_end(v, 1)};
    return direct_lanes() &&
           attention_summand(inputs[ATTENTION_PLUS], a, &a->plus) &&
           attention_summand(inputs[ATTENTION_MASK], a, &a->mask);
}

enum assay_status forward_attention(struct onednn *dn, struct job *job,
                                    const struct tensor *const *inputs,
                                    struct tensor *y, struct error *err)
{
    struct pool *pool = job->context->pool;
    struct tensor parts[ATTENTION_V + 1] = {{0}};
    struct buffer *scratch = NULL;
    struct direct_attention a;
    enum assay_status st = ASSAY_OK;

    if (!attention_plan(dn, job, inputs, &a))
        return own_kernel(dn, job, inputs, y, err);
    for (int i = ATTENTION_Q; !st && i <= ATTENTION_V; i++)
        st =
            layout_convert(dn, pool, inputs[i],
                           layout_dense(dn, &inputs[i]->shape), &parts[i], err);
    if (!st)
        st = pool_take_scratch(pool, direct_attention_scratch(a.d, a.m, a.e),
                               "a head of an attention", &scratch, err);
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &job->y, y, err);
    if (!st) {
        a.q = tensor_f32(&parts[ATTENTION_Q]);
        a.k = tensor_f32(&parts[ATTENTION_K]);
        a.v = tensor_f32(&parts[ATTENTION_V]);
        a.y = tensor_f32(y);
        a.scratch = buffer_data(scratch);
        direct_attention_run(&a);
    }
    buffer_release(scratch);
    for (int i = ATTENTION_Q; i <= ATTENTION_V; i++)
        tensor_release(&parts[i]);
    return st;
}

/* backend/dnnl/library.c - the calls that versions 2 and 3 of oneDNN share:
 * primitives found, made and run, products of matrices. */
#include "backend/dnnl/native_internal.h"

#include "base/mem.h"

#include <dnnl_debug.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

/* Memory as the library knows it. Values lie in the same places in every
 * iteration, and making one takes longer than a small kernel runs. */
struct made_memory {
    const void *native;
    void *data;
    dnnl_memory_t memory;
    uint64_t run; /* that used it last */
};

enum { N_MEMORIES = 512 };

enum assay_status onednn_status(dnnl_status_t status, const char *what,
                                struct error *err)
{
    if (status == dnnl_success)
        return ASSAY_OK;
    return error_set(
        err, status == dnnl_out_of_memory ? ASSAY_NOMEM : ASSAY_UNSUPPORTED,
        "oneDNN could not %s (%s)", what, dnnl_status2str(status));
}

void onednn_version(char *text, size_t size)
{
    const dnnl_version_t *version = dnnl_version();
    const char *limit = onednn_limit_word();
    int n = snprintf(text, size, "oneDNN %d.%d.%d", version->major,
                     version->minor, version->patch);

    if (limit && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " (ONEDNN_MAX_CPU_ISA=%s)", limit);
}

enum assay_status onednn_open(struct onednn *dn, struct error *err)
{
    enum assay_status st = onednn_status(
        dnnl_engine_create(&dn->engine, dnnl_cpu, 0), "start", err);

    if (!st)
        st = onednn_status(dnnl_stream_create(&dn->stream, dn->engine,
                                              dnnl_stream_default_flags),
                           "make a stream", err);
    if (st)
        return st;
    dn->memories = mem_zalloc(N_MEMORIES * sizeof *dn->memories);
    return dn->memories ? ASSAY_OK
                        : error_nomem(err, N_MEMORIES * sizeof *dn->memories,
                                      "descriptions of memory");
}

void onednn_close(struct onednn *dn)
{
    reorders_forget(dn);
    for (size_t i = 0; dn->memories && i < N_MEMORIES; i++)
        dnnl_memory_destroy(dn->memories[i].memory);
    mem_free(dn->memories);
    dn->memories = NULL;
    if (dn->stream)
        dnnl_stream_destroy(dn->stream);
    if (dn->engine)
        dnnl_engine_destroy(dn->engine);
    dn->stream = NULL;
    dn->engine = NULL;
}

bool onednn_scales_bias(void)
{
    return native_scales_bias;
}

/* ---- operations ---------------------------------------------------------- */

struct dims dims_of(const int64_t *values, int n)
{
    struct dims dims = {{0}};

    for (int i = 0; i < n; i++)
        dims.of[i] = values[i];
    return dims;
}

dnnl_alg_kind_t operation_algorithm(const struct operation *operation)
{
    switch (operation->algorithm) {
    case ALGORITHM_DIRECT:
        break;
    case ALGORITHM_WINOGRAD:
        return dnnl_convolution_winograd;
    case ALGORITHM_MAX:
        return dnnl_pooling_max;
    case ALGORITHM_MEAN:
        return dnnl_pooling_avg_exclude_padding;
    case ALGORITHM_MEAN_WITH_PADDING:
        return dnnl_pooling_avg_include_padding;
    }
    return operation->kind == OPERATION_DECONVOLUTION
               ? dnnl_deconvolution_direct
               : dnnl_convolution_direct;
}

dnnl_prop_kind_t operation_kind(const struct operation *operation)
{
    return operation->is_training ? dnnl_forward_training
                                  : dnnl_forward_inference;
}

static enum assay_status operation_check(const struct operation *operation,
                                         struct error *err)
{
    const struct layout *const layouts[] = {operation->src, operation->weights,
                                            operation->bias, operation->dst};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof layouts / sizeof *layouts; i++)
        st = layout_check(layouts[i], err);
    return st;
}

bool operation_leaves_activation(const struct operation *operation)
{
    return operation->activation && operation->algorithm == ALGORITHM_WINOGRAD;
}

static dnnl_status_t append_activation(const struct operation *operation,
                                       dnnl_post_ops_t operations)
{
    static const struct {
        dnnl_alg_kind_t kind;
        float alpha, beta;
    } kinds[] = {
        [CONV2D_SILU] = {dnnl_eltwise_swish, 1, 0},
        [CONV2D_SIGMOID] = {dnnl_eltwise_logistic, 0, 0},
        [CONV2D_HARD_SWISH] = {dnnl_eltwise_hardswish, 1.0F / 6, 0.5F},
        [CONV2D_MISH] = {dnnl_eltwise_mish, 0, 0},
        [CONV2D_LEAKY_RELU] = {dnnl_eltwise_relu, 0, 0},
    };
    enum conv2d_activation at = operation->activation;

    if (operation->has_relu && operation->relu_limit > 0)
        return native_append_eltwise(operations, dnnl_eltwise_clip, 0,
                                     operation->relu_limit);
    if (operation->has_relu)
        return native_append_eltwise(operations, dnnl_eltwise_relu, 0, 0);
    if (!at || operation_leaves_activation(operation))
        return dnnl_success;
    return native_append_eltwise(operations, kinds[at].kind,
                                 at == CONV2D_LEAKY_RELU ? operation->slope
                                                         : kinds[at].alpha,
                                 kinds[at].beta);
}

/* Rounds before it moves: next to a zero of 128, float32 is too coarse to tell
 * on which side of the middle between two steps a number lies. After an
 * activation, oneDNN 2.6 makes nonsense of three more operations; there it is
 * one. */
static dnnl_status_t append_steps(const struct quantisation *quantised,
                                  dnnl_post_ops_t operations)
{
    dnnl_status_t status = dnnl_success;

    if (quantised->unit == 1 && quantised->shift == 0)
        return dnnl_success;
    if (quantised->unit == 1)
        status = native_append_eltwise(operations, dnnl_eltwise_round, 0, 0);
    if (!status)
        status = native_append_eltwise(operations, dnnl_eltwise_linear,
                                       quantised->unit, quantised->shift);
    return status;
}

static dnnl_status_t operation_append(const struct operation *operation,
                                      dnnl_primitive_attr_t attributes)
{
    dnnl_post_ops_t operations;
    dnnl_status_t status = dnnl_post_ops_create(&operations);

    if (status)
        return status;
    if (operation->adds)
        status = native_append_sum(operations);
    if (!status)
        status = append_activation(operation, operations);
    if (!status && operation->quantised)
        status = append_steps(operation->quantised, operations);
    if (!status)
        status = dnnl_primitive_attr_set_post_ops(attributes, operations);
    dnnl_post_ops_destroy(operations);
    return status;
}

dnnl_status_t operation_attributes(const struct operation *operation,
                                   dnnl_primitive_attr_t *out)
{
    dnnl_status_t status = dnnl_primitive_attr_create(out);

    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(
            *out, dnnl_scratchpad_mode_user);
    if (!status && operation)
        status = operation_append(operation, *out);
    if (!status && operation && operation->quantised)
        status = native_set_scales(*out, operation->quantised);
    return status;
}

/* ---- implementations ----------------------------------------------------- */

static const char *found_name(const struct search *search)
{
    const char *name = "";

    dnnl_primitive_desc_query(search->found, dnnl_query_impl_info_str, 0,
                              (void *)&name);
    return name;
}

enum assay_status search_layout(struct onednn *dn, const struct search *search,
                                dnnl_query_t what, const struct layout **out,
                                struct error *err)
{
    return layout_intern(
        dn, dnnl_primitive_desc_query_md(search->found, what, 0), out, err);
}

/* Shows them all; *status is what the last step answered. */
static enum assay_status list_found(struct onednn *dn,
                                    const struct operation *operation,
                                    struct search *search,
                                    visit_implementation *visit, void *context,
                                    dnnl_status_t *status, struct error *err)
{
    dnnl_query_t what = operation->direction == DIRECTION_FORWARD
                            ? dnnl_query_dst_md
                            : dnnl_query_diff_dst_md;
    const struct layout *y;
    enum assay_status st;

    do {
        st = search_layout(dn, search, what, &y, err);
        if (st || !visit(found_name(search), y, context))
            return st;
        *status = search_next(search);
    } while (!*status);
    return ASSAY_OK;
}

enum assay_status onednn_list(struct onednn *dn,
                              const struct operation *operation,
                              visit_implementation *visit, void *context,
                              struct error *err)
{
    dnnl_primitive_attr_t attributes = NULL;
    struct search search = {0};
    enum assay_status st = operation_check(operation, err);
    dnnl_status_t status;

    if (st)
        return st;
    status = operation_attributes(operation, &attributes);
    if (!status)
        status = search_begin(dn, operation, attributes, &search);
    if (!status)
        st = list_found(dn, operation, &search, visit, context, &status, err);
    search_end(&search);
    dnnl_primitive_attr_destroy(attributes);
    if (st || status == dnnl_unimplemented || status == dnnl_invalid_arguments)
        return st;
    return onednn_status(status, "list its kernels", err);
}

/* Moves on to the implementation of that name. */
static dnnl_status_t search_seek(struct search *search, const char *name)
{
    dnnl_status_t status = dnnl_success;

    while (!status && strcmp(found_name(search), name) != 0)
        status = search_next(search);
    return status;
}

/* What each direction reads and makes, by the library's names. */
static const struct {
    dnnl_query_t src, weights, dst;
    int arguments[N_ROLES];
} names[N_DIRECTIONS] = {
    [DIRECTION_FORWARD] = {dnnl_query_src_md,
                           dnnl_query_weights_md,
                           dnnl_query_dst_md,
                           {[ROLE_SRC] = DNNL_ARG_SRC,
                            [ROLE_WEIGHTS] = DNNL_ARG_WEIGHTS,
                            [ROLE_BIAS] = DNNL_ARG_BIAS,
                            [ROLE_DST] = DNNL_ARG_DST,
                            [ROLE_WORKSPACE] = DNNL_ARG_WORKSPACE,
                            [ROLE_SCRATCH] = DNNL_ARG_SCRATCHPAD}},
    [DIRECTION_DATA] = {dnnl_query_diff_dst_md,
                        dnnl_query_weights_md,
                        dnnl_query_diff_src_md,
                        {[ROLE_SRC] = DNNL_ARG_DIFF_DST,
                         [ROLE_WEIGHTS] = DNNL_ARG_WEIGHTS,
                         [ROLE_DST] = DNNL_ARG_DIFF_SRC,
                         [ROLE_WORKSPACE] = DNNL_ARG_WORKSPACE,
                         [ROLE_SCRATCH] = DNNL_ARG_SCRATCHPAD}},
    [DIRECTION_WEIGHTS] = {dnnl_query_src_md,
                           dnnl_query_diff_weights_md,
                           dnnl_query_diff_dst_md,
                           {[ROLE_SRC] = DNNL_ARG_SRC,
                            [ROLE_WEIGHTS] = DNNL_ARG_DIFF_WEIGHTS,
                            [ROLE_BIAS] = DNNL_ARG_DIFF_BIAS,
                            [ROLE_DST] = DNNL_ARG_DIFF_DST,
                            [ROLE_WORKSPACE] = DNNL_ARG_WORKSPACE,
                            [ROLE_SCRATCH] = DNNL_ARG_SCRATCHPAD}},
};

static enum assay_status describe_found(struct onednn *dn,
                                        const struct search *search,
                                        enum direction direction,
                                        struct kernel *kernel,
                                        struct error *err)
{
    const struct {
        dnnl_query_t what;
        const struct layout **to;
    } queries[] = {{names[direction].src, &kernel->src},
                   {names[direction].weights, &kernel->weights},
                   {names[direction].dst, &kernel->dst},
                   {dnnl_query_scratchpad_md, &kernel->scratch},
                   {dnnl_query_workspace_md, &kernel->workspace}};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof queries / sizeof *queries; i++)
        st = search_layout(dn, search, queries[i].what, queries[i].to, err);
    kernel->part_src = kernel->src;
    kernel->part_dst = kernel->dst;
    return st;
}

enum assay_status primitive_make(const_dnnl_primitive_desc_t description,
                                 const char *what, dnnl_primitive_t *out,
                                 struct error *err)
{
    static const size_t code_bytes = 4 << 20;
    void *spare = mem_map(code_bytes);

    if (!spare)
        return error_nomem(err, code_bytes, "the code of a kernel");
    mem_unmap(spare, code_bytes);
    return onednn_status(dnnl_primitive_create(out, description), what, err);
}

/* Of the one that was found, or of the next that the library can make: some
 * that it lists fail only then (AVX-512's bf16 with groups and an odd row). */
static enum assay_status make_found(struct onednn *dn,
                                    const struct operation *operation,
                                    struct search *search,
                                    struct kernel *kernel, struct error *err)
{
    enum assay_status st;

    do {
        st = describe_found(dn, search, operation->direction, kernel, err);
        if (!st)
            st = primitive_make(search->found, "make a kernel",
                                &kernel->primitive, err);
    } while (st == ASSAY_UNSUPPORTED && !search_next(search));
    return st;
}

enum assay_status onednn_make(struct onednn *dn,
                              const struct operation *operation,
                              const char *implementation, struct kernel *kernel,
                              struct error *err)
{
    dnnl_primitive_attr_t attributes = NULL;
    struct search search = {0};
    enum assay_status st = operation_check(operation, err);

    if (!st)
        st = onednn_status(operation_attributes(operation, &attributes),
                           "describe what is fused", err);
    if (!st)
        st = onednn_status(search_begin(dn, operation, attributes, &search),
                           "find a kernel", err);
    if (!st && implementation)
        st = onednn_status(search_seek(&search, implementation),
                           "find the kernel wanted", err);
    if (!st)
        st = make_found(dn, operation, &search, kernel, err);
    search_end(&search);
    dnnl_primitive_attr_destroy(attributes);
    return st;
}

void onednn_destroy(struct dnnl_primitive *primitive)
{
    dnnl_primitive_destroy(primitive);
}

/* ---- running ------------------------------------------------------------- */

/* Making memory clears what fills up the last block, which a kernel may count
 * on: only where there is no such thing, the same one serves again. */
struct place place_of(int argument, const struct layout *layout, void *data)
{
    size_t n;
    bool is_kept = layout && layout->native &&
                   shape_elements(&layout->shape, &n) &&
                   layout->bytes == n * dtype_bytes(layout->dtype);

    return (struct place){argument, layout_native(layout), data, is_kept};
}

size_t pair_slot(const void *a, const void *b, size_t n)
{
    const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    uint64_t hash = ((uintptr_t)a * mix ^ (uintptr_t)b) * mix;

    return (size_t)((hash >> 32) % n);
}

/* Where such memory is kept; NULL: nowhere, or another one that this run needs
 * has its place. */
static struct made_memory *memory_slot(struct onednn *dn,
                                       const struct place *place)
{
    struct made_memory *slot =
        &dn->memories[pair_slot(place->native, place->data, N_MEMORIES)];

    if (!place->is_kept)
        return NULL;
    if (slot->memory && slot->run == dn->n_runs &&
        (slot->native != place->native || slot->data != place->data))
        return NULL;
    return slot;
}

/* *is_own: it is for this run alone. */
static dnnl_status_t find_memory(struct onednn *dn, const struct place *place,
                                 dnnl_memory_t *memory, bool *is_own)
{
    struct made_memory *slot = memory_slot(dn, place);
    dnnl_status_t status = dnnl_success;

    *is_own = !slot;
    if (!slot)
        return dnnl_memory_create(memory, place->native, dn->engine,
                                  place->data);
    if (!slot->memory || slot->native != place->native ||
        slot->data != place->data) {
        dnnl_memory_destroy(slot->memory);
        *slot =
            (struct made_memory){.native = place->native, .data = place->data};
        status = dnnl_memory_create(&slot->memory, place->native, dn->engine,
                                    place->data);
    }
    slot->run = dn->n_runs;
    *memory = slot->memory;
    return status;
}

enum assay_status primitive_run(struct onednn *dn, dnnl_primitive_t primitive,
                                const struct place *places, size_t n,
                                struct error *err)
{
    dnnl_exec_arg_t list[N_ROLES] = {{0}};
    dnnl_status_t status = dnnl_success;
    bool is_own[N_ROLES];
    size_t made = 0;

    dn->n_runs++;
    for (size_t i = 0; i < n && !status; i++) {
        list[made].arg = places[i].argument;
        status = find_memory(dn, &places[i], &list[made].memory, &is_own[made]);
        made += !status;
    }
    if (!status)
        status = dnnl_primitive_execute(primitive, dn->stream, (int)made, list);
    if (!status)
        status = dnnl_stream_wait(dn->stream);
    for (size_t i = 0; i < made; i++) {
        if (is_own[i])
            dnnl_memory_destroy(list[i].memory);
    }
    return onednn_status(status, "run a kernel", err);
}

enum assay_status onednn_execute(struct onednn *dn,
                                 struct dnnl_primitive *primitive,
                                 enum direction direction,
                                 const struct argument *arguments, size_t n,
                                 struct error *err)
{
    struct place places[N_ROLES];
    size_t n_places = 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        enum role role = arguments[i].role;
        int argument = role < ROLE_SCALES ? names[direction].arguments[role]
                                          : native_scale_argument(role);

        st = layout_check(arguments[i].layout, err);
        if (argument)
            places[n_places++] =
                place_of(argument, arguments[i].layout, arguments[i].data);
    }
    return st ? st : primitive_run(dn, primitive, places, n_places, err);
}

/* ---- products of matrices ------------------------------------------------ */

/* How a matrix lies for a BLAS: in rows, or in columns. */
struct blas_matrix {
    char is_transposed; /* 'T' or 'N' */
    dnnl_dim_t step;
};

static bool blas_matrix(int64_t row_step, int64_t column_step, int64_t rows,
                        int64_t columns, struct blas_matrix *out)
{
    if (column_step == 1 && row_step >= columns)
        *out = (struct blas_matrix){'N', row_step};
    else if (row_step == 1 && column_step >= rows)
        *out = (struct blas_matrix){'T', column_step};
    else
        return false;
    return true;
}

bool onednn_multiply(const struct op_context *context,
                     const struct float_product *product)
{
    int64_t m = product->m, n = product->n, k = product->k;
    struct blas_matrix a, b;

    if (context->n_threads > 0)
        omp_set_num_threads(context->n_threads);
    return blas_matrix(product->a_row, product->a_column, m, k, &a) &&
           blas_matrix(product->b_row, product->b_column, k, n, &b) &&
           dnnl_sgemm(a.is_transposed, b.is_transposed, m, n, k, 1, product->a,
                      a.step, product->b, b.step, 0, product->y,
                      n) == dnnl_success;
}

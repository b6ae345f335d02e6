/* backend/dnnl/reorders.c - tensors and weights from one layout into another,
 * by oneDNN. */
#include "backend/dnnl/native_internal.h"

static enum assay_status make_reorder(struct onednn *dn, const void *from,
                                      const void *to,
                                      dnnl_primitive_t *primitive,
                                      const struct layout **scratch,
                                      struct error *err)
{
    dnnl_primitive_attr_t attributes = NULL;
    struct search search = {0};
    dnnl_status_t status = operation_attributes(NULL, &attributes);
    enum assay_status st;

    if (!status)
        status = dnnl_reorder_primitive_desc_create(
            &search.found, from, dn->engine, to, dn->engine, attributes);
    st = onednn_status(status, "make a reorder", err);
    if (!st)
        st = search_layout(dn, &search, dnnl_query_scratchpad_md, scratch, err);
    if (!st)
        st = primitive_make(search.found, "make a reorder", primitive, err);
    dnnl_primitive_desc_destroy(search.found);
    dnnl_primitive_attr_destroy(attributes);
    return st;
}

static enum assay_status run_reorder(struct onednn *dn, struct pool *pool,
                                     dnnl_primitive_t primitive,
                                     const struct layout *scratch,
                                     struct place from, struct place to,
                                     struct error *err)
{
    struct place places[] = {from, to, {.argument = DNNL_ARG_SCRATCHPAD}};
    struct buffer *memory = NULL;
    enum assay_status st = ASSAY_OK;

    if (scratch) {
        st = pool_take(pool, scratch->bytes, "a reorder's scratch memory",
                       &memory, err);
        places[2].native = layout_native(scratch);
        places[2].data = st ? NULL : buffer_data(memory);
    }
    if (!st)
        st = primitive_run(dn, primitive, places, scratch ? 3 : 2, err);
    buffer_release(memory);
    return st;
}

/* Made for one use. */
static enum assay_status reorder_once(struct onednn *dn, struct pool *pool,
                                      const void *from, const void *data,
                                      const void *to, void *out,
                                      struct error *err)
{
    const struct layout *scratch = NULL;
    dnnl_primitive_t primitive = NULL;
    enum assay_status st =
        make_reorder(dn, from, to, &primitive, &scratch, err);

    if (!st)
        st = run_reorder(
            dn, pool, primitive, scratch,
            (struct place){DNNL_ARG_FROM, from, (void *)data, false},
            (struct place){DNNL_ARG_TO, to, out, false}, err);
    dnnl_primitive_destroy(primitive);
    return st;
}

static struct made_reorder **reorder_list(struct onednn *dn,
                                          const struct layout *from,
                                          const struct layout *to)
{
    return &dn->reorders[pair_slot(from, to, N_REORDER_LISTS)];
}

/* Weights are reordered once, and the shapes of some models never end. */
static bool is_worth_keeping(const struct onednn *dn,
                             const struct made_reorder *wanted)
{
    return wanted->from->order != ORDER_OTHER &&
           wanted->to->order != ORDER_OTHER && dn->n_reorders < MAX_REORDERS;
}

/* Making one takes longer than moving a small map. *out NULL: it is not kept.
 */
static enum assay_status keep_reorder(struct onednn *dn,
                                      const struct layout *from,
                                      const struct layout *to,
                                      const struct made_reorder **out,
                                      struct error *err)
{
    struct made_reorder wanted = {.from = from, .to = to};
    struct made_reorder **list = reorder_list(dn, from, to), *made = *list;
    enum assay_status st;

    while (made && (made->from != from || made->to != to))
        made = made->next;
    *out = made;
    if (made || !is_worth_keeping(dn, &wanted))
        return ASSAY_OK;
    made = arena_alloc(&dn->memory, sizeof *made);
    if (!made)
        return error_nomem(err, sizeof *made, "a reorder");
    wanted.next = *list;
    *made = wanted;
    st = make_reorder(dn, from->native, to->native, &made->primitive,
                      &made->scratch, err);
    if (st)
        return st;
    dn->n_reorders++;
    *list = made;
    *out = made;
    return ASSAY_OK;
}

static enum assay_status check_both(const struct layout *from,
                                    const struct layout *to, struct error *err)
{
    enum assay_status st = layout_check(from, err);

    return st ? st : layout_check(to, err);
}

enum assay_status onednn_reorder(struct onednn *dn, struct pool *pool,
                                 const struct layout *from, const void *data,
                                 const struct layout *to, void *out,
                                 struct error *err)
{
    const struct made_reorder *made;
    enum assay_status st = check_both(from, to, err);

    if (!st)
        st = keep_reorder(dn, from, to, &made, err);
    if (st)
        return st;
    return made ? run_reorder(dn, pool, made->primitive, made->scratch,
                              place_of(DNNL_ARG_FROM, from, (void *)data),
                              place_of(DNNL_ARG_TO, to, out), err)
                : reorder_once(dn, pool, from->native, data, to->native, out,
                               err);
}

enum assay_status onednn_reorder_rows(struct onednn *dn, struct pool *pool,
                                      const struct layout *from,
                                      const void *data, const struct layout *to,
                                      int64_t first, void *out,
                                      struct error *err)
{
    int64_t offsets[SHAPE_MAX_RANK] = {first};
    enum assay_status st = check_both(from, to, err);
    void *part = NULL;

    if (!st)
        st =
            onednn_status(native_part(to->native, &from->shape, offsets, &part),
                          "cut weights into rows", err);
    if (!st)
        st = reorder_once(dn, pool, from->native, data, part, out, err);
    native_free(part);
    return st;
}

void reorders_forget(struct onednn *dn)
{
    for (size_t i = 0; i < N_REORDER_LISTS; i++) {
        for (struct made_reorder *at = dn->reorders[i]; at; at = at->next)
            dnnl_primitive_destroy(at->primitive);
        dn->reorders[i] = NULL;
    }
    dn->n_reorders = 0;
}

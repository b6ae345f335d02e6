/* run/align.c - matches the scopes of A with those of B. */
#include "run/compare_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

/* How far ahead to look for a renamed scope among its new neighbours. */
enum { rename_reach = 8 };

struct aligner {
    const struct run *a, *b;
    uint32_t *b_of_a, *a_of_b; /* partners, RUN_NONE if there is none */
    struct compare_row *pending;
    size_t n_pending, pending_capacity;
};

static uint32_t align_first_child(const struct run *run, uint32_t scope)
{
    return run_scope(run, scope)->first_child;
}

static uint32_t align_next_sibling(const struct run *run, uint32_t scope)
{
    return run_scope(run, scope)->next_sibling;
}

static bool align_is_leaf(const struct run *run, uint32_t scope)
{
    return align_first_child(run, scope) == RUN_NONE;
}

/* Whether two scopes could be one under two names: they have the same class,
 * and mostly the same classes below them in the same order. */
static bool align_is_alike(const struct aligner *aligner, uint32_t a,
                           uint32_t b)
{
    size_t alike = 0, longer = 0;

    if (strcmp(run_scope(aligner->a, a)->class_name,
               run_scope(aligner->b, b)->class_name) != 0 ||
        align_is_leaf(aligner->a, a) != align_is_leaf(aligner->b, b))
        return false;
    a = align_first_child(aligner->a, a);
    b = align_first_child(aligner->b, b);
    while (a != RUN_NONE || b != RUN_NONE) {
        longer++;
        if (a != RUN_NONE && b != RUN_NONE)
            alike +=
                strcmp(run_scope(aligner->a, a)->class_name,
                       run_scope(aligner->b, b)->class_name) == 0 &&
                align_is_leaf(aligner->a, a) == align_is_leaf(aligner->b, b);
        a = a == RUN_NONE ? a : align_next_sibling(aligner->a, a);
        b = b == RUN_NONE ? b : align_next_sibling(aligner->b, b);
    }
    return 2 * alike >= longer;
}

static void align_make_partners(struct aligner *aligner, uint32_t a, uint32_t b)
{
    aligner->b_of_a[a] = b;
    aligner->a_of_b[b] = a;
}

static enum assay_status align_match_names(struct aligner *aligner, uint32_t a,
                                           uint32_t b, struct error *err)
{
    uint32_t child = align_first_child(aligner->a, a), found;

    for (; child != RUN_NONE; child = align_next_sibling(aligner->a, child)) {
        const struct scope *scope = run_scope(aligner->a, child);
        enum assay_status st = run_scope_find(aligner->b, b, scope->name,
                                              scope->class_name, &found, err);

        if (st)
            return st;
        if (found != RUN_NONE)
            align_make_partners(aligner, child, found);
    }
    return ASSAY_OK;
}

/* Pairs the scopes between two matched neighbours, from a and b on, without
 * crossing over. Returns where the gap ends in A. */
static uint32_t align_match_gap(struct aligner *aligner, uint32_t a, uint32_t b)
{
    for (; a != RUN_NONE && aligner->b_of_a[a] == RUN_NONE;
         a = align_next_sibling(aligner->a, a)) {
        uint32_t candidate = b;

        for (int i = 0; i < rename_reach && candidate != RUN_NONE &&
                        aligner->a_of_b[candidate] == RUN_NONE;
             i++, candidate = align_next_sibling(aligner->b, candidate)) {
            if (align_is_alike(aligner, a, candidate)) {
                align_make_partners(aligner, a, candidate);
                b = align_next_sibling(aligner->b, candidate);
                break;
            }
        }
    }
    return a;
}

static void align_match_positions(struct aligner *aligner, uint32_t a,
                                  uint32_t b)
{
    uint32_t child = align_match_gap(aligner, align_first_child(aligner->a, a),
                                     align_first_child(aligner->b, b));

    while (child != RUN_NONE) {
        uint32_t partner = aligner->b_of_a[child];

        child = align_match_gap(aligner, align_next_sibling(aligner->a, child),
                                align_next_sibling(aligner->b, partner));
    }
}

static enum assay_status align_push(struct aligner *aligner,
                                    const struct compare_row *above,
                                    uint32_t parent, uint32_t a, uint32_t b)
{
    enum match match = MATCH_BOTH;

    if (!vec_grow(&aligner->pending, &aligner->pending_capacity,
                  aligner->n_pending + 1, sizeof *aligner->pending))
        return ASSAY_NOMEM;
    if (a == RUN_NONE)
        match = MATCH_ADDED;
    else if (b == RUN_NONE)
        match = MATCH_REMOVED;
    else if (strcmp(run_scope(aligner->a, a)->name,
                    run_scope(aligner->b, b)->name) != 0)
        match = MATCH_RENAMED;
    aligner->pending[aligner->n_pending++] = (struct compare_row){
        .match = match,
        .a = a,
        .b = b,
        .parent = parent,
        .depth = above->depth + 1,
    };
    return ASSAY_OK;
}

/* The scopes from a on that B does not have. */
static enum assay_status align_push_removed(struct aligner *aligner,
                                            const struct compare_row *above,
                                            uint32_t parent, uint32_t a)
{
    for (; a != RUN_NONE && aligner->b_of_a[a] == RUN_NONE;
         a = align_next_sibling(aligner->a, a)) {
        if (align_push(aligner, above, parent, a, RUN_NONE))
            return ASSAY_NOMEM;
    }
    return ASSAY_OK;
}

/* The children in B's order; a scope that only A has stays after the neighbour
 * it followed there. */
static enum assay_status align_push_children(struct aligner *aligner,
                                             const struct compare_row *above,
                                             uint32_t parent)
{
    enum assay_status st = ASSAY_OK;
    uint32_t child;

    if (above->a != RUN_NONE)
        st = align_push_removed(aligner, above, parent,
                                align_first_child(aligner->a, above->a));
    child = above->b == RUN_NONE ? RUN_NONE
                                 : align_first_child(aligner->b, above->b);
    for (; !st && child != RUN_NONE;
         child = align_next_sibling(aligner->b, child)) {
        uint32_t partner = aligner->a_of_b[child];

        st = align_push(aligner, above, parent, partner, child);
        if (!st && partner != RUN_NONE)
            st = align_push_removed(aligner, above, parent,
                                    align_next_sibling(aligner->a, partner));
    }
    return st;
}

/* Reverses rows from `from` on: the stack returns the last one first. */
static void align_reverse(struct compare_row *rows, size_t from, size_t end)
{
    while (from + 1 < end) {
        struct compare_row first = rows[from];

        rows[from++] = rows[--end];
        rows[end] = first;
    }
}

/* Matches and pushes the children of the row that was appended last. */
static enum assay_status align_expand(struct aligner *aligner,
                                      const struct compare_row *row,
                                      uint32_t index, struct error *err)
{
    size_t from = aligner->n_pending;
    enum assay_status st = ASSAY_OK;

    if (row->a != RUN_NONE && row->b != RUN_NONE) {
        st = align_match_names(aligner, row->a, row->b, err);
        if (st)
            return st;
        align_match_positions(aligner, row->a, row->b);
    }
    st = align_push_children(aligner, row, index);
    if (st)
        return error_nomem(err, sizeof *row, "the rows of a comparison");
    align_reverse(aligner->pending, from, aligner->n_pending);
    return ASSAY_OK;
}

static uint32_t *align_no_partners(const struct run *run)
{
    size_t n = run_scope_count(run);
    uint32_t *partners = mem_array(n, sizeof *partners);

    for (size_t i = 0; partners && i < n; i++)
        partners[i] = RUN_NONE;
    return partners;
}

enum assay_status align_trees(struct comparison *comparison, struct error *err)
{
    struct aligner aligner = {.a = comparison->a.runs[0],
                              .b = comparison->b.runs[0]};
    struct compare_row row = {.parent = RUN_NONE, .a = RUN_ROOT, .b = RUN_ROOT};
    enum assay_status st = ASSAY_OK;

    aligner.b_of_a = align_no_partners(aligner.a);
    aligner.a_of_b = align_no_partners(aligner.b);
    if (!aligner.b_of_a || !aligner.a_of_b) {
        st = error_nomem(err, run_scope_count(aligner.a) * sizeof(uint32_t),
                         "the rows of a comparison");
        goto done;
    }
    for (;;) {
        if (!vec_grow(&comparison->rows, &comparison->rows_capacity,
                      comparison->n_rows + 1, sizeof row)) {
            st = error_nomem(err, sizeof row, "the rows of a comparison");
            goto done;
        }
        comparison->rows[comparison->n_rows++] = row;
        st = align_expand(&aligner, &row, (uint32_t)(comparison->n_rows - 1),
                          err);
        if (st || !aligner.n_pending)
            goto done;
        row = aligner.pending[--aligner.n_pending];
    }
done:
    mem_free(aligner.pending);
    mem_free(aligner.b_of_a);
    mem_free(aligner.a_of_b);
    return st;
}

/* formats/torch/pickle_stack.c - see pickle_machine_internal.h. */
#include "formats/torch/pickle_machine_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum {
    max_stack = 1 << 20, /* values, and marks, at a time */
    max_memo = 1 << 22
};

enum assay_status pickle_new(struct pickle **out, struct error *err)
{
    *out = mem_zalloc(sizeof **out);
    return *out ? ASSAY_OK : error_nomem(err, sizeof **out, "a pickle");
}

void pickle_free(struct pickle *pickle)
{
    if (!pickle)
        return;
    mem_free(pickle->stack);
    mem_free(pickle->marks);
    mem_free(pickle->memo);
    arena_release(&pickle->arena);
    mem_free(pickle);
}

/* ---- bytes ------------------------------------------------------------ */

enum assay_status pickle_cut_off(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "the file ends in the middle of a pickle; fetch or copy "
                     "it again");
}

enum assay_status pickle_damaged(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "the pickle is damaged");
}

const unsigned char *pickle_take(struct pickle *pickle, uint64_t n)
{
    const unsigned char *bytes = pickle->at;

    if (n > pickle->left)
        return NULL;
    pickle->at += n;
    pickle->left -= (size_t)n;
    return bytes;
}

enum assay_status pickle_take_number(struct pickle *pickle, unsigned n_bytes,
                                     uint64_t *number, struct error *err)
{
    const unsigned char *bytes = pickle_take(pickle, n_bytes);

    if (!bytes)
        return pickle_cut_off(err);
    *number = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        *number |= (uint64_t)bytes[i] << 8 * i;
    return ASSAY_OK;
}

enum assay_status pickle_take_text(struct pickle *pickle, unsigned length_bytes,
                                   struct pickle_text *text, struct error *err)
{
    uint64_t n = 0;
    enum assay_status st = pickle_take_number(pickle, length_bytes, &n, err);
    const unsigned char *bytes = st ? NULL : pickle_take(pickle, n);

    if (st)
        return st;
    if (!bytes)
        return pickle_cut_off(err);
    *text = (struct pickle_text){(const char *)bytes, (size_t)n};
    return ASSAY_OK;
}

enum assay_status pickle_take_line(struct pickle *pickle,
                                   struct pickle_text *text, struct error *err)
{
    const unsigned char *end = memchr(pickle->at, '\n', pickle->left);

    if (!end)
        return pickle_cut_off(err);
    *text = (struct pickle_text){(const char *)pickle->at,
                                 (size_t)(end - pickle->at)};
    pickle_take(pickle, text->n + 1);
    return ASSAY_OK;
}

/* ---- stack and memo --------------------------------------------------- */

enum assay_status pickle_push(struct pickle *pickle, struct pickle_value *value,
                              struct error *err)
{
    struct pickle_value **moved;

    if (!value)
        return error_nomem(err, sizeof *value, "a value of a pickle");
    if (pickle->n_stack == max_stack)
        return pickle_damaged(err);
    moved = vec_reserve(pickle->stack, &pickle->stack_capacity,
                        pickle->n_stack + 1, sizeof(struct pickle_value *));
    if (!moved)
        return error_nomem(err, pickle->n_stack * sizeof(struct pickle_value *),
                           "the stack of a pickle");
    pickle->stack = moved;
    pickle->stack[pickle->n_stack++] = value;
    return ASSAY_OK;
}

enum assay_status pickle_push_kind(struct pickle *pickle, enum pickle_kind kind,
                                   struct error *err)
{
    return pickle_push(pickle, pickle_value_new(&pickle->arena, kind), err);
}

enum assay_status pickle_push_integer(struct pickle *pickle,
                                      enum pickle_kind kind, int64_t integer,
                                      struct error *err)
{
    struct pickle_value *value = pickle_value_new(&pickle->arena, kind);

    if (value)
        value->integer = integer;
    return pickle_push(pickle, value, err);
}

size_t pickle_reachable(const struct pickle *pickle)
{
    size_t floor = pickle->n_marks ? pickle->marks[pickle->n_marks - 1] : 0;

    return pickle->n_stack - floor;
}

struct pickle_value *pickle_pop(struct pickle *pickle)
{
    return pickle_reachable(pickle) ? pickle->stack[--pickle->n_stack] : NULL;
}

struct pickle_value *pickle_top(const struct pickle *pickle)
{
    return pickle_reachable(pickle) ? pickle->stack[pickle->n_stack - 1] : NULL;
}

enum assay_status pickle_push_mark(struct pickle *pickle, struct error *err)
{
    size_t *moved;

    if (pickle->n_marks == max_stack)
        return pickle_damaged(err);
    moved = vec_reserve(pickle->marks, &pickle->marks_capacity,
                        pickle->n_marks + 1, sizeof *moved);
    if (!moved)
        return error_nomem(err, pickle->n_marks * sizeof *moved,
                           "the stack of a pickle");
    pickle->marks = moved;
    pickle->marks[pickle->n_marks++] = pickle->n_stack;
    return ASSAY_OK;
}

enum assay_status pickle_remember(struct pickle *pickle, uint64_t i,
                                  struct error *err)
{
    struct pickle_value **moved;

    if (!pickle_top(pickle) || i >= max_memo || i >= pickle->all)
        return pickle_damaged(err);
    if (i >= pickle->n_memo) {
        moved = vec_reserve(pickle->memo, &pickle->memo_capacity, (size_t)i + 1,
                            sizeof(struct pickle_value *));
        if (!moved)
            return error_nomem(err, (size_t)i * sizeof(struct pickle_value *),
                               "the memo of a pickle");
        pickle->memo = moved;
        while (pickle->n_memo <= i)
            pickle->memo[pickle->n_memo++] = NULL;
    }
    pickle->memo[i] = pickle_top(pickle);
    return ASSAY_OK;
}

enum assay_status pickle_recall(struct pickle *pickle, uint64_t i,
                                struct error *err)
{
    if (i >= pickle->n_memo || !pickle->memo[i])
        return pickle_damaged(err);
    return pickle_push(pickle, pickle->memo[i], err);
}

enum assay_status pickle_close_mark(struct pickle *pickle, size_t *n,
                                    struct error *err)
{
    if (!pickle->n_marks)
        return pickle_damaged(err);
    *n = pickle_reachable(pickle);
    pickle->n_marks--;
    return ASSAY_OK;
}

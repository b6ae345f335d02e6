/* formats/torch/pickle.c - see pickle_internal.h.
 *
 * Python documents the opcodes in its module pickletools. */
#include "formats/torch/pickle_internal.h"

#include "base/mem.h"
#include "base/vec.h"
#include "formats/torch/torch_values_internal.h"

#include <string.h>

enum {
    max_protocol = 4,
    max_int_bytes = 8,
    max_stack = 1 << 20, /* values, and marks, at a time */
    max_memo = 1 << 22
};

struct pickle {
    struct arena arena;
    struct pickle_value **stack;
    size_t n_stack, stack_capacity;
    size_t *marks; /* heights of the stack */
    size_t n_marks, marks_capacity;
    struct pickle_value **memo; /* NULL: not used yet */
    size_t n_memo, memo_capacity;
    struct torch_storage *storages;

    const unsigned char *at; /* the rest of the pickle being read */
    size_t left;
    size_t all; /* bytes of it in the beginning, or more */
};

/* ---- values ------------------------------------------------------------- */

struct pickle_value *pickle_value_new(struct arena *arena,
                                      enum pickle_kind kind)
{
    struct pickle_value *value = arena_alloc(arena, sizeof *value);

    if (value)
        *value = (struct pickle_value){.kind = kind};
    return value;
}

enum assay_status pickle_items_add(struct arena *arena,
                                   struct pickle_items *items,
                                   struct pickle_value *key,
                                   struct pickle_value *value,
                                   struct error *err)
{
    struct pickle_item *item = arena_alloc(arena, sizeof *item);

    if (!item)
        return error_nomem(err, sizeof *item, "the items of a pickle");
    *item = (struct pickle_item){.key = key, .value = value};
    if (items->last)
        items->last->next = item;
    else
        items->first = item;
    items->last = item;
    items->n++;
    return ASSAY_OK;
}

struct pickle_value *pickle_items_at(const struct pickle_items *items, size_t i)
{
    const struct pickle_item *item = items->first;

    while (item && i-- > 0)
        item = item->next;
    return item ? item->value : NULL;
}

bool pickle_text_is(const struct pickle_text *text, const char *wanted)
{
    return text->n == strlen(wanted) &&
           memcmp(text->bytes, wanted, text->n) == 0;
}

const struct pickle_value *pickle_dict_get(const struct pickle_value *dict,
                                           const char *key)
{
    if (dict->kind != PICKLE_DICT)
        return NULL;
    for (const struct pickle_item *item = dict->items.first; item;
         item = item->next) {
        if (item->key->kind == PICKLE_TEXT &&
            pickle_text_is(&item->key->text, key))
            return item->value;
    }
    return NULL;
}

/* ---- the bytes ---------------------------------------------------------- */

static enum assay_status pickle_truncated(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "the file ends in the middle of a pickle; fetch or copy "
                     "it again");
}

static enum assay_status pickle_damaged(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "the pickle is damaged");
}

/* The next n bytes; NULL if there are fewer. */
static const unsigned char *pickle_take(struct pickle *pickle, uint64_t n)
{
    const unsigned char *bytes = pickle->at;

    if (n > pickle->left)
        return NULL;
    pickle->at += n;
    pickle->left -= (size_t)n;
    return bytes;
}

/* A little-endian number of up to 8 bytes. */
static enum assay_status pickle_take_number(struct pickle *pickle,
                                            size_t n_bytes, uint64_t *number,
                                            struct error *err)
{
    const unsigned char *bytes = pickle_take(pickle, n_bytes);

    if (!bytes)
        return pickle_truncated(err);
    *number = 0;
    for (size_t i = 0; i < n_bytes; i++)
        *number |= (uint64_t)bytes[i] << 8 * i;
    return ASSAY_OK;
}

/* Bytes that follow their count, which has this many bytes itself. */
static enum assay_status pickle_take_text(struct pickle *pickle,
                                          size_t count_bytes,
                                          struct pickle_text *text,
                                          struct error *err)
{
    uint64_t n = 0;
    enum assay_status st = pickle_take_number(pickle, count_bytes, &n, err);
    const unsigned char *bytes = st ? NULL : pickle_take(pickle, n);

    if (st)
        return st;
    if (!bytes)
        return pickle_truncated(err);
    *text = (struct pickle_text){(const char *)bytes, (size_t)n};
    return ASSAY_OK;
}

/* Up to a newline, without it. */
static enum assay_status pickle_take_line(struct pickle *pickle,
                                          struct pickle_text *text,
                                          struct error *err)
{
    const unsigned char *end = memchr(pickle->at, '\n', pickle->left);

    if (!end)
        return pickle_truncated(err);
    *text = (struct pickle_text){(const char *)pickle->at,
                                 (size_t)(end - pickle->at)};
    pickle_take(pickle, text->n + 1);
    return ASSAY_OK;
}

/* ---- the stack ---------------------------------------------------------- */

/* value: NULL if there was no memory for it. */
static enum assay_status pickle_push(struct pickle *pickle,
                                     struct pickle_value *value,
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

static enum assay_status pickle_push_integer(struct pickle *pickle,
                                             enum pickle_kind kind,
                                             int64_t integer, struct error *err)
{
    struct pickle_value *value = pickle_value_new(&pickle->arena, kind);

    if (value)
        value->integer = integer;
    return pickle_push(pickle, value, err);
}

static enum assay_status pickle_push_text(struct pickle *pickle,
                                          enum pickle_kind kind,
                                          struct pickle_text text,
                                          struct error *err)
{
    struct pickle_value *value = pickle_value_new(&pickle->arena, kind);

    if (value)
        value->text = text;
    return pickle_push(pickle, value, err);
}

/* The number of values above the last mark, or on the whole stack. */
static size_t pickle_reachable(const struct pickle *pickle)
{
    size_t floor = pickle->n_marks ? pickle->marks[pickle->n_marks - 1] : 0;

    return pickle->n_stack - floor;
}

/* NULL if none is reachable. */
static struct pickle_value *pickle_top(const struct pickle *pickle)
{
    return pickle_reachable(pickle) ? pickle->stack[pickle->n_stack - 1] : NULL;
}

static struct pickle_value *pickle_pop(struct pickle *pickle)
{
    return pickle_reachable(pickle) ? pickle->stack[--pickle->n_stack] : NULL;
}

static enum assay_status pickle_push_mark(struct pickle *pickle,
                                          struct error *err)
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

static enum assay_status pickle_drop(struct pickle *pickle, size_t n,
                                     struct error *err)
{
    if (pickle_reachable(pickle) < n)
        return pickle_damaged(err);
    pickle->n_stack -= n;
    return ASSAY_OK;
}

/* ---- opcodes that make values ------------------------------------------- */

static enum assay_status pickle_push_kind(struct pickle *pickle, size_t kind,
                                          struct error *err)
{
    return pickle_push(
        pickle, pickle_value_new(&pickle->arena, (enum pickle_kind)kind), err);
}

static enum assay_status pickle_push_bool(struct pickle *pickle, size_t is_true,
                                          struct error *err)
{
    return pickle_push_integer(pickle, PICKLE_BOOL, (int64_t)is_true, err);
}

static enum assay_status pickle_read_float(struct pickle *pickle,
                                           struct error *err)
{
    return pickle_take(pickle, 8) ? pickle_push_kind(pickle, PICKLE_PLAIN, err)
                                  : pickle_truncated(err);
}

static enum assay_status pickle_read_text(struct pickle *pickle,
                                          size_t count_bytes, struct error *err)
{
    struct pickle_text text = {0};
    enum assay_status st = pickle_take_text(pickle, count_bytes, &text, err);

    return st ? st : pickle_push_text(pickle, PICKLE_TEXT, text, err);
}

static enum assay_status pickle_read_integer(struct pickle *pickle,
                                             size_t n_bytes, struct error *err)
{
    uint64_t number = 0;
    enum assay_status st = pickle_take_number(pickle, n_bytes, &number, err);

    if (st)
        return st;
    if (n_bytes == 4) /* the only one with a sign */
        return pickle_push_integer(pickle, PICKLE_INT, (int32_t)number, err);
    return pickle_push_integer(pickle, PICKLE_INT, (int64_t)number, err);
}

/* Two's complement of any length. */
static enum assay_status pickle_read_long(struct pickle *pickle,
                                          size_t count_bytes, struct error *err)
{
    struct pickle_text text = {0};
    uint64_t number = 0;
    enum assay_status st = pickle_take_text(pickle, count_bytes, &text, err);

    if (st)
        return st;
    if (text.n > max_int_bytes)
        return pickle_push_text(pickle, PICKLE_LONG, text, err);
    if (text.n && text.bytes[text.n - 1] & 0x80)
        number = UINT64_MAX;
    for (size_t i = text.n; i-- > 0;)
        number = number << 8 | (unsigned char)text.bytes[i];
    return pickle_push_integer(pickle, PICKLE_INT, (int64_t)number, err);
}

/* Makes a tuple of the n values on top. */
static enum assay_status pickle_make_tuple(struct pickle *pickle, size_t n,
                                           struct error *err)
{
    struct pickle_value *tuple = pickle_value_new(&pickle->arena, PICKLE_TUPLE);
    enum assay_status st = ASSAY_OK;
    size_t from = pickle->n_stack - n;

    if (pickle_reachable(pickle) < n)
        return pickle_damaged(err);
    for (size_t i = from; tuple && !st && i < pickle->n_stack; i++)
        st = pickle_items_add(&pickle->arena, &tuple->items, NULL,
                              pickle->stack[i], err);
    if (st)
        return st;
    pickle->n_stack = from;
    return pickle_push(pickle, tuple, err);
}

/* Moves the n values on top into the list below them, or keys and values into
 * the dict. */
static enum assay_status pickle_move_items(struct pickle *pickle,
                                           enum pickle_kind kind, size_t n,
                                           struct error *err)
{
    size_t from = pickle->n_stack - n, step = kind == PICKLE_DICT ? 2 : 1;
    enum assay_status st = ASSAY_OK;
    struct pickle_value *below;

    if (pickle_reachable(pickle) <= n || n % step)
        return pickle_damaged(err);
    below = pickle->stack[from - 1];
    if (below->kind != kind)
        return pickle_damaged(err);
    for (size_t i = from; !st && i < pickle->n_stack; i += step)
        st = pickle_items_add(&pickle->arena, &below->items,
                              step == 2 ? pickle->stack[i] : NULL,
                              pickle->stack[i + step - 1], err);
    pickle->n_stack = from;
    return st;
}

static enum assay_status pickle_append(struct pickle *pickle, size_t n,
                                       struct error *err)
{
    return pickle_move_items(pickle, PICKLE_LIST, n, err);
}

static enum assay_status pickle_set_items(struct pickle *pickle, size_t n,
                                          struct error *err)
{
    return pickle_move_items(pickle, PICKLE_DICT, n, err);
}

/* ---- names -------------------------------------------------------------- */

static enum assay_status pickle_push_global(struct pickle *pickle,
                                            const struct pickle_text *module,
                                            const struct pickle_text *name,
                                            struct error *err)
{
    struct pickle_value *value =
        pickle_value_new(&pickle->arena, PICKLE_GLOBAL);
    const struct torch_global *global = NULL;
    enum assay_status st = torch_global_find(module, name, &global, err);

    if (st)
        return st;
    if (value)
        value->global = global;
    return pickle_push(pickle, value, err);
}

static enum assay_status pickle_read_global(struct pickle *pickle,
                                            struct error *err)
{
    struct pickle_text module = {0}, name = {0};
    enum assay_status st = pickle_take_line(pickle, &module, err);

    if (!st)
        st = pickle_take_line(pickle, &name, err);
    return st ? st : pickle_push_global(pickle, &module, &name, err);
}

static enum assay_status pickle_stack_global(struct pickle *pickle,
                                             struct error *err)
{
    struct pickle_value *name = pickle_pop(pickle),
                        *module = pickle_pop(pickle);

    if (!module || module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return pickle_damaged(err);
    return pickle_push_global(pickle, &module->text, &name->text, err);
}

static enum assay_status pickle_reduce(struct pickle *pickle, struct error *err)
{
    struct pickle_value *arguments = pickle_pop(pickle),
                        *global = pickle_pop(pickle), *made;
    enum assay_status st;

    if (!global || global->kind != PICKLE_GLOBAL)
        return pickle_damaged(err);
    st = torch_global_apply(&pickle->arena, global->global, arguments, &made,
                            err);
    return st ? st : pickle_push(pickle, made, err);
}

/* An ordered dict may have attributes (PyTorch's _metadata); ignores them. */
static enum assay_status pickle_build(struct pickle *pickle, struct error *err)
{
    struct pickle_value *state = pickle_pop(pickle),
                        *object = pickle_top(pickle);

    if (!state || !object || object->kind != PICKLE_DICT)
        return pickle_damaged(err);
    return ASSAY_OK;
}

static enum assay_status pickle_resolve(struct pickle *pickle,
                                        struct error *err)
{
    struct pickle_value *id = pickle_pop(pickle), *storage;
    enum assay_status st;

    if (!id)
        return pickle_damaged(err);
    st = torch_storage_of(&pickle->arena, id, &storage, err);
    if (st)
        return st;
    storage->storage->next = pickle->storages;
    pickle->storages = storage->storage;
    return pickle_push(pickle, storage, err);
}

/* ---- the memo ----------------------------------------------------------- */

/* Puts the value on top into the memo under a number of n_bytes; 0: the next
 * one. */
static enum assay_status pickle_remember(struct pickle *pickle, size_t n_bytes,
                                         struct error *err)
{
    struct pickle_value **moved;
    uint64_t i = pickle->n_memo;
    enum assay_status st =
        n_bytes ? pickle_take_number(pickle, n_bytes, &i, err) : ASSAY_OK;

    if (st)
        return st;
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

static enum assay_status pickle_recall(struct pickle *pickle, size_t n_bytes,
                                       struct error *err)
{
    uint64_t i = 0;
    enum assay_status st = pickle_take_number(pickle, n_bytes, &i, err);

    if (st)
        return st;
    if (i >= pickle->n_memo || !pickle->memo[i])
        return pickle_damaged(err);
    return pickle_push(pickle, pickle->memo[i], err);
}

/* ---- running ------------------------------------------------------------ */

static enum assay_status pickle_check_protocol(struct pickle *pickle,
                                               struct error *err)
{
    uint64_t protocol = 0;
    enum assay_status st = pickle_take_number(pickle, 1, &protocol, err);

    if (!st && protocol > max_protocol)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "pickle protocol %llu is not supported; save it with "
                         "pickle_protocol=2, the default of torch.save",
                         (unsigned long long)protocol);
    return st;
}

/* Frames only say how many bytes could be read at once. */
static enum assay_status pickle_skip_frame(struct pickle *pickle,
                                           struct error *err)
{
    return pickle_take(pickle, 8) ? ASSAY_OK : pickle_truncated(err);
}

/* Either run, or run_n with a fixed n or, if it is marked, with the number of
 * values above the last mark. */
static const struct opcode {
    enum assay_status (*run)(struct pickle *pickle, struct error *err);
    enum assay_status (*run_n)(struct pickle *pickle, size_t n,
                               struct error *err);
    size_t n;
    bool is_marked;
} opcodes[256] = {
    ['N'] = {.run_n = pickle_push_kind, .n = PICKLE_PLAIN}, /* NONE */
    [']'] = {.run_n = pickle_push_kind, .n = PICKLE_LIST},  /* EMPTY_LIST */
    ['}'] = {.run_n = pickle_push_kind, .n = PICKLE_DICT},  /* EMPTY_DICT */
    [')'] = {.run_n = pickle_push_kind, .n = PICKLE_TUPLE}, /* EMPTY_TUPLE */
    [0x88] = {.run_n = pickle_push_bool, .n = 1},           /* NEWTRUE */
    [0x89] = {.run_n = pickle_push_bool, .n = 0},           /* NEWFALSE */
    ['K'] = {.run_n = pickle_read_integer, .n = 1},         /* BININT1 */
    ['M'] = {.run_n = pickle_read_integer, .n = 2},         /* BININT2 */
    ['J'] = {.run_n = pickle_read_integer, .n = 4},         /* BININT */
    [0x8a] = {.run_n = pickle_read_long, .n = 1},           /* LONG1 */
    [0x8b] = {.run_n = pickle_read_long, .n = 4},           /* LONG4 */
    ['G'] = {.run = pickle_read_float},                     /* BINFLOAT */
    ['C'] = {.run_n = pickle_read_text, .n = 1},            /* SHORT_BINBYTES */
    ['U'] = {.run_n = pickle_read_text, .n = 1},  /* SHORT_BINSTRING */
    [0x8c] = {.run_n = pickle_read_text, .n = 1}, /* SHORT_BINUNICODE */
    ['B'] = {.run_n = pickle_read_text, .n = 4},  /* BINBYTES */
    ['T'] = {.run_n = pickle_read_text, .n = 4},  /* BINSTRING */
    ['X'] = {.run_n = pickle_read_text, .n = 4},  /* BINUNICODE */
    [0x8d] = {.run_n = pickle_read_text, .n = 8}, /* BINUNICODE8 */
    [0x8e] = {.run_n = pickle_read_text, .n = 8}, /* BINBYTES8 */

    ['('] = {.run = pickle_push_mark},                       /* MARK */
    ['0'] = {.run_n = pickle_drop, .n = 1},                  /* POP */
    ['1'] = {.run_n = pickle_drop, .is_marked = true},       /* POP_MARK */
    [0x85] = {.run_n = pickle_make_tuple, .n = 1},           /* TUPLE1 */
    [0x86] = {.run_n = pickle_make_tuple, .n = 2},           /* TUPLE2 */
    [0x87] = {.run_n = pickle_make_tuple, .n = 3},           /* TUPLE3 */
    ['t'] = {.run_n = pickle_make_tuple, .is_marked = true}, /* TUPLE */
    ['a'] = {.run_n = pickle_append, .n = 1},                /* APPEND */
    ['e'] = {.run_n = pickle_append, .is_marked = true},     /* APPENDS */
    ['s'] = {.run_n = pickle_set_items, .n = 2},             /* SETITEM */
    ['u'] = {.run_n = pickle_set_items, .is_marked = true},  /* SETITEMS */

    ['q'] = {.run_n = pickle_remember, .n = 1},  /* BINPUT */
    ['r'] = {.run_n = pickle_remember, .n = 4},  /* LONG_BINPUT */
    [0x94] = {.run_n = pickle_remember, .n = 0}, /* MEMOIZE */
    ['h'] = {.run_n = pickle_recall, .n = 1},    /* BINGET */
    ['j'] = {.run_n = pickle_recall, .n = 4},    /* LONG_BINGET */

    [0x80] = {.run = pickle_check_protocol}, /* PROTO */
    [0x95] = {.run = pickle_skip_frame},     /* FRAME */
    ['c'] = {.run = pickle_read_global},     /* GLOBAL */
    [0x93] = {.run = pickle_stack_global},   /* STACK_GLOBAL */
    ['R'] = {.run = pickle_reduce},          /* REDUCE */
    [0x81] = {.run = pickle_reduce},         /* NEWOBJ */
    ['b'] = {.run = pickle_build},           /* BUILD */
    ['Q'] = {.run = pickle_resolve},         /* BINPERSID */
};

enum { opcode_stop = '.' };

static enum assay_status pickle_run(struct pickle *pickle, unsigned char byte,
                                    struct error *err)
{
    const struct opcode *opcode = &opcodes[byte];
    size_t n = opcode->n;

    if (opcode->run)
        return opcode->run(pickle, err);
    if (!opcode->run_n)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "its pickle uses opcode 0x%02x, which tensors do not "
                         "need",
                         (unsigned)byte);
    if (opcode->is_marked) {
        if (!pickle->n_marks)
            return pickle_damaged(err);
        n = pickle_reachable(pickle);
        pickle->n_marks--;
    }
    return opcode->run_n(pickle, n, err);
}

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

enum assay_status pickle_read(struct pickle *pickle, const unsigned char *bytes,
                              size_t n, size_t *used, struct pickle_value **out,
                              struct error *err)
{
    const unsigned char *next;
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    pickle->at = bytes;
    pickle->left = pickle->all = n;
    pickle->n_stack = pickle->n_marks = pickle->n_memo = 0;
    pickle->storages = NULL;
    while (!st) {
        next = pickle_take(pickle, 1);
        if (!next)
            return pickle_truncated(err);
        if (*next == opcode_stop)
            break;
        st = pickle_run(pickle, *next, err);
    }
    if (st)
        return st;
    if (pickle->n_stack != 1 || pickle->n_marks)
        return pickle_damaged(err);
    *out = pickle->stack[0];
    *used = n - pickle->left;
    return ASSAY_OK;
}

const struct torch_storage *pickle_storages(const struct pickle *pickle)
{
    return pickle->storages;
}

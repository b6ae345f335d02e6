/* formats/torch/pickle.c - see pickle_internal.h.
 *
 * Opcodes and their meaning are those that Python documents in its module
 * pickletools. */
#include "formats/torch/pickle_internal.h"

#include "formats/torch/pickle_machine_internal.h"
#include "formats/torch/torch_values_internal.h"

enum { max_protocol = 4, max_int_bytes = 8 };

enum opcode {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_POP = '0',
    OP_POP_MARK = '1',
    OP_BINBYTES = 'B',
    OP_SHORT_BINBYTES = 'C',
    OP_BINFLOAT = 'G',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_NONE = 'N',
    OP_BINPERSID = 'Q',
    OP_REDUCE = 'R',
    OP_BINSTRING = 'T',
    OP_SHORT_BINSTRING = 'U',
    OP_BINUNICODE = 'X',
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_BUILD = 'b',
    OP_GLOBAL = 'c',
    OP_APPENDS = 'e',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_TUPLE = 't',
    OP_SETITEMS = 'u',
    OP_EMPTY_DICT = '}',
    OP_EMPTY_TUPLE = ')',
    OP_PROTO = 0x80,
    OP_NEWOBJ = 0x81,
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_BINBYTES8 = 0x8e,
    OP_STACK_GLOBAL = 0x93,
    OP_MEMOIZE = 0x94,
    OP_FRAME = 0x95
};

/* ---- values ----------------------------------------------------------- */

static enum assay_status pickle_read_text(struct pickle *pickle,
                                          unsigned length_bytes,
                                          struct error *err)
{
    struct pickle_value *value = pickle_value_new(&pickle->arena, PICKLE_TEXT);
    struct pickle_text text = {0};
    enum assay_status st = pickle_take_text(pickle, length_bytes, &text, err);

    if (st)
        return st;
    if (value)
        value->text = text;
    return pickle_push(pickle, value, err);
}

static enum assay_status
pickle_read_integer(struct pickle *pickle, unsigned n_bytes, struct error *err)
{
    uint64_t number = 0;
    enum assay_status st = pickle_take_number(pickle, n_bytes, &number, err);

    if (st)
        return st;
    if (n_bytes == 4) /* the only one with a sign */
        return pickle_push_integer(pickle, PICKLE_INT, (int32_t)number, err);
    return pickle_push_integer(pickle, PICKLE_INT, (int64_t)number, err);
}

/* Two's complement, as many bytes as it takes. */
static enum assay_status pickle_read_long(struct pickle *pickle,
                                          unsigned length_bytes,
                                          struct error *err)
{
    struct pickle_value *value;
    struct pickle_text text = {0};
    uint64_t number = 0;
    enum assay_status st = pickle_take_text(pickle, length_bytes, &text, err);

    if (st)
        return st;
    if (text.n > max_int_bytes) {
        value = pickle_value_new(&pickle->arena, PICKLE_LONG);
        if (value)
            value->text = text;
        return pickle_push(pickle, value, err);
    }
    if (text.n && text.bytes[text.n - 1] & 0x80)
        number = UINT64_MAX;
    for (size_t i = text.n; i-- > 0;)
        number = number << 8 | (unsigned char)text.bytes[i];
    return pickle_push_integer(pickle, PICKLE_INT, (int64_t)number, err);
}

/* Makes a tuple of the n values on top. */
static enum assay_status make_tuple(struct pickle *pickle, size_t n,
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

/* Moves the n values on top into the list below them. */
static enum assay_status pickle_append(struct pickle *pickle, size_t n,
                                       struct error *err)
{
    size_t from = pickle->n_stack - n;
    enum assay_status st = ASSAY_OK;
    struct pickle_value *list;

    if (pickle_reachable(pickle) <= n)
        return pickle_damaged(err);
    list = pickle->stack[from - 1];
    if (list->kind != PICKLE_LIST)
        return pickle_damaged(err);
    for (size_t i = from; !st && i < pickle->n_stack; i++)
        st = pickle_items_add(&pickle->arena, &list->items, NULL,
                              pickle->stack[i], err);
    pickle->n_stack = from;
    return st;
}

/* The same with keys and values into the dict below them. */
static enum assay_status set_items(struct pickle *pickle, size_t n,
                                   struct error *err)
{
    size_t from = pickle->n_stack - n;
    enum assay_status st = ASSAY_OK;
    struct pickle_value *dict;

    if (pickle_reachable(pickle) <= n || n % 2)
        return pickle_damaged(err);
    dict = pickle->stack[from - 1];
    if (dict->kind != PICKLE_DICT)
        return pickle_damaged(err);
    for (size_t i = from; !st && i < pickle->n_stack; i += 2)
        st = pickle_items_add(&pickle->arena, &dict->items, pickle->stack[i],
                              pickle->stack[i + 1], err);
    pickle->n_stack = from;
    return st;
}

/* ---- names ------------------------------------------------------------ */

static enum assay_status push_global(struct pickle *pickle,
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

static enum assay_status read_global(struct pickle *pickle, struct error *err)
{
    struct pickle_text module = {0}, name = {0};
    enum assay_status st = pickle_take_line(pickle, &module, err);

    if (!st)
        st = pickle_take_line(pickle, &name, err);
    return st ? st : push_global(pickle, &module, &name, err);
}

static enum assay_status stack_global(struct pickle *pickle, struct error *err)
{
    struct pickle_value *name = pickle_pop(pickle),
                        *module = pickle_pop(pickle);

    if (!module || module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return pickle_damaged(err);
    return push_global(pickle, &module->text, &name->text, err);
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

/* An ordered dict may carry attributes (PyTorch's _metadata): not needed. */
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

/* ---- opcodes ---------------------------------------------------------- */

/* Those that make a value out of the bytes behind them. */
static enum assay_status run_literal(struct pickle *pickle, enum opcode opcode,
                                     bool *is_known, struct error *err)
{
    switch ((int)opcode) {
    case OP_NONE:
        return pickle_push_kind(pickle, PICKLE_PLAIN, err);
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        return pickle_push_integer(pickle, PICKLE_BOOL, opcode == OP_NEWTRUE,
                                   err);
    case OP_BININT1:
        return pickle_read_integer(pickle, 1, err);
    case OP_BININT2:
        return pickle_read_integer(pickle, 2, err);
    case OP_BININT:
        return pickle_read_integer(pickle, 4, err);
    case OP_LONG1:
        return pickle_read_long(pickle, 1, err);
    case OP_LONG4:
        return pickle_read_long(pickle, 4, err);
    case OP_BINFLOAT:
        return pickle_take(pickle, 8)
                   ? pickle_push_kind(pickle, PICKLE_PLAIN, err)
                   : pickle_cut_off(err);
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINSTRING:
    case OP_SHORT_BINBYTES:
        return pickle_read_text(pickle, 1, err);
    case OP_BINUNICODE:
    case OP_BINSTRING:
    case OP_BINBYTES:
        return pickle_read_text(pickle, 4, err);
    case OP_BINUNICODE8:
    case OP_BINBYTES8:
        return pickle_read_text(pickle, 8, err);
    case OP_EMPTY_LIST:
        return pickle_push_kind(pickle, PICKLE_LIST, err);
    case OP_EMPTY_DICT:
        return pickle_push_kind(pickle, PICKLE_DICT, err);
    case OP_EMPTY_TUPLE:
        return pickle_push_kind(pickle, PICKLE_TUPLE, err);
    case OP_GLOBAL:
        return read_global(pickle, err);
    }
    *is_known = false;
    return ASSAY_OK;
}

/* Those that work on what lies above the last mark. */
static enum assay_status run_marked(struct pickle *pickle, enum opcode opcode,
                                    bool *is_known, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    size_t n = 0;

    *is_known = opcode == OP_TUPLE || opcode == OP_APPENDS ||
                opcode == OP_SETITEMS || opcode == OP_POP_MARK;
    if (*is_known)
        st = pickle_close_mark(pickle, &n, err);
    if (st || !*is_known)
        return st;
    if (opcode == OP_TUPLE)
        return make_tuple(pickle, n, err);
    if (opcode == OP_APPENDS)
        return pickle_append(pickle, n, err);
    if (opcode == OP_SETITEMS)
        return set_items(pickle, n, err);
    pickle->n_stack -= n;
    return ASSAY_OK;
}

/* Those that put values into the memo or take them out. */
static enum assay_status run_memo(struct pickle *pickle, enum opcode opcode,
                                  bool *is_known, struct error *err)
{
    bool is_long = opcode == OP_LONG_BINPUT || opcode == OP_LONG_BINGET;
    bool is_put = opcode == OP_BINPUT || opcode == OP_LONG_BINPUT;
    uint64_t i = pickle->n_memo;
    enum assay_status st = ASSAY_OK;

    *is_known =
        is_long || is_put || opcode == OP_BINGET || opcode == OP_MEMOIZE;
    if (!*is_known)
        return ASSAY_OK;
    if (opcode != OP_MEMOIZE)
        st = pickle_take_number(pickle, is_long ? 4 : 1, &i, err);
    if (st)
        return st;
    return is_put || opcode == OP_MEMOIZE ? pickle_remember(pickle, i, err)
                                          : pickle_recall(pickle, i, err);
}

static enum assay_status check_protocol(struct pickle *pickle,
                                        struct error *err)
{
    uint64_t protocol = 0;
    enum assay_status st = pickle_take_number(pickle, 1, &protocol, err);

    if (!st && protocol > max_protocol)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "pickle protocol %llu is not read; save it with "
                         "pickle_protocol=2, as torch.save does by itself",
                         (unsigned long long)protocol);
    return st;
}

static enum assay_status run_other(struct pickle *pickle, enum opcode opcode,
                                   struct error *err)
{
    switch ((int)opcode) {
    case OP_PROTO:
        return check_protocol(pickle, err);
    case OP_FRAME: /* says only how many bytes could be read at once */
        return pickle_take(pickle, 8) ? ASSAY_OK : pickle_cut_off(err);
    case OP_MARK:
        return pickle_push_mark(pickle, err);
    case OP_POP:
        return pickle_pop(pickle) ? ASSAY_OK : pickle_damaged(err);
    case OP_TUPLE1:
        return make_tuple(pickle, 1, err);
    case OP_TUPLE2:
        return make_tuple(pickle, 2, err);
    case OP_TUPLE3:
        return make_tuple(pickle, 3, err);
    case OP_APPEND:
        return pickle_append(pickle, 1, err);
    case OP_SETITEM:
        return set_items(pickle, 2, err);
    case OP_STACK_GLOBAL:
        return stack_global(pickle, err);
    case OP_REDUCE:
    case OP_NEWOBJ:
        return pickle_reduce(pickle, err);
    case OP_BUILD:
        return pickle_build(pickle, err);
    case OP_BINPERSID:
        return pickle_resolve(pickle, err);
    }
    return error_set(err, ASSAY_UNSUPPORTED,
                     "its pickle uses opcode 0x%02x, which is not among those "
                     "that tensors need",
                     (unsigned)opcode);
}

static enum assay_status run_opcode(struct pickle *pickle, enum opcode opcode,
                                    struct error *err)
{
    bool is_known = true;
    enum assay_status st = run_literal(pickle, opcode, &is_known, err);

    if (!is_known)
        st = run_marked(pickle, opcode, &is_known, err);
    if (!is_known)
        st = run_memo(pickle, opcode, &is_known, err);
    return is_known ? st : run_other(pickle, opcode, err);
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
            return pickle_cut_off(err);
        if (*next == OP_STOP)
            break;
        st = run_opcode(pickle, (enum opcode) * next, err);
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

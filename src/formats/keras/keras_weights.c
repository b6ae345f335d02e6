/* formats/keras/keras_weights.c - see keras_import_internal.h: constants and
 * weights, permuted to the graph's order. */
#include "base/str.h"
#include "formats/keras/keras_frame_internal.h"

#include <string.h>

/* Takes the data. */
static uint32_t keras_weights_add_constant(struct keras_call *call,
                                           struct tensor data)
{
    struct keras_import *import = call->import;
    uint32_t value = GRAPH_NONE;

    import->st = graph_constant(import->graph, "", data, &value, import->err);
    return import->st ? GRAPH_NONE : value;
}

uint32_t keras_new_i64s(struct keras_call *call, const int64_t *numbers,
                        size_t n)
{
    struct keras_import *import = call->import;
    struct shape shape = shape_of(1, (int64_t)n);
    struct tensor data;

    if (!import->st)
        import->st =
            tensor_new(import->pool, DTYPE_I64, &shape, &data, import->err);
    if (import->st)
        return GRAPH_NONE;
    if (n)
        memcpy(tensor_data(&data), numbers, n * sizeof *numbers);
    return keras_weights_add_constant(call, data);
}

uint32_t keras_new_f32s(struct keras_call *call, const float *numbers,
                        const struct shape *shape)
{
    struct keras_import *import = call->import;
    struct tensor data;

    if (!import->st)
        import->st =
            tensor_new(import->pool, DTYPE_F32, shape, &data, import->err);
    if (import->st)
        return GRAPH_NONE;
    memcpy(tensor_data(&data), numbers, tensor_bytes(&data));
    return keras_weights_add_constant(call, data);
}

uint32_t keras_new_scalar(struct keras_call *call, double number)
{
    struct shape scalar = {0};
    float narrow = (float)number;

    return keras_new_f32s(call, &narrow, &scalar);
}

/* The shape of nested lists, from their first items. */
static bool keras_weights_measure(const struct json_value *value,
                                  struct shape *shape)
{
    *shape = (struct shape){0};
    for (; json_tree_is(value, JSON_ARRAY_BEGIN); value = value->first) {
        if (shape->rank == SHAPE_MAX_RANK || !value->n)
            return false;
        shape->dims[shape->rank++] = (int64_t)value->n;
    }
    return json_tree_is(value, JSON_NUMBER);
}

/* Copies the numbers; false if lists of the same level differ in length. */
static bool keras_weights_copy_numbers(const struct json_value *value,
                                       const struct shape *shape,
                                       float *numbers)
{
    const struct json_value *at[SHAPE_MAX_RANK + 1] = {value};
    int depth = 0;

    while (depth >= 0) {
        const struct json_value *now = at[depth];

        if (!now) {
            depth--;
        } else if (depth == shape->rank) {
            if (now->kind != JSON_NUMBER)
                return false;
            *numbers++ = (float)now->number;
        } else if (now->kind != JSON_ARRAY_BEGIN ||
                   (int64_t)now->n != shape->dims[depth]) {
            return false;
        } else {
            at[++depth] = now->first;
            continue;
        }
        if (depth <= 0)
            return true;
        at[depth] = at[depth]->next;
    }
    return true;
}

uint32_t keras_constant(struct keras_call *call, const struct json_value *value)
{
    struct keras_import *import = call->import;
    struct shape shape;
    struct tensor data;

    value = keras_plain(value);
    if (!keras_weights_measure(value, &shape))
        keras_fail(call, ASSAY_UNSUPPORTED,
                   "its constant is neither a number nor a list of numbers");
    if (!import->st)
        import->st =
            tensor_new(import->pool, DTYPE_F32, &shape, &data, import->err);
    if (import->st)
        return GRAPH_NONE;
    if (!keras_weights_copy_numbers(value, &shape, tensor_f32(&data))) {
        tensor_release(&data);
        keras_fail(call, ASSAY_BAD_INPUT,
                   "the lists of its constant differ in length");
        return GRAPH_NONE;
    }
    return keras_weights_add_constant(call, data);
}

/* ---- weights ------------------------------------------------------------ */

/* Elements of a weight that is not read from a file. */
enum { max_blank = 1 << 20 };

static bool keras_weights_fits(const struct shape *have,
                               const struct shape *want)
{
    bool is_fit = have->rank == want->rank;

    for (int i = 0; is_fit && i < have->rank; i++)
        is_fit = want->dims[i] < 0 || want->dims[i] == have->dims[i];
    return is_fit;
}

/* Reads a weight and checks it against the configuration. */
static enum assay_status keras_weights_load(struct keras_call *call,
                                            const struct keras_weight *weight,
                                            size_t number, struct tensor *data,
                                            struct error *err)
{
    struct keras_import *import = call->import;
    char have[64], want[64];
    enum assay_status st;

    if (!import->store) {
        size_t n;

        if (!shape_elements(&weight->shape, &n) || n > max_blank)
            return error_set(err, ASSAY_BAD_INPUT,
                             "its %s is too large to be filled with zeros",
                             weight->name);
        st = tensor_new(import->pool, DTYPE_F32, &weight->shape, data, err);
        if (!st)
            memset(tensor_data(data), 0, tensor_bytes(data));
        return st;
    }
    st = keras_store_weight(import->store, &call->place, weight->name, number,
                            import->pool, data, err);
    if (st || keras_weights_fits(&data->shape, &weight->shape))
        return st;
    tensor_release(data);
    return error_set(err, ASSAY_BAD_INPUT,
                     "its %s is %s in the file instead of %s (-1: any)",
                     weight->name, shape_text(&data->shape, have, sizeof have),
                     shape_text(&weight->shape, want, sizeof want));
}

/* A dimension of y, and how far apart its elements are in x and in y. */
struct axis {
    size_t n, in, out;
};

/* Copies two dimensions in tiles that stay in the cache: reading follows one of
 * them, writing the other. */
static void keras_weights_copy_plane(const float *in, float *out,
                                     struct axis rows, struct axis columns)
{
    enum { side = 32 };

    for (size_t r = 0; r < rows.n; r += side) {
        size_t r_end = r + side < rows.n ? r + side : rows.n;

        for (size_t c = 0; c < columns.n; c += side) {
            size_t c_end = c + side < columns.n ? c + side : columns.n;

            for (size_t i = r; i < r_end; i++) {
                for (size_t k = c; k < c_end; k++)
                    out[i * rows.out + k * columns.out] =
                        in[i * rows.in + k * columns.in];
            }
        }
    }
}

/* y has the dimensions of x in another order. */
static void keras_weights_permute(const struct tensor *x, const int64_t *order,
                                  const struct tensor *y)
{
    int rank = x->shape.rank, last = rank - 1, inner = 0;
    size_t at[SHAPE_MAX_RANK] = {0}, from = 0, to = 0, done = 1;
    struct axis axes[SHAPE_MAX_RANK] = {{0}}, rows = {1, 0, 0};

    for (int i = last; i >= 0; i--) {
        axes[i] = (struct axis){(size_t)y->shape.dims[i], 1, done};
        done *= axes[i].n;
        for (int64_t k = order[i] + 1; k < rank; k++)
            axes[i].in *= (size_t)x->shape.dims[k];
        if (order[i] == last)
            inner = i;
    }
    if (inner != last) {
        rows = axes[inner];
        axes[inner].n = 1; /* not counted below */
    }
    while (done) {
        int d;

        keras_weights_copy_plane(tensor_f32(x) + from, tensor_f32(y) + to, rows,
                                 axes[last]);
        for (d = last; d-- > 0;) {
            from += axes[d].in;
            to += axes[d].out;
            if (++at[d] < axes[d].n)
                break;
            from -= axes[d].in * at[d];
            to -= axes[d].out * at[d];
            at[d] = 0;
        }
        if (d < 0)
            break;
    }
}

/* Permutes the data to the graph's order; takes it. */
static enum assay_status
keras_weights_reorder(struct keras_import *import,
                      const struct keras_weight *weight, struct tensor *data,
                      struct error *err)
{
    struct tensor turned;
    struct shape shape = data->shape;
    enum assay_status st;

    if (weight->order) {
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = data->shape.dims[weight->order[i]];
        st = tensor_new(import->pool, DTYPE_F32, &shape, &turned, err);
        if (!st)
            keras_weights_permute(data, weight->order, &turned);
        tensor_release(data);
        if (st)
            return st;
        *data = turned;
    }
    if (weight->as.rank)
        data->shape = weight->as;
    return ASSAY_OK;
}

/* A layer that is called several times shares its weights. */
static uint32_t keras_weights_find(struct keras_call *call, const char *name)
{
    struct keras_import *import = call->import;
    struct str path = {0};
    uint32_t found = GRAPH_NONE;

    if (str_printf(&path, "%s.%s",
                   graph_scope(import->graph, call->scope)->path, name))
        import->st = error_nomem(import->err, path.n, "a weight's name");
    else
        found = graph_find_value(import->graph, path.text);
    str_release(&path);
    return found;
}

uint32_t keras_weight(struct keras_call *call,
                      const struct keras_weight *weight)
{
    struct keras_import *import = call->import;
    enum value_kind kind = weight->is_buffer ? VALUE_BUFFER : VALUE_PARAMETER;
    size_t number = call->n_weights++;
    uint32_t value = GRAPH_NONE;
    struct tensor data;

    if (!import->st)
        value = keras_weights_find(call, weight->name);
    if (import->st || value != GRAPH_NONE)
        return value;
    import->st = keras_weights_load(call, weight, number, &data, import->err);
    if (!import->st)
        import->st = keras_weights_reorder(import, weight, &data, import->err);
    if (import->st)
        return GRAPH_NONE;
    import->st = graph_parameter(import->graph, call->scope, weight->name, kind,
                                 DTYPE_F32, &data.shape, &value, import->err);
    if (import->st)
        tensor_release(&data);
    else
        import->st = graph_set_data(import->graph, value, data, import->err);
    return import->st ? GRAPH_NONE : value;
}

const struct shape *keras_weight_shape(const struct keras_call *call,
                                       uint32_t weight)
{
    return &graph_value(call->import->graph, weight)->shape;
}

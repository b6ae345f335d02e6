/* ops/sequence/signal.c - see signal.h.
 *
 * The transforms go by the definition, with a table of the roots of one: the
 * signals that models take apart come in short frames. */
#include "ops/sequence/signal.h"

#include "base/mem.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

enum {
    max_length = 1 << 20,
    max_transform = 1 << 16 /* more takes minutes by the definition */
};

static const double pi = 3.14159265358979323846;

static enum assay_status read_length(const struct tensor *tensor,
                                     int64_t fallback, int64_t *length,
                                     struct error *err)
{
    enum assay_status st = int_read(tensor, fallback, length, err);

    if (!st && (*length < 1 || *length > max_length))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "a length of %lld; 1 to %d are "
                       "supported",
                       (long long)*length, max_length);
    return st;
}

/* ---- windows ---------------------------------------------------------- */

static enum assay_status infer_window(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct window_function_attrs *attrs = node->attrs;
    struct shape shape = {.rank = 1};
    enum assay_status st = read_length(inputs[0], 1, &shape.dims[0], err);

    if (!st)
        rule_set(&outputs[0], attrs->dtype, &shape);
    return st;
}

static enum assay_status forward_window(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct window_function_attrs *attrs = node->attrs;
    int64_t n = outputs[0].shape.dims[0];
    double period = (double)(attrs->is_periodic || n == 1 ? n : n - 1);
    char *to = tensor_data(&outputs[0]);

    (void)context, (void)inputs, (void)err;
    for (int64_t i = 0; i < n; i++) {
        double t = 2 * pi * (double)i / period;
        double value = attrs->a0 - attrs->a1 * cos(t) + attrs->a2 * cos(2 * t);

        convert_elements(DTYPE_F64, &value, attrs->dtype, to, 1);
        to += dtype_bytes(attrs->dtype);
    }
    return ASSAY_OK;
}

/* ---- transforms ------------------------------------------------------- */

/* A transform of n places, of which the first n_in are given. */
struct transform {
    int64_t n, n_in, n_out;
    bool is_complex, is_inverse;
    double *roots; /* cosines, then sines */
};

static enum assay_status transform_start(struct transform *transform,
                                         struct error *err)
{
    size_t n = (size_t)transform->n;

    if (n > max_transform)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "a transform of %zu places; %d is the most", n,
                         max_transform);
    transform->roots = mem_array(2 * n, sizeof *transform->roots);
    if (!transform->roots)
        return error_nomem(err, 2 * n * sizeof *transform->roots,
                           "a Fourier transform");
    for (size_t i = 0; i < n; i++) {
        double angle = 2 * pi * (double)i / (double)n;

        transform->roots[i] = cos(angle);
        transform->roots[n + i] =
            transform->is_inverse ? sin(angle) : -sin(angle);
    }
    return ASSAY_OK;
}

/* x and y move by steps of elements, a number or a pair each; window may be
 * NULL. */
static void transform_run(const struct transform *transform, const float *x,
                          int64_t x_step, const float *window, float *y,
                          int64_t y_step)
{
    const double *cosines = transform->roots;
    const double *sines = transform->roots + transform->n;

    for (int64_t k = 0; k < transform->n_out; k++) {
        double re = 0, im = 0;
        double scale = transform->is_inverse ? 1 / (double)transform->n : 1;

        for (int64_t i = 0; i < transform->n_in; i++) {
            int64_t at = i * k % transform->n;
            double weight = window ? (double)window[i] : 1;
            double a = (double)x[i * x_step] * weight;
            double b =
                transform->is_complex ? (double)x[i * x_step + 1] * weight : 0;

            re += a * cosines[at] - b * sines[at];
            im += a * sines[at] + b * cosines[at];
        }
        y[k * y_step] = (float)(re * scale);
        y[k * y_step + 1] = (float)(im * scale);
    }
}

/* ---- DFT -------------------------------------------------------------- */

static enum assay_status plan_dft(const struct node *node,
                                  const struct tensor *const *inputs,
                                  struct transform *transform, int *axis,
                                  struct error *err)
{
    const struct dft_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    char text[64];
    enum assay_status st = rule_dtype(inputs, 0, DTYPE_F32, err);

    if (!st && (x->rank < 2 ||
                (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 1] != 2)))
        st = error_set(err, ASSAY_BAD_INPUT, "%s holds no signal",
                       shape_text(x, text, sizeof text));
    if (!st)
        st = axis_resolve(attrs->axis, x->rank - 1, axis, err);
    if (st)
        return st;
    *transform = (struct transform){.is_complex = x->dims[x->rank - 1] == 2,
                                    .is_inverse = attrs->is_inverse};
    st = read_length(node->n_inputs > 1 ? inputs[1] : NULL, x->dims[*axis],
                     &transform->n, err);
    transform->n_in =
        transform->n < x->dims[*axis] ? transform->n : x->dims[*axis];
    transform->n_out =
        attrs->is_one_sided ? transform->n / 2 + 1 : transform->n;
    return st;
}

static enum assay_status infer_dft(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs, struct error *err)
{
    struct shape y = inputs[0]->shape;
    struct transform transform;
    int axis;
    enum assay_status st = plan_dft(node, inputs, &transform, &axis, err);

    if (st)
        return st;
    y.dims[axis] = transform.n_out;
    y.dims[y.rank - 1] = 2;
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status forward_dft(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[0]->shape, *y = &outputs[0].shape;
    struct transform transform;
    int axis;
    enum assay_status st = plan_dft(node, inputs, &transform, &axis, err);

    (void)context;
    if (!st)
        st = transform_start(&transform, err);
    if (st)
        return st;
    for (int64_t i = 0; i < shape_span(x, 0, axis); i++) {
        int64_t inner = shape_span(x, axis + 1, x->rank - 1);
        int64_t parts = transform.is_complex ? 2 : 1;

        for (int64_t k = 0; k < inner; k++)
            transform_run(
                &transform,
                tensor_f32(inputs[0]) + (i * x->dims[axis] * inner + k) * parts,
                inner * parts, NULL,
                tensor_f32(&outputs[0]) + (i * y->dims[axis] * inner + k) * 2,
                inner * 2);
    }
    mem_free(transform.roots);
    return ASSAY_OK;
}

/* ---- STFT ------------------------------------------------------------- */

enum stft_input { STFT_X, STFT_STEP, STFT_WINDOW, STFT_LENGTH };

static const struct tensor *stft_input(const struct node *node,
                                       const struct tensor *const *inputs,
                                       size_t i)
{
    return i < node->n_inputs ? inputs[i] : NULL;
}

static enum assay_status plan_stft(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct transform *transform, int64_t *step,
                                   struct error *err)
{
    const struct dft_attrs *attrs = node->attrs;
    const struct tensor *window = stft_input(node, inputs, STFT_WINDOW);
    const struct shape *x = &inputs[STFT_X]->shape;
    bool is_complex = x->rank == 3 && x->dims[2] == 2;
    int64_t length = window ? (int64_t)tensor_elements(window) : 0;
    enum assay_status st = rule_dtype(inputs, STFT_X, DTYPE_F32, err);

    if (!st && x->rank != 2 && x->rank != 3)
        st = rule_rank(inputs, STFT_X, 3, err);
    if (!st)
        st = read_length(inputs[STFT_STEP], 1, step, err);
    if (!st)
        st = read_length(stft_input(node, inputs, STFT_LENGTH), length, &length,
                         err);
    if (!st && window)
        st = rule_dtype(inputs, STFT_WINDOW, DTYPE_F32, err);
    if (!st && (length > x->dims[1] ||
                (window && (int64_t)tensor_elements(window) != length)))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "frames of %lld do not fit a window and a signal of "
                       "%lld",
                       (long long)length, (long long)x->dims[1]);
    *transform = (struct transform){
        .n = length,
        .n_in = length,
        .n_out = attrs->is_one_sided ? length / 2 + 1 : length,
        .is_complex = is_complex};
    return st;
}

static enum assay_status infer_stft(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[STFT_X]->shape;
    struct transform transform;
    struct shape y;
    int64_t step;
    enum assay_status st = plan_stft(node, inputs, &transform, &step, err);

    if (st)
        return st;
    y = shape_of(4, x->dims[0], (x->dims[1] - transform.n) / step + 1,
                 transform.n_out, (int64_t)2);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status forward_stft(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct tensor *window = stft_input(node, inputs, STFT_WINDOW);
    const int64_t *x = inputs[STFT_X]->shape.dims, *y = outputs[0].shape.dims;
    struct transform transform;
    int64_t step, parts;
    enum assay_status st = plan_stft(node, inputs, &transform, &step, err);

    (void)context;
    if (!st)
        st = transform_start(&transform, err);
    if (st)
        return st;
    parts = transform.is_complex ? 2 : 1;
    for (int64_t i = 0; i < y[0] * y[1]; i++)
        transform_run(&transform,
                      tensor_f32(inputs[STFT_X]) +
                          (i / y[1] * x[1] + i % y[1] * step) * parts,
                      parts, window ? tensor_f32(window) : NULL,
                      tensor_f32(&outputs[0]) + i * y[2] * 2, 2);
    mem_free(transform.roots);
    return ASSAY_OK;
}

/* ---- MelWeightMatrix -------------------------------------------------- */

enum mel_input { MEL_BINS, MEL_LENGTH, MEL_RATE, MEL_LOW, MEL_HIGH };

static enum assay_status infer_mel(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs, struct error *err)
{
    const struct mel_weight_attrs *attrs = node->attrs;
    struct shape shape = {.rank = 2};
    int64_t length;
    enum assay_status st =
        read_length(inputs[MEL_BINS], 1, &shape.dims[1], err);

    if (!st)
        st = read_length(inputs[MEL_LENGTH], 1, &length, err);
    if (st)
        return st;
    shape.dims[0] = length / 2 + 1;
    rule_set(&outputs[0], attrs->dtype, &shape);
    return ASSAY_OK;
}

static enum assay_status read_hertz(const struct tensor *tensor, double *value,
                                    struct error *err)
{
    if (tensor_elements(tensor) != 1)
        return error_set(err, ASSAY_BAD_INPUT, "%zu numbers for a frequency",
                         tensor_elements(tensor));
    convert_elements(tensor->dtype, tensor_data(tensor), DTYPE_F64, value, 1);
    return ASSAY_OK;
}

static double to_mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* The line of the spectrum that an edge of the triangles falls on. */
static double edge_line(double low, double high, int64_t bins, int64_t i,
                        int64_t length, double rate)
{
    double mel = to_mel(low) +
                 (double)i * (to_mel(high) - to_mel(low)) / (double)(bins + 2);
    double hertz = 700 * (pow(10, mel / 2595) - 1);

    return floor((double)(length + 1) * hertz / rate);
}

/* Triangles over the spectrum, each from the middle of the one before to that
 * of the one behind. */
static enum assay_status forward_mel(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct mel_weight_attrs *attrs = node->attrs;
    int64_t lines = outputs[0].shape.dims[0], bins = outputs[0].shape.dims[1];
    int64_t length = int_at(inputs[MEL_LENGTH], 0);
    size_t bytes = dtype_bytes(attrs->dtype);
    char *to = tensor_data(&outputs[0]);
    double hertz[3];
    enum assay_status st = ASSAY_OK;

    (void)context;
    for (size_t i = 0; !st && i < 3; i++)
        st = read_hertz(inputs[MEL_RATE + i], &hertz[i], err);
    for (int64_t i = 0; !st && i < bins; i++) {
        double edges[3];

        for (int k = 0; k < 3; k++)
            edges[k] =
                edge_line(hertz[1], hertz[2], bins, i + k, length, hertz[0]);
        for (int64_t line = 0; line < lines; line++) {
            double at = (double)line, value = 0;

            if (at == edges[1])
                value = 1;
            else if (at >= edges[0] && at < edges[1])
                value = (at - edges[0]) / (edges[1] - edges[0]);
            else if (at > edges[1] && at < edges[2])
                value = (edges[2] - at) / (edges[2] - edges[1]);
            convert_elements(DTYPE_F64, &value, attrs->dtype,
                             to + (size_t)(line * bins + i) * bytes, 1);
        }
    }
    return st;
}

/* X(symbol, name, kind, attributes, least inputs, most inputs) */
#define SIGNAL_LIST(X)                                                         \
    X(window_function, "WindowFunction", window, window_function_attrs, 1, 1)  \
    X(dft, "DFT", dft, dft_attrs, 1, 2)                                        \
    X(stft, "STFT", stft, dft_attrs, 2, 4)                                     \
    X(mel_weight_matrix, "MelWeightMatrix", mel, mel_weight_attrs, 5, 5)

#define CLASS(symbol, text, kind, attrs, least, most)                          \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct attrs),                                   \
        .min_inputs = least,                                                   \
        .max_inputs = most,                                                    \
        .min_outputs = 1,                                                      \
        .max_outputs = 1,                                                      \
        .infer = infer_##kind,                                                 \
        .forward = forward_##kind,                                             \
    };
SIGNAL_LIST(CLASS)

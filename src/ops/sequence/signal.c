/* ops/sequence/signal.c - see signal.h.
 *
 * Transforms are computed by definition, with a table of the roots of unity:
 * models only transform short frames. */
#include "ops/sequence/signal.h"

#include "base/mem.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

enum {
    max_length = 1 << 20,
    max_transform = 1 << 16 /* longer ones would take minutes */
};

static const double pi = 3.14159265358979323846;

static enum assay_status read_length(const struct tensor *tensor,
                                     int64_t fallback, int64_t *length,
                                     struct error *err)
{
    enum assay_status st = int_read(tensor, fallback, length, err);

    if (!st && (*length < 1 || *length > max_length))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "a length of %lld; 1 to %d are supported",
                       (long long)*length, max_length);
    return st;
}

/* ---- windows ---------------------------------------------------------- */

static enum assay_status window_infer(const struct node *node,
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

static enum assay_status window_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct window_function_attrs *attrs = node->attrs;
    int64_t n = outputs[0].shape.dims[0];
    double period = (double)(attrs->is_periodic || n == 1 ? n : n - 1);

    (void)context, (void)inputs, (void)err;
    for (int64_t i = 0; i < n; i++) {
        double t = 2 * pi * (double)i / period;

        number_put(&outputs[0], (size_t)i,
                   attrs->a0 - attrs->a1 * cos(t) + attrs->a2 * cos(2 * t));
    }
    return ASSAY_OK;
}

/* ---- transforms ------------------------------------------------------- */

/* A transform of length n; the input has n_in elements, then zeros. */
struct transform {
    int64_t n, n_in, n_out;
    bool is_complex, is_inverse;
    bool is_mirrored; /* the other half of the input is the conjugate of what is
                         there, and the result is real */
    double *roots;    /* cosines, then sines */
};

static enum assay_status transform_start(struct transform *transform,
                                         struct error *err)
{
    size_t n = (size_t)transform->n;

    if (n > max_transform)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "a transform of length %zu; at most %d is supported",
                         n, max_transform);
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

/* Steps are in floats; an element is one float, or two if it is complex. window
 * may be NULL. */
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
            bool is_twice =
                transform->is_mirrored && i > 0 && 2 * i != transform->n;
            double weight = window ? (double)window[i] : is_twice ? 2 : 1;
            double a = (double)x[i * x_step] * weight;
            double b =
                transform->is_complex ? (double)x[i * x_step + 1] * weight : 0;

            re += a * cosines[at] - b * sines[at];
            im += a * sines[at] + b * cosines[at];
        }
        y[k * y_step] = (float)(re * scale);
        if (!transform->is_mirrored)
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
    bool is_mirrored = attrs->is_inverse && attrs->is_one_sided;
    int64_t named;
    char text[64];
    enum assay_status st = rule_dtype(inputs, 0, DTYPE_F32, err);

    if (!st && (x->rank < 2 ||
                (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 1] != 2)))
        st = error_set(err, ASSAY_BAD_INPUT, "%s is not a signal",
                       shape_text(x, text, sizeof text));
    if (!st)
        st = int_read(op_input(node, inputs, 2), attrs->axis, &named, err);
    /* The last dimension is that of the parts, but counts. */
    if (!st)
        st = axis_resolve(named, x->rank, axis, err);
    if (!st && *axis == x->rank - 1)
        st = error_set(err, ASSAY_BAD_INPUT, "axis %lld is that of the parts",
                       (long long)named);
    if (st)
        return st;
    *transform = (struct transform){.is_complex = x->dims[x->rank - 1] == 2,
                                    .is_inverse = attrs->is_inverse,
                                    .is_mirrored = is_mirrored};
    st = read_length(op_input(node, inputs, 1),
                     is_mirrored ? 2 * (x->dims[*axis] - 1) : x->dims[*axis],
                     &transform->n, err);
    transform->n_in =
        transform->n < x->dims[*axis] ? transform->n : x->dims[*axis];
    transform->n_out = attrs->is_one_sided && !is_mirrored
                           ? transform->n / 2 + 1
                           : transform->n;
    if (is_mirrored && transform->n_in > transform->n / 2 + 1)
        transform->n_in = transform->n / 2 + 1;
    return st;
}

static enum assay_status dft_infer(const struct node *node,
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
    y.dims[y.rank - 1] = transform.is_mirrored ? 1 : 2;
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status dft_forward(const struct op_context *context,
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
        int64_t made = transform.is_mirrored ? 1 : 2;

        for (int64_t k = 0; k < inner; k++)
            transform_run(&transform,
                          tensor_f32(inputs[0]) +
                              (i * x->dims[axis] * inner + k) * parts,
                          inner * parts, NULL,
                          tensor_f32(&outputs[0]) +
                              (i * y->dims[axis] * inner + k) * made,
                          inner * made);
    }
    mem_free(transform.roots);
    return ASSAY_OK;
}

/* ---- STFT ------------------------------------------------------------- */

enum stft_input { STFT_X, STFT_STEP, STFT_WINDOW, STFT_LENGTH };

static enum assay_status plan_stft(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct transform *transform, int64_t *step,
                                   struct error *err)
{
    const struct dft_attrs *attrs = node->attrs;
    const struct tensor *window = op_input(node, inputs, STFT_WINDOW);
    const struct shape *x = &inputs[STFT_X]->shape;
    bool is_complex = x->rank == 3 && x->dims[2] == 2;
    int64_t length = window ? (int64_t)tensor_elements(window) : 0;
    enum assay_status st = rule_dtype(inputs, STFT_X, DTYPE_F32, err);

    if (!st && x->rank != 2 && x->rank != 3)
        st = rule_rank(inputs, STFT_X, 3, err);
    if (!st)
        st = read_length(inputs[STFT_STEP], 1, step, err);
    if (!st)
        st = read_length(op_input(node, inputs, STFT_LENGTH), length, &length,
                         err);
    if (!st && window)
        st = rule_dtype(inputs, STFT_WINDOW, DTYPE_F32, err);
    if (!st && (length > x->dims[1] ||
                (window && (int64_t)tensor_elements(window) != length)))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "frames of %lld do not fit the window or a signal of "
                       "%lld",
                       (long long)length, (long long)x->dims[1]);
    *transform = (struct transform){
        .n = length,
        .n_in = length,
        .n_out = attrs->is_one_sided ? length / 2 + 1 : length,
        .is_complex = is_complex};
    return st;
}

static enum assay_status stft_infer(const struct node *node,
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

static enum assay_status stft_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct tensor *window = op_input(node, inputs, STFT_WINDOW);
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

static enum assay_status mel_infer(const struct node *node,
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
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu numbers for a frequency; expected 1",
                         tensor_elements(tensor));
    *value = number_at(tensor, 0);
    return ASSAY_OK;
}

static double to_mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* The line of the spectrum that edge i of the triangles falls on. */
static double edge_line(double low, double high, int64_t bins, int64_t i,
                        int64_t length, double rate)
{
    double mel = to_mel(low) +
                 (double)i * (to_mel(high) - to_mel(low)) / (double)(bins + 2);
    double hertz = 700 * (pow(10, mel / 2595) - 1);

    return floor((double)(length + 1) * hertz / rate);
}

/* Triangles over the spectrum, each from the middle of the previous one to the
 * middle of the next. */
static enum assay_status mel_forward(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    int64_t lines = outputs[0].shape.dims[0], bins = outputs[0].shape.dims[1];
    int64_t length = int_at(inputs[MEL_LENGTH], 0);
    double hertz[3];
    enum assay_status st = ASSAY_OK;

    (void)context, (void)node;
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
            number_put(&outputs[0], (size_t)(line * bins + i), value);
        }
    }
    return st;
}

#define CLASS(symbol, text, kind, attrs, least, most, settings)                \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct attrs),                                   \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, 1),                                                        \
        .infer = kind##_infer,                                                 \
        .host_inputs = settings,                                               \
        .forward = kind##_forward,                                             \
    };
CLASS(window_function, "WindowFunction", window, window_function_attrs, 1, 1,
      OP_INPUT(0))
CLASS(dft, "DFT", dft, dft_attrs, 1, 3, OP_INPUT(1) | OP_INPUT(2))
CLASS(stft, "STFT", stft, dft_attrs, 2, 4,
      OP_INPUT(STFT_STEP) | OP_INPUT(STFT_LENGTH))
CLASS(mel_weight_matrix, "MelWeightMatrix", mel, mel_weight_attrs, 5, 5,
      UINT64_MAX)

/* ops/convolution/conv_gradient.c - see conv_internal.h: the sums of a
 * convolution's gradients, in plain code. */
#include "ops/convolution/conv_internal.h"

#include "base/variants.h"
#include "ops/op_threads.h"

struct conv_sides conv_sides_2d(const struct shape *large,
                                const struct shape *small,
                                const struct shape *weight, int64_t groups,
                                const int64_t stride[2],
                                const int64_t dilation[2],
                                const int64_t before[2])
{
    struct conv_sides sides = {.images = large->dims[0],
                               .groups = groups,
                               .small_channels = small->dims[1],
                               .large_channels = large->dims[1],
                               .window = {.kernel = {1},
                                          .stride = {1},
                                          .dilation = {1},
                                          .in = {1},
                                          .out = {1}}};

    for (int i = 0; i < 2; i++) {
        sides.window.kernel[1 + i] = weight->dims[2 + i];
        sides.window.stride[1 + i] = stride[i];
        sides.window.dilation[1 + i] = dilation[i];
        sides.window.before[1 + i] = before[i];
        sides.window.in[1 + i] = large->dims[2 + i];
        sides.window.out[1 + i] = small->dims[2 + i];
    }
    return sides;
}

/* Along a side, for one place of the kernel: positions [first, end) have it
 * inside; at position 0 it would lie at `from`. */
struct line {
    int64_t first, end, from, step;
};

static struct line conv_gradient_line_of(const struct fitted_window *window,
                                         int side, int64_t place)
{
    struct line line = {.from = place * window->dilation[side] -
                                window->before[side],
                        .step = window->stride[side]};
    int64_t room = window->in[side] - 1 - line.from;

    if (line.from < 0)
        line.first = (-line.from + line.step - 1) / line.step;
    line.end = room < 0 ? 0 : room / line.step + 1;
    if (line.end > window->out[side])
        line.end = window->out[side];
    return line;
}

/* The three sides for one place of the kernel. */
struct lines {
    struct line of[WINDOW_MAX_RANK];
};

static struct lines lines_of(const struct fitted_window *window, int64_t place)
{
    int64_t column = place % window->kernel[2];
    int64_t row = place / window->kernel[2] % window->kernel[1];
    int64_t plane = place / window->kernel[2] / window->kernel[1];

    return (struct lines){{conv_gradient_line_of(window, 0, plane),
                           conv_gradient_line_of(window, 1, row),
                           conv_gradient_line_of(window, 2, column)}};
}

/* Loops over the rows of both sides; `columns` is the line along a row. */
#define FOR_ROWS(window, place)                                                \
    struct lines lines = lines_of(window, place);                              \
    const struct line *columns = &lines.of[2];                                 \
                                                                               \
    for (int64_t p = lines.of[0].first; p < lines.of[0].end; p++)              \
        for (int64_t r = lines.of[1].first; r < lines.of[1].end; r++)

static int64_t small_row(const struct fitted_window *window, int64_t p,
                         int64_t r)
{
    return (p * window->out[1] + r) * window->out[2];
}

static int64_t large_row(const struct fitted_window *window,
                         const struct lines *lines, int64_t p, int64_t r)
{
    int64_t plane = lines->of[0].from + p * lines->of[0].step;
    int64_t row = lines->of[1].from + r * lines->of[1].step;

    return (plane * window->in[1] + row) * window->in[2] + lines->of[2].from;
}

VARIANTS(void, conv_gradient_spread,
         (const struct fitted_window *window, int64_t place, float factor,
          const float *small, float *large),
         (window, place, factor, small, large))
{
    FOR_ROWS(window, place)
    {
        const float *from = small + small_row(window, p, r);
        float *to = large + large_row(window, &lines, p, r);

        if (columns->step == 1) {
            for (int64_t i = columns->first; i < columns->end; i++)
                to[i] += factor * from[i];
        } else {
            for (int64_t i = columns->first; i < columns->end; i++)
                to[i * columns->step] += factor * from[i];
        }
    }
}

VARIANTS(void, conv_gradient_collect,
         (const struct fitted_window *window, int64_t place, float factor,
          const float *large, float *small),
         (window, place, factor, large, small))
{
    FOR_ROWS(window, place)
    {
        const float *from = large + large_row(window, &lines, p, r);
        float *to = small + small_row(window, p, r);

        for (int64_t i = columns->first; i < columns->end; i++)
            to[i] += factor * from[i * columns->step];
    }
}

VARIANTS(double, correlate,
         (const struct fitted_window *window, int64_t place, const float *small,
          const float *large),
         (window, place, small, large))
{
    double sum = 0;

    FOR_ROWS(window, place)
    {
        const float *a = small + small_row(window, p, r);
        const float *b = large + large_row(window, &lines, p, r);
        float row = 0;

        for (int64_t i = columns->first; i < columns->end; i++)
            row += a[i] * b[i * columns->step];
        sum += (double)row;
    }
    return sum;
}

/* large += small, spread by the kernel. */
static void conv_to_large(const struct op_context *context,
                          const struct conv_sides *sides, const float *weight,
                          const float *small, float *large)
{
    const struct fitted_window *window = &sides->window;
    int64_t places = window_volume(window->kernel),
            channels = sides->large_channels;
    int64_t depth = channels / sides->groups;
    int64_t width = sides->small_channels / sides->groups;

#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < sides->images * channels; i++) {
        int64_t n = i / channels, c = i % channels, group = c / depth;

        for (int64_t o = group * width; o < (group + 1) * width; o++) {
            const float *kernel = weight + (o * depth + c % depth) * places;
            const float *from = small + (n * sides->small_channels + o) *
                                            window_volume(window->out);

            for (int64_t k = 0; k < places; k++)
                conv_gradient_spread(window, k, kernel[k], from,
                                     large + i * window_volume(window->in));
        }
    }
}

/* small += large, collected by the kernel. */
static void conv_to_small(const struct op_context *context,
                          const struct conv_sides *sides, const float *weight,
                          const float *large, float *small)
{
    const struct fitted_window *window = &sides->window;
    int64_t places = window_volume(window->kernel),
            channels = sides->small_channels;
    int64_t depth = sides->large_channels / sides->groups;
    int64_t width = channels / sides->groups;

#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < sides->images * channels; i++) {
        int64_t n = i / channels, o = i % channels, first = o / width * depth;

        for (int64_t c = 0; c < depth; c++) {
            const float *kernel = weight + (o * depth + c) * places;
            const float *from =
                large + (n * sides->large_channels + first + c) *
                            window_volume(window->in);

            for (int64_t k = 0; k < places; k++)
                conv_gradient_collect(window, k, kernel[k], from,
                                      small + i * window_volume(window->out));
        }
    }
}

/* weight = sums of small times large under each place of the kernel. */
static void conv_to_weight(const struct op_context *context,
                           const struct conv_sides *sides, const float *small,
                           const float *large, float *weight)
{
    const struct fitted_window *window = &sides->window;
    int64_t places = window_volume(window->kernel);
    int64_t depth = sides->large_channels / sides->groups;
    int64_t width = sides->small_channels / sides->groups;
    int64_t n_weights = sides->small_channels * depth * places;

#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n_weights; i++) {
        int64_t o = i / places / depth, c = i / places % depth;
        int64_t from = o / width * depth + c;
        double sum = 0;

        for (int64_t n = 0; n < sides->images; n++)
            sum += correlate(window, i % places,
                             small + (n * sides->small_channels + o) *
                                         window_volume(window->out),
                             large + (n * sides->large_channels + from) *
                                         window_volume(window->in));
        weight[i] = (float)sum;
    }
}

void conv_backward(const struct op_context *context,
                   const struct conv_sides *sides,
                   const struct op_backward *pass, const struct tensor *dy,
                   bool is_transposed)
{
    const struct tensor *x = pass->inputs[CONV_X];
    const struct tensor *w = pass->inputs[CONV_WEIGHT];

    if (op_wants(pass, CONV_X))
        (is_transposed ? conv_to_small : conv_to_large)(
            context, sides, tensor_f32(w), tensor_f32(dy),
            tensor_f32(&pass->dx[CONV_X]));
    if (op_wants(pass, CONV_WEIGHT))
        conv_to_weight(context, sides, tensor_f32(is_transposed ? x : dy),
                       tensor_f32(is_transposed ? dy : x),
                       tensor_f32(&pass->dx[CONV_WEIGHT]));
}

/* picture/axis.c - see axis.h. */
#include "picture/axis.h"

#include <math.h>

double axis_place(const struct axis *axis, double value)
{
    double share;

    if (axis->is_log)
        share = log(value / axis->low) / log(axis->high / axis->low);
    else
        share = (value - axis->low) / (axis->high - axis->low);
    return axis->from + share * (axis->to - axis->from);
}

/* The smallest of 1, 2, 5 times a power of ten that is at least `step`. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));
    double digit = step / power;

    /* The tolerance: 0.3 / 0.1 must stay 3 steps. */
    if (digit <= 1 + 1e-9)
        return power;
    return digit <= 2 + 1e-9 ? 2 * power
                             : (digit <= 5 + 1e-9 ? 5 * power : 10 * power);
}

static double linear_step(const struct axis *axis, size_t n)
{
    double span = axis->high - axis->low;

    return span > 0 && isfinite(span) ? round_step(span / (double)n) : 0;
}

static void add_tick(struct ticks *ticks, const struct axis *axis, double value)
{
    double slack = (axis->high - axis->low) * 1e-9;

    if (ticks->n < AXIS_MAX_TICKS && value >= axis->low - slack &&
        value <= axis->high + slack)
        ticks->values[ticks->n++] = value;
}

static struct ticks log_ticks(const struct axis *axis, size_t n)
{
    static const double digits[] = {1, 2, 5};
    double decades = log10(axis->high / axis->low);
    size_t n_digits = decades < (double)n / 2 ? 3 : 1;
    struct ticks ticks = {0};

    if (!(axis->low > 0) || !isfinite(decades))
        return ticks;
    for (double e = floor(log10(axis->low)); e <= ceil(log10(axis->high)); e++)
        for (size_t i = 0; i < n_digits; i++)
            add_tick(&ticks, axis, digits[i] * pow(10, e));
    return ticks;
}

struct ticks axis_ticks(const struct axis *axis, size_t n)
{
    struct ticks ticks = {0};
    double step;

    if (axis->is_log)
        return log_ticks(axis, n);
    step = linear_step(axis, n);
    if (step > 0) {
        double first = ceil(axis->low / step - 1e-9);

        for (int i = 0; i < AXIS_MAX_TICKS; i++)
            add_tick(&ticks, axis, (first + i) * step);
    }
    return ticks;
}

void axis_round(struct axis *axis, size_t n)
{
    double step;

    if (axis->is_log) {
        axis->low = pow(10, floor(log10(axis->low) + 1e-9));
        axis->high = pow(10, ceil(log10(axis->high) - 1e-9));
        return;
    }
    step = linear_step(axis, n);
    if (step > 0) {
        axis->low = floor(axis->low / step + 1e-9) * step;
        axis->high = ceil(axis->high / step - 1e-9) * step;
    }
}

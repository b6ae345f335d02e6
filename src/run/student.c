/* run/student.c - see student.h. */
#include "run/student.h"

#include <math.h>

/* Above this it equals the normal distribution to 7 digits. */
static const double many_df = 1e7;

/* The continued fraction of the incomplete beta function (Abramowitz, Stegun
 * 26.5.8), evaluated from the front with Lentz's method. */
static double student_beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d, result;

    d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    result = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        result *= d * c;

        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        step = d * c;
        result *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return result;
}

/* log gamma(x), thread-safe. */
static double student_log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* The regularised incomplete beta function; y is 1 - x, passed in because the
 * difference would lose digits. */
static double student_beta(double a, double b, double x, double y)
{
    double front;

    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    front = exp(student_log_gamma(a + b) - student_log_gamma(a) -
                student_log_gamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front * student_beta_fraction(a, b, x) / a;
    return 1 - front * student_beta_fraction(b, a, y) / b;
}

double student_tails(double t, double df)
{
    if (isnan(t) || isnan(df))
        return NAN;
    if (isinf(t))
        return 0;
    if (df > many_df)
        return erfc(fabs(t) / sqrt(2.0));
    return student_beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t));
}

static double student_density(double t, double df)
{
    const double log_two_pi = 1.8378770664093454836,
                 log_pi = 1.1447298858494002;

    if (df > many_df)
        return exp(-(t * t + log_two_pi) / 2);
    return exp(student_log_gamma((df + 1) / 2) - student_log_gamma(df / 2) -
               (log(df) + log_pi) / 2 - (df + 1) / 2 * log1p(t * t / df));
}

/* Log tails over log t curve only one way, so Newton's steps from far out
 * converge; halving the bracket catches steps that leave it. */
double student_critical(double tails, double df)
{
    double low = 0, high = 1, t;

    while (student_tails(high, df) > tails && high < 1e300)
        high *= 2;
    t = high;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double now = student_tails(t, df);
        double slope = -2 * t * student_density(t, df) / now;
        double next = t * exp((log(tails) - log(now)) / slope);

        if (now > tails)
            low = t;
        else
            high = t;
        if (fabs(next - t) <= 1e-12 * t)
            break;
        t = next > low && next < high ? next : low + (high - low) / 2;
    }
    return t;
}

double trigamma(double x)
{
    double sum = 0, inverse, square;

    /* The recurrence up to where the asymptotic series (Abramowitz, Stegun
     * 6.4.12) is exact to 1e-12. */
    for (; x < 20; x++)
        sum += 1 / (x * x);
    inverse = 1 / x;
    square = inverse * inverse;
    return sum + inverse + square / 2 +
           inverse * square *
               (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42)));
}

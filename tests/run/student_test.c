/* What run/student.h promises, against published tables. */
#include "run/student.h"
#include "test.h"

#include <math.h>

/* Critical values as statistical tables print them, to three decimals (upper
 * tail, so the two tails hold twice as much). */
TEST(critical_values_match_printed_tables)
{
    static const struct {
        double upper, df, t;
    } rows[] = {
        {0.05, 1, 6.314},    {0.025, 1, 12.706},  {0.001, 1, 318.309},
        {0.05, 2, 2.920},    {0.025, 4, 2.776},   {0.005, 10, 3.169},
        {0.001, 10, 4.144},  {0.025, 30, 2.042},  {0.001, 30, 3.385},
        {0.025, 100, 1.984}, {0.001, 100, 3.174}, {0.025, INFINITY, 1.960},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_NEAR(student_critical(2 * rows[i].upper, rows[i].df), rows[i].t,
                   0.0006);
}

/* With one and two degrees of freedom the distribution has a closed form. */
TEST(tails_agree_with_the_closed_forms_far_out)
{
    const double pi = 3.14159265358979323846;

    for (double t = 0.25; t < 1e6; t *= 3) {
        double one = 2 / pi * atan(1 / t);
        double two = 1 - t / sqrt(2 + t * t);

        CHECK_NEAR(student_tails(t, 1) / one, 1, 1e-11);
        if (t < 1000)
            CHECK_NEAR(student_tails(t, 2) / two, 1, 1e-8);
        CHECK_NEAR(student_tails(-t, 1) / one, 1, 1e-11);
    }
}

TEST(many_degrees_of_freedom_are_the_normal_distribution)
{
    CHECK_NEAR(student_tails(1.959963984540054, INFINITY), 0.05, 1e-12);
    CHECK_NEAR(student_tails(3, 9.9e6) / student_tails(3, 1.1e7), 1, 1e-5);
}

TEST(tails_at_zero_and_infinity)
{
    CHECK_NEAR(student_tails(0, 7.5), 1, 1e-15);
    CHECK_NEAR(student_tails(INFINITY, 7.5), 0, 0);
    CHECK(isnan(student_tails(NAN, 7.5)));
}

TEST(a_critical_value_has_the_tails_it_was_asked_for)
{
    for (double df = 0.7; df < 1e6; df *= 2.3) {
        for (double tails = 0.9; tails > 1e-12; tails /= 7)
            CHECK_NEAR(student_tails(student_critical(tails, df), df) / tails,
                       1, 1e-6);
    }
}

/* pi^2/6 at 1, pi^2/2 at 1/2, and the recurrence. */
TEST(trigamma_has_its_known_values)
{
    const double pi = 3.14159265358979323846;

    CHECK_NEAR(trigamma(1), pi * pi / 6, 1e-11);
    CHECK_NEAR(trigamma(0.5), pi * pi / 2, 1e-11);
    CHECK_NEAR(trigamma(7.25) - trigamma(8.25), 1 / (7.25 * 7.25), 1e-12);
    CHECK_NEAR(trigamma(1000), 0.0010005001666666333, 1e-15);
}

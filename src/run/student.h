/* run/student.h - the special functions that a comparison needs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_STUDENT_H
#define RUN_STUDENT_H

/* The probability that |T| is at least |t|, where T has Student's distribution
 * with df > 0 degrees of freedom (any real number, even infinite). */
double student_tails(double t, double df);

/* The t whose two tails together hold `tails` (0 < tails < 1). */
double student_critical(double tails, double df);

/* The second derivative of log gamma, x > 0: the variance of the log of a
 * chi-square variable with 2x degrees of freedom. */
double trigamma(double x);

#endif

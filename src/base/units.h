/* base/units.h - numbers as people read them: three significant digits.
 *
 * Each writes into the caller's buffer and returns it. NaN comes out as "-":
 * pass NAN for what is unknown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

enum { UNITS_MAX = 32 };

/* "812", "81.2", "8.12", "0.812", "0.000812": three significant digits, no
 * exponent between 1e-6 and 1e15. 0 is "0". */
const char *units_number(char buffer[UNITS_MAX], double value);
/* Milliseconds with a fixed point for columns: "784.0", "0.4", "0.04" below
 * 0.1; thousands are never grouped. */
const char *units_ms(char buffer[UNITS_MAX], double nanoseconds);
/* In the unit that fits: "812 ms", "1.23 s", "42.0 us", "17 ns",
 * "3 min 20 s". */
const char *units_time(char buffer[UNITS_MAX], double nanoseconds);
/* "612 MiB", "1.5 GiB", "17 B". */
const char *units_bytes(char buffer[UNITS_MAX], double bytes);
/* For files: "0.4 MB", "2.1 GB", decimal. */
const char *units_file_size(char buffer[UNITS_MAX], double bytes);
/* "41.8 M", "20.0 k". */
const char *units_count(char buffer[UNITS_MAX], double value);
/* How rates are told: those of a GPU would need six digits in GFLOP/s. */
struct rate_unit {
    const char *name; /* "GFLOP/s" */
    double giga;      /* of the unit that rates are stored in */
};

/* TFLOP/s from 10,000 GFLOP/s on; below, or if it is not known, GFLOP/s. */
struct rate_unit units_flops(double most_gflops);
/* TB/s from 1000 GB/s on. */
struct rate_unit units_bandwidth(double most_gbs);
/* "301 GFLOP/s". */
const char *units_rate(char buffer[UNITS_MAX], double value,
                       struct rate_unit unit);
/* "+5.1 %", "-0.3 %", "12 %": share is 0.051. */
const char *units_percent(char buffer[UNITS_MAX], double share, int with_sign);

#endif

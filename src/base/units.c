/* base/units.c - see units.h. */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decimals that show three significant digits of the value after rounding it to
 * them: 1 for 9.996 too. */
static int units_decimals_for(double value)
{
    char digits[UNITS_MAX];
    long exponent;

    snprintf(digits, sizeof digits, "%.2e", value);
    exponent = strtol(strchr(digits, 'e') + 1, NULL, 10);
    return exponent >= 2 ? 0 : (int)(2 - exponent);
}

const char *units_number(char buffer[UNITS_MAX], double value)
{
    double size = fabs(value);

    if (!isfinite(value))
        snprintf(buffer, UNITS_MAX, "-");
    else if (size == 0)
        snprintf(buffer, UNITS_MAX, "0");
    else if (size < 1e-6 || size >= 1e15)
        snprintf(buffer, UNITS_MAX, "%.2e", value);
    else
        snprintf(buffer, UNITS_MAX, "%.*f", units_decimals_for(value), value);
    return buffer;
}

const char *units_ms(char buffer[UNITS_MAX], double nanoseconds)
{
    double ms = nanoseconds / 1e6;
    double size = fabs(ms);
    int decimals = size == 0 || size >= 0.095 ? 1 : size >= 0.0095 ? 2 : 3;

    if (!isfinite(ms))
        snprintf(buffer, UNITS_MAX, "-");
    else
        snprintf(buffer, UNITS_MAX, size < 1e15 ? "%.*f" : "%.*e", decimals,
                 ms);
    return buffer;
}

/* "812 ms": the number and its unit. */
static const char *with_unit(char buffer[UNITS_MAX], double value,
                             const char *unit)
{
    char number[UNITS_MAX];

    snprintf(buffer, UNITS_MAX, "%.20s %s", units_number(number, value), unit);
    return buffer;
}

/* "3 min 20 s", for a minute or more. */
static const char *long_time(char buffer[UNITS_MAX], double seconds)
{
    double whole = nearbyint(seconds);

    if (whole < 3600)
        snprintf(buffer, UNITS_MAX, "%.0f min %.0f s", floor(whole / 60),
                 fmod(whole, 60));
    else
        snprintf(buffer, UNITS_MAX, "%.0f h %.0f min", floor(whole / 3600),
                 floor(fmod(whole, 3600) / 60));
    return buffer;
}

const char *units_time(char buffer[UNITS_MAX], double nanoseconds)
{
    double size = fabs(nanoseconds);

    if (!isfinite(nanoseconds))
        snprintf(buffer, UNITS_MAX, "-");
    else if (size < 999.5 && nanoseconds == nearbyint(nanoseconds))
        snprintf(buffer, UNITS_MAX, "%.0f ns", nanoseconds);
    else if (size < 999.5)
        with_unit(buffer, nanoseconds, "ns");
    else if (size < 999.5e3)
        with_unit(buffer, nanoseconds / 1e3, "us");
    else if (size < 999.5e6)
        with_unit(buffer, nanoseconds / 1e6, "ms");
    else if (nanoseconds < 59.95e9)
        with_unit(buffer, nanoseconds / 1e9, "s");
    else
        long_time(buffer, nanoseconds / 1e9);
    return buffer;
}

struct unit {
    double size;
    const char *name;
};

/* In the largest unit that the value reaches, with one decimal below 100;
 * units[0] is the smallest one and has no decimals. */
static const char *in_units(char buffer[UNITS_MAX], double value,
                            const struct unit *units, size_t n)
{
    size_t i = n - 1;
    double scaled;

    if (!isfinite(value)) {
        snprintf(buffer, UNITS_MAX, "-");
        return buffer;
    }
    while (i > 0 && fabs(value) < units[i].size)
        i--;
    scaled = value / units[i].size;
    if (fabs(scaled) >= 1e15)
        snprintf(buffer, UNITS_MAX, "%.2e %s", scaled, units[i].name);
    else
        snprintf(buffer, UNITS_MAX, "%.*f %s",
                 i > 0 && fabs(scaled) < 99.95 ? 1 : 0, scaled, units[i].name);
    return buffer;
}

const char *units_bytes(char buffer[UNITS_MAX], double bytes)
{
    static const struct unit units[] = {{1, "B"},
                                        {0x1p10, "KiB"},
                                        {0x1p20, "MiB"},
                                        {0x1p30, "GiB"},
                                        {0x1p40, "TiB"}};

    return in_units(buffer, bytes, units, sizeof units / sizeof *units);
}

const char *units_file_size(char buffer[UNITS_MAX], double bytes)
{
    static const struct unit units[] = {
        {1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};

    if (fabs(bytes) >= 1e5 && fabs(bytes) < 1e6) {
        snprintf(buffer, UNITS_MAX, "%.1f MB", bytes / 1e6);
        return buffer;
    }
    return in_units(buffer, bytes, units, sizeof units / sizeof *units);
}

const char *units_count(char buffer[UNITS_MAX], double value)
{
    double size = fabs(value);

    if (size < 999.5 && value == nearbyint(value))
        snprintf(buffer, UNITS_MAX, "%.0f", value);
    else if (size < 999.5 || !isfinite(value))
        units_number(buffer, value);
    else if (size < 999.5e3)
        with_unit(buffer, value / 1e3, "k");
    else if (size < 999.5e6)
        with_unit(buffer, value / 1e6, "M");
    else if (size < 999.5e9)
        with_unit(buffer, value / 1e9, "G");
    else
        with_unit(buffer, value / 1e12, "T");
    return buffer;
}

const char *units_percent(char buffer[UNITS_MAX], double share, int with_sign)
{
    double percent = share * 100;
    double size = fabs(percent);
    int decimals = size == 0 || size >= 9.95 ? 0 : 1;

    if (size < 0.05)
        percent = 0; /* no "-0.0 %" */
    if (!isfinite(percent))
        snprintf(buffer, UNITS_MAX, "-");
    else if (size >= 1e15)
        snprintf(buffer, UNITS_MAX, "%.2e %%", percent);
    else
        snprintf(buffer, UNITS_MAX,
                 with_sign && percent != 0 ? "%+.*f %%" : "%.*f %%", decimals,
                 percent);
    return buffer;
}

struct rate_unit units_flops(double most_gflops)
{
    if (most_gflops >= 1e4)
        return (struct rate_unit){.name = "TFLOP/s", .giga = 1e3};
    return (struct rate_unit){.name = "GFLOP/s", .giga = 1};
}

struct rate_unit units_bandwidth(double most_gbs)
{
    if (most_gbs >= 1e3)
        return (struct rate_unit){.name = "TB/s", .giga = 1e3};
    return (struct rate_unit){.name = "GB/s", .giga = 1};
}

const char *units_rate(char buffer[UNITS_MAX], double value,
                       struct rate_unit unit)
{
    return with_unit(buffer, value / unit.giga, unit.name);
}

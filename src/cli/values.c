/* cli/values.c - see values.h. */
#include "cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum assay_status value_integer(const char *text, int64_t *value,
                                struct error *err)
{
    long long read;
    char *end;

    errno = 0;
    read = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text))
        return error_set(err, ASSAY_BAD_USAGE, "'%s' is not a whole number",
                         text);
    if (errno == ERANGE)
        return error_set(err, ASSAY_BAD_USAGE, "the number %s is too large",
                         text);
    *value = read;
    return ASSAY_OK;
}

/* A decimal number at the start of text; NULL if there is none. The other
 * spellings of strtod() (inf, nan, 0x10) are refused. */
static const char *values_read_number(const char *text, double *value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (!isdigit((unsigned char)*digits) && *digits != '.')
        return NULL;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        return NULL;
    *value = strtod(text, &end);
    return end > text && isfinite(*value) ? end : NULL;
}

enum assay_status value_number(const char *text, double *value,
                               struct error *err)
{
    double read;
    const char *end = values_read_number(text, &read);

    if (!end || *end)
        return error_set(err, ASSAY_BAD_USAGE, "'%s' is not a number", text);
    *value = read;
    return ASSAY_OK;
}

/* What a unit of size multiplies by; 0 if the unit is unknown. */
static double values_unit_factor(const char *unit)
{
    static const char letters[] = "KMGT";
    const char *letter;
    double base;

    if (!*unit || strcasecmp(unit, "b") == 0)
        return 1;
    letter = strchr(letters, toupper((unsigned char)*unit));
    if (!letter)
        return 0;
    if (!unit[1] || strcasecmp(unit + 1, "ib") == 0)
        base = 1024;
    else if (strcasecmp(unit + 1, "b") == 0)
        base = 1000;
    else
        return 0;
    return pow(base, (double)(letter - letters + 1));
}

enum assay_status value_size(const char *text, uint64_t *bytes,
                             struct error *err)
{
    double read = 0, factor = 0;
    const char *end = values_read_number(text, &read);

    if (end) {
        end += *end == ' ';
        factor = values_unit_factor(end);
    }
    if (factor == 0 || read < 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is not a size such as 64M or 1.5GiB", text);
    if (read * factor >= 0x1p63)
        return error_set(err, ASSAY_BAD_USAGE, "the size %s is too large",
                         text);
    *bytes = (uint64_t)(read * factor);
    return ASSAY_OK;
}

enum assay_status value_time(const char *text, double *seconds,
                             struct error *err)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
    double read = 0;
    const char *unit = values_read_number(text, &read);

    if (unit)
        unit += *unit == ' ';
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            *seconds = read * units[i].seconds;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     "'%s' is not a time such as 30, 500ms, 30s or 2min", text);
}

enum assay_status value_percent(const char *text, double *share,
                                struct error *err)
{
    double read;
    const char *end = values_read_number(text, &read);

    if (end && !*end)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' has no percent sign; write %s%%", text, text);
    if (end)
        end += *end == ' ';
    if (!end || strcmp(end, "%") != 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is not a percentage such as 5%%", text);
    *share = read / 100;
    return ASSAY_OK;
}

/* Reads the leading digits and moves past them; false if they overflow. */
static bool values_read_index(const char **text, uint64_t *value)
{
    unsigned long long read;
    char *end;

    errno = 0;
    read = strtoull(*text, &end, 10);
    *text = end;
    *value = read;
    return errno == 0;
}

enum assay_status value_range(const char *text, struct range *range,
                              struct error *err)
{
    struct range read = {0, UINT64_MAX};
    const char *at = text;
    bool is_good = *text && strcmp(text, "..") != 0;

    if (isdigit((unsigned char)*at)) {
        is_good = values_read_index(&at, &read.first);
        if (!*at)
            read.last = read.first;
    }
    if (is_good && *at) {
        is_good = strncmp(at, "..", 2) == 0;
        at += is_good ? 2 : 0;
    }
    if (is_good && isdigit((unsigned char)*at))
        is_good = values_read_index(&at, &read.last);
    if (!is_good || *at)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is not a range such as 3..9, 3.. or ..9", text);
    if (read.first > read.last)
        return error_set(err, ASSAY_BAD_USAGE, "the range %s is empty", text);
    *range = read;
    return ASSAY_OK;
}

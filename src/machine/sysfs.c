/* machine/sysfs.c - see sysfs_internal.h. */
#include "machine/sysfs_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_path = 512 };

static bool sysfs_read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    bool is_read;

    if (!file)
        return false;
    is_read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (is_read)
        line[strcspn(line, "\n")] = '\0';
    return is_read;
}

static bool make_path(char *path, const char *root, const char *format,
                      va_list args)
{
    int n = snprintf(path, max_path, "%s/", root), more;

    if (n < 0 || n >= max_path)
        return false;
    more = vsnprintf(path + n, (size_t)(max_path - n), format, args);
    return more >= 0 && more < max_path - n;
}

bool sysfs_line(char *line, size_t size, const char *root, const char *format,
                ...)
{
    char path[max_path];
    va_list args;
    bool is_made;

    va_start(args, format);
    is_made = make_path(path, root, format, args);
    va_end(args);
    return is_made && sysfs_read_line(path, line, size);
}

double sysfs_number(const char *root, const char *format, ...)
{
    char path[max_path], line[64], *end;
    va_list args;
    bool is_made;
    double value;

    va_start(args, format);
    is_made = make_path(path, root, format, args);
    va_end(args);
    if (!is_made || !sysfs_read_line(path, line, sizeof line))
        return NAN;
    value = strtod(line, &end);
    return end != line && isfinite(value) ? value : NAN;
}

static int read_cpu(const char **at)
{
    char *end;
    long value;

    if (!isdigit((unsigned char)**at))
        return -1;
    value = strtol(*at, &end, 10);
    *at = end;
    return value < SYSFS_MAX_CPUS ? (int)value : -1;
}

/* Between two calls *at stands behind a number; in a range it stays at the
 * '-' until its end is reached. */
int sysfs_next(const char **at, int *last)
{
    if (**at == '-') {
        const char *ahead = *at + 1;
        int end = read_cpu(&ahead);

        if (end <= *last)
            return -1;
        if (++*last == end)
            *at = ahead;
        return *last;
    }
    if (**at == ',' && *last >= 0)
        (*at)++;
    *last = read_cpu(at);
    return *last;
}

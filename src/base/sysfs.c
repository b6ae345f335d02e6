/* base/sysfs.c - see sysfs.h. */
#include "base/sysfs.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool sysfs_vread(char *text, size_t size, const char *root,
                        const char *format, va_list args)
{
    char path[2048];
    int n = snprintf(path, sizeof path, "%s/", root), more, fd;
    ssize_t got;

    if (n < 0 || n >= (int)sizeof path)
        return false;
    more = vsnprintf(path + n, sizeof path - (size_t)n, format, args);
    if (more < 0 || more >= (int)sizeof path - n)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

bool sysfs_read(char *text, size_t size, const char *root, const char *format,
                ...)
{
    va_list args;
    bool is_read;

    va_start(args, format);
    is_read = sysfs_vread(text, size, root, format, args);
    va_end(args);
    return is_read;
}

bool sysfs_line(char *line, size_t size, const char *root, const char *format,
                ...)
{
    va_list args;
    bool is_read;

    va_start(args, format);
    is_read = sysfs_vread(line, size, root, format, args);
    va_end(args);
    if (is_read)
        line[strcspn(line, "\n")] = '\0';
    return is_read;
}

double sysfs_number(const char *root, const char *format, ...)
{
    char text[64], *end;
    va_list args;
    bool is_read;
    double value;

    va_start(args, format);
    is_read = sysfs_vread(text, sizeof text, root, format, args);
    va_end(args);
    if (!is_read)
        return NAN;
    value = strtod(text, &end);
    return end != text && isfinite(value) ? value : NAN;
}

const char *sysfs_field(const char *text, const char *key)
{
    size_t n = strlen(key);

    while (text && strncmp(text, key, n) != 0) {
        text = strchr(text, '\n');
        if (text)
            text++;
    }
    return text ? text + n : NULL;
}

static int sysfs_read_cpu(const char **at)
{
    char *end;
    long value;

    if (!isdigit((unsigned char)**at))
        return -1;
    value = strtol(*at, &end, 10);
    *at = end;
    return value < SYSFS_MAX_CPUS ? (int)value : -1;
}

/* Between two calls *at is after a number; in a range it stays at the '-' until
 * the end of the range is reached. */
int sysfs_next(const char **at, int *last)
{
    if (**at == '-') {
        const char *ahead = *at + 1;
        int end = sysfs_read_cpu(&ahead);

        if (end <= *last)
            return -1;
        if (++*last == end)
            *at = ahead;
        return *last;
    }
    if (**at == ',' && *last >= 0)
        (*at)++;
    *last = sysfs_read_cpu(at);
    return *last;
}

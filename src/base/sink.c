/* base/sink.c - see sink.h. */
#include "base/sink.h"

#include <errno.h>
#include <string.h>

static bool write_to_file(void *context, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, context) == n;
}

static bool write_to_str(void *context, const char *bytes, size_t n)
{
    if (str_append_n(context, bytes, n)) {
        errno = ENOMEM;
        return false;
    }
    return true;
}

struct sink sink_to_file(FILE *file, const char *name)
{
    return (struct sink){.write = write_to_file, .context = file, .name = name};
}

struct sink sink_to_str(struct str *str)
{
    return (struct sink){
        .write = write_to_str, .context = str, .name = "a text in memory"};
}

void sink_write(struct sink *sink, const char *bytes, size_t n)
{
    if (sink->failed_errno || n == 0)
        return;
    errno = 0;
    if (sink->write(sink->context, bytes, n))
        sink->written += n;
    else
        sink->failed_errno = errno ? errno : EIO;
}

void sink_puts(struct sink *sink, const char *text)
{
    sink_write(sink, text, strlen(text));
}

void sink_repeat(struct sink *sink, const char *text, size_t times)
{
    while (times--)
        sink_puts(sink, text);
}

void sink_printf(struct sink *sink, const char *format, ...)
{
    char small[512];
    struct str large = {0};
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n < sizeof small) {
        sink_write(sink, small, (size_t)n);
        return;
    }
    va_start(args, format);
    if (str_vprintf(&large, format, args))
        sink->failed_errno = ENOMEM;
    else
        sink_write(sink, large.text, large.n);
    va_end(args);
    str_release(&large);
}

enum assay_status sink_status(const struct sink *sink, struct error *err)
{
    if (!sink->failed_errno)
        return ASSAY_OK;
    return error_errno(err, sink->failed_errno, "writing %s", sink->name);
}

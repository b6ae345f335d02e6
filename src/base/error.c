/* base/error.c - see error.h. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_code;
    const char *sentence;
} statuses[] = {
#define ROW(name, exit_code, sentence) {#name, exit_code, sentence},
    ASSAY_STATUS_LIST(ROW)
#undef ROW
};

enum { n_statuses = sizeof statuses / sizeof statuses[0] };

static int error_is_listed(enum assay_status status)
{
    return (int)status >= 0 && (int)status < n_statuses;
}

const char *assay_status_name(enum assay_status status)
{
    return error_is_listed(status) ? statuses[status].name : "ASSAY_?";
}

const char *assay_status_text(enum assay_status status)
{
    return error_is_listed(status) ? statuses[status].sentence
                                   : "unknown status";
}

int status_exit_code(enum assay_status status)
{
    return error_is_listed(status) ? statuses[status].exit_code : 3;
}

/* Marks a message that was cut. Replaces control characters, such as a hostile
 * file may have in a name: they would break the one line we promise. */
static void tidy(char *text, size_t size, int full_length)
{
    if (full_length >= (int)size)
        memcpy(text + size - 4, "...", 4);
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

static void write_message(struct error *err, enum assay_status status,
                          const char *format, va_list args)
{
    int full_length;

    err->status = status;
    full_length = vsnprintf(err->text, sizeof err->text, format, args);
    tidy(err->text, sizeof err->text, full_length);
}

enum assay_status error_set(struct error *err, enum assay_status status,
                            const char *format, ...)
{
    va_list args;

    if (err && !err->text[0]) {
        va_start(args, format);
        write_message(err, status, format, args);
        va_end(args);
    }
    return status;
}

void error_context(struct error *err, const char *format, ...)
{
    char context[sizeof err->text];
    char message[sizeof err->text];
    va_list args;
    int full_length;

    if (!err || !err->text[0])
        return;
    va_start(args, format);
    full_length = vsnprintf(context, sizeof context, format, args);
    va_end(args);
    if (full_length < 0)
        return;
    memcpy(message, err->text, sizeof message);
    full_length =
        snprintf(err->text, sizeof err->text, "%s: %s", context, message);
    tidy(err->text, sizeof err->text, full_length);
}

void error_hint(struct error *err, const char *hint)
{
    char message[sizeof err->text];

    if (!err || !err->text[0])
        return;
    memcpy(message, err->text, sizeof message);
    tidy(err->text, sizeof err->text,
         snprintf(err->text, sizeof err->text, "%s; %s", message, hint));
}

enum assay_status error_nomem(struct error *err, size_t bytes, const char *what)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes;
    size_t unit = 0;

    while (amount >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        amount /= 1024;
        unit++;
    }
    return error_set(err, ASSAY_NOMEM, "out of memory: %.*f %s needed for %s",
                     unit ? 1 : 0, amount, units[unit], what);
}

static enum assay_status errno_status(int errnum)
{
    if (errnum == ENOENT || errnum == ENOTDIR)
        return ASSAY_NOT_FOUND;
    return errnum == ENOMEM ? ASSAY_NOMEM : ASSAY_IO;
}

/* Says what to do if the same advice fits everybody. */
static const char *errno_text(int errnum)
{
    if (errnum == ENOSPC || errnum == EDQUOT)
        return "the disk is full; free some space or write elsewhere";
    return strerror(errnum);
}

enum assay_status error_errno(struct error *err, int errnum, const char *format,
                              ...)
{
    char message[sizeof err->text];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_set(err, errno_status(errnum), "%s: %s", message,
                     errno_text(errnum));
}

enum assay_status error_export(const struct error *err,
                               enum assay_status status,
                               struct assay_error *out)
{
    _Static_assert(sizeof err->text == sizeof out->text,
                   "a message must fit the public error object");
    if (out && status) {
        out->status = status;
        memcpy(out->text, err->text, sizeof out->text);
        if (!out->text[0])
            snprintf(out->text, sizeof out->text, "%s",
                     assay_status_text(status));
    }
    return status;
}

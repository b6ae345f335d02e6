/* cli/plot_file.c - see plot_file.h. */
#include "cli/plot_file.h"

#include "base/str.h"

#include <string.h>

static const struct {
    const char *ending;
    enum sheet_format format;
} formats[] = {{".png", SHEET_PNG}, {".svg", SHEET_SVG}, {".pdf", SHEET_PDF}};

enum assay_status plot_file_format(const char *path, enum sheet_format *format,
                                   struct error *err)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (str_ends_with(path, formats[i].ending)) {
            *format = formats[i].format;
            return ASSAY_OK;
        }
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     "the name of a plot must end in .png, .svg or .pdf, not "
                     "'%s'",
                     path);
}

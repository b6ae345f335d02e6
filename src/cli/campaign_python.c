/* cli/campaign_python.c - the Python of a campaign, see campaign_steps.h. */
#include "cli/campaign_steps.h"

#include "cli/record_places.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum assay_status python_name(const char *given, struct str *out)
{
    const char *name = given ? given : getenv("ASSAY_PYTHON");
    struct stat info;

    if (!name || !*name)
        return str_append(out, "python3");
    return stat(name, &info) == 0 && S_ISDIR(info.st_mode)
               ? str_printf(out, "%s/bin/python3", name)
               : str_append(out, name);
}

/* The folder that holds assay/start. */
static enum assay_status python_package(struct str *out, struct error *err)
{
    static const char inside[] = "/assay/start";
    enum assay_status st = record_find_package(out, err);

    if (!st && str_ends_with(out->text, inside)) {
        out->n -= sizeof inside - 1;
        out->text[out->n] = '\0';
    }
    return st;
}

enum assay_status campaign_python_find(const char *given,
                                       struct campaign_python *out,
                                       struct error *err)
{
    enum assay_status st = python_name(given, &out->python)
                               ? error_nomem(err, 64, "a path")
                               : python_package(&out->package, err);

    if (!st)
        out->runner = (struct torch_runner){.python = out->python.text,
                                            .package = out->package.text};
    return st;
}

void campaign_python_release(struct campaign_python *python)
{
    torch_rest(&python->runner);
    str_release(&python->python);
    str_release(&python->package);
    *python = (struct campaign_python){0};
}

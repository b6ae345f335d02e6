/* cli/look.c - see look.h. */
#include "cli/look.h"

#include "base/cache.h"
#include "base/processor.h"

int look_threads(int64_t given)
{
    return given ? (int)given : processor_count();
}

enum assay_status look_device(const char *given, const struct device **out,
                              struct error *err)
{
    enum assay_status st = device_find(given, out, err);

    if (st)
        error_hint(err, "--device cpu uses the processors");
    return st;
}

struct machine_options look_options(const struct device *device,
                                    int64_t n_threads,
                                    enum machine_measuring measuring,
                                    struct str *path)
{
    bool has_home = cache_path(MACHINE_PEAKS_FILE, path, NULL) == ASSAY_OK;

    return (struct machine_options){.root = "",
                                    .device = device,
                                    .n_threads = look_threads(n_threads),
                                    .measuring = measuring,
                                    .path = has_home ? str_text(path) : NULL};
}

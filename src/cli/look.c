/* cli/look.c - see look.h. */
#include "cli/look.h"

#include "base/cache.h"
#include "base/processor.h"

int look_processors(void)
{
    return processor_count();
}

struct machine_options look_options(int64_t n_threads,
                                    enum machine_measuring measuring,
                                    struct str *path)
{
    bool has_home = cache_path(MACHINE_PEAKS_FILE, path, NULL) == ASSAY_OK;

    return (struct machine_options){.root = "",
                                    .backend = backend_best(),
                                    .n_threads = n_threads ? (int)n_threads
                                                           : look_processors(),
                                    .measuring = measuring,
                                    .path = has_home ? str_text(path) : NULL};
}

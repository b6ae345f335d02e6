/* backend/portable.c - the backend that leaves every op to its own kernel. */
#include "backend/backend.h"

#include "base/mem.h"

static enum assay_status make(const struct graph *graph,
                              const struct backend_options *options,
                              struct backend **out, struct error *err)
{
    struct backend *backend = mem_zalloc(sizeof *backend);

    (void)graph, (void)options;
    *out = backend;
    if (!backend)
        return error_nomem(err, sizeof *backend, "a backend");
    backend->class = &backend_portable;
    return ASSAY_OK;
}

static void release(struct backend *backend)
{
    mem_free(backend);
}

static bool can_run(const struct backend *backend, const struct node *node)
{
    (void)backend, (void)node;
    return false;
}

const struct backend_class backend_portable = {
    .name = "portable",
    .api_version = BACKEND_API_VERSION,
    .make = make,
    .free = release,
    .can_run = can_run,
};

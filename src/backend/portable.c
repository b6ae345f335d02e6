/* backend/portable.c - the backend that leaves every op to its portable
 * kernel. */
#include "backend/backend.h"

#include "base/mem.h"

static enum assay_status portable_make(const struct device *device,
                                       const struct graph *graph,
                                       const struct backend_options *options,
                                       struct backend **out, struct error *err)
{
    struct backend *backend = mem_zalloc(sizeof *backend);

    (void)graph, (void)options;
    *out = backend;
    if (!backend)
        return error_nomem(err, sizeof *backend, "a backend");
    *backend = (struct backend){.class = &backend_portable, .device = device};
    return ASSAY_OK;
}

static void portable_free(struct backend *backend)
{
    mem_free(backend);
}

static bool portable_can_run(const struct backend *backend,
                             const struct node *node,
                             const struct tensor *const *inputs)
{
    (void)backend, (void)node, (void)inputs;
    return false;
}

const struct backend_class backend_portable = {
    .name = "portable",
    .api_version = BACKEND_API_VERSION,
    .make = portable_make,
    .free = portable_free,
    .can_run = portable_can_run,
};

const struct device device_portable = {
    .name = "portable", .backend = &backend_portable, .space = &space_host};

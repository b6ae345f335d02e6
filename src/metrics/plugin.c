/* metrics/plugin.c - see plugin_internal.h. */
#include "metrics/plugin_internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void unload_from(struct plugins *plugins, size_t first)
{
    while (plugins->n > first)
        dlclose(plugins->items[--plugins->n].handle);
}

void plugins_release(struct plugins *plugins)
{
    unload_from(plugins, 0);
    mem_free(plugins->items);
    arena_release(&plugins->memory);
    *plugins = (struct plugins){0};
}

/* ---- one object --------------------------------------------------------- */

static enum assay_status check_plugin(const struct assay_metric_plugin *plugin,
                                      const char *path, struct error *err)
{
    if (!plugin)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%s is not a metric plug-in: it has no assay_metric_plugin", path);
    if (plugin->api_version != ASSAY_METRIC_API)
        return error_set(
            err, ASSAY_UNSUPPORTED,
            "%s has api_version %" PRIu32
            ", but this is %d; rebuild it with this assay/metric.h",
            path, plugin->api_version, ASSAY_METRIC_API);
    if (!plugin->n_functions || !plugin->functions)
        return error_set(err, ASSAY_BAD_INPUT, "%s has no metric functions",
                         path);
    return ASSAY_OK;
}

static enum assay_status load_object(struct plugins *plugins, const char *path,
                                     struct error *err)
{
    struct loaded_plugin *moved = vec_reserve(
        plugins->items, &plugins->capacity, plugins->n + 1, sizeof *moved);
    const struct assay_metric_plugin *plugin;
    void *handle;
    int fd;
    enum assay_status st;

    if (!moved)
        return error_nomem(err, sizeof *moved, "a plug-in");
    plugins->items = moved;
    st = file_open(path, &fd, err);
    if (st)
        return st;
    close(fd); /* it is a file; dlopen() takes its name */
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, ASSAY_BAD_INPUT, "cannot load %s: %s", path,
                         dlerror());
    plugin = dlsym(handle, "assay_metric_plugin");
    st = check_plugin(plugin, path, err);
    if (st) {
        dlclose(handle);
        return st;
    }
    moved[plugins->n++] = (struct loaded_plugin){handle, plugin};
    return ASSAY_OK;
}

/* ---- a folder ----------------------------------------------------------- */

static enum assay_status load_named(struct plugins *plugins, const char *folder,
                                    const char *name, struct error *err)
{
    struct str path = {0};
    enum assay_status st = str_printf(&path, "%s/%s", folder, name);

    st = st ? error_nomem(err, strlen(folder), "a file name")
            : load_object(plugins, path.text, err);
    str_release(&path);
    return st;
}

struct object_names {
    char **items;
    size_t n, capacity;
};

static enum assay_status list_objects(struct plugins *plugins, DIR *folder,
                                      struct object_names *names,
                                      struct error *err)
{
    const struct dirent *entry;

    while ((entry = readdir(folder))) {
        char **moved;

        if (!str_ends_with(entry->d_name, ".so"))
            continue;
        moved = vec_reserve(names->items, &names->capacity, names->n + 1,
                            sizeof *names->items);
        if (!moved)
            return error_nomem(err, sizeof *moved, "a list of plug-ins");
        names->items = moved;
        moved[names->n] = arena_strdup(&plugins->memory, entry->d_name);
        if (!moved[names->n++])
            return error_nomem(err, strlen(entry->d_name), "a file name");
    }
    return ASSAY_OK;
}

static int plugin_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum assay_status load_folder(struct plugins *plugins, const char *path,
                                     struct error *err)
{
    DIR *folder = opendir(path);
    struct object_names names = {0};
    enum assay_status st;

    if (!folder)
        return error_errno(err, errno, "looking for plug-ins in %s", path);
    st = list_objects(plugins, folder, &names, err);
    closedir(folder);
    if (!st && names.n)
        qsort(names.items, names.n, sizeof *names.items, plugin_by_name);
    else if (!st)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no plug-in (.so) in the folder %s", path);
    for (size_t i = 0; !st && i < names.n; i++)
        st = load_named(plugins, path, names.items[i], err);
    mem_free(names.items);
    return st;
}

enum assay_status plugins_load(struct plugins *plugins, const char *path,
                               struct error *err)
{
    size_t before = plugins->n;
    struct stat info;
    enum assay_status st;

    if (stat(path, &info))
        return error_errno(err, errno, "loading the plug-in %s", path);
    if (S_ISDIR(info.st_mode))
        st = load_folder(plugins, path, err);
    else if (strchr(path, '/'))
        st = load_object(plugins, path, err);
    else /* dlopen() would search the system's folders */
        st = load_named(plugins, ".", path, err);
    if (st)
        unload_from(plugins, before);
    return st;
}

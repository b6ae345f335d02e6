/* base/cache.c - see cache.h. */
#include "base/cache.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The XDG specification says to ignore paths that are not absolute. */
enum assay_status cache_path(const char *name, struct str *path,
                             struct error *err)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    enum assay_status st;

    if (cache && cache[0] == '/')
        st = str_printf(path, "%s/assay/%s", cache, name);
    else if (home && home[0] == '/')
        st = str_printf(path, "%s/.cache/assay/%s", home, name);
    else
        return error_set(err, ASSAY_NOT_FOUND,
                         "no folder to keep %s in; set HOME or "
                         "XDG_CACHE_HOME",
                         name);
    return st ? error_nomem(err, strlen(name), "a file name") : ASSAY_OK;
}

enum assay_status cache_make_folders(const char *path, struct error *err)
{
    char *copy = mem_strdup(path);
    enum assay_status st = ASSAY_OK;

    if (!copy)
        return error_nomem(err, strlen(path), "a file name");
    for (char *slash = strchr(copy + 1, '/'); !st && slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) && errno != EEXIST)
            st = error_errno(err, errno, "cannot make the folder %s", copy);
        *slash = '/';
    }
    mem_free(copy);
    return st;
}

/* base/place.c - see place.h. */
#include "base/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "a/b" and "c" make "a/c"; an absolute name stays. False if too long. */
static bool place_join(const char *beside, const char *name, char out[PATH_MAX])
{
    const char *slash = strrchr(beside, '/');
    int n = slash && name[0] != '/' ? (int)(slash - beside) + 1 : 0;

    return snprintf(out, PATH_MAX, "%.*s%s", n, beside, name) < PATH_MAX;
}

/* Follows a chain of links that ends at nothing. */
static bool follow(char path[PATH_MAX])
{
    enum { most_links = 40 };
    char target[PATH_MAX], next[PATH_MAX];

    for (int i = 0; i < most_links; i++) {
        ssize_t n = readlink(path, target, sizeof target - 1);

        if (n < 0)
            return errno == ENOENT;
        target[n] = '\0';
        if (!place_join(path, target, next))
            return false;
        memcpy(path, next, sizeof next);
    }
    return false;
}

static bool find_new(const char *path, struct place *out)
{
    char full[PATH_MAX], *slash;
    struct stat folder;
    const char *name;

    if (snprintf(full, sizeof full, "%s", path) >= PATH_MAX || !follow(full))
        return false;
    slash = strrchr(full, '/');
    name = slash ? slash + 1 : full;
    if (!*name || strlen(name) > NAME_MAX)
        return false;
    memcpy(out->name, name, strlen(name) + 1);
    if (slash)
        slash[slash == full] = '\0';
    if (stat(slash ? full : ".", &folder))
        return false;
    out->device = folder.st_dev;
    out->inode = folder.st_ino;
    return true;
}

bool place_find(const char *path, struct place *out)
{
    struct stat info;

    *out = (struct place){.is_there = false};
    if (stat(path, &info))
        return errno == ENOENT && find_new(path, out);
    out->is_there = S_ISREG(info.st_mode);
    out->device = info.st_dev;
    out->inode = info.st_ino;
    return out->is_there;
}

bool place_is_same(const struct place *a, const struct place *b)
{
    return a->is_there == b->is_there && a->device == b->device &&
           a->inode == b->inode && strcmp(a->name, b->name) == 0;
}

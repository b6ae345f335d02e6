/* picture/drawn.c - see drawn.h. */
#include "picture/drawn.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/md5.h"
#include "base/random.h"
#include "picture/picture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of the absolute path, whether or not there is such a file yet. */
static void drawn_digest_path(const char *path, char digest[DRAWN_ID])
{
    char folder[PATH_MAX], hex[MD5_HEX];
    struct md5 md5;

    md5_init(&md5);
    if (path[0] != '/' && getcwd(folder, sizeof folder)) {
        md5_update(&md5, folder, strlen(folder));
        md5_update(&md5, "/", 1);
    }
    md5_update(&md5, path, strlen(path));
    md5_finish(&md5, hex);
    snprintf(digest, DRAWN_ID, "%.16s", hex);
}

struct drawn_owner drawn_owner_new(const char *run_path)
{
    uint64_t seed = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid() << 48 ^
                    (uint64_t)clock_monotonic_ns();
    struct random random = random_seed(seed);
    struct drawn_owner owner = {0};

    snprintf(owner.run, sizeof owner.run, "%016" PRIx64, random_u64(&random));
    if (run_path)
        drawn_digest_path(run_path, owner.file);
    return owner;
}

void drawn_write_comment(const struct drawn_owner *owner, char *text,
                         size_t size)
{
    snprintf(text, size, "assay run %s file %s", owner->run, owner->file);
}

bool drawn_read_owner(const void *bytes, size_t n, struct drawn_owner *owner)
{
    char text[64];

    *owner = (struct drawn_owner){0};
    return picture_comment(bytes, n, text, sizeof text) &&
           sscanf(text, "assay run %16[0-9a-f] file %16[0-9a-f]", owner->run,
                  owner->file) >= 1;
}

/* ---- names that are free ------------------------------------------------- */

struct drawn_place {
    const char *folder;
    const struct drawn_owner *owner;
};

/* Whether the file is a drawing for the owner's run file. */
static bool drawn_is_own(const char *path, const struct drawn_owner *owner)
{
    struct drawn_owner other;
    char start[1024]; /* the comment comes first */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, start, sizeof start);
    close(fd);
    return n > 0 && drawn_read_owner(start, (size_t)n, &other) &&
           owner->file[0] && strcmp(other.file, owner->file) == 0;
}

static bool drawn_is_taken(const void *context, const char *name)
{
    const struct drawn_place *place = context;
    struct str path = {0};
    bool is_taken = !str_printf(&path, "%s/%s",
                                place->folder ? place->folder : ".", name) &&
                    access(path.text, F_OK) == 0 &&
                    !drawn_is_own(path.text, place->owner);

    str_release(&path);
    return is_taken;
}

enum assay_status drawn_choose_names(struct photos *drawn,
                                     const char *const *paths, size_t n,
                                     const char *folder,
                                     const struct drawn_owner *owner,
                                     struct error *err)
{
    const struct drawn_place place = {folder, owner};

    return photos_name_drawn_unless(drawn, paths, n, drawn_is_taken, &place,
                                    err);
}

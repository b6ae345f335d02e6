/* picture/photos.c - see photos.h. */
#include "picture/photos.h"

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "picture/picture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char drawn_ending[] = "_targets.jpg";

void photos_release(struct photos *photos)
{
    mem_free(photos->paths);
    arena_release(&photos->arena);
    *photos = (struct photos){0};
}

/* Appends folder (which may be "", or ends with a slash) and path. */
static enum assay_status photos_append(struct photos *photos,
                                       const char *folder, size_t n_folder,
                                       const char *path, size_t n_path,
                                       struct error *err)
{
    size_t bytes = n_folder + n_path + 1;
    char *text = arena_alloc(&photos->arena, bytes);

    if (!text)
        return error_nomem(err, bytes, "the name of a photograph");
    memcpy(text, folder, n_folder);
    memcpy(text + n_folder, path, n_path);
    text[bytes - 1] = '\0';
    if (!vec_grow(&photos->paths, &photos->capacity, photos->n + 1,
                  sizeof *photos->paths))
        return error_nomem(err, (photos->n + 1) * sizeof *photos->paths,
                           "the list of photographs");
    photos->paths[photos->n++] = text;
    return ASSAY_OK;
}

static bool photos_ends_like(const char *text, const char *ending)
{
    size_t n = strlen(text), n_ending = strlen(ending);

    return n >= n_ending && strcasecmp(text + n - n_ending, ending) == 0;
}

/* ---- folders ---------------------------------------------------------- */

/* Includes formats that we refuse, so that the user is told about them. */
static bool holds_image(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char start[16];
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, start, sizeof start);
    close(fd);
    return n > 0 && picture_kind(start, (size_t)n) != NULL;
}

static bool is_seen(int folder_fd, const char *name)
{
    struct stat info;

    return name[0] != '.' && fstatat(folder_fd, name, &info, 0) == 0 &&
           S_ISREG(info.st_mode);
}

static bool is_photograph(int folder_fd, const char *name)
{
    if (!is_seen(folder_fd, name) || photos_ends_like(name, drawn_ending))
        return false;
    return photos_ends_like(name, ".jpg") || photos_ends_like(name, ".jpeg") ||
           photos_ends_like(name, ".png") || holds_image(folder_fd, name);
}

static bool is_drawn(int folder_fd, const char *name)
{
    return photos_ends_like(name, drawn_ending) && is_seen(folder_fd, name);
}

typedef bool entry_filter(int folder_fd, const char *name);

static int photos_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum assay_status add_entries(struct photos *photos, DIR *folder,
                                     const struct str *prefix,
                                     entry_filter *takes, struct error *err)
{
    const struct dirent *entry;
    enum assay_status st = ASSAY_OK;

    errno = 0;
    while (!st && (entry = readdir(folder)) != NULL) {
        if (takes(dirfd(folder), entry->d_name))
            st = photos_append(photos, prefix->text, prefix->n, entry->d_name,
                               strlen(entry->d_name), err);
        errno = 0;
    }
    if (!st && errno)
        st = error_errno(err, errno, "reading the folder %s", prefix->text);
    return st;
}

/* Sorted by name; earlier entries stay in front. */
static enum assay_status photos_add_filtered(struct photos *photos,
                                             const char *path,
                                             entry_filter *takes,
                                             struct error *err)
{
    size_t before = photos->n;
    struct str prefix = {0};
    enum assay_status st;
    DIR *folder = opendir(path);

    if (!folder)
        return error_errno(err, errno, "cannot read the folder %s", path);
    st = str_printf(&prefix, "%s%s", path,
                    photos_ends_like(path, "/") ? "" : "/");
    if (st)
        st = error_nomem(err, strlen(path), "the name of a folder");
    else
        st = add_entries(photos, folder, &prefix, takes, err);
    closedir(folder);
    str_release(&prefix);
    if (!st && photos->n > before)
        qsort(photos->paths + before, photos->n - before, sizeof *photos->paths,
              photos_by_name);
    return st;
}

static enum assay_status add_folder(struct photos *photos, const char *path,
                                    struct error *err)
{
    size_t before = photos->n;
    enum assay_status st =
        photos_add_filtered(photos, path, is_photograph, err);

    if (!st && photos->n == before)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "no photographs in the folder %s; looked for JPEG and "
                       "PNG files, not in folders inside it",
                       path);
    return st;
}

enum assay_status photos_add_drawn(struct photos *photos, const char *folder,
                                   struct error *err)
{
    size_t before = photos->n;
    enum assay_status st = photos_add_filtered(photos, folder, is_drawn, err);

    if (st)
        photos->n = before;
    return st;
}

/* ---- lists ------------------------------------------------------------ */

static enum assay_status add_lines(struct photos *photos, const char *list,
                                   const char *text, struct error *err)
{
    const char *slash = strrchr(list, '/');
    size_t n_folder = slash ? (size_t)(slash - list) + 1 : 0;
    enum assay_status st = ASSAY_OK;

    while (!st && *text) {
        size_t n = strcspn(text, "\n"), n_path = n;

        while (n_path > 0 && strchr(" \t\r", text[n_path - 1]))
            n_path--;
        if (n_path > 0 && text[0] != '#')
            st = photos_append(photos, list, text[0] == '/' ? 0 : n_folder,
                               text, n_path, err);
        text += n + (text[n] == '\n');
    }
    return st;
}

static enum assay_status add_list(struct photos *photos, const char *path,
                                  struct error *err)
{
    enum { max_list_bytes = 64 << 20 };
    size_t before = photos->n;
    struct str text = {0};
    enum assay_status st = file_read(path, max_list_bytes, &text, err);

    if (st)
        return st;
    if (strlen(text.text) != text.n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s is not a text file; a list of photographs has one "
                       "path per line",
                       path);
    else
        st = add_lines(photos, path, text.text, err);
    str_release(&text);
    if (!st && photos->n == before)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "no photographs in the list %s; it should have one path "
                       "per line",
                       path);
    return st;
}

/* ---- arguments -------------------------------------------------------- */

enum assay_status photos_add(struct photos *photos, const char *argument,
                             struct error *err)
{
    size_t before = photos->n;
    struct stat info;
    enum assay_status st;

    if (stat(argument, &info))
        return error_errno(err, errno, "cannot read %s", argument);
    if (S_ISDIR(info.st_mode))
        st = add_folder(photos, argument, err);
    else if (photos_ends_like(argument, ".txt"))
        st = add_list(photos, argument, err);
    else
        st = photos_append(photos, "", 0, argument, strlen(argument), err);
    if (st)
        photos->n = before;
    return st;
}

/* The name of the twin-th photograph with the same name, from 1. */
static enum assay_status name_twin(const char *path, unsigned twin,
                                   struct str *out, struct error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    enum assay_status st = str_append_n(out, name, n);

    if (!st && twin > 1)
        st = str_printf(out, ".%u", twin);
    if (!st)
        st = str_append(out, drawn_ending);
    return st ? error_nomem(err, n, "the name of a drawn photograph")
              : ASSAY_OK;
}

enum assay_status photos_drawn_name(const char *path, struct str *out,
                                    struct error *err)
{
    return name_twin(path, 1, out, err);
}

/* What a name must not be. */
struct taken_names {
    struct map own;              /* of the photographs before */
    photos_name_taken *is_taken; /* NULL: nothing else */
    const void *context;
};

static bool photos_is_taken(const struct taken_names *taken, const char *name)
{
    return map_find_text(&taken->own, name, NULL) ||
           (taken->is_taken && taken->is_taken(taken->context, name));
}

static enum assay_status add_drawn_name(struct photos *drawn,
                                        struct taken_names *taken,
                                        const char *path, struct error *err)
{
    struct str name = {0};
    unsigned twin = 0;
    enum assay_status st;

    do {
        str_clear(&name);
        st = name_twin(path, ++twin, &name, err);
    } while (!st && photos_is_taken(taken, name.text));
    if (!st && map_put_text(&taken->own, name.text, 1))
        st = error_nomem(err, name.n, "the name of a drawn photograph");
    if (!st)
        st = photos_append(drawn, "", 0, name.text, name.n, err);
    str_release(&name);
    return st;
}

enum assay_status photos_name_drawn_unless(struct photos *drawn,
                                           const char *const *paths, size_t n,
                                           photos_name_taken *is_taken,
                                           const void *context,
                                           struct error *err)
{
    struct taken_names taken = {.is_taken = is_taken, .context = context};
    size_t before = drawn->n;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++)
        st = add_drawn_name(drawn, &taken, paths[i], err);
    if (st)
        drawn->n = before;
    map_release(&taken.own);
    return st;
}

enum assay_status photos_name_drawn(struct photos *drawn,
                                    const char *const *paths, size_t n,
                                    struct error *err)
{
    return photos_name_drawn_unless(drawn, paths, n, NULL, NULL, err);
}

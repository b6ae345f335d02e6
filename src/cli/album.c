/* cli/album.c - see album.h. */
#include "cli/album.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

enum { max_picture_bytes = 64 << 20 };

void album_release(struct album *album)
{
    for (size_t i = 0; album->files && i < album->photos.n; i++)
        str_release(&album->files[i]);
    mem_free(album->files);
    mem_free(album->pictures);
    photos_release(&album->photos);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Those that the run's own photographs are called when they are drawn; none
 * where it does not name them. */
static enum assay_status name_own(const struct run *run, struct photos *own,
                                  struct error *err)
{
    const struct series *named = run_series_find(run, "input.photo");

    return named ? photos_name_drawn(own, named->labels, named->n_labels, err)
                 : ASSAY_OK;
}

static bool has(const struct photos *photos, const char *name)
{
    for (size_t i = 0; i < photos->n; i++) {
        if (strcmp(photos->paths[i], name) == 0)
            return true;
    }
    return false;
}

static enum assay_status
read_pictures(struct album *album, const struct photos *own, struct error *err)
{
    const struct photos *photos = &album->photos;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < photos->n; i++) {
        const char *name = file_name(photos->paths[i]);

        if (own->n && !has(own, name))
            continue;
        st = file_read(photos->paths[i], max_picture_bytes, &album->files[i],
                       err);
        album->pictures[album->n++] = (struct report_picture){
            name, album->files[i].text, album->files[i].n};
    }
    return st;
}

enum assay_status album_read(struct album *album, const char *folder,
                             const struct run *run, struct error *err)
{
    struct photos own = {0};
    enum assay_status st = photos_add_drawn(&album->photos, folder, err);
    size_t n = album->photos.n;

    if (st)
        return st;
    album->files = mem_array(n, sizeof *album->files);
    album->pictures = mem_array(n, sizeof *album->pictures);
    if (!album->files || !album->pictures)
        return error_nomem(err, n * sizeof *album->pictures, "the pictures");
    st = name_own(run, &own, err);
    if (!st)
        st = read_pictures(album, &own, err);
    photos_release(&own);
    return st;
}

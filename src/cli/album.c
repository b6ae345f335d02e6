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

/* Whether a drawn photograph is of one that the run names. */
static enum assay_status is_of_run(const struct series *named, const char *name,
                                   bool *answer, struct error *err)
{
    struct str drawn = {0};
    enum assay_status st = ASSAY_OK;

    *answer = !named;
    for (size_t i = 0; !st && !*answer && i < named->n_labels; i++) {
        str_clear(&drawn);
        st = photos_drawn_name(named->labels[i], &drawn, err);
        *answer = !st && strcmp(str_text(&drawn), name) == 0;
    }
    str_release(&drawn);
    return st;
}

enum assay_status album_read(struct album *album, const char *folder,
                             const struct run *run, struct error *err)
{
    const struct series *named = run_series_find(run, "input.photo");
    struct photos *photos = &album->photos;
    enum assay_status st = photos_add_drawn(photos, folder, err);

    if (st)
        return st;
    album->files = mem_array(photos->n, sizeof *album->files);
    album->pictures = mem_array(photos->n, sizeof *album->pictures);
    if (!album->files || !album->pictures)
        return error_nomem(err, photos->n * sizeof *album->pictures,
                           "the pictures");
    for (size_t i = 0; !st && i < photos->n; i++) {
        const char *name = file_name(photos->paths[i]);
        bool is_wanted;

        st = is_of_run(named, name, &is_wanted, err);
        if (st || !is_wanted)
            continue;
        st = file_read(photos->paths[i], max_picture_bytes, &album->files[i],
                       err);
        album->pictures[album->n++] = (struct report_picture){
            name, album->files[i].text, album->files[i].n};
    }
    return st;
}

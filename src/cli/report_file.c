/* cli/report_file.c - see report_file.h. */
#include "cli/report_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "picture/photos.h"

#include <string.h>

enum { max_picture_bytes = 64 << 20 };

/* Files that were read, and what of them the report borrows. */
struct album {
    struct photos photos;
    struct str *files; /* as many as photos */
    struct report_picture *pictures;
    size_t n;
};

static void album_release(struct album *album)
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

static enum assay_status album_read(struct album *album, const char *folder,
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

static enum assay_status compare(const struct report_side *sides,
                                 struct comparison **out, struct error *err)
{
    struct compare_side a = {&sides[0].run, 1}, b = {&sides[1].run, 1};
    struct compare_options options = {0};

    return compare_new(&a, &b, &options, out, err);
}

enum assay_status report_write(const struct report_side *sides, size_t n_sides,
                               const char *folder, struct sink *sink,
                               struct error *err)
{
    struct report report = {.sides = {sides[0]}};
    struct comparison *comparison = NULL;
    struct album album = {0};
    enum assay_status st = ASSAY_OK;

    if (n_sides > 1) {
        report.sides[1] = sides[1];
        st = compare(sides, &comparison, err);
        report.comparison = comparison;
    }
    if (!st && folder)
        st = album_read(&album, folder, sides[n_sides - 1].run, err);
    if (!st) {
        report.pictures = album.pictures;
        report.n_pictures = album.n;
        st = view_html(&report, sink, err);
    }
    compare_free(comparison);
    album_release(&album);
    return st;
}

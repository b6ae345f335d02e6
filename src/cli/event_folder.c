/* cli/event_folder.c - see event_folder.h. */
#include "cli/event_folder.h"

#include "base/cache.h"
#include "base/mem.h"
#include "cli/album.h"
#include "cli/result.h"
#include "picture/picture.h"
#include "views/tensorboard.h"

#include <string.h>

static enum assay_status event_path(const char *folder, const char *run_path,
                                    double began, struct str *out,
                                    struct error *err)
{
    const char *slash = strrchr(run_path, '/');
    size_t n = strlen(folder);
    struct str name = {0};
    enum assay_status st =
        result_name_of_run(slash ? slash + 1 : run_path, "", &name, err);

    while (n > 1 && folder[n - 1] == '/')
        n--;
    if (!st && str_printf(out, "%.*s/%s/events.out.tfevents.%.0f.assay", (int)n,
                          folder, str_text(&name), began))
        st = error_nomem(err, strlen(folder), "a file name");
    str_release(&name);
    return st;
}

enum assay_status event_folder_path(const struct run *run, const char *run_path,
                                    const char *folder, struct str *out,
                                    struct error *err)
{
    return event_path(folder, run_path, run_began(run), out, err);
}

enum assay_status event_folder_check(const char *folder, const char *run_path,
                                     struct error *err)
{
    struct output *output = NULL;
    struct str path = {0};
    enum assay_status st = event_path(folder, run_path, 0, &path, err);

    if (!st)
        st = cache_make_folders(path.text, err);
    if (!st)
        st = output_open(path.text, &output, err);
    output_discard(output);
    str_release(&path);
    return st;
}

/* TensorBoard wants the sizes beside the bytes. */
static enum assay_status measure(const struct album *album,
                                 struct event_picture *out, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < album->n; i++) {
        const struct report_picture *from = &album->pictures[i];
        struct picture picture;

        st = picture_decode(from->bytes, from->n, from->name,
                            PICTURE_MAX_PIXELS, &picture, err);
        if (st)
            break;
        out[i] = (struct event_picture){from->name, picture.width,
                                        picture.height, from->bytes, from->n};
        picture_release(&picture);
    }
    return st;
}

static enum assay_status write_events(const struct run *run,
                                      const struct album *album,
                                      struct sink *sink, struct error *err)
{
    struct event_picture *pictures = mem_array(album->n, sizeof *pictures);
    enum assay_status st;

    if (!pictures)
        return error_nomem(err, album->n * sizeof *pictures, "the pictures");
    st = measure(album, pictures, err);
    if (!st)
        st = view_tensorboard(run, pictures, album->n, sink, err);
    mem_free(pictures);
    return st;
}

enum assay_status event_folder_write(const struct run *run,
                                     const char *run_path, const char *folder,
                                     const char *pictures, struct str *wrote,
                                     struct error *err)
{
    struct album album = {0};
    struct result result = {0};
    struct str path = {0};
    enum assay_status st =
        event_path(folder, run_path, run_began(run), &path, err);

    if (!st)
        st = cache_make_folders(path.text, err);
    if (!st)
        st = result_open(path.text, &result, err);
    if (!st) {
        if (pictures)
            st = album_read(&album, pictures, run, err);
        if (!st)
            st = write_events(run, &album, result.sink, err);
        st = wrote ? result_end(&result, st, wrote, err)
                   : result_close(&result, st, err);
    }
    album_release(&album);
    str_release(&path);
    return st;
}

/* cli/run_files.c - see run_files.h. */
#include "cli/run_files.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "picture/drawn.h"
#include "picture/picture.h"
#include "views/tensorboard.h"
#include "views/views.h"

#include <string.h>

/* ---- pictures ----------------------------------------------------------- */

enum { max_picture_bytes = 64 << 20 };

/* The drawn photographs of a run, in memory. Start from {0}. */
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

static const char *album_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The names that the run's photographs have once drawn; none if it does not
 * name them. */
static enum assay_status album_name_own(const struct run *run,
                                        struct photos *own, struct error *err)
{
    const struct series *named = run_series_find(run, "input.photo");

    return named ? photos_name_drawn(own, named->labels, named->n_labels, err)
                 : ASSAY_OK;
}

static bool album_has(const struct photos *photos, const char *name)
{
    for (size_t i = 0; i < photos->n; i++) {
        if (strcmp(photos->paths[i], name) == 0)
            return true;
    }
    return false;
}

/* Whether a drawing is of the run: by its id. What has none, of a training or
 * of an earlier version, is told by its name. */
static bool album_belongs(const struct album *album, size_t i,
                          const struct run *run, const struct photos *own)
{
    const struct str *file = &album->files[i];
    const char *id = run_fact(run, "run.id");
    struct drawn_owner owner;

    if (drawn_read_owner(str_text(file), file->n, &owner))
        return id && strcmp(owner.run, id) == 0;
    return !id &&
           (!own->n || album_has(own, album_file_name(album->photos.paths[i])));
}

static enum assay_status album_read_pictures(struct album *album,
                                             const struct run *run,
                                             const struct photos *own,
                                             struct error *err)
{
    const struct photos *photos = &album->photos;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < photos->n; i++) {
        st = file_read(photos->paths[i], max_picture_bytes, &album->files[i],
                       err);
        if (st || !album_belongs(album, i, run, own)) {
            str_release(&album->files[i]);
            continue;
        }
        album->pictures[album->n++] =
            (struct report_picture){album_file_name(photos->paths[i]),
                                    album->files[i].text, album->files[i].n};
    }
    return st;
}

/* Reads the pictures of a folder: those of the run, or all if the run does not
 * name its photographs. Release the album also after a failure. */
static enum assay_status album_read(struct album *album, const char *folder,
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
    st = album_name_own(run, &own, err);
    if (!st)
        st = album_read_pictures(album, run, &own, err);
    photos_release(&own);
    return st;
}

/* ---- reports ------------------------------------------------------------ */

static enum assay_status report_compare(const struct report_side *sides,
                                        struct comparison **out,
                                        struct error *err)
{
    struct compare_side a = {&sides[0].run, 1}, b = {&sides[1].run, 1};
    return compare_new(&a, &b, NULL, out, err);
}

enum assay_status report_write(const struct report_side *sides, size_t n_sides,
                               const struct budgets *budgets,
                               const struct trend *trend, const char *folder,
                               struct sink *sink, struct error *err)
{
    struct report report = {.sides = {sides[0]}, .trend = trend};
    struct comparison *comparison = NULL;
    struct gate_result gate = {0};
    struct album album = {0};
    enum assay_status st = ASSAY_OK;

    if (n_sides > 1) {
        report.sides[1] = sides[1];
        st = report_compare(sides, &comparison, err);
        report.comparison = comparison;
    }
    if (!st && comparison && budgets->n) {
        st = compare_gate(comparison, budgets, &gate, err);
        report.gate = &gate;
    }
    if (!st && folder)
        st = album_read(&album, folder, sides[n_sides - 1].run, err);
    if (!st) {
        report.pictures = album.pictures;
        report.n_pictures = album.n;
        st = view_html(&report, sink, err);
    }
    gate_result_release(&gate);
    compare_free(comparison);
    album_release(&album);
    return st;
}

/* ---- event files -------------------------------------------------------- */

enum assay_status event_folder_path(const char *folder, const char *run_path,
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

/* Makes FOLDER/NAME, and fails if nothing can be written there. */
static enum assay_status
event_folder_check(const char *folder, const char *run_path, struct error *err)
{
    struct output *output = NULL;
    struct str path = {0};
    enum assay_status st = event_folder_path(folder, run_path, 0, &path, err);

    if (!st)
        st = cache_make_folders(path.text, err);
    if (!st)
        st = output_open(path.text, &output, err);
    output_discard(output);
    str_release(&path);
    return st;
}

/* TensorBoard needs the sizes of the pictures. */
static enum assay_status event_folder_measure(const struct album *album,
                                              struct event_picture *out,
                                              struct error *err)
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

static enum assay_status event_folder_write_run(const struct run *run,
                                                const char *without,
                                                const struct album *album,
                                                struct sink *sink,
                                                struct error *err)
{
    struct event_picture *pictures = mem_array(album->n, sizeof *pictures);
    enum assay_status st;

    if (!pictures)
        return error_nomem(err, album->n * sizeof *pictures, "the pictures");
    st = event_folder_measure(album, pictures, err);
    if (!st)
        st = view_tensorboard(run, without, pictures, album->n, sink, err);
    mem_free(pictures);
    return st;
}

enum assay_status event_folder_write(const struct run *run,
                                     const char *run_path, const char *folder,
                                     const char *without, const char *pictures,
                                     struct str *wrote, struct error *err)
{
    struct album album = {0};
    struct result result = {0};
    struct str path = {0};
    enum assay_status st =
        event_folder_path(folder, run_path, run_began(run), &path, err);

    if (!st)
        st = cache_make_folders(path.text, err);
    if (!st)
        st = result_open(path.text, &result, err);
    if (!st) {
        if (pictures)
            st = album_read(&album, pictures, run, err);
        if (!st)
            st = event_folder_write_run(run, without, &album, result.sink, err);
        st = wrote ? result_end(&result, st, wrote, err)
                   : result_close(&result, st, err);
    }
    album_release(&album);
    str_release(&path);
    return st;
}

/* ---- besides a run ------------------------------------------------------ */

static enum assay_status
run_files_check_place(const char *option, const char *path, struct error *err)
{
    if (!path || strcmp(path, "-") != 0)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "--%s needs the name of a file: standard output is for "
                     "the summary",
                     option);
}

enum assay_status run_files_open(struct run_files *files,
                                 const struct run_file_names *names,
                                 const char *run_path, struct error *err)
{
    enum assay_status st = result_check_run(run_path, err);

    files->names = *names;
    files->run_path = run_path;
    if (!st)
        st = run_files_check_place("trace", names->trace, err);
    if (!st)
        st = run_files_check_place("html", names->html, err);
    if (!st && names->trace)
        st = result_open(names->trace, &files->trace, err);
    if (!st && names->html)
        st = result_open(names->html, &files->html, err);
    if (!st && names->tensorboard)
        st = event_folder_check(names->tensorboard, run_path, err);
    return st;
}

static enum assay_status
run_files_write_html(struct run_files *files, const struct run *run,
                     const char *pictures, struct str *wrote, struct error *err)
{
    struct report_side side = {run, files->run_path};
    enum assay_status st = report_write(&side, 1, &(struct budgets){0}, NULL,
                                        pictures, files->html.sink, err);

    return result_end(&files->html, st, wrote, err);
}

enum assay_status run_files_write(struct run_files *files,
                                  const struct run *run, const char *in_report,
                                  const char *in_events, struct str *wrote,
                                  struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (files->trace.output)
        st = result_end(&files->trace, view_trace(run, files->trace.sink, err),
                        wrote, err);
    if (!st && files->html.output)
        st = run_files_write_html(files, run, in_report, wrote, err);
    if (!st && files->names.tensorboard)
        st = event_folder_write(run, files->run_path, files->names.tensorboard,
                                files->has_steps ? "train." : NULL, in_events,
                                wrote, err);
    return st;
}

void run_files_discard(struct run_files *files)
{
    output_discard(files->trace.output);
    output_discard(files->html.output);
    files->trace.output = files->html.output = NULL;
}

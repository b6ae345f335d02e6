/* cli/data_fetch.c - see data_fetch.h.
 *
 * An archive is unpacked next to the place of its folder, which then appears as
 * a whole: a folder that is there was unpacked completely. */
#include "cli/data_fetch.h"

#include "base/claim.h"
#include "base/file.h"
#include "base/md5.h"
#include "base/str.h"
#include "base/units.h"
#include "cli/file_roles.h"
#include "data/unpack.h"
#include "formats/weights/download.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* MD5 sums from torchvision; sizes and SHA-256 as Keras and many other projects
 * have found them. */
static const struct data_archive pets_archives[] = {
    {"images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c", "images",
     "67195c5e1c01f1ab5f9b6a5d22b8c27a580d896ece458917e61d459337fa318d",
     791918971},
    {"annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f", "annotations",
     "52425fb6de5c424942b7626b428656fcbd798db970a937df61750c0f1d358e91",
     19173078},
    {0},
};

/* For archives with the user's own sums, and for unpacked data. */
static const uint64_t most_bytes = (uint64_t)16 << 30;

const struct data_published data_published[] = {
    {DATASET_PETS, "https://www.robots.ox.ac.uk/~vgg/data/pets/data",
     pets_archives},
    {.url = NULL},
};

const struct data_published *data_find_published(const char *name)
{
    for (const struct data_published *p = data_published; p->url; p++) {
        if (strcmp(dataset_kind_name(p->kind), name) == 0)
            return p;
    }
    return NULL;
}

/* ---- one archive ------------------------------------------------------- */

/* Its paths. Start from {0}. */
struct archive_paths {
    struct str archive; /* DIR/oxford-iiit-pet/images.tar.gz */
    struct str folder;  /* DIR/oxford-iiit-pet/images */
    struct str begun;   /* where it is unpacked until it is complete */
    struct str inside;  /* the folder in there */
    struct str url;
};

static void archive_paths_release(struct archive_paths *paths)
{
    str_release(&paths->archive);
    str_release(&paths->folder);
    str_release(&paths->begun);
    str_release(&paths->inside);
    str_release(&paths->url);
}

static enum assay_status archive_paths_set(struct archive_paths *paths,
                                           const struct data_fetch *fetch,
                                           const struct data_archive *archive,
                                           struct error *err)
{
    const char *name = dataset_kind_name(fetch->published->kind);
    const char *url = fetch->url ? fetch->url : fetch->published->url;

    if (str_printf(&paths->archive, "%s/%s/%s", fetch->to, name,
                   archive->file) ||
        str_printf(&paths->folder, "%s/%s/%s", fetch->to, name,
                   archive->folder) ||
        str_printf(&paths->begun, "%s/%s/.%s.unpacking", fetch->to, name,
                   archive->folder) ||
        str_printf(&paths->inside, "%s/%s", paths->begun.text,
                   archive->folder) ||
        str_printf(&paths->url, "%s/%s", url, archive->file))
        return error_nomem(err, strlen(fetch->to), "a file name");
    return ASSAY_OK;
}

static bool data_is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static struct progress archive_progress(struct sink *screen, struct term *term,
                                        const char *what)
{
    *screen = sink_to_file(stderr, "standard error");
    *term = term_of(stderr);
    return progress_start(screen, term, clock_real(), what, "bytes", 0);
}

/* md5 NULL: the archive as published. */
static enum assay_status archive_get(const struct archive_paths *paths,
                                     const struct data_archive *archive,
                                     const char *md5, struct error *err)
{
    struct sink screen;
    struct term term;
    struct progress progress = archive_progress(&screen, &term, "fetching");
    struct str advice = {0};
    struct download download = {.url = paths->url.text,
                                .path = paths->archive.text,
                                .md5_digits = md5 ? md5 : archive->md5,
                                .sha256_digits = md5 ? NULL : archive->sha256,
                                .least_bytes = md5 ? 0 : archive->bytes,
                                .most_bytes = md5 ? most_bytes : archive->bytes,
                                .progress = &progress};
    enum assay_status st = ASSAY_OK;

    if (str_printf(&advice, "put it there as %s", paths->archive.text))
        st = error_nomem(err, paths->archive.n, "a message");
    download.otherwise = str_text(&advice);
    if (!st && !download_is_whole(&download))
        st = download_file(&download, err);
    progress_finish(&progress);
    str_release(&advice);
    return st;
}

static enum assay_status archive_unpack(const struct archive_paths *paths,
                                        struct unpacked *done,
                                        struct error *err)
{
    struct sink screen;
    struct term term;
    struct progress progress = archive_progress(&screen, &term, "unpacking");
    enum assay_status st =
        unpack_archive(&(struct unpack){.archive = paths->archive.text,
                                        .folder = paths->begun.text,
                                        .most_bytes = most_bytes,
                                        .progress = &progress},
                       done, err);

    progress_finish(&progress);
    if (!st && !data_is_folder(paths->inside.text))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has no folder %s in it; is it another archive?",
                         paths->archive.text,
                         strrchr(paths->inside.text, '/') + 1);
    if (!st && rename(paths->inside.text, paths->folder.text))
        st = error_errno(err, errno, "writing %s", paths->folder.text);
    if (!st)
        rmdir(paths->begun.text); /* keeps what else is in it */
    return st;
}

/* Only one process at a time unpacks an archive. *fd holds the claim; it is -1
 * if there is none, because the archive is gone with the process that unpacked
 * it or may not be written. */
static enum assay_status archive_claim(const struct archive_paths *paths,
                                       int *fd, struct error *err)
{
    pid_t holder;

    *fd = open(paths->archive.text, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 || claim_take(*fd, &holder))
        return ASSAY_OK;
    close(*fd);
    *fd = -1;
    return error_set(err, ASSAY_IO,
                     "%s is being unpacked by another process (pid %ld); wait "
                     "until it is done",
                     paths->archive.text, (long)holder);
}

static void archive_report_found(const struct archive_paths *paths,
                                 struct sink *sink)
{
    sink_printf(sink, "found    %s\n", paths->folder.text);
}

static enum assay_status archive_fetch(const struct data_fetch *fetch,
                                       const struct data_archive *archive,
                                       const char *md5, struct sink *sink,
                                       struct error *err)
{
    struct archive_paths paths = {0};
    struct unpacked done = {0};
    char size[UNITS_MAX];
    const char *sums = fetch->sums;
    bool was_found = false;
    int claim = -1;
    enum assay_status st = archive_paths_set(&paths, fetch, archive, err);

    if (!st && fetch->sums)
        st = file_roles_check_one("the archive", paths.archive.text,
                                  &(struct words){.items = &sums, .n = 1}, err);
    if (!st && data_is_folder(paths.folder.text)) {
        archive_report_found(&paths, sink);
        goto done;
    }
    if (!st)
        st = archive_get(&paths, archive, md5, err);
    if (!st)
        st = archive_claim(&paths, &claim, err);
    was_found = !st && data_is_folder(paths.folder.text); /* by now */
    if (!st && !was_found)
        st = archive_unpack(&paths, &done, err);
    if (!st && !fetch->keeps_archives)
        unlink(paths.archive.text);
    if (was_found)
        archive_report_found(&paths, sink);
    else if (!st)
        sink_printf(sink, "wrote    %s  %llu files  %s\n", paths.folder.text,
                    (unsigned long long)done.n_files,
                    units_file_size(size, (double)done.n_bytes));
done:
    if (claim >= 0)
        close(claim);
    archive_paths_release(&paths);
    return st;
}

/* ---- MD5 sums ---------------------------------------------------------- */

/* Copies the digits out of "0cc175b9c0f1b6a831c399e269772661  images.tar.gz".
 */
static bool archive_find_sum(const char *text, const char *file,
                             char md5[MD5_HEX])
{
    static const char digits[] = "0123456789abcdef";

    while (*text) {
        size_t n = strcspn(text, "\n"), n_digits = strspn(text, digits);
        const char *name = text + n_digits + strspn(text + n_digits, " *");

        if (n_digits == MD5_HEX - 1 && name > text + n_digits &&
            (size_t)(text + n - name) == strlen(file) &&
            memcmp(name, file, strlen(file)) == 0) {
            memcpy(md5, text, n_digits);
            md5[n_digits] = '\0';
            return true;
        }
        text += n + (text[n] == '\n');
    }
    return false;
}

enum assay_status data_fetch(const struct data_fetch *fetch, struct sink *sink,
                             struct error *err)
{
    enum { most_sums = 1 << 20 };
    struct str sums = {0};
    enum assay_status st =
        fetch->sums ? file_read(fetch->sums, most_sums, &sums, err) : ASSAY_OK;

    for (const struct data_archive *archive = fetch->published->archives;
         !st && archive->file; archive++) {
        char md5[MD5_HEX];

        if (fetch->sums &&
            !archive_find_sum(str_text(&sums), archive->file, md5))
            st = error_set(err, ASSAY_BAD_INPUT, "%s has no MD5 sum for %s",
                           fetch->sums, archive->file);
        else
            st = archive_fetch(fetch, archive, fetch->sums ? md5 : NULL, sink,
                               err);
    }
    if (!st)
        sink_printf(sink, "next     assay data show %s/%s\n", fetch->to,
                    dataset_kind_name(fetch->published->kind));
    str_release(&sums);
    return st;
}

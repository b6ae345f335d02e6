/* cli/data_fetch.c - see data_fetch.h.
 *
 * An archive is unpacked beside the place of its folder, which then appears as
 * a whole: what is there was unpacked to its end. */
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

/* MD5 sums as torchvision has them; sizes and SHA-256 as Keras' and many other
 * projects found them. */
static const struct data_archive pets_archives[] = {
    {"images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c", "images",
     "67195c5e1c01f1ab5f9b6a5d22b8c27a580d896ece458917e61d459337fa318d",
     791918971},
    {"annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f", "annotations",
     "52425fb6de5c424942b7626b428656fcbd798db970a937df61750c0f1d358e91",
     19173078},
    {0},
};

/* Of an archive that the user has sums of, and of what comes out of one. */
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

/* The paths of it. Start from {0}. */
struct places {
    struct str archive; /* DIR/oxford-iiit-pet/images.tar.gz */
    struct str folder;  /* DIR/oxford-iiit-pet/images */
    struct str begun;   /* where that is unpacked until it is whole */
    struct str inside;  /* the folder in there */
    struct str url;
};

static void places_release(struct places *places)
{
    str_release(&places->archive);
    str_release(&places->folder);
    str_release(&places->begun);
    str_release(&places->inside);
    str_release(&places->url);
}

static enum assay_status places_set(struct places *places,
                                    const struct data_fetch *fetch,
                                    const struct data_archive *archive,
                                    struct error *err)
{
    const char *name = dataset_kind_name(fetch->published->kind);
    const char *url = fetch->url ? fetch->url : fetch->published->url;

    if (str_printf(&places->archive, "%s/%s/%s", fetch->to, name,
                   archive->file) ||
        str_printf(&places->folder, "%s/%s/%s", fetch->to, name,
                   archive->folder) ||
        str_printf(&places->begun, "%s/%s/.%s.unpacking", fetch->to, name,
                   archive->folder) ||
        str_printf(&places->inside, "%s/%s", places->begun.text,
                   archive->folder) ||
        str_printf(&places->url, "%s/%s", url, archive->file))
        return error_nomem(err, strlen(fetch->to), "a file name");
    return ASSAY_OK;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static struct progress start_progress(struct sink *screen, struct term *term,
                                      const char *what)
{
    *screen = sink_to_file(stderr, "standard error");
    *term = term_of(stderr);
    return progress_start(screen, term, clock_real(), what, "bytes", 0);
}

/* md5 NULL: it is as published. */
static enum assay_status get_archive(const struct places *places,
                                     const struct data_archive *archive,
                                     const char *md5, struct error *err)
{
    struct sink screen;
    struct term term;
    struct progress progress = start_progress(&screen, &term, "fetching");
    struct str advice = {0};
    struct download download = {.url = places->url.text,
                                .path = places->archive.text,
                                .md5_digits = md5 ? md5 : archive->md5,
                                .sha256_digits = md5 ? NULL : archive->sha256,
                                .least_bytes = md5 ? 0 : archive->bytes,
                                .most_bytes = md5 ? most_bytes : archive->bytes,
                                .progress = &progress};
    enum assay_status st = ASSAY_OK;

    if (str_printf(&advice, "put it there as %s", places->archive.text))
        st = error_nomem(err, places->archive.n, "a message");
    download.otherwise = str_text(&advice);
    if (!st && !download_is_whole(&download))
        st = download_file(&download, err);
    progress_finish(&progress);
    str_release(&advice);
    return st;
}

static enum assay_status unpack(const struct places *places,
                                struct unpacked *done, struct error *err)
{
    struct sink screen;
    struct term term;
    struct progress progress = start_progress(&screen, &term, "unpacking");
    enum assay_status st =
        unpack_archive(&(struct unpack){.archive = places->archive.text,
                                        .folder = places->begun.text,
                                        .most_bytes = most_bytes,
                                        .progress = &progress},
                       done, err);

    progress_finish(&progress);
    if (!st && !is_folder(places->inside.text))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has no folder %s in it; is it another archive?",
                         places->archive.text,
                         strrchr(places->inside.text, '/') + 1);
    if (!st && rename(places->inside.text, places->folder.text))
        st = error_errno(err, errno, "writing %s", places->folder.text);
    if (!st)
        rmdir(places->begun.text); /* what else is in it stays beside */
    return st;
}

/* One process at a time unpacks an archive. *fd is the claim, -1 where there is
 * none: the archive went with the process that unpacked it, or is not ours to
 * write. */
static enum assay_status claim_archive(const struct places *places, int *fd,
                                       struct error *err)
{
    pid_t holder;

    *fd = open(places->archive.text, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 || claim_take(*fd, &holder))
        return ASSAY_OK;
    close(*fd);
    *fd = -1;
    return error_set(err, ASSAY_IO,
                     "%s is being unpacked by another process (pid %ld); wait "
                     "until it has ended",
                     places->archive.text, (long)holder);
}

static void tell_found(const struct places *places, struct sink *sink)
{
    sink_printf(sink, "found    %s\n", places->folder.text);
}

static enum assay_status fetch_archive(const struct data_fetch *fetch,
                                       const struct data_archive *archive,
                                       const char *md5, struct sink *sink,
                                       struct error *err)
{
    struct places places = {0};
    struct unpacked done = {0};
    char size[UNITS_MAX];
    const char *sums = fetch->sums;
    bool was_found = false;
    int claim = -1;
    enum assay_status st = places_set(&places, fetch, archive, err);

    if (!st && fetch->sums)
        st = file_roles_check_one("the archive", places.archive.text,
                                  &(struct words){.items = &sums, .n = 1}, err);
    if (!st && is_folder(places.folder.text)) {
        tell_found(&places, sink);
        goto done;
    }
    if (!st)
        st = get_archive(&places, archive, md5, err);
    if (!st)
        st = claim_archive(&places, &claim, err);
    was_found = !st && is_folder(places.folder.text); /* by now */
    if (!st && !was_found)
        st = unpack(&places, &done, err);
    if (!st && !fetch->keeps_archives)
        unlink(places.archive.text);
    if (was_found)
        tell_found(&places, sink);
    else if (!st)
        sink_printf(sink, "wrote    %s  %llu files  %s\n", places.folder.text,
                    (unsigned long long)done.n_files,
                    units_file_size(size, (double)done.n_bytes));
done:
    if (claim >= 0)
        close(claim);
    places_release(&places);
    return st;
}

/* ---- sums -------------------------------------------------------------- */

/* "0cc175b9c0f1b6a831c399e269772661  images.tar.gz": the digits into *md5. */
static bool find_sum(const char *text, const char *file, char md5[MD5_HEX])
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

        if (fetch->sums && !find_sum(str_text(&sums), archive->file, md5))
            st = error_set(err, ASSAY_BAD_INPUT, "%s has no MD5 sum of %s",
                           fetch->sums, archive->file);
        else
            st = fetch_archive(fetch, archive, fetch->sums ? md5 : NULL, sink,
                               err);
    }
    if (!st)
        sink_printf(sink, "next     assay data show %s/%s\n", fetch->to,
                    dataset_kind_name(fetch->published->kind));
    str_release(&sums);
    return st;
}

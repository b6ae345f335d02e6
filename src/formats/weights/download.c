/* formats/weights/download.c - see download.h. */
#include "formats/weights/download.h"

#include "base/cache.h"
#include "base/claim.h"
#include "base/file.h"
#include "base/md5.h"
#include "base/sha256.h"
#include "base/str.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    connect_seconds = 30,
    stalled_seconds = 60, /* gives up after these without a byte */
    max_redirects = 10,
    http_bad_request = 400,
    http_not_found = 404,
    http_range_wrong = 416
};

/* ---- libcurl ------------------------------------------------------------ */

/* Loaded when something is fetched: it depends on some thirty libraries, which
 * would cost every start of the program about 10 ms, and few runs need it. */
struct curl_library {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
};

/* Loads it, for good. */
static enum assay_status curl_library_load(struct curl_library *library,
                                           struct error *err)
{
    const struct {
        const char *name;
        void *function; /* where its address goes */
    } symbols[] = {{"curl_global_init", &library->global_init},
                   {"curl_easy_init", &library->easy_init},
                   {"curl_easy_setopt", &library->easy_setopt},
                   {"curl_easy_perform", &library->easy_perform},
                   {"curl_easy_getinfo", &library->easy_getinfo},
                   {"curl_easy_strerror", &library->easy_strerror},
                   {"curl_easy_cleanup", &library->easy_cleanup}};
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    bool is_usable = true;

    if (!handle)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "cannot load libcurl.so.4, which fetches files; "
                         "install libcurl");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(handle, symbols[i].name);

        /* C cannot convert an object pointer to a function pointer; POSIX
         * can. */
        memcpy(symbols[i].function, &symbol, sizeof symbol);
        is_usable &= symbol != NULL;
    }
    if (!is_usable || library->global_init(CURL_GLOBAL_DEFAULT))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "libcurl.so.4 is not usable; install libcurl again");
    return ASSAY_OK;
}

/* ---- transfers ---------------------------------------------------------- */

struct transfer {
    const struct download *download;
    const char *part;
    int fd;
    uint64_t resumed; /* bytes from an earlier attempt */
    uint64_t written; /* including those */
    bool is_too_long; /* the server sent more than most_bytes */
    int write_errno;
    long http_status;
    struct curl_library curl;
    CURL *handle;
};

static size_t download_write_part(char *bytes, size_t size, size_t n,
                                  void *context)
{
    struct transfer *transfer = context;
    size_t wanted = size * n, done = 0;
    uint64_t most = transfer->download->most_bytes;

    transfer->written += wanted;
    transfer->is_too_long = most && transfer->written > most;
    if (transfer->is_too_long)
        return 0;
    while (done < wanted) {
        ssize_t wrote = write(transfer->fd, bytes + done, wanted - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            transfer->write_errno = errno;
            return 0;
        }
        done += (size_t)wrote;
    }
    return wanted;
}

static int download_show_progress(void *context, curl_off_t total,
                                  curl_off_t now, curl_off_t up_total,
                                  curl_off_t up_now)
{
    struct transfer *transfer = context;
    struct progress *progress = transfer->download->progress;

    (void)up_total;
    (void)up_now;
    if (progress && total > 0) {
        progress->total = transfer->resumed + (uint64_t)total;
        progress_update(progress, transfer->resumed + (uint64_t)now);
    }
    return 0;
}

static void download_set_options(struct transfer *transfer)
{
    __typeof__(curl_easy_setopt) *set = transfer->curl.easy_setopt;
    CURL *handle = transfer->handle;

    set(handle, CURLOPT_URL, transfer->download->url);
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    set(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(handle, CURLOPT_FOLLOWLOCATION, 1L);
    set(handle, CURLOPT_MAXREDIRS, (long)max_redirects);
    set(handle, CURLOPT_FAILONERROR, 1L);
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_CONNECTTIMEOUT, (long)connect_seconds);
    set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(handle, CURLOPT_LOW_SPEED_TIME, (long)stalled_seconds);
    set(handle, CURLOPT_USERAGENT, "assay/" ASSAY_VERSION);
    set(handle, CURLOPT_WRITEFUNCTION, download_write_part);
    set(handle, CURLOPT_WRITEDATA, transfer);
    set(handle, CURLOPT_NOPROGRESS, 0L);
    set(handle, CURLOPT_XFERINFOFUNCTION, download_show_progress);
    set(handle, CURLOPT_XFERINFODATA, transfer);
}

/* Continues after the bytes that the part file has already. */
static CURLcode download_perform(struct transfer *transfer)
{
    uint64_t most = transfer->download->most_bytes;
    CURLcode code;
    off_t at = lseek(transfer->fd, 0, SEEK_END);

    transfer->resumed = at > 0 ? (uint64_t)at : 0;
    if (most && transfer->resumed > most && !ftruncate(transfer->fd, 0))
        transfer->resumed = 0; /* it was another file */
    lseek(transfer->fd, (off_t)transfer->resumed, SEEK_SET);
    transfer->written = transfer->resumed;
    if (most) /* if the server announces more, nothing is transferred */
        transfer->curl.easy_setopt(transfer->handle, CURLOPT_MAXFILESIZE_LARGE,
                                   (curl_off_t)(most - transfer->resumed + 1));
    transfer->curl.easy_setopt(transfer->handle, CURLOPT_RESUME_FROM_LARGE,
                               (curl_off_t)transfer->resumed);
    code = transfer->curl.easy_perform(transfer->handle);
    transfer->http_status = 0;
    transfer->curl.easy_getinfo(transfer->handle, CURLINFO_RESPONSE_CODE,
                                &transfer->http_status);
    return code;
}

static enum assay_status download_explain(const struct transfer *transfer,
                                          CURLcode code, struct error *err)
{
    const char *url = transfer->download->url;

    if (transfer->is_too_long || code == CURLE_FILESIZE_EXCEEDED) {
        unlink(transfer->part);
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is larger than the expected %llu bytes; nothing "
                         "was kept",
                         url,
                         (unsigned long long)transfer->download->most_bytes);
    }
    if (code == CURLE_WRITE_ERROR && transfer->write_errno)
        return error_errno(err, transfer->write_errno, "writing %s",
                           transfer->part);
    if (transfer->http_status == http_not_found)
        return error_set(err, ASSAY_NOT_FOUND,
                         "%s does not exist (HTTP 404); it may have moved",
                         url);
    if (transfer->http_status >= http_bad_request)
        return error_set(err, ASSAY_IO, "the server refuses %s (HTTP %ld)", url,
                         transfer->http_status);
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
        code == CURLE_COULDNT_RESOLVE_PROXY)
        return error_set(err, ASSAY_NOT_FOUND,
                         "cannot reach %s; without a network, fetch it on "
                         "another machine and %s",
                         url, transfer->download->otherwise);
    if (code == CURLE_PEER_FAILED_VERIFICATION ||
        code == CURLE_SSL_CACERT_BADFILE)
        return error_set(err, ASSAY_IO,
                         "fetching %s: %s; the package ca-certificates has the "
                         "certificates to check it with",
                         url, transfer->curl.easy_strerror(code));
    return error_set(err, ASSAY_IO,
                     "fetching %s: %s; run the command again to continue", url,
                     transfer->curl.easy_strerror(code));
}

/* ---- sums -------------------------------------------------------------- */

struct sums {
    char sha256[SHA256_HEX], md5[MD5_HEX];
};

static bool download_begins_with(const char *hex, const char *digits)
{
    return !digits || strncmp(hex, digits, strlen(digits)) == 0;
}

static bool download_is_wanted(const struct download *download,
                               const struct sums *sums)
{
    return download_begins_with(sums->sha256, download->sha256_digits) &&
           download_begins_with(sums->md5, download->md5_digits);
}

static enum assay_status download_hash_file(const struct download *download,
                                            int fd, const char *path,
                                            struct sums *sums,
                                            struct error *err)
{
    unsigned char bytes[64 * 1024];
    struct sha256 sha;
    struct md5 md5;
    off_t at = 0;
    ssize_t n;

    sha256_init(&sha);
    md5_init(&md5);
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
        if (download->sha256_digits)
            sha256_update(&sha, bytes, (size_t)n);
        if (download->md5_digits)
            md5_update(&md5, bytes, (size_t)n);
        at += n;
    }
    if (n < 0)
        return error_errno(err, errno, "reading %s", path);
    sha256_finish(&sha, sums->sha256);
    md5_finish(&md5, sums->md5);
    return ASSAY_OK;
}

bool download_is_whole(const struct download *download)
{
    struct error ignored = {0};
    struct sums sums;
    int fd;
    bool is =
        !file_open(download->path, &fd, &ignored) &&
        !download_hash_file(download, fd, download->path, &sums, &ignored) &&
        download_is_wanted(download, &sums);

    if (fd >= 0)
        close(fd);
    return is;
}

/* A server may end too early and still report success. */
static enum assay_status download_check_size(const struct transfer *transfer,
                                             struct error *err)
{
    const struct download *download = transfer->download;
    struct stat info;

    if (fstat(transfer->fd, &info))
        return error_errno(err, errno, "reading %s", transfer->part);
    if ((uint64_t)info.st_size >= download->least_bytes)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%s sent %lld bytes instead of %llu; they were removed, "
                     "fetch the file again",
                     download->url, (long long)info.st_size,
                     (unsigned long long)download->least_bytes);
}

static enum assay_status download_check_sums(const struct transfer *transfer,
                                             struct error *err)
{
    const struct download *download = transfer->download;
    struct sums sums;
    bool is_sha;
    enum assay_status st =
        download_hash_file(download, transfer->fd, transfer->part, &sums, err);

    if (st || download_is_wanted(download, &sums))
        return st;
    is_sha = !download_begins_with(sums.sha256, download->sha256_digits);
    return error_set(err, ASSAY_BAD_INPUT,
                     "the file from %s has %s %.8s... instead of %.8s...; it "
                     "was removed, fetch it again",
                     download->url, is_sha ? "SHA-256" : "MD5",
                     is_sha ? sums.sha256 : sums.md5,
                     is_sha ? download->sha256_digits : download->md5_digits);
}

/* Renames the part file, or removes it if it is not the right file. */
static enum assay_status download_finish(const struct transfer *transfer,
                                         struct error *err)
{
    enum assay_status st = download_check_size(transfer, err);

    if (!st)
        st = download_check_sums(transfer, err);
    if (st == ASSAY_BAD_INPUT)
        unlink(transfer->part);
    if (st)
        return st;
    if (fsync(transfer->fd) || rename(transfer->part, transfer->download->path))
        return error_errno(err, errno, "writing %s", transfer->download->path);
    return ASSAY_OK;
}

/* ---- fetching ---------------------------------------------------------- */

/* Asks for the whole file if the server cannot continue in the middle, or has
 * nothing left to send although the hash is wrong. */
static enum assay_status download_fetch(struct transfer *transfer,
                                        struct error *err)
{
    CURLcode code = download_perform(transfer);

    if (transfer->resumed && transfer->http_status == http_range_wrong) {
        struct error ignored = {0};

        if (!download_check_sums(transfer, &ignored))
            return download_finish(transfer, err);
    }
    if (transfer->resumed && (transfer->http_status == http_range_wrong ||
                              code == CURLE_RANGE_ERROR)) {
        if (ftruncate(transfer->fd, 0))
            return error_errno(err, errno, "writing %s", transfer->part);
        code = download_perform(transfer);
    }
    return code ? download_explain(transfer, code, err)
                : download_finish(transfer, err);
}

/* ---- files ------------------------------------------------------------ */

/* Whether the part's name is still that of the open file: another process may
 * have finished it. */
static bool download_is_in_place(const struct transfer *transfer)
{
    struct stat open, named;

    return fstat(transfer->fd, &open) == 0 &&
           lstat(transfer->part, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

static enum assay_status download_claim_part(struct transfer *transfer,
                                             struct error *err)
{
    struct stat info;
    pid_t holder;

    transfer->fd =
        open(transfer->part,
             O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (transfer->fd < 0)
        return error_errno(err, errno, "cannot write %s", transfer->part);
    if (fstat(transfer->fd, &info) || !S_ISREG(info.st_mode))
        return error_set(err, ASSAY_IO,
                         "cannot write %s: it is not a regular file",
                         transfer->part);
    if (claim_take(transfer->fd, &holder))
        return ASSAY_OK;
    return error_set(err, ASSAY_IO,
                     "another process (pid %ld) is fetching %s; wait until it "
                     "ends",
                     (long)holder, transfer->download->path);
}

/* Only one process at a time writes to a part file; the descriptor stays open
 * only if it is this one. */
static enum assay_status download_open_part(struct transfer *transfer,
                                            struct error *err)
{
    for (;;) {
        enum assay_status st = download_claim_part(transfer, err);

        if (!st && download_is_in_place(transfer))
            return ASSAY_OK;
        if (transfer->fd >= 0)
            close(transfer->fd);
        transfer->fd = -1;
        if (st)
            return st;
    }
}

/* Removes an empty part file. */
static void download_close_part(struct transfer *transfer)
{
    struct stat info;

    if (transfer->fd < 0)
        return;
    if (download_is_in_place(transfer) && fstat(transfer->fd, &info) == 0 &&
        info.st_size == 0)
        unlink(transfer->part);
    close(transfer->fd);
}

/* Whether another process finished the file while this one waited. */
static bool download_was_finished(const struct transfer *transfer)
{
    struct stat info;

    return fstat(transfer->fd, &info) == 0 && info.st_size == 0 &&
           download_is_whole(transfer->download);
}

enum assay_status download_file(const struct download *download,
                                struct error *err)
{
    struct transfer transfer = {.download = download, .fd = -1};
    struct str part = {0};
    enum assay_status st = curl_library_load(&transfer.curl, err);

    if (!st && str_printf(&part, "%s.part", download->path))
        st = error_nomem(err, strlen(download->path), "a file name");
    transfer.part = str_text(&part);
    if (!st)
        st = cache_make_folders(download->path, err);
    if (!st)
        st = download_open_part(&transfer, err);
    if (!st && download_was_finished(&transfer))
        goto done;
    if (!st) {
        transfer.handle = transfer.curl.easy_init();
        if (!transfer.handle)
            st = error_nomem(err, 1, "a download");
    }
    if (!st) {
        download_set_options(&transfer);
        st = download_fetch(&transfer, err);
        transfer.curl.easy_cleanup(transfer.handle);
    }
done:
    download_close_part(&transfer);
    str_release(&part);
    return st;
}

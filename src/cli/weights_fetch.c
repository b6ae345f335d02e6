/* cli/weights_fetch.c - see weights_fetch.h. */
#include "cli/weights_fetch.h"

#include "formats/weights/download.h"

#include <stdio.h>

enum assay_status weights_fetch_to(const struct published *published,
                                   const char *base, const char *path,
                                   const char *otherwise, struct error *err)
{
    char digits[SHA256_HEX];
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "fetching", "bytes", 0);
    struct str url = {0};
    struct download download = {.path = path,
                                .sha256_digits = digits,
                                .otherwise = otherwise,
                                .progress = &progress};
    enum assay_status st = ASSAY_OK;

    published_digits(published, digits);
    published_size(published, &download.least_bytes, &download.most_bytes);
    if (str_printf(&url, "%s/%s", base ? base : PUBLISHED_URL, published->file))
        st = error_nomem(err, 64, "a URL");
    download.url = str_text(&url);
    if (!st)
        st = download_file(&download, err);
    progress_finish(&progress);
    str_release(&url);
    return st;
}

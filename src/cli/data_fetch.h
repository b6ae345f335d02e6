/* cli/data_fetch.h - downloads published datasets.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_FETCH_H
#define CLI_DATA_FETCH_H

#include "base/sink.h"
#include "data/dataset.h"

/* An archive of a dataset, and the folder in it. */
struct data_archive {
    const char *file, *md5, *folder;
    const char *sha256;
    uint64_t bytes; /* of the archive */
};

struct data_published {
    enum dataset_kind kind;
    const char *url;                     /* of the folder with the archives */
    const struct data_archive *archives; /* file NULL at the end */
};

extern const struct data_published data_published[]; /* url NULL at the end */

/* NULL if it is not published. */
const struct data_published *data_find_published(const char *name);

struct data_fetch {
    const struct data_published *published;
    const char *to;   /* the folder that gets the dataset's folder */
    const char *url;  /* NULL: where it is published */
    const char *sums; /* a file with MD5 sums of the archives, as md5sum
                         writes them; NULL: the published ones */
    bool keeps_archives;
};

/* Keeps what is already there and continues what was begun. Reports on the sink
 * what was written. */
enum assay_status data_fetch(const struct data_fetch *fetch, struct sink *sink,
                             struct error *err);

#endif

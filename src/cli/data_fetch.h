/* cli/data_fetch.h - datasets that can be fetched.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_FETCH_H
#define CLI_DATA_FETCH_H

#include "base/sink.h"
#include "data/dataset.h"

/* An archive of a dataset, and the folder that it holds. */
struct data_archive {
    const char *file, *md5, *folder;
    const char *sha256;
    uint64_t bytes; /* of the archive */
};

struct data_published {
    enum dataset_kind kind;
    const char *url; /* of the folder that the archives are in */
    const struct data_archive *archives; /* file NULL at the end */
};

extern const struct data_published data_published[]; /* url NULL at the end */

/* NULL where none is published. */
const struct data_published *data_find_published(const char *name);

struct data_fetch {
    const struct data_published *published;
    const char *to;   /* the dataset becomes a folder in it */
    const char *url;  /* NULL: where it is published */
    const char *sums; /* a file with MD5 sums for the archives, as md5sum
                         writes them; NULL: the published ones */
    bool keeps_archives;
};

/* What is there already is left as it is; what was begun is gone on with. Says
 * on the sink what was written. */
enum assay_status data_fetch(const struct data_fetch *fetch, struct sink *sink,
                             struct error *err);

#endif

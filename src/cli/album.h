/* cli/album.h - the drawn photographs that belong to a run, read into memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_ALBUM_H
#define CLI_ALBUM_H

#include "picture/photos.h"
#include "run/run.h"
#include "views/report.h"

/* Start from {0}. */
struct album {
    struct photos photos;
    struct str *files; /* as many as photos */
    struct report_picture *pictures;
    size_t n;
};

/* Those of a folder: of the run where it names its photographs, else all.
 * Released also on failure. */
enum assay_status album_read(struct album *album, const char *folder,
                             const struct run *run, struct error *err);
void album_release(struct album *album);

#endif

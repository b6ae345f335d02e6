/* views/report.h - runs as one self-contained HTML page.
 *
 * The page is our own HTML, style and script from src/views/html/, embedded
 * when the program is built, with the runs as JSON between them. It opens
 * without a server and forbids itself the network; see docs/report.md.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_REPORT_H
#define VIEWS_REPORT_H

#include "base/sink.h"
#include "run/compare.h"
#include "run/run.h"
#include "views/trend.h"

/* A JPEG or PNG file's bytes, borrowed. */
struct report_picture {
    const char *name; /* of the file, without its folder */
    const char *bytes;
    size_t n;
};

struct report_side {
    const struct run *run;
    const char *source; /* the run's file name */
};

struct report {
    struct report_side sides[2];         /* the second run may be NULL */
    const struct comparison *comparison; /* of the two; NULL for one */
    const struct gate_result *gate;      /* of the comparison; NULL: none */
    const struct report_picture *pictures;
    size_t n_pictures;
    const struct trend *trend; /* of the folder the runs are in; NULL: none */
    /* Of a run that is being recorded, on a server that gives view_html_data()
     * at /data: the page asks for it after so many seconds. 0: it is complete.
     */
    int refresh_s;
};

/* Writes a text so that it is one in HTML, in an element or in quotes. */
void html_escape(struct sink *sink, const char *text);

enum assay_status view_html(const struct report *report, struct sink *sink,
                            struct error *err);
/* What an open page needs to show the report: the JSON in it. */
enum assay_status view_html_data(const struct report *report, struct sink *sink,
                                 struct error *err);

#endif

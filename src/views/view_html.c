/* views/view_html.c - the HTML report: the page, and the runs in it. */
#include "views/report.h"

#include "base/base64.h"
#include "base/sha256.h"
#include "views/html_page_internal.h"
#include "views/report_data_internal.h"

#include <string.h>

/* Only what was built into the program, identified by its hash, may run or
 * style the page, and nothing is loaded from anywhere. */
static void html_write_hash(struct sink *sink, const struct html_part *part)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 sha;

    sha256_init(&sha);
    sha256_update(&sha, part->bytes, part->n);
    sha256_digest(&sha, digest);
    sink_puts(sink, "'sha256-");
    base64_write(sink, digest, sizeof digest);
    sink_puts(sink, "'");
}

static void html_write_part(struct sink *sink, const char *before,
                            const struct html_part *part, const char *after)
{
    sink_puts(sink, before);
    sink_write(sink, part->bytes, part->n);
    sink_puts(sink, after);
}

/* Only a page that asks for its data again may talk, and only to its server. */
static void html_write_head(struct sink *sink, bool is_live)
{
    sink_puts(sink, "<!doctype html>\n<html lang=\"en\">\n<head>\n"
                    "<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" "
                    "content=\"default-src 'none'; img-src data:; "
                    "base-uri 'none'; form-action 'none'; script-src ");
    html_write_hash(sink, &html_script);
    sink_puts(sink, "; style-src ");
    html_write_hash(sink, &html_style);
    if (is_live)
        sink_puts(sink, "; connect-src 'self'");
    sink_puts(sink, "\">\n<meta name=\"viewport\" "
                    "content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta name=\"generator\" content=\"assay " ASSAY_VERSION
                    "\">\n<title>Assay report</title>\n");
    html_write_part(sink, "<style>", &html_style,
                    "</style>\n</head>\n<body>\n");
}

/* JSON in a script element must not contain what ends the element: a < only
 * occurs in strings, where it can be escaped. */
static bool html_write_without_tags(void *context, const char *bytes, size_t n)
{
    struct sink *page = context;
    const char *end = bytes + n;

    while (bytes < end) {
        const char *tag = memchr(bytes, '<', (size_t)(end - bytes));

        sink_write(page, bytes, (size_t)((tag ? tag : end) - bytes));
        if (tag)
            sink_puts(page, "\\u003c");
        bytes = tag ? tag + 1 : end;
    }
    return true; /* the page remembers failures */
}

static void html_write_pictures(struct json_writer *json,
                                const struct report *report)
{
    report_column(json, "pictures");
    for (size_t i = 0; i < report->n_pictures; i++) {
        const struct report_picture *picture = &report->pictures[i];
        bool is_png =
            picture->n > 4 && memcmp(picture->bytes, "\x89PNG", 4) == 0;

        json_object_begin(json);
        json_member_string(json, "name", picture->name);
        json_member_string(json, "type", is_png ? "image/png" : "image/jpeg");
        json_key(json, "bytes");
        json_write_base64(json, picture->bytes, picture->n);
        json_object_end(json);
    }
    json_array_end(json);
}

static enum assay_status html_write_data(const struct report *report,
                                         const struct report_rows rows[2],
                                         struct sink *page, struct error *err)
{
    struct sink sink = {
        .write = html_write_without_tags, .context = page, .name = page->name};
    struct json_writer json = json_writer(&sink, 0);
    enum assay_status st = ASSAY_OK;

    json_object_begin(&json);
    json_member_int(&json, "refresh_s", report->refresh_s);
    report_column(&json, "runs");
    for (size_t i = 0; !st && i < 2 && rows[i].run; i++)
        st = report_write_run(&json, &rows[i], report->sides[i].source, err);
    if (st)
        return st;
    json_array_end(&json);
    if (report->comparison) {
        json_key(&json, "comparison");
        st = report_write_comparison(&json, report->comparison, report->gate,
                                     &rows[0], &rows[1], err);
    }
    if (st)
        return st;
    if (report->trend)
        report_write_trend(&json, report->trend);
    html_write_pictures(&json, report);
    json_object_end(&json);
    return ASSAY_OK;
}

void html_escape(struct sink *sink, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "<>&\"'");

        sink_write(sink, text, n);
        text += n;
        if (*text)
            sink_printf(sink, "&#%d;", *text++);
    }
}

static enum assay_status html_build_rows(const struct report *report,
                                         struct report_rows rows[2],
                                         struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < 2 && report->sides[i].run; i++)
        st = report_rows_build(report->sides[i].run, &rows[i], err);
    return st;
}

enum assay_status view_html(const struct report *report, struct sink *sink,
                            struct error *err)
{
    struct report_rows rows[2] = {0};
    enum assay_status st = html_build_rows(report, rows, err);

    if (st)
        goto done;
    html_write_head(sink, report->refresh_s > 0);
    html_write_part(sink, "", &html_body,
                    "<script type=\"application/json\" id=\"data\">");
    st = html_write_data(report, rows, sink, err);
    if (st)
        goto done;
    html_write_part(sink, "</script>\n<script>", &html_script,
                    "</script>\n</body>\n</html>\n");
    st = sink_status(sink, err);
done:
    report_rows_release(&rows[0]);
    report_rows_release(&rows[1]);
    return st;
}

enum assay_status view_html_data(const struct report *report, struct sink *sink,
                                 struct error *err)
{
    struct report_rows rows[2] = {0};
    enum assay_status st = html_build_rows(report, rows, err);

    if (!st)
        st = html_write_data(report, rows, sink, err);
    if (!st)
        st = sink_status(sink, err);
    report_rows_release(&rows[0]);
    report_rows_release(&rows[1]);
    return st;
}

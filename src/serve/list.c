/* serve/list.c - the page with the runs of a folder. It has no script: links
 * lead to the reports, a form to a comparison. */
#include "serve/serve.h"

#include "base/base64.h"
#include "base/sha256.h"
#include "base/units.h"
#include "views/report.h"

#include <math.h>
#include <string.h>

static const char list_style[] =
    ":root{--ink:#1a1d21;--soft:#59626c;--line:#dfe2e6;--ground:#fbfbfa;"
    "--panel:#fff;--accent:#0b5cad;--worse:#a34500}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e7e9ec;--soft:#9ba5b0;"
    "--line:#2e343b;--ground:#131619;--panel:#1a1e22;--accent:#74b3f3;"
    "--worse:#f0a060}}\n"
    "body{margin:0;padding:1rem;font:14px/1.45 system-ui,sans-serif;"
    "background:var(--ground);color:var(--ink);"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:1.2rem;margin:0 0 .8rem}h2{font-size:1rem;margin:1.2rem 0 "
    ".4rem}\n"
    "main{max-width:76rem}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid "
    "var(--line)}th{color:var(--soft);font-weight:500}\n"
    ".name{min-width:9rem;max-width:24rem;overflow-wrap:anywhere}"
    ".date{white-space:nowrap}\n"
    ".n{text-align:right;white-space:nowrap}.soft{color:var(--soft)}\n"
    "a{color:var(--accent)}.worse{color:var(--worse)}.better{color:"
    "var(--accent)}\n"
    "button{font:inherit;padding:.2rem "
    ".8rem;color:var(--ink);background:var(--panel);border:1px solid "
    "var(--soft);border-radius:5px}"
    "svg{width:100%;max-width:40rem;height:auto;display:block}\n"
    "svg path{fill:none;stroke:var(--accent);stroke-width:2}"
    "svg circle{fill:var(--accent)}svg text{fill:var(--soft);font-size:11px}\n"
    "svg line{stroke:var(--line)}\n";

/* Only this style is allowed, by its hash, and no script at all. */
static void list_write_head(struct sink *sink)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 sha;

    sha256_init(&sha);
    sha256_update(&sha, list_style, sizeof list_style - 1);
    sha256_digest(&sha, digest);
    sink_puts(sink, "<!doctype html>\n<html lang=\"en\">\n<head>\n"
                    "<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" "
                    "content=\"default-src 'none'; base-uri 'none'; "
                    "form-action 'self'; style-src 'sha256-");
    base64_write(sink, digest, sizeof digest);
    sink_puts(sink, "'\">\n<meta name=\"viewport\" "
                    "content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<title>Runs \xe2\x80\x93 Assay</title>\n<style>");
    sink_write(sink, list_style, sizeof list_style - 1);
    sink_puts(sink, "</style>\n</head>\n<body>\n<main>\n<h1>Runs in ");
}

/* A name as part of an address. */
static void list_write_address(struct sink *sink, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
            (c >= 'a' && c <= 'z') || strchr("-._~", c))
            sink_write(sink, text, 1);
        else
            sink_printf(sink, "%%%c%c", hex[c >> 4], hex[c & 15]);
    }
}

static void list_write_cell(struct sink *sink, double value,
                            const char *(*write)(char *, double))
{
    char text[UNITS_MAX];

    sink_printf(sink, "<td class=\"n\">%s</td>",
                isnan(value) ? "\xe2\x80\x93" : write(text, value));
}

static void list_write_change(struct sink *sink,
                              const struct folder_entry *entry)
{
    char text[UNITS_MAX];

    if (entry->kind == ENTRY_RECORDING)
        sink_puts(sink, "<td>recording, or cut off</td>");
    else if (isnan(entry->change))
        sink_puts(sink, "<td class=\"soft\">\xe2\x80\x93</td>");
    else if (entry->change > 0)
        sink_printf(sink, "<td class=\"%s\">%s, %s</td>",
                    entry->change > 1 ? "worse" : "better",
                    entry->change > 1 ? "slower" : "faster",
                    units_percent(text, entry->change - 1, 1));
    else
        sink_puts(sink, "<td class=\"soft\">within noise</td>");
}

static void list_write_choice(struct sink *sink, const char *side,
                              const char *name)
{
    sink_printf(sink, "<td><input type=\"radio\" name=\"%s\" value=\"", side);
    html_escape(sink, name);
    sink_printf(sink, "\" required aria-label=\"as %s: ", side);
    html_escape(sink, name);
    sink_puts(sink, "\"></td>");
}

static void list_write_run(struct sink *sink, const struct folder_entry *entry)
{
    sink_puts(sink, "<tr>");
    list_write_choice(sink, "a", entry->name);
    list_write_choice(sink, "b", entry->name);
    sink_puts(sink, "<td class=\"name\"><a href=\"/run?name=");
    list_write_address(sink, entry->name);
    sink_puts(sink, "\"><bdi>");
    html_escape(sink, entry->name);
    sink_puts(sink, "</bdi></a></td><td class=\"name\"><bdi>");
    html_escape(sink, entry->model);
    sink_puts(sink, "</bdi></td><td class=\"soft date\"><bdi>");
    html_escape(sink, entry->started);
    sink_printf(sink, "</bdi></td><td class=\"n\">%llu</td>",
                (unsigned long long)entry->n_iterations);
    list_write_cell(sink, entry->mean_ns, units_time);
    list_write_cell(sink, entry->p95_ns, units_time);
    list_write_cell(sink, entry->peak_bytes, units_bytes);
    list_write_change(sink, entry);
    sink_puts(sink, "</tr>\n");
}

/* ---- the trend ------------------------------------------------------------
 */

enum { TREND_W = 560, TREND_H = 120, TREND_LEFT = 64, TREND_PAD = 16 };

/* One figure of the runs from first to end, in their order; every scale begins
 * at 0. */
static void list_write_trend(struct sink *sink, const char *label,
                             const struct folder_entry *runs, size_t n,
                             size_t offset,
                             const char *(*write)(char *, double))
{
    double most = 0, value;
    char text[UNITS_MAX];
    const char *before = "M";

    for (size_t i = 0; i < n; i++) {
        memcpy(&value, (const char *)&runs[i] + offset, sizeof value);
        most = value > most ? value : most;
    }
    if (!(most > 0))
        return;
    sink_printf(
        sink,
        "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s of the "
        "runs in order\"><text x=\"0\" y=\"11\">%s</text>"
        "<text x=\"0\" y=\"%d\">%s</text><text x=\"0\" y=\"%d\">0</text>"
        "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/><path d=\"",
        TREND_W, TREND_H, label, label, TREND_PAD + 14, write(text, most),
        TREND_H - 4, TREND_LEFT, TREND_W, TREND_H - 8, TREND_H - 8);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            double x = TREND_LEFT + 8 +
                       (double)i * (TREND_W - TREND_LEFT - 16) /
                           (double)(n > 1 ? n - 1 : 1);
            double y;

            memcpy(&value, (const char *)&runs[i] + offset, sizeof value);
            if (isnan(value))
                continue;
            y = TREND_H - 8 - value / most * (TREND_H - 8 - TREND_PAD - 10);
            if (pass == 0) {
                sink_printf(sink, "%s%.1f %.1f", before, x, y);
                before = "L";
                continue;
            }
            sink_printf(sink, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                        x, y);
            html_escape(sink, runs[i].name);
            sink_printf(sink, ": %s</title></circle>", write(text, value));
        }
        sink_puts(sink, pass == 0 ? "\"/>" : "</svg>\n");
    }
}

static void list_write_trends(struct sink *sink,
                              const struct run_folder *folder)
{
    size_t end;

    for (size_t i = 0; i < folder->n; i = end) {
        const struct folder_entry *first = &folder->entries[i];

        for (end = i + 1;
             end < folder->n && folder->entries[end].kind == first->kind &&
             strcmp(folder->entries[end].model, first->model) == 0;)
            end++;
        if (first->kind != ENTRY_RUN || end - i < 2)
            continue;
        sink_puts(sink, "<h2>Trend of <bdi>");
        html_escape(sink, first->model);
        sink_puts(sink, "</bdi></h2>\n");
        list_write_trend(sink, "mean latency", first, end - i,
                         offsetof(struct folder_entry, mean_ns), units_time);
        list_write_trend(sink, "memory peak", first, end - i,
                         offsetof(struct folder_entry, peak_bytes),
                         units_bytes);
    }
}

/* ---- the page --------------------------------------------------------------
 */

static bool list_is_run(const struct folder_entry *entry)
{
    return entry->kind == ENTRY_RUN || entry->kind == ENTRY_RECORDING;
}

static size_t list_write_runs(struct sink *sink,
                              const struct run_folder *folder)
{
    size_t n = 0;

    sink_puts(sink, "<form action=\"/compare\"><div class=\"scroll\"><table>"
                    "<thead><tr><th>A</th><th>B</th><th>run</th><th>model</th>"
                    "<th>began</th><th class=\"n\">iterations</th>"
                    "<th class=\"n\">mean</th><th class=\"n\">p95</th>"
                    "<th class=\"n\">memory peak</th>"
                    "<th>against the run before</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < folder->n; i++) {
        if (list_is_run(&folder->entries[i])) {
            list_write_run(sink, &folder->entries[i]);
            n++;
        }
    }
    sink_puts(sink, "</tbody></table></div>\n<p><button>Compare A with B"
                    "</button></p></form>\n");
    return n;
}

static void list_write_others(struct sink *sink,
                              const struct run_folder *folder)
{
    bool has_title = false;

    for (size_t i = 0; i < folder->n; i++) {
        const struct folder_entry *entry = &folder->entries[i];

        if (list_is_run(entry))
            continue;
        if (!has_title)
            sink_puts(sink, "<h2>Other files</h2>\n<table>\n");
        has_title = true;
        sink_puts(sink, "<tr><td class=\"name\"><bdi>");
        html_escape(sink, entry->name);
        sink_puts(sink, "</bdi></td><td class=\"soft\">");
        html_escape(sink, entry->kind == ENTRY_DAMAGED ? entry->why
                                                       : "not a run file");
        sink_puts(sink, "</td></tr>\n");
    }
    if (has_title)
        sink_puts(sink, "</table>\n");
}

void serve_write_list(const struct run_folder *folder, struct sink *sink)
{
    list_write_head(sink);
    html_escape(sink, folder->path);
    sink_puts(sink, "</h1>\n");
    if (list_write_runs(sink, folder) == 0)
        sink_puts(sink, "<p>There is no run in this folder yet: "
                        "<code>assay run MODEL PHOTOGRAPH -o FOLDER/NAME.assay"
                        "</code> makes one.</p>\n");
    list_write_trends(sink, folder);
    list_write_others(sink, folder);
    sink_puts(sink, "</main>\n</body>\n</html>\n");
}

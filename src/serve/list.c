/* serve/list.c - the page with the runs of a folder. It has no script: links
 * lead to the reports, a form to a comparison. */
#include "serve/list_internal.h"

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
    "h1{font-size:1.2rem;margin:0 0 .8rem}h2{font-size:1rem;margin:1.4rem 0 "
    ".4rem}\n"
    "main{max-width:98rem}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;vertical-align:baseline;padding:.25rem .9rem .25rem "
    "0;border-bottom:1px solid "
    "var(--line)}th{color:var(--soft);font-weight:500}\n"
    ".name{min-width:9rem;max-width:24rem;overflow-wrap:anywhere}"
    ".date{white-space:nowrap}\n"
    ".n{text-align:right;white-space:nowrap}.soft{color:var(--soft)}\n"
    "a{color:var(--accent)}.worse{color:var(--worse)}\n"
    "button{font:inherit;padding:.2rem "
    ".8rem;color:var(--ink);background:var(--panel);border:1px solid "
    "var(--soft);border-radius:5px}"
    ".trends{display:grid;grid-template-columns:repeat(auto-fit,minmax("
    "min(26rem,100%),1fr));gap:.6rem 2rem}\n"
    "svg.trend{width:100%;height:auto;"
    "display:block;overflow:visible}"
    "svg text{fill:var(--soft);font-size:12px}"
    "svg line{stroke:var(--line)}\n"
    ".sign{width:.9rem;height:.9rem;margin-right:.35rem;vertical-align:-.12rem}"
    ".way{fill:none;stroke:var(--soft);stroke-width:1.5}"
    ".passed{fill:var(--accent)}.failed{fill:var(--worse)}"
    ".open{fill:var(--ground);stroke:var(--accent);stroke-width:2}"
    ".start{fill:var(--soft)}\n"
    ".verdict{min-width:26rem}"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;"
    "margin:0 0 .4rem;padding:0}\n"
    ".bar{position:sticky;bottom:0;margin:0;padding:.6rem 0;"
    "background:var(--ground)}\n"
    "@media(max-width:44rem){svg.trend text{font-size:17px}"
    ".name{min-width:7rem}}\n"
    ":focus-visible{outline:2px solid var(--accent);outline-offset:2px}\n";

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

void list_write_address(struct sink *sink, const char *text)
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

static void list_write_sign(struct sink *sink,
                            const struct trend_verdict *verdict)
{
    sink_puts(sink, "<svg class=\"sign\" viewBox=\"-7 -7 14 14\" "
                    "aria-hidden=\"true\">");
    list_write_mark(sink, verdict, 0, 0);
    sink_puts(sink, "</svg>");
}

/* "failed: the whole +5.1 % ...": its first word is the sign's. */
static void list_write_verdict(struct sink *sink,
                               const struct folder_entry *entry)
{
    const struct trend_verdict *verdict = &entry->point.verdict;
    const char *rest = strchr(verdict->text, ':');

    sink_puts(sink, "<td class=\"verdict\">");
    if (entry->kind == ENTRY_RECORDING) {
        sink_puts(sink, "recording, or cut off");
    } else if (!verdict->is_judged) {
        sink_puts(sink, "<span class=\"soft\">");
        html_escape(sink, *verdict->text ? verdict->text : "\xe2\x80\x93");
        sink_puts(sink, "</span>");
    } else {
        sink_printf(sink, "<b%s>%s</b>",
                    verdict->gate == GATE_FAILED ? " class=\"worse\"" : "",
                    trend_word(verdict));
        html_escape(sink, rest ? rest : "");
    }
    sink_puts(sink, "</td>");
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

/* "2026-11-17 17:07:25" */
static void list_write_when(struct sink *sink, const char *started)
{
    char text[TREND_TEXT];
    size_t n;

    snprintf(text, sizeof text, "%s", started);
    n = strlen(text);
    if (n > 10 && text[10] == 'T')
        text[10] = ' ';
    if (n && text[n - 1] == 'Z')
        text[n - 1] = '\0';
    sink_puts(sink, "<td class=\"soft date\"><bdi>");
    html_escape(sink, text);
    sink_puts(sink, "</bdi></td>");
}

static void list_write_run(struct sink *sink, const struct folder_entry *entry)
{
    sink_puts(sink, "<tr>");
    list_write_choice(sink, "a", entry->name);
    list_write_choice(sink, "b", entry->name);
    sink_puts(sink, "<td class=\"name\">");
    list_write_sign(sink, &entry->point.verdict);
    sink_puts(sink, "<a href=\"/run?name=");
    list_write_address(sink, entry->name);
    sink_puts(sink, "\"><bdi>");
    html_escape(sink, entry->name);
    sink_puts(sink, "</bdi></a></td>");
    list_write_when(sink, entry->point.started);
    list_write_cell(sink, entry->point.mean_ns, units_time);
    list_write_cell(sink, entry->point.p95_ns, units_time);
    list_write_cell(sink, entry->point.peak_bytes, units_bytes);
    list_write_verdict(sink, entry);
    sink_printf(sink, "<td class=\"n\">%llu</td></tr>\n",
                (unsigned long long)entry->point.n_iterations);
}

/* ---- the page --------------------------------------------------------------
 */

static bool list_is_run(const struct folder_entry *entry)
{
    return entry->kind == ENTRY_RUN || entry->kind == ENTRY_RECORDING;
}

/* By which rule the runs are judged. */
static void list_write_rule(struct sink *sink, const struct run_folder *folder)
{
    const struct budgets *budgets = folder->budgets;

    sink_puts(sink,
              "<p class=\"soft\">The gate is that of <code>assay compare ");
    if (budgets->n && !budgets->items[0].scope)
        sink_printf(sink, "--fail-above %g%%", 100 * budgets->items[0].above);
    else
        sink_puts(sink, "--budgets");
    sink_puts(sink,
              "</code>: slower than allowed by more than noise, the whole "
              "or a module that counts. Each run is judged against ");
    if (folder->base) {
        sink_puts(sink, "<b><bdi>");
        html_escape(sink, folder->base);
        sink_puts(sink, "</bdi></b> if it is of the same model, otherwise "
                        "against the run before it");
    } else {
        sink_puts(sink, "the run of its model before it");
    }
    sink_puts(sink, ".</p>\n");
}

/* The runs of a model: their trend, then the newest first. */
static void list_write_model(struct sink *sink, const struct folder_entry *runs,
                             size_t n)
{
    sink_puts(sink, "<h2><bdi>");
    html_escape(sink, runs->point.model);
    sink_puts(sink, "</bdi></h2>\n");
    list_write_trend(sink, runs, n);
    sink_puts(sink, "<div class=\"scroll\"><table><thead><tr>"
                    "<th>A</th><th>B</th><th>run</th><th>began</th>"
                    "<th class=\"n\">mean</th><th class=\"n\">p95</th>"
                    "<th class=\"n\">memory peak</th><th>gate</th>"
                    "<th class=\"n\">iterations</th></tr></thead>\n<tbody>\n");
    for (size_t i = n; i-- > 0;)
        list_write_run(sink, &runs[i]);
    sink_puts(sink, "</tbody></table></div>\n");
}

/* Returns how many there are. */
static size_t list_write_runs(struct sink *sink,
                              const struct run_folder *folder)
{
    const struct folder_entry *entries = folder->entries;
    size_t n = 0, end;

    while (n < folder->n && list_is_run(&entries[n]))
        n++;
    if (n == 0)
        return 0;
    sink_puts(sink, "<form action=\"/compare\">\n");
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(entries[end].point.model,
                                            entries[i].point.model) == 0;)
            end++;
        list_write_model(sink, &entries[i], end - i);
    }
    sink_puts(sink, "<p class=\"bar\"><button>Compare A with B</button></p>"
                    "</form>\n");
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
    list_write_rule(sink, folder);
    if (list_write_runs(sink, folder) == 0)
        sink_puts(sink, "<p>There is no run in this folder yet: "
                        "<code>assay run MODEL PHOTOGRAPH -o FOLDER/NAME.assay"
                        "</code> makes one.</p>\n");
    list_write_others(sink, folder);
    sink_puts(sink, "</main>\n</body>\n</html>\n");
}

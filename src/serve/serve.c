/* serve/serve.c - see serve.h. */
#include "serve/serve.h"

#include "base/mem.h"
#include "run/compare.h"
#include "store/store.h"
#include "views/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    LIVE_S = 60,   /* a file that changed since is being written */
    REFRESH_S = 3, /* and looked at again that often */
    LIST_REFRESH_S = 10
};

void serve_release(struct serve *serve)
{
    for (size_t i = 0; i < PAGES_KEPT; i++)
        body_release(serve->pages[i].body);
    folder_release(&serve->folder);
}

static bool serve_is_live(const struct folder_entry *entry)
{
    return entry->kind == ENTRY_RECORDING &&
           time(NULL) - entry->changed_ns / 1000000000 < LIVE_S;
}

/* ---- pages -------------------------------------------------------------- */

/* What is asked for: the report of one run or of two, by names that the folder
 * has, as a page or as the data of one that is open. */
struct serve_wish {
    const char *names[2];
    size_t n;
    bool is_data;
    int refresh_s; /* 0: none of the runs is being recorded */
};

static enum assay_status serve_write_report(const struct serve *serve,
                                            const struct serve_wish *wish,
                                            struct sink *sink,
                                            struct error *err)
{
    const char *const *names = wish->names;
    size_t n = wish->n;
    struct run *runs[2] = {NULL, NULL};
    struct comparison *comparison = NULL;
    struct gate_result gate = {0};
    struct trend trend = {.is_served = true};
    struct report report = {.refresh_s = wish->refresh_s, .trend = &trend};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        st = folder_load(&serve->folder, names[i], &runs[i], err);
        report.sides[i] = (struct report_side){runs[i], names[i]};
    }
    if (!st && n > 1)
        st = compare_new(
            &(struct compare_side){(const struct run *const *)&runs[0], 1},
            &(struct compare_side){(const struct run *const *)&runs[1], 1},
            NULL, &comparison, err);
    report.comparison = comparison;
    if (!st && comparison) {
        st = compare_gate(comparison, serve->folder.budgets, &gate, err);
        report.gate = &gate;
    }
    if (!st)
        st =
            folder_trend(&serve->folder,
                         folder_find(&serve->folder, names[n - 1])->point.model,
                         &trend, err);
    if (!st)
        st = wish->is_data ? view_html_data(&report, sink, err)
                           : view_html(&report, sink, err);
    mem_free((void *)trend.points);
    gate_result_release(&gate);
    compare_free(comparison);
    run_free(runs[0]);
    run_free(runs[1]);
    return st;
}

static void serve_write_refusal(struct sink *sink, const char *what,
                                const char *why)
{
    sink_puts(sink, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
                    "<title>Assay</title><h1>");
    html_escape(sink, what);
    sink_puts(sink, "</h1><p>");
    html_escape(sink, why);
    sink_puts(sink, "<p><a href=\"/\">All runs</a>\n");
}

static struct kept_page *serve_find_page(struct serve *serve, const char *key)
{
    for (size_t i = 0; i < PAGES_KEPT; i++) {
        if (serve->pages[i].body && strcmp(serve->pages[i].key, key) == 0)
            return &serve->pages[i];
    }
    return NULL;
}

static void serve_keep_page(struct serve *serve, const char *key,
                            uint64_t stamp, struct body *body)
{
    struct kept_page *page = serve_find_page(serve, key);

    if (!page)
        page = &serve->pages[serve->next_page++ % PAGES_KEPT];
    body_release(page->body);
    page->body = body_share(body);
    page->stamp = stamp;
    snprintf(page->key, sizeof page->key, "%s", key);
}

static enum assay_status serve_refuse(struct answer *answer, int status,
                                      const char *what, const char *why,
                                      struct error *err)
{
    struct sink sink;

    str_clear(&answer->body->text);
    sink = sink_to_str(&answer->body->text);
    serve_write_refusal(&sink, what, why);
    answer->is_json = false;
    answer->status = status;
    return sink_status(&sink, err);
}

/* A run that was being recorded has its own name once it is complete. */
static const char *serve_final_name(const struct serve *serve, const char *name,
                                    char out[REQUEST_MAX_TEXT])
{
    size_t n = store_stem(name);

    if (folder_find(&serve->folder, name) ||
        n + sizeof STORE_SUFFIX > REQUEST_MAX_TEXT)
        return name;
    snprintf(out, REQUEST_MAX_TEXT, "%.*s" STORE_SUFFIX, (int)n, name);
    return folder_find(&serve->folder, out) ? out : name;
}

/* Of a run and of those that are in its trend. */
static uint64_t serve_stamp(const struct run_folder *folder,
                            const struct folder_entry *entry)
{
    uint64_t stamp = entry_stamp(entry);

    for (size_t i = 0; i < folder->n; i++) {
        const struct folder_entry *other = &folder->entries[i];

        if (other->kind == ENTRY_RUN &&
            strcmp(other->point.model, entry->point.model) == 0)
            stamp += entry_stamp(other);
    }
    return stamp;
}

static enum assay_status serve_report(struct serve *serve,
                                      struct serve_wish *wish,
                                      struct answer *answer, struct error *err)
{
    char key[SERVE_KEY];
    const char *const *names = wish->names;
    size_t n = wish->n;
    const struct kept_page *page;
    struct error why = {0};
    struct sink sink = sink_to_str(&answer->body->text);
    uint64_t stamp = 0;
    enum assay_status st;

    for (size_t i = 0; i < n; i++) {
        const struct folder_entry *entry =
            folder_find(&serve->folder, names[i]);

        if (!entry || entry->kind == ENTRY_FOREIGN)
            return serve_refuse(answer, 404, names[i],
                                "There is no such run in this folder.", err);
        stamp += serve_stamp(&serve->folder, entry);
        if (serve_is_live(entry))
            wish->refresh_s = REFRESH_S;
    }
    snprintf(key, sizeof key, "%s/%s/%d%d", names[0], n > 1 ? names[1] : "",
             wish->is_data, wish->refresh_s);
    answer->is_json = wish->is_data;
    page = serve_find_page(serve, key);
    if (page && page->stamp == stamp) {
        body_release(answer->body);
        answer->body = body_share(page->body);
        return ASSAY_OK;
    }
    st = serve_write_report(serve, wish, &sink, &why);
    if (st == ASSAY_NOMEM)
        return error_set(err, st, "%s", why.text);
    if (st)
        return serve_refuse(answer, 404, names[n - 1], why.text, err);
    serve_keep_page(serve, key, stamp, answer->body);
    return ASSAY_OK;
}

static enum assay_status serve_list(struct serve *serve, struct answer *answer,
                                    struct error *err)
{
    struct sink sink = sink_to_str(&answer->body->text);

    for (size_t i = 0; i < serve->folder.n; i++) {
        if (serve_is_live(&serve->folder.entries[i]))
            answer->refresh_s = LIST_REFRESH_S;
    }
    serve_write_list(&serve->folder, &sink);
    return sink_status(&sink, err);
}

enum assay_status serve_answer(void *context, const struct request *request,
                               struct answer *answer, struct error *err)
{
    struct serve *serve = context;
    char a[REQUEST_MAX_TEXT], b[REQUEST_MAX_TEXT];
    struct serve_wish wish = {.n = 1};
    enum assay_status st = folder_refresh(&serve->folder, err);

    if (st)
        return st;
    answer->body = body_new();
    if (!answer->body)
        return error_nomem(err, sizeof *answer->body, "a page");
    if (strcmp(request->path, "/") == 0)
        return serve_list(serve, answer, err);
    wish.is_data = strcmp(request->path, "/data") == 0;
    if ((wish.is_data || strcmp(request->path, "/run") == 0) &&
        request_value(request, "name", a)) {
        wish.names[0] = serve_final_name(serve, a, b);
        return serve_report(serve, &wish, answer, err);
    }
    if ((wish.is_data || strcmp(request->path, "/compare") == 0) &&
        request_value(request, "a", a) && request_value(request, "b", b)) {
        wish.names[0] = a;
        wish.names[1] = b;
        wish.n = 2;
        return serve_report(serve, &wish, answer, err);
    }
    return serve_refuse(answer, 404, request->path,
                        "There is no such page here.", err);
}

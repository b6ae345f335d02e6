/* The bytes of the page that view_html() writes; report_browser_test.py tests
 * it in a browser. */
#include "views/report.h"

#include "base/json.h"
#include "base/mem.h"
#include "made_report.h"
#include "made_runs.h"
#include "test.h"
#include "views/html_page_internal.h"
#include "views/report_data_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static struct str page_of(const struct run *run)
{
    struct report report = {.sides = {{run, "run.assay"}}};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    err = (struct error){0};
    CHECK_STATUS(view_html(&report, &sink, &err), ASSAY_OK, &err);
    return text;
}

/* The JSON of a page. */
static struct str data_of(const struct str *page)
{
    static const char open[] = "<script type=\"application/json\" id=\"data\">";
    const char *begin = strstr(page->text, open), *end;
    struct str data = {0};

    CHECK(begin != NULL);
    begin += strlen(open);
    end = strstr(begin, "</script>");
    CHECK(end != NULL);
    CHECK_INT(str_append_n(&data, begin, (size_t)(end - begin)), ASSAY_OK);
    return data;
}

/* Reads all of it; returns how often the string occurs. */
static size_t count_strings(const struct str *data, const char *text)
{
    struct json_reader *reader;
    enum json_token token;
    size_t n = 0;

    CHECK_STATUS(json_reader_new_text(data->text, data->n, &reader, &err),
                 ASSAY_OK, &err);
    do {
        CHECK_STATUS(json_next(reader, &token, &err), ASSAY_OK, &err);
        n += token == JSON_STRING && strcmp(json_text(reader, NULL), text) == 0;
    } while (token != JSON_END);
    json_reader_free(reader);
    return n;
}

/* The numbers of the first array after a key, at most n of them. */
static size_t read_numbers(const struct str *data, const char *key,
                           double *numbers, size_t n)
{
    char wanted[64];
    const char *at;
    size_t i = 0;

    snprintf(wanted, sizeof wanted, "\"%s\":[", key);
    at = strstr(data->text, wanted);
    CHECK(at != NULL);
    at += strlen(wanted);
    while (*at != ']') {
        char *end;
        double number = strtod(at, &end);

        if (i < n)
            numbers[i] = number;
        i++;
        CHECK(end > at);
        at = *end == ',' ? end + 1 : end;
    }
    return i;
}

TEST(the_page_holds_the_run_as_json)
{
    struct run *run = made_photographs(9, 1);
    struct str page = page_of(run), data = data_of(&page);
    double total[16];

    CHECK_INT(count_strings(&data, "box_roi_pool"), 1);
    CHECK(count_strings(&data, "street.jpg") > 0);
    CHECK_INT(count_strings(&data, "outside the pool"), 1);
    /* 10 ms, and 2 us for each of 400, 1000 and 50 proposals in turn. */
    CHECK_INT(read_numbers(&data, "total_ms", total, 16), 10);
    CHECK_NEAR(total[0], 10 + 0.002 * 1450 / 3, 1e-4);
    str_release(&data);
    str_release(&page);
    run_free(run);
}

TEST(a_name_cannot_end_the_element_that_holds_the_data)
{
    struct run *run = made_hostile();
    struct str page = page_of(run), data = data_of(&page);

    CHECK(strchr(data.text, '<') == NULL);
    for (size_t i = 0; i < 3; i++)
        CHECK(count_strings(&data, hostile_names[i]) > 0);
    str_release(&data);
    str_release(&page);
    run_free(run);
}

TEST(the_page_forbids_itself_the_network)
{
    struct run *run = made_hostile();
    struct str page = page_of(run);

    CHECK_HAS(page.text, "content=\"default-src 'none'; img-src data:; ");
    CHECK_HAS(page.text, "script-src 'sha256-");
    CHECK_HAS(page.text, "style-src 'sha256-");
    CHECK(strstr(page.text, "unsafe") == NULL);
    CHECK(strstr(page.text, "src=\"http") == NULL);
    CHECK(strstr(page.text, "href=\"http") == NULL);
    str_release(&page);
    run_free(run);
}

/* Whatever a run says is inserted as text; the script has no function that
 * reads markup. */
TEST(the_script_has_nothing_that_reads_markup_or_code)
{
    static const char *const banned[] = {
        "innerHTML",      "outerHTML",     "insertAdjacentHTML",
        "document.write", "eval(",         "Function(",
        "fetch(",         "XMLHttpRequest"};
    struct str script = {0};

    CHECK_INT(str_append_n(&script, html_script.bytes, html_script.n),
              ASSAY_OK);
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++) {
        if (strstr(script.text, banned[i]))
            fail_msg("the script has %s", banned[i]);
    }
    str_release(&script);
}

TEST(slices_are_where_the_samples_were)
{
    struct run *run = made_photographs(2, 1);
    struct str page = page_of(run), data = data_of(&page);
    double slices[4 * 10];

    /* Thread, scope, since the one before, duration: the root of the first
     * photograph, its decoding at the same moment, then the model. */
    CHECK_INT(read_numbers(&data, "slices", slices, 40), 40);
    CHECK_NEAR(slices[1], 0, 0);
    CHECK_NEAR(slices[3], 10.8e6, 0);
    CHECK_NEAR(slices[4 + 1], 1, 0);
    CHECK_NEAR(slices[4 + 2], 0, 0);
    CHECK_NEAR(slices[4 + 3], 1.5e6, 0);
    CHECK_NEAR(slices[8 + 1], 2, 0);
    CHECK_NEAR(slices[8 + 2], 1.5e6, 0);
    CHECK_NEAR(slices[8 + 3], 9.3e6, 0);
    /* conv1 begins with the backbone, conv2 3 ms later. */
    CHECK_NEAR(slices[16 + 2], 0, 0);
    CHECK_NEAR(slices[20 + 1], 5, 0);
    CHECK_NEAR(slices[20 + 2], 3e6, 0);
    str_release(&data);
    str_release(&page);
    run_free(run);
}

TEST(if_there_are_too_many_slices_some_are_left_out_and_counted)
{
    struct run *run = made_busy(10, REPORT_MAX_SLICES + 7);
    struct str page = page_of(run), data = data_of(&page);
    double none;

    CHECK_INT(read_numbers(&data, "slices", &none, 0), 4 * REPORT_MAX_SLICES);
    CHECK_HAS(data.text, "\"left_out\":7,");
    str_release(&data);
    str_release(&page);
    run_free(run);
}

TEST(no_failing_allocation_goes_unnoticed)
{
    struct run *run = made_photographs(4, 1);
    struct report report = {.sides = {{run, "run.assay"}}};
    long before = mem_live();
    enum assay_status st;
    long nth = 0;

    do {
        struct str text = {0};
        struct sink sink = sink_to_str(&text);

        mem_fail_at(nth++);
        st = view_html(&report, &sink, NULL);
        mem_fail_at(-1);
        str_release(&text);
        CHECK_INT(mem_live(), before);
    } while (st != ASSAY_OK && nth < 5000);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 5);
    run_free(run);
}

static bool refuse(void *context, const char *bytes, size_t n)
{
    size_t *room = context;

    (void)bytes;
    if (n > *room) {
        errno = ENOSPC;
        return false;
    }
    *room -= n;
    return true;
}

TEST(a_full_disk_is_reported_wherever_it_happens)
{
    struct run *run = made_photographs(4, 1);
    struct report report = {.sides = {{run, "run.assay"}}};
    struct str whole = page_of(run);

    for (size_t part = 0; part < 8; part++) {
        size_t room = whole.n * part / 8;
        struct sink sink = {
            .write = refuse, .context = &room, .name = "report.html"};

        err = (struct error){0};
        CHECK(view_html(&report, &sink, &err) != ASSAY_OK);
        CHECK_HAS(err.text, "report.html");
    }
    str_release(&whole);
    run_free(run);
}

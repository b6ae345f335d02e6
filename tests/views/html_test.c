/* The bytes of the page that view_html() writes; report_*_test.py test
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
    CHECK(strstr(page.text, "connect-src") == NULL);
    CHECK(strstr(page.text, "unsafe") == NULL);
    CHECK(strstr(page.text, "src=\"http") == NULL);
    CHECK(strstr(page.text, "href=\"http") == NULL);
    str_release(&page);
    run_free(run);
}

TEST(the_page_of_a_live_run_may_ask_its_server_only)
{
    struct run *run = made_hostile();
    struct report report = {.sides = {{run, "made.assay"}}, .refresh_s = 3};
    struct str page = {0}, data = {0};
    struct sink sink = sink_to_str(&page), data_sink = sink_to_str(&data);

    CHECK_STATUS(view_html(&report, &sink, &err), ASSAY_OK, &err);
    CHECK_STATUS(view_html_data(&report, &data_sink, &err), ASSAY_OK, &err);
    CHECK_HAS(page.text, "default-src 'none'");
    CHECK_HAS(page.text, "; connect-src 'self'\">");
    CHECK_HAS(page.text, data.text); /* what it gets is what it has */
    str_release(&data);
    str_release(&page);
    run_free(run);
}

/* Whatever a run says is inserted as text; the script has no function that
 * reads markup. */
TEST(the_script_has_nothing_that_reads_markup_or_code)
{
    static const char *const banned[] = {
        "innerHTML",      "outerHTML", "insertAdjacentHTML",
        "document.write", "eval(",     "Function(",
        "XMLHttpRequest", "WebSocket", "EventSource",
        "sendBeacon",     "import("};
    struct str script = {0};
    const char *asked;

    CHECK_INT(str_append_n(&script, html_script.bytes, html_script.n),
              ASSAY_OK);
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++) {
        if (strstr(script.text, banned[i]))
            fail_msg("the script has %s", banned[i]);
    }
    /* It asks once, and only its own server, for the data of a live run. */
    asked = strstr(script.text, "fetch(");
    CHECK(asked != NULL);
    CHECK_HAS(asked, "fetch(\"/data\" + location.search)");
    CHECK(asked == strstr(script.text, "fetch(\"/data\" + "));
    CHECK(strstr(asked + 1, "fetch(") == NULL);
    str_release(&script);
}

/* The numbers of seven bits per byte in the first base64 text after a key; the
 * caller frees them. */
static uint64_t *read_packed(const struct str *data, const char *key, size_t *n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/";
    uint64_t *numbers, value = 0;
    unsigned bits = 0, n_bits = 0, shift = 0;
    char wanted[64];
    const char *at;

    snprintf(wanted, sizeof wanted, "\"%s\":\"", key);
    at = strstr(data->text, wanted);
    CHECK(at != NULL);
    at += strlen(wanted);
    numbers = mem_array(strcspn(at, "\""), sizeof *numbers);
    CHECK(numbers != NULL);
    for (*n = 0; *at != '"' && *at != '='; at++) {
        const char *digit = strchr(digits, *at);

        CHECK(digit != NULL);
        bits = (bits << 6) | (unsigned)(digit - digits);
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        value |= (uint64_t)((bits >> n_bits) & 127) << shift;
        shift += 7;
        if (!((bits >> n_bits) & 128)) {
            numbers[(*n)++] = value;
            value = shift = 0;
        }
    }
    return numbers;
}

/* Odd numbers are negative. */
static int64_t unfold(uint64_t number)
{
    return number & 1 ? -(int64_t)(number >> 1) - 1 : (int64_t)(number >> 1);
}

TEST(slices_are_where_the_samples_were)
{
    struct run *run = made_photographs(2, 1);
    struct str page = page_of(run), data = data_of(&page);
    size_t n;
    uint64_t *slices = read_packed(&data, "slices", &n);

    /* Scope and start since the one before, duration: the root of the first
     * photograph, its decoding at the same moment, then the model. */
    CHECK_INT(n, 3 * 10);
    CHECK_INT(unfold(slices[0]), 0);
    CHECK_INT(slices[2], 10800000);
    CHECK_INT(unfold(slices[3]), 1);
    CHECK_INT(unfold(slices[3 + 1]), 0);
    CHECK_INT(slices[3 + 2], 1500000);
    CHECK_INT(unfold(slices[6]), 1);
    CHECK_INT(unfold(slices[6 + 1]), 1500000);
    CHECK_INT(slices[6 + 2], 9300000);
    /* conv1 begins with the backbone, conv2 3 ms later. */
    CHECK_INT(unfold(slices[12 + 1]), 0);
    CHECK_INT(unfold(slices[15]), 1);
    CHECK_INT(unfold(slices[15 + 1]), 3000000);
    mem_free(slices);
    str_release(&data);
    str_release(&page);
    run_free(run);
}

TEST(if_there_are_too_many_slices_some_are_left_out_and_counted)
{
    struct run *run = made_busy(10, REPORT_MAX_SLICES + 7);
    struct str page = page_of(run), data = data_of(&page);
    size_t n;
    uint64_t *slices = read_packed(&data, "slices", &n);

    CHECK_INT(n, 3 * REPORT_MAX_SLICES);
    mem_free(slices);
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

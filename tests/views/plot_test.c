/* Plots show the values of the run at the right places. */
#include "made_runs.h"
#include "picture/picture.h"
#include "test.h"
#include "views/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

/* Where the pages of view_plot.c have their plots, in points. */
enum { left = 24, top = 68, width = 712, height = 348 };

static struct str plotted(const struct run *run, enum plot_kind kind,
                          enum sheet_format format)
{
    struct error err = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    OK(view_plot(run, kind, format, &sink, &err));
    return text;
}

static struct picture drawn(const struct run *run, enum plot_kind kind)
{
    struct error err = {0};
    struct str png = plotted(run, kind, SHEET_PNG);
    struct picture picture = {0};

    OK(picture_decode(png.text, png.n, "plot", PICTURE_MAX_PIXELS, &picture,
                      &err));
    str_release(&png);
    return picture;
}

/* At a point of the page. */
static const uint8_t *pixel(const struct picture *picture, double x, double y)
{
    int column = (int)(x * 2), row = (int)(y * 2);

    return picture->rgb +
           3 * ((size_t)row * (size_t)picture->width + (size_t)column);
}

static bool is_blue(const uint8_t *rgb)
{
    return rgb[2] > rgb[0] + 60;
}

static bool is_yellow(const uint8_t *rgb)
{
    return rgb[0] > rgb[2] + 60 && rgb[1] > rgb[2] + 60;
}

static bool is_accent(const uint8_t *rgb)
{
    return rgb[0] > 180 && rgb[1] < 150 && rgb[2] < 100;
}

/* conv1 begins where body and backbone do, after transform's tenth; relu
 * follows it: five levels of at most 40 points. */
TEST(an_icicle_gives_each_module_the_width_of_its_time)
{
    struct run *run = made_detector();
    struct picture picture = drawn(run, PLOT_ICICLE);
    double y = top + 3 * 40 + 36;

    CHECK(!is_blue(pixel(&picture, left + width * 0.095, y)));
    CHECK(is_blue(pixel(&picture, left + width * 0.105, y)));
    CHECK(is_blue(pixel(&picture, left + width * 0.395, y)));
    CHECK(is_yellow(pixel(&picture, left + width * 0.405, y)));
    CHECK(is_yellow(pixel(&picture, left + width * 0.495, y)));
    CHECK(!is_yellow(pixel(&picture, left + width * 0.505, y)));
    picture_release(&picture);
    run_free(run);
}

/* The page is 440 points high, with a margin of 24: pictures in and out, which
 * are blue, are the first of the legend at its bottom, and a run without them
 * does not list them. */
TEST(a_legend_at_the_bottom_names_the_kinds_that_are_there)
{
    struct run *run = made_detector(), *other = made_pipeline();
    struct picture picture = drawn(run, PLOT_ICICLE);
    double y = 440 - 24 - 4;

    CHECK(is_blue(pixel(&picture, left + 4, y)));
    picture_release(&picture);
    picture = drawn(other, PLOT_ICICLE);
    CHECK(!is_blue(pixel(&picture, left + 4, y)));
    picture_release(&picture);
    run_free(other);
    run_free(run);
}

/* The bins reach from 96 to 104 ms in six, the axis one bin farther on both
 * sides; the median is 100 ms: in the middle. */
TEST(the_median_is_marked_where_half_of_the_iterations_are_faster)
{
    struct run *run = made_detector();
    struct picture picture = drawn(run, PLOT_LATENCY);
    double middle = left + 50 + (width - 60) / 2.0;
    int found = 0;

    for (double x = middle - 2; x <= middle + 2; x += 0.5)
        for (double y = top; y < top + 12; y += 0.5)
            found += is_accent(pixel(&picture, x, y));
    CHECK(found > 4);
    picture_release(&picture);
    run_free(run);
}

/* A peak of 400 GFLOP/s on an axis from 0.001 to 1000 (five decades and a bit
 * below 520, to whole decades), 297 points high above two lines of the
 * legend. */
TEST(the_roof_is_as_high_as_the_peak_of_the_machine)
{
    struct run *run = made_model(4);
    struct error err = {0};
    struct picture picture;
    double y = top + 297 - 297 * (log10(400) + 3) / 6;
    int darkest = 255;

    OK(run_fact_set(run, "machine.peak_gflops", "400", &err));
    OK(run_fact_set(run, "machine.read_gbs", "20", &err));
    picture = drawn(run, PLOT_ROOFLINE);
    for (double d = -1; d <= 1; d += 0.5) {
        const uint8_t *rgb = pixel(&picture, left + 50 + 330, y + d);

        darkest = rgb[0] < darkest ? rgb[0] : darkest;
    }
    CHECK(darkest < 80);
    picture_release(&picture);
    run_free(run);
}

static void add_memory(struct run *run)
{
    const struct ledger_row rows[] = {
        {LEDGER_WEIGHTS, RUN_NONE, 159 << 20, "packed"},
        {LEDGER_ACTIVATIONS, 1, 357 << 20, ""},
    };
    struct error err = {0};
    uint32_t id;

    OK(run_counter_add(run, RUN_LIVE_BYTES, "bytes", &id, &err));
    OK(run_counter_count(run, id, 1000000, 100e6, &err));
    OK(run_counter_count(run, id, 26000000, 600e6, &err));
    OK(run_counter_count(run, id, 101000000, 100e6, &err));
    for (size_t i = 0; i < 2; i++)
        OK(run_ledger_add(run, &rows[i], &err));
}

/* A quarter of the way along an axis of 402 points. */
TEST(the_peak_of_memory_is_marked_when_it_happened)
{
    struct run *run = made_detector();
    struct picture picture;
    int found = 0;

    add_memory(run);
    picture = drawn(run, PLOT_MEMORY);
    for (double y = top; y < top + 100; y += 0.5)
        found += is_accent(pixel(&picture, left + 50 + 402 * 0.25, y));
    CHECK(found > 40);
    picture_release(&picture);
    run_free(run);
}

static bool is_like(const uint8_t *rgb, int red, int green, int blue)
{
    return abs(rgb[0] - red) < 6 && abs(rgb[1] - green) < 6 &&
           abs(rgb[2] - blue) < 6;
}

/* 50 MB of weights below 30 MB of activations, which end in the middle, and
 * what the pool rounds up above them: of 600e6 bytes at most, in 294 points. */
TEST(memory_is_in_layers_by_whose_it_is)
{
    struct run *run = made_detector();
    struct error err = {0};
    struct picture picture;
    double x = left + 50 + 402 * 0.1, bottom = 440 - 24 - 54;
    uint32_t id;

    add_memory(run);
    OK(run_counter_add(run, RUN_LIVE_BYTES ".host.weights", "bytes", &id,
                       &err));
    OK(run_counter_count(run, id, 1000000, 50e6, &err));
    OK(run_counter_add(run, RUN_LIVE_BYTES ".host.activations", "bytes", &id,
                       &err));
    OK(run_counter_count(run, id, 1000000, 30e6, &err));
    OK(run_counter_count(run, id, 15000000, 0, &err));
    picture = drawn(run, PLOT_MEMORY);
    CHECK(is_like(pixel(&picture, x, bottom - 10), 0xb5, 0x8b, 0xd1));
    CHECK(is_like(pixel(&picture, x, bottom - 30), 0x6f, 0xb7, 0xa0));
    CHECK(is_like(pixel(&picture, x, bottom - 40), 0xdc, 0xd3, 0xbf));
    x = left + 50 + 402 * 0.2;
    CHECK(is_like(pixel(&picture, x, bottom - 10), 0xb5, 0x8b, 0xd1));
    CHECK(is_like(pixel(&picture, x, bottom - 30), 0xdc, 0xd3, 0xbf));
    picture_release(&picture);
    run_free(run);
}

TEST(a_timeline_shows_the_iteration_that_was_kept)
{
    struct run *run = made_detector();
    struct picture picture = drawn(run, PLOT_TIMELINE);
    int blue = 0;

    for (double x = left + 80; x < left + width; x++)
        blue += is_blue(pixel(&picture, x, top + 3 * 36 + 33));
    CHECK(blue > 100 && blue < 400);
    picture_release(&picture);
    run_free(run);
}

TEST(every_kind_can_be_drawn_in_every_format)
{
    static const char *const starts[] = {"\x89PNG", "<?xml", "%PDF-"};
    struct run *run = made_detector();
    struct error err = {0};

    add_memory(run);
    OK(run_work_set(run, 1,
                    &(struct scope_work){.macs = 1e9,
                                         .read_bytes = 1e6,
                                         .write_bytes = 1e6,
                                         .done_flops = 2e9,
                                         .done_bytes = 2e6,
                                         .done_by = RUN_NONE},
                    &err));
    for (int kind = 0; plot_kind_names[kind]; kind++) {
        for (int format = SHEET_PNG; format <= SHEET_PDF; format++) {
            struct str text =
                plotted(run, (enum plot_kind)kind, (enum sheet_format)format);

            CHECK(strncmp(text.text, starts[format], strlen(starts[format])) ==
                  0);
            str_release(&text);
        }
    }
    run_free(run);
}

static void check_lacks(const struct run *run, enum plot_kind kind,
                        const char *what)
{
    struct error err = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    CHECK_INT(view_plot(run, kind, SHEET_PNG, &sink, &err), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, what);
    CHECK_INT(text.n, 0);
    str_release(&text);
}

TEST(a_run_that_lacks_the_data_for_a_plot_is_refused_with_the_reason)
{
    struct run *run = made_pipeline();
    struct run *empty = NULL;
    struct error err = {0};

    check_lacks(run, PLOT_MEMORY, "no memory over time");
    check_lacks(run, PLOT_ROOFLINE, "arithmetic");
    check_lacks(run, PLOT_LATENCY, "no iterations");
    run_free(run);
    OK(run_new(&empty, &err));
    OK(run_seal(empty, &err));
    check_lacks(empty, PLOT_TIMELINE, "no iteration in full");
    check_lacks(empty, PLOT_ICICLE, "no times");
    run_free(empty);
}

TEST(names_of_any_kind_are_drawn_safely)
{
    static const char *const names[] = {"<script>alert(1)</script>", "\xff\xfe",
                                        "\xd7\xa9\xd7\x9c", "", NULL};
    char longest[10001];

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (size_t i = 0; i < 5; i++) {
        struct run *run = made_with_name(names[i] ? names[i] : longest, "Conv");
        struct str text = plotted(run, PLOT_ICICLE, SHEET_SVG);

        CHECK_HAS(text.text, "</svg>");
        str_release(&text);
        run_free(run);
    }
}

/* ---- labels -------------------------------------------------------------- */

struct label_box {
    double left, right, baseline, size;
    bool is_upright;
};

enum { most_boxes = 200 };

/* The texts of an SVG image: cairo writes a group of letters for each. */
static size_t boxes_of(const char *svg, struct label_box boxes[most_boxes])
{
    size_t n = 0;

    for (const char *group = strstr(svg, "<g style=\"fill:rgb"); group;
         group = strstr(group + 1, "<g style=\"fill:rgb")) {
        const char *end = strstr(group, "</g>");
        struct label_box box = {.left = INFINITY, .right = -INFINITY};
        double first = NAN;

        for (const char *at = strstr(group, "<use"); at && end && at < end;
             at = strstr(at + 1, "<use")) {
            double x, y;
            unsigned font, glyph;

            CHECK_INT(sscanf(at,
                             "<use xlink:href=\"#glyph%u-%u\" x=\"%lf\" "
                             "y=\"%lf\"",
                             &font, &glyph, &x, &y),
                      4);
            box.is_upright |= !isnan(first) && fabs(y - first) > 0.01;
            first = y;
            box.left = fmin(box.left, x);
            box.right = fmax(box.right, x);
            box.baseline = y;
        }
        if (box.left < box.right && n < most_boxes)
            boxes[n++] = box;
    }
    return n;
}

/* The last letter is at least so wide, and letters so high, in points. */
static bool boxes_overlap(const struct label_box *a, const struct label_box *b)
{
    static const double letter = 2, high = 5;

    return a->left < b->right + letter && b->left < a->right + letter &&
           fabs(a->baseline - b->baseline) < high;
}

/* Modules with nearly the same work and time, right below the corner of the
 * roof, where its numbers are. */
static struct run *made_crowd(void)
{
    struct error err = {0};
    struct run *run;
    uint32_t thread;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    OK(run_fact_set(run, "machine.peak_gflops", "200", &err));
    OK(run_fact_set(run, "machine.read_gbs", "20", &err));
    for (uint32_t i = 0; i < 40; i++) {
        char name[32];
        uint32_t scope;
        struct scope_work work;

        snprintf(name, sizeof name, "module_of_a_crowd_%u", i);
        scope = made_scope(run, RUN_ROOT, name, "Conv2d");
        work = scope_work_unknown();
        work.macs = 1e9 * (0.9 + 0.002 * i);
        work.read_bytes = work.write_bytes = 1e8;
        OK(run_work_set(run, scope, &work, &err));
        made_call(run, scope, 0, 0, 10 + 0.02 * i, 10 + 0.02 * i);
    }
    made_call(run, RUN_ROOT, 0, 0, 500, 1);
    OK(run_seal(run, &err));
    return run;
}

TEST(labels_of_the_roofline_do_not_overlap)
{
    struct run *run = made_crowd();
    struct str svg = plotted(run, PLOT_ROOFLINE, SHEET_SVG);
    struct label_box boxes[most_boxes];
    size_t n = boxes_of(svg.text, boxes), n_labels = 0;

    for (size_t i = 0; i < n; i++) {
        n_labels += boxes[i].right - boxes[i].left > 60;
        for (size_t k = 0; k < i; k++) {
            if (!boxes[i].is_upright && !boxes[k].is_upright)
                CHECK(!boxes_overlap(&boxes[i], &boxes[k]));
        }
    }
    CHECK(n > 15); /* the numbers of the axes too */
    CHECK(n_labels >= 3);
    str_release(&svg);
    run_free(run);
}

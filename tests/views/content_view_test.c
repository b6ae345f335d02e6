/* What was in the photographs, how steady the iterations were and what
 * recording cost, on the screen and as JSON. */
#include "made_runs.h"
#include "test.h"

static struct error err;

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

static uint32_t add_series(struct run *run, const char *name)
{
    uint32_t id;

    OK(run_series_add(run, name, "", &id, &err));
    return id;
}

/* Six photographs, twice each: 100 ms plus 2 ms per detection; one of them has
 * a name that is not safe on a screen. */
static struct run *photo_run(void)
{
    static const double detections[] = {5, 0, 12, 97, 3, 8};
    static const char *const names[] = {"a.jpg",        "b.jpg",   "c.jpg",
                                        "d\x1b[2J.jpg", "<e>.jpg", "f.jpg"};
    uint32_t photo, found, proposals, thread;
    struct run *run;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    photo = add_series(run, "input.photo");
    found = add_series(run, "content.detections");
    proposals = add_series(run, "content.proposals");
    for (size_t i = 0; i < 6; i++)
        OK(run_series_label(run, photo, names[i], &err));
    for (uint32_t i = 0; i < 12; i++) {
        double n = detections[i % 6];
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = 100000000 + (int64_t)n * 2000000,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_series_put(run, photo, i, i % 6, &err));
        OK(run_series_put(run, found, i, n, &err));
        OK(run_series_put(run, proposals, i, 1000, &err));
    }
    OK(run_seal(run, &err));
    return run;
}

static void check_parts(run_view *view, struct run *run,
                        const char *const *parts)
{
    struct view_options options = view_defaults(term_plain(200));
    struct str text = view_text(view, run, &options);

    for (; *parts; parts++)
        CHECK_HAS(str_text(&text), *parts);
    str_release(&text);
    run_free(run);
}

TEST(the_screen_shows_how_the_time_depends_on_the_content)
{
    static const char *const parts[] = {
        "content  proposals 1000   detections 21 (0..97)   slowest photo "
        "d?[2J.jpg 294 ms: 97 detections, where the mean is 20.8",
        "time = 100 ms + 2.00 ms per detection (R2 1.00)", NULL};

    check_parts(view_summary, photo_run(), parts);
}

TEST(json_has_the_content_and_every_series)
{
    static const char *const parts[] = {
        "\"slowest_photo\": \"d\\u001b[2J.jpg\"",
        "\"slowest_reason\": \"97 detections, where the mean is 20.8\"",
        "\"detections\": 2,",
        "{\"photo\": \"<e>.jpg\", \"runs\": 2, \"median_ms\": 106, "
        "\"proposals\": 1000, \"detections\": 3, \"megapixels\": null}",
        "\"name\": \"content.detections\"",
        "[5, 0, 12, 97, 3, 8, 5, 0, 12, 97, 3, 8]",
        NULL};

    check_parts(view_json, photo_run(), parts);
}

static struct run *with_facts(const char *const *facts)
{
    struct run *run = made_model(12);

    for (; *facts; facts += 2)
        OK(run_fact_set(run, facts[0], facts[1], &err));
    return run;
}

TEST(the_screen_says_why_measuring_stopped)
{
    static const char *const facts[] = {
        "runs.stopped", "when the 95 % interval of the median fell below 2 %",
        NULL};
    static const char *const parts[] = {
        "runs     warm-up 0, measured 12; stopped when the 95 % interval of "
        "the median fell below 2 %",
        NULL};

    check_parts(view_summary, with_facts(facts), parts);
}

/* What the screen says of a cost, its interval and the number of pairs. */
static void check_cost(const char *share, const char *low, const char *high,
                       const char *pairs, const char *words)
{
    const char *const facts[] = {"recording.cost_share",
                                 share,
                                 "recording.cost_low",
                                 low,
                                 "recording.cost_high",
                                 high,
                                 "recording.pairs",
                                 pairs,
                                 NULL};
    const char *const parts[] = {words, NULL};

    check_parts(view_summary, with_facts(facts), parts);
}

TEST(a_recording_cost_that_is_not_known_is_called_unknown)
{
    check_cost("0.002", "0.001", "0.003", "9", "recording cost +0.2 %\n");
    check_cost("0.002", "-0.011", "0.013", "9", "recording cost below 1.3 %\n");
    check_cost("-0.14", "-0.29", "0.35", "9",
               "recording cost unknown (too noisy)\n");
    check_cost("0.087", "0.01", "0.35", "9",
               "recording cost unknown (too noisy)\n");
    check_cost("0.11", "0.082", "0.13", "9",
               "recording cost +8.2 % to +13 %\n");
    check_cost("0.002", "0.001", "0.003", "3",
               "recording cost unknown (too few iterations)\n");
}

TEST(other_load_hides_the_recording_cost)
{
    static const char *const facts[] = {"recording.cost_share",
                                        "0.18",
                                        "recording.cost_low",
                                        "0.04",
                                        "recording.cost_high",
                                        "0.3",
                                        "recording.pairs",
                                        "9",
                                        NULL};
    static const char *const parts[] = {"recording cost unknown (other load)\n",
                                        NULL};
    struct run *run = with_facts(facts);
    uint32_t wait = add_series(run, "steady.wait");

    for (uint32_t i = 0; i < 12; i++)
        OK(run_series_put(run, wait, i, 20, &err));
    check_parts(view_summary, run, parts);
}

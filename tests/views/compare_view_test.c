/* What a comparison looks like, byte for byte. The durations are constants, so
 * that every number below can be checked by hand. */
#include "base/sink.h"
#include "run/compare.h"
#include "test.h"
#include "views/compare_words_internal.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 10 };

struct planned {
    const char *name;
    int64_t us;
};

/* One thread, one level below "net", every iteration the same. */
static struct run *steady_run(const struct planned *scopes, size_t n,
                              uint32_t n_iterations)
{
    uint32_t ids[8], net, thread;
    struct run *run;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "net", "Net", &net, NULL), ASSAY_OK);
    for (size_t i = 0; i < n; i++)
        CHECK_INT(run_scope_add(run, net, scopes[i].name, NULL, &ids[i], NULL),
                  ASSAY_OK);
    for (uint32_t iteration = 0; iteration < n_iterations; iteration++) {
        struct sample sample = {.iteration = iteration,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};
        int64_t sum = 0;

        for (size_t i = 0; i < n; i++) {
            sample.scope = ids[i];
            sample.duration_ns = sample.self_ns = scopes[i].us * 1000;
            sum += sample.duration_ns;
            CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
        }
        sample.scope = net;
        sample.duration_ns = sum;
        sample.self_ns = 0;
        CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
        sample.scope = RUN_ROOT;
        CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
    }
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    return run;
}

static const struct planned before[] = {
    {"decode", 2000}, {"conv", 5000}, {"old", 1000}, {"pool", 3000}};
static const struct planned after[] = {
    {"conv", 6000}, {"new", 1000}, {"pool", 3000}, {"sort|it", 500}};

/* Shows two runs, and frees them, with a budget of 5 %. */
static void check_runs(comparison_view *show, struct run *a, struct run *b,
                       int width, bool gated, const char *want)
{
    const struct run *runs[] = {a, b};
    struct compare_view options = {.term = term_plain(width),
                                   .name_a = "base.assay",
                                   .name_b = "new.assay"};
    struct budgets budgets = {0};
    struct gate_result gate;
    struct comparison *c;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    struct error err = {0};

    CHECK_STATUS(compare_new(&(struct compare_side){&runs[0], 1},
                             &(struct compare_side){&runs[1], 1}, NULL, &c,
                             &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(budgets_add(&budgets, NULL, 0.05, &err), ASSAY_OK, &err);
    CHECK_STATUS(compare_gate(c, &budgets, &gate, &err), ASSAY_OK, &err);
    options.gate = gated ? &gate : NULL;
    CHECK_STATUS(show(c, &options, &sink, &err), ASSAY_OK, &err);
    CHECK_STR(str_text(&text), want);
    str_release(&text);
    gate_result_release(&gate);
    budgets_release(&budgets);
    compare_free(c);
    run_free(a);
    run_free(b);
}

static void check_view(comparison_view *show, uint32_t n_iterations, int width,
                       bool gated, const char *want)
{
    check_runs(show, steady_run(before, 4, n_iterations),
               steady_run(after, 4, n_iterations), width, gated, want);
}

TEST(eighty_columns_show_what_differs_and_the_gate)
{
    check_view(
        view_compare, ITERATIONS, 80, true,
        "A        1 run, 10 iterations   base.assay\n"
        "B        1 run, 10 iterations   new.assay\n"
        "whole    A 11.0 ms   B 10.5 ms   -4.5 % [-4.6, -4.5]   faster\n"
        "\n"
        "scope                         A ms     B ms   change      interval %\n"
        "run                           11.0     10.5   -4.5 %    [-4.6, -4.5]  "
        "faster\n"
        "└─ net                        11.0     10.5   -4.5 %    [-4.6, -4.5]  "
        "faster\n"
        "   ├─ decode                  2.00        -        -                  "
        "removed\n"
        "   ├─ conv                    5.00     6.00    +20 %  [+20.0, +20.0]  "
        "slower\n"
        "   ├─ new (was old)           1.00     1.00      0 %    [-0.2, +0.2]  "
        "renamed\n"
        "   ├─ pool                    3.00     3.00      0 %    [-0.1, +0.1]  "
        "=\n"
        "   └─ sort|it                    -    0.500        -                  "
        "added\n"
        "\n"
        "verdict  1 scope is slower by more than noise (95 % confidence over 5 "
        "scopes):\n"
        "         net.conv +20 % [+20.0, +20.0]; 1 scope added, 1 removed, 1 "
        "renamed\n"
        "note     1 run per side: differences between runs of the same program "
        "are not\n"
        "         covered; give several with --a and --b\n"
        "gate     failed: net.conv +20 % [+20.0, +20.0] is over its budget of "
        "5 "
        "%; the\n"
        "         whole -4.5 % [-4.6, -4.5]\n");
}

TEST(a_wider_screen_has_room_for_p)
{
    check_view(
        view_compare, ITERATIONS, 100, false,
        "A        1 run, 10 iterations   base.assay\n"
        "B        1 run, 10 iterations   new.assay\n"
        "whole    A 11.0 ms   B 10.5 ms   -4.5 % [-4.6, -4.5]   faster\n"
        "\n"
        "scope                                     A ms     B ms   change      "
        "interval %       p\n"
        "run                                       11.0     10.5   -4.5 %    "
        "[-4.6, -4.5]  <0.001  faster\n"
        "└─ net                                    11.0     10.5   -4.5 %    "
        "[-4.6, -4.5]  <0.001  faster\n"
        "   ├─ decode                              2.00        -        -      "
        "                    removed\n"
        "   ├─ conv                                5.00     6.00    +20 %  "
        "[+20.0, +20.0]  <0.001  slower\n"
        "   ├─ new (was old)                       1.00     1.00      0 %    "
        "[-0.2, +0.2]    1.00  renamed\n"
        "   ├─ pool                                3.00     3.00      0 %    "
        "[-0.1, +0.1]    1.00  =\n"
        "   └─ sort|it                                -    0.500        -      "
        "                    added\n"
        "\n"
        "verdict  1 scope is slower by more than noise (95 % confidence over 5 "
        "scopes): net.conv +20 %\n"
        "         [+20.0, +20.0]; 1 scope added, 1 removed, 1 renamed\n"
        "note     1 run per side: differences between runs of the same program "
        "are not covered; give several\n"
        "         with --a and --b\n");
}

TEST(scopes_that_could_not_be_tested_are_noted)
{
    check_view(
        view_compare, 4, 80, true,
        "A        1 run, 4 iterations   base.assay\n"
        "B        1 run, 4 iterations   new.assay\n"
        "whole    A 11.0 ms   B 10.5 ms   not tested\n"
        "\n"
        "scope                         A ms     B ms   change      interval %\n"
        "run                           11.0     10.5        -                  "
        "not tested\n"
        "└─ net                        11.0     10.5        -                  "
        "not tested\n"
        "   ├─ decode                  2.00        -        -                  "
        "removed\n"
        "   ├─ conv                    5.00     6.00        -                  "
        "not tested\n"
        "   ├─ new (was old)           1.00     1.00        -                  "
        "renamed\n"
        "   ├─ pool                    3.00     3.00        -                  "
        "not tested\n"
        "   └─ sort|it                    -    0.500        -                  "
        "added\n"
        "\n"
        "verdict  nothing could be tested: a scope needs 5 iterations in a run "
        "of each\n"
        "         side\n"
        "note     1 run per side: differences between runs of the same program "
        "are not\n"
        "         covered; give several with --a and --b\n"
        "gate     too noisy to decide: the whole (not tested) may be over its "
        "budget of\n"
        "         5 %; about 20 iterations per run may settle it\n");
}

/* A run with facts: pairs of a key and a value. */
static struct run *run_that_says(const char *const facts[][2], size_t n)
{
    struct run *run = steady_run(before, 4, ITERATIONS);

    for (size_t i = 0; i < n; i++)
        CHECK_INT(run_fact_set(run, facts[i][0], facts[i][1], NULL), ASSAY_OK);
    return run;
}

static const char *const of_one[][2] = {{"model.name", "resnet18"},
                                        {"settings.threads", "2"},
                                        {"input.images", "1"},
                                        {"machine.library", "oneDNN 2.6.3"},
                                        {"run.id", "1"}};
static const char *const of_eight[][2] = {{"model.name", "resnet18"},
                                          {"settings.threads", "16"},
                                          {"settings.batch", "8 images"},
                                          {"run.id", "2"}};

TEST(what_else_the_sides_differ_in_is_said_before_the_times)
{
    check_runs(
        view_compare, run_that_says(of_one, 5), run_that_says(of_eight, 4), 80,
        false,
        "A        1 run, 10 iterations   base.assay\n"
        "B        1 run, 10 iterations   new.assay\n"
        "unlike   threads A 2, B 16   batch A 1 image, B 8 images\n"
        "whole    A 11.0 ms   B 11.0 ms   0 % [0.0, 0.0]   no difference "
        "beyond noise\n"
        "\n"
        "scope                         A ms     B ms   change      interval %\n"
        "run                           11.0     11.0      0 %      [0.0, 0.0]  "
        "=\n"
        "└─ net                        11.0     11.0      0 %      [0.0, 0.0]  "
        "=\n"
        "   ├─ decode                  2.00     2.00      0 %    [-0.1, +0.1]  "
        "=\n"
        "   ├─ conv                    5.00     5.00      0 %      [0.0, 0.0]  "
        "=\n"
        "   ├─ old                     1.00     1.00      0 %    [-0.2, +0.2]  "
        "=\n"
        "   └─ pool                    3.00     3.00      0 %    [-0.1, +0.1]  "
        "=\n"
        "\n"
        "verdict  no difference is more than noise (95 % confidence over 6 "
        "scopes)\n"
        "note     1 run per side: differences between runs of the same program "
        "are not\n"
        "         covered; give several with --a and --b\n");
}

TEST(runs_of_one_side_that_differ_are_unlike_the_other_side)
{
    struct run *a = run_that_says(of_one, 5), *b = run_that_says(of_one, 5);
    struct run *other = run_that_says(of_eight, 4);
    const struct run *of_a[] = {a, other}, *of_b[] = {b};
    struct str text = {0};
    struct comparison *c;
    struct sink sink;

    CHECK_INT(compare_new(&(struct compare_side){of_a, 2},
                          &(struct compare_side){of_b, 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK_INT(compare_all_unlike(c, &text), ASSAY_OK);
    CHECK_STR(str_text(&text), "threads A 2 and others, B 2; batch A 1 image "
                               "and others, B 1 image");
    str_clear(&text);
    sink = sink_to_str(&text);
    CHECK_INT(view_compare_json(c, &(struct compare_view){0}, &sink, NULL),
              ASSAY_OK);
    CHECK_HAS(str_text(&text),
              "  \"unlike\": [\n"
              "    {\"fact\": \"settings.threads\", \"a\": \"2\", "
              "\"b\": \"2\", \"a_varies\": true, \"b_varies\": false},\n");
    str_release(&text);
    compare_free(c);
    run_free(a);
    run_free(b);
    run_free(other);
}

TEST(markdown_says_the_same_and_escapes_names)
{
    check_view(
        view_compare_markdown, ITERATIONS, 80, true,
        "**Verdict:** 1 scope is slower by more than noise (95 % confidence "
        "over 5 scopes): net.conv +20 % \\[+20.0, +20.0\\]; 1 scope added, 1 "
        "removed, 1 renamed\n"
        "\n"
        "**Gate:** failed: net.conv +20 % \\[+20.0, +20.0\\] is over its "
        "budget of 5 %; the whole -4.5 % \\[-4.6, -4.5\\]\n"
        "\n"
        "**Note:** 1 run per side: differences between runs of the same "
        "program "
        "are not covered; give several with --a and --b\n"
        "\n"
        "| scope | A ms | B ms | change | interval % | p | |\n"
        "|:--|--:|--:|--:|--:|--:|:--|\n"
        "| run | 11.0 | 10.5 | -4.5 % | [-4.6, -4.5] | <0.001 | faster |\n"
        "| net | 11.0 | 10.5 | -4.5 % | [-4.6, -4.5] | <0.001 | faster |\n"
        "| net.decode | 2.00 | - | - |  |  | removed |\n"
        "| **net.conv** | 5.00 | 6.00 | +20 % | [+20.0, +20.0] | <0.001 | "
        "slower |\n"
        "| net.new | 1.00 | 1.00 | 0 % | [-0.2, +0.2] | 1.00 | renamed |\n"
        "| net.pool | 3.00 | 3.00 | 0 % | [-0.1, +0.1] | 1.00 | = |\n"
        "| net.sort\\|it | - | 0.500 | - |  |  | added |\n"
        "\n"
        "A: base.assay, 1 run, 10 iterations; B: new.assay, 1 run, 10 "
        "iterations.\n");
}

TEST(junit_has_a_test_for_every_judged_scope)
{
    static const struct planned odd[] = {{"a<b>&\"c\"", 5000}};
    static const struct planned slower[] = {{"a<b>&\"c\"", 6000}};

    check_view(
        view_compare_junit, ITERATIONS, 80, true,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"assay compare\" tests=\"5\" failures=\"1\" "
        "errors=\"0\" skipped=\"0\">\n"
        "  <testcase classname=\"assay\" name=\"run\" "
        "time=\"0.010500000\"/>\n"
        "  <testcase classname=\"assay\" name=\"net\" "
        "time=\"0.010500000\"/>\n"
        "  <testcase classname=\"assay\" name=\"net.conv\" "
        "time=\"0.006000000\">\n"
        "    <failure message=\"net.conv +20 % [+20.0, +20.0] is over its "
        "budget of 5 %\"/>\n"
        "  </testcase>\n"
        "  <testcase classname=\"assay\" name=\"net.new\" "
        "time=\"0.001000000\"/>\n"
        "  <testcase classname=\"assay\" name=\"net.pool\" "
        "time=\"0.003000000\"/>\n"
        "  <system-out>failed: net.conv +20 % [+20.0, +20.0] is over its "
        "budget of 5 %; the whole -4.5 % [-4.6, -4.5]</system-out>\n"
        "</testsuite>\n");
    check_runs(view_compare_junit, steady_run(odd, 1, ITERATIONS),
               steady_run(slower, 1, ITERATIONS), 80, true,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<testsuite name=\"assay compare\" tests=\"3\" failures=\"3\" "
               "errors=\"0\" skipped=\"0\">\n"
               "  <testcase classname=\"assay\" name=\"run\" "
               "time=\"0.006000000\">\n"
               "    <failure message=\"the whole +20 % [+20.0, +20.0] is over "
               "its budget of 5 %\"/>\n"
               "  </testcase>\n"
               "  <testcase classname=\"assay\" name=\"net\" "
               "time=\"0.006000000\">\n"
               "    <failure message=\"net +20 % [+20.0, +20.0] is over its "
               "budget of 5 %\"/>\n"
               "  </testcase>\n"
               "  <testcase classname=\"assay\" "
               "name=\"net.a&lt;b&gt;&amp;&quot;c&quot;\" "
               "time=\"0.006000000\">\n"
               "    <failure message=\"net.a&lt;b&gt;&amp;&quot;c&quot; +20 % "
               "[+20.0, +20.0] is over its budget of 5 %\"/>\n"
               "  </testcase>\n"
               "  <system-out>failed: the whole +20 % [+20.0, +20.0] is over "
               "its budget of 5 %, most of it in "
               "net.a&lt;b&gt;&amp;&quot;c&quot; +20 % [+20.0, "
               "+20.0]</system-out>\n"
               "</testsuite>\n");
}

/* Every % is escaped, as the runner unescapes them. */
TEST(github_gets_the_verdict_as_an_annotation)
{
    const struct run *runs[] = {steady_run(before, 4, ITERATIONS),
                                steady_run(after, 4, ITERATIONS)};
    struct compare_view options = {.term = term_plain(80)};
    struct budgets budgets = {0};
    struct gate_result gate;
    struct comparison *c;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    CHECK_INT(compare_new(&(struct compare_side){&runs[0], 1},
                          &(struct compare_side){&runs[1], 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK_INT(budgets_add(&budgets, NULL, 0.05, NULL), ASSAY_OK);
    CHECK_INT(compare_gate(c, &budgets, &gate, NULL), ASSAY_OK);
    options.gate = &gate;
    CHECK_INT(view_compare_github(c, &options, &sink, NULL), ASSAY_OK);
    CHECK_HAS(text.text, "\n::error title=assay compare::failed: net.conv +20 "
                         "%25 [+20.0, +20.0] is over its budget of 5 %25; ");
    str_release(&text);
    gate_result_release(&gate);
    budgets_release(&budgets);
    compare_free(c);
    run_free((struct run *)runs[0]);
    run_free((struct run *)runs[1]);
}

TEST(json_has_every_row_with_null_for_unknown_values)
{
    const struct run *runs[] = {steady_run(before, 4, ITERATIONS),
                                steady_run(after, 4, ITERATIONS)};
    struct compare_view options = {.term = term_plain(80), .name_a = "a"};
    struct comparison *c;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    CHECK_INT(compare_new(&(struct compare_side){&runs[0], 1},
                          &(struct compare_side){&runs[1], 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK_INT(view_compare_json(c, &options, &sink, NULL), ASSAY_OK);
    CHECK_HAS(text.text,
              "{\n"
              "  \"a\": {\"name\": \"a\", \"runs\": 1, \"iterations\": 10},\n"
              "  \"b\": {\"name\": null, \"runs\": 1, \"iterations\": 10},\n"
              "  \"unlike\": [],\n"
              "  \"confidence\": 0.95,\n"
              "  \"floor\": 0.005,\n"
              "  \"tested\": 5,\n"
              "  \"verdict\": \"1 scope is slower");
    CHECK(!strstr(text.text, "\"gate\""));
    CHECK_HAS(text.text,
              "    {\"scope\": \"net.decode\", \"class\": \"\", \"parent\": 1, "
              "\"depth\": 2, \"match\": \"removed\", \"a_ms\": 2, \"b_ms\": "
              "null, \"a_self_ms\": 2, \"b_self_ms\": null, \"ratio\": null, "
              "\"low\": null, \"high\": null, \"p\": null, \"p_raw\": null, "
              "\"share\": 0.181818, \"significant\": false, \"counts\": false, "
              "\"cause\": false, \"mark\": \"removed\"},\n");
    CHECK_HAS(text.text, "{\"scope\": \"net.new\", \"class\": \"\", \"was\": "
                         "\"old\", \"parent\": 1,");
    CHECK_HAS(text.text, "\"a_ms\": 5, \"b_ms\": 6, \"a_self_ms\": 5, "
                         "\"b_self_ms\": 6, \"ratio\": 1.2, \"low\": 1.19");
    CHECK_HAS(text.text, "\"significant\": true, \"counts\": true, \"cause\": "
                         "true, \"mark\": \"slower\"}");
    str_release(&text);
    compare_free(c);
    run_free((struct run *)runs[0]);
    run_free((struct run *)runs[1]);
}

/* Eight layers, the later the larger: five are shown, or all. */
TEST(unchanged_scopes_are_hidden_except_the_largest)
{
    const struct run *run;
    struct compare_view options = {.term = term_plain(80)};
    struct planned layers[8];
    struct comparison *c;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    for (int i = 0; i < 8; i++)
        layers[i] = (struct planned){
            (const char *[]){"l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7"}[i],
            1000 + i};
    run = steady_run(layers, 8, ITERATIONS);
    CHECK_INT(compare_new(&(struct compare_side){&run, 1},
                          &(struct compare_side){&run, 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK_INT(view_compare(c, &options, &sink, NULL), ASSAY_OK);
    CHECK(!strstr(text.text, "l2 ") && strstr(text.text, "l3 "));
    CHECK_HAS(text.text, "   3 more scopes are hidden (--all)\n");
    CHECK_HAS(text.text, "verdict  no difference is more than noise (95 % "
                         "confidence over 10 scopes)\n");
    str_clear(&text);
    options.all = true;
    CHECK_INT(view_compare(c, &options, &sink, NULL), ASSAY_OK);
    CHECK(strstr(text.text, "l0 ") && !strstr(text.text, "hidden"));
    str_release(&text);
    compare_free(c);
    run_free((struct run *)run);
}

TEST(names_from_outside_cannot_move_the_cursor)
{
    const struct planned evil[] = {{"a\x1b[2Jb\n", 1000}};
    const struct run *run = steady_run(evil, 1, ITERATIONS);
    struct compare_view options = {
        .term = term_plain(80), .name_a = "x\x1b]0;y", .all = true};
    struct comparison *c;
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    CHECK_INT(compare_new(&(struct compare_side){&run, 1},
                          &(struct compare_side){&run, 1}, NULL, &c, NULL),
              ASSAY_OK);
    CHECK_INT(view_compare(c, &options, &sink, NULL), ASSAY_OK);
    CHECK_INT(view_compare_markdown(c, &options, &sink, NULL), ASSAY_OK);
    CHECK_INT(view_compare_json(c, &options, &sink, NULL), ASSAY_OK);
    CHECK(!strchr(text.text, '\x1b'));
    CHECK_HAS(text.text, "a?[2Jb?");
    str_release(&text);
    compare_free(c);
    run_free((struct run *)run);
}

TEST(an_interval_that_says_nothing_is_replaced_by_words)
{
    static const struct {
        struct compare_row row;
        const char *interval, *mark;
    } cases[] = {
        {{.ratio = 1.2, .low = 0.9, .high = 1.6}, "[-10.0, +60.0]", "="},
        {{.ratio = 1, .low = 0.11, .high = 9}, "[-89.0, +800]", "="},
        {{.ratio = 1, .low = 0.09, .high = 11}, "too few to tell", "?"},
        {{.ratio = 3, .low = 1e-9, .high = 1e12}, "too few to tell", "?"},
        {{.ratio = 3, .low = 0, .high = INFINITY}, "too few to tell", "?"},
        {{.ratio = 1, .low = 0.09, .high = 11, .n_least = 9},
         "too few to tell",
         "?"},
        {{.ratio = 1, .low = 0.09, .high = 11, .n_least = 30},
         "too noisy",
         "?"},
        {{.ratio = 50,
          .low = 2,
          .high = 1e3,
          .is_significant = true,
          .is_counted = true},
         "[+100, +99900]",
         "slower"},
        {{.ratio = 1.1, .low = 1.05, .high = 1.15, .is_significant = true},
         "[+5.0, +15.0]",
         "small"},
        {{.ratio = NAN, .low = NAN, .high = NAN}, "", "not tested"},
    };
    char text[UNITS_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_STR(compare_interval_text(text, &cases[i].row),
                  cases[i].interval);
        CHECK_STR(compare_mark(&cases[i].row), cases[i].mark);
    }
}

/* tests/predict/fingerprint_test.c - fingerprints and their files. */
#include "predict/fingerprint.h"

#include "base/mem.h"
#include "device.h"
#include "predict/fingerprint_eval.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fingerprint *learn(const struct data_set *set, const char *train)
{
    struct fingerprint_options options = {
        .device = "a made-up device", .method = N_METHODS, .n_threads = 2};
    struct selection selection = {0};
    struct fingerprint *fingerprint = NULL;
    struct error err = {0};

    CHECK_STATUS(selection_parse(&selection, train, &err), ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_fit(set, &selection, &options, &fingerprint, &err),
                 ASSAY_OK, &err);
    selection_release(&selection);
    return fingerprint;
}

static struct str write_text(const struct fingerprint *fingerprint)
{
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    struct error err = {0};

    CHECK_STATUS(fingerprint_write(fingerprint, &sink, &err), ASSAY_OK, &err);
    return text;
}

static void check_refused(const char *text, enum assay_status wanted,
                          const char *part)
{
    struct fingerprint *fingerprint = NULL;
    struct error err = {0};

    CHECK_STATUS(fingerprint_read_text("x.fp", text, 1, &fingerprint, &err),
                 wanted, &err);
    CHECK_HAS(err.text, part);
    CHECK(!fingerprint);
}

/* The text with the rate of every physical model as large as a double can
 * be. */
static struct str with_endless_rates(const struct str *text)
{
    static const char name[] = " rate_1x1 ";
    const char *at = text->text, *found;
    struct str out = {0};

    while ((found = strstr(at, name)) != NULL) {
        size_t n = (size_t)(found - at) + sizeof name - 1;

        CHECK_INT(str_append_n(&out, at, n), ASSAY_OK);
        CHECK_INT(str_append(&out, "1e308"), ASSAY_OK);
        at = strchr(found, '\n');
    }
    CHECK_INT(str_append(&out, at), ASSAY_OK);
    return out;
}

TEST(a_prediction_that_is_not_finite_is_an_error)
{
    struct data_set set = {0};
    struct fingerprint *made, *read = NULL;
    struct estimate estimate;
    struct error err = {0};
    struct str text, endless;

    device_measure(&set, 2, 0.02, 1);
    made = learn(&set, "net0:0,20,40,60,80,net1:0,30,60,90");
    text = write_text(made);
    endless = with_endless_rates(&text);
    CHECK_STATUS(fingerprint_read_text("x.fp", endless.text, 1, &read, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_predict(read, STAGE_TRAINING, TARGET_LATENCY,
                                     &set.descriptions[0], 8, &estimate, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "no finite prediction of the latency of net0");
    str_release(&text);
    str_release(&endless);
    fingerprint_free(made);
    fingerprint_free(read);
    data_set_release(&set);
}

TEST(a_file_predicts_what_the_fingerprint_did)
{
    struct data_set set = {0};
    struct fingerprint *made, *read = NULL;
    struct error err = {0};
    struct str text;

    device_measure(&set, 2, 0.02, 1);
    made = learn(&set, "net0:0,20,40,60,80,net1:0,30,60,90");
    text = write_text(made);
    CHECK_STATUS(fingerprint_read_text("x.fp", str_text(&text), 1, &read, &err),
                 ASSAY_OK, &err);
    CHECK_STR(fingerprint_device(read), "a made-up device");
    CHECK_NEAR(fingerprint_capacity_mb(read), 800, 0);
    CHECK_NEAR(fingerprint_usable_mb(read, STAGE_TRAINING, NAN),
               fingerprint_usable_mb(made, STAGE_TRAINING, NAN), 1e-6);
    for (size_t i = 0; i < set.n_rows; i += 5) {
        const struct description *own =
            &set.descriptions[set.rows[i].description];

        for (int t = 0; t < N_TARGETS; t++) {
            struct estimate a, b;

            CHECK_STATUS(fingerprint_predict(made, STAGE_TRAINING,
                                             (enum target)t, own,
                                             set.rows[i].batch, &a, &err),
                         ASSAY_OK, &err);
            CHECK_STATUS(fingerprint_predict(read, STAGE_TRAINING,
                                             (enum target)t, own,
                                             set.rows[i].batch, &b, &err),
                         ASSAY_OK, &err);
            CHECK_NEAR(a.value, b.value, 1e-9 * b.value);
            CHECK_NEAR(a.low, b.low, 1e-9 * b.low);
            CHECK_INT(a.method, b.method);
        }
    }
    str_release(&text);
    fingerprint_free(made);
    fingerprint_free(read);
    data_set_release(&set);
}

/* ---- frameworks ---------------------------------------------------------- */

/* Every row as two: in this program's engine, and twice as slow in PyTorch. */
static void measure_twice(struct data_set *set)
{
    struct error err = {0};
    size_t n;

    device_measure(set, 2, 0.02, 1);
    n = set->n_rows;
    set->lane = 16;
    for (size_t i = 0; i < n; i++) {
        struct measurement row = set->rows[i];

        set->rows[i].framework = FRAMEWORK_ASSAY;
        row.framework = FRAMEWORK_TORCH;
        row.value[TARGET_LATENCY] *= 2;
        CHECK_STATUS(data_set_add_row(set, &row, &err), ASSAY_OK, &err);
    }
}

static enum assay_status gather(const struct data_set *set,
                                enum framework framework,
                                struct fingerprint **out, struct error *err)
{
    struct fingerprint_options options = {.framework = framework,
                                          .n_threads = 1};
    struct selection all = {0};

    *err = (struct error){0};
    return fingerprint_gather(set, &all, &options, out, err);
}

TEST(rows_of_two_frameworks_are_not_mixed_unless_asked)
{
    struct fingerprint *fingerprint = NULL;
    struct data_set set = {0};
    struct error err;

    measure_twice(&set);
    CHECK_INT(gather(&set, FRAMEWORK_UNKNOWN, &fingerprint, &err),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "measured in assay and torch, whose costs differ; "
                        "--framework assay or torch chooses");
    CHECK_STATUS(gather(&set, FRAMEWORK_TORCH, &fingerprint, &err), ASSAY_OK,
                 &err);
    CHECK_INT(fingerprint_data(fingerprint)->n_rows, set.n_rows / 2);
    CHECK_INT(fingerprint_framework(fingerprint), FRAMEWORK_TORCH);
    CHECK(isnan(fingerprint_data(fingerprint)->lane)); /* of our kernels */
    fingerprint_free(fingerprint);
    CHECK_STATUS(gather(&set, N_FRAMEWORKS, &fingerprint, &err), ASSAY_OK,
                 &err);
    CHECK_INT(fingerprint_data(fingerprint)->n_rows, set.n_rows);
    CHECK_STR(fingerprint_framework_name(fingerprint), "mixed");
    fingerprint_free(fingerprint);
    for (size_t i = 0; i < set.n_rows; i++)
        set.rows[i].framework = FRAMEWORK_UNKNOWN;
    CHECK_INT(gather(&set, FRAMEWORK_TORCH, &fingerprint, &err),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "no row of the selected networks was measured in "
                        "torch");
    data_set_release(&set);
}

/* The other half of the rows would be wrong by a factor of two. */
TEST(a_fingerprint_keeps_its_framework_and_is_judged_by_rows_of_it)
{
    struct fingerprint_options options = {.framework = FRAMEWORK_TORCH,
                                          .method = METHOD_PHYSICAL,
                                          .n_threads = 1};
    struct selection train = {0}, all = {0};
    struct fingerprint *made = NULL, *read = NULL;
    struct evaluation evaluation = {0};
    struct data_set set = {0};
    struct error err = {0};
    struct str text;

    measure_twice(&set);
    CHECK_STATUS(
        selection_parse(&train, "net0:0,20,40,60,80,net1:0,40,80", &err),
        ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_fit(&set, &train, &options, &made, &err), ASSAY_OK,
                 &err);
    text = write_text(made);
    CHECK_HAS(text.text, "\nframework torch\n");
    CHECK_STATUS(fingerprint_read_text("x.fp", text.text, 1, &read, &err),
                 ASSAY_OK, &err);
    CHECK_INT(fingerprint_framework(read), FRAMEWORK_TORCH);
    CHECK_STATUS(evaluate(&evaluation, read, &set, &all, false, &err), ASSAY_OK,
                 &err);
    CHECK(evaluation.networks[0].stats[TARGET_LATENCY].max < 60);
    evaluation_release(&evaluation);
    fingerprint_free(made);
    fingerprint_free(read);
    str_release(&text);
    selection_release(&train);
    data_set_release(&set);
}

TEST(files_of_other_versions_or_kinds_are_refused)
{
    check_refused("assay fingerprint 1\nend\n", ASSAY_UNSUPPORTED,
                  "version 1, but this program reads versions 4 and 5");
    check_refused("assay fingerprint soon\n", ASSAY_UNSUPPORTED,
                  "version soon");
    check_refused("PK\003\004", ASSAY_BAD_INPUT, "this is not a fingerprint");
    check_refused("", ASSAY_BAD_INPUT, "this is not a fingerprint");
}

TEST(damaged_files_are_refused_with_the_line)
{
    check_refused("assay fingerprint 4\nseed 0\n", ASSAY_BAD_INPUT,
                  "the file is cut off");
    check_refused("assay fingerprint 4\nend\n", ASSAY_BAD_INPUT,
                  "it has no fitted models");
    check_refused("assay fingerprint 4\nseed many\n", ASSAY_BAD_INPUT,
                  "line 2: expected a whole number");
    check_refused("assay fingerprint 4\nconv 1 2\n", ASSAY_BAD_INPUT,
                  "line 2: this must follow a network");
    check_refused("assay fingerprint 4\nnetwork 0 a\nconv 1 2\n",
                  ASSAY_BAD_INPUT, "line 3: the line is too short");
    check_refused("assay fingerprint 4\nnetwork 0 a\n"
                  "conv 3 8 9 9 1 1 0 0 1 4 4 0\n",
                  ASSAY_BAD_INPUT, "line 3: not a possible convolution");
    check_refused("assay fingerprint 4\npart training latency\n",
                  ASSAY_BAD_INPUT, "line 2: a part without rows");
    check_refused("assay fingerprint 4\nsurprise\n", ASSAY_BAD_INPUT,
                  "line 2: unknown line");
}

/* Wherever it is cut. */
TEST(half_a_file_never_passes_for_a_whole_one)
{
    struct data_set set = {0};
    struct fingerprint *made;
    struct str text;

    device_measure(&set, 1, 0.02, 2);
    made = learn(&set, "net0:0,30,60,90");
    text = write_text(made);
    for (size_t n = text.n - 5; n > 0; n = n * 3 / 4) {
        struct fingerprint *read = NULL;
        struct error err = {0};

        text.text[n] = '\0';
        CHECK(fingerprint_read_text("x.fp", text.text, 1, &read, &err) !=
              ASSAY_OK);
        CHECK(!read);
    }
    str_release(&text);
    fingerprint_free(made);
    data_set_release(&set);
}

TEST(too_few_rows_are_refused)
{
    struct fingerprint_options options = {.method = N_METHODS};
    struct selection selection = {0};
    struct data_set set = {0};
    struct fingerprint *fingerprint;
    struct error err = {0};

    device_measure(&set, 1, 0.02, 3);
    CHECK_STATUS(selection_parse(&selection, "net0:90", &err), ASSAY_OK, &err);
    CHECK_STATUS(
        fingerprint_fit(&set, &selection, &options, &fingerprint, &err),
        ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "too few rows to fit");
    selection_release(&selection);
    err = (struct error){0};
    CHECK_STATUS(selection_parse(&selection, "net0,vgg16", &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(
        fingerprint_fit(&set, &selection, &options, &fingerprint, &err),
        ASSAY_BAD_USAGE, &err);
    CHECK_HAS(err.text, "no usable rows of 'vgg16'; there are rows of net0");
    selection_release(&selection);
    data_set_release(&set);
}

TEST(a_network_outside_of_what_was_seen_is_refused_with_the_reason)
{
    struct data_set set = {0};
    struct fingerprint *fingerprint;
    struct description large = {0};
    struct error err = {0};
    const struct description *seen;

    device_measure(&set, 2, 0.02, 4);
    fingerprint = learn(&set, "net0,net1");
    seen = &set.descriptions[data_set_find(&set, "net0", 30)];
    CHECK_STATUS(fingerprint_check(fingerprint, STAGE_TRAINING, seen, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(description_copy(&large, seen, &err), ASSAY_OK, &err);
    large.counts.parameters *= 1000;
    CHECK_STATUS(fingerprint_check(fingerprint, STAGE_TRAINING, &large, &err),
                 ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "parameters");
    CHECK_HAS(err.text, "times the most");
    large.counts.parameters /= 1000;
    for (size_t i = 0; i < large.n_convs; i++)
        large.convs[i].groups = large.convs[i].in = large.convs[i].out = 64;
    err = (struct error){0};
    CHECK_STATUS(fingerprint_check(fingerprint, STAGE_TRAINING, &large, &err),
                 ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "depthwise convolutions");
    description_release(&large);
    CHECK_STATUS(description_copy(&large, seen, &err), ASSAY_OK, &err);
    CHECK_STATUS(description_add_uncounted(&large, "ConvTranspose2d",
                                           description_macs(&large) / 25, &err),
                 ASSAY_OK, &err);
    err = (struct error){0};
    CHECK_STATUS(fingerprint_check(fingerprint, STAGE_TRAINING, &large, &err),
                 ASSAY_OK, &err);
    large.uncounted_macs = description_macs(&large) / 4;
    CHECK_STATUS(fingerprint_check(fingerprint, STAGE_TRAINING, &large, &err),
                 ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "20 % of its multiply-adds are in layers that "
                        "predictions do not count (ConvTranspose2d)");
    description_release(&large);
    fingerprint_free(fingerprint);
    data_set_release(&set);
}

TEST(fits_is_decided_outside_of_the_interval)
{
    struct estimate estimate = {
        .value = 1000, .low = 900, .high = 1100, .demand = 2000};

    /* The interval of the demand is 1800 to 2200. */
    CHECK_INT(estimate_fits(&estimate, 2200), FIT_YES);
    CHECK_INT(estimate_fits(&estimate, 2100), FIT_MAYBE);
    CHECK_INT(estimate_fits(&estimate, 1790), FIT_NO);
    CHECK_INT(estimate_fits(&estimate, NAN), FIT_MAYBE);
}

TEST(a_device_with_less_memory_has_less_that_is_usable)
{
    struct data_set set = {0};
    struct fingerprint *fingerprint;
    double usable;

    device_measure(&set, 2, 0.02, 5);
    fingerprint = learn(&set, "net0,net1");
    usable = fingerprint_usable_mb(fingerprint, STAGE_TRAINING, NAN);
    CHECK_NEAR(usable, DEVICE_LIMIT_MB, 0.12 * DEVICE_LIMIT_MB);
    CHECK_NEAR(fingerprint_usable_mb(fingerprint, STAGE_TRAINING, 600),
               usable - 200, 1e-6);
    fingerprint_free(fingerprint);
    data_set_release(&set);
}

TEST(errors_are_counted_on_unseen_rows)
{
    struct data_set set = {0};
    struct selection all = {0};
    struct evaluation evaluation = {0};
    struct fingerprint *fingerprint;
    struct error err = {0};

    device_measure(&set, 2, 0.02, 6);
    fingerprint = learn(&set, "net0:0,20,40,60,80");
    CHECK_STATUS(evaluate(&evaluation, fingerprint, &set, &all, false, &err),
                 ASSAY_OK, &err);
    CHECK_INT(evaluation.n_networks, 2);
    CHECK_INT(evaluation.n_seen, 5 * 7);
    CHECK(evaluation.networks[0].stats[TARGET_LATENCY].mean < 10);
    CHECK(evaluation.networks[0].stats[TARGET_LATENCY].median <=
          evaluation.networks[0].stats[TARGET_LATENCY].p90);
    CHECK(evaluation.networks[0].stats[TARGET_LATENCY].p90 <=
          evaluation.networks[0].stats[TARGET_LATENCY].max);
    /* One network was seen: the interval for others is unknown. */
    CHECK(isnan(evaluation.networks[1].stats[TARGET_LATENCY].coverage));
    evaluation_release(&evaluation);
    CHECK_STATUS(selection_parse(&all, "net0:0,20", &err), ASSAY_OK, &err);
    CHECK_STATUS(evaluate(&evaluation, fingerprint, &set, &all, false, &err),
                 ASSAY_BAD_USAGE, &err);
    CHECK_HAS(err.text, "made from");
    evaluation_release(&evaluation);
    selection_release(&all);
    fingerprint_free(fingerprint);
    data_set_release(&set);
}

/* The least y of the line of means, the only line of its width. Cairo writes
 * stroke-width:1.4 or, since 1.18, stroke-width="1.4". */
static double highest_mean(const char *svg)
{
    double highest = 1e9, y[2];
    const char *at = svg;

    while ((at = strstr(at, "stroke-width"))) {
        const char *path;

        at += strlen("stroke-width");
        if (strtod(at + strspn(at, ":=\""), NULL) != 1.4)
            continue;
        path = strstr(at, "d=\"M ");
        CHECK(path &&
              sscanf(path, "d=\"M %*f %lf L %*f %lf", &y[0], &y[1]) == 2);
        highest = fmin(highest, fmin(y[0], y[1]));
        at = path;
    }
    return highest;
}

TEST(the_line_of_mean_errors_stays_inside_its_panel)
{
    /* The panels of errors start below those of values. */
    static const double top = 440;
    struct evaluated rows[2];
    struct evaluated_network network = {.name = "net0"};
    struct evaluation evaluation = {
        .networks = &network, .n_networks = 1, .rows = rows, .n_rows = 2};
    struct data_set set = {0};
    struct fingerprint *fingerprint;
    struct error err = {0};
    struct str svg = {0};
    struct sink sink = sink_to_str(&svg);

    for (int i = 0; i < 2; i++)
        rows[i] = (struct evaluated){.target = TARGET_LATENCY,
                                     .batch = 1 + i,
                                     .measured = 100,
                                     .estimate = {.value = 30}};
    device_measure(&set, 1, 0.02, 8);
    fingerprint = learn(&set, "net0");
    CHECK_STATUS(
        evaluation_plot(&evaluation, fingerprint, SHEET_SVG, &sink, &err),
        ASSAY_OK, &err);
    CHECK(highest_mean(str_text(&svg)) >= top);
    CHECK(highest_mean(str_text(&svg)) < 1e9);
    str_release(&svg);
    fingerprint_free(fingerprint);
    data_set_release(&set);
}

TEST(no_failing_allocation_of_a_file_goes_unnoticed)
{
    struct data_set set = {0};
    struct fingerprint *made;
    enum assay_status st = ASSAY_NOMEM;
    struct str text;
    long live;

    device_measure(&set, 1, 0.02, 7);
    made = learn(&set, "net0:0,50,90");
    text = write_text(made);
    live = mem_live();
    /* The forest alone makes hundreds; those belong to its own test. */
    for (long i = 0; st && i < 4000; i += i < 150 ? 1 : 97) {
        struct fingerprint *read = NULL;
        struct error err = {0};

        mem_fail_at(i);
        st = fingerprint_read_text("x.fp", str_text(&text), 1, &read, &err);
        mem_fail_at(-1);
        CHECK(!st || st == ASSAY_NOMEM);
        fingerprint_free(read);
        CHECK_INT(mem_live(), live);
    }
    CHECK_INT(st, ASSAY_OK);
    str_release(&text);
    fingerprint_free(made);
    data_set_release(&set);
}

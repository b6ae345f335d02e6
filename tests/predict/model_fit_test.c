/* tests/predict/model_fit_test.c - least squares, and the models fitted by
 * them. */
#include "device.h"

#include "base/mem.h"
#include "predict/calibration.h"
#include "predict/physical_internal.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* ---- least squares ------------------------------------------------------- */

/* Rosenbrock's valley: the minimum is at (1, 1). */
static void rosenbrock(const void *context, const double *p, double *out)
{
    (void)context;
    out[0] = 10 * (p[1] - p[0] * p[0]);
    out[1] = 1 - p[0];
}

TEST(the_bottom_of_a_curved_valley_is_found)
{
    struct least_squares problem = {
        .n_parameters = 2, .n_residuals = 2, .residuals = rosenbrock};
    double p[] = {-1.2, 1}, cost;
    struct error err = {0};

    CHECK_STATUS(least_squares_solve(&problem, p, &cost, &err), ASSAY_OK, &err);
    CHECK_NEAR(p[0], 1, 1e-6);
    CHECK_NEAR(p[1], 1, 1e-6);
    CHECK(cost < 1e-10);
}

/* y = a + b x through (0,1), (1,3), (2,4), (3,4): by the normal equations a =
 * 1.5, b = 1. */
static void straight(const void *context, const double *p, double *out)
{
    static const double y[] = {1, 3, 4, 4};

    (void)context;
    for (int i = 0; i < 4; i++)
        out[i] = p[0] + p[1] * i - y[i];
}

TEST(a_line_is_fitted_as_the_normal_equations_do)
{
    struct least_squares problem = {
        .n_parameters = 2, .n_residuals = 4, .residuals = straight};
    double p[] = {10, -10}, cost;
    struct error err = {0};

    CHECK_STATUS(least_squares_solve(&problem, p, &cost, &err), ASSAY_OK, &err);
    CHECK_NEAR(p[0], 1.5, 1e-6);
    CHECK_NEAR(p[1], 1, 1e-6);
    CHECK_NEAR(cost, 0.25 + 0.25 + 0.25 + 0.25, 1e-6);
}

TEST(outliers_pull_less_than_their_square)
{
    CHECK_NEAR(least_squares_huber(1e-4, 0.1), 1e-4, 1e-8);
    CHECK_NEAR(least_squares_huber(-1e-4, 0.1), -1e-4, 1e-8);
    /* 2 c (r - c) for r far beyond c. */
    CHECK_NEAR(pow(least_squares_huber(10, 0.1), 2), 0.2 * (10 - 0.1), 1e-3);
}

/* ---- models -------------------------------------------------------------- */

struct wanted {
    int64_t first, step; /* levels first, first + step ... below 90, or all */
    const char *network; /* NULL: all */
    bool is_inverse;     /* all but this one */
};

static bool takes(const struct measurement *row,
                  const struct description *network, const void *context)
{
    const struct wanted *wanted = context;
    bool is_named =
        !wanted->network ||
        (network->network[3] == wanted->network[3]) != wanted->is_inverse;

    (void)row;
    return is_named && network->level % wanted->step == wanted->first &&
           (wanted->step == 10 || network->level < 90);
}

static struct data_points take(const struct data_set *set, enum target target,
                               struct wanted wanted)
{
    struct data_points points = {.target = target};
    struct error err = {0};

    CHECK_STATUS(points_take(&points, set, takes, &wanted, &err), ASSAY_OK,
                 &err);
    return points;
}

static double mean_error(const struct predictor *predictor, enum method method,
                         const struct data_points *points, bool is_seen)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < points->n; i++) {
        const struct data_point *point = &points->items[i];
        const struct family *family =
            is_seen ? predictor_family(predictor, point->description->network)
                    : NULL;

        if (point->is_bound)
            continue;
        sum += fabs(predictor_predict(predictor, method, family,
                                      point->description, point->batch) /
                        point->value -
                    1);
        n++;
    }
    return sum / n;
}

/* Levels 0, 20, 40, 60, 80 predict 10, 30, 50, 70. */
TEST(levels_between_are_predicted_from_their_neighbours)
{
    static const double bars[N_METHODS] = {
        [METHOD_PHYSICAL] = 0.15, [METHOD_FOREST] = 0.15,
        [METHOD_HYBRID] = 0.15,   [METHOD_CURVE] = 0.04,
        [METHOD_BLEND] = 0.07,
    };
    struct predictor_options options = {.needs_correction = true,
                                        .needs_families = true};
    struct data_set set = {0};
    struct error err = {0};

    device_measure(&set, 1, 0.01, 1);
    for (int t = 0; t < N_TARGETS; t++) {
        struct data_points train =
            take(&set, (enum target)t, (struct wanted){0, 20, NULL, false});
        struct data_points test =
            take(&set, (enum target)t, (struct wanted){10, 20, NULL, false});
        struct predictor predictor = {0};

        CHECK_STATUS(predictor_fit(&predictor, &train, &options, &err),
                     ASSAY_OK, &err);
        for (int m = 0; m < N_METHODS; m++)
            CHECK(mean_error(&predictor, (enum method)m, &test, true) <
                  bars[m]);
        predictor_release(&predictor);
        points_release(&train);
        points_release(&test);
    }
    data_set_release(&set);
}

TEST(an_unseen_network_is_predicted_from_its_layers)
{
    struct predictor_options options = {0};
    struct data_set set = {0};
    struct error err = {0};

    device_measure(&set, 4, 0.01, 2);
    for (int t = 0; t < N_TARGETS; t++) {
        struct data_points train =
            take(&set, (enum target)t, (struct wanted){0, 10, "net3", true});
        struct data_points test =
            take(&set, (enum target)t, (struct wanted){0, 10, "net3", false});
        struct predictor predictor = {0};
        double physical, forest;

        CHECK_STATUS(predictor_fit(&predictor, &train, &options, &err),
                     ASSAY_OK, &err);
        physical = mean_error(&predictor, METHOD_PHYSICAL, &test, false);
        forest = mean_error(&predictor, METHOD_FOREST, &test, false);
        CHECK(physical < (t == TARGET_LATENCY ? 0.2 : 0.03));
        CHECK(t == TARGET_LATENCY || physical < forest);
        predictor_release(&predictor);
        points_release(&train);
        points_release(&test);
    }
    data_set_release(&set);
}

/* A device with 16 lanes: partly filled lanes cost as much as full ones. */
static double in_lanes(const struct description *network, double batch)
{
    double macs = 0, elements = 0;

    for (size_t i = 0; i < network->n_convs; i++) {
        const struct conv_row *conv = &network->convs[i];
        double in = i ? ceil((double)conv->in / 16) * 16 : (double)conv->in;
        double out = ceil((double)conv->out / 16) * 16;
        double pixels = (double)(conv_out(conv, 0) * conv_out(conv, 1));

        macs += in * out * pixels * (double)(conv->kernel[0] * conv->kernel[1]);
        elements += out * pixels;
    }
    return 0.1 + batch * (3 * macs / 2e8 + 20 * elements / 1e7);
}

/* A GPU: a network takes as long as launching it, unless its kernels take
 * longer. Channels that cannot be loaded four at a time take twice as long. */
static double on_tensor_cores(const struct description *network, double batch)
{
    double macs = 0, elements = 0;

    for (size_t i = 0; i < network->n_convs; i++) {
        const struct conv_row *conv = &network->convs[i];
        double pixels = (double)(conv_out(conv, 0) * conv_out(conv, 1));
        bool is_whole = conv->out % 4 == 0 && (i == 0 || conv->in % 4 == 0);

        macs += (is_whole ? 1 : 2) * (double)(conv->in * conv->out) * pixels *
                (double)(conv->kernel[0] * conv->kernel[1]);
        elements += (double)conv->out * pixels;
    }
    return fmax(batch * (3 * macs / 1e9 + 20 * elements / 5e8),
                0.05 * (double)network->n_convs);
}

/* Of levels 10, 30, 50, 70 and 90, learned from the others; costs are those of
 * a made-up device, which says so much about itself. */
static double error_on_device(const struct data_set *set,
                              double (*cost)(const struct description *network,
                                             double batch),
                              double lane, double multiprocessors)
{
    struct predictor_options options = {.needs_families = true};
    struct data_points train =
        take(set, TARGET_LATENCY, (struct wanted){0, 20, NULL, false});
    struct data_points test =
        take(set, TARGET_LATENCY, (struct wanted){10, 20, NULL, false});
    struct predictor predictor = {0};
    struct error err = {0};
    double error;

    train.lane = lane;
    train.multiprocessors = multiprocessors;
    for (size_t i = 0; i < train.n; i++)
        train.items[i].value =
            cost(train.items[i].description, train.items[i].batch);
    for (size_t i = 0; i < test.n; i++)
        test.items[i].value =
            cost(test.items[i].description, test.items[i].batch);
    CHECK_STATUS(predictor_fit(&predictor, &train, &options, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(physical_lane(&predictor.physical), fmax(lane, 1), 0);
    error = mean_error(&predictor, METHOD_PHYSICAL, &test, true);
    predictor_release(&predictor);
    points_release(&train);
    points_release(&test);
    return error;
}

TEST(a_device_that_computes_in_lanes_is_predicted_by_whole_lanes)
{
    struct data_set set = {0};
    double with, without;

    device_measure(&set, 2, 0.01, 5);
    with = error_on_device(&set, in_lanes, 16, 0);
    without = error_on_device(&set, in_lanes, 0, 0);
    CHECK(with < 0.03);
    CHECK(without > 2 * with);
    data_set_release(&set);
}

TEST(a_gpu_is_predicted_by_channels_that_tensor_cores_take_whole)
{
    struct data_set set = {0};
    double with, without;

    device_measure(&set, 2, 0.01, 5);
    with = error_on_device(&set, on_tensor_cores, 0, 2);
    without = error_on_device(&set, on_tensor_cores, 0, 0);
    CHECK(with < 0.12);
    CHECK(without > 1.5 * with);
    data_set_release(&set);
}

static double parameter_of(const struct physical *physical, const char *name)
{
    for (size_t i = 0; i < physical_count(physical); i++) {
        if (strcmp(physical_name(physical, i), name) == 0)
            return exp(physical->log_value[i]);
    }
    return NAN;
}

/* Rows that are all launches say nothing about arithmetic: a multiprocessor
 * does 512 multiply-adds in a clock of 1.6 GHz, more or less. */
TEST(what_a_gpu_s_arithmetic_takes_is_about_known_from_its_multiprocessors)
{
    struct predictor_options options = {0};
    struct predictor predictor = {0};
    struct data_set set = {0};
    struct data_points points;
    struct error err = {0};

    device_measure(&set, 2, 0, 5);
    points = take(&set, TARGET_LATENCY, (struct wanted){0, 10, NULL, false});
    points.multiprocessors = 132;
    for (size_t i = 0; i < points.n; i++)
        points.items[i].value =
            10 * (double)points.items[i].description->n_convs;
    CHECK_STATUS(predictor_fit(&predictor, &points, &options, &err), ASSAY_OK,
                 &err);
    CHECK(parameter_of(&predictor.physical, "rate_1x1") > 0.003);
    CHECK(parameter_of(&predictor.physical, "rate_1x1") < 0.03);
    predictor_release(&predictor);
    points_release(&points);
    data_set_release(&set);
}

/* The pool of network k holds 10 (k + 1) MB and 3 for each image. */
static void walk_pools(struct data_set *set)
{
    for (size_t k = 0; k < set->n_descriptions; k++) {
        struct image_counts *counts = &set->descriptions[k].counts;

        for (int i = 0; i < WALKED_BATCHES; i++)
            counts->own_training[i] = counts->own_inference[i] =
                10 * (double)(k + 1) + 3 * (double)(1 << i);
    }
}

TEST(a_gpu_s_memory_is_what_its_pool_was_found_to_hold)
{
    struct predictor_options options = {.needs_doubt = true, .n_trees = 1};
    struct predictor predictor = {0};
    struct data_set set = {0};
    struct data_points points;
    struct error err = {0};

    device_measure(&set, 2, 0, 5);
    walk_pools(&set);
    points = take(&set, TARGET_MEMORY, (struct wanted){0, 10, NULL, false});
    points.multiprocessors = 132;
    points.is_fused = true;
    for (size_t i = 0; i < points.n; i++) {
        struct data_point *point = &points.items[i];

        point->is_bound = false;
        point->value =
            10 * (double)(point->description - set.descriptions + 1) +
            3 * point->batch;
    }
    CHECK_STATUS(predictor_fit(&predictor, &points, &options, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(physical_predict(&predictor.physical, &set.descriptions[0], 48),
               10 + 3 * 48, 1.5);
    CHECK_NEAR(physical_predict(&predictor.physical, &set.descriptions[1], 160),
               20 + 3 * 160, 5);
    /* All rows are exact; that the next will be, nobody knows. */
    CHECK(predictor_doubt(&predictor, &set.descriptions[0], 8) >= 0.05);
    predictor_release(&predictor);
    points_release(&points);
    data_set_release(&set);
}

TEST(predicting_a_latency_needs_no_memory)
{
    static const double lanes[] = {1, 16};
    const struct conv_row conv = {.in = 3,
                                  .out = 20,
                                  .kernel = {3, 3},
                                  .stride = {1, 1},
                                  .pad = {1, 1},
                                  .groups = 1,
                                  .size = {8, 8}};
    struct physical physical = {.target = TARGET_LATENCY};
    struct description description = {0};
    struct error err = {0};

    for (int i = 0; i < 2; i++)
        CHECK_STATUS(description_add_conv(&description, &conv, &err), ASSAY_OK,
                     &err);
    for (int i = 0; i < 2; i++) {
        double with, without;

        physical.log_value[physical_count(&physical) - 1] = log(lanes[i]);
        with = physical_predict(&physical, &description, 4);
        mem_fail_at(0);
        without = physical_predict(&physical, &description, 4);
        mem_fail_at(-1);
        CHECK(with > 0);
        CHECK_NEAR(without, with, 0);
    }
    description_release(&description);
}

/* Failed runs show that the demand was above the limit; the model's limit must
 * end up there. */
TEST(failed_runs_show_where_the_limit_is)
{
    struct data_set set = {0};
    struct data_points points, passed = {.target = TARGET_MEMORY};
    struct physical with, without;
    struct error err = {0};
    size_t n_failed = 0, n_right = 0;

    device_measure(&set, 3, 0.01, 3);
    points = take(&set, TARGET_MEMORY, (struct wanted){0, 10, NULL, false});
    CHECK_STATUS(physical_fit(&with, &points, 200, NULL, &err), ASSAY_OK, &err);
    CHECK_NEAR(physical_limit(&with), DEVICE_LIMIT_MB, 0.06 * DEVICE_LIMIT_MB);
    for (size_t i = 0; i < points.n; i++) {
        const struct data_point *point = &points.items[i];

        n_failed += point->is_bound;
        n_right += (physical_demand(&with, point->description, point->batch) >
                    physical_limit(&with)) == point->is_bound;
        if (!point->is_bound)
            CHECK_STATUS(points_add(&passed, point, &err), ASSAY_OK, &err);
    }
    CHECK(n_failed > 10);
    CHECK((double)n_right > 0.95 * (double)points.n);
    /* If nothing failed, no limit is known. */
    CHECK_STATUS(physical_fit(&without, &passed, 200, NULL, &err), ASSAY_OK,
                 &err);
    CHECK(isnan(physical_limit(&without)));
    points_release(&points);
    points_release(&passed);
    data_set_release(&set);
}

/* Latencies of batches 1, 8 and 32 of two levels. */
static struct data_points take_six(struct data_set *set, double multiprocessors)
{
    static const double ms[2][3] = {{5, 2, 3}, {1, 4, 8}};
    struct data_points points = {.target = TARGET_LATENCY,
                                 .multiprocessors = multiprocessors};
    struct error err = {0};

    for (int level = 0; level < 2; level++) {
        for (int i = 0; i < 3; i++) {
            struct measurement row = {.batch = i ? 8 << 2 * (i - 1) : 1,
                                      .value = {ms[level][i], NAN}};

            CHECK_STATUS(
                data_set_describe(set, "net", level, &row.description, &err),
                ASSAY_OK, &err);
            CHECK_STATUS(data_set_add_row(set, &row, &err), ASSAY_OK, &err);
        }
    }
    CHECK_STATUS(points_take(&points, set, NULL, NULL, &err), ASSAY_OK, &err);
    return points;
}

TEST(a_larger_batch_that_took_less_shows_that_a_gpu_s_test_was_disturbed)
{
    static const double settled[] = {2, 2, 3, 1, 4, 8};
    static const double measured[] = {5, 2, 3, 1, 4, 8};

    for (int is_gpu = 0; is_gpu < 2; is_gpu++) {
        struct data_set set = {0};
        struct data_points points = take_six(&set, is_gpu ? 132 : 0);

        CHECK_INT(points.n, 6);
        for (size_t i = 0; i < points.n; i++) {
            CHECK_NEAR(points.items[i].value, is_gpu ? settled[i] : measured[i],
                       0);
            CHECK_NEAR(points.items[i].measured, measured[i], 0);
        }
        points_release(&points);
        data_set_release(&set);
    }
}

TEST(an_unknown_level_follows_from_the_multiply_adds)
{
    struct predictor_options options = {.needs_families = true};
    struct data_set set = {0};
    struct predictor predictor = {0};
    struct description description;
    struct data_points points;
    struct error err = {0};
    const struct family *family;

    device_measure(&set, 1, 0.01, 4);
    points = take(&set, TARGET_LATENCY, (struct wanted){0, 20, NULL, false});
    CHECK_STATUS(predictor_fit(&predictor, &points, &options, &err), ASSAY_OK,
                 &err);
    family = predictor_family(&predictor, "net0");
    CHECK(family != NULL);
    description = set.descriptions[data_set_find(&set, "net0", 30)];
    description.level = -1;
    CHECK_NEAR(family_level(family, &description), 30, 2);
    CHECK_NEAR(family_distance(family, 30), 10, 0);
    description = set.descriptions[data_set_find(&set, "net0", 0)];
    description.level = -1;
    CHECK_NEAR(family_level(family, &description), 0, 0);
    CHECK(!predictor_family(&predictor, "net1"));
    predictor_release(&predictor);
    points_release(&points);
    data_set_release(&set);
}

/* ---- calibration --------------------------------------------------------- */

/* The share of rows of levels in between that lie in their interval. */
static double covered(const struct data_set *set, enum target target,
                      enum sight sight, struct wanted train_on,
                      struct wanted test_on)
{
    struct predictor_options options = {.needs_correction = true,
                                        .needs_families = true};
    struct data_points train = take(set, target, train_on);
    struct data_points test = take(set, target, test_on);
    struct calibration calibration[N_SIGHTS];
    struct predictor predictor = {0};
    struct error err = {0};
    double inside = 0, n = 0;

    CHECK_STATUS(calibrate(&train, &options, N_METHODS, calibration, &err),
                 ASSAY_OK, &err);
    CHECK(calibration[sight].is_known);
    CHECK_STATUS(predictor_fit(&predictor, &train, &options, &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < test.n; i++) {
        const struct data_point *point = &test.items[i];
        const struct family *family =
            sight == SIGHT_LEVELS
                ? predictor_family(&predictor, point->description->network)
                : NULL;
        double distance =
            family ? family_distance(family, (double)point->description->level)
                   : 0;

        if (point->is_bound)
            continue;
        inside += fabs(log(predictor_predict(&predictor,
                                             calibration[sight].method, family,
                                             point->description, point->batch) /
                           point->value)) <=
                  calibration_width(&calibration[sight], distance);
        n++;
    }
    predictor_release(&predictor);
    points_release(&train);
    points_release(&test);
    return inside / n;
}

/* For errors that are mostly noise; intervals are somewhat narrower for levels
 * nearer than those held back. */
TEST(intervals_of_levels_hold_as_many_rows_as_they_claim)
{
    double sum = 0;

    for (uint64_t seed = 10; seed < 40; seed++) {
        struct data_set set = {0};

        device_measure(&set, 1, 0.08, seed);
        sum += covered(&set, TARGET_LATENCY, SIGHT_LEVELS,
                       (struct wanted){0, 20, NULL, false},
                       (struct wanted){10, 20, NULL, false});
        data_set_release(&set);
    }
    CHECK_NEAR(sum / 30, 0.88, 0.06);
}

TEST(intervals_of_unseen_networks_hold_most_rows)
{
    struct data_set set = {0};

    device_measure(&set, 4, 0.05, 20);
    for (int t = 0; t < N_TARGETS; t++)
        CHECK(covered(&set, (enum target)t, SIGHT_NETWORKS,
                      (struct wanted){0, 10, "net2", true},
                      (struct wanted){0, 10, "net2", false}) >= 0.85);
    data_set_release(&set);
}

TEST(a_single_network_says_nothing_about_others)
{
    struct predictor_options options = {.needs_families = true};
    struct calibration calibration[N_SIGHTS];
    struct data_set set = {0};
    struct data_points points;
    struct error err = {0};

    device_measure(&set, 1, 0.02, 30);
    points = take(&set, TARGET_LATENCY, (struct wanted){0, 20, NULL, false});
    CHECK_STATUS(calibrate(&points, &options, N_METHODS, calibration, &err),
                 ASSAY_OK, &err);
    CHECK(calibration[SIGHT_LEVELS].is_known);
    CHECK(!calibration[SIGHT_NETWORKS].is_known);
    CHECK(isnan(calibration[SIGHT_NETWORKS].width));
    /* A requested method is used if it can be. */
    CHECK_STATUS(calibrate(&points, &options, METHOD_CURVE, calibration, &err),
                 ASSAY_OK, &err);
    CHECK_INT(calibration[SIGHT_LEVELS].method, METHOD_CURVE);
    CHECK_INT(calibration[SIGHT_NETWORKS].method, METHOD_PHYSICAL);
    points_release(&points);
    data_set_release(&set);
}

/* Nothing was measured with depthwise convolutions, so how long they take is as
 * uncertain as before: by a factor of about e. */
TEST(a_model_doubts_what_no_row_says_anything_about)
{
    const struct conv_row depthwise = {.in = 64,
                                       .out = 64,
                                       .kernel = {3, 3},
                                       .stride = {1, 1},
                                       .pad = {1, 1},
                                       .groups = 64,
                                       .size = {56, 56}};
    struct predictor_options options = {.needs_doubt = true, .n_trees = 1};
    struct description unlike = {0};
    struct predictor predictor = {0};
    struct data_set set = {0};
    struct data_points points;
    struct error err = {0};
    double seen;

    device_measure(&set, 3, 0.02, 20);
    points = take(&set, TARGET_LATENCY, (struct wanted){0, 10, NULL, false});
    CHECK_STATUS(predictor_fit(&predictor, &points, &options, &err), ASSAY_OK,
                 &err);
    seen = predictor_doubt(&predictor, points.items[0].description, 32);
    CHECK(seen > 0 && seen < 0.2);
    for (int i = 0; i < 20; i++)
        CHECK_INT(description_add_conv(&unlike, &depthwise, NULL), ASSAY_OK);
    CHECK(predictor_doubt(&predictor, &unlike, 512) > 0.5);
    description_release(&unlike);
    predictor_release(&predictor);
    points_release(&points);
    data_set_release(&set);
}

TEST(a_doubt_that_was_not_asked_for_is_unknown)
{
    const struct predictor none = {0};
    const struct description network = {0};

    CHECK(isnan(predictor_doubt(&none, &network, 1)));
}

/* ---- branches ------------------------------------------------------------ */

/* A device without launch times, on which an elementwise layer takes 100 ms per
 * G elements and nothing else takes long. */
static struct physical slow_elements(enum stage stage)
{
    struct physical physical = {.target = TARGET_LATENCY, .stage = stage};

    for (size_t i = 0; i < physical_count(&physical); i++) {
        const char *name = physical_name(&physical, i);

        physical.log_value[i] = log(1e-9);
        if (strcmp(name, "elementwise") == 0)
            physical.log_value[i] = log(100);
        if (strcmp(name, "lane") == 0)
            physical.log_value[i] = 0;
    }
    return physical;
}

static double elementwise_ms(const struct conv_row *convs, size_t n,
                             double concat_elements, enum stage stage)
{
    struct description network = {0};
    struct physical physical = slow_elements(stage);
    double ms;

    for (size_t i = 0; i < n; i++)
        CHECK_INT(description_add_conv(&network, &convs[i], NULL), ASSAY_OK);
    network.counts.concat_elements = concat_elements;
    network.counts.n_concat = concat_elements > 0;
    ms = physical_predict(&physical, &network, 1000);
    description_release(&network);
    return ms;
}

#define CONV_1X1(from, to, side, bias)                                         \
    {                                                                          \
        .in = from, .out = to, .kernel = {1, 1}, .stride = {1, 1},             \
        .groups = 1, .size = {side, side}, .has_bias = bias                    \
    }

/* 64 channels of 50x50 are 160000 elements, 0.16 G in a batch of 1000: adding
 * the bias reads and writes them, its gradient reads them. */
TEST(a_bias_is_added_and_its_gradient_summed_in_passes_of_their_own)
{
    const struct conv_row biased = CONV_1X1(3, 64, 50, true);
    const struct conv_row plain = CONV_1X1(3, 64, 50, false);

    CHECK_NEAR(elementwise_ms(&biased, 1, 0, STAGE_TRAINING), 48, 0.01);
    CHECK_NEAR(elementwise_ms(&biased, 1, 0, STAGE_INFERENCE), 32, 0.01);
    CHECK_NEAR(elementwise_ms(&plain, 1, 0, STAGE_TRAINING), 0, 0.01);
}

/* Squeeze to 16, expand to 32 twice, concatenate to 64: both expansions read
 * the 40000 elements of the squeezed map, so that one addition of gradients
 * reads two and writes one; the next layer is the only reader of the
 * concatenation, whose 160000 elements are moved three times: read, written,
 * and half of the time copied back for the gradients. */
TEST(gradients_are_added_where_branches_read_one_map)
{
    const struct conv_row convs[] = {
        CONV_1X1(64, 16, 50, false), CONV_1X1(16, 32, 50, false),
        CONV_1X1(16, 32, 50, false), CONV_1X1(64, 16, 50, false)};

    CHECK_NEAR(elementwise_ms(convs, 4, 160000, STAGE_TRAINING),
               (3 * 0.16 + 3 * 0.04) * 100, 0.01);
    CHECK_NEAR(elementwise_ms(convs, 4, 160000, STAGE_INFERENCE),
               2 * 0.16 * 100, 0.01);
    /* Without concatenations the additions are layers that are counted. */
    CHECK_NEAR(elementwise_ms(convs, 4, 0, STAGE_TRAINING), 0, 0.01);
}

/* ---- launches on a GPU --------------------------------------------------- */

/* A GPU on which copies for convolutions take a ms each to launch, nothing
 * runs for long, and factors are one. */
static struct physical slow_copies(enum stage stage, bool is_own)
{
    struct physical physical = {.target = TARGET_LATENCY,
                                .stage = stage,
                                .multiprocessors = 132,
                                .is_own = is_own};

    for (size_t i = 0; i < physical_count(&physical); i++) {
        const char *name = physical_name(&physical, i);

        physical.log_value[i] =
            strcmp(name, "launch_ragged") == 0 ? 0 : log(1e-9);
    }
    return physical;
}

static double copies_ms(int64_t channels, enum stage stage, bool is_own)
{
    const struct conv_row convs[] = {CONV_1X1(3, channels, 8, false),
                                     CONV_1X1(channels, channels, 8, false)};
    struct description network = {0};
    struct physical physical = slow_copies(stage, is_own);
    double ms;

    for (size_t i = 0; i < 2; i++)
        CHECK_INT(description_add_conv(&network, &convs[i], NULL), ASSAY_OK);
    ms = physical_predict(&physical, &network, 1);
    description_release(&network);
    return ms;
}

/* Two convolutions are two kernels, and in training three more: both by
 * weights, one by input. This program's engine pads maps, but has its weights
 * to pad, too, where they change. */
TEST(channels_that_do_not_come_in_fours_need_more_launches)
{
    CHECK_NEAR(copies_ms(45, STAGE_TRAINING, true), 5, 0.01);
    CHECK_NEAR(copies_ms(46, STAGE_TRAINING, true), 5, 0.01);
    CHECK_NEAR(copies_ms(44, STAGE_TRAINING, true), 0, 0.01);
    CHECK_NEAR(copies_ms(45, STAGE_INFERENCE, true), 0, 0.01);
    CHECK_NEAR(copies_ms(45, STAGE_INFERENCE, false), 2, 0.01);
    CHECK_NEAR(copies_ms(45, STAGE_TRAINING, false), 5, 0.01);
}

/* In inference a thousand million elements are read and written, in training
 * back again and once more where gradients meet. One that is moved by itself
 * takes three times as long. */
static double concat_ms(int64_t channels, enum stage stage)
{
    const struct conv_row conv = CONV_1X1(3, channels, 8, false);
    struct description network = {.counts.concat_elements = 1e9};
    struct physical physical = slow_copies(stage, true);
    double ms;

    for (size_t i = 0; i < physical_count(&physical); i++) {
        const char *name = physical_name(&physical, i);

        physical.log_value[i] = strcmp(name, "elementwise") == 0 ? 0
                                : strcmp(name, "ragged") == 0    ? log(3)
                                                                 : log(1e-9);
    }
    CHECK_INT(description_add_conv(&network, &conv, NULL), ASSAY_OK);
    ms = physical_predict(&physical, &network, 1);
    description_release(&network);
    return ms;
}

TEST(pieces_whose_channels_do_not_come_in_fours_take_longer_to_join)
{
    CHECK_NEAR(concat_ms(44, STAGE_INFERENCE), 2, 0.01);
    CHECK_NEAR(concat_ms(45, STAGE_INFERENCE), 2 + 2 * 2, 0.01);
    CHECK_NEAR(concat_ms(44, STAGE_TRAINING), 3, 0.01);
    CHECK_NEAR(concat_ms(46, STAGE_TRAINING), 3 + 2 * 4, 0.01);
}

TEST(a_fingerprint_from_before_launches_of_copies_has_none)
{
    struct data_points points = {.target = TARGET_LATENCY,
                                 .multiprocessors = 132};
    struct physical physical = physical_for(&points);

    CHECK(parameter_of(&physical, "launch_ragged") < 1e-6);
}

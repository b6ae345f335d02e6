/* tests/predict/tx2_test.c - predictions for a Jetson TX2, of rows that the
 * fingerprints were not made from. */
#include "predict/fingerprint_eval.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const networks[] = {"mnasnet", "mobilenetv2", "resnet18",
                                       "resnet50"};

enum { n_networks = 4 };

static struct data_set read_tx2(void)
{
    const char *folder = test_shared("tx2");
    struct data_set set = {0};
    struct error err = {0};

    if (!folder)
        SKIP("../shared/data/tx2 is missing");
    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    return set;
}

/* Learns from some networks and levels, and predicts others. */
static void predict(const struct data_set *set, const char *train,
                    const char *nets, struct evaluation *evaluation)
{
    struct fingerprint_options options = {.method = N_METHODS, .n_threads = 2};
    struct selection from = {0}, of = {0};
    struct fingerprint *fingerprint = NULL;
    struct error err = {0};

    CHECK_STATUS(selection_parse(&from, train, &err), ASSAY_OK, &err);
    CHECK_STATUS(selection_parse(&of, nets, &err), ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_fit(set, &from, &options, &fingerprint, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(evaluate(evaluation, fingerprint, set, &of, false, &err),
                 ASSAY_OK, &err);
    CHECK_INT(evaluation->n_networks, 1);
    fingerprint_free(fingerprint);
    selection_release(&from);
    selection_release(&of);
}

/* Means over the networks. */
struct means {
    double error[N_TARGETS], coverage[N_TARGETS], width[N_TARGETS];
    size_t n_right, n_wrong;
};

static void add(struct means *means, const struct evaluation *evaluation)
{
    for (int t = 0; t < N_TARGETS; t++) {
        const struct error_stats *own = &evaluation->networks[0].stats[t];

        CHECK(own->n > 100);
        means->error[t] += own->mean / n_networks;
        means->coverage[t] += own->coverage / n_networks;
        means->width[t] += own->width / n_networks;
    }
    means->n_right += evaluation->n_right;
    means->n_wrong += evaluation->n_wrong;
}

TEST(levels_between_are_predicted_within_the_bars)
{
    struct data_set set = read_tx2();
    struct means means = {0};

    for (size_t i = 0; i < n_networks; i++) {
        struct evaluation evaluation = {0};
        char train[64], nets[64];

        snprintf(train, sizeof train, "%s:0,30,50,70,90", networks[i]);
        snprintf(nets, sizeof nets, "%s:5..85", networks[i]);
        predict(&set, train, nets, &evaluation);
        CHECK(evaluation.n_seen > 0);
        add(&means, &evaluation);
        evaluation_release(&evaluation);
    }
    CHECK(means.error[TARGET_LATENCY] <= 4.1);
    CHECK(means.error[TARGET_MEMORY] <= 3.0);
    for (int t = 0; t < N_TARGETS; t++)
        CHECK(means.coverage[t] >= 85 && means.coverage[t] <= 95);
    CHECK(means.n_right >= 19 * means.n_wrong);
    data_set_release(&set);
}

TEST(an_unseen_network_is_predicted_within_the_bars)
{
    struct data_set set = read_tx2();
    struct means means = {0};

    for (size_t i = 0; i < n_networks; i++) {
        struct evaluation evaluation = {0};
        struct str train = {0};

        for (size_t k = 0; k < n_networks; k++) {
            if (k != i)
                CHECK(!str_printf(&train, "%s%s", train.n ? "," : "",
                                  networks[k]));
        }
        predict(&set, str_text(&train), networks[i], &evaluation);
        add(&means, &evaluation);
        evaluation_release(&evaluation);
        str_release(&train);
    }
    CHECK(means.error[TARGET_LATENCY] <= 6.5);
    CHECK(means.error[TARGET_MEMORY] <= 4.5);
    for (int t = 0; t < N_TARGETS; t++) {
        CHECK(means.coverage[t] >= 85 && means.coverage[t] <= 95);
        CHECK(means.width[t] <= 30);
    }
    CHECK(means.n_right >= 19 * means.n_wrong);
    data_set_release(&set);
}

/* Fitted to two networks, which may have no depthwise convolutions, or hardly
 * any but those: what the rows say nothing about is as uncertain as before. */
TEST(the_less_was_learned_from_the_wider_are_the_intervals)
{
    struct data_set set = read_tx2();
    struct evaluation like = {0}, unlike = {0};

    predict(&set, "mnasnet,resnet18", "mobilenetv2", &like);
    predict(&set, "resnet18,resnet50", "mobilenetv2", &unlike);
    CHECK(unlike.networks[0].stats[TARGET_LATENCY].width >
          1.5 * like.networks[0].stats[TARGET_LATENCY].width);
    CHECK(unlike.networks[0].stats[TARGET_LATENCY].coverage >= 80);
    CHECK(like.networks[0].stats[TARGET_LATENCY].coverage >= 70);
    evaluation_release(&like);
    evaluation_release(&unlike);
    data_set_release(&set);
}

/* The fit of three networks announces what to expect of others. It knows
 * little, so the network that it has not seen must be below what it says of 9
 * in 10. */
TEST(the_announced_error_holds_for_a_network_that_was_not_used)
{
    struct data_set set = read_tx2();
    struct fingerprint_options options = {.method = N_METHODS, .n_threads = 2};
    struct fingerprint *fingerprint = NULL;
    struct evaluation evaluation = {0};
    struct selection from = {0}, of = {0};
    struct error err = {0};

    CHECK_STATUS(selection_parse(&from, "mnasnet,mobilenetv2,resnet18", &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(selection_parse(&of, "resnet50", &err), ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_fit(&set, &from, &options, &fingerprint, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(evaluate(&evaluation, fingerprint, &set, &of, false, &err),
                 ASSAY_OK, &err);
    for (int t = 0; t < N_TARGETS; t++) {
        const struct calibration *own = fingerprint_calibration(
            fingerprint, STAGE_TRAINING, (enum target)t, SIGHT_NETWORKS);

        CHECK(own->announced > 0 && own->announced < own->most);
        CHECK(evaluation.networks[0].stats[t].mean < 100 * own->most);
        CHECK(evaluation.networks[0].stats[t].width > 0);
    }
    evaluation_release(&evaluation);
    fingerprint_free(fingerprint);
    selection_release(&from);
    selection_release(&of);
    data_set_release(&set);
}

/* Four times the images take four times as long, even beyond everything that
 * was measured, where a forest cannot predict. */
TEST(batches_far_beyond_the_measured_ones_cost_as_much_as_their_work)
{
    struct data_set set = read_tx2();
    struct fingerprint_options options = {.method = METHOD_BLEND,
                                          .n_threads = 2};
    size_t own = data_set_find(&set, "resnet50", 30);
    struct estimate small, large;
    struct fingerprint *fingerprint = NULL;
    struct selection all = {0};
    struct error err = {0};

    CHECK_STATUS(fingerprint_fit(&set, &all, &options, &fingerprint, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_predict(fingerprint, STAGE_TRAINING,
                                     TARGET_LATENCY, &set.descriptions[own], 64,
                                     &small, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(fingerprint_predict(fingerprint, STAGE_TRAINING,
                                     TARGET_LATENCY, &set.descriptions[own],
                                     256, &large, &err),
                 ASSAY_OK, &err);
    CHECK_NEAR(large.value / small.value, 4, 0.4);
    fingerprint_free(fingerprint);
    data_set_release(&set);
}

/* bench/campaign_bench.c - this machine's processor as a device: a campaign
 * over three pruned networks, how well its fingerprint predicts levels that
 * were held back, and whether they fit if memory is short.
 *
 * campaign_bench [FOLDER]: where the campaign is made and stays; an existing
 * one continues. Without it: a folder of the build, started from scratch. */
#include "bench.h"

#include "base/cache.h"
#include "base/file.h"
#include "predict/campaign.h"
#include "predict/fingerprint_eval.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char settings[] =
    "[create_network_dataset]\n"
    "networks= ['resnet18', 'mobilenetv2', 'squeezenet']\n"
    "pruning_perc= [0,30,50,70,90]\n"
    "mode= random\n"
    "model_path= %s/nets\n"
    "[profile]\n"
    "bs= [1,2,4,8,16]\n"
    "stage= ['training', 'inference']\n"
    "profile_variables= ['latency', 'memory']\n"
    "log_dir= %s\n";

static const char trained[] =
    "resnet18:0,50,90,mobilenetv2:0,50,90,squeezenet:0,50,90";

static const double bars[N_TARGETS] = {8, 4}; /* percent */

enum { n_threads = 2, seconds = 60 };

/* Shared by the parts. Start from {0}. */
struct study {
    const char *folder;
    struct str choices; /* of the kernels that its tests use */
    struct campaign_config config;
    struct campaign_tests tests;
    struct data_set set;
    struct fingerprint *fingerprint;
};

static void study_release(struct study *study)
{
    fingerprint_free(study->fingerprint);
    data_set_release(&study->set);
    campaign_tests_release(&study->tests);
    campaign_config_release(&study->config);
    str_release(&study->choices);
}

static enum assay_status path_in(const struct study *study, const char *name,
                                 struct str *path, struct error *err)
{
    str_clear(path);
    return str_printf(path, "%s/%s", study->folder, name)
               ? error_nomem(err, 64, "a path")
               : ASSAY_OK;
}

/* ---- measuring ----------------------------------------------------------- */

static enum assay_status write_settings(const struct study *study,
                                        const char *path, struct error *err)
{
    struct output *output;
    enum assay_status st = cache_make_folders(path, err);

    if (!st)
        st = output_open(path, &output, err);
    if (st)
        return st;
    sink_printf(output_sink(output), settings, study->folder, study->folder);
    return output_commit(output, err);
}

static void tell(void *context, const struct campaign_progress *progress)
{
    (void)context;
    if (progress->result && progress->n_left % 50 == 0)
        fprintf(stderr, "campaign: %zu tests left\n", progress->n_left);
}

static enum assay_status run_tests(struct study *study, const char *log_path,
                                   struct error *err)
{
    struct campaign_options options = {
        .limits = {.seconds = seconds,
                   .n_threads = n_threads,
                   .choices_path = study->choices.text},
        .told = tell};
    struct campaign_progress progress;
    struct campaign_log *log;
    enum assay_status st = campaign_log_open(log_path, &log, err);

    if (st)
        return st;
    st = campaign_run(&study->config, &study->tests, log, &options, &progress,
                      err);
    if (!st)
        st = campaign_write_csv(log, study->folder, err);
    if (!st && progress.n_failed)
        st = error_set(err, ASSAY_IO, "%zu tests of the campaign failed",
                       progress.n_failed);
    campaign_log_close(log);
    return st;
}

static enum assay_status make_campaign(struct study *study, bool is_new,
                                       struct error *err)
{
    struct str path = {0};
    enum assay_status st = path_in(study, "config.ini", &path, err);

    if (!st)
        st = write_settings(study, str_text(&path), err);
    if (!st)
        st = campaign_config_read(&study->config, str_text(&path), err);
    if (!st)
        st = campaign_make_networks(&study->config, NULL, err);
    if (!st)
        st = campaign_list_tests(&study->config, &study->tests, err);
    if (!st)
        st = path_in(study, "kernels.txt", &study->choices, err);
    if (!st)
        st = path_in(study, "campaign.sqlite", &path, err);
    if (!st && is_new) {
        unlink(str_text(&path));
        unlink(str_text(&study->choices));
    }
    if (!st)
        st = run_tests(study, str_text(&path), err);
    str_release(&path);
    return st;
}

/* ---- predicting ---------------------------------------------------------- */

static enum assay_status keep_fingerprint(const struct study *study,
                                          struct error *err)
{
    struct str path = {0};
    struct output *output;
    enum assay_status st = path_in(study, "cpu.fp", &path, err);

    if (!st)
        st = output_open(str_text(&path), &output, err);
    if (!st) {
        st = fingerprint_write(study->fingerprint, output_sink(output), err);
        if (st)
            output_discard(output);
        else
            st = output_commit(output, err);
    }
    str_release(&path);
    return st;
}

static enum assay_status learn(struct study *study, struct error *err)
{
    /* With one thread: OpenMP's do not survive a fork, and tests that follow
     * run in children. */
    struct fingerprint_options options = {.method = N_METHODS, .n_threads = 1};
    struct selection train = {0};
    enum assay_status st = data_set_read(&study->set, study->folder, err);

    if (!st)
        st = selection_parse(&train, trained, err);
    if (!st)
        st = fingerprint_fit(&study->set, &train, &options, &study->fingerprint,
                             err);
    selection_release(&train);
    return st ? st : keep_fingerprint(study, err);
}

static enum assay_status bench_errors(const struct study *study,
                                      struct error *err)
{
    struct evaluation evaluation = {0};
    struct selection all = {0};
    enum assay_status st = evaluate(&evaluation, study->fingerprint,
                                    &study->set, &all, false, err);
    double n = (double)evaluation.n_networks;

    for (int t = 0; !st && t < N_TARGETS; t++) {
        double mean = 0, coverage = 0;
        char what[96];

        for (size_t i = 0; i < evaluation.n_networks; i++) {
            const struct error_stats *own = &evaluation.networks[i].stats[t];

            snprintf(what, sizeof what, "levels held back, %s, %s",
                     target_names[t], evaluation.networks[i].name);
            bench_note(what, own->mean, "%");
            mean += own->mean / n;
            coverage += own->coverage / n;
        }
        snprintf(what, sizeof what, "levels held back, %s, mean error",
                 target_names[t]);
        bench_at_most(what, mean, bars[t], "%");
        snprintf(what, sizeof what, "levels held back, %s, inside 90 %%",
                 target_names[t]);
        bench_note(what, coverage, "%");
    }
    evaluation_release(&evaluation);
    return st;
}

/* ---- if memory is short ------------------------------------------------- */

struct verdicts {
    double n_right, n_wrong, n_undecided;
};

/* Runs the test with so much memory, and compares with the prediction. */
static enum assay_status try_limit(const struct study *study,
                                   const struct campaign_test *test,
                                   const struct estimate *estimate,
                                   double limit_mb, struct verdicts *verdicts,
                                   struct error *err)
{
    struct campaign_limits limits = {.memory_bytes =
                                         (size_t)(limit_mb * 0x1p20),
                                     .seconds = seconds,
                                     .n_threads = n_threads,
                                     .choices_path = study->choices.text};
    enum fit fit = estimate_fits(estimate, limit_mb);
    struct campaign_result result;
    enum assay_status st = ASSAY_OK;

    if (fit == FIT_MAYBE) {
        verdicts->n_undecided++;
        return ASSAY_OK;
    }
    st = campaign_try(test, &limits, &result, err);
    if (st)
        return st;
    if (result.is_passed == (fit == FIT_YES)) {
        verdicts->n_right++;
        return ASSAY_OK;
    }
    verdicts->n_wrong++;
    fprintf(stderr, "%s %lld %% batch %lld %s at %.0f MB: %s, predicted %.0f\n",
            test->network, (long long)test->level, (long long)test->batch,
            stage_names[test->stage], limit_mb,
            result.is_passed ? "fits" : result.reason, estimate->value);
    return ASSAY_OK;
}

/* Just beyond both ends of the interval, far from it, and in its middle. */
static enum assay_status try_test(const struct study *study,
                                  const struct campaign_test *test,
                                  struct verdicts *verdicts, struct error *err)
{
    const struct description *own = &study->set.descriptions[data_set_find(
        &study->set, network_canonical(test->network), test->level)];
    struct estimate estimate;
    enum assay_status st =
        fingerprint_predict(study->fingerprint, test->stage, TARGET_MEMORY, own,
                            (double)test->batch, &estimate, err);
    const double limits[] = {0.5 * estimate.low, 0.98 * estimate.low,
                             estimate.value, 1.02 * estimate.high,
                             2 * estimate.high};

    for (size_t i = 0; !st && i < sizeof limits / sizeof *limits; i++)
        st = try_limit(study, test, &estimate, limits[i], verdicts, err);
    return st;
}

/* One batch per network, held-back level and stage, a different one each
 * time. */
static bool is_tried(const struct campaign_test *test, size_t n_before)
{
    static const int64_t batches[] = {1, 4, 16, 2, 8};

    return test->target == TARGET_MEMORY &&
           (test->level == 30 || test->level == 70) &&
           test->batch == batches[n_before % 5];
}

static enum assay_status bench_fits(const struct study *study,
                                    struct error *err)
{
    struct verdicts verdicts = {0};
    enum assay_status st = ASSAY_OK;
    size_t last = SIZE_MAX, n_tried = 0;

    for (size_t i = 0; !st && i < study->tests.n; i++) {
        const struct campaign_test *test = &study->tests.items[i];

        if (test->series == last || !is_tried(test, n_tried))
            continue;
        last = test->series;
        n_tried++;
        st = try_test(study, test, &verdicts, err);
    }
    if (st)
        return st;
    bench_note("limits of memory, too close to call", verdicts.n_undecided, "");
    bench_note("limits of memory, judged", verdicts.n_right + verdicts.n_wrong,
               "");
    bench_at_least("limits of memory, fits or not, right",
                   100 * verdicts.n_right /
                       (verdicts.n_right + verdicts.n_wrong),
                   95, "%");
    return ASSAY_OK;
}

int main(int n, char **words)
{
    struct study study = {.folder = n > 1 ? words[1] : BENCH_CAMPAIGN_DIR};
    struct error err = {0};
    enum assay_status st = make_campaign(&study, n <= 1, &err);

    if (!st)
        st = learn(&study, &err);
    if (!st)
        st = bench_errors(&study, &err);
    if (!st)
        st = bench_fits(&study, &err);
    study_release(&study);
    if (st) {
        fprintf(stderr, "campaign_bench: %s\n", err.text);
        return 1;
    }
    return bench_end();
}

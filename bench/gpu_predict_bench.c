/* bench/gpu_predict_bench.c - predictions for a GPU, from what a campaign on it
 * measured.
 *
 * gpu_predict_bench [--rows] [--networks NETS] FOLDER...: data folders of
 * campaigns over resnet18, mobilenet_v2, squeezenet and resnet50 at levels 0,
 * 30, 50, 70, 90. Learns from levels 0, 50 and 90 of the first three, for each
 * framework that has rows, and predicts their levels 30 and 70, and resnet50.
 * --rows lists all that was predicted; --networks names the folder of the
 * networks, for data folders of versions that did not describe PyTorch's
 * memory. */
#include "bench.h"

#include "predict/fingerprint_eval.h"
#include "predict/network_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_threads = 2 };

static bool shows_rows;

static const char learned[] =
    "resnet18:0,50,90,mobilenetv2:0,50,90,squeezenet:0,50,90";

static const struct study {
    const char *name, *nets;
    double bars[N_TARGETS];
} studies[] = {
    {"other levels",
     "resnet18:30,70,mobilenetv2:30,70,squeezenet:30,70",
     {8, 4}},
    {"an unseen network", "resnet50", {15, 8}},
};

struct shares {
    double n, error, inside, width;
};

static void shares_add(struct shares *sum, const struct evaluated *row)
{
    const struct estimate *own = &row->estimate;

    sum->n++;
    sum->error += 100 * fabs(own->value / row->measured - 1);
    sum->inside +=
        100.0 * (row->measured >= own->low && row->measured <= own->high);
    sum->width += 100 * (own->high - own->low) / own->value;
}

static void show_stages(const char *framework, const struct study *study,
                        const struct evaluation *evaluation, enum target target)
{
    for (int s = 0; s < N_STAGES; s++) {
        struct shares sum = {0};

        for (size_t i = 0; i < evaluation->n_rows; i++) {
            const struct evaluated *row = &evaluation->rows[i];

            if (row->target == target && row->stage == (enum stage)s)
                shares_add(&sum, row);
        }
        if (sum.n > 0)
            printf("%s, %s, %s, %s: %.0f rows, error %.1f %%, inside %.0f %%, "
                   "width %.0f %%\n",
                   framework, study->name, target_names[target], stage_names[s],
                   sum.n, sum.error / sum.n, sum.inside / sum.n,
                   sum.width / sum.n);
    }
}

static void show_rows(const char *framework,
                      const struct evaluation *evaluation, enum target target)
{
    for (size_t i = 0; i < evaluation->n_rows; i++) {
        const struct evaluated *row = &evaluation->rows[i];

        if (row->target == target)
            printf("row %s %s %-12s %2lld %-9s %4.0f %10.3f %10.3f %+6.1f %% "
                   "(%.3f to %.3f)\n",
                   framework, target_names[target],
                   evaluation->networks[row->network].name,
                   (long long)row->level, stage_names[row->stage], row->batch,
                   row->measured, row->estimate.value,
                   100 * (row->estimate.value / row->measured - 1),
                   row->estimate.low, row->estimate.high);
    }
}

/* Every network counts the same. */
static void judge(const char *framework, const struct study *study,
                  const struct evaluation *evaluation, enum target target)
{
    double n = (double)evaluation->n_networks, mean = 0, inside = 0, width = 0;
    char what[128];

    for (size_t i = 0; i < evaluation->n_networks; i++) {
        const struct evaluated_network *own = &evaluation->networks[i];

        snprintf(what, sizeof what, "%s, %s, %s, %s", framework, study->name,
                 target_names[target], own->name);
        bench_note(what, own->stats[target].mean, "%");
        mean += own->stats[target].mean / n;
        inside += own->stats[target].coverage / n;
        width += own->stats[target].width / n;
    }
    snprintf(what, sizeof what, "%s, %s, %s, mean error", framework,
             study->name, target_names[target]);
    bench_at_most(what, mean, study->bars[target], "%");
    snprintf(what, sizeof what, "%s, %s, %s, inside 90 %%", framework,
             study->name, target_names[target]);
    bench_at_least(what, inside, 85, "%");
    bench_at_most(what, inside, 95, "%");
    snprintf(what, sizeof what, "%s, %s, %s, mean width of 90 %% intervals",
             framework, study->name, target_names[target]);
    bench_note(what, width, "%");
}

static enum assay_status
bench_study(const struct data_set *set, const struct fingerprint *fingerprint,
            const char *framework, const struct study *study, struct error *err)
{
    struct selection nets = {0};
    struct evaluation evaluation = {0};
    enum assay_status st = selection_parse(&nets, study->nets, err);

    if (!st)
        st = evaluate(&evaluation, fingerprint, set, &nets, false, err);
    for (int t = 0; !st && t < N_TARGETS; t++) {
        if (shows_rows)
            show_rows(framework, &evaluation, (enum target)t);
        show_stages(framework, study, &evaluation, (enum target)t);
        judge(framework, study, &evaluation, (enum target)t);
    }
    evaluation_release(&evaluation);
    selection_release(&nets);
    return st;
}

static bool has_rows(const struct data_set *set, enum framework framework)
{
    for (size_t i = 0; i < set->n_rows; i++) {
        if (set->rows[i].framework == framework)
            return true;
    }
    return false;
}

static enum assay_status bench_framework(const struct data_set *set,
                                         enum framework framework,
                                         struct error *err)
{
    struct fingerprint_options options = {
        .method = N_METHODS, .framework = framework, .n_threads = n_threads};
    struct fingerprint *fingerprint = NULL;
    struct selection train = {0};
    enum assay_status st = selection_parse(&train, learned, err);

    if (!st)
        st = fingerprint_fit(set, &train, &options, &fingerprint, err);
    for (size_t i = 0; !st && i < sizeof studies / sizeof *studies; i++)
        st = bench_study(set, fingerprint, framework_names[framework],
                         &studies[i], err);
    fingerprint_free(fingerprint);
    selection_release(&train);
    return st;
}

int main(int argc, char **argv)
{
    struct data_set set = {0};
    struct error err = {0};
    const char *networks = NULL;
    enum assay_status st = ASSAY_OK;

    if (argc < 2) {
        puts("gpu_predict_bench: skipped: no data folder of a GPU's campaign "
             "was named");
        return 0;
    }
    if (strcmp(argv[1], "--rows") == 0) {
        shows_rows = true;
        argv++;
        argc--;
    }
    if (argc > 3 && strcmp(argv[1], "--networks") == 0) {
        networks = argv[2];
        argv += 2;
        argc -= 2;
    }
    st = data_set_read_all(&set, (const char *const *)argv + 1,
                           (size_t)argc - 1, networks, &err);
    for (int f = FRAMEWORK_UNKNOWN + 1; !st && f < N_FRAMEWORKS; f++) {
        if (has_rows(&set, (enum framework)f))
            st = bench_framework(&set, (enum framework)f, &err);
    }
    data_set_release(&set);
    if (st)
        fprintf(stderr, "gpu_predict_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}

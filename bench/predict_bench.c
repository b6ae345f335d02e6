/* bench/predict_bench.c - predictions for a Jetson TX2, and forests compared
 * with scikit-learn's.
 *
 * predict_bench [ROUNDS]: so many fits per time (5). */
#include "bench.h"
#include "peer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "predict/fingerprint_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { n_networks = 4, n_threads = 2 };

static const char *const networks[n_networks] = {"mnasnet", "mobilenetv2",
                                                 "resnet18", "resnet50"};

static const struct study {
    const char *name;
    bool is_levels; /* levels of a network; else a network left out */
    double bars[N_TARGETS];
} studies[] = {{"other levels", true, {4.1, 3.0}},
               {"an unseen network", false, {6.5, 4.5}}};

/* What to learn from, and what to predict, as for --train. */
static enum assay_status name_split(const struct study *study, size_t network,
                                    struct str *train, struct str *nets,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (study->is_levels) {
        st = str_printf(train, "%s:0,30,50,70,90", networks[network]);
        if (!st)
            st = str_printf(nets, "%s:5..85", networks[network]);
    } else {
        for (size_t i = 0; !st && i < n_networks; i++) {
            if (i != network)
                st =
                    str_printf(train, "%s%s", train->n ? "," : "", networks[i]);
        }
        if (!st)
            st = str_append(nets, networks[network]);
    }
    return st ? error_nomem(err, 64, "names") : ASSAY_OK;
}

static enum assay_status parse_split(const struct study *study, size_t network,
                                     struct selection *train,
                                     struct selection *nets, struct error *err)
{
    struct str from = {0}, of = {0};
    enum assay_status st = name_split(study, network, &from, &of, err);

    if (!st)
        st = selection_parse(train, str_text(&from), err);
    if (!st)
        st = selection_parse(nets, str_text(&of), err);
    str_release(&from);
    str_release(&of);
    return st;
}

/* ---- accuracy ------------------------------------------------------------ */

struct totals {
    double error[N_TARGETS], coverage[N_TARGETS], width[N_TARGETS];
    double n_right, n_judged;
};

static void note_network(const struct study *study,
                         const struct evaluation *evaluation,
                         struct totals *totals)
{
    for (int t = 0; t < N_TARGETS; t++) {
        const struct error_stats *own = &evaluation->networks[0].stats[t];
        char what[96];

        snprintf(what, sizeof what, "%s, %s, %s", study->name, target_names[t],
                 evaluation->networks[0].name);
        bench_note(what, own->mean, "%");
        totals->error[t] += own->mean / n_networks;
        totals->coverage[t] += own->coverage / n_networks;
        totals->width[t] += own->width / n_networks;
    }
    totals->n_right += (double)evaluation->n_right;
    totals->n_judged += (double)(evaluation->n_right + evaluation->n_wrong);
}

static enum assay_status try_network(const struct data_set *set,
                                     const struct study *study, size_t network,
                                     struct totals *totals, struct error *err)
{
    struct fingerprint_options options = {.method = N_METHODS,
                                          .n_threads = n_threads};
    struct selection train = {0}, nets = {0};
    struct evaluation evaluation = {0};
    struct fingerprint *fingerprint = NULL;
    enum assay_status st = parse_split(study, network, &train, &nets, err);

    if (!st)
        st = fingerprint_fit(set, &train, &options, &fingerprint, err);
    if (!st)
        st = evaluate(&evaluation, fingerprint, set, &nets, false, err);
    if (!st)
        note_network(study, &evaluation, totals);
    evaluation_release(&evaluation);
    fingerprint_free(fingerprint);
    selection_release(&train);
    selection_release(&nets);
    return st;
}

static enum assay_status bench_study(const struct data_set *set,
                                     const struct study *study,
                                     struct error *err)
{
    struct totals totals = {0};
    enum assay_status st = ASSAY_OK;
    char what[96];

    for (size_t i = 0; !st && i < n_networks; i++)
        st = try_network(set, study, i, &totals, err);
    if (st)
        return st;
    for (int t = 0; t < N_TARGETS; t++) {
        snprintf(what, sizeof what, "%s, %s, mean error", study->name,
                 target_names[t]);
        bench_at_most(what, totals.error[t], study->bars[t], "%");
        snprintf(what, sizeof what, "%s, %s, inside 90 %%", study->name,
                 target_names[t]);
        bench_at_least(what, totals.coverage[t], 85, "%");
        bench_at_most(what, totals.coverage[t], 95, "%");
        snprintf(what, sizeof what, "%s, %s, mean width of 90 %% intervals",
                 study->name, target_names[t]);
        bench_note(what, totals.width[t], "%");
    }
    snprintf(what, sizeof what, "%s, fits or not, right", study->name);
    bench_at_least(what, 100 * totals.n_right / totals.n_judged, 95, "%");
    return ASSAY_OK;
}

/* ---- forests ------------------------------------------------------------- */

/* Rows to fit and, after them, rows to predict. */
struct table {
    double *x, *y;
    size_t n, n_fit;
};

static void table_release(struct table *table)
{
    mem_free(table->x);
    mem_free(table->y);
}

static void add_rows(struct table *table, const struct data_set *set,
                     enum target target, const struct selection *which,
                     const struct selection *but)
{
    for (size_t i = 0; i < set->n_rows; i++) {
        const struct measurement *row = &set->rows[i];
        const struct description *own = &set->descriptions[row->description];

        if (isnan(row->value[target]) || !selection_has(which, own) ||
            (but && selection_has(but, own)))
            continue;
        features_network(own, row->batch, row->stage,
                         table->x + table->n * N_FEATURES);
        table->y[table->n++] = log(row->value[target]);
    }
}

static enum assay_status table_make(struct table *table,
                                    const struct data_set *set,
                                    const struct study *study, size_t network,
                                    enum target target, struct error *err)
{
    struct selection train = {0}, nets = {0};
    enum assay_status st = parse_split(study, network, &train, &nets, err);

    table->x = mem_array(2 * set->n_rows * N_FEATURES, sizeof *table->x);
    table->y = mem_array(2 * set->n_rows, sizeof *table->y);
    if (!st && (!table->x || !table->y))
        st = error_nomem(err, set->n_rows, "a table");
    if (!st) {
        add_rows(table, set, target, &train, NULL);
        table->n_fit = table->n;
        add_rows(table, set, target, &nets, &train);
    }
    selection_release(&train);
    selection_release(&nets);
    return st;
}

static enum assay_status table_write(const struct table *table,
                                     const char *folder, struct error *err)
{
    double head[] = {(double)table->n_fit, (double)(table->n - table->n_fit),
                     N_FEATURES};
    char path[256];
    FILE *file;
    bool is_whole;

    snprintf(path, sizeof path, "%s/rows", folder);
    file = fopen(path, "w");
    if (!file)
        return error_set(err, ASSAY_IO, "cannot write %s", path);
    is_whole = fwrite(head, sizeof head, 1, file) == 1 &&
               fwrite(table->x, sizeof *table->x, table->n * N_FEATURES,
                      file) == table->n * N_FEATURES &&
               fwrite(table->y, sizeof *table->y, table->n, file) == table->n;
    return fclose(file) == 0 && is_whole
               ? ASSAY_OK
               : error_set(err, ASSAY_IO, "cannot write %s", path);
}

static double forest_error(const struct forest *forest,
                           const struct table *table)
{
    double sum = 0;

    for (size_t i = table->n_fit; i < table->n; i++)
        sum += fabs(exp(forest_predict(forest, table->x + i * N_FEATURES) -
                        table->y[i]) -
                    1);
    return sum / (double)(table->n - table->n_fit);
}

struct race {
    struct pairs times;
    double ours, theirs; /* errors, added up */
};

static enum assay_status run_race(struct race *race, const struct table *table,
                                  struct peer *peer, int n_rounds,
                                  struct error *err)
{
    struct forest_rows rows = {table->x, table->y, table->n_fit, N_FEATURES};
    struct forest_options options = {.n_threads = n_threads};
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < n_rounds; i++) {
        struct forest *forest = NULL;
        double theirs = 0;
        long millionths = 0;
        int64_t since;

        st = peer_ask(peer, "rows 2", &theirs, &millionths, err);
        if (st)
            break;
        since = clock_monotonic_ns();
        st = forest_fit(&rows, &options, &forest, err);
        if (st)
            break;
        pairs_add(&race->times, (double)(clock_monotonic_ns() - since) / 1e9,
                  theirs);
        if (i == 0) {
            race->ours += forest_error(forest, table);
            race->theirs += (double)millionths / 1e6;
        }
        forest_free(forest);
    }
    return st;
}

static enum assay_status bench_split(struct race *race,
                                     const struct data_set *set,
                                     const struct study *study, size_t network,
                                     enum target target, struct peer *peer,
                                     const char *folder, int n_rounds,
                                     struct error *err)
{
    struct table table = {0};
    enum assay_status st = table_make(&table, set, study, network, target, err);

    if (!st)
        st = table_write(&table, folder, err);
    if (!st)
        st = run_race(race, &table, peer, n_rounds, err);
    table_release(&table);
    return st;
}

/* Both sides use the same number of threads, in turn. */
static void note_times(const struct study *study, struct pairs *times)
{
    double ours, theirs, ratio = pairs_ratio(times, &ours, &theirs);
    char what[96];

    snprintf(what, sizeof what, "forest's fit, %s", study->name);
    bench_note(what, ours * 1e3, "ms");
    snprintf(what, sizeof what, "scikit-learn's fit, %s", study->name);
    bench_note(what, theirs * 1e3, "ms");
    snprintf(what, sizeof what, "scikit-learn's fit / forest's, %s",
             study->name);
    bench_at_least(what, 1 / ratio, 5, "x");
}

static enum assay_status bench_forests(const struct data_set *set,
                                       const char *folder, int n_rounds,
                                       struct error *err)
{
    enum assay_status st;
    struct peer peer;

    st = peer_start(&peer, "predict_peer.py", folder, err);
    if (st == ASSAY_NOT_FOUND) {
        puts("predict_bench: forests skipped: python3-sklearn is missing");
        return ASSAY_OK;
    }
    for (size_t s = 0; !st && s < sizeof studies / sizeof studies[0]; s++) {
        struct race race = {0};
        char what[96];

        for (size_t i = 0; !st && i < n_networks; i++) {
            for (int t = 0; !st && t < N_TARGETS; t++)
                st = bench_split(&race, set, &studies[s], i, (enum target)t,
                                 &peer, folder, n_rounds, err);
        }
        if (st)
            break;
        snprintf(what, sizeof what, "forest's error / scikit-learn's, %s",
                 studies[s].name);
        bench_at_most(what, race.ours / race.theirs, 1.1, "x");
        note_times(&studies[s], &race.times);
    }
    peer_stop(&peer);
    return st;
}

/* ---- one prediction ------------------------------------------------------ */

static enum assay_status bench_one(const struct data_set *set,
                                   struct error *err)
{
    enum { n_asked = 200 };
    struct fingerprint_options options = {.method = METHOD_BLEND,
                                          .n_threads = n_threads};
    struct selection train = {0};
    struct fingerprint *fingerprint = NULL;
    enum assay_status st = selection_parse(&train, "resnet50,resnet18", err);
    int64_t since;

    if (!st)
        st = fingerprint_fit(set, &train, &options, &fingerprint, err);
    since = clock_monotonic_ns();
    for (int i = 0; !st && i < n_asked; i++) {
        size_t at = data_set_find(set, "resnet50", i % 2 ? 35 : 60);
        struct estimate estimate;

        st = fingerprint_predict(fingerprint, STAGE_TRAINING, TARGET_LATENCY,
                                 &set->descriptions[at], 1 + i, &estimate, err);
    }
    if (!st)
        bench_at_most(
            "one network predicted by curves, physical model and forest",
            (double)(clock_monotonic_ns() - since) / 1e6 / n_asked, 1, "ms");
    fingerprint_free(fingerprint);
    selection_release(&train);
    return st;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    static const char data[] = BENCH_SOURCE_DIR "/../shared/data/tx2";
    char folder[] = "/var/tmp/assay-predict-XXXXXX", path[64];
    struct data_set set = {0};
    struct error err = {0};
    enum assay_status st = data_set_read(&set, data, &err);

    if (st == ASSAY_NOT_FOUND) {
        printf("predict_bench: skipped: %s is missing\n", data);
        return 0;
    }
    if (!mkdtemp(folder)) {
        perror("predict_bench: a temporary folder");
        return 1;
    }
    for (size_t i = 0; !st && i < sizeof studies / sizeof studies[0]; i++)
        st = bench_study(&set, &studies[i], &err);
    if (!st)
        st = bench_one(&set, &err);
    if (!st)
        st = bench_forests(&set, folder, n_rounds, &err);
    snprintf(path, sizeof path, "%s/rows", folder);
    unlink(path);
    rmdir(folder);
    data_set_release(&set);
    if (st)
        fprintf(stderr, "predict_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}

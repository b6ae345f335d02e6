/* bench/busy_bench.c - what a busy machine does to us, and what being ready for
 * it costs on a quiet one.
 *
 * busy_bench [SECONDS]: for so long (60), Faster R-CNN on a small photograph,
 * in turn with threads that spin for long and with threads that spin as ours
 * do; then `assay run` and `assay train`, once alone and four at once. */
#include "bench.h"

#include "base/clock.h"
#include "record/record.h"
#include "run/run.h"
#include "session/frame.h"
#include "store/store.h"
#include "team/team.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { side = 160, n_at_once = 4, most_pairs = 4000 };

static const long long_spin_ns = 10000000;

/* ---- alone: a short spin against a long one ----------------------------- */

static enum assay_status time_model(struct session *session,
                                    struct frame *frame, long spin_ns,
                                    double *seconds, struct error *err)
{
    enum assay_status st;
    int64_t since;

    team_set_spin(spin_ns);
    since = clock_monotonic_ns();
    st = frame_model(frame, session, err);
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    return st;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_alone(double *ratios, size_t n)
{
    double low, high;

    qsort(ratios, n, sizeof *ratios, compare_numbers);
    stats_median_interval(ratios, n, 0.95, &low, &high);
    bench_note("pairs of a short and a long spin", (double)n, "");
    bench_at_most("time a short spin adds to a model",
                  100 * (ratios[n / 2] - 1), 1, "%");
    bench_note("  from, with 95 % confidence", 100 * (low - 1), "%");
    bench_note("  to", 100 * (high - 1), "%");
}

static enum assay_status measure_alone(double limit, struct error *err)
{
    static double ratios[most_pairs];
    struct session_options options = {.model.name = "fasterrcnn_resnet50_fpn",
                                      .model.build = model_defaults(),
                                      .n_threads = team_threads(),
                                      .detail = ENGINE_OPS,
                                      .tuning_seconds = 4};
    int64_t until = clock_monotonic_ns() + (int64_t)(limit * 1e9);
    struct session session = {0};
    struct frame frame = {.n = 1};
    size_t n = 0;
    enum assay_status st;

    options.model.build.min_size = side;
    frame.paths[0] = BENCH_SOURCE_DIR "/assets/coffee.jpg";
    st = session_open(&options, &session, err);
    if (!st)
        st = frame_decode(&frame, err);
    if (!st)
        st = frame_preprocess(&frame, &session, err);
    for (int i = 0; !st && i < 3; i++) /* chooses kernels, touches memory */
        st = frame_model(&frame, &session, err);
    while (!st && n < most_pairs && clock_monotonic_ns() < until) {
        double seconds[2] = {1, 1};

        for (size_t k = 0; !st && k < 2; k++) {
            size_t way = (n + k) % 2;

            st = time_model(&session, &frame, way ? TEAM_SPIN_NS : long_spin_ns,
                            &seconds[way], err);
        }
        ratios[n++] = seconds[1] / seconds[0];
    }
    frame_release(&frame);
    session_close(&session);
    if (!st)
        print_alone(ratios, n);
    return st;
}

/* ---- four at once ------------------------------------------------------- */

/* A command whose last word but one is its output. */
struct job {
    const char *name;
    const char *words[24];
};

static enum assay_status start_job(const struct job *job, const char *folder,
                                   int number, pid_t *process,
                                   struct error *err)
{
    const char *words[32] = {BENCH_ASSAY};
    posix_spawn_file_actions_t actions;
    size_t n = 1;
    char path[600];
    int failed;

    snprintf(path, sizeof path, "%s/%d.assay", folder, number);
    for (size_t i = 0; job->words[i]; i++)
        words[n++] = job->words[i];
    words[n++] = "-o";
    words[n++] = path;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i <= 2; i++)
        posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
                                         i ? O_WRONLY : O_RDONLY, 0);
    failed =
        posix_spawn(process, words[0], &actions, NULL, (char **)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? error_set(err, ASSAY_NOT_FOUND, "%s: %s", words[0],
                              strerror(failed))
                  : ASSAY_OK;
}

/* Mean time of an iteration. */
static enum assay_status read_mean(const char *folder, int number,
                                   double *seconds, struct error *err)
{
    struct scope_stats stats;
    struct run *run = NULL;
    char path[600];
    enum assay_status st;

    snprintf(path, sizeof path, "%s/%d.assay", folder, number);
    st = store_load(path, &run, err);
    if (!st)
        st = run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, err);
    if (!st)
        *seconds = stats.mean_ns / 1e9;
    run_free(run);
    return st;
}

/* The mean over n processes at once. */
static enum assay_status run_at_once(const struct job *job, const char *folder,
                                     int n, double *seconds, struct error *err)
{
    pid_t processes[n_at_once];
    enum assay_status st = ASSAY_OK;
    int n_started = 0;

    while (!st && n_started < n) {
        st = start_job(job, folder, n_started, &processes[n_started], err);
        n_started += !st;
    }
    for (int i = 0; i < n_started; i++)
        waitpid(processes[i], NULL, 0);
    *seconds = 0;
    for (int i = 0; !st && i < n; i++) {
        double mean = NAN;

        st = read_mean(folder, i, &mean, err);
        *seconds += mean / n;
    }
    return st;
}

/* Alone before and after the four, so that drift cancels out. */
static enum assay_status measure_at_once(const struct job *job,
                                         const char *folder, struct error *err)
{
    double ignored, before, together, after;
    char what[80];
    enum assay_status st = run_at_once(job, folder, 1, &ignored, err);

    if (!st)
        st = run_at_once(job, folder, 1, &before, err);
    if (!st)
        st = run_at_once(job, folder, n_at_once, &together, err);
    if (!st)
        st = run_at_once(job, folder, 1, &after, err);
    if (st)
        return st;
    snprintf(what, sizeof what, "%s alone", job->name);
    bench_note(what, 500 * (before + after), "ms");
    snprintf(what, sizeof what, "four at once / %s alone", job->name);
    bench_at_most(what, together / ((before + after) / 2), 4.4, "x");
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    static const struct job jobs[] = {
        {"assay run",
         {"run", "faster-rcnn", BENCH_SOURCE_DIR "/assets/coffee.jpg",
          "--min-size", "160", "--iters", "30"}},
        {"assay train",
         {"train", "--synthetic", "--min-size", "160", "--steps", "16",
          "--workers", "1"}}};
    double limit = argc > 1 ? strtod(argv[1], NULL) : 60;
    char folder[] = "/var/tmp/busy_bench.XXXXXX", command[64];
    struct error err = {0};
    enum assay_status st = measure_alone(limit, &err);

    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1); /* kernels chosen here, used by all */
    for (size_t i = 0; !st && i < sizeof jobs / sizeof *jobs; i++)
        st = measure_at_once(&jobs[i], folder, &err);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command))
        fprintf(stderr, "busy_bench: could not remove %s\n", folder);
    if (st) {
        fprintf(stderr, "busy_bench: %s\n", err.text);
        return 1;
    }
    return bench_end();
}

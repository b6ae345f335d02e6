/* bench/findings_bench.c - takes the advice of the findings on planted cases:
 * the time must fall as they claim.
 *
 * findings_bench [ROUNDS]: each case runs `assay` (or this program itself) in
 * turn as it was planted and with the advice taken, so often (3); a row is the
 * median of the ratios. If the machine was quiet enough for the finding to be
 * reported, another row is the time that was saved over what it claimed. */
#include "bench.h"

#include "base/doubles.h"
#include "base/file.h"
#include "findings/findings.h"
#include "picture/picture.h"
#include "run/run.h"
#include "store/store.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { most_rounds = 20, most_words = 16 };

/* ---- running and reading ------------------------------------------------- */

static bool spawn_quietly(const char *const *words, char **environment)
{
    posix_spawn_file_actions_t actions;
    int status = 1, failed;
    pid_t process;

    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i <= 2; i++)
        posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
                                         i ? O_WRONLY : O_RDONLY, 0);
    failed = posix_spawn(&process, words[0], &actions, NULL, (char **)words,
                         environment);
    posix_spawn_file_actions_destroy(&actions);
    return !failed && waitpid(process, &status, 0) == process && status == 0;
}

/* `assay` with these words; NULL if it failed. The caller frees the run. */
static struct run *assay(const char *folder, const char *const *arguments)
{
    const char *words[most_words + 4] = {BENCH_ASSAY};
    struct run *run = NULL;
    struct error err = {0};
    char path[600];
    size_t n = 1;

    snprintf(path, sizeof path, "%s/run.assay", folder);
    for (size_t i = 0; arguments[i] && n < most_words; i++)
        words[n++] = arguments[i];
    words[n++] = "-o";
    words[n++] = path;
    if (!spawn_quietly(words, environ) || store_load(path, &run, &err))
        fprintf(stderr, "findings_bench: %s %s failed %s\n", words[1], words[2],
                err.text);
    unlink(path);
    return run;
}

/* ---- what is measured ---------------------------------------------------- */

typedef double measure(const struct run *run);

static double mean_ns(const struct run *run, uint32_t scope)
{
    struct scope_stats stats;

    if (scope == RUN_NONE || run_scope_stats(run, scope, RUN_ANY, &stats, NULL))
        return NAN;
    return stats.mean_ns;
}

static double measure_model(const struct run *run)
{
    return mean_ns(run, run_model_scope(run));
}

static double measure_decode(const struct run *run)
{
    uint32_t scope = RUN_NONE;

    if (run_scope_find(run, RUN_ROOT, "decode", "", &scope, NULL))
        return NAN;
    return mean_ns(run, scope);
}

static double measure_linear(const struct run *run)
{
    double sum = 0;

    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        if (strcmp(run_scope(run, i)->class_name, "Linear") == 0)
            sum += mean_ns(run, i);
    }
    return sum;
}

/* What the rule claims at most; NaN if it is silent. */
static double claim_of(const struct run *run, const char *rule)
{
    struct finding_list list;

    if (findings_find(run, &list, NULL))
        return NAN;
    for (size_t i = 0; i < list.n; i++) {
        if (strcmp(list.items[i].rule, rule) == 0)
            return list.items[i].saved_ns;
    }
    return NAN;
}

/* ---- cases that run assay ------------------------------------------------ */

struct planted {
    const char *rule, *what;
    const char *words[most_words], *advised[most_words];
    measure *measure;
    double images; /* in an iteration, with the advice taken */
    double bar;    /* at most this part of the time is left, per image */
    bool is_busy;  /* planted next to other programs */
    /* Rounds in which the rule is silent do not count: next to other programs
     * the advice may be wrong, and is not given. */
    bool must_be_said;
};

/* ---- other programs ------------------------------------------------------ */

enum { most_busy = 64 };

/* Keeps every processor busy with a process of its own until busy_end(). */
struct busy {
    pid_t processes[most_busy];
    long n;
};

static void busy_begin(struct busy *busy)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    for (busy->n = 0; busy->n < n && busy->n < most_busy; busy->n++) {
        pid_t process = fork();

        if (process < 0)
            return;
        if (process == 0) {
            for (volatile unsigned i = 0;; i++)
                ;
        }
        busy->processes[busy->n] = process;
    }
}

static void busy_end(const struct busy *busy)
{
    for (long i = 0; i < busy->n; i++) {
        kill(busy->processes[i], SIGKILL);
        waitpid(busy->processes[i], NULL, 0);
    }
}

static struct run *assay_planted(const struct planted *planted,
                                 const char *folder)
{
    struct busy busy = {0};
    struct run *run;

    if (planted->is_busy)
        busy_begin(&busy);
    run = assay(folder, planted->words);
    busy_end(&busy);
    return run;
}

static double median(double *values, size_t n)
{
    doubles_sort(values, n);
    return stats_quantile(values, n, 0.5);
}

static void try_planted(const struct planted *planted, const char *folder,
                        size_t rounds)
{
    double ratios[most_rounds], kept[most_rounds];
    size_t n = 0, n_kept = 0;
    char what[160];

    for (size_t i = 0; i < rounds; i++) {
        struct run *before = assay_planted(planted, folder);
        struct run *after = assay(folder, planted->advised);

        if (before && after &&
            !(planted->must_be_said &&
              isnan(claim_of(before, planted->rule)))) {
            double old = planted->measure(before);
            double new = planted->measure(after) / planted->images;
            double claim = claim_of(before, planted->rule);

            ratios[n++] = new / old;
            if (claim > 0)
                kept[n_kept++] = (old - new) / claim;
        }
        run_free(before);
        run_free(after);
    }
    snprintf(what, sizeof what, "%s: %s", planted->rule, planted->what);
    if (n == 0 && planted->must_be_said) {
        snprintf(what, sizeof what, "%s: not reported, next to other programs",
                 planted->rule);
        bench_note(what, 0, "rounds");
        return;
    }
    bench_at_most(what, n ? median(ratios, n) : INFINITY, planted->bar, "x");
    if (n_kept == 0)
        return;
    snprintf(what, sizeof what, "%s: saved of what it said is lost",
             planted->rule);
    bench_note(what, median(kept, n_kept), "x");
}

/* ---- page faults --------------------------------------------------------- */

/* Allocates, touches and frees a large buffer again and again; glibc returns
 * one of more than 32 MiB to the system each time. */
static int fault_pages(void)
{
    enum { rounds = 40 };
    static const size_t bytes = (size_t)40 << 20;

    for (int i = 0; i < rounds; i++) {
        volatile char *block = malloc(bytes);

        if (!block)
            return 1;
        for (size_t k = 0; k < bytes; k += 64)
            block[k] = (char)i;
        free((void *)block);
    }
    return 0;
}

static double seconds_of(const char *const *words, char **environment)
{
    struct timespec begin, end;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (!spawn_quietly(words, environment))
        return NAN;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) +
           (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

static void try_faults(const char *program, size_t rounds)
{
    const char *words[] = {program, "--fault", NULL};
    char *advised[] = {(char *)"MALLOC_MMAP_MAX_=0",
                       (char *)"MALLOC_TRIM_THRESHOLD_=-1", NULL};
    char *plain[] = {NULL};
    double ratios[most_rounds];

    for (size_t i = 0; i < rounds; i++) {
        double old = seconds_of(words, plain);

        ratios[i] = seconds_of(words, advised) / old;
    }
    bench_at_most("faults: MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1",
                  median(ratios, rounds), 0.7, "x");
}

/* ---- all of them --------------------------------------------------------- */

static bool make_photo(const char *path, int width, int height)
{
    struct picture picture = {0};
    struct output *output = NULL;
    struct error err = {0};
    enum assay_status st = picture_init(&picture, width, height, &err);

    for (int y = 0; !st && y < height; y++) {
        for (int x = 0; x < 3 * width; x++)
            picture.rgb[y * 3 * width + x] =
                (uint8_t)((x * y / 97) ^ (x + 3 * y));
    }
    if (!st)
        st = output_open(path, &output, &err);
    if (!st)
        st = picture_write_jpeg(&picture, 90, output_sink(output), &err);
    if (!st)
        st = output_commit(output, &err);
    picture_release(&picture);
    return st == ASSAY_OK;
}

int main(int argc, char **argv)
{
    char cores[24], too_many[24];
    const struct planted cases[] = {
        {.rule = "plain",
         .what = "without --plain",
         .words = {"run", "resnet18", "--random", "-n", "8", "--plain"},
         .advised = {"run", "resnet18", "--random", "-n", "8"},
         .measure = measure_model,
         .images = 1,
         .bar = 0.97},
        {.rule = "bandwidth",
         .what = "--batch 8, for alexnet's Linear",
         .words = {"run", "alexnet", "--random", "-n", "8"},
         .advised = {"run", "alexnet", "--random", "-n", "64", "--batch", "8"},
         .measure = measure_linear,
         .images = 8,
         .bar = 0.6},
        {.rule = "decode",
         .what = "a photograph of half the size",
         .words = {"run", "squeezenet1_1", "large.jpg", "-n", "8"},
         .advised = {"run", "squeezenet1_1", "small.jpg", "-n", "8"},
         .measure = measure_decode,
         .images = 1,
         .bar = 0.5},
        {.rule = "threads",
         .what = "as many as processors, not four times as many",
         .words = {"run", "resnet18", "--random", "-n", "12", "--threads",
                   too_many},
         .advised = {"run", "resnet18", "--random", "-n", "12", "--threads",
                     cores},
         .measure = measure_model,
         .images = 1,
         .bar = 0.9,
         .must_be_said = true},
        {.rule = "idle",
         .what = "--batch 8, for images of 32x32",
         .words = {"run", "squeezenet1_1", "--random", "--input", "size=32",
                   "-n", "30"},
         .advised = {"run", "squeezenet1_1", "--random", "--input", "size=32",
                     "-n", "240", "--batch", "8"},
         .measure = measure_model,
         .images = 8,
         .bar = 0.7},
        {.rule = "load",
         .what = "without a busy process per processor",
         .words = {"run", "resnet18", "--random", "-n", "12"},
         .advised = {"run", "resnet18", "--random", "-n", "12"},
         .measure = measure_model,
         .images = 1,
         .bar = 0.8,
         .is_busy = true},
    };
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 3;
    char folder[] = "/tmp/findings_bench-XXXXXX";

    if (argc > 1 && strcmp(argv[1], "--fault") == 0)
        return fault_pages();
    snprintf(cores, sizeof cores, "%ld", n_cores);
    snprintf(too_many, sizeof too_many, "%ld", 4 * n_cores);
    rounds = rounds < 1 ? 1 : rounds > most_rounds ? most_rounds : rounds;
    if (!mkdtemp(folder) || chdir(folder) ||
        !make_photo("large.jpg", 2400, 1600) ||
        !make_photo("small.jpg", 1200, 800))
        return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        try_planted(&cases[i], folder, rounds);
    try_faults("/proc/self/exe", rounds);
    unlink("large.jpg");
    unlink("small.jpg");
    if (chdir("/") || rmdir(folder))
        fprintf(stderr, "findings_bench: %s is left behind\n", folder);
    return bench_end();
}

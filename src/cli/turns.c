/* cli/turns.c - see turns.h. */
#include "cli/turns.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/interrupt.h"
#include "cli/shell_quote.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127, MOST_LOG_BYTES = 1 << 20 };

/* One of the two commands. */
struct turn_side {
    const char *letter; /* "A" */
    const struct words *command;
    struct run_list *runs;
    size_t capacity; /* of the list */
};

/* A job of starting both sides in turn. */
struct turn_job {
    const struct turns_settings *settings;
    struct turns *turns;
    struct turn_side sides[2];
    struct str folder, log; /* a folder of our own, and a file in it */
    const volatile sig_atomic_t *stop;
};

/* ---- starting a command -------------------------------------------------- */

/* What the child needs. */
struct turn_start {
    char **words; /* NULL ends them */
    const char *log, *run_path;
};

static void turn_exec(void *context, int line)
{
    const struct turn_start *start = context;
    int log = open(start->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)line;
    /* The thread that replaces the process must ask for it again. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (log >= 0) {
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
    }
    if (!setenv("ASSAY_RUN_FILE", start->run_path, 1))
        execvp(start->words[0], start->words);
    dprintf(STDERR_FILENO, "%s: %s\n", start->words[0], strerror(errno));
    _exit(NOT_STARTED);
}

static bool turn_records_itself(const struct words *command)
{
    const char *slash = strrchr(command->items[0], '/');
    const char *name = slash ? slash + 1 : command->items[0];

    return strcmp(name, "assay") == 0 && command->n > 1 &&
           (strcmp(command->items[1], "run") == 0 ||
            strcmp(command->items[1], "train") == 0);
}

/* The word with every {} replaced; *has_place if there was one. */
static enum assay_status turn_fill_word(const char *word, const char *path,
                                        char **out, bool *has_place)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;
    const char *place;

    while (!st && (place = strstr(word, "{}"))) {
        *has_place = true;
        st = str_append_n(&text, word, (size_t)(place - word));
        if (!st)
            st = str_append(&text, path);
        word = place + 2;
    }
    if (!st)
        st = str_append(&text, word);
    *out = st ? NULL : mem_strdup(str_text(&text));
    str_release(&text);
    return *out ? ASSAY_OK : ASSAY_NOMEM;
}

static void turn_free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        mem_free(words[i]);
    mem_free(words);
}

static enum assay_status turn_fill_words(const struct words *command,
                                         const char *path, char ***out,
                                         struct error *err)
{
    char **words = mem_array(command->n + 3, sizeof *words);
    enum assay_status st = words ? ASSAY_OK : ASSAY_NOMEM;
    bool has_place = false;

    for (size_t i = 0; !st && i < command->n; i++)
        st = turn_fill_word(command->items[i], path, &words[i], &has_place);
    if (!st && !has_place && turn_records_itself(command)) {
        words[command->n] = mem_strdup("-o");
        words[command->n + 1] = mem_strdup(path);
        st =
            words[command->n] && words[command->n + 1] ? ASSAY_OK : ASSAY_NOMEM;
    }
    *out = words;
    return st ? error_nomem(err, command->n * sizeof *words,
                            "the words of a command")
              : ASSAY_OK;
}

/* The last line that the command printed, for a message. */
static void turn_last_line(const char *log, char *line, size_t size)
{
    struct str text = {0};
    const char *end, *begin;

    line[0] = '\0';
    if (!file_read(log, MOST_LOG_BYTES, &text, NULL) && text.n > 0) {
        end = text.text + text.n;
        while (end > text.text && end[-1] == '\n')
            end--;
        begin = end;
        while (begin > text.text && begin[-1] != '\n')
            begin--;
        snprintf(line, size, "%.*s", (int)(end - begin), begin);
    }
    str_release(&text);
}

static enum assay_status turn_explain(const struct turn_job *job,
                                      const struct turn_side *side, int status,
                                      struct error *err)
{
    char line[128];

    turn_last_line(job->log.text, line, sizeof line);
    if (WIFSIGNALED(status))
        return error_set(err, ASSAY_BAD_INPUT,
                         "command %s was ended by signal %d%s%s", side->letter,
                         WTERMSIG(status), line[0] ? ": " : "", line);
    if (WEXITSTATUS(status) == NOT_STARTED)
        return error_set(err, ASSAY_NOT_FOUND,
                         "command %s could not be started: %s", side->letter,
                         line);
    return error_set(err, ASSAY_BAD_INPUT,
                     "command %s failed with exit code %d%s%s", side->letter,
                     WEXITSTATUS(status), line[0] ? ": " : "", line);
}

/* Starts the command and waits for it. */
static enum assay_status turn_start(const struct turn_job *job,
                                    const struct turn_side *side,
                                    const char *run_path, int64_t *wall_ns,
                                    struct error *err)
{
    static const struct child_options how = {.what = "a command"};
    struct turn_start start = {.log = job->log.text, .run_path = run_path};
    int64_t began_ns;
    struct child child = {0};
    enum assay_status st;
    int status;

    unlink(run_path);
    st = turn_fill_words(side->command, run_path, &start.words, err);
    began_ns = clock_monotonic_ns();
    if (!st)
        st = child_start(&child, &how, turn_exec, &start, err);
    status = child_end(&child, false, NULL);
    *wall_ns = clock_monotonic_ns() - began_ns;
    turn_free_words(start.words);
    if (!st && *job->stop)
        return error_set(err, ASSAY_TOO_NOISY, "stopped by a signal");
    if (!st && status != 0)
        st = turn_explain(job, side, status, err);
    return st;
}

/* ---- what it measured ---------------------------------------------------- */

static enum assay_status turn_keep_run(struct turn_side *side, struct run *run,
                                       struct error *err)
{
    if (!vec_grow(&side->runs->items, &side->capacity, side->runs->n + 1,
                  sizeof *side->runs->items)) {
        run_free(run);
        return error_nomem(err, sizeof *side->runs->items, "a run");
    }
    side->runs->items[side->runs->n++] = run;
    return ASSAY_OK;
}

/* A run cannot be added to once it is sealed, so that of all starts is made
 * again from the one before. */
static enum assay_status turn_keep_start(struct turn_side *side,
                                         int64_t wall_ns, struct error *err)
{
    struct run *run, *before = side->runs->n ? side->runs->items[0] : NULL;
    size_t n = before ? run_iterations_kept(before) : 0;
    enum assay_status st = run_new(&run, err);
    uint32_t thread;

    if (st)
        return st;
    st = run_thread_add(run, "main", THREAD_CPU, &thread, err);
    if (!st)
        st = run_name_root(run, "command", "", err);
    for (size_t i = 0; !st && i <= n; i++) {
        struct sample sample = {
            .scope = RUN_ROOT,
            .iteration = (uint32_t)i,
            .duration_ns =
                i < n ? run_iteration(before, i)->duration_ns : wall_ns,
            .bytes = RUN_UNKNOWN,
            .peak_bytes = RUN_UNKNOWN};

        sample.self_ns = sample.duration_ns;
        st = run_count(run, &sample, err);
    }
    if (!st)
        st = run_seal(run, err);
    if (st) {
        run_free(run);
        return st;
    }
    run_free(before);
    side->runs->n = 0;
    return turn_keep_run(side, run, err);
}

static bool turn_wrote_run(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && info.st_size > 0;
}

static enum assay_status turn_name_run(const struct turn_job *job,
                                       const struct turn_side *side, size_t n,
                                       struct str *path, struct error *err)
{
    const char *folder =
        job->settings->folder ? job->settings->folder : job->folder.text;

    if (str_printf(path, "%s/%c%02zu" STORE_SUFFIX, folder,
                   side->letter[0] - 'A' + 'a', n))
        return error_nomem(err, path->n, "a file name");
    return ASSAY_OK;
}

/* One start that counts. */
static enum assay_status turn_measure(struct turn_job *job,
                                      struct turn_side *side, size_t n,
                                      struct error *err)
{
    struct str path = {0};
    struct run *run = NULL;
    int64_t wall_ns;
    enum assay_status st = turn_name_run(job, side, n, &path, err);

    if (!st)
        st = turn_start(job, side, path.text, &wall_ns, err);
    if (!st && job->turns->are_starts)
        st = turn_keep_start(side, wall_ns, err);
    else if (!st)
        st = inputs_load(path.text, &run, err);
    if (!st && run)
        st = turn_keep_run(side, run, err);
    if (!job->settings->folder && path.n)
        unlink(path.text);
    str_release(&path);
    return st;
}

/* ---- the job ------------------------------------------------------------- */

/* The first start of each, which fills caches and shows whether they record
 * themselves. */
static enum assay_status turns_begin(struct turn_job *job, struct error *err)
{
    bool writes[2] = {false, false};
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < 2; i++) {
        struct str path = {0};
        int64_t wall_ns;

        st = turn_name_run(job, &job->sides[i], 0, &path, err);
        if (!st)
            st = turn_start(job, &job->sides[i], path.text, &wall_ns, err);
        writes[i] = !st && turn_wrote_run(path.text);
        if (path.n)
            unlink(path.text);
        str_release(&path);
    }
    if (st)
        return st;
    if (writes[0] != writes[1])
        return error_set(err, ASSAY_BAD_INPUT,
                         "command %s wrote a run file and command %s did not; "
                         "write {} where the path of the run file belongs",
                         writes[0] ? "A" : "B", writes[0] ? "B" : "A");
    job->turns->are_starts = !writes[0];
    return ASSAY_OK;
}

static enum assay_status turns_pair(struct turn_job *job, struct error *err)
{
    size_t n = job->turns->n_pairs;
    enum assay_status st = turn_measure(job, &job->sides[n % 2], n + 1, err);

    if (!st)
        st = turn_measure(job, &job->sides[1 - n % 2], n + 1, err);
    if (!st)
        job->turns->n_pairs++;
    return st;
}

static enum assay_status turns_go_on(struct turn_job *job, turns_judge *judge,
                                     void *context, struct error *err)
{
    const struct turns_settings *settings = job->settings;
    struct turns *turns = job->turns;
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "measuring", "pairs",
                       settings->looks.most);
    int64_t began_ns = clock_monotonic_ns();
    bool is_decided = false, is_over = false;
    enum assay_status st = ASSAY_OK;

    while (!st && !is_decided && !is_over) {
        progress_update(&progress, turns->n_pairs);
        st = turns_pair(job, err);
        turns->spent_ns = clock_monotonic_ns() - began_ns;
        is_over = turns->n_pairs >= settings->looks.most ||
                  (double)turns->spent_ns > settings->seconds * 1e9;
        if (!st && (is_over || looks_is_due(&settings->looks, turns->n_pairs)))
            st = judge(context, turns, &is_decided, err);
    }
    progress_finish(&progress);
    return st;
}

static enum assay_status turns_make_folder(struct turn_job *job,
                                           struct error *err)
{
    const char *parent = getenv("TMPDIR");

    if (str_printf(&job->folder, "%s/assay-compare-XXXXXX",
                   parent && *parent ? parent : "/tmp"))
        return error_nomem(err, job->folder.n, "a file name");
    if (!mkdtemp(job->folder.text)) {
        str_clear(&job->folder);
        return error_errno(err, errno, "making a temporary folder");
    }
    if (str_printf(&job->log, "%s/log", job->folder.text))
        return error_nomem(err, job->log.n, "a file name");
    if (job->settings->folder && mkdir(job->settings->folder, 0777) &&
        errno != EEXIST)
        return error_errno(err, errno, "making the folder %s",
                           job->settings->folder);
    return ASSAY_OK;
}

enum assay_status turns_run(const struct turns_settings *settings,
                            turns_judge *judge, void *context,
                            struct turns *turns, struct error *err)
{
    struct turn_job job = {
        .settings = settings,
        .turns = turns,
        .sides = {{.letter = "A", .command = &settings->a, .runs = &turns->a},
                  {.letter = "B", .command = &settings->b, .runs = &turns->b}},
        .stop = interrupt_watch()};
    enum assay_status st = turns_make_folder(&job, err);

    if (!st)
        st = turns_begin(&job, err);
    if (!st)
        st = turns_go_on(&job, judge, context, err);
    if (job.log.n)
        unlink(job.log.text);
    if (job.folder.n)
        rmdir(job.folder.text);
    str_release(&job.folder);
    str_release(&job.log);
    if (*job.stop)
        interrupt_pass_on();
    return st;
}

void turns_release(struct turns *turns)
{
    run_list_release(&turns->a);
    run_list_release(&turns->b);
    *turns = (struct turns){0};
}

/* ---- in words ------------------------------------------------------------ */

enum assay_status turns_words(const struct turns *turns, struct str *text)
{
    char time[UNITS_MAX];

    return str_printf(text, "%zu pair%s of %s, in turn, in %s", turns->n_pairs,
                      turns->n_pairs == 1 ? "" : "s",
                      turns->are_starts ? "starts" : "runs",
                      units_time(time, (double)turns->spent_ns));
}

enum assay_status turns_command(const struct words *command, struct str *text)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < command->n; i++) {
        if (i > 0)
            st = str_append(text, " ");
        if (!st)
            st = shell_word(text, command->items[i]);
    }
    return st;
}
